"""Branch and bound over boxes, for τ in low dimension: intervals inside an ellipsoid, shells outside of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Floats
from steinball.tau.shells import Majorant, largest_shell

GAP = 0.02
"""The search ends when the upper bound is within this share of a value that is attained."""

MOST_BOXES = 200_000
_BATCH = 4096
_RADII = 2.0 ** np.arange(1.0, 11.0)


@dataclass(frozen=True, eq=False)
class _Boxes:
    """Boxes, rows of ``lower`` and ``upper``, with an upper bound on u(x, x) in each."""

    lower: Floats
    upper: Floats
    bound: Floats

    def take(self, rows: NDArray[Any]) -> _Boxes:
        return _Boxes(self.lower[rows], self.upper[rows], self.bound[rows])

    def join(self, other: _Boxes) -> _Boxes:
        parts = zip(vars(self).values(), vars(other).values(), strict=True)
        return _Boxes(*(np.concatenate(pair) for pair in parts))


def largest_box(
    majorant: Majorant, model: Any, value: Callable[[Floats], Floats], least: float, budget: int = MOST_BOXES
) -> float:
    """An upper bound on u(x, x) for every x, by interval arithmetic on the score (``model.score_bounds``).

    Boxes whose bound exceeds the best attained value by more than :data:`GAP` are halved, the worst first, until there
    are none or ``budget`` boxes have been looked at. Outside an ellipsoid the shells of the majorant count. ``value``
    is u(x, x) at rows of points, and ``least`` a value that is attained.
    """
    root, center = majorant.setting.unit_root, majorant.setting.center
    # Far out along the axes of the tilt, where the supremum may lie.
    best = max(least, float(value(center + 1e4 * np.concatenate([root.T, -root.T])).max()))
    radius, outside = _radius(majorant, best)
    closed, seen, enough = outside, 1, outside * (1.0 + GAP / 10.0)
    half = radius * np.linalg.norm(root, axis=1)  # of the box around ρ ≤ radius
    boxes = _bounded(majorant, model, (center - half)[None, :], (center + half)[None, :])
    while True:
        best = max(best, float(value((boxes.lower + boxes.upper) / 2.0).max(initial=0.0)))
        open_ = boxes.bound > max(best * (1.0 + GAP), enough)
        closed = max(closed, float(boxes.bound[~open_].max(initial=0.0)))
        boxes = boxes.take(np.flatnonzero(open_))
        if boxes.bound.size == 0 or seen > budget:
            return max(closed, float(boxes.bound.max(initial=0.0)))
        order = np.argsort(-boxes.bound)
        new = _bounded(majorant, model, *_halves(majorant, boxes.take(order[:_BATCH])))
        seen += new.bound.size
        boxes = new.join(boxes.take(order[_BATCH:]))


def _radius(majorant: Majorant, best: float) -> tuple[float, float]:
    """The smallest of some radii beyond which shells settle the matter, or the largest; and the bound beyond it."""
    tails = [largest_shell(majorant, GAP / 10.0, radius) for radius in _RADII]
    enough = [k for k, tail in enumerate(tails) if tail <= best * (1.0 + GAP)]
    k = enough[0] if enough else len(tails) - 1
    return float(_RADII[k]), tails[k]


def _halves(majorant: Majorant, boxes: _Boxes) -> tuple[Floats, Floats]:
    """Every box cut in two across its longest side, as the tilt measures it."""
    sides = (boxes.upper - boxes.lower) * np.sqrt(np.diag(majorant.setting.precision))
    rows, longest = np.arange(len(sides)), sides.argmax(axis=1)
    lower, upper = np.concatenate([boxes.lower] * 2), np.concatenate([boxes.upper] * 2)
    middle = (boxes.lower[rows, longest] + boxes.upper[rows, longest]) / 2.0
    upper[rows, longest] = middle
    lower[rows + len(sides), longest] = middle
    return lower, upper


def _bounded(majorant: Majorant, model: Any, lower: Floats, upper: Floats) -> _Boxes:
    """Boxes with the smaller of two bounds: by intervals, and by the shells that they reach into."""
    setting, b = majorant.setting, majorant.setting.exponent
    half = (upper - lower) / 2.0
    near, far = _distances(majorant, lower, upper)
    weight = (1.0 + near**2) ** -b
    score = model.score_bounds(lower, upper)
    pull = -2.0 * b * ((lower + half) - setting.center) @ setting.precision
    slack = 2.0 * b * half @ np.abs(setting.precision)
    # ∇log w = −2b M(x − a) / (1 + ρ²), each coordinate between its extremes over the box
    ends = np.stack([(pull + side * slack) / (1.0 + rho**2)[:, None] for side in (-1.0, 1.0) for rho in (near, far)])
    low, high = score[0] + ends.min(axis=0), score[1] + ends.max(axis=0)
    square = np.sum(np.maximum(np.abs(low), np.abs(high)) ** 2, axis=1)
    bound = weight**2 * (setting.value * square + setting.curvature)
    bound = np.fmin(bound, majorant.bound_between(near, far))
    return _Boxes(lower, upper, np.where(np.isnan(bound), np.inf, bound))  # a NaN bounds nothing


def _distances(majorant: Majorant, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Bounds of ρ over boxes: it moves from the middle by at most √(hᵀ|M|h), h the half widths."""
    setting, half = majorant.setting, (upper - lower) / 2.0
    middle = setting.distance((lower + upper) / 2.0)
    slack = np.sqrt(np.sum(half @ np.abs(setting.precision) * half, axis=1))
    return np.maximum(middle - slack, 0.0), middle + slack
