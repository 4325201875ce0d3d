"""What a comparison of models gives back: an interval and a decision for every pair, in fields, words and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from steinball.arrays import Floats, as_number, check_level
from steinball.comparison import Comparison, decide_pairs
from steinball.record import Record
from steinball.text import Reported, Row, count, number, percent, short

NOT_CLOSE = "Closer is not close: whether a model fits is a test of its own."
_SHOWN = 3
"""So many pairs at most, those with the smallest p-values, are told in the brief summary."""


def check_contamination(contamination: Any) -> float:
    """A share ε with 0 ≤ ε < 1: of rows that may all be anything nothing can be said."""
    share = as_number(contamination, "contamination", low=0.0, high=1.0)
    if share == 1.0:
        raise ValueError("`contamination` must be below 1, got 1: no row would be left to compare models on.")
    return share


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ComparisonResult(Reported):
    """Which of several models is closer to the rows, pair by pair: the result of :func:`steinball.compare`.

    Attributes
    ----------
    names : tuple of str
        The models, in the order they were given in.
    pairs : tuple of Comparison
        Every pair with ``first``, ``second``, ``closer`` (a name, or None where no difference is shown), ``pvalue``,
        ``interval`` for MMD²(second) − MMD²(first), and ``values`` of the preference g at the rows.
    closest : str or None
        The model that is closer than every other one, where that is shown.
    contamination, level : float
        The tolerated share of rows that may be anything, and the level α over all pairs together.
    n, dimension : int
        Rows that were compared, and columns.
    draws : dict
        The number of draws that each model is known by; 0 where its embedding is in closed form.
    fitted : dict
        The parameters of the models that were fitted, by name; they were fitted on ``fitted_on`` further rows.

    Examples
    --------
    >>> import numpy as np, steinball as sb
    >>> x = np.random.default_rng(0).normal(size=300)
    >>> models = {"near": sb.models.Gaussian(0.2), "far": sb.models.Gaussian(1.5)}
    >>> result = sb.compare(x, models, contamination=0.05, rng=0)
    >>> result.closest, result.at(contamination=0.5).closest
    ('near', None)
    """

    names: tuple[str, ...]
    pairs: tuple[Comparison, ...]
    contamination: float
    level: float
    n: int
    dimension: int
    draws: dict[str, int]
    fitted: dict[str, dict[str, float]] = field(default_factory=dict)
    fitted_on: int = 0
    _rows: Floats
    _record: Record = field(default_factory=Record)

    schema: ClassVar[str] = "steinball.comparison/1"

    @property
    def closest(self) -> str | None:
        """The model that is closer than every other one, where that is shown."""
        wins = [pair.closer for pair in self.pairs]
        return next((name for name in self.names if wins.count(name) == len(self.names) - 1), None)

    def at(self, *, contamination: float | None = None, level: float | None = None) -> ComparisonResult:
        """The decisions at another tolerance or level, from the same preferences: nothing is recomputed."""
        share = self.contamination if contamination is None else check_contamination(contamination)
        level = self.level if level is None else check_level(level)
        return replace(self, pairs=tuple(decide_pairs(self.pairs, share, level)), contamination=share, level=level)

    def _called(self, call: str, names: tuple[str, ...]) -> ComparisonResult:
        """The same result, made by this call about columns of these names."""
        return replace(self, _record=replace(self._record, call=call, names=names))

    # In words.

    @property
    def title(self) -> str:
        """What was compared."""
        return f"Comparison of {count(len(self.names), 'model')}"

    def sentence(self) -> str:
        """What is shown, in words."""
        return f"{self._headline()} at level {self.level:g}. {self._words()}"

    def rows(self) -> list[Row]:
        """The table of the summary."""
        rows: list[Row] = [("data", f"{count(self.n, 'row')} in {count(self.dimension, 'dimension')}")]
        rows += [("tolerated", f"{percent(self.contamination)} of the rows may be anything")]
        rows += [(f"model {name}", self._known_by(name)) for name in self.names]
        return rows + [(f"{pair.first}, {pair.second}", *_told(pair)) for pair in self.pairs]

    def _headline(self) -> str:
        return "DIFFERENCE SHOWN" if any(pair.closer for pair in self.pairs) else "NO DIFFERENCE SHOWN"

    def _brief(self) -> tuple[list[str], list[str]]:
        first = sorted(self.pairs, key=lambda pair: pair.pvalue)[:_SHOWN]
        numbers = [f"{pair.first}, {pair.second}: {_interval(pair)}, p-value {short(pair.pvalue)}" for pair in first]
        more = len(self.pairs) - len(first)
        return [self._words()], [*numbers, *[count(more, "further pair")] * bool(more)]

    def _words(self) -> str:
        """What is shown, for whom it holds, and what was fitted."""
        tolerated = f", even if up to {percent(self.contamination)} of them may be anything" * (self.contamination > 0)
        found = [pair for pair in self.pairs if pair.closer]
        if self.closest is not None:
            others = [name for name in self.names if name != self.closest]
            words = [f"The {count(self.n, 'row')} are closer to {self.closest} than to {_listed(others)}{tolerated}."]
        elif found:
            beaten: dict[str, list[str]] = {name: [] for name in self.names}
            for pair in found:
                beaten[pair.second if pair.closer == pair.first else pair.first].append(str(pair.closer))
            claims = [f"to {_listed(winners)} than to {name}" for name, winners in beaten.items() if winners]
            words = [f"The {count(self.n, 'row')} are closer {_listed(claims)}{tolerated}; the other pairs stay open."]
        else:
            tolerated = tolerated.replace("even ", "")
            words = [f"The {count(self.n, 'row')} do not show which of {_listed(self.names)} is closer{tolerated}."]
        if self.fitted:
            told = f"{_listed(list(self.fitted))} {'was' if len(self.fitted) == 1 else 'were'} fitted"
            words += [f"{told} on {count(self.fitted_on, 'other row')}."]
        return " ".join([*words, NOT_CLOSE] if found else words)

    def _known_by(self, name: str) -> str:
        params = ", ".join(f"{key} {number(value)}" for key, value in self.fitted.get(name, {}).items())
        known = f"{count(self.draws[name])} draws" if self.draws[name] else "closed form"
        return f"{known}, fitted on {count(self.fitted_on, 'other row')}: {params}" if params else known

    def __repr__(self) -> str:
        shown = ", ".join(f"{pair.first}/{pair.second}: {pair.closer}" for pair in self.pairs)
        return f"ComparisonResult(n={self.n}, contamination={self.contamination:g}, closer={{{shown}}})"

    def __bool__(self) -> bool:
        raise TypeError("a comparison has no truth value: use `result.closest` or `result.pairs`.")

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary for JSON. Its ``schema`` is raised when fields change (``docs/developer/results.md``)."""
        models = [{"name": name, "draws": self.draws[name], "fitted": self.fitted.get(name)} for name in self.names]
        told: dict[str, Any] = {"closest": self.closest, "contamination": self.contamination, "level": self.level}
        told |= {"n": self.n, "dimension": self.dimension, "fitted_on": self.fitted_on, "models": models}
        columns = {"columns": list(self._record.names)} if self._record.names else {}
        return {"schema": self.schema, **told, "pairs": [_plain(pair) for pair in self.pairs], **columns}

    # Pictures and a page.

    def plot(self, kind: str | Path = "overview", ax: Any = None) -> Any:
        """A picture, by matplotlib (``pip install 'steinball[plot]'``).

        Parameters
        ----------
        kind : {"overview", "preference", "intervals"}
            The preference g at the rows for the most decided pair; the interval of every pair; or both, side by side.
            A name that ends in .png, .pdf or .svg means both in that file.
        ax : axes, a pair of them for the overview, or the name of a file; optional
            Where to draw; by default in a new figure.
        """
        from steinball.show.pictures import plot_comparison

        return plot_comparison(self, kind, ax)

    def report(self, path: str | Path, *, title: str = "") -> Path:
        """Write one page of HTML to hand over: what is shown, both pictures, every pair, and how it was computed.

        Nothing is loaded from anywhere, and at most 2,000 of the rows are in it.
        """
        from steinball.show.page import write_comparison

        return write_comparison(self, path, title)


def _interval(pair: Comparison) -> str:
    low, high = pair.interval
    return f"[{short(low)}, {short(high)}]"


def _told(pair: Comparison) -> tuple[str, str]:
    decided = f"{pair.closer} is closer" if pair.closer else "no difference shown"
    return _interval(pair), f"{decided}, p-value {short(pair.pvalue)}"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _plain(pair: Comparison) -> dict[str, Any]:
    told, ends = {name: vars(pair)[name] for name in ("first", "second", "closer", "pvalue")}, pair.extremes
    told |= {"difference": pair.mean, "error": pair.error, "interval": list(pair.interval)}
    return told | {"preference_range": [ends.lowest, ends.highest], "range_by": ends.kind}
