"""Upper bounds on τ: closed forms, shells ρ₀ ≤ ρ ≤ ρ₁ around the center of the tilt, and boxes in low dimension."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from steinball.arrays import Array, Floats, dtype_name, to_host
from steinball.kernels.base import Kernel
from steinball.models.gaussian import MANY
from steinball.models.knowledge import Knowledge, RadialScore, ScoreGrowth, unit_root
from steinball.stein import SteinKernel
from steinball.tau.search import largest_known
from steinball.tilts import PolynomialTilt, Tilt

if TYPE_CHECKING:
    from steinball.problem import Problem


_ROUNDS = 80
_FIRST_EDGES = np.concatenate([[0.0], 2.0 ** np.arange(-4.0, 9.0)])


class UncertifiedError(Exception):
    """No upper bound on τ is to be had; the text says why."""


_NOTHING_KNOWN = "nothing is known of how the model's score grows away from the samples"


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
        if not (tilt is None or isinstance(tilt, PolynomialTilt)):
            raise UncertifiedError(f"the shape of the tilt {type(tilt).__name__} is not known")
        known = Knowledge(model)
        if known.radial_score is None and known.grows_as is None:
            raise UncertifiedError(_NOTHING_KNOWN)
        value, slope, _ = kernel.profile(np.zeros(1))
        trace = float(dimension if kernel.metric is None else np.trace(kernel.metric))
        numbers = float(value[0]), -2.0 * float(slope[0]) * trace
        if tilt is None:
            location = known.location
            center = np.zeros(dimension) if location is None else np.broadcast_to(location, dimension)
            return cls(*numbers, 0.0, center, np.eye(dimension))
        precision = np.eye(dimension) * tilt.scale**-2 if tilt.precision is None else tilt.precision
        return cls(*numbers, tilt.exponent, np.broadcast_to(np.asarray(tilt.center), dimension), precision)

    @cached_property
    def steepness(self) -> float:
        """The root of the largest eigenvalue of M: |∇w| ≤ 2b · steepness · ρ (1 + ρ²)^(−b−1), attained."""
        return math.sqrt(float(np.linalg.eigvalsh(self.precision)[-1]))

    @cached_property
    def unit_root(self) -> Floats:
        """T with x = a + T z and ρ = |z|."""
        return unit_root(self.precision, len(self.center))

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
        """The majorant of what a model says of its score."""
        known = Knowledge(model)
        growths, radial = known.score_growth(setting.center, setting.precision), known.radial_score
        if not growths:
            raise UncertifiedError(_NOTHING_KNOWN)
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

    def _by(self, growth: ScoreGrowth, low: Floats, high: Floats) -> Floats:
        """w|s| from A² + 2Kρ + B²ρ², each term times w² at its largest."""
        factors = enumerate((growth.offset**2, 2.0 * growth.middle, growth.slope**2))
        terms = (f * _largest(power, 2.0 * self.setting.exponent, low, high) for power, f in factors if f > 0.0)
        return np.sqrt(sum(terms, start=np.zeros_like(low)))

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
            return max(closed, float(bound[open_].max(initial=0.0)))
        low, high = low[open_], high[open_]
        middle = np.where(np.isfinite(high), (low + high) / 2.0, 2.0 * low + 1.0)
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    return max(closed, float(majorant.bound_between(low, high).max()))


GAP = 0.02
"""The search ends when the upper bound is within this share of a value that is attained."""

MOST_BOXES = 200_000
_BATCH = 4096
_RADII = 2.0 ** np.arange(1.0, 11.0)


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
    boxes = np.stack([center - half, center + half])[None]  # (k, 2, d): lower and upper corners
    bound = _bounds(majorant, model, boxes)
    while True:
        best = max(best, float(value(boxes.mean(axis=1)).max(initial=0.0)))
        open_ = bound > max(best * (1.0 + GAP), enough)
        closed = max(closed, float(bound[~open_].max(initial=0.0)))
        boxes, bound = boxes[open_], bound[open_]
        if bound.size == 0 or seen > budget:
            return max(closed, float(bound.max(initial=0.0)))
        worst, others = np.split(np.argsort(-bound), [_BATCH])
        new = _halves(majorant, boxes[worst])
        seen += len(new)
        boxes = np.concatenate([new, boxes[others]])
        bound = np.concatenate([_bounds(majorant, model, new), bound[others]])


def _radius(majorant: Majorant, best: float) -> tuple[float, float]:
    """The smallest of some radii beyond which shells settle the matter, or the largest; and the bound beyond it."""
    tails = [largest_shell(majorant, GAP / 10.0, radius) for radius in _RADII]
    enough = [k for k, tail in enumerate(tails) if tail <= best * (1.0 + GAP)]
    k = enough[0] if enough else len(tails) - 1
    return float(_RADII[k]), tails[k]


def _halves(majorant: Majorant, boxes: Floats) -> Floats:
    """Every box (k, 2, d) cut in two across its longest side, as the tilt measures it."""
    sides = (boxes[:, 1] - boxes[:, 0]) * np.sqrt(np.diag(majorant.setting.precision))
    rows, longest = np.arange(len(sides)), sides.argmax(axis=1)
    middle, both = boxes[rows, :, longest].mean(axis=1), np.concatenate([boxes, boxes])
    both[rows, 1, longest] = both[rows + len(rows), 0, longest] = middle
    return both


def _bounds(majorant: Majorant, model: Any, boxes: Floats) -> Floats:
    """Over each box the smaller of two bounds on u(x, x): by intervals, and by the shells that the box reaches into."""
    setting, b, lower, upper = majorant.setting, majorant.setting.exponent, boxes[:, 0], boxes[:, 1]
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
    return np.where(np.isnan(bound), np.inf, bound)  # a NaN bounds nothing


@dataclass(frozen=True)
class Supremum:
    """A value of τ and its kind.

    Lower bounds are ``"sample"``, ``"optimized"``, ``"largest found"`` and ``"localized"``; upper bounds ``"given"``,
    ``"closed form"`` and ``"certified"``. ``doubt`` says why an upper bound that was asked for is not to be had.

    Examples
    --------
    >>> Supremum(1.5, "certified").is_upper_bound, Supremum(1.5, "sample").is_upper_bound
    (True, False)
    """

    value: float
    kind: str
    doubt: str = ""

    @property
    def is_upper_bound(self) -> bool:
        """Whether u(x, x) ≤ value for every x, so that statements about the distribution follow."""
        return is_upper_bound(self.kind)

    @property
    def is_proved(self) -> bool:
        """Whether this library has proved that u(x, x) ≤ value for every x."""
        return self.kind in ("closed form", "certified")


def is_upper_bound(kind: str) -> bool:
    """Whether numbers of this kind hold for every x, not only where somebody has looked."""
    return kind in ("given", "closed form", "certified")


ROUNDING = 1e-9
"""Certified bounds are raised by this share: intervals are not rounded outwards, and d ≤ 3 or one sum per shell is far
from losing seven digits."""


_BOXES_UP_TO = 3
_CLOSE_ENOUGH = 1.03


def best_upper_bound(problem: Problem, boxes: int = MOST_BOXES) -> Supremum:
    """The smallest upper bound there is, of at most so many ``boxes``, or :class:`UncertifiedError`."""
    setting = Setting.of(problem.stein.kernel, problem.stein.tilt, problem.model, problem.samples.shape[1])
    exact = closed_form(setting, problem.model)
    if exact is not None:
        return Supremum(exact, "closed form")
    majorant = Majorant.of(setting, problem.model)
    _check_growth(majorant, problem)
    bound = _by_shells(majorant)
    if _has_boxes(problem.model, len(setting.center)):
        bound = min(bound, _by_boxes(majorant, problem, bound, boxes))
    return Supremum(bound * (1.0 + ROUNDING), "certified")


def bound_without_search(stein: SteinKernel, model: Any, dimension: int, *, loose: bool = False) -> float | None:
    """What :func:`best_upper_bound` will say up to a per cent; ``None`` where it says nothing, or boxes decide it.

    A ``loose`` bound is any that shells give.
    """
    try:
        setting = Setting.of(stein.kernel, stein.tilt, model, dimension)
        exact = closed_form(setting, model)
        if exact is not None or (_has_boxes(model, dimension) and not loose):
            return exact
        return _by_shells(Majorant.of(setting, model), gap=1.0 if loose else 0.01)
    except UncertifiedError:
        return None


def _has_boxes(model: Any, dimension: int) -> bool:
    return dimension <= _BOXES_UP_TO and Knowledge(model).score_bounds is not None


def closed_form(setting: Setting, model: Any) -> float | None:
    r"""The supremum itself where it is elementary, otherwise ``None``.

    Gaussian, tilt exponent ½ and the model's center, tilt metric M round or proportional to the model's precision P:
    with v = 1/(1 + ρ²),

    .. math:: \tau = \max_{0 \le v \le 1} \varphi(0) (1 - v)(B + H v)^2 + c v,
       \qquad B = \|P M^{-1/2}\|, \quad H = \|M^{1/2}\|.

    No tilt and a bounded score: φ(0) sup|s|² + c.
    """
    radial = Knowledge(model).radial_score
    if radial is None:
        return None
    if setting.exponent == 0.0:
        most = float(radial.most(0.0, math.inf))
        return setting.value * most**2 + setting.curvature if math.isfinite(most) else None
    if radial.decay > 0.0 or setting.exponent != 0.5 or not np.array_equal(setting.center, radial.center):
        return None
    found = _aligned(setting.precision, radial)
    return None if found is None else largest_cubic(setting.value, radial.rate * found[0], found[1], setting.curvature)


def largest_cubic(value: float, slope: float, steepness: float, curvature: float) -> float:
    """The maximum of value·(1 − v)(slope + steepness·v)² + curvature·v over 0 ≤ v ≤ 1.

    Its derivative is a parabola open below, so the maximum is at the larger root, or at an end.
    """
    size = max(abs(slope), abs(steepness))  # whose square may be no float in some units
    value, slope, steepness = value * size * size, slope / size, steepness / size
    linear = 4.0 * slope * steepness - 2.0 * steepness**2
    constant = 2.0 * slope * steepness - slope**2 + curvature / value
    under_root = linear**2 + 12.0 * steepness**2 * constant
    root = (math.sqrt(max(under_root, 0.0)) - linear) / (6.0 * steepness**2)
    places = (0.0, min(max(root, 0.0), 1.0), 1.0)
    return max(value * (1.0 - v) * (slope + steepness * v) ** 2 + curvature * v for v in places)


def _aligned(metric: Array, radial: RadialScore) -> tuple[float, float] | None:
    """B and H where M is a multiple of the identity or of P, so that one direction is steepest for weight and score.

    Both follow from ‖P‖ and the multiple: a scale is searched for by asking this many times over.
    """
    d, size = len(metric), float(np.trace(metric))
    least, most = 1e-10 * size / d, radial.steepness
    if np.abs(metric - np.eye(d) * (size / d)).max() <= least:
        return most / math.sqrt(size / d), math.sqrt(size / d)
    multiple = size / float(np.trace(radial.precision))
    if np.allclose(metric, radial.precision * multiple, rtol=1e-10, atol=least):
        return math.sqrt(most / multiple), math.sqrt(multiple * most)
    return None


def _by_shells(majorant: Majorant, gap: float = 1e-5) -> float:
    bound, b = largest_shell(majorant, gap), majorant.setting.exponent
    if math.isfinite(bound):
        return bound
    if b == 0.0:
        raise UncertifiedError("without a tilt u(x, x) grows with the score, which the model does not say is bounded")
    raise UncertifiedError(f"the tilt's exponent {b:g} is too small for a score that may grow linearly (0.5 is enough)")


def _check_growth(majorant: Majorant, problem: Problem) -> None:
    """A model's own bound is believed only where it holds at the samples."""
    x, scores = problem.host_samples, to_host(problem.scores)
    size, distance = np.linalg.norm(scores, axis=1), majorant.setting.distance(x)
    most = np.min([growth.at(distance) for growth in majorant.growths], axis=0)
    slack = 1e-6 if dtype_name(problem.samples) == "float64" else 1e-3
    wrong = size > most * (1.0 + slack) + slack * np.finfo(np.float32).tiny
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"`score_growth` of the model is not a bound: |s| = {size[row]:g} at sample {row}, where it says at most "
            f"{most[row]:g}. Correct it, or give `tau` as a number."
        )


def _by_boxes(majorant: Majorant, problem: Problem, bound: float, boxes: int) -> float:
    """Boxes, unless shells are close to a value that is attained already; with NumPy, whatever the samples are."""
    attained = largest_known(problem, bound / _CLOSE_ENOUGH)
    if bound <= _CLOSE_ENOUGH * attained:
        return bound
    host = problem.take(np.arange(len(problem)), host=True)
    return largest_box(majorant, host.model, host.diagonal_at, attained, boxes)
