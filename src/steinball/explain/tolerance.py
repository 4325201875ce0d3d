"""What a test would say at other tolerances: the whole curve, what must be conceded, what could have been detected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinball.arrays import Floats, as_numbers, check_share, like, to_host
from steinball.evidence.base import Curve, Evidence, PairSums, last_place
from steinball.explain.influence import as_places, points_at
from steinball.radius import Huber, Radius
from steinball.remarks import give
from steinball.stein import SteinPoints
from steinball.tau.certificate import is_upper_bound
from steinball.text import OF_DISTRIBUTION, OF_POINTS, Summarized, number, percent, render, wrap

_DRAWS = 512
_STEPS, _LOOKED, _SHOWN = 100, 1024, 8


def conceding(bound: float, level: float, of_what: str) -> str:
    """The contamination that must be conceded, in a sentence; empty where it is none."""
    return f"At confidence {percent(1 - level)}, at least {percent(bound, down=True)} {of_what}." if bound else ""


def whose(tau_kind: str) -> str:
    """What the bound on contamination is about: of these points it holds when τ is at least their largest u(x, x)."""
    if is_upper_bound(tau_kind):
        return OF_DISTRIBUTION
    return f"{OF_POINTS}, if contamination lies within the stated region" if tau_kind == "localized" else OF_POINTS


@dataclass(frozen=True)
class Concession(Summarized):
    """The contamination that must be conceded: the smallest tolerance at which the model is not rejected.

    Attributes
    ----------
    share : float
        ε_L. At confidence 1 − ``level`` at least this share is contaminated, that is, does not come from the model.
    level : float
        The level α.
    of_what : str
        Whether the statement is about these points or about the distribution that they come from.

    Notes
    -----
    One statement holds for all tolerances at once: the tolerated sets are nested, so that looking for the smallest one
    that is not rejected costs nothing. The level must be chosen before the data are seen.

    Examples
    --------
    >>> print(Concession(0.136, 0.05, "of these points are contaminated"))
    At confidence 95 %, at least 13.6 % of these points are contaminated, which means
    that they do not come from the model.
    """

    share: float
    level: float
    of_what: str

    def summary(self) -> str:
        """In words."""
        if not self.share:
            return wrap(f"No contamination has to be conceded at confidence {percent(1 - self.level)}.", indent=0)
        words = conceding(self.share, self.level, self.of_what).removesuffix(".")
        who = "they do" if "points" in self.of_what else "it does"
        return wrap(f"{words}, which means that {who} not come from the model.", indent=0)


@dataclass(frozen=True, eq=False)
class ToleranceCurve(Summarized):
    """p-value and verdict of a test for many tolerated shares of contamination, or differences of shares.

    Attributes
    ----------
    contamination, pvalues : (m,) arrays
        The tolerated shares, and the p-value at each; the p-value does not fall as more is tolerated. Differences of
        shares where the test tolerated one; ``axis`` says which, and in :meth:`to_dict` they are ``tolerance``.
    verdicts : tuple of str
        ``"misfit"``, ``"undecided"`` or the best answer of the test, ``"close in KSD"`` or ``"good enough"``, at each.
    level : float
        The level of the verdicts.
    conceded : float
        The smallest share that is not rejected, at both ends of the bounds of an approximate engine.

    Examples
    --------
    >>> import steinball as sb
    >>> x = np.random.default_rng(0).normal(size=300)
    >>> x[np.random.default_rng(1).permutation(300)[:60]] = 3.0
    >>> curve = sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, rng=0).tolerance_curve([0.0, 0.2, 0.5])
    >>> curve.verdicts
    ('misfit', 'undecided', 'close in KSD')
    """

    contamination: Floats
    pvalues: Floats
    verdicts: tuple[str, ...]
    level: float
    conceded: float
    axis: str = Huber.axis

    def summary(self) -> str:
        """A table of a few shares, and what they mean."""
        chosen = np.unique(np.linspace(0, len(self.verdicts) - 1, _SHOWN).astype(int))
        rows = [(percent(self.contamination[k]), f"p = {number(self.pvalues[k])}", self.verdicts[k]) for k in chosen]
        return render(
            f"{self.axis.capitalize()} at level {self.level:g}",
            rows,
            f"At least {percent(self.conceded, down=True)} must be conceded. The tolerance may be chosen after the "
            "data were seen, because the tolerated sets are nested; the level must be chosen before.",
        )

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary for JSON."""
        told = {name: np.asarray(value).tolist() for name, value in vars(self).items() if name != "axis"}
        shares = {} if self.axis == Huber.axis else {"tolerance": told.pop("contamination")}
        return {"schema": "steinball.tolerance-curve/1", **shares, **told}


