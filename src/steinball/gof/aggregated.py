"""KSDAgg: many bandwidths at once, at one level (Schrab, Guedj and Gretton 2022)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from steinball.arrays import as_seed, check_level, check_resamples
from steinball.calibration import Calibration, WildBootstrap
from steinball.checks.dependence import warn_if_dependent
from steinball.checks.remarks import look_over
from steinball.features import Supremum
from steinball.gram.base import GramSummary
from steinball.gram.choose import DENSE_UP_TO, Settings, make_gram
from steinball.gram.isolated import with_isolated
from steinball.kernels.bandwidth import median_distance
from steinball.kernels.base import Kernel
from steinball.kernels.radial import InverseMultiquadric
from steinball.problem import Subject
from steinball.results.aggregated import AggregatedResult, AggregationEvidence
from steinball.stein import SteinProblem
from steinball.tilts import Tilt

PAPER_BANDWIDTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
"""The paper's collection Λ of λ² (§5.1)."""

POWERS = range(-5, 6)
"""The length scales of ``"median"``: these powers of 2 times the median distance."""


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
    x, model, tilt, level, rng, check_model, memory_limit, n_jobs, progress
        As in :func:`steinball.ksd_test`.
    kernels : sequence of kernels, "median" or None
        The collection. By default the paper's: inverse multiquadrics with ℓ² = 2λ², λ² ∈ {.01, .1, 1, 10, 100}.
        ``"median"``: inverse multiquadrics at 2ⁱ times the median distance, i = −5, …, 5, the kind of collection that
        the authors of the test use.
    n_resamples, n_resamples_level : int
        B₁ draws for the quantiles, B₂ for the correction.
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
    level, seed = check_level(level, min(counts)), as_seed(rng)
    n_bisections = check_resamples(n_bisections, "n_bisections")
    subject = Subject.of(x, model)
    settings = Settings(exact_engine(engine, len(subject)), memory_limit, n_jobs, progress)
    problems = subject.pose_all(paper_kernels() if kernels is None else collection(kernels, subject), tilt)
    look_over(problems[len(problems) // 2], check_model)
    summaries = summarise_all(problems, WildBootstrap(sum(counts)), seed, settings, subject)
    warn_about_order(problems, summaries)
    return AggregationEvidence.of(problems, summaries, counts[0], n_bisections).decide(level)


def paper_kernels() -> tuple[Kernel, ...]:
    """The paper's collection: inverse multiquadrics with ℓ² = 2λ², λ² ∈ {.01, .1, 1, 10, 100}."""
    return tuple(InverseMultiquadric(math.sqrt(2.0 * square)) for square in PAPER_BANDWIDTHS)


def median_kernels(samples: Any, powers: Iterable[int] = POWERS) -> tuple[Kernel, ...]:
    """Inverse multiquadrics at 2ⁱ times the median distance, i in ``powers`` (Schrab, Guedj and Gretton 2022, §5)."""
    return kernels_around(median_distance(samples), powers)


def kernels_around(median: float, powers: Iterable[int]) -> tuple[Kernel, ...]:
    """Inverse multiquadrics at 2ⁱ times a length, i in ``powers``."""
    return tuple(InverseMultiquadric(2.0**power * median) for power in powers)


def summarise_all(
    problems: Sequence[SteinProblem],
    calibration: Calibration,
    seed: np.random.SeedSequence,
    settings: Settings,
    subject: Subject,
    taus: Sequence[Supremum] = (),
) -> list[GramSummary]:
    """One pass for each problem; the weights are drawn once and serve them all."""
    n = subject.n
    request = calibration.request(n, seed).gathered(n, settings.n_jobs)
    grams = [make_gram(problem, request, calibration.n_resamples, settings) for problem in problems]
    if len(subject.isolated):
        grams = [with_isolated(g, n, subject.isolated, tau.value) for g, tau in zip(grams, taus, strict=True)]
    return [gram.summarise(request) for gram in grams]


def warn_about_order(problems: Sequence[SteinProblem], summaries: Sequence[GramSummary]) -> None:
    """Say so where rows depend on each other, by the kernel in the middle."""
    middle = len(problems) // 2
    warn_if_dependent(problems[middle], summaries[middle])


def collection(kernels: Any, subject: Subject) -> tuple[Kernel, ...]:
    """The kernels that a user passed; ``"median"`` takes their length scales from the subject."""
    if isinstance(kernels, str):
        if kernels != "median":
            raise ValueError(f'`kernels` must be kernels, "median" or None, got {kernels!r}.')
        return kernels_around(subject.median_distance(), POWERS)
    if not isinstance(kernels, Iterable) or isinstance(kernels, Kernel):
        raise TypeError(f"`kernels` must be a sequence of kernels, got {kernels!r}. With one kernel, use `ksd_test`.")
    found = tuple(kernels)
    for kernel in found:
        if not isinstance(kernel, Kernel):
            raise TypeError(f"`kernels` must hold kernels of `steinball.kernels` only, got {kernel!r}.")
    if not found:
        raise ValueError("`kernels` must hold at least one kernel, got none.")
    return found


def exact_engine(engine: str, n: int) -> str:
    if engine == "lowrank":
        raise ValueError(
            '`engine` must be "auto", "dense" or "blocked", got "lowrank": the correction needs exact draws.'
        )
    return ("dense" if n <= DENSE_UP_TO else "blocked") if engine == "auto" else engine
