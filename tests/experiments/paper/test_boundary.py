"""The boundary bootstrap beside R-KSD: what is a theorem, what is claimed, and what its figures say."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.framework.expectations import BEYOND
from experiments.framework.table import GRID, Rate, Rates, Results, read_results
from experiments.paper import EXPERIMENTS, experiment
from experiments.paper.boundary import keeps_the_level

pytestmark = pytest.mark.paper

TABLES = Path(__file__).parents[3] / "docs" / "paper" / "tables"
PAIRED = [name for name, found in EXPERIMENTS.items() if any(d.name.endswith("-boundary") for d in found.drawings)]


def by_place(rates: Rates, test: str) -> dict[tuple[str, ...], Rate]:
    return {tuple(v for k, v in r.where.items() if k != "test"): r for r in rates.select(test=test)}


@pytest.mark.parametrize("name", PAIRED)
def test_in_the_committed_table_the_boundary_bootstrap_is_never_below_r_ksd(name: str) -> None:
    """It rejects whenever R-KSD does, sample by sample: asserted here, since a theorem is no claim to be counted."""
    rates = read_results(TABLES / f"{name}.csv").rates
    ours, theirs = by_place(rates, "r-ksd-boundary"), by_place(rates, "r-ksd")
    assert ours
    assert [place for place, r in ours.items() if r.rejections < theirs[place].rejections] == []
    assert all(r.repeats == theirs[place].repeats for place, r in ours.items())


def rate(n: int, rejections: int) -> Rate:
    where = dict.fromkeys(("variant", "test", *GRID), "")
    named = {
        "test": "r-ksd-boundary",
        "variant": "published",
        "contamination": "0.05",
        "tolerance": "0.05",
        "n": str(n),
    }
    return Rate({**where, **named}, 100, rejections, 0.1, 0.0, 0.1, 1.0, 0.0, 0.0)


def test_its_level_is_claimed_from_fifty_points_on() -> None:
    found = list(keeps_the_level().findings(Results(Rates((rate(49, 100), rate(50, 9), rate(51, 10))))))
    assert [(f.measured, f.holds) for f in found] == [(0.09, True), (0.1, False)]


def test_the_reason_stands_where_smaller_samples_are_left_out_and_nowhere_else() -> None:
    reasons = {name: [e.reason for e in EXPERIMENTS[name].expectations if e.source == BEYOND][-1] for name in PAIRED}
    assert "fewer than 50 points" in reasons["oracle"]
    assert "fewer than 50 points" in reasons["supremum"]
    assert reasons["outliers"] == ""


def test_its_figure_names_it_in_place_of_r_ksd_and_leaves_r_ksd_dev_alone() -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    found = experiment("deviation")
    [drawing] = [d for d in found.drawings if d.name == "deviation-boundary"]
    drawing.draw(read_results(TABLES / "deviation.csv"), figure)
    texts = [text.get_text() for ax in figure.axes if ax.get_legend() for text in ax.get_legend().get_texts()]
    assert "boundary" in texts
    assert "R-KSD-Dev" in texts
    assert "R-KSD" not in texts


def test_a_figure_of_it_has_no_line_of_a_bootstrap_that_it_does_not_have() -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    [drawing] = [d for d in experiment("bootstraps").drawings if d.name == "bootstraps-boundary"]
    drawing.draw(read_results(TABLES / "bootstraps.csv"), figure)
    labels = {line.get_label() for ax in figure.axes for line in ax.get_lines()}
    assert labels == {"R-KSD, weighted", "_level", "_mark"}  # the legend alone is renamed