def tolerance_curve(
    evidence: Evidence, tolerated: Radius, level: float, conceded: float, grid: Any = None
) -> ToleranceCurve:
    """p-value and verdict as a function of the tolerated share, from the draws of one test.

    Parameters
    ----------
    evidence : Evidence
        Of a test with a tolerance.
    tolerated : Radius
        The set that it tolerated: a difference of shares has a curve of its own, all others that of contamination.
    level, conceded : float
        Its level, and the smallest share of contamination that is not rejected.
    grid : array, optional
        Shares in [0, 1], in any order. By default 101 of them from 0 to beyond all three zones.

    Notes
    -----
    The hypotheses "at most a share ε is contaminated" are nested in ε, and the p-value does not fall in ε. So the
    tolerance may be chosen after the data were seen: "rejected up to ε_L" is one confidence statement. The level may
    not.

    Examples
    --------
    >>> import steinball as sb
    >>> x = np.random.default_rng(0).normal(size=200)
    >>> curve = sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, rng=0).tolerance_curve()
    >>> bool((np.diff(curve.pvalues) >= 0.0).all()), len(curve.verdicts)
    (True, 101)
    """
    sized = tolerated.in_percent and tolerated.variation == tolerated.amount  # contamination, or a difference of shares
    everything = tolerated.resized(1.0) if sized else Huber(1.0)
    evidence.check(everything)
    give(evidence.remarks(everything))
    if everything.contamination is None:
        conceded = _beginning(evidence, everything, level, ("undecided", evidence.close), 1.0)
    own = tolerated.amount if sized else None
    shares = _default_grid(evidence, everything, level, max(own or 0.0, conceded)) if grid is None else _checked(grid)
    curve = evidence.curve(everything, shares, level)
    return ToleranceCurve(shares, curve.pvalues, curve.verdicts, level, conceded, everything.axis)


def _checked(grid: Any) -> Floats:
    shares = np.sort(np.ravel(as_numbers(grid, "grid")))
    if not shares.size:
        raise ValueError("`grid` must hold at least one share, got none.")
    return np.array([check_share(float(share), "grid") for share in shares])


def _default_grid(evidence: Evidence, kind: Radius, level: float, seen: float) -> Floats:
    """From 0 to beyond all three zones; without 0 where points outside the support need some tolerance."""
    end = min(1.0, 1.25 * max(seen, _first_close(evidence, kind, level), 0.05))
    shares = np.linspace(0.0, end, _STEPS + 1)
    try:
        evidence.check(kind.resized(0.0))
    except ValueError:
        return shares[1:]
    return shares


def _first_close(evidence: Evidence, kind: Radius, level: float) -> float:
    """The smallest share at which the verdict is the best one, rounded up; 0 where there is none."""
    first = _beginning(evidence, kind, level, (evidence.close,), 1.0)
    return math.ceil(first * _LOOKED) / _LOOKED if math.isfinite(first) else 0.0


@dataclass(frozen=True, eq=False)
class Zones:
    """The curve of a result, and where one verdict ends and the next begins.

    ``kind`` is the set whose amount changes, ``own`` the amount of the result, ``first`` and ``second`` are where
    *undecided* and the best verdict begin, infinite where they do not.
    """

    kind: Radius
    own: float
    curve: Curve
    first: float
    second: float

    @property
    def end(self) -> float:
        """The largest amount of the curve."""
        return float(self.curve.amounts[-1])

    @property
    def verdicts(self) -> tuple[str, str, str]:
        """The verdicts of the zones, in their order."""
        return "misfit", "undecided", self.curve.close

    @property
    def ends(self) -> list[float]:
        """Where the three zones begin, and where the last one ends; one that is not there has no width."""
        return [0.0, min(self.first, self.end), min(self.second, self.end), self.end]


