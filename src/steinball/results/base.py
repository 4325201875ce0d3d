"""What every test gives back: one rule for the decision, one dictionary, one way to show it."""

from __future__ import annotations

import dataclasses
import html
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from steinball.features.kinds import is_upper_bound
from steinball.text import Row, count, describe, number, percent, render, spaced

__all__ = ["Decision", "Result", "conceded", "decided", "tolerated", "unbounded_words", "whose"]

OF_POINTS = "of these points are contaminated"
OF_DISTRIBUTION = "of the distribution they come from is contaminated"


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
class Result(Decision, ABC):
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

    schema: ClassVar[str]
    """Name and version of what :meth:`to_dict` gives."""
    _shown: ClassVar[tuple[str, ...]] = ()
    """What the repr shows besides the decision."""

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
        return f"{self._decided()}\n{conceded(self.contamination_bound, self.level, self._whose())}".rstrip()

    def summary(self) -> str:
        """The result for people: a table, and the decision in words."""
        return render(self.title, self.rows(), self.sentence())

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary for JSON. Its ``schema`` is raised when fields change (``docs/developer/results.md``).

        What is not finite is ``None``, tuples are lists, kernels and tilts are texts.
        """
        names = (field.name for field in dataclasses.fields(self) if not field.name.startswith("_"))
        values = {name: _plain(getattr(self, name)) for name in ("rejected", "verdict", *names)}
        return {"schema": self.schema, **values}

    def __repr__(self) -> str:
        names = ("pvalue", "statistic", "threshold", *self._shown)
        values = "".join(f", {name}={describe(getattr(self, name))}" for name in names)
        return f"{type(self).__name__}(rejected={self.rejected}{values})"

    def _repr_html_(self) -> str:
        decision = "rejected" if self.rejected else "not rejected"
        return f"<div><strong>{decision}</strong><pre>{html.escape(self.summary())}</pre></div>"

    def __bool__(self) -> bool:
        raise TypeError("a result is neither true nor false: use `result.rejected`.")

    # The words that the tables and sentences of all tests share.

    def _decided(self) -> str:
        return decided(self.rejected, f"at level {self.level:g}", self._tolerated())

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


def decided(rejected: bool, where: str, tolerated: str) -> str:
    """The decision in a sentence, and what does not follow from it."""
    if rejected:
        return f"REJECTED {where}: the data contradict the model{', even ' * bool(tolerated)}{tolerated}."
    words = f"NOT REJECTED {where}: the data do not contradict the model {tolerated}".rstrip()
    return f"{words}. This does not prove the model."


def tolerated(contamination: float | None, radius: float = 0.0) -> str:
    """The tolerance, a share or else a distance, as a part of that sentence; empty where nothing is tolerated."""
    if contamination is None:
        return f"up to a distance of {number(radius)}" if radius > 0 else ""
    return f"if up to {percent(contamination)} of them may be contaminated" if contamination > 0 else ""


def conceded(bound: float, level: float, of_what: str) -> str:
    """The contamination that must be conceded, in a sentence; empty where it is none."""
    return f"At confidence {percent(1 - level)}, at least {percent(bound, down=True)} {of_what}." if bound else ""


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
