"""Lines that would hide each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from experiments.paper.lines import moved_apart, widened

pytestmark = pytest.mark.exact


@pytest.fixture
def ax() -> Any:
    """Two lines with labels, at the same places, and one without."""
    figure = pytest.importorskip("matplotlib.figure").Figure()
    ax = figure.subplots()
    for color in ("red", "blue"):
        ax.plot([1.0, 10.0], [0.0, 1.0], color=color, label=color)
    ax.axhline(0.05)
    return ax


def test_markers_move_apart_around_their_places_and_values_stay(ax: Any) -> None:
    moved_apart(ax, 4.0)
    first, second, level = ax.lines
    np.testing.assert_allclose(first.get_xdata(), [0.5, 5.0])
    np.testing.assert_allclose(second.get_xdata(), [2.0, 20.0])
    np.testing.assert_allclose(second.get_ydata(), [0.0, 1.0])
    np.testing.assert_allclose(level.get_ydata(), [0.05, 0.05])


def test_the_lines_of_one_color_become_wide_and_lie_below(ax: Any) -> None:
    widened(ax, "red")
    first, second, _ = ax.lines
    assert first.get_linewidth() > 2.0 * second.get_linewidth()
    assert first.get_zorder() < second.get_zorder()
