"""Which tilt: what Stein's identity needs at the edges of the support, and elsewhere a large E u(X, X) beside τ."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Array, Floats, like, namespace, private_copy, to_host
from steinball.kernels.base import Kernel
from steinball.models.base import score_of
from steinball.models.knowledge import Knowledge
from steinball.models.reference import Reference
from steinball.models.support import Support
from steinball.stein import SteinKernel
from steinball.tau.certificate import bound_without_search
from steinball.tau.search import Cloud, normal_draws
from steinball.tilts import EdgeTilt, PolynomialTilt, PowerTilt, Tilt
from steinball.tilts.scatter import median_and_scales

NEARNESS = (1e-4, 1e-6, 1e-8)
"""How near to an edge the score is looked at, in median distances from it."""

_ROWS = 8
_VISIBLY = 1.05  # from here on a score is taken to be steeper than 1/r
_CLOSE = 1e-4


@dataclass(frozen=True, eq=False)
class End:
    """A finite end of one column, and what the score does next to it.

    Next to the edge the density is like :math:`r^k`, k = ``order``, and the score like :math:`r^{-m}`, where m is
    ``steepness`` (0 for a score that stays bounded). ``points`` are where that was seen, farthest first, (3, rows, d).
    """

    column: int
    edge: float
    order: float
    steepness: float
    points: Floats

    def tilt_order(self, tilt: Tilt | None) -> float:
        """q with w·e like r^q next to the edge."""
        if tilt is None:
            return 0.0
        far, near = (_log_weights(tilt, self.points[k], self.column) for k in (0, -1))
        apart, closer = (np.log(np.abs(self.points[k, :, self.column] - self.edge)) for k in (0, -1))
        return float(np.min((far - near) / (apart - closer)))

    def sound(self, tilt: Tilt | None) -> bool:
        """Whether E φ = 0 and E u < ∞ there: the density times the weight vanishes, and (w s)² is integrable."""
        q = self.tilt_order(tilt)
        return self.order + q > _CLOSE**2 and self.order + 2.0 * q > 1.0 + _CLOSE


def _log_weights(tilt: Tilt, x: Floats, column: int) -> Floats:
    each = tilt.coordinate_weights(x)
    log_weight = to_host(tilt.log_weight(x))
    return log_weight if each is None else log_weight + np.log(to_host(each)[:, column])


def find_ends(model: Any, samples: Array) -> list[End]:
    """The finite ends of a model's support, each with what the score does there; none where there is no edge."""
    support = Knowledge(model).support
    if support is None or not Knowledge(model).evaluable:
        return []
    x = support.rows_inside(to_host(samples))
    low, high = support.along(x.shape[1])
    sides = [(side, sign, j) for side, sign in ((low, 1.0), (high, -1.0)) for j in np.flatnonzero(np.isfinite(side))]
    return [_end(model, x, (int(j), float(side[j]), sign), samples) for side, sign, j in sides]


