"""The decision of a test on a model or a family, and what it would have been."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from steinball.arrays import Array, Floats, check_level, like
from steinball.evidence.base import CLOSE
from steinball.evidence.bounds import Credibility, credibility
from steinball.evidence.ksd import FamilyEvidence, KSDEvidence
from steinball.explain.removal import Fragility, Removal, fragility, least_removal
from steinball.explain.tolerance import Detectable, whose
from steinball.kernels.base import Kernel
from steinball.results.base import FamilyResult, Result
from steinball.text import Row, count, decided, describe, measured, number, percent, short, tolerated
from steinball.tilts import Tilt

_TAU_KINDS = {
    "sample": "the largest u(x, x) of these points, a lower bound of its supremum",
    "optimized": "found by maximizing u(x, x) from the largest points, a lower bound of its supremum",
    "given": "an upper bound given by the user",
    "largest found": "the largest u(x, x) of these points, draws of the model and a search; not proven to be the "
    "supremum",
    "localized": "the supremum of u(x, x) over the stated region only",
    "closed form": "the supremum of u(x, x), in closed form",
    "certified": "a proven upper bound of u(x, x)",
}
_TOO_FEW = "There are too few data to show that it is close enough"
_GRADES = {
    "certified": "certified: every value within its error bounds leads to the same decision",
    "approximate": "approximate: the exact sums might decide otherwise",
}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SupremumResult(Result):
    """A result whose tolerance rests on τ, the supremum of u(x, x): what holds depends on how τ was obtained."""

    tau_kind: str
    bounded: str = "apparent"

    def sentence(self) -> str:
        """The decision in words, and what cannot be said where u(x, x) is not bounded."""
        lost = "u(x, x) grows without limit, so no share of contamination can be bounded."
        return f"{super().sentence()}\n{lost if self.bounded == 'unbounded' else ''}".rstrip()

    def _unseen(self) -> str:
        if self.bounded == "unbounded":
            lost = "One far point can have any effect, because u(x, x) is not bounded here."
            return lost if self._tolerance_words() else ""
        leading = self._sums()[0]
        if self.verdict != "undecided" or math.isnan(leading.critical) or not leading.tau > 0.0:
            return ""
        share = self.smallest_detectable().share
        if math.isinf(share):
            return "Even where it shows most, any share of contamination would be missed more often than not."
        least = percent(float(f"{share:.2g}"))
        return f"Even where it shows most, contamination below about {least} would be missed more often than not."

    def _certain(self) -> bool:
        return self.bounded == "proved"

    def _whose(self) -> str:
        return whose(self.tau_kind)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class GofResult(SupremumResult):
    """The result of a kernel Stein goodness-of-fit test: :class:`~steinball.results.base.Result`, and more.

    Attributes
    ----------
    statistic : float
        Δ_θ = max(0, D − θ).
    verdict : {"misfit", "close in KSD", "undecided"}
        ``"misfit"`` where rejected; ``"close in KSD"`` where ``upper_bound <= radius``: the data show, at confidence
        1 − ``level``, that they come from no further away than is tolerated, which is a statement about the distance
        and not about a share; ``"undecided"`` otherwise, and where the distance cannot see what matters, as with
        separated modes.
    ksd, squared_ksd : float
        D and D². With U-statistics D² may be negative; D is then 0.
    radius : float
        θ, on the scale of D.
    lower_bound, upper_bound : float
        One-sided confidence bounds for the KSD of the population, each at 1 − ``level``.
    contamination_bound : float
        ε_L = ``lower_bound`` / √τ, the smallest contamination that the data force one to concede: at confidence
        1 − ``level``, at least this share *of these points* is contaminated when τ is the maximum over the sample; also
        of the distribution they come from when τ is an upper bound of u(x, x). No statistic bounds the share from
        above: contamination may look like the model.
    tau, tau_kind : float, str
        The supremum of u(x, x) used, and how it was obtained.
    estimator, engine
        How it was computed.
    grade : {"exact", "certified", "approximate"}
        Whether the pairs were summed exactly; or approximately, but so that every value within the stated error bounds
        leads to the same decision; or only approximately.
    details : dict
        What the engine says of its work: its rank, bounds on D and on the p-value.
    kernel, tilt
        The base kernel and the tilt used, defaults resolved.
    bounded : {"proved", "apparent", "unknown", "unbounded"}
        Whether u(x, x) is bounded: proved by what the model declares or by τ, as far as rays show it, unknown where the
        score is not defined far from the data, or not. Where it is unknown the verdict is never ``"close in KSD"``;
        where it is not bounded, contamination far out can hide or produce any misfit: ``contamination_bound`` is 0 and
        the verdict is never ``"close in KSD"``.

    Examples
    --------
    >>> import numpy as np, steinball as sb
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=200)
    >>> x[rng.random(200) < 0.25] = 2.0
    >>> result = sb.robust_ksd_test(x, sb.models.Gaussian(), contamination=0.02, rng=0)
    >>> result.rejected, result.verdict, 0.02 < result.contamination_bound <= 0.25
    (True, 'misfit', True)
    >>> result.at(contamination=0.25).rejected
    False
    """

    ksd: float
    squared_ksd: float
    radius: float
    lower_bound: float
    upper_bound: float
    tau: float
    estimator: str
    engine: str
    grade: str
    details: dict[str, Any]
    kernel: Kernel
    tilt: Tilt | None
    _evidence: KSDEvidence
    _doubt: str = ""

    schema: ClassVar[str] = "steinball.gof/2"
    _in_repr: ClassVar[tuple[str, ...]] = ("ksd", "radius")

    @property
    def contributions(self) -> Array:
        """What each point adds to D²: shape (n,), summing to ``squared_ksd``, in the library of the samples."""
        summary, n = self._evidence.summary, self.n
        found = summary.row_means / n
        if self.estimator == "u":
            found = (n * summary.row_means - summary.diagonal) / (n * (n - 1))
        return like(found, self._evidence.problem.rows.template)

    @property
    def draws(self) -> np.ndarray[Any, np.dtype[np.float64]] | None:
        """The bootstrap draws of D, or ``None`` for a bound."""
        draws = self._evidence.null.draws
        return None if draws is None else np.array(draws)

    @property
    def contaminated_points(self) -> int:
        """At confidence 1 − ``level`` at least so many of *these* points are contaminated; 0 where a calibration does
        not count them (:class:`MonteCarlo` does)."""
        return int(self.details.get("contaminated_points", 0))

    def interval(self, level: float | None = None) -> tuple[float, float]:
        """A two-sided confidence interval for the KSD of the population, at confidence 1 − ``level``.

        Examples
        --------
        >>> import steinball as sb
        >>> x = np.random.default_rng(0).normal(size=300)
        >>> low, high = sb.robust_ksd_test(x, sb.models.Gaussian(0.5), 0.05, rng=0).interval()
        >>> 0.0 < low < high
        True
        """
        return self._evidence.interval(self.level if level is None else check_level(level, 0))

    def credibility(self) -> Credibility:
        """The sample size at which the misfit would be detected in half of all samples (Lindsay and Liu 2009).

        Examples
        --------
        >>> import steinball as sb
        >>> x = np.random.default_rng(0).normal(size=300)
        >>> 10 < sb.ksd_test(x, sb.models.Gaussian(0.5), rng=0).credibility().size < 40
        True
        """
        evidence = self._evidence
        return credibility(evidence.null, evidence.summary, self.interval(), self.level, self.radius)

    def fragility(self) -> Fragility:
        """How many points can be replaced without changing the decision: :class:`steinball.explain.Fragility`.

        This needs a τ that is an upper bound, ``tau="auto"``, and a kernel and tilt that are not chosen from the data.
        """
        return fragility(self._evidence, self)

    def least_removal(self) -> Removal:
        """The least data to remove so that the test does not reject: :class:`steinball.explain.Removal`."""
        problem = self._evidence.problem
        if len(problem.rows.excluded):
            raise ValueError("points outside the support of the model are no part of this: remove them and test again.")
        if self.estimator != "v":
            raise ValueError('`least_removal` is about V-statistics: use estimator="v".')
        # Where nothing can be rejected no points need to be removed: any bound of D will do.
        return least_removal(problem, 2.0 * self.ksd if math.isinf(self.threshold) else self.radius + self.threshold)

    def _drawn(self) -> Floats | None:
        return self._evidence.null.drawn(self.radius)

    def _wealth(self) -> Floats | None:
        return self._evidence.null.path(self.radius)

    @property
    def title(self) -> str:
        """Robust with a radius, standard or tilted without one."""
        kind = "Robust" if self.radius > 0 else "Standard" if self.tilt is None else "Tilted"
        return f"{kind} kernel Stein goodness-of-fit test"

    def rows(self) -> list[Row]:
        """The table of the summary."""
        low, high = self.interval()
        interval = f"{low:.3g} – {high:.3g}" if math.isfinite(high) else f"≥ {low:.3g}"
        kind = f"KSD, {self.estimator.upper()}-statistic"
        return [
            ("data", self._points()),
            *self._space(),
            ("kernel", describe(self.kernel)),
            ("tilt", describe(self.tilt)),
            ("D", number(self.ksd), f"distance of {self._subject} from {self._target} ({kind})"),
            (
                "",
                interval,
                f"{percent(1 - self.level)} confidence interval for the KSD of the population{self._why_hoeffding()}",
            ),
            ("θ", number(self.radius), self._tolerance()),
            ("τ", number(self.tau), _TAU_KINDS.get(self.tau_kind, self.tau_kind)),
            ("statistic", number(self.statistic), f"max(0, D − θ); {self._rule()}"),
            ("p-value", number(self.pvalue), self._calibrated()),
            ("engine", f"{self.engine}, {_GRADES.get(self.grade, self.grade)}"),
        ]

    def _space(self) -> list[Row]:
        """Where the data were mapped to before they were compared."""
        rows = self._evidence.problem.rows
        told = f"normal where the data come from {rows.original_model!r}"
        return [("space", "base space", told)] if rows.in_base_space else []

    def _why_hoeffding(self) -> str:
        """Why the upper end of the interval is by Hoeffding's inequality; empty where it is not."""
        if not self._evidence.rare:
            return ""
        whose = "draws of the model" if self._evidence.problem.reference is not None else "the data"
        return f"; above by Hoeffding's inequality, since n E u/τ = {self._evidence.visits:.2g} is small (by {whose})"

    def _decided(self) -> str:
        if self.verdict == CLOSE:
            return (
                f"NOT REJECTED at level {self.level:g}, and CLOSE IN KSD: at confidence {percent(1 - self.level)} the "
                f"population lies no further from {self._target} than {self._limit()}. {self._unproved}."
            )
        if self.verdict == "misfit" or not self.radius > 0:
            return super()._decided()
        why = f"Whether it is close enough cannot be said: {self._doubt}" if self._doubt else _TOO_FEW
        return f"{super()._decided()} {why} (undecided)."

    def _finding(self) -> str:
        if self.verdict != CLOSE:
            return super()._finding()
        shown = f"The {count(self.n, 'point')} show, at confidence {percent(1 - self.level)}, that their population"
        return f"{shown} lies no further from the model than {self._limit()}."

    def _but(self) -> str:
        if self._doubt:
            return f"whether it is that close cannot be said: {self._doubt}"
        return "they are too few to show that the model is that close"

    def _measured(self) -> str:
        grade = ", approximate" if self.grade == "approximate" else ""
        return measured("KSD", self.ksd, self.radius) + grade

    def _limit(self) -> str:
        """θ as a distance: a share that is close in this distance may be larger than the tolerated one."""
        if self.contamination is None:
            return "is tolerated"
        return f"{percent(self.contamination)} of contamination could put it; more of it may be contaminated"

    def _tolerance(self) -> str:
        return "tolerated distance" if self.radius > 0 and self.contamination is None else super()._tolerance()

    def _tolerance_words(self) -> str:
        return tolerated(self.contamination, self.radius)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FitResult(FamilyResult, GofResult):
    """The result of a test whether some member of a family fits: a :class:`GofResult`, and more.

    Attributes
    ----------
    family, fit : str
        The family, and how its parameters were estimated.
    params, standard_errors : dict
        The fitted parameters and their standard errors, by name; empty where the family does not tell them.
    known_params : dict
        Parameters that were not fitted.

    Notes
    -----
    ``rejected`` is about every member of the family. The verdict is never ``"close in KSD"`` and
    ``contamination_bound`` is 0: the model was chosen by the same data, and the bounds of a known model do
    not hold for it.

    Examples
    --------
    >>> import numpy as np, steinball as sb
    >>> result = sb.fit_test(np.random.default_rng(0).normal(3.0, 2.0, size=200), "normal", rng=0)
    >>> result.rejected, {name: round(value) for name, value in result.params.items()}
    (False, {'mean': 3, 'sd': 2})
    """

    fit: str = ""
    standard_errors: dict[str, float] = field(default_factory=dict)
    _evidence: FamilyEvidence
    _numerical: bool = False

    schema: ClassVar[str] = "steinball.fit/1"
    _in_repr: ClassVar[tuple[str, ...]] = ("ksd", "radius", "family")

    @property
    def model(self) -> Any:
        """The member of the family that was tested."""
        return self._evidence.problem.model

    @property
    def title(self) -> str:
        """With the name of the family."""
        return f"Kernel Stein test of a fitted family: {self.family}"

    def _error(self, name: str) -> str:
        """A standard error, where there is one: a parameter at the edge of its family has none."""
        error = self.standard_errors[name]
        return f" ± {short(error)}" if math.isfinite(error) else " (at the edge of the family)"

    def smallest_detectable(self, kind: Any = "worst") -> Detectable:
        """Refused: contamination moves the fit along, and what would still be seen is not known."""
        raise TypeError(
            "`smallest_detectable` is for a model that is known: contamination moves a fitted one along. Simulate it "
            "by `steinball.power`."
        )

    def _unseen(self) -> str:
        return ""

    def rows(self) -> list[Row]:
        """The table of the summary: parameters first."""
        data, *rows = [row for row in super().rows() if row[0] != ""]  # an interval for D would need a known model
        numerical: list[Row] = [("scores", "of the parameters by finite differences")] if self._numerical else []
        return [data, ("fit", self.fit), *self._parameter_rows(), *numerical, *rows]

    def _decided(self) -> str:
        target = "every member of the family" if self.rejected else "the family"
        return decided(self.rejected, f"at level {self.level:g}", "", (self._subject, target, self._unproved))
