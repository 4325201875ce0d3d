"""Means of bounded functions against Huber's model: bets and t statistics, and the result that both give."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp, ndtr, ndtri

from steinball.arrays import Floats, check_choice, check_level, check_share
from steinball.record import continues
from steinball.results.base import OF_DISTRIBUTION, Decision, Result
from steinball.results.dial import Dial
from steinball.text import Row, describe, number, short

METHODS = ("betting", "asymptotic")
_BETS, _HAIR = 24, 1e-14


@dataclass(frozen=True, eq=False)
class BoundedMean:
    r"""Independent values in [low, 1] of a function with E_P f = 0, and tests of E f ≤ ε

    .. math:: E(\varepsilon) = \frac1J \sum_j \prod_t \left(1 + \lambda_j (f_t - \varepsilon)\right),
       \qquad 0 < \lambda_j < 1 / (\varepsilon - \text{low}).

    Under E f ≤ ε each product has mean at most 1, so that P(E ≥ 1/α) ≤ α for every n (Markov); this is proved. The
    asymptotic test is the one-sided t statistic against the normal quantile, for n → ∞ with f fixed; its standard
    deviation is at least ``deviation``, what f has under P: a rare value that was not seen leaves none in the sample.

    """

    values: Floats
    low: float
    deviation: float = 0.0

    def log_evalue(self, contamination: float) -> float:
        """log E(ε)."""
        room = max(contamination - self.low, 1e-300)
        bets = np.geomspace(0.95 / 64.0, 0.95, _BETS) / room
        gains = np.log1p(bets[:, None] * (self.values - contamination)).sum(axis=1)
        return float(logsumexp(gains) - math.log(_BETS))

    def z_score(self, contamination: float) -> float:
        """√n (mean − ε) / sd; 0 for constant values that do not exceed ε."""
        deviation = max(self.deviation, float(self.values.std(ddof=1)))
        excess = float(self.values.mean()) - contamination
        if deviation == 0.0:
            return math.inf if excess > 0.0 else 0.0
        return math.sqrt(self.values.size) * excess / deviation

    def pvalue(self, contamination: float, method: str) -> float:
        """The p-value of E f ≤ ε."""
        if method == "betting":
            return math.exp(-max(0.0, self.log_evalue(contamination)))
        return float(ndtr(-self.z_score(contamination)))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SharpResult(Result):
    """The result of a test of Huber's model with bounded functions: :class:`~steinball.results.base.Result`, and more.

    Attributes
    ----------
    statistic, threshold : float
        Betting: log e-value and log(1/level). Asymptotic: the t statistic and its quantile.
    contamination_bound : float
        At confidence 1 − ``level`` at least this share of the distribution is contaminated.
    share : float
        The mean of f: an estimate (from below) of the contaminated share.
    method : {"betting", "asymptotic"}
        Proved for every n; for n → ∞.
    name : str
        Which test.
    details : dict
        How f was made.
    """

    contamination: float
    share: float
    method: str
    name: str
    details: dict[str, Any]
    _means: list[BoundedMean]

    schema: ClassVar[str] = "steinball.sharp/2"
    _shown: ClassVar[tuple[str, ...]] = ("share", "contamination_bound")

    @continues
    def at(self, *, contamination: float | None = None, level: float | None = None) -> SharpResult:
        """The decision at another tolerance or level, from the same functions and the same values.

        Examples
        --------
        >>> from steinball.gof.mode_weights import mode_weights_test
        >>> from steinball.models import GaussianMixture
        >>> x = GaussianMixture([0.7, 0.3], [-6.0, 6.0]).sample(500, rng=0)
        >>> result = mode_weights_test(x, GaussianMixture([0.5, 0.5], [-6.0, 6.0]))
        >>> result.rejected, result.at(contamination=0.45).rejected
        (True, False)
        """
        share = self.contamination if contamination is None else contamination
        question = BoundedQuestion(share, self.level if level is None else level, self.method)
        return conclude(question, self._means, self.name, (self.n, self.dimension), self.details)

    def _tolerating(self, contamination: float) -> SharpResult:
        return self.at(contamination=contamination)

    @property
    def pictures(self) -> tuple[str, ...]:
        """What :meth:`plot` can show."""
        return ("overview", "tolerance")

    def _dial(self) -> Dial:
        def other(share: float) -> SharpResult:
            question = BoundedQuestion(share, self.level, self.method)
            facts = self.name, (self.n, self.dimension), self.details
            return conclude(question, self._means, *facts, bound=self.contamination_bound)

        return Dial(unit="share", own=self.contamination, decide=other, distance=self.share)

    @property
    def title(self) -> str:
        """Which test it was."""
        return self.name

    def rows(self) -> list[Row]:
        """The table of the summary."""
        compared, when = ("log e-value", "every n") if self.method == "betting" else ("t statistic", "n → ∞")
        told = ((key, value) for key, value in self.details.items() if not isinstance(value, (list, dict)))
        return [
            ("data", self._points()),
            ("share", number(self.share), "estimate of the contaminated share of the distribution, from below"),
            ("statistic", number(self.statistic), f"{compared}; {self._rule()}"),
            ("p-value", number(self.pvalue), f"{self._calibrated()}, valid for {when}"),
            *((key, value if isinstance(value, str) else describe(value)) for key, value in told),
        ]

    def _measured(self) -> str:
        return f"estimated share {short(self.share)}"

    def _whose(self) -> str:
        return OF_DISTRIBUTION


@dataclass(frozen=True)
class BoundedQuestion:
    """What is asked of the values: the tolerated share, the level, the method."""

    contamination: float
    level: float
    method: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "contamination", check_share(self.contamination, "contamination"))
        object.__setattr__(self, "level", check_level(self.level))
        check_choice(self.method, "method", METHODS)

    def answer(self, means: list[BoundedMean]) -> Decision:
        """Statistic, threshold and p-value for several functions at once: an average of e-values, or Bonferroni."""
        pvalue = self.pvalue(means, self.contamination)
        if self.method == "betting":
            statistic, threshold = self._log_evalue(means, self.contamination), -math.log(self.level)
        else:
            statistic = max(m.z_score(self.contamination) for m in means)
            threshold = -float(ndtri(self.level / len(means)))
        threshold -= _HAIR * (1.0 + abs(threshold))  # the p-value decides, and not the rounding of its inverse
        return Decision(statistic=statistic, pvalue=pvalue, threshold=threshold, level=self.level)

    def pvalue(self, means: list[BoundedMean], contamination: float) -> float:
        """The p-value at another share."""
        if self.method == "betting":
            return math.exp(-max(0.0, self._log_evalue(means, contamination)))
        return min(1.0, len(means) * min(m.pvalue(contamination, self.method) for m in means))

    def bound(self, means: list[BoundedMean]) -> float:
        """The largest rejected share, by bisection: p-values do not fall as the share grows."""
        if self.pvalue(means, 0.0) > self.level:
            return 0.0
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self.pvalue(means, middle) <= self.level else (low, middle)
        return low

    @staticmethod
    def _log_evalue(means: list[BoundedMean], contamination: float) -> float:
        return float(logsumexp([m.log_evalue(contamination) for m in means]) - math.log(len(means)))


def conclude(
    question: BoundedQuestion,
    means: list[BoundedMean],
    name: str,
    shape: Any,
    details: dict[str, Any],
    bound: float | None = None,
) -> SharpResult:
    """The result that the values of bounded functions give; ``bound`` is that of the level, where it is known."""
    return SharpResult(
        **dataclasses.asdict(question.answer(means)),
        contamination=question.contamination,
        contamination_bound=question.bound(means) if bound is None else bound,
        share=max(float(m.values.mean()) for m in means),
        n=int(shape[0]),
        dimension=int(shape[1]),
        calibration=question.method.capitalize(),
        method=question.method,
        name=name,
        details=details,
        _means=means,
    )
