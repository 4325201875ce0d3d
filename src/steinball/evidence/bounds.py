"""Upper bounds of the misfit, confidence intervals for it, and how many rows would show it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import scipy

from steinball.arrays import Floats, to_host
from steinball.calibration.base import BoundingNull, Null
from steinball.gram.base import GramSummary
from steinball.text import Summarized, count, wrap

_SMALLEST, _LARGEST = 1e-6, 1e12  # sizes, as multiples of n, between which a credibility size is looked for


def normal_excess(level: float) -> float:
    """What a standard normal number exceeds with probability ``level``; infinite where 1 − ``level`` rounds to 1.

    Examples
    --------
    >>> round(normal_excess(0.05), 6)
    1.644854
    """
    return math.inf if 1.0 - level == 1.0 else -NormalDist().inv_cdf(level)


def direction_error(draws: Floats, most: Floats | None = None) -> float:
    r"""The largest standard error that the mean of one Stein function of norm 1 can have, from bootstrap draws

    .. math:: s = \left(\tfrac12 \operatorname{Var} D_b^2\right)^{1/4} \approx
       n^{-1/2} \Big(\sum_k \lambda_k^2\Big)^{1/4} \ge \sqrt{\lambda_{\max} / n},

    with :math:`\lambda_k` the eigenvalues of the covariance of the Stein features. Where each draw is known to lie
    between ``draws`` and ``most`` alone, the largest value of that:

    .. math:: \operatorname{sd} D_b^2 \le \operatorname{sd} m_b + \tfrac12 \max_b w_b,

    with :math:`m_b` the middle and :math:`w_b` the width of the interval of :math:`D_b^2`: deviations from the middles
    are at most half a width, and so is their standard deviation (triangle inequality).

    Parameters
    ----------
    draws : (B,) array
        The draws :math:`D_b`; a negative one stands for a negative square, as U-statistics have them.
    most : (B,) array, optional
        What the draws are at most; by default ``draws``.

    Examples
    --------
    >>> z = np.random.default_rng(0).normal(size=100_000)
    >>> round(direction_error(np.abs(0.3 * z)), 2)  # one direction of standard error 0.3
    0.3
    """
    ends = np.stack([draws] if most is None else [draws, most])
    scale = float(np.max(np.abs(ends), initial=0.0))
    if scale == 0.0:
        return 0.0
    squares = np.sign(ends) * np.square(ends / scale)  # fourth powers of the draws themselves may overflow
    spread = float(np.std(np.mean(squares, axis=0))) + 0.5 * float(np.max(squares[-1] - squares[0]))
    return scale * math.sqrt(spread * math.sqrt(0.5))


def upper_bound_direction(ksd: float, draws: Floats, level: float, most: Floats | None = None) -> float:
    r"""An upper bound of D(Q, P) that looks along one direction only

    .. math:: D(Q, P) \le D_n + z_{1-\alpha} s, \qquad s = \left(\tfrac12 \operatorname{Var} D_b^2\right)^{1/4}.

    With :math:`f = \mu_Q / |\mu_Q|`, which does not depend on the data, :math:`D(Q, P) = E f(X)` while
    :math:`D_n \ge \frac1n \sum f(X_i)`. So a bound for the mean of one fixed function is enough, and its standard error
    is at most s whichever function it is.

    Parameters
    ----------
    ksd : float
        The V-statistic :math:`D_n`.
    draws : (B,) array
        The bootstrap draws :math:`D_b`.
    level : float
        α.
    most : (B,) array, optional
        Where draws are known by bounds alone, those from above; ``draws`` are then those from below.

    Notes
    -----
    Proved, as n → ∞, for a kernel fixed in advance and bounded, whatever the size of D(Q, P)
    (``docs/theory/equivalence.md``). Simulated level ≤ .05, below the triangle inequality's bound.

    Examples
    --------
    >>> draws = np.abs(np.random.default_rng(0).normal(size=999)) / 10
    >>> bool(upper_bound_direction(0.2, draws, 0.05) < 0.2 + np.quantile(draws, 0.95))
    True
    """
    return ksd + normal_excess(level) * direction_error(draws, most)


def upper_bound(null: BoundingNull, ksd: float, level: float, least: Floats | None = None) -> float:
    """The upper bound of D(Q, P) at confidence 1 − ``level`` that this library uses.

    Where there are draws, the smaller of :func:`upper_bound_direction` and the null's own; where there are none, the
    null's own. What the two add to D tends to constants as n grows, so the smaller one is as valid as either. Where
    draws are known by bounds alone, ``null`` has those from above, and ``least`` are those from below.

    Examples
    --------
    >>> from steinball.calibration import BootstrapNull
    >>> null = BootstrapNull(np.abs(np.random.default_rng(0).normal(size=999)))
    >>> upper_bound(null, 1.0, 0.05) < null.upper_bound(1.0, 0.05)
    True
    """
    own = null.upper_bound(ksd, level)
    if null.draws is None:
        return own
    low, most = (null.draws, None) if least is None else (least, null.draws)
    return min(own, upper_bound_direction(ksd, low, level, most))


def credibility_size(
    null: Null, squared_ksd: float, scatter: float, n: int, level: float, radius: float = 0.0
) -> float:
    r"""The sample size N at which the test would have power ½ against a distribution with this D

    .. math:: D^2 + \frac{c}{N} = \left(\theta + q_N\right)^2, \qquad q_N = q_n \sqrt{n / N}.

    The left side is the median of the squared statistic at N points, as far as D is normal along its direction and c
    is what the other directions add. At θ = 0 that gives :math:`N = (n q_n^2 - c) / D^2`.

    Parameters
    ----------
    null : Null
        Of the test at n points; its threshold must shrink like :math:`1/\sqrt n`, as all of ours do. That of the
        boundary bootstrap also turns with the radius, which shrinks along with the draws.
    squared_ksd : float
        D², without bias: the U-statistic.
    scatter : float
        c = E u(X, X) − D² − Var ⟨μ/|μ|, φ(X)⟩ ≥ 0.
    n : int
        The size that ``null`` belongs to.
    level, radius : float
        α and θ.

    Returns
    -------
    float
        Infinite where D ≤ θ: then no sample size is enough.

    Examples
    --------
    >>> from steinball.calibration.deviation import DeviationNull
    >>> null = DeviationNull(tau=1.0, n=100)
    >>> round(credibility_size(null, 0.04, 0.0, 100, 0.05)), round(100 * null.threshold(0.05, 0.0) ** 2 / 0.04)
    (297, 297)
    """
    if squared_ksd <= radius * radius:
        return math.inf

    def excess(log_ratio: float) -> float:
        """N·(median of D² − critical value²)/n at N = n·e^log_ratio: rises from below 0 to above it."""
        root = math.exp(0.5 * log_ratio)
        # Of the boundary bootstrap, |θĝ + δ√(n/N)| · √(N/n): in units of today's draws it is the radius that grows.
        seen = radius * root if null.directed else radius
        critical = radius * root + null.threshold(level, seen)
        return squared_ksd * root * root + scatter / n - critical * critical

    ends = math.log(_SMALLEST), math.log(_LARGEST)
    if excess(ends[0]) >= 0.0:
        return n * _SMALLEST
    if not excess(ends[1]) > 0.0:
        return math.inf
    return n * math.exp(float(scipy.optimize.brentq(excess, *ends, xtol=1e-10)))


@dataclass(frozen=True)
class Credibility(Summarized):
    """The sample size at which a test would detect the misfit in half of all samples (Lindsay and Liu 2009).

    Attributes
    ----------
    size : float
        The number of points at which the test has power ½ against the estimated misfit; infinite where the
        bias-corrected D does not exceed the radius.
    low, high : float
        The same for the upper and the lower end of the interval for D.
    n : int
        The number of points of the sample.
    radius, level : float
        Of the test.

    Examples
    --------
    >>> Credibility(80.0, 55.0, math.inf, 500, 0.0, 0.05).size
    80.0
    """

    size: float
    low: float
    high: float
    n: int
    radius: float
    level: float

    def summary(self) -> str:
        """In words.

        Examples
        --------
        >>> print(Credibility(80.0, 55.0, math.inf, 500, 0.0, 0.05).summary())
        A test at level 0.05 would detect the estimated misfit in half of all samples of
        80 points (55 or more over its confidence interval). This sample has 500 points.
        """
        if math.isinf(self.size):
            words = "The estimated misfit is within the tolerance; no sample size would reliably detect it."
            if math.isfinite(self.low):
                words += f" The upper end of its confidence interval would be detected with {_round(self.low)} points."
            return wrap(words, indent=0)
        ends = f"{_round(self.low)} {'or more' if math.isinf(self.high) else f'to {_round(self.high)}'}"
        return wrap(
            f"A test at level {self.level:g} would detect the estimated misfit in half of all samples of "
            f"{_round(self.size)} points ({ends} over its confidence interval). This sample has "
            f"{count(self.n, 'point')}.",
            indent=0,
        )


def _round(size: float) -> str:
    """A whole number in three digits."""
    return count(float(f"{max(1, round(size)):.3g}"))


def credibility(
    null: Null, summary: GramSummary, interval: tuple[float, float], level: float, radius: float = 0.0
) -> Credibility:
    """The credibility size of a test, with the range that an interval for D(Q, P) gives.

    Parameters
    ----------
    null, summary
        Of the test.
    interval : (float, float)
        For D(Q, P), two-sided.
    level, radius : float
        α and θ.

    Notes
    -----
    An estimate, checked by simulation: fresh samples of the size it names are rejected about every second time. The
    range inherits the confidence of the interval, up to the approximation in :func:`credibility_size`.

    Examples
    --------
    >>> import steinball as sb
    >>> x = np.random.default_rng(0).normal(0.5, size=300)
    >>> result = sb.ksd_test(x, sb.models.Gaussian(), rng=0)
    >>> evidence = result._evidence
    >>> 20 < credibility(evidence.null, evidence.summary, result.interval(), 0.05).size < 80
    True
    """
    n, unbiased, rows = len(summary), summary.unbiased_mean, to_host(summary.row_means)
    along = float(rows.var()) / summary.mean if summary.mean > 0.0 else 0.0
    scatter = max(0.0, float(to_host(summary.diagonal).mean()) - max(0.0, unbiased) - along)

    def size(squared: float) -> float:
        return credibility_size(null, squared, scatter, n, level, radius)

    return Credibility(size(unbiased), size(interval[1] ** 2), size(interval[0] ** 2), n, radius, level)
