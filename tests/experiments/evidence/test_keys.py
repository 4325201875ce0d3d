"""Legends of the evidence: every line style of a figure is in one."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.evidence import EVIDENCE, EXPERIMENTS
from experiments.evidence.keys import LEVEL_LABEL, TOLERANCE_LABEL, key, legend_of, level_line
from experiments.framework.base import Experiment

pytestmark = pytest.mark.exact


def blank(**options: Any) -> Any:
    """A figure that belongs to no screen."""
    return pytest.importorskip("matplotlib.figure").Figure(**options)


def styles(lines: Any) -> set[str]:
    kind = pytest.importorskip("matplotlib.lines").Line2D
    return {str(line.get_linestyle()) for line in lines if isinstance(line, kind)} - {"None", "none", ""}


@pytest.mark.parametrize("found", EXPERIMENTS.values(), ids=lambda e: e.name)
def test_every_line_style_of_a_figure_is_in_a_legend(found: Experiment) -> None:
    """From the committed tables."""
    results = EVIDENCE.results(found, EVIDENCE.page / "tables")
    for drawing in found.drawings:
        figure = blank(figsize=drawing.size, layout="constrained")
        drawing.draw(results, figure)
        legends = [*figure.legends, *(legend for ax in figure.axes if (legend := ax.get_legend()) is not None)]
        shown = styles(handle for legend in legends for handle in legend.legend_handles)
        assert styles(line for ax in figure.axes for line in ax.lines) <= shown


def test_an_entry_looks_like_the_line_that_it_stands_for() -> None:
    ax: Any = blank().subplots()
    level_line(ax)
    ax.plot([0, 1], [0, 1], label="data")
    legend_of(ax, ax, LEVEL_LABEL, TOLERANCE_LABEL, key("bar", linewidth=2.0))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["data", LEVEL_LABEL, TOLERANCE_LABEL, "bar"]
    assert ax.get_legend().legend_handles[1].get_linestyle() == ax.lines[0].get_linestyle() == ":"