def _end(model: Any, x: Floats, where: tuple[int, float, float], template: Array) -> End:
    column, edge, sign = where
    unit = float(np.median(sign * (x[:, column] - edge)))
    rows = np.repeat(x[None, :: -(-len(x) // _ROWS)], len(NEARNESS), axis=0)
    least = 4096.0 * np.finfo(np.float64).eps * abs(edge)
    for k, near in enumerate(NEARNESS):
        rows[k, :, column] = edge + sign * max(near * unit, (len(NEARNESS) - k) * least)
    with np.errstate(all="ignore"):
        scores = _scores_along(model, rows, template)[:, :, column]
        distance = np.abs(rows[:, :, column] - edge)
        orders = sign * distance[-1] * scores[-1]
        slopes = np.log(np.abs(scores[-1] / scores[0])) / np.log(distance[0] / distance[-1])
    order = float(np.min(orders[np.isfinite(orders)], initial=math.inf))
    steepness = float(np.max(slopes[np.isfinite(slopes)], initial=0.0))
    return End(column, edge, 0.0 if math.isinf(order) else order, steepness, rows)


def edge_tilt(model: Any, samples: Array) -> EdgeTilt | None:
    """The tilt that vanishes at the finite edges of a model, or ``None`` where it has none.

    Its scale is the smaller of the median distance from the edge and the interquartile range of the samples, column by
    column; its power 1, or more where the score is visibly steeper than 1/r.

    Examples
    --------
    >>> from steinball.models import from_score
    >>> edge_tilt(from_score(lambda x: 0.0 * x, support=(0, 1)), np.linspace(0.1, 0.9, 9)[:, None]).scale
    (0.4,)
    """
    support = Knowledge(model).support
    if support is None:
        return None
    x = support.rows_inside(to_host(samples))
    steepest = max((end.steepness for end in find_ends(model, samples)), default=0.0)
    power = math.ceil(2.0 * steepest - 0.02) / 2.0 if steepest > _VISIBLY else 1.0
    low, high = (tuple(None if math.isinf(v) else float(v) for v in side) for side in support.along(x.shape[1]))
    return EdgeTilt(low, high, _scales(support, x), power)


def _scales(support: Support, x: Floats) -> tuple[float, ...]:
    medians = np.min([np.median(side, axis=0) for side in support.distances(x)], axis=0)
    spread = np.subtract(*np.quantile(x, [0.75, 0.25], axis=0))
    scales = np.where(spread > 0.0, np.minimum(medians, spread), medians)
    return tuple(np.where(np.isfinite(scales) & (scales > 0.0), scales, 1.0).tolist())


def check_edges(tilt: Tilt | None, model: Any, samples: Array) -> None:
    """Refuse a test in which Stein's identity fails at an edge of the support."""
    for end in find_ends(model, samples):
        if end.sound(tilt):
            continue
        side = "low" if end.points[0, 0, end.column] > end.edge else "high"
        falls = "" if tilt is None else f", and the weight of {type(tilt).__name__} like {_power(end.tilt_order(tilt))}"
        raise ValueError(
            f"the model has an edge at {end.edge:g} in column {end.column}, where its density is like "
            f"{_power(end.order)} in the distance r{falls}: too much for Stein's identity, so that a true model would "
            f'be rejected. Use `tilt="auto"`, or a tilt that vanishes there: `EdgeTilt({side}={end.edge:g})`.'
        )


def _power(order: float) -> str:
    return f"r^{round(order, 2) + 0.0:g}"


STEEPEST = 8.0
"""A score that grows faster than this power of the distance is taken to grow faster than any."""


def ray_points(model: Any, samples: Array) -> Floats:
    """Points along rays inside the support, shape (decades, rays, d)."""
    return Cloud.of(to_host(samples), Knowledge(model).support).decades


def growth_rate(model: Any, samples: Array, far_out: Callable[[], Floats] | None = None) -> float | None:
    r"""r with \|s(x)\| like \|x\|^r far out: what the model declares, or the largest along rays over two decades.

    Infinite where it is more than 8, and ``None`` where nothing can be told. ``far_out`` gives the points of the rays,
    (decades, rays, d), where these are known already.

    Examples
    --------
    >>> from steinball.models import from_score
    >>> x = np.random.default_rng(0).normal(size=(50, 1))
    >>> round(growth_rate(from_score(lambda x: -x - 4 * x**3), x), 2)
    3.0
    """
    known = Knowledge(model)
    if known.growth is not None or not known.evaluable:
        return known.growth
    with np.errstate(all="ignore"):
        shells = ray_points(model, samples) if far_out is None else far_out()
        sizes = np.abs(_scores_of_shells(model, shells, samples)).max(axis=2)
        logs = np.log10(np.maximum(sizes, 1e-300))
    rates = _last_slopes(logs)
    if not rates.size:
        return None
    return math.inf if rates.max() > STEEPEST else float(rates.max())


def _scores_along(model: Any, points: Floats, template: Array) -> Floats:
    flat = points.reshape(-1, points.shape[-1])
    return to_host(score_of(model, like(flat, template))).reshape(points.shape)


def _scores_of_shells(model: Any, shells: Floats, template: Array) -> Floats:
    """Scores at (decades, m, d) points; NaN in those decades where the model has none."""
    try:
        return _scores_along(model, shells, template)
    except Exception:  # a user's score need not be defined so far out, and says so in its own way
        if len(shells) == 1:
            return np.full(shells.shape, np.nan)
    return np.concatenate([_scores_of_shells(model, shell[None], template) for shell in shells])


def _last_slopes(logs: Floats) -> Floats:
    """For each ray (decades, rays) the slope over the last two decades that are finite, or over the only ones."""
    ends = finite_decades(logs) - 1
    rays, back = np.flatnonzero(ends > 0), np.minimum(2, ends[ends > 0])
    last = ends[rays]
    return np.asarray((logs[last, rays] - logs[last - back, rays]) / back)


def finite_decades(values: Floats) -> NDArray[np.intp]:
    """How many decades of each ray (decades, rays) are finite before the first that is not."""
    return np.asarray(np.logical_and.accumulate(np.isfinite(values)).sum(axis=0))


def falls_along_rays(model: Any, samples: Array, power: float) -> bool:
    """Whether p^power·\\|s\\| falls along all rays, as far as they show it."""
    points = ray_points(model, samples)
    log_density = Knowledge(model).log_density
    if log_density is None:
        return False
    try:
        with np.errstate(all="ignore"):
            sizes = np.log(np.abs(_scores_along(model, points, samples)).max(axis=2))
            flat = private_copy(like(points.reshape(-1, points.shape[-1]), samples))
            logs = to_host(log_density(flat)).reshape(sizes.shape)
    except Exception:  # of a density or score that fails far out it is not known
        return False
    with np.errstate(invalid="ignore"):
        together = np.where(np.isneginf(logs), -np.inf, power * logs + sizes)
    return bool(not np.isnan(together).any() and (together[2:] <= np.max(together[:2], axis=0)).all())


WORTH = 1.1
"""By how much the efficiency must rise before the scale of the tilt leaves that of the model."""

_DRAWS = 1024
_STEPS = (2.0, 2.0**0.25)  # of the scale: first far, then near
_STEP_WORTH = 1.01
_FARTHEST = 12
_ROUNDING = 0.02  # by which an estimated rate of growth may exceed the true one
_POWERS = (0.5, 1.0)


def choose_tilt(samples: Array, model: Any, kernel: Kernel, far_out: Callable[[], Floats] | None = None) -> Tilt | None:
    r"""The tilt that ``tilt="auto"`` means: one that bounds the Stein kernel, of a large efficiency

    .. math:: \mathbb{E}_P\, u(X, X) / \tau

    (docs/theory/supremum.md). Where the support of the model has edges, an :class:`EdgeTilt` that vanishes there; where
    the score grows toward infinity, times a :class:`PolynomialTilt` of exponent :math:`b \ge r/2`, or a
    :class:`PowerTilt` where it grows faster than any power and the model has a log density. Without edges the exponent
    is ½ at least (docs/theory/edges.md); and there is no tilt where the Stein kernel is proved to be bounded without
    one, as for Student's t: a weight would only hide what lies far out.

    Center and shape of the polynomial are those of the model: its ``location`` and ``covariance``, or the robust ones
    of draws if it can only ``sample``. Its scale is a multiple of the model's, searched for with the kernel at hand,
    and 1 unless that gains 10 % or more. The samples are not looked at, except for the scale of edges and where the
    model knows neither place nor sampler: then their median and median absolute deviation decide.

    Parameters
    ----------
    samples : array
        Shape (n, d).
    model : Model
        What is tested.
    kernel : Kernel
        The base kernel; only φ(0) and φ′(0) tr C matter.
    far_out : callable, optional
        Gives the points of :func:`ray_points`, where these are known already.

    Examples
    --------
    >>> from steinball.kernels import InverseMultiquadric
    >>> from steinball.models import Gaussian, from_score
    >>> choose_tilt(np.zeros((2, 1)), Gaussian(3.0, 4.0), InverseMultiquadric(2.0))
    PolynomialTilt(exponent=0.5, center=(3.0,), scale=2.0, precision=None)
    >>> choose_tilt(np.zeros((2, 50)), Gaussian(dimension=50), InverseMultiquadric(1.0)).scale > 5.0
    True
    >>> x = np.random.default_rng(0).exponential(size=(100, 1))
    >>> type(choose_tilt(x, from_score(lambda x: -1.0 + 0.0 * x, support=(0, None)), InverseMultiquadric(1.0))).__name__
    'EdgeTilt'
    """
    edge, rate = edge_tilt(model, samples), growth_rate(model, samples, far_out)
    if edge is None and bound_without_search(SteinKernel(kernel, None), model, int(samples.shape[1])) is not None:
        return None
    if edge is not None and (rate is None or rate <= _ROUNDING or np.isfinite([edge.low, edge.high]).all()):
        return edge  # of a support without an infinite end, or a score that does not grow
    if rate is not None and math.isinf(rate):
        power = _power_tilt(samples, model, kernel, edge)
        if power is not None:
            return power
        rate = None
    # The smallest b of ½, 1, 1½, … with b ≥ r/2, as far as the rate is known.
    exponent = 0.5 if rate is None else max(0.5, math.ceil(rate - _ROUNDING) / 2.0)
    return _polynomial_tilt(samples, model, kernel, edge, exponent)


def _with(edge: Tilt | None, tilt: Tilt) -> Tilt:
    return tilt if edge is None else edge * tilt


def _polynomial_tilt(samples: Array, model: Any, kernel: Kernel, edge: Tilt | None, exponent: float) -> Tilt:
    reference = Reference.of(model, samples)
    place = Knowledge(model).place if reference is None else None
    base = base_tilt(samples if reference is None else reference.draws[:_DRAWS], model, exponent)
    if reference is None and place is None:
        return _with(edge, base)
    draws = reference.draws[:_DRAWS] if reference is not None else normal_draws(_DRAWS, *place)  # type: ignore[misc]
    unknown = bound_without_search(SteinKernel(kernel, _with(edge, base)), model, draws.shape[1]) is None
    probes = _probes(draws, Knowledge(model).support) if unknown else draws
    with np.errstate(all="ignore"):
        scores = _scores_of_shells(model, probes[None], samples)[0]
    if not np.isfinite(scores).all():
        return _with(edge, base)

    def efficiency(factor: float) -> float:
        return _efficiency(SteinKernel(kernel, _with(edge, _scaled(base, factor))), model, probes, scores, _DRAWS)

    return _with(edge, _scaled(base, _best_factor(efficiency)))


def _power_tilt(samples: Array, model: Any, kernel: Kernel, edge: Tilt | None) -> Tilt | None:
    """The power of the density, ½ or 1, that bounds the Stein kernel along rays and is most efficient, if one does."""
    known, reference = Knowledge(model), Reference.of(model, samples)
    around = to_host(samples) if reference is None else reference.draws[:_DRAWS]
    tamed = [power for power in _POWERS if falls_along_rays(model, samples, power)]
    if known.log_density is None or not tamed:
        return None
    probes, few = _probes(around, known.support), min(_DRAWS, len(around))
    height = float(np.median(to_host(known.log_density(private_copy(like(around[:few], samples))))))
    tilts = [_with(edge, PowerTilt(known.log_density, model.score, power, height)) for power in tamed]
    there = like(probes, samples)
    with np.errstate(all="ignore"):
        scores = namespace(there).reshape(score_of(model, there), probes.shape)
    return max(tilts, key=lambda tilt: _efficiency(SteinKernel(kernel, tilt), model, there, scores, few))


def base_tilt(samples: Array, model: Any = None, exponent: float = 0.5) -> PolynomialTilt:
    """The tilt before its scale is chosen: centered and scaled like the model where it knows how, else like the data.

    Of the data, the coordinatewise median and median absolute deviation are used: outliers must not stretch the weight
    that is there to bound them. A constant column takes the scale of the others.

    Examples
    --------
    >>> from steinball.models import Gaussian
    >>> base_tilt(np.zeros((2, 1)), Gaussian(3.0, 4.0)).scale
    2.0
    """
    known = Knowledge(model)
    location, alone = known.location, known.variances
    place = known.place if location is None or alone is None else (location, alone)
    if place is not None:
        return _standardizing_tilt(*place, exponent)
    center, scales = median_and_scales(to_host(samples))
    return _standardizing_tilt(center, scales**2, exponent)


def _standardizing_tilt(center: Floats, covariance: Floats, exponent: float) -> PolynomialTilt:
    """The tilt with C the inverse covariance; isotropic ones give the plain form with a scale. Diagonals are (d,)."""
    variances = np.diag(covariance) if covariance.ndim == 2 else covariance
    unit = np.eye(len(variances)) if covariance.ndim == 2 else 1.0
    if (covariance == variances[0] * unit).all():
        return PolynomialTilt(exponent, center, float(np.sqrt(variances[0])))
    inverse = np.linalg.inv(covariance if covariance.ndim == 2 else np.diag(covariance))
    return PolynomialTilt(exponent, center, precision=(inverse + inverse.T) / 2.0)


def _scaled(tilt: PolynomialTilt, factor: float) -> PolynomialTilt:
    if tilt.precision is None:
        return dataclasses.replace(tilt, scale=tilt.scale * factor)
    return dataclasses.replace(tilt, precision=tilt.precision / factor**2)


def _probes(draws: Floats, support: Support | None = None) -> Floats:
    """The draws, then points between, beside and beyond them inside the support, where u may be largest."""
    center, few = np.median(draws, axis=0), draws[::4]
    stretched = [center + factor * (few - center) for factor in (0.0, 0.5, 2.0, 4.0, 16.0, 1e3)]
    others = np.vstack([(draws + np.roll(draws, 1, axis=0)) / 2.0, *stretched])
    return np.vstack([draws, others if support is None else support.rows_inside(others)])


@np.errstate(all="ignore")
def _efficiency(stein: SteinKernel, model: Any, probes: Array, scores: Array, few: int) -> float:
    """Mean over the first few probes by the supremum as τ will have it, or by the largest finite value at all."""
    values, bound = to_host(stein.diagonal(probes, scores)), bound_without_search(stein, model, probes.shape[1])
    values = np.where(np.isfinite(values), values, 0.0)
    return float(values[:few].mean() / (max(values.max(), 1e-300) if bound is None else bound))


def _best_factor(efficiency: Callable[[float], float]) -> float:
    """Uphill from 1 in large steps, then in small ones, each of which must gain; back to 1 if that is hardly worse."""
    at_one = best = efficiency(1.0)
    factor = 1.0
    for step in _STEPS:
        for ratio in (step, 1.0 / step):
            for _ in range(_FARTHEST):
                tried = efficiency(factor * ratio)
                if not tried > _STEP_WORTH * best:
                    break
                factor, best = factor * ratio, tried
    return factor if best > WORTH * at_one else 1.0
