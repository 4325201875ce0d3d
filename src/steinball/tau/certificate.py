"""The best upper bound on τ that model, kernel and tilt allow: a closed form, shells, or boxes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from steinball.arrays import Array, dtype_name, to_host
from steinball.models.knowledge import Knowledge, RadialScore
from steinball.stein import SteinKernel
from steinball.tau.search import optimized
from steinball.tau.shells import MOST_BOXES, Majorant, Setting, largest_box, largest_shell
from steinball.tau.shells import UncertifiedError as UncertifiedError

if TYPE_CHECKING:
    from steinball.problem import Problem


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
    if _has_boxes(problem.model, setting.dimension):
        bound = min(bound, _by_boxes(majorant, problem, bound, boxes))
    return Supremum(bound * (1.0 + ROUNDING), "certified")


def bound_without_search(stein: SteinKernel, model: Any, dimension: int) -> float:
    """What :func:`best_upper_bound` will say up to a per cent, or :class:`UncertifiedError` where boxes decide it."""
    setting = Setting.of(stein.kernel, stein.tilt, model, dimension)
    exact = closed_form(setting, model)
    if exact is not None:
        return exact
    if _has_boxes(model, dimension):
        raise UncertifiedError("boxes may sharpen the bound")
    return _by_shells(Majorant.of(setting, model), gap=0.01)


def is_certain(stein: SteinKernel, model: Any, dimension: int) -> bool:
    """Whether what the model says of its score proves that u(x, x) is bounded, by whatever number."""
    try:
        majorant = Majorant.of(Setting.of(stein.kernel, stein.tilt, model, dimension), model)
    except UncertifiedError:
        return False
    return math.isfinite(largest_shell(majorant, gap=1.0))


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
    size, most = np.linalg.norm(scores, axis=1), majorant.most(majorant.setting.distance(x))
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
    host = problem.take(np.arange(len(problem)), host=True)
    attained = float(host.diagonal.max())
    if bound <= _CLOSE_ENOUGH * attained:
        return bound
    attained = max(attained, optimized(host))
    if bound <= _CLOSE_ENOUGH * attained:
        return bound
    return largest_box(majorant, host.model, host.diagonal_at, attained, boxes)
