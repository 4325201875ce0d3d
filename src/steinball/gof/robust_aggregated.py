"""Robust aggregation: many length scales at once, with a tolerance, and no bandwidth to choose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steinball.arrays import as_seed, check_level
from steinball.calibration import BoundaryBootstrap, Calibration
from steinball.calibration.combination import as_calibration, check_every_row, check_isolated, check_over_kernels
from steinball.checks.remarks import look_over
from steinball.features.supremum import find_supremum
from steinball.gof.aggregated import collection, exact_engine, kernels_around, summarise_all, warn_about_order
from steinball.gram.choose import Settings
from steinball.kernels.base import Kernel
from steinball.problem import Subject, in_no_coordinates
from steinball.radius import Huber, Radius
from steinball.radius.base import as_radius
from steinball.record import recorded
from steinball.results.robust_aggregated import RobustAggregatedResult, RobustAggregationEvidence, radii_of
from steinball.tilts import Tilt

__all__ = ["robust_ksdagg_test"]

POWERS = range(-2, 3)
"""The default length scales: these powers of 2 times the median distance."""


@recorded
def robust_ksdagg_test(
    x: Any,
    model: Any,
    contamination: float | None = None,
    *,
    radius: Radius | None = None,
    kernels: Sequence[Kernel] | str | None = None,
    tilt: Tilt | str | None = "auto",
    tau: Any = None,
    calibration: Calibration = BoundaryBootstrap(999),  # noqa: B008 - frozen, and the default is part of the contract
    level: float = 0.05,
    rng: Any = None,
    outside: str = "error",
    check_model: bool = True,
    engine: str = "auto",
    memory_limit: int | str | None = None,
    n_jobs: int | None = None,
    progress: bool | str = "auto",
) -> RobustAggregatedResult:
    r"""Test a model up to a share of contamination, at several length scales at once.

    Contamination ε₀ implies :math:`D_\lambda \le \theta_\lambda = \varepsilon_0 \sqrt{\tau_\lambda}` for *every* length
    scale λ. Reject when

    .. math:: T = \max_\lambda \frac{D_\lambda - \theta_\lambda}{q_\lambda}

    exceeds the quantile of :math:`T^* = \max_\lambda (D_\lambda^*(\theta_\lambda) - \theta_\lambda) / q_\lambda`, with
    the boundary draws :math:`D^*` of :class:`steinball.BoundaryBootstrap` made by one set of weights for all λ, and
    :math:`q_\lambda` the 95 % quantile of :math:`D_\lambda^*(\theta_\lambda) - \theta_\lambda`. No bandwidth has to
    be chosen.

    Parameters
    ----------
    x, model, tilt, tau, level, rng, outside, check_model, memory_limit, n_jobs, progress
        As in :func:`steinball.robust_ksd_test`; ``tau`` is by default ``"best"``, for bets an upper bound.
    contamination : float
        The tolerated share ε₀. It has no default: give it, or ``radius``.
    radius : Radius, optional
        Another tolerated set of :mod:`steinball.radius` instead of ``contamination``; its θ is taken for each kernel.
    kernels : sequence of kernels, "median" or None
        The collection. By default inverse multiquadrics at ¼, ½, 1, 2 and 4 times the median distance; ``"median"``:
        at 2ⁱ times the median distance, i = −5, …, 5.
    calibration : Calibration
        One that decides over several kernels: :class:`steinball.BoundaryBootstrap` by its draws; or
        :class:`steinball.Betting` by the wealth of the bets averaged over the kernels, for finite samples. Its default
        kernels come from draws of the model, not from the data.
    engine : {"auto", "dense", "blocked"}
        How the pairs of points are worked through; both are exact.

    Returns
    -------
    RobustAggregatedResult

    Notes
    -----
    Proved (``docs/theory/aggregation.md``): the level as n → ∞ for each distribution of the tolerated set, for kernels
    fixed in advance; it is conservative, the more so the more length scales lie far inside their balls. Simulated: the
    level and power with length scales from the median distance (``docs/evidence``). With :class:`steinball.Betting`:
    the level for every n, uniformly over the tolerated set, because an average of e-processes is one.

    Examples
    --------
    >>> import numpy as np, steinball as sb
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=400)
    >>> x[:60] = 10.0
    >>> rng.shuffle(x)
    >>> result = sb.robust_ksdagg_test(x, sb.models.Gaussian(), contamination=0.05, rng=0)
    >>> result.rejected, result.at(contamination=0.15).rejected
    (True, False)
    """
    calibration, seed = as_calibration(calibration), as_seed(rng)
    level = check_level(level, calibration.n_resamples)
    tolerated = _tolerated(contamination, radius)
    check_over_kernels(calibration, tolerated)
    base = in_no_coordinates(kernels, tilt, tau) and tolerated.invariant
    subject = Subject.of(x, model, predictable=calibration.predictable, outside=outside, base=base)
    check_isolated(tolerated, len(subject.isolated))
    check_every_row(calibration, len(subject.isolated))
    settings = Settings(exact_engine(engine, len(subject)), memory_limit, n_jobs, progress)
    chosen = kernels_around(subject.median_distance(), POWERS) if kernels is None else collection(kernels, subject)
    problems = subject.pose_all(chosen, tilt)
    look_over(problems[len(problems) // 2], check_model, tolerated.displacement)
    taus = [find_supremum(calibration.default_tau if tau is None else tau, problem) for problem in problems]
    calibration = calibration.settled(problems[len(problems) // 2])
    radii = radii_of(tolerated, calibration, problems, taus)
    summaries = summarise_all(problems, calibration, seed, settings, subject, taus)
    if calibration.independent_rows:
        warn_about_order(problems, summaries)
    evidence = RobustAggregationEvidence.of(problems, summaries, taus, calibration, subject.remarks, subject.isolated)
    return evidence.decide(tolerated, level, radii)


def _tolerated(contamination: float | None, radius: Radius | None) -> Radius:
    """The tolerated set; ``radius`` goes before a share."""
    if radius is not None:
        return as_radius(radius)
    if contamination is None:
        raise TypeError("give `contamination`, the tolerated share, or `radius`, another tolerated set.")
    return Huber(contamination)
