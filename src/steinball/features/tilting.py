"""Which tilt: center and scale that make E u(X, X) large beside its supremum."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Array, like, to_host
from steinball.features.certificate import UncertifiedError, bound_without_search
from steinball.kernels.base import Kernel
from steinball.models.base import score_of
from steinball.models.knowledge import Knowledge
from steinball.stein import SteinKernel, SteinProblem
from steinball.tilts import PolynomialTilt

__all__ = ["base_tilt", "choose_tilt", "tilt_efficiency"]

Matrix = NDArray[np.float64]

WORTH = 1.1
"""By how much the efficiency must rise before the scale of the tilt leaves that of the model."""

_DRAWS = 1024
_STEPS = (2.0, 2.0**0.25)  # of the scale: first far, then near
_STEP_WORTH = 1.01
_FARTHEST = 12


def choose_tilt(samples: Array, model: Any, kernel: Kernel, exponent: float = 0.5) -> PolynomialTilt:
    r"""The tilt that ``tilt="auto"`` means: centered and scaled for a large efficiency

    .. math:: \mathbb{E}_P\, u(X, X) / \tau

    (docs/theory/supremum.md). Center and shape are those of the model: its ``location`` and ``covariance``, or the
    robust ones of draws if it can only ``sample``. Its scale is a multiple of the model's, searched for with the kernel
    at hand, and 1 unless that gains 10 % or more. The samples are not looked at, except where the model knows neither
    place nor sampler: then their median and median absolute deviation decide, and the multiple is 1.

    Parameters
    ----------
    samples : array
        Shape (n, d).
    model : Model
        What is tested.
    kernel : Kernel
        The base kernel; only φ(0) and φ′(0) tr C matter.
    exponent : float
        b of the tilt.

    Examples
    --------
    >>> from steinball.kernels import InverseMultiquadric
    >>> from steinball.models import Gaussian
    >>> choose_tilt(np.zeros((2, 1)), Gaussian(3.0, 4.0), InverseMultiquadric(2.0))
    PolynomialTilt(exponent=0.5, center=(3.0,), scale=2.0, precision=None)
    >>> choose_tilt(np.zeros((2, 50)), Gaussian(dimension=50), InverseMultiquadric(1.0)).scale > 5.0
    True
    """
    draws, place = Knowledge(model).draws(_DRAWS), Knowledge(model).place
    base = base_tilt(samples if draws is None else draws, model, exponent)
    if draws is None:
        if place is None:
            return base
        draws = _normal_draws(*place)
    probes = draws if _is_bounded(SteinKernel(kernel, base), model, draws.shape[1]) else _probes(draws)
    scores = _scores(model, probes, samples)
    if scores is None:
        return base
    factor = _best_factor(lambda factor: _efficiency(SteinKernel(kernel, _scaled(base, factor)), model, probes, scores))
    return _scaled(base, factor)


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
    place = Knowledge(model).place
    if place is not None:
        return _standardizing_tilt(*place, exponent)
    x = to_host(samples)
    center = np.median(x, axis=0)
    return _standardizing_tilt(center, np.diag(_robust_scales(x - center) ** 2), exponent)


def tilt_efficiency(problem: SteinProblem, tau: float, n_draws: int = 4 * _DRAWS) -> float:
    """E u(X, X) / τ: the share of a point's largest possible weight that an ordinary point has.

    Under the model where it can be sampled, with draws of a fixed seed; otherwise over the samples. A value near 1
    wastes nothing; one near 0 says that the radius is set by points that neither model nor data show.

    Examples
    --------
    >>> from steinball.problem import pose
    >>> from steinball.kernels import InverseMultiquadric
    >>> from steinball.models import Gaussian
    >>> from steinball.features.supremum import find_supremum
    >>> narrow = Gaussian(0.0, 0.01)
    >>> problem = pose([0.0, 0.1], narrow, InverseMultiquadric(0.1), PolynomialTilt())
    >>> round(tilt_efficiency(problem, find_supremum("auto", problem).value), 2)
    0.02
    >>> problem = pose([0.0, 0.1], narrow, InverseMultiquadric(0.1), "auto")
    >>> round(tilt_efficiency(problem, find_supremum("auto", problem).value), 2)
    0.86
    """
    draws = Knowledge(problem.model).draws(n_draws)
    scores = None if draws is None else _scores(problem.model, draws, problem.samples)
    if draws is None or scores is None:
        return float(to_host(problem.diagonal).mean()) / tau
    return float(problem.stein.diagonal(draws, scores).mean()) / tau


def _standardizing_tilt(center: Matrix, covariance: Matrix, exponent: float) -> PolynomialTilt:
    """The tilt with C the inverse covariance; isotropic covariances give the plain form with a scale."""
    variances = np.diag(covariance)
    if np.array_equal(covariance, variances[0] * np.eye(len(variances))):
        return PolynomialTilt(exponent, center, float(np.sqrt(variances[0])))
    inverse = np.linalg.inv(covariance)
    return PolynomialTilt(exponent, center, precision=(inverse + inverse.T) / 2.0)


def _robust_scales(offset: Matrix) -> Matrix:
    """Median absolute deviations as standard deviations, none of them zero."""
    scales = 1.4826 * np.array([_median_deviation(column) for column in np.abs(offset).T])
    known = scales[scales > 0.0]
    return np.where(scales > 0.0, scales, np.median(known) if known.size else 1.0)


def _median_deviation(deviations: Matrix) -> float:
    """Their median; where most are 0, that of the others: a root mean square would follow the outliers."""
    median = float(np.median(deviations))
    return median if median > 0.0 or not deviations.any() else float(np.median(deviations[deviations > 0.0]))


def _normal_draws(location: Matrix, covariance: Matrix) -> Matrix:
    noise = np.random.default_rng(0).standard_normal((_DRAWS, len(location)))
    return np.asarray(location + noise @ np.linalg.cholesky(covariance).T)


def _scores(model: Any, draws: Matrix, samples: Array) -> Matrix | None:
    with np.errstate(all="ignore"):
        scores = to_host(score_of(model, like(draws, samples))).reshape(draws.shape)
    return scores if np.isfinite(scores).all() else None


def _scaled(tilt: PolynomialTilt, factor: float) -> PolynomialTilt:
    if tilt.precision is None:
        return dataclasses.replace(tilt, scale=tilt.scale * factor)
    return dataclasses.replace(tilt, precision=tilt.precision / factor**2)


def _is_bounded(stein: SteinKernel, model: Any, dimension: int) -> bool:
    try:
        bound_without_search(stein, model, dimension)
    except UncertifiedError:
        return False
    return True


def _probes(draws: Matrix) -> Matrix:
    """The draws, then points between, beside and beyond them, where u may be largest."""
    center, few = np.median(draws, axis=0), draws[::4]
    stretched = [center + factor * (few - center) for factor in (0.0, 0.5, 2.0, 4.0, 16.0, 1e3)]
    return np.vstack([draws, (draws + np.roll(draws, 1, axis=0)) / 2.0, *stretched])


def _efficiency(stein: SteinKernel, model: Any, probes: Matrix, scores: Matrix) -> float:
    """Mean over the draws by the supremum as τ will have it, or by the largest value at the probes."""
    mean = float(stein.diagonal(probes[:_DRAWS], scores[:_DRAWS]).mean())
    try:
        return mean / bound_without_search(stein, model, probes.shape[1])
    except UncertifiedError:
        return mean / float(stein.diagonal(probes, scores).max())


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
