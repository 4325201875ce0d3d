"""Means of bounded functions against Huber's model: bets and t statistics, and the result that both give."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr, ndtri

from steinball.arrays import check_level, check_share
from steinball.results.words import render, short

__all__ = ["BoundedMean", "Question", "SharpResult", "conclude"]

SCHEMA = "steinball.sharp/1"
METHODS = ("betting", "asymptotic")
_BETS = 24

Host = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BoundedMean:
    r"""Independent values in [low, 1] of a function with E_P f = 0, and tests of E f ≤ ε

    .. math:: E(\varepsilon) = \frac1J \sum_j \prod_t \left(1 + \lambda_j (f_t - \varepsilon)\right),
       \qquad 0 < \lambda_j < 1 / (\varepsilon - \text{low}).

    Under E f ≤ ε each product has mean at most 1, so that P(E ≥ 1/α) ≤ α for every n (Markov); this is proved. The
    asymptotic test is the one-sided t statistic against the normal quantile, for n → ∞ with f fixed.

    Examples
    --------
    >>> values = BoundedMean(np.repeat([1.0, -1.0], [160, 40]), low=-1.0)
    >>> values.pvalue(0.3, "betting") < 0.01, values.pvalue(0.6, "betting") > 0.5
    (True, True)
    """

    values: Host
    low: float

    def log_evalue(self, contamination: float) -> float:
        """log E(ε)."""
        room = max(contamination - self.low, 1e-300)
        bets = np.geomspace(0.95 / 64.0, 0.95, _BETS) / room
        gains = np.log1p(bets[:, None] * (self.values - contamination)).sum(axis=1)
        return float(logsumexp(gains) - math.log(_BETS))

    def z_score(self, contamination: float) -> float:
        """√n (mean − ε) / sd; 0 for constant values that do not exceed ε."""
        deviation, excess = float(self.values.std(ddof=1)), float(self.values.mean()) - contamination
        if deviation == 0.0:
            return math.inf if excess > 0.0 else 0.0
        return math.sqrt(self.values.size) * excess / deviation

    def pvalue(self, contamination: float, method: str) -> float:
        """The p-value of E f ≤ ε."""
        if method == "betting":
            return math.exp(-max(0.0, self.log_evalue(contamination)))
        return float(ndtr(-self.z_score(contamination)))


@dataclass(frozen=True, eq=False, repr=False)
class SharpResult:
    """The result of a test of Huber's model with bounded functions.

    Attributes
    ----------
    rejected : bool
        Whether more than the share ``contamination`` must be contaminated, at ``level``; ``pvalue <= level``.
    pvalue : float
        Of the hypothesis that at most that share is.
    statistic, threshold : float
        Betting: log e-value and log(1/level). Asymptotic: the t statistic and its quantile.
    contamination_bound : float
        At confidence 1 − ``level`` at least this share of the distribution is contaminated.
    share : float
        The mean of f: an estimate (from below) of the contaminated share.
    method : {"betting", "asymptotic"}
        Proved for every n; for n → ∞.
    contamination, level, n, dimension
        The question and the size of the data.
    name : str
        Which test.
    details : dict
        How f was made.
    """

    rejected: bool
    pvalue: float
    statistic: float
    threshold: float
    contamination: float
    contamination_bound: float
    share: float
    level: float
    n: int
    dimension: int
    method: str
    name: str
    details: dict[str, Any]
    _means: list[BoundedMean]

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
        question = Question(share, self.level if level is None else level, self.method)
        return conclude(question, self._means, self.name, (self.n, self.dimension), self.details)

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary for JSON, with a versioned schema (``"schema": "steinball.sharp/1"``)."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "_means"}
        return {"schema": SCHEMA, **fields}

    def summary(self) -> str:
        """The result in words, for people."""
        kind = "for every n" if self.method == "betting" else "for n → ∞"
        rows = [
            ("data", f"n = {self.n}, d = {self.dimension}"),
            ("question", f"at most {self.contamination:.3g} of the distribution contaminated?"),
            ("p-value", f"{self.pvalue:.4g} ({self.method}, {kind}), level {self.level:g}"),
            ("statistic", f"{self.statistic:.4g}, threshold {self.threshold:.4g}"),
            ("share", f"estimate {self.share:.3g}, at least {self.contamination_bound:.3g}"),
            *((key, value if isinstance(value, str) else short(value)) for key, value in self._told()),
        ]
        return render(f"{self.name}: {'rejected' if self.rejected else 'not rejected'}", rows, self._sentence())

    def _told(self) -> list[tuple[str, Any]]:
        return [(key, value) for key, value in self.details.items() if not isinstance(value, (list, dict))]

    def _sentence(self) -> str:
        if self.rejected:
            return (
                f"At confidence {1 - self.level:.0%} at least {self.contamination_bound:.3g} of the distribution is "
                "not the model."
            )
        return "These data do not force that conclusion. That is no proof that the model fits."

    def __repr__(self) -> str:
        return (
            f"SharpResult(rejected={self.rejected}, pvalue={self.pvalue:.4g}, share={self.share:.4g}, "
            f"contamination_bound={self.contamination_bound:.4g})"
        )


@dataclass(frozen=True)
class Question:
    """What is asked of the values: the tolerated share, the level, the method."""

    contamination: float
    level: float
    method: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "contamination", check_share(self.contamination, "contamination"))
        check_level(self.level)
        if self.method not in METHODS:
            raise ValueError(f'`method` must be "betting" or "asymptotic", got {self.method!r}.')

    def answer(self, means: list[BoundedMean]) -> dict[str, float]:
        """Statistic, threshold and p-value for several functions at once: an average of e-values, or Bonferroni."""
        pvalue = self.pvalue(means, self.contamination)
        if self.method == "betting":
            statistic, threshold = self._log_evalue(means, self.contamination), -math.log(self.level)
        else:
            statistic = max(m.z_score(self.contamination) for m in means)
            threshold = -float(ndtri(self.level / len(means)))
        return {"statistic": statistic, "threshold": threshold, "pvalue": pvalue}

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
    question: Question, means: list[BoundedMean], name: str, shape: Any, details: dict[str, Any]
) -> SharpResult:
    """The result that the values of bounded functions give."""
    answer = question.answer(means)
    return SharpResult(
        **answer,
        rejected=answer["pvalue"] <= question.level,
        contamination=question.contamination,
        contamination_bound=question.bound(means),
        share=max(float(m.values.mean()) for m in means),
        level=question.level,
        n=int(shape[0]),
        dimension=int(shape[1]),
        method=question.method,
        name=name,
        details=details,
        _means=means,
    )
