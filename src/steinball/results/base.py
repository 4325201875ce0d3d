"""What every test gives back: one rule for the decision, one dictionary, one way to show it."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

from steinball.arrays import check_kind
from steinball.card import card
from steinball.features.kinds import is_upper_bound
from steinball.record import Record, current_record
from steinball.results.pairs import PairSums
from steinball.results.shown import Shown
from steinball.text import Row, brief, count, describe, number, percent, render, short, spaced

if TYPE_CHECKING:
    from steinball.explain import Concession, Detectable, Explanation, ToleranceCurve

__all__ = ["Decision", "Result", "conceding", "decided", "measured", "tolerated", "unbounded_words", "unseen", "whose"]

CONTAMINATED = "Contaminated means: does not come from the model."
OF_POINTS = "of these points are contaminated"
OF_DISTRIBUTION = "of the distribution they come from is contaminated"
UNPROVED = "This does not prove the model"


@dataclass(frozen=True, eq=False, kw_only=True)
class Decision:
    """A p-value with its level, and a statistic with its threshold.

    Examples
    --------
    >>> Decision(statistic=0.4, pvalue=0.01, threshold=0.2, level=0.05).rejected
    True
    """

    statistic: float
    pvalue: float
    threshold: float
    level: float

    @property
    def rejected(self) -> bool:
        """``pvalue <= level and statistic > threshold``: the rule of every test.

        The two conditions say the same, except for U-statistics. Their quantile may be negative; then the threshold is
        infinite and nothing is rejected (paper, App. C).
        """
        return self.pvalue <= self.level and self.statistic > self.threshold


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Result(Decision, Shown, ABC):
    """The result of a test.

    Attributes
    ----------
    rejected : bool
        Whether the data contradict the model beyond what is tolerated: ``pvalue <= level`` and
        ``statistic > threshold``. The two say the same, except for U-statistics with an infinite threshold.
    verdict : {"misfit", "good enough", "undecided"}
        ``"misfit"`` where rejected. Only tests with an upper bound of the misfit know ``"good enough"``.
    pvalue, level : float
        Of the hypothesis that the data come from the tolerated set, and the level α of the decision.
    statistic, threshold : float
        What was compared; on one scale.
    contamination : float or None
        The tolerated share of contamination; ``None`` where the tolerance is not a share.
    contamination_bound : float
        At confidence 1 − ``level`` at least this share is contaminated; 0 where the test bounds no share.
    n, dimension : int
        Size of the data.
    calibration, n_resamples : str, int
        The class that imitates the null distribution, and its number of draws.

    Notes
    -----
    A test that does not reject has not shown that the model fits. It has only not shown that the data come from
    further away than is tolerated.
    """

    contamination: float | None = None
    contamination_bound: float = 0.0
    n: int
    dimension: int
    calibration: str
    n_resamples: int = 0
    _record: Record = field(default_factory=current_record)

    schema: ClassVar[str]
    """Name and version of what :meth:`to_dict` gives."""
    _shown: ClassVar[tuple[str, ...]] = ()
    """What the repr shows besides the decision."""
    _subject: ClassVar[str] = "the data"
    _noun: ClassVar[str] = "point"
    _target: ClassVar[str] = "the model"
    _unproved: ClassVar[str] = UNPROVED
    """The words of the decision: what contradicts what, and what is not shown where it does not."""

    @property
    def verdict(self) -> str:
        """``"misfit"`` where rejected, otherwise ``"undecided"``."""
        return "misfit" if self.rejected else "undecided"

    @abstractmethod
    def at(self, *, level: float | None = None) -> Self:
        """The decision at another level, from the same draws."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Which test it was."""

    @abstractmethod
    def rows(self) -> list[Row]:
        """The table of the summary."""

    def sentence(self) -> str:
        """The decision in words. Not rejecting is never worded as support for the model."""
        return f"{self._decided()}\n{self._concession()}".rstrip()

    def summary(self, details: bool = False) -> str:
        """The result for people: the verdict in a few sentences and the numbers below it, at most four lines.

        It begins with MISFIT, GOOD ENOUGH or UNDECIDED; where nothing is tolerated with REJECTED or NOT REJECTED.
        ``details=True``: a table of everything, and the decision in words.
        """
        if details:
            return render(self.title, self.rows(), self.sentence())
        sentences, numbers = self._brief()
        return brief([f"{self._headline()} at level {self.level:g}.", *sentences], numbers)

    def _brief(self) -> tuple[list[str], list[str]]:
        """What was found in sentences, and the numbers behind it."""
        numbers = [f"p-value {short(self.pvalue)}", self._measured(), self._calibrated()]
        return [sentence for sentence in self._answer() if sentence], numbers

    def __str__(self) -> str:
        return self.summary()

    def explain(self, data: Any = None, top: int = 10) -> Explanation:
        """The points, coordinates and places that D is made of: :func:`steinball.explain.explain`.

        ``data`` is the frame that was tested, for the names of its columns and rows; ``top`` points are listed.

        Examples
        --------
        >>> import numpy as np, steinball as sb
        >>> x = np.random.default_rng(0).normal(size=200)
        >>> x[[3, 50, 71, 72, 90, 105, 113, 128, 137, 149, 160, 161, 177, 185, 190]] = 3.0
        >>> found = sb.robust_ksd_test(x, sb.models.Gaussian(), contamination=0.05, rng=0).explain(top=3)
        >>> found.points.tolist()
        [3, 50, 71]
        """
        from steinball.explain import explain

        return explain(self, data, top)

    def tolerance_curve(self, grid: Any = None) -> ToleranceCurve:
        """p-value and verdict for many tolerated shares: :func:`steinball.explain.tolerance_curve`."""
        from steinball.explain import tolerance_curve

        return tolerance_curve(self, grid)

    def conceded(self) -> Concession:
        """The contamination that must be conceded, and what is said by it: :class:`steinball.explain.Concession`."""
        from steinball.explain import Concession

        return Concession(self.contamination_bound, self.level, self._whose())

    def smallest_detectable(self, kind: Any = "worst") -> Detectable:
        """The least contamination that could have been detected: :func:`steinball.explain.smallest_detectable`."""
        from steinball.explain import smallest_detectable

        return smallest_detectable(self, kind)

    @property
    def _columns(self) -> tuple[str, ...]:
        """What the tested frame calls its columns; empty for an array."""
        return self._record.names

    def _sums(self) -> tuple[PairSums, ...]:
        """What explanations are made from, for every kernel, the leading one first."""
        raise TypeError(
            f"a {type(self).__name__} keeps no sums over its points, so that it cannot say which of them count."
        )

    def _tolerating(self, contamination: float) -> Result:
        """The decision at another tolerated share."""
        raise TypeError(f"a {type(self).__name__} tolerates nothing: use `robust_ksdagg_test` or `robust_ksd_test`.")

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary for JSON. Its ``schema`` is raised when fields change (``docs/developer/results.md``).

        What is not finite is ``None``, tuples are lists, kernels and tilts are texts.
        """
        names = (part.name for part in dataclasses.fields(self) if not part.name.startswith("_"))
        values = {name: _plain(getattr(self, name)) for name in ("rejected", "verdict", *names)}
        return {"schema": self.schema, **values}

    def __repr__(self) -> str:
        names = ("pvalue", "statistic", "threshold", *self._shown)
        values = "".join(f", {name}={describe(getattr(self, name))}" for name in names)
        return f"{type(self).__name__}(rejected={self.rejected}{values})"

    def _repr_html_(self) -> str:
        sentences, numbers = self._brief()
        words = f"at level {self.level:g}. {' '.join(sentences)}\n{' · '.join(numbers)}"
        return card(self._headline(), self.title, words, self.rows())

    def __bool__(self) -> bool:
        raise TypeError("a result is neither true nor false: use `result.rejected`.")

    # The words that the tables and sentences of all tests share.

    def _headline(self) -> str:
        """The verdict in capitals; where nothing is tolerated, the decision."""
        if self._tolerated():
            return self.verdict.upper()
        return "REJECTED" if self.rejected else "NOT REJECTED"

    def _answer(self) -> list[str]:
        """The sentences of a brief summary; "contaminated" is explained once, where it is said."""
        said = [self._finding(), (self._concession() if self.rejected else "") or self._unseen()]
        return [*said, CONTAMINATED if "ontaminat" in "".join(said) else ""]

    def _finding(self) -> str:
        """What was found, in a sentence."""
        points, target, tolerated = f"The {count(self.n, self._noun)}", self._target, self._tolerated()
        if self.rejected:
            return f"{points} contradict {target}{', even ' * bool(tolerated)}{tolerated}."
        if not tolerated:
            return f"{points} do not contradict {target}. {self._unproved}."
        return f"{points} fit {target} {tolerated}, but {self._but()}."

    def _but(self) -> str:
        """Why a model that was not rejected has not been shown to be close enough."""
        return "this test does not show that the model is that close"

    def _concession(self) -> str:
        return conceding(self.contamination_bound, self.level, self._whose())

    def _unseen(self) -> str:
        """What could not have been detected; empty where that is not known."""
        return ""

    def _measured(self) -> str:
        """The distance, for the line of numbers."""
        return f"statistic {short(self.statistic)}"

    def _decided(self) -> str:
        words = self._subject, self._target, self._unproved
        return decided(self.rejected, f"at level {self.level:g}", self._tolerated(), words)

    def _points(self) -> str:
        return f"{count(self.n, 'point')} in {count(self.dimension, 'dimension')}"

    def _rule(self) -> str:
        finite = math.isfinite(self.threshold)
        return f"rejected above {number(self.threshold)}" if finite else "no value can reject at this level"

    def _calibrated(self) -> str:
        name = spaced(self.calibration)
        return f"{name}, {count(self.n_resamples, 'draw')}" if self.n_resamples else name

    def _tolerance(self) -> str:
        """A note on the radius."""
        if not self.contamination:
            return "nothing is tolerated"
        where = ", wherever it lies" if self._certain() else ""
        return f"tolerated: {percent(self.contamination)} of contamination{where}"

    def _certain(self) -> bool:
        """Whether it is proved that no place of contamination counts for more than the radius allows."""
        return True

    def _tolerated(self) -> str:
        return tolerated(self.contamination)

    def _whose(self) -> str:
        return OF_POINTS


def as_result(value: Any) -> Result:
    """What a user passed as ``result``."""
    return check_kind(value, Result, "result", "the result of a test")  # type: ignore[no-any-return]


def decided(
    rejected: bool, where: str, tolerated: str, words: tuple[str, str, str] = ("the data", "the model", UNPROVED)
) -> str:
    """The decision in a sentence, and what does not follow from it; ``words`` are subject, object and the latter."""
    subject, target, unproved = words
    if rejected:
        return f"REJECTED {where}: {subject} contradict {target}{', even ' * bool(tolerated)}{tolerated}."
    found = f"NOT REJECTED {where}: {subject} do not contradict {target} {tolerated}".rstrip()
    return f"{found}. {unproved}."


def tolerated(contamination: float | None, radius: float = 0.0) -> str:
    """The tolerance, a share or else a distance, as a part of that sentence; empty where nothing is tolerated."""
    if contamination is None:
        return f"up to a distance of {number(radius)}" if radius > 0 else ""
    return f"if up to {percent(contamination)} of them may be contaminated" if contamination > 0 else ""


def conceding(bound: float, level: float, of_what: str) -> str:
    """The contamination that must be conceded, in a sentence; empty where it is none."""
    return f"At confidence {percent(1 - level)}, at least {percent(bound, down=True)} {of_what}." if bound else ""


def measured(name: str, distance: float, radius: float) -> str:
    """A distance, and what was tolerated of it."""
    return f"{name} {short(distance)}" + f" (tolerated {short(radius)})" * (radius > 0.0)


def unseen(result: Result, bounded: str) -> str:
    """What could not have been detected, in a sentence; empty where that is not known or not asked."""
    if bounded == "unbounded":
        return "One far point can have any effect, because u(x, x) is not bounded here." if result._tolerated() else ""
    sums = result._sums()
    if result.verdict != "undecided" or math.isnan(sums[0].critical) or not sums[0].tau > 0.0:
        return ""
    share = result.smallest_detectable().share
    if math.isinf(share):
        return "No share of contamination could have been detected (power one half)."
    return f"Contamination below about {percent(float(f'{share:.2g}'))} could not have been detected (power one half)."


def unbounded_words(bounded: str) -> str:
    """What cannot be said where u(x, x) is not bounded; empty elsewhere."""
    return "u(x, x) grows without limit, so no share of contamination can be bounded." if bounded == "unbounded" else ""


def whose(tau_kind: str) -> str:
    """What the bound on contamination is about: of these points it holds when τ is at least their largest u(x, x)."""
    if is_upper_bound(tau_kind):
        return OF_DISTRIBUTION
    return f"{OF_POINTS}, if contamination lies within the stated region" if tau_kind == "localized" else OF_POINTS


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return {key: _plain(part) for key, part in value.items()} if isinstance(value, dict) else repr(value)
