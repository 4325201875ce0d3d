"""Upper bounds on u(x, x): over shells ρ₀ ≤ ρ ≤ ρ₁ around the center of the tilt, and in low dimension over boxes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Floats
from steinball.kernels.base import Kernel
from steinball.models.gaussian import MANY
from steinball.models.knowledge import Knowledge, RadialScore, ScoreGrowth, unit_root
from steinball.tilts import PolynomialTilt, Tilt

_ROUNDS = 80
_FIRST_EDGES = np.concatenate([[0.0], 2.0 ** np.arange(-4.0, 9.0)])


class UncertifiedError(Exception):
    """No upper bound on τ is to be had; the text says why."""


@dataclass(frozen=True, eq=False)
class Setting:
    r"""All that kernel and tilt contribute to the diagonal

    .. math:: u(x, x) = \varphi(0)\, |w s + \nabla w|^2 + c\, w^2, \qquad w = (1 + \rho^2)^{-b},
       \quad \rho^2 = (x - a)^\top M (x - a), \quad c = -2 \varphi'(0) \operatorname{tr} C.

    Without a tilt b = 0, and the center and the metric do not matter.
    """

    value: float
    curvature: float
    exponent: float
    center: Floats
    precision: Floats

    @classmethod
    def of(cls, kernel: Kernel, tilt: Tilt | None, model: Any, dimension: int) -> Setting:
        """The numbers of a kernel and a tilt."""
        if dimension > MANY:  # they take a second there, and hours at 20,000
            raise UncertifiedError(f"matrices of {dimension} columns are not factored for a certificate")
        value, slope, _ = kernel.profile(np.zeros(1))
        trace = float(dimension if kernel.metric is None else np.trace(kernel.metric))
        numbers = float(value[0]), -2.0 * float(slope[0]) * trace
        if tilt is None:
            location = Knowledge(model).location
            center = np.zeros(dimension) if location is None else np.broadcast_to(location, dimension)
            return cls(*numbers, 0.0, center, np.eye(dimension))
        if not isinstance(tilt, PolynomialTilt):
            raise UncertifiedError(f"the shape of the tilt {type(tilt).__name__} is not known")
        precision = np.eye(dimension) * tilt.scale**-2 if tilt.precision is None else tilt.precision
        return cls(*numbers, tilt.exponent, np.broadcast_to(np.asarray(tilt.center), dimension), precision)

    @property
    def dimension(self) -> int:
        """d."""
        return len(self.center)

    @cached_property
    def steepness(self) -> float:
        """The root of the largest eigenvalue of M: |∇w| ≤ 2b · steepness · ρ (1 + ρ²)^(−b−1), attained."""
        return math.sqrt(float(np.linalg.eigvalsh(self.precision)[-1]))

    @cached_property
    def unit_root(self) -> Floats:
        """T with x = a + T z and ρ = |z|."""
        return unit_root(self.precision, self.dimension)

    def distance(self, x: Floats) -> Floats:
        """ρ at rows of ``x``, shape (n,)."""
        return np.asarray(np.linalg.norm((x - self.center) @ np.linalg.inv(self.unit_root).T, axis=1))


@dataclass(frozen=True, eq=False)
class Majorant:
    """What a setting and the bounds of a model's score give: an upper bound on u(x, x) over shells.

    ``growths`` bound |s| by ρ; ``radial``, where the model has one, by the distance from the model's own center, which
    lies between ``shrink``·ρ − ``shift`` and ``stretch``·ρ + ``shift``. The smallest of all counts.
    """

    setting: Setting
    growths: tuple[ScoreGrowth, ...]
    radial: RadialScore | None = None
    shrink: float = 0.0
    stretch: float = 0.0
    shift: float = 0.0

    @classmethod
    def of(cls, setting: Setting, model: Any) -> Majorant:
        """From what the model says."""
        known = Knowledge(model)
        growths, radial = known.score_growth(setting.center, setting.precision), known.radial_score
        if not growths:
            raise UncertifiedError("nothing is known of how the model's score grows away from the samples")
        if radial is None or radial.decay == 0.0:
            return cls(setting, growths)
        square = setting.unit_root.T @ radial.precision @ setting.unit_root
        least, *_, most = np.sqrt(np.repeat(np.linalg.eigvalsh(square), 2))
        offset = setting.center - radial.center
        return cls(setting, growths, radial, least, most, math.sqrt(offset @ radial.precision @ offset))

    def bound_between(self, low: Floats, high: Floats) -> Floats:
        """An upper bound on u(x, x) where ``low`` ≤ ρ ≤ ``high``; both may be infinite. Equal ends are allowed."""
        setting, b = self.setting, self.setting.exponent
        slope = 2.0 * b * setting.steepness * _largest(1, b + 1.0, low, high) if b else 0.0
        pull = np.min([self._by_radius(low, high), *(self._by(g, low, high) for g in self.growths)], axis=0)
        return np.asarray(setting.value * (pull + slope) ** 2 + setting.curvature * _largest(0, 2.0 * b, low, high))

    def most(self, distance: Floats) -> Floats:
        """The bound on |s| at given ρ."""
        return np.asarray(np.min([growth.at(distance) for growth in self.growths], axis=0))

    def _by(self, growth: ScoreGrowth, low: Floats, high: Floats) -> Floats:
        """w|s| from A² + 2Kρ + B²ρ², each term times w² at its largest."""
        square = np.zeros_like(low)
        for power, factor in enumerate((growth.offset**2, 2.0 * growth.middle, growth.slope**2)):
            if factor > 0.0:
                square = square + factor * _largest(power, 2.0 * self.setting.exponent, low, high)
        return np.sqrt(square)

    def _by_radius(self, low: Floats, high: Floats) -> Floats:
        if self.radial is None:
            return np.full_like(low, np.inf)
        near, far = np.maximum(self.shrink * low - self.shift, 0.0), self.stretch * high + self.shift
        return _largest(0, self.setting.exponent, low, high) * self.radial.most(near, far)


def _largest(power: int, exponent: float, low: Floats, high: Floats) -> Floats:
    """The largest ρ^power (1 + ρ²)^(−exponent) between two ends: it rises to one peak and falls."""
    room = 2.0 * exponent - power
    peak = math.sqrt(power / room) if room > 0.0 else (math.inf if power else 0.0)
    root = np.clip(peak, low, high)
    at_infinity = 1.0 if room == 0.0 else (0.0 if room > 0.0 else math.inf)
    finite = np.where(np.isfinite(root), root, 1.0)
    return np.where(np.isfinite(root), finite**power * (1.0 + finite**2) ** -exponent, at_infinity)


def largest_shell(majorant: Majorant, gap: float = 1e-5, start: float = 0.0) -> float:
    """An upper bound, above the maximum of the majorant over ρ ≥ ``start`` by at most the share ``gap``.

    Shells are halved until none of them could exceed the best value found by more.
    """
    low = start + _FIRST_EDGES
    high = np.append(low[1:], np.inf)
    closed = best = 0.0
    for _ in range(_ROUNDS):
        bound = majorant.bound_between(low, high)
        best = max(best, float(majorant.bound_between(low, low).max()), float(majorant.bound_between(high, high).max()))
        open_ = bound > best * (1.0 + gap)
        closed = max(closed, float(bound[~open_].max(initial=0.0)))
        if not open_.any() or not math.isfinite(best):
            return max(closed, float(bound.max()) if open_.any() else 0.0)
        low, high = low[open_], high[open_]
        middle = np.where(np.isfinite(high), (low + np.where(np.isfinite(high), high, 0.0)) / 2.0, 2.0 * low + 1.0)
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    return max(closed, float(majorant.bound_between(low, high).max()))


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
    # ρ moves from the middle of a box by at most √(hᵀ|M|h), h the half widths.
    middle = setting.distance((lower + upper) / 2.0)
    reach = np.sqrt(np.sum(half @ np.abs(setting.precision) * half, axis=1))
    near, far = np.maximum(middle - reach, 0.0), middle + reach
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
