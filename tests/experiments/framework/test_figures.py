"""Figures: what a line shows of its rows, and what is missing without matplotlib."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from experiments.framework import figures
from experiments.framework.figures import (
    Series,
    key,
    mark,
    mark_published,
    mean_ksd,
    nest,
    rate_panel,
    render,
    shades,
    uncover,
)
from experiments.framework.table import Rates, Results, as_record, rates_of
from experiments.paper import experiment

pytestmark = pytest.mark.exact


def table() -> Rates:
    """Half of four repeats rejected at n = 10, all of them at n = 20; D is 0, 1, 2, 3."""
    rows = [
        {"test": "r-ksd", "variant": "published", "n": n, "repeat": k, "rejected": int(k < hits), "ksd": k}
        | {"pvalue": 0.5, "seconds": 0.0}
        for n, hits in ((20, 4), (10, 2))
        for k in range(4)
    ]
    return rates_of([as_record(row) for row in rows])


def test_a_line_shows_rates_along_its_axis_within_their_intervals() -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    ax = figure.subplots()
    (series,) = figures.tests(table(), ["r-ksd"])
    rate_panel(ax, "n", [series], xlabel="points", log=True)
    line, level = ax.lines
    assert (list(line.get_xdata()), list(line.get_ydata())) == ([10.0, 20.0], [0.5, 1.0])
    assert list(level.get_ydata()) == [0.05, 0.05]
    low, high = table().one(n=10).interval
    shaded = ax.collections[0].get_paths()[0].vertices
    assert {low, high} <= set(shaded[shaded[:, 0] == 10.0][:, 1])
    assert ax.get_xscale() == "log"


def test_a_line_without_rows_is_empty() -> None:
    ax = pytest.importorskip("matplotlib.figure").Figure().subplots()
    rate_panel(ax, "n", [Series(Rates(()), shades(["a"])["a"])], xlabel="points")
    assert ax.lines[0].get_xdata().size == 0


def two_lines() -> Any:
    ax = pytest.importorskip("matplotlib.figure").Figure().subplots()
    rate_panel(ax, "n", [Series(table(), style) for style in shades(["a", "b"]).values()], xlabel="points")
    mark(ax, 15.0)
    return ax


def test_a_line_under_another_is_wider_than_it() -> None:
    ax = two_lines()
    before = [line.get_linewidth() for line in ax.get_lines()]
    nest(ax, 0.5)
    after = [line.get_linewidth() for line in ax.get_lines()]
    assert [b - a for a, b in zip(before, after, strict=True)] == [0.5, 0.0, 0.0, 0.0]


def test_one_line_that_another_covers_can_be_uncovered() -> None:
    ax = two_lines()
    before = [line.get_linewidth() for line in ax.get_lines()]
    uncover(ax, "a")
    assert [line.get_linewidth() > was for line, was in zip(ax.get_lines(), before, strict=True)] == [
        True, False, False, False,
    ]  # fmt: skip


def test_a_key_names_every_line_style() -> None:
    ax = two_lines()
    key(ax, "the mark")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "level 0.05", "the mark"]
    styles = [handle.get_linestyle() for handle in ax.get_legend().legend_handles]
    assert styles == ["-", "-", ":", "-."]


def test_a_key_leaves_out_a_mark_that_has_no_name() -> None:
    ax = two_lines()
    key(ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "level 0.05"]


def test_a_mean_has_half_of_its_interval() -> None:
    mean, half = mean_ksd(table().one(n=10))
    assert mean == 1.5
    assert half == pytest.approx(1.96 * 1.25**0.5 / 2.0)


def test_every_value_of_a_setting_has_a_look_of_its_own() -> None:
    styles = shades(["1", "2", "3"], "d = {}")
    assert [style.label for style in styles.values()] == ["d = 1", "d = 2", "d = 3"]
    assert len({(style.color, style.marker) for style in styles.values()}) == 3


def test_without_matplotlib_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"steinball\[plot\]"):
        render(experiment("weights"), Results(table()), tmp_path)


def test_published_rates_are_crosses_on_the_line_of_their_cell_and_nowhere_else() -> None:
    ax = pytest.importorskip("matplotlib.figure").Figure().subplots()
    rate_panel(ax, "n", figures.tests(table(), ["r-ksd"]), xlabel="points")
    cell: dict[str, Any] = {"test": "r-ksd", "variant": "published"}
    points: list[tuple[dict[str, Any], float]] = [
        ({**cell, "n": 20}, 0.9),
        ({**cell, "n": 30}, 0.1),
        ({**cell, "test": "imq-ksd"}, 0.2),
        (cell, 0.3),
    ]
    mark_published(ax.figure, points)
    crosses = [line for line in ax.lines if line.get_label() == "_published"]
    assert [(*line.get_xdata(), *line.get_ydata()) for line in crosses] == [(20.0, 0.9)]


def test_the_figures_of_the_paper_have_its_numbers() -> None:
    found = {name: len(experiment(name).published) for name in ("tails", "outliers", "kef-level", "rbm")}
    assert found == {"tails": 16, "outliers": 16, "kef-level": 7, "rbm": 0}
    assert ({"test": "imq-ksd", "df": 20, "variant": "published"}, 0.07) in experiment("tails").published
