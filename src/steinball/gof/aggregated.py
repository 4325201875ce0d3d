"""KSDAgg: many bandwidths at once, at one level (Schrab, Guedj and Gretton 2022)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import as_seed, check_level, check_resamples, to_host
from steinball.calibration import Calibration, WildBootstrap
from steinball.calibration.base import tie_tolerance
from steinball.gram.base import GramSummary
from steinball.gram.choose import DENSE_UP_TO, Settings, make_gram
from steinball.kernels.bandwidth import median_distance
from steinball.kernels.base import Kernel
from steinball.kernels.radial import InverseMultiquadric
from steinball.problem import Subject
from steinball.results.words import render, short
from steinball.stein import SteinProblem
from steinball.tilts import Tilt

__all__ = [
    "AggregatedResult",
    "AggregationEvidence",
    "decide_aggregated",
    "ksdagg_test",
    "median_kernels",
    "paper_kernels",
]

SCHEMA = "steinball.ksdagg/1"
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
    x, model, tilt, level, rng, memory_limit, n_jobs, progress
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
    >>> import steinball as sb
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
    summaries = summarise_all(problems, WildBootstrap(sum(counts)), seed, settings)
    return decide_aggregated(AggregationEvidence.of(problems, summaries, counts[0], n_bisections), level)


def paper_kernels() -> tuple[Kernel, ...]:
    """The paper's collection: inverse multiquadrics with ℓ² = 2λ², λ² ∈ {.01, .1, 1, 10, 100}.

    Examples
    --------
    >>> [round(kernel.lengthscale ** 2, 2) for kernel in paper_kernels()]
    [0.02, 0.2, 2.0, 20.0, 200.0]
    """
    return tuple(InverseMultiquadric(math.sqrt(2.0 * square)) for square in PAPER_BANDWIDTHS)


def median_kernels(samples: Any, powers: Iterable[int] = POWERS) -> tuple[Kernel, ...]:
    """Inverse multiquadrics at 2ⁱ times the median distance, i in ``powers`` (Schrab, Guedj and Gretton 2022, §5).

    Examples
    --------
    >>> [kernel.lengthscale for kernel in median_kernels([0.0, 1.0, 3.0], range(-1, 2))]
    [1.0, 2.0, 4.0]
    """
    return kernels_around(median_distance(samples), powers)


def kernels_around(median: float, powers: Iterable[int]) -> tuple[Kernel, ...]:
    """Inverse multiquadrics at 2ⁱ times a length, i in ``powers``."""
    return tuple(InverseMultiquadric(2.0**power * median) for power in powers)


@dataclass(frozen=True, eq=False)
class AggregationEvidence:
    """All that a decision follows from, at every level.

    Parameters
    ----------
    problems : sequence of SteinProblem
        One per kernel.
    squares : (k,) array
        The U-statistics D² of the k kernels.
    draws, level_draws : (k, B₁), (k, B₂) arrays
        Bootstrap draws of D² for the quantiles and for the correction; a column is one draw of signs.
    n_bisections : int
        B₃.
    tolerance : float
        The relative difference below which values are ties, which count against a rejection.
    engine : str
        How the pairs were worked through.
    """

    problems: tuple[SteinProblem, ...]
    squares: NDArray[np.float64]
    draws: NDArray[np.float64]
    level_draws: NDArray[np.float64]
    n_bisections: int
    tolerance: float = 1e-10
    engine: str = "dense"

    @classmethod
    def of(
        cls, problems: Sequence[SteinProblem], summaries: Sequence[GramSummary], n_resamples: int, n_bisections: int
    ) -> AggregationEvidence:
        """From one summary per kernel, all with the same rows of signs as weights: the first ``n_resamples`` for the
        quantiles, the others for the correction."""
        forms = np.stack([_sign_forms(summary) for summary in summaries])
        squares = np.array([summary.unbiased_mean for summary in summaries])
        tolerance = tie_tolerance(problems[0].samples)
        draws, level_draws = forms[:, :n_resamples], forms[:, n_resamples:]
        return cls(tuple(problems), squares, draws, level_draws, n_bisections, tolerance, summaries[0].engine)

    @cached_property
    def upper(self) -> NDArray[np.float64]:
        """The draws of every kernel in increasing order, raised to the upper end of their ties."""
        return np.sort(self.draws + self.tolerance * np.abs(self.draws), axis=1)

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """Of every kernel, how many of its B₁ + 1 values are at least the statistic: itself, and 0 to B₁ draws."""
        return 1 + self._exceeding(self.squares[:, None])[:, 0]

    @cached_property
    def level_ranks(self) -> NDArray[np.int64]:
        """The same for each draw of the correction at the kernel where it is most extreme; in increasing order."""
        ours = (self.squares + self.tolerance * np.abs(self.squares))[:, None]
        return np.sort(np.min(self._exceeding(self.level_draws) + (ours >= self.level_draws), axis=0))

    def _exceeding(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """For each kernel (a row) and value, how many of its draws are at least that."""
        below = [np.searchsorted(*pair, side="left") for pair in zip(self.upper, values, strict=True)]
        return np.asarray(self.draws.shape[1] - np.stack(below))

    def allowed(self, step: int) -> int:
        """The largest rank that D² > q̂ rejects when every kernel is tested at level ``step`` / 2^B₃."""
        return (int(self.draws.shape[1]) + 1) * step >> self.n_bisections

    def rate(self, step: int) -> float:
        """The share of the draws of the correction that some kernel would reject."""
        return int(np.searchsorted(self.level_ranks, self.allowed(step), side="right")) / self.level_ranks.size

    def correct(self, level: float) -> int:
        """û w in units of 2^−B₃, by bisection."""
        low, high = 0, 1 << self.n_bisections
        for _ in range(self.n_bisections):
            middle = (low + high) // 2
            low, high = (middle, high) if self.rate(middle) <= level else (low, middle)
        return low

    def pvalue(self) -> float:
        """The smallest level at which :meth:`correct` allows the smallest rank of the data."""
        step = -((-int(self.ranks.min()) << self.n_bisections) // (self.draws.shape[1] + 1))  # rounded up
        return max(self.rate(step), 1.0 / (self.level_ranks.size + 1))

    def thresholds(self, step: int) -> NDArray[np.float64]:
        """What each D² must exceed: the quantile among the draws alone, infinite where nothing is rejected."""
        rank = self.allowed(step)
        return self.upper[:, -rank].copy() if rank else np.full(len(self.upper), math.inf)


@dataclass(frozen=True, eq=False, repr=False)
class AggregatedResult:
    """The result of :func:`ksdagg_test`.

    Attributes
    ----------
    rejected : bool
        ``rejected`` ⇔ ``pvalue <= level`` ⇔ ``statistic > threshold`` ⇔ some kernel's ``squared_ksds`` exceeds its
        ``thresholds``.
    pvalue : float
        The smallest level at which the test rejects.
    statistic, threshold : float
        The largest of ``squared_ksds - thresholds``, and 0.
    ksd, squared_ksd, kernel
        D, D² (U-statistic; D is 0 where D² is negative) and the kernel that is most extreme in its own bootstrap.
    squared_ksds, thresholds, pvalues : tuple of float
        Of every kernel: D², what it must exceed, and the p-value of the test with this kernel alone.
    correction : float
        û. Each kernel is tested at level û / (number of kernels); û = level is Bonferroni's correction.
    radius : float
        0: nothing is tolerated.
    level : float
        The level α of the decision.
    n, dimension, n_resamples, n_resamples_level, n_bisections : int
        Size of the data, B₁, B₂ and B₃.
    kernels, tilt, engine
        How it was computed.
    """

    statistic: float
    pvalue: float
    rejected: bool
    threshold: float
    ksd: float
    squared_ksd: float
    radius: float
    level: float
    correction: float
    squared_ksds: tuple[float, ...]
    thresholds: tuple[float, ...]
    pvalues: tuple[float, ...]
    n: int
    dimension: int
    n_resamples: int
    n_resamples_level: int
    n_bisections: int
    engine: str
    kernel: Kernel
    kernels: tuple[Kernel, ...]
    tilt: Tilt | None
    _evidence: AggregationEvidence

    def at(self, *, level: float) -> AggregatedResult:
        """The decision at another level, from the same draws.

        Examples
        --------
        >>> import steinball as sb
        >>> x = np.random.default_rng(0).normal(size=50)
        >>> result = sb.ksdagg_test(x, sb.models.Gaussian(), n_resamples=200, n_resamples_level=200, rng=0)
        >>> result.rejected, result.at(level=result.pvalue).rejected
        (False, True)
        """
        return decide_aggregated(self._evidence, check_level(level, min(self.n_resamples, self.n_resamples_level)))

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary for JSON (``"schema": "steinball.ksdagg/1"``); what is infinite is ``None``."""
        skip = {"kernel", "kernels", "tilt", "_evidence"}
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in skip}
        fields["statistic"] = self.statistic if math.isfinite(self.statistic) else None
        for name in ("squared_ksds", "thresholds", "pvalues"):
            fields[name] = [value if math.isfinite(value) else None for value in fields[name]]
        described = {"kernel": repr(self.kernel), "kernels": [repr(kernel) for kernel in self.kernels]}
        return {"schema": SCHEMA, **fields, **described, "tilt": None if self.tilt is None else repr(self.tilt)}

    def summary(self) -> str:
        """The result in words."""
        single = self.correction / len(self.kernels)
        rows = [
            ("data", f"{self.n} points, d = {self.dimension}"),
            ("kernels", f"{len(self.kernels)}; most extreme: {short(self.kernel)}"),
            ("tilt", "none" if self.tilt is None else short(self.tilt)),
            ("D²", f"{self.squared_ksd:.4g}, the squared KSD under that kernel (U-statistic)"),
            ("correction", f"û = {self.correction:.4g}: each kernel is tested at level {single:.4g}"),
            ("p-value", f"{self.pvalue:.4g}, by {self.n_resamples} + {self.n_resamples_level} wild bootstrap draws"),
        ]
        verdict = "REJECTED" if self.rejected else "NOT REJECTED"
        return render("KSDAgg, an aggregated kernel Stein test", rows, f"{verdict} at level {self.level:.4g}.")

    def __repr__(self) -> str:
        return (
            f"AggregatedResult(rejected={self.rejected}, pvalue={self.pvalue:.4g}, statistic={self.statistic:.4g}, "
            f"correction={self.correction:.4g}, kernels={len(self.kernels)})"
        )


