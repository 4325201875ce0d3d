"""Tests over many bandwidths at once: KSDAgg (Schrab, Guedj and Gretton 2022), and with a tolerance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from steinball.arrays import check_kind, check_level, check_resamples
from steinball.calibration import BoundaryBootstrap, Calibration, WildBootstrap
from steinball.calibration.combination import as_calibration, check_over_kernels
from steinball.evidence.kernels import AggregationEvidence
from steinball.gof.assess import Specification, assess_kernels
from steinball.gram.choose import Settings
from steinball.kernels import InverseMultiquadric, Kernel
from steinball.radius import Huber, Radius
from steinball.record import recorded
from steinball.results.aggregated import AggregatedResult, RobustAggregatedResult
from steinball.rows import Rows
from steinball.tilts import Tilt

PAPER_BANDWIDTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
"""The paper's collection Λ of λ² (§5.1)."""

POWERS = range(-5, 6)
"""The length scales of ``"median"``: these powers of 2 times the median distance."""

ROBUST_POWERS = range(-2, 3)
"""The default length scales of the robust test: these powers of 2 times the median distance."""


@recorded
def ksdagg_test(
    x: Any,
    model: Any,
    *,
    kernels: Sequence[Kernel] | str | None = None,
    tilt: Tilt | str | None = None,
    level: float = 0.05,
    n_resamples: int = 2000,
    n_resamples_level: int = 2000,
    n_bisections: int = 50,
    rng: Any = None,
    standardize: bool = True,
    check_model: bool = True,
    engine: str = "auto",
    memory_limit: int | str | None = None,
    n_jobs: int | None = None,
    progress: bool | str = "auto",
) -> AggregatedResult:
    r"""The aggregated KSD test of the point null Q = P (Schrab, Guedj and Gretton 2022; paper §5.1)

    .. math:: \text{reject when } D_\lambda^2 > \hat q_{\lambda, 1 - \hat u w} \text{ for some } \lambda, \qquad
       \hat u = \sup \Big\{ u : \frac1{B_2} \sum_b \mathbf 1 \big(\max_\lambda (\tilde D_{\lambda, b}^2
       - \hat q_{\lambda, 1 - u w}) > 0\big) \le \alpha \Big\},

    with U-statistics :math:`D_\lambda^2`, equal weights :math:`w` over the collection, quantiles of the B₁ draws of the
    wild bootstrap with the statistic among them, and other draws :math:`\tilde D^2` for the correction. Each draw of
    signs serves all kernels, so the correction knows how much they depend on each other. It is not robust: there is no
    radius.

    Parameters
    ----------
    x, model, tilt, level, rng, standardize, check_model, memory_limit, n_jobs, progress
        As in :func:`steinball.ksd_test`.
    kernels : sequence of kernels, "median" or None
        The collection. By default the paper's: inverse multiquadrics with ℓ² = 2λ², λ² ∈ {.01, .1, 1, 10, 100}, in
        standardized coordinates; kernels of your own are about the coordinates of the data, which are kept then.
        ``"median"``: inverse multiquadrics at 2ⁱ times the median distance, i = −5, …, 5, the kind of collection that
        the authors of the test use.
    n_resamples, n_resamples_level : int
        B₁ draws for the quantiles, B₂ for the correction. B₁ must be able to reach ``level`` / (number of kernels).
    n_bisections : int
        B₃ halvings of [0, 1/w] in search of û, which ends at the lower side. Past 2^B₃ > B₁ no decision changes.
    engine : {"auto", "dense", "blocked"}
        How the pairs of points are worked through; both are exact.

    Returns
    -------
    AggregatedResult

    Notes
    -----
    The level is that of the wild bootstrap: as n → ∞. The p-value is the smallest level at which this test would
    reject, which is well defined: û grows with the level. It is the share of the B₂ draws for which some kernel is as
    extreme as the most extreme kernel of the data; 1/(B₂ + 1) where that share is 0.

    Examples
    --------
    >>> import numpy as np, steinball as sb
    >>> x = np.random.default_rng(0).normal(scale=1.3, size=200)
    >>> result = sb.ksdagg_test(x, sb.models.Gaussian(), n_resamples=500, n_resamples_level=500, rng=0)
    >>> result.rejected, result.correction >= result.level
    (True, True)
    """
    counts = check_resamples(n_resamples), check_resamples(n_resamples_level, "n_resamples_level")
    n_bisections, calibration = check_resamples(n_bisections, "n_bisections"), WildBootstrap(sum(counts))
    settings = Settings(engine, memory_limit, n_jobs, progress)
    asked = Specification(
        0.0, calibration, None, rng, settings, tilt=tilt, check_model=check_model, standardize=standardize
    )

    def choose(rows: Rows) -> tuple[Kernel, ...]:
        chosen = paper_kernels() if kernels is None else collection(kernels, rows)
        check_level(level, *_scarcer(counts, len(chosen)))
        return chosen

    sums, remarks = assess_kernels(x, model, asked, kernels, choose)
    evidence = AggregationEvidence.of(sums.problems, sums.summaries, counts[0], n_bisections)
    return AggregatedResult.of(evidence, asked.radius, level, remarks)


