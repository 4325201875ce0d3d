"""The result of KSDAgg, and the evidence from which it follows at every level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Floats, check_level, to_host
from steinball.calibration.base import tie_tolerance
from steinball.gram.base import GramSummary
from steinball.kernels.base import Kernel
from steinball.results.base import Result
from steinball.stein import SteinProblem
from steinball.text import Row, count, describe, number
from steinball.tilts import Tilt


@dataclass(frozen=True, eq=False)
class AggregationEvidence:
    """All that a decision follows from, at every level.

    There is a problem and a U-statistic D² for each of the k kernels. ``draws`` (k, B₁) are the bootstrap draws of D²
    for the quantiles, ``level_draws`` (k, B₂) those for the correction; a column is one draw of signs. Values whose
    relative difference is below ``tolerance`` are ties, which count against a rejection.
    """

    problems: tuple[SteinProblem, ...]
    squares: Floats
    draws: Floats
    level_draws: Floats
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
    def upper(self) -> Floats:
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

    def _exceeding(self, values: Floats) -> NDArray[np.int64]:
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

    def thresholds(self, step: int) -> Floats:
        """What each D² must exceed: the quantile among the draws alone, infinite where nothing is rejected."""
        rank = self.allowed(step)
        return self.upper[:, -rank].copy() if rank else np.full(len(self.upper), math.inf)

    def decide(self, level: float) -> AggregatedResult:
        """The decision that the evidence gives at one level."""
        step, chosen = self.correct(level), int(np.argmin(self.ranks))
        thresholds, squared = self.thresholds(step), float(self.squares[chosen])
        kernels = tuple(problem.stein.kernel for problem in self.problems)
        n, dimension = (int(size) for size in self.problems[0].samples.shape)
        return AggregatedResult(
            statistic=float(np.max(self.squares - thresholds)),
            pvalue=self.pvalue(),
            threshold=0.0,
            level=level,
            n=n,
            dimension=dimension,
            calibration="WildBootstrap",
            n_resamples=self.draws.shape[1],
            ksd=math.sqrt(max(0.0, squared)),
            squared_ksd=squared,
            radius=0.0,
            correction=len(kernels) * step / 2**self.n_bisections,
            squared_ksds=tuple(self.squares.tolist()),
            thresholds=tuple(thresholds.tolist()),
            pvalues=tuple((self.ranks / (self.draws.shape[1] + 1)).tolist()),
            n_resamples_level=self.level_draws.shape[1],
            n_bisections=self.n_bisections,
            engine=self.engine,
            kernel=kernels[chosen],
            kernels=kernels,
            tilt=self.problems[0].stein.tilt,
            _evidence=self,
        )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AggregatedResult(Result):
    """The result of :func:`steinball.ksdagg_test`: :class:`~steinball.results.base.Result`, and more.

    Attributes
    ----------
    pvalue : float
        The smallest level at which the test rejects.
    statistic, threshold : float
        The largest of ``squared_ksds - thresholds``, and 0: some kernel must exceed its own threshold.
    ksd, squared_ksd, kernel
        D, D² (U-statistic; D is 0 where D² is negative) and the kernel that is most extreme in its own bootstrap.
    squared_ksds, thresholds, pvalues : tuple of float
        Of every kernel: D², what it must exceed, and the p-value of the test with this kernel alone.
    correction : float
        û. Each kernel is tested at level û / (number of kernels); û = level is Bonferroni's correction.
    radius : float
        0: nothing is tolerated.
    n_resamples, n_resamples_level, n_bisections : int
        B₁, B₂ and B₃.
    kernels, tilt, engine
        How it was computed.
    """

    ksd: float
    squared_ksd: float
    radius: float
    correction: float
    squared_ksds: tuple[float, ...]
    thresholds: tuple[float, ...]
    pvalues: tuple[float, ...]
    n_resamples_level: int
    n_bisections: int
    engine: str
    kernel: Kernel
    kernels: tuple[Kernel, ...]
    tilt: Tilt | None
    _evidence: AggregationEvidence

    schema: ClassVar[str] = "steinball.ksdagg/2"
    title = "KSDAgg, an aggregated kernel Stein test"
    _shown: ClassVar[tuple[str, ...]] = ("correction",)

    def at(self, *, level: float | None = None) -> AggregatedResult:
        """The decision at another level, from the same draws.

        Examples
        --------
        >>> import steinball as sb
        >>> x = np.random.default_rng(0).normal(0.1, size=50)
        >>> result = sb.ksdagg_test(x, sb.models.Gaussian(), n_resamples=200, n_resamples_level=200, rng=0)
        >>> result.rejected, result.at(level=result.pvalue).rejected
        (False, True)
        """
        draws = min(self.n_resamples, self.n_resamples_level)
        return self._evidence.decide(self.level if level is None else check_level(level, draws))

    def rows(self) -> list[Row]:
        """The table of the summary."""
        single = number(self.correction / len(self.kernels))
        return [
            ("data", self._points()),
            ("kernels", f"{len(self.kernels)}; the most extreme one is {describe(self.kernel)}"),
            ("tilt", describe(self.tilt)),
            ("D²", number(self.squared_ksd), "squared KSD under that kernel (U-statistic)"),
            ("û", number(self.correction), f"correction: each kernel is tested at level {single}"),
            ("statistic", number(self.statistic), f"largest excess of a D² over its threshold; {self._rule()}"),
            ("p-value", number(self.pvalue), self._calibrated()),
        ]

    def _calibrated(self) -> str:
        return f"wild bootstrap, {count(self.n_resamples)} + {count(self.n_resamples_level)} draws"


def _sign_forms(summary: GramSummary) -> Floats:
    """Draws of the U-statistic. The square of a sign is 1, so each leaves out the whole trace."""
    n = len(summary)
    trace = float(to_host(summary.diagonal).sum())
    return np.asarray((summary.quadratic_forms - trace / n**2) * (n / (n - 1)))