def zones_of(evidence: Evidence, tolerated: Radius, level: float) -> Zones:
    """The curve of a result to beyond all of its zones, and their ends: each verdict begins once."""
    kind = evidence.sliding(tolerated)
    if kind is None:
        raise TypeError(f"beyond {tolerated!r} nothing else is tolerated without another test.")
    own = kind.amount or 0.0
    most = 1.0 if kind.in_percent else 4.0 * max(evidence.distance(), own) or 1.0
    first = _beginning(evidence, kind, level, ("undecided", evidence.close), most)
    second = _beginning(evidence, kind, level, (evidence.close,), most)
    seen = [value for value in (first, second, own) if value < most]
    end = _round_up(1.3 * max(seen, default=0.0), most) or most
    grid = np.linspace(0.0, end, _STEPS + 1)
    place = evidence.distance() / (float(evidence.limits(kind, np.array([end]))[0]) / end or math.nan)
    if 0.0 < place < end:  # where D is reached the p-value jumps to 1
        grid = np.sort(np.append(grid, [place * (1.0 - 1e-9), place * (1.0 + 1e-9)]))
    return Zones(kind, own, evidence.curve(kind, grid, level), first, second)


def _beginning(evidence: Evidence, kind: Radius, level: float, verdicts: tuple[str, ...], most: float) -> float:
    """The smallest amount that has one of these verdicts, as all larger ones do; infinite where there is none."""

    def before(amount: float) -> bool:
        return evidence.curve(kind, np.array([amount]), level).verdicts[0] not in verdicts

    return math.inf if before(most) else last_place(before, 0.0, most)


def _round_up(value: float, most: float) -> float:
    """A little more, in one or two digits."""
    if value <= 0.0:
        return 0.0
    step = 10.0 ** math.floor(math.log10(value)) / 2.0
    return min(most, math.ceil(value / step - 1e-9) * step)


@dataclass(frozen=True)
class Detectable(Summarized):
    """The share of contamination that a test of this size detects in half of all samples; approximate.

    Attributes
    ----------
    share : float
        The estimate; infinite where not even a sample that is all contamination would be detected.
    low, high : float
        Between these the approximation puts it.
    kind : str
        Where the contamination lies: ``"worst"`` where it shows most, ``"points"`` at given points.
    level : float
        Of the test.

    Examples
    --------
    >>> print(Detectable(0.14, 0.13, 0.14, "worst", 0.05))
    Even where it shows most, contamination below about 14 % would be missed more
    often than not: a test at level 0.05 finds that share in half of all samples (13
    % to 14 %, approximately).
    """

    share: float
    low: float
    high: float
    kind: str
    level: float

    def summary(self) -> str:
        """In words."""
        where = "Even where it shows most" if self.kind == "worst" else "At the given points"
        if math.isinf(self.share):
            missed = "any share of contamination would be missed more often than not"
            return wrap(f"{where}, {missed}, at level {self.level:g}.", indent=0)
        return wrap(
            f"{where}, contamination below about {percent(self.share)} would be missed more often than not: a test at "
            f"level {self.level:g} finds that share in half of all samples ({percent(self.low)} to "
            f"{percent(self.high)}, approximately).",
            indent=0,
        )