def _scarcer(counts: tuple[int, int], kernels: int) -> tuple[int, int]:
    """The draws that limit the level, and over how many kernels they are shared: B₁ over all, or B₂ over none."""
    return (counts[0], kernels) if counts[0] + 1 <= kernels * (counts[1] + 1) else (counts[1], 1)


def paper_kernels() -> tuple[Kernel, ...]:
    """The paper's collection: inverse multiquadrics with ℓ² = 2λ², λ² ∈ {.01, .1, 1, 10, 100}."""
    return tuple(InverseMultiquadric(math.sqrt(2.0 * square)) for square in PAPER_BANDWIDTHS)


def kernels_around(median: float, powers: Iterable[int]) -> tuple[Kernel, ...]:
    """Inverse multiquadrics at 2ⁱ times a length, i in ``powers`` (Schrab, Guedj and Gretton 2022, §5)."""
    return tuple(InverseMultiquadric(2.0**power * median) for power in powers)


def collection(kernels: Any, rows: Rows) -> tuple[Kernel, ...]:
    """The kernels that a user passed; ``"median"`` takes their length scales from the rows."""
    if isinstance(kernels, str):
        if kernels != "median":
            raise ValueError(f'`kernels` must be kernels, "median" or None, got {kernels!r}.')
        return kernels_around(rows.median_distance(), POWERS)
    if not isinstance(kernels, Iterable) or isinstance(kernels, Kernel):
        raise TypeError(f"`kernels` must be a sequence of kernels, got {kernels!r}. With one kernel, use `ksd_test`.")
    found = tuple(check_kind(kernel, Kernel, "kernels", "kernels of `steinball.kernels` only") for kernel in kernels)
    if not found:
        raise ValueError("`kernels` must hold at least one kernel, got none.")
    return found


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
    standardize: bool = True,
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
    x, model, tilt, tau, level, rng, outside, standardize, check_model, memory_limit, n_jobs, progress
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
    if radius is None:
        if contamination is None:
            raise TypeError("give `contamination`, the tolerated share, or `radius`, another tolerated set.")
        radius = Huber(contamination)
    tau = as_calibration(calibration).default_tau if tau is None else tau
    work = Settings(engine, memory_limit, n_jobs, progress)
    asked = Specification(
        radius, calibration, level, rng, work, None, tilt, tau, "v", None, outside, check_model, standardize
    )
    check_over_kernels(asked.calibration, asked.radius)

    def choose(rows: Rows) -> tuple[Kernel, ...]:
        around = kernels is None
        return kernels_around(rows.median_distance(), ROBUST_POWERS) if around else collection(kernels, rows)

    evidence, remarks = assess_kernels(x, model, asked, kernels, choose)
    return RobustAggregatedResult.of(evidence, asked.radius, level, remarks)