def decide_aggregated(evidence: AggregationEvidence, level: float) -> AggregatedResult:
    """The decision that the evidence gives at one level."""
    step, pvalue = evidence.correct(level), evidence.pvalue()
    thresholds, chosen = evidence.thresholds(step), int(np.argmin(evidence.ranks))
    kernels = tuple(problem.stein.kernel for problem in evidence.problems)
    squared = float(evidence.squares[chosen])
    n, dimension = (int(size) for size in evidence.problems[0].samples.shape)
    return AggregatedResult(
        statistic=float(np.max(evidence.squares - thresholds)),
        pvalue=pvalue,
        rejected=pvalue <= level,
        threshold=0.0,
        ksd=math.sqrt(max(0.0, squared)),
        squared_ksd=squared,
        radius=0.0,
        level=level,
        correction=len(kernels) * step / 2**evidence.n_bisections,
        squared_ksds=tuple(evidence.squares.tolist()),
        thresholds=tuple(thresholds.tolist()),
        pvalues=tuple((evidence.ranks / (evidence.draws.shape[1] + 1)).tolist()),
        n=n,
        dimension=dimension,
        n_resamples=evidence.draws.shape[1],
        n_resamples_level=evidence.level_draws.shape[1],
        n_bisections=evidence.n_bisections,
        engine=evidence.engine,
        kernel=kernels[chosen],
        kernels=kernels,
        tilt=evidence.problems[0].stein.tilt,
        _evidence=evidence,
    )


def _sign_forms(summary: GramSummary) -> NDArray[np.float64]:
    """Draws of the U-statistic. The square of a sign is 1, so each leaves out the whole trace."""
    n = len(summary)
    trace = float(to_host(summary.diagonal).sum())
    return np.asarray((summary.quadratic_forms - trace / n**2) * (n / (n - 1)))


def summarise_all(
    problems: Sequence[SteinProblem], calibration: Calibration, seed: np.random.SeedSequence, settings: Settings
) -> list[GramSummary]:
    """One pass for each problem; the weights are drawn once and serve them all."""
    n = len(problems[0])
    request = calibration.request(n, seed).gathered(n, settings.n_jobs)
    grams = (make_gram(problem, request, calibration.n_resamples, settings) for problem in problems)
    return [gram.summarise(request) for gram in grams]


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
