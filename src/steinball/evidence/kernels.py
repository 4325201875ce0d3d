"""The evidence of tests over several kernels at once: KSDAgg, and the robust aggregated test."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Floats, to_host
from steinball.calibration.base import Calibration, JointNull, largest_count, tie_tolerance
from steinball.calibration.combination import check_isolated, check_over_kernels, doubts, radius_of
from steinball.evidence.base import Evidence, PairSums, last_place
from steinball.gram.base import GramSummary
from steinball.problem import Problem
from steinball.radius.base import Radius
from steinball.remarks import Remark
from steinball.tau.certificate import Supremum
from steinball.tau.supremum import boundedness

_SHARES = 200


@dataclass(frozen=True, eq=False)
class KernelsEvidence(Evidence):
    """What tests over several kernels share: a problem and its sums for each kernel."""

    problems: tuple[Problem, ...]
    summaries: tuple[GramSummary, ...]

    def about(self, chosen: int) -> dict[str, Any]:
        """What results say of the work, and of the kernel that speaks most against the model."""
        kernels = tuple(problem.stein.kernel for problem in self.problems)
        return {
            "n": len(self.summaries[0]),
            "dimension": int(self.problems[0].samples.shape[1]),
            "engine": self.summaries[0].engine,
            "kernels": kernels,
            "kernel": kernels[chosen],
            "tilt": self.problems[0].stein.tilt,
        }


@dataclass(frozen=True, eq=False)
class AggregationEvidence(KernelsEvidence):
    """All that a decision of KSDAgg follows from, at every level.

    There is a problem and a U-statistic D² for each of the k kernels. ``draws`` (k, B₁) are the bootstrap draws of D²
    for the quantiles, ``level_draws`` (k, B₂) those for the correction; a column is one draw of signs. Values whose
    relative difference is below a tolerance are ties, which count against a rejection.
    """

    squares: Floats
    draws: Floats
    level_draws: Floats
    n_bisections: int
    tolerance: float = 1e-10

    @classmethod
    def of(
        cls, problems: Sequence[Problem], summaries: Sequence[GramSummary], n_resamples: int, n_bisections: int
    ) -> AggregationEvidence:
        """From one summary per kernel, all with the same rows of signs as weights: the first ``n_resamples`` for the
        quantiles, the others for the correction."""
        forms = np.stack([_sign_forms(summary) for summary in summaries])
        squares = np.array([summary.unbiased_mean for summary in summaries])
        facts = forms[:, :n_resamples], forms[:, n_resamples:], n_bisections, tie_tolerance(problems[0].samples)
        return cls(tuple(problems), tuple(summaries), squares, *facts)

    @property
    def n_resamples(self) -> int:  # type: ignore[override]
        """The scarcer of the two kinds of draws."""
        return int(min(self.draws.shape[1], self.level_draws.shape[1]))

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
        """û w in units of 2^−B₃: the largest step whose :meth:`rate` is at most the level, where B₃ bisections end."""
        first_too_many = int(self.level_ranks[largest_count(level, self.level_ranks.size)])
        return max(0, (first_too_many << self.n_bisections) - 1) // (int(self.draws.shape[1]) + 1)

    def pvalue(self) -> float:
        """The smallest level at which :meth:`correct` allows the smallest rank of the data."""
        step = -((-int(self.ranks.min()) << self.n_bisections) // (self.draws.shape[1] + 1))  # rounded up
        return max(self.rate(step), 1.0 / (self.level_ranks.size + 1))

    def thresholds(self, step: int) -> Floats:
        """What each D² must exceed: the quantile among the draws alone, infinite where nothing is rejected."""
        rank = self.allowed(step)
        return self.upper[:, -rank].copy() if rank else np.full(len(self.upper), math.inf)

    def numbers(self, tolerated: Radius, level: float) -> dict[str, Any]:
        """The numbers at one level."""
        step, chosen = self.correct(level), int(np.argmin(self.ranks))
        thresholds, squared = self.thresholds(step), float(self.squares[chosen])
        return {
            "statistic": float(np.max(self.squares - thresholds)),
            "pvalue": self.pvalue(),
            "threshold": 0.0,
            "ksd": math.sqrt(max(0.0, squared)),
            "squared_ksd": squared,
            "correction": len(self.problems) * step / 2**self.n_bisections,
            "squared_ksds": tuple(self.squares.tolist()),
            "thresholds": tuple(thresholds.tolist()),
            "pvalues": tuple((self.ranks / (self.draws.shape[1] + 1)).tolist()),
            "radius": 0.0,
            "calibration": "WildBootstrap",
            "n_resamples": int(self.draws.shape[1]),
            "n_resamples_level": int(self.level_draws.shape[1]),
            "n_bisections": self.n_bisections,
            **self.about(chosen),
        }

    def pvalues(self, tolerated: Radius, amounts: Floats) -> list[float]:
        """One p-value: nothing is tolerated."""
        return [self.pvalue() for _ in amounts]

    def check(self, tolerated: Radius) -> None:
        """Refuse every tolerance."""
        raise TypeError("this test tolerates nothing: use `robust_ksdagg_test` or `robust_ksd_test`.")

    def sliding(self, tolerated: Radius) -> None:
        """Nothing else can be tolerated."""

    def pair_sums(self, tolerated: Radius, level: float) -> tuple[PairSums, ...]:
        """What explanations are made from, the leading kernel first."""
        critical = np.sqrt(np.maximum(0.0, self.thresholds(self.correct(level)))).tolist()
        parts = zip(self.problems, self.summaries, critical, strict=True)
        return _leading_first([PairSums(*part, estimator="u") for part in parts], int(np.argmin(self.ranks)))


def _sign_forms(summary: GramSummary) -> Floats:
    """Draws of the U-statistic. The square of a sign is 1, so each leaves out the whole trace."""
    n = len(summary)
    trace = float(to_host(summary.diagonal).sum())
    return np.asarray((summary.quadratic_forms - trace / n**2) * (n / (n - 1)))


def _leading_first(found: list[PairSums], leading: int) -> tuple[PairSums, ...]:
    return found[leading], *found[:leading], *found[leading + 1 :]


@dataclass(frozen=True, eq=False)
class RobustAggregationEvidence(KernelsEvidence):
    """All that a decision of the robust aggregated test follows from: a τ and a D per kernel, and the null distribution
    over all of them."""

    taus: tuple[Supremum, ...]
    calibration: Calibration

    @property
    def n_resamples(self) -> int:  # type: ignore[override]
        """Number of bootstrap draws."""
        return self.calibration.n_resamples

    @cached_property
    def null(self) -> JointNull:
        """The null distribution over all kernels."""
        return self.calibration.joint(self.summaries, self.taus)

    @cached_property
    def ksds(self) -> Floats:
        """D of every kernel."""
        return np.sqrt([max(0.0, summary.mean) for summary in self.summaries])

    @cached_property
    def bounded(self) -> str:
        """What is known of sup u(x, x) < ∞, for the kernel of which least is known."""
        found = {boundedness(problem, tau) for problem, tau in zip(self.problems, self.taus, strict=True)}
        return next(kind for kind in ("unbounded", "unknown", "apparent", "proved") if kind in found)

    def radii(self, tolerated: Radius) -> Floats:
        """θ of every kernel."""
        pairs = zip(self.problems, self.taus, strict=True)
        return np.array([radius_of(tolerated, self.calibration, problem, tau) for problem, tau in pairs])

    def check(self, tolerated: Radius) -> None:
        """Refuse a set that means another one under every kernel, or that does not go with the calibration."""
        check_over_kernels(self.calibration, tolerated)
        check_isolated(tolerated, len(self.problems[0].rows.excluded))

    def remarks(self, tolerated: Radius) -> Iterator[Remark]:
        """Remarks on boundedness and removal, for every kernel."""
        for problem, tau in zip(self.problems, self.taus, strict=True):
            yield from doubts(tolerated, self.calibration, problem, tau)

    def conceded(self, level: float) -> float:
        """The smallest share of contamination that is not rejected, which does not depend on what is tolerated."""
        return self.once(("conceded", level), lambda: self._first_not_rejected(level))

    def _first_not_rejected(self, level: float) -> float:
        scale = np.sqrt([tau.value for tau in self.taus])
        # A bettor's wealth falls in the radius; a boundary p-value over several kernels only nearly rises: look.
        shares = np.linspace(0.0, 1.0, 2 if self.null.monotone else _SHARES)
        first = next((k for k, e in enumerate(shares) if self.null.pvalue(e * scale) > level), len(shares) - 1)
        ends = float(shares[max(0, first - 1)]), float(shares[first])
        return last_place(lambda share: self.null.pvalue(share * scale) <= level, *ends, 20 if first else 0)

    def numbers(self, tolerated: Radius, level: float) -> dict[str, Any]:
        """The numbers of one tolerated set and level."""
        radii = self.radii(tolerated)
        ratios = self.null.ratios(radii)
        chosen = int(np.argmax(ratios))
        return {
            "statistic": self.null.statistic(radii),
            "pvalue": self.null.pvalue(radii),
            "threshold": self.null.threshold(radii, level),
            "contamination_bound": 0.0 if self.bounded == "unbounded" else self.conceded(level),
            "ksd": float(self.ksds[chosen]),
            "radius": float(radii[chosen]),
            "ksds": tuple(self.ksds.tolist()),
            "radii": tuple(radii.tolist()),
            "ratios": tuple(ratios.tolist()),
            "taus": tuple(tau.value for tau in self.taus),
            "tau_kind": self.taus[0].kind,
            "bounded": self.bounded,
            "calibration": type(self.calibration).__name__,
            "n_resamples": self.n_resamples,
            "details": dict(self.problems[0].rows.remarks),
            **self.about(chosen),
        }

    def pvalues(self, tolerated: Radius, amounts: Floats) -> list[float]:
        """The p-value at each amount."""
        return [self.null.pvalue(self.radii(tolerated.resized(float(amount)))) for amount in amounts]

    def pair_sums(self, tolerated: Radius, level: float) -> tuple[PairSums, ...]:
        """What explanations are made from, the leading kernel first."""
        radii, suprema = self.radii(tolerated), [tau.value for tau in self.taus]
        critical = self.null.critical(radii, level).tolist()
        parts = zip(self.problems, self.summaries, critical, radii.tolist(), suprema, strict=True)
        found = [PairSums(*part, bounded=self.bounded) for part in parts]
        return _leading_first(found, int(np.argmax(self.null.ratios(radii))))
