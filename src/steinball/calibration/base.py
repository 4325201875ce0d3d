"""The one p-value convention, and what every calibration offers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from steinball.arrays import Array, Floats, check_resamples, dtype_name
from steinball.gram.base import GramSummary
from steinball.gram.request import Request
from steinball.problem import Problem
from steinball.radius.base import Radius
from steinball.tau.certificate import Supremum

_TIES = {"float64": 1e-10, "float32": 1e-4}


def tie_tolerance(x: Array) -> float:
    """The relative difference below which values computed in the precision of ``x`` are ties."""
    return _TIES.get(dtype_name(x), 1e-4)


class Null(ABC):
    """The null distribution of Δ_θ = max(0, D − θ), answering for every radius θ at once.

    ``draws`` are the bootstrap draws of D, or ``None`` where there are none; ``directed`` says whether they depend on
    the radius through the direction that the data point to; ``by_distance`` whether the data decide by D alone, so that
    another D would meet the same threshold.

    Examples
    --------
    >>> import numpy as np, steinball as sb
    >>> null = sb.calibration.BootstrapNull(np.linspace(0.01, 0.99, 99))
    >>> isinstance(null, sb.calibration.Null), null.pvalue(0.98, radius=0.0), null.pvalue(0.98, radius=0.5)
    (True, 0.03, 0.53)
    """

    draws: Floats | None
    directed: ClassVar[bool] = False
    by_distance: ClassVar[bool] = True

    @abstractmethod
    def pvalue(self, ksd: float, radius: float) -> float:
        """The p-value of an observed D against the radius θ."""

    @abstractmethod
    def threshold(self, level: float, radius: float) -> float:
        """The value that Δ_θ must exceed for a rejection at ``level``."""

    def drawn(self, radius: float) -> Floats | None:
        """The draws that the threshold at the radius θ is a quantile of, on the scale of Δ_θ; ``None`` without any."""
        return self.draws

    def path(self, radius: float) -> Floats | None:
        """The logarithm of the wealth after every point, (n,), of those who bet against the radius θ."""
        return None


class BoundingNull(Null):
    """A null distribution whose decisions over all radii are also confidence bounds for D(Q, P).

    Examples
    --------
    >>> import numpy as np, steinball as sb
    >>> null = sb.calibration.BootstrapNull(np.linspace(0.01, 0.99, 99))
    >>> isinstance(null, sb.calibration.BoundingNull), 0.0 < null.lower_bound(2.0, level=0.05) < 2.0
    (True, True)
    """

    @abstractmethod
    def lower_bound(self, ksd: float, level: float) -> float:
        """The largest radius such that every smaller one is rejected: D(Q, P) is at least that, at confidence
        1 − ``level``."""

    @abstractmethod
    def upper_bound(self, ksd: float, level: float) -> float:
        """D(Q, P) is at most that, at confidence 1 − ``level``; infinite where nothing can be said."""

    def share_bound(self, ksd: float, level: float, tau: float) -> float:
        """At confidence 1 − ``level`` at least this share is contaminated: D(Q, P) ≤ ε√τ under contamination by ε."""
        return min(1.0, self.lower_bound(ksd, level) / math.sqrt(tau))

    def remarks(self, ksd: float, level: float) -> dict[str, Any]:
        """What else it says of the data, for the ``details`` of a result."""
        return {}

    def critical_range(
        self, level: float, radius: float, moved: float, draws_moved: Floats
    ) -> tuple[float, float] | None:
        """Between which values the critical D stays while D moves by up to ``moved`` and each draw by its own of
        ``draws_moved``; ``None`` where that is not known."""


class JointNull(ABC):
    """The null distribution of what k kernels say together, for any k radii.

    ``monotone`` says whether its p-value never falls where all radii grow together.

    Examples
    --------
    >>> from steinball.calibration.betting import BettingJointNull
    >>> issubclass(BettingJointNull, JointNull)
    True
    """

    monotone: ClassVar[bool] = False

    @abstractmethod
    def ratios(self, radii: Floats) -> Floats:
        """How strongly each kernel speaks against its radius, shape (k,)."""

    @abstractmethod
    def statistic(self, radii: Floats) -> float:
        """How strongly they do together."""

    @abstractmethod
    def threshold(self, radii: Floats, level: float) -> float:
        """What ``statistic`` must exceed."""

    @abstractmethod
    def pvalue(self, radii: Floats) -> float:
        """The p-value of all radii together."""

    def critical(self, radii: Floats, level: float) -> Floats:
        """What D of each kernel had to exceed for a rejection by it alone, shape (k,); NaN where that is not known."""
        return np.full(len(radii), math.nan)


class Calibration(ABC):
    r"""A way to obtain a null distribution: from bootstrap draws, from a bound, or from bets.

    A calibration is a frozen dataclass that declares what it needs in these attributes and in :meth:`request`; nothing
    else is asked of it, and no other file names it.

    Attributes
    ----------
    n_resamples : int
        Number of bootstrap draws B; 0 without draws.
    label : str
        Its name in summaries.
    estimators : tuple of str
        The estimators that it is for, ``"v"`` and ``"u"``.
    needs_upper_bound : bool
        Whether its promise rests on an upper bound of u(x, x). Then τ is ``"auto"`` by default, and a Stein kernel that
        is not bounded is warned of.
    predictable : bool
        Whether kernel and tilt must not be chosen from the tested data.
    needs_sampler : bool
        Whether it draws samples from the model.
    aggregates : bool
        Whether it decides over several kernels together, by :meth:`joint`.
    independent_rows : bool
        Whether its promise is for independent rows, so that rows which look dependent are warned of.
    needs_every_row : bool
        Whether it looks for chains among the rows by their places, so that none of them may be set aside.
    searched_chains : Chains or None
        Chains whose length of dependence is found in the rows; ``None`` for most calibrations.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from steinball.calibration import BootstrapNull
    >>> @dataclass(frozen=True)
    ... class Signs(Calibration):
    ...     n_resamples: int = 99
    ...     label = "random signs"
    ...     def request(self, n, seed, start=0):
    ...         signs = np.random.default_rng(seed).choice([-1, 1], size=(self.n_resamples, n))
    ...         return Request([signs[start:]])
    ...     def null(self, summary, tau, estimator):
    ...         return BootstrapNull.from_summary(summary, estimator)
    >>> import steinball as sb
    >>> sb.ksd_test([0.1, 0.2, -0.4, 0.9], sb.models.Gaussian(), calibration=Signs(), rng=0).n_resamples
    99
    """

    n_resamples: int = 0
    label: ClassVar[str] = "custom calibration"
    estimators: ClassVar[tuple[str, ...]] = ("v", "u")
    needs_upper_bound: ClassVar[bool] = False
    predictable: ClassVar[bool] = False
    needs_sampler: ClassVar[bool] = False
    aggregates: ClassVar[bool] = False
    independent_rows: bool = True
    needs_every_row: bool = False
    searched_chains: Any = None

    def for_rows(self, problem: Problem) -> Calibration:
        """The same with all that it takes from the rows filled in, before its draws are asked for; here itself."""
        return self

    def for_set(self, radius: Radius, problem: Problem, tau: Supremum) -> Calibration:
        """The same for the set behind ``radius``, where its null distribution depends on more than θ; here itself."""
        return self

    def request(self, n: int, seed: np.random.SeedSequence, start: int = 0) -> Request:
        """What it needs to know of the pairs of n points; of its draws, those from ``start`` on."""
        return Request()

    @abstractmethod
    def null(self, summary: GramSummary, tau: Supremum, estimator: str) -> BoundingNull:
        """The null distribution that the answers to its request give, or a bound in τ."""

    def applied(self, weights: Floats) -> Floats | None:
        """Rows of drawn weights, (B, n), as the draws use them; ``None`` where they are used as they were drawn."""
        return None

    def joint(self, summaries: Sequence[GramSummary], taus: Sequence[Supremum]) -> JointNull:
        """The null distribution over several kernels, from one summary for each, all with the same weights."""
        raise TypeError(f"{self!r} is for one kernel and cannot decide over several of them.")

    def tolerates(self, radius: Radius) -> bool:
        """Whether its promise holds over the set behind ``radius``."""
        return True

    def accepts(self, tau: Supremum) -> bool:
        """Whether it means anything with this τ; a bound that is not proved may cost it its guarantee alone."""
        return True

    @property
    def default_tau(self) -> str:
        """What ``tau`` is in robust tests unless it is given: a proven upper bound where one is needed."""
        return "auto" if self.needs_upper_bound else "best"


@dataclass(frozen=True, eq=False)
class BootstrapNull(BoundingNull):
    r"""Bootstrap draws of the KSD as a null distribution (paper §2.2 and Algorithm 1)

    .. math:: p(\theta) = \frac{1 + \#\{ D_b \ge D - \theta \}}{B + 1} \quad (D > \theta), \qquad 1 \text{ otherwise}.

    This is the paper's quantile rule, with the observed value among the B + 1: Δ_θ exceeds the (1 − α)-quantile
    exactly when p ≤ α. Values within a relative 1e-10 (float32: 1e-4) count as equal, and toward the p-value, so
    that the order of a summation never moves it.

    Parameters
    ----------
    draws : (B,) array
        The draws :math:`D_b`; for U-statistics with the sign of :math:`D_b^2`.
    tolerance : float
        The relative difference below which values are ties.

    Examples
    --------
    >>> null = BootstrapNull(np.arange(1.0, 20.0))
    >>> null.pvalue(20.0, 0.0), null.pvalue(20.0, 2.0), null.pvalue(1.0, 2.0)
    (0.05, 0.15, 1.0)
    >>> round(null.threshold(0.05, 0.0), 6)
    19.0
    """

    draws: Floats
    tolerance: float = 1e-10

    @cached_property
    def _sorted(self) -> Floats:
        """The draws in increasing order, at the upper ends of their ties."""
        return np.sort(self.draws) * (1.0 + self.tolerance)

    @classmethod
    def from_summary(cls, summary: GramSummary, estimator: str) -> BootstrapNull:
        """The draws of the V-statistic (never negative) or of the U-statistic."""
        squares = np.maximum(summary.quadratic_forms, 0.0) if estimator == "v" else summary.unbiased_forms
        return cls(np.sign(squares) * np.sqrt(np.abs(squares)), tie_tolerance(summary.diagonal))

    def pvalue(self, ksd: float, radius: float) -> float:
        """The p-value of an observed D against the radius θ."""
        if ksd <= radius:
            return 1.0
        below = int(np.searchsorted(self._sorted, ksd - radius, side="left"))
        return (1 + self.draws.size - below) / (self.draws.size + 1)

    def threshold(self, level: float, radius: float) -> float:
        """The k-th smallest draw, k = B + 1 − ⌊level (B + 1)⌋; infinite where it does not exist or is negative."""
        found = draw_quantile(self._sorted, level)
        return math.inf if found < 0.0 else found  # App. C: a negative quantile has no root, and nothing is rejected

    def lower_bound(self, ksd: float, level: float) -> float:
        """max(0, D − q): the draws imitate |gₙ − μ|, by which D exceeds D(Q, P) at most."""
        return max(0.0, ksd - self.threshold(level, 0.0))

    def upper_bound(self, ksd: float, level: float) -> float:
        """D + q: by the same triangle inequality, D(Q, P) exceeds D by no more."""
        return ksd + self.threshold(level, 0.0)

    def critical_range(self, level: float, radius: float, moved: float, draws_moved: Floats) -> tuple[float, float]:
        """θ + q for all draws moved down, and for all moved up."""
        low, high = quantile_range(self.draws, draws_moved, level, self.tolerance)
        return radius + low, radius + high


class Resampling(Calibration):
    """A calibration by a checked number of bootstrap draws, which are the null distribution as they are."""

    def __post_init__(self) -> None:
        vars(self).update(n_resamples=check_resamples(self.n_resamples))

    def null(self, summary: GramSummary, tau: Supremum, estimator: str) -> BoundingNull:
        """The draws as a null distribution."""
        return BootstrapNull.from_summary(summary, estimator)


def draw_quantile(draws: Floats, level: float) -> float:
    """The threshold of a test at ``level`` among its draws: the k-th smallest, k = B + 1 − ⌊level (B + 1)⌋; infinite
    beyond the largest."""
    k = draws.size - largest_count(level, draws.size + 1)
    return math.inf if k == draws.size else float(np.partition(draws, k)[k])


def quantile_range(draws: Floats, moves: Floats, level: float, tolerance: float) -> tuple[float, float]:
    """The threshold, never negative, where all draws are moved down by their own of ``moves``, and where up."""
    low, high = (draw_quantile(np.maximum(0.0, draws + sign * moves), level) for sign in (-1.0, 1.0))
    return low * (1.0 + tolerance), high * (1.0 + tolerance)


def largest_count(level: float, total: int) -> int:
    """The largest c with c / total ≤ level, by the very comparison that decides a p-value."""
    count = math.floor(level * total)
    return count + 1 if (count + 1) / total <= level else count - (count / total > level)


def agreeing(threshold: float, statistic: float, rejected: bool) -> float:
    """The threshold, moved where rounding would let statistic and p-value decide differently."""
    return min(threshold, float(np.nextafter(statistic, -math.inf))) if rejected else max(threshold, statistic)
