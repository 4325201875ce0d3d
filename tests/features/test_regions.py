"""Regions that a search may be confined to."""

from __future__ import annotations

import math
from typing import Any

import pytest

from steinball.features import Ball, Box

pytestmark = pytest.mark.exact


@pytest.mark.parametrize("radius", [0.0, -1.0, math.nan, math.inf])
def test_a_ball_needs_a_positive_radius(radius: float) -> None:
    with pytest.raises(ValueError, match="`radius` must be a finite number"):
        Ball(radius)


@pytest.mark.parametrize("center", [math.nan, [0.0, math.inf]])
def test_a_ball_needs_a_finite_center(center: Any) -> None:
    with pytest.raises(ValueError, match="`center` must be finite"):
        Ball(1.0, center)


@pytest.mark.parametrize(("lower", "upper"), [(1.0, 1.0), (2.0, 1.0), ([0.0, 3.0], [1.0, 2.0])])
def test_a_box_needs_its_lower_edge_below_the_upper(lower: Any, upper: Any) -> None:
    with pytest.raises(ValueError, match="`lower` must lie below `upper`"):
        Box(lower, upper)


def test_a_box_is_finite() -> None:
    with pytest.raises(ValueError, match="must be finite"):
        Box(0.0, math.inf)
    with pytest.raises(ValueError, match="must be finite"):
        Box(math.nan, 1.0)