def smallest_detectable(kernels: Sequence[PairSums], level: float, kind: Any = "worst") -> Detectable:
    r"""The smallest contamination that a test detects in half of all samples, from its own draws

    .. math:: \varepsilon^2 |\mu_R|^2 + \frac1n \big(E_P u(X, X) - E_P f(X)^2\big) = (\theta + \gamma)^2, \qquad
       f = \mu_R / |\mu_R|,

    with the threshold γ and the mean embedding :math:`\mu_R` of the contamination R. The left side is about the median
    of D² at the share ε; with a radius the true share lies between that and :math:`(\theta + \gamma)/|\mu_R|`, and the
    middle of the two is the estimate.

    Parameters
    ----------
    kernels : sequence of PairSums
        The sums over pairs of a kernel Stein test; of several kernels the one that shows most decides.
    level : float
        Of the test.
    kind : "worst" or array
        ``"worst"``: all contamination at the point where it shows most, u(x, x) = τ. Otherwise the places of the
        contamination, shape (m, d), or (m,) for d = 1.

    Notes
    -----
    Approximate. Simulated for a Gaussian model at the default settings, d = 1 and 10, n = 100 and 500: within a tenth
    of the true share (``docs/explaining.md``). Contamination elsewhere than in the worst place shows less.

    Examples
    --------
    >>> import steinball as sb
    >>> x = np.random.default_rng(0).normal(size=500)
    >>> result = sb.robust_ksd_test(x, sb.models.Gaussian(), contamination=0.05, rng=0)
    >>> 0.08 < result.smallest_detectable().share < 0.12
    True
    >>> result.smallest_detectable([4.0]).share > 1.2 * result.smallest_detectable().share  # far out it shows less
    True
    """
    worst = isinstance(kind, str)
    if worst and kind != "worst":
        raise ValueError(f'`kind` must be "worst" or an array of points, got {kind!r}.')
    if math.isnan(kernels[0].critical):
        raise TypeError(
            "this test does not decide by D alone, so that no share of contamination follows from its threshold. Use "
            "`steinball.power`, which simulates."
        )
    answers = [_shares(sums, kind if worst else _places(sums, kind)) for sums in kernels]
    low, high, share = (min(ends) for ends in zip(*answers, strict=True))
    return Detectable(share, low, high, "worst" if worst else "points", level)


def _places(sums: PairSums, kind: Any) -> SteinPoints:
    """Given points, as the test sees them."""
    problem = sums.problem
    if not problem.evaluable:
        raise TypeError(f"`kind` at points needs the score there; {problem.unknown_elsewhere}.")
    return points_at(problem, problem.rows.tested(as_places(problem, kind, "kind")))


def _shares(sums: PairSums, where: SteinPoints | str) -> list[float]:
    """The shares between which contamination at points, or where it shows most, is detected every second time, and the
    estimate."""
    stein, points = sums.problem.stein, _typical(sums)
    diagonal = to_host(stein.pairs(points, points))
    if isinstance(where, str):
        if math.isnan(sums.tau) or sums.bounded == "unbounded":
            raise ValueError(
                "u(x, x) has no bound here, so that there is no place where contamination shows most: one far point "
                "can have any effect. Give the places of the contamination, or test with a tilt."
            )
        there, square = points.take(np.array([int(diagonal.argmax())])), sums.tau
    else:
        there, square = where, float(to_host(stein.block(where, where)).mean())
    if square <= 0.0 or not math.isfinite(sums.critical):
        return [math.inf] * 3
    length = math.sqrt(square)  # |μ_R|
    values = to_host(stein.block(points, there)).mean(axis=1) / length
    scatter = max(0.0, float(diagonal.mean() - np.square(values).mean())) / len(sums) if sums.estimator == "v" else 0.0
    root = math.sqrt(scatter)  # the square of a large radius is no float
    low = math.sqrt(max(0.0, sums.critical - root)) * math.sqrt(sums.critical + root) / length
    high = sums.critical / length
    share = low if sums.radius == 0.0 else (low + high) / 2.0
    return [end if end <= 1.0 else math.inf for end in (low, high, share)]


def _typical(sums: PairSums) -> SteinPoints:
    """What the model looks like: its draws, or where it cannot be sampled the data."""
    problem, reference = sums.problem, sums.problem.reference
    if reference is None:
        return problem.points
    try:
        return points_at(problem, like(reference.draws[:_DRAWS], problem.samples))
    except Exception:  # a user's score need not be defined at its own draws: what is known is known
        return problem.points
