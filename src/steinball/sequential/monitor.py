"""A monitor of a feed: it raises an alarm when the rows follow the model no longer, and goes on."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy

from steinball.arrays import Floats, as_number, check_share, to_host
from steinball.models.base import source_of_draws
from steinball.models.knowledge import Knowledge
from steinball.sequential import stream
from steinball.text import Row, count, number, percent

SPANS: Floats = np.array([15.0, 50.0, 150.0])
"""Numbers of rows that directions look back on, by exponential weights."""

BETS: Floats = np.array([0.1, 0.25, 0.5])
"""λ: shares of the largest bet that cannot ruin."""

FREQUENCIES: Floats = np.arange(1.0, 7.0)
"""Of the cosines; the k-th has the weight 1/√k."""

TOGETHER = 128
"""Rows that are taken in at once: products of so many e-values stay far from the ends of the floats."""

_STEPS = 2.0 / (SPANS + 1.0)
_LAGS = np.arange(TOGETHER)[:, None] - np.arange(TOGETHER) - 1
_KEPT: Floats = (1.0 - _STEPS[:, None]) ** np.arange(TOGETHER)  # of a direction after so many rows, (spans, rows)
_ADDED: Floats = np.where(_LAGS < 0, 0.0, _STEPS[:, None, None] * (1.0 - _STEPS[:, None, None]) ** np.abs(_LAGS))
_KNOTS, _MISS = 512, 1e-3
_BETWEEN = 1.0 / np.cos(np.pi / 16.0)  # most that a cosine polynomial gains between the points of the grid


def cosines(u: Floats) -> Floats:
    r"""The features √(2/k) cos(kπu), k = 1, …, 6, of u in [0, 1]: (n, v) to (n, v, 6). Of a uniform u they have mean 0.

    Examples
    --------
    >>> cosines(np.array([[0.0]])).round(3)
    array([[[1.414, 1.   , 0.816, 0.707, 0.632, 0.577]]])
    """
    return np.asarray(np.sqrt(2.0 / FREQUENCIES) * np.cos(np.pi * u[..., None] * FREQUENCIES))


_GRID: Floats = cosines(np.linspace(0.0, 1.0, 8 * FREQUENCIES.size + 1))  # (49, 6)


@dataclass(eq=False)
class Detector:
    r"""The evidence of a feed against a model, for each column of u, span and bet λ

    .. math:: M_t = (1 + M_{t-1}) \Big( 1 + \lambda \frac{f_t(u_t) - (1 - \varepsilon) b_t - \varepsilon \sup f_t}
       {(1 - \varepsilon) b_t + \varepsilon \sup f_t - \inf f_t} \Big), \qquad f_t = \langle w_t, \varphi \rangle,

    with φ the :func:`cosines`, w_t the exponentially weighted mean of φ − center over the rows before t, and b_t an
    upper limit of E f_t under the model: ⟨w_t, center⟩ + Σ \|w_t\| reach, which is 0 where u is exactly uniform. When
    the mean of all M reaches ``threshold``, they start again from 0.

    ``directions`` is (spans, v, 6), ``wealth`` (spans, bets, v); ``columns`` has ``center`` (v, 6), ``reach`` (6,).
    """

    contamination: float
    threshold: float
    columns: ExactColumns | DrawnColumns
    directions: Floats
    wealth: Floats
    state: ClassVar = ("directions", "wealth")

    @classmethod
    def start(cls, contamination: float, threshold: float, columns: ExactColumns | DrawnColumns, v: int) -> Detector:
        """No direction and no evidence, for v ``columns`` u of rows."""
        directions, wealth = np.zeros((SPANS.size, v, FREQUENCIES.size)), np.zeros((SPANS.size, BETS.size, v))
        return cls(contamination, threshold, columns, directions, wealth)

    def advance(self, u: Floats) -> tuple[Floats, list[tuple[int, Floats]]]:
        """Take in rows u (n, v): the mean evidence after each, (n,); where it is enough, the row and evidence (v,)."""
        paths, alarms = [np.empty(0)], []
        for start in range(0, len(u), TOGETHER):
            features = cosines(u[start : start + TOGETHER])
            gains = self._gains(self._look_back(features), features)
            path, reached = self._accumulate(1.0 + BETS[:, None] * gains[:, :, None])
            paths.append(path)
            alarms += [(start + row, evidence) for row, evidence in reached]
        return np.concatenate(paths), alarms

    def _look_back(self, features: Floats) -> Floats:
        """The directions before each of the next rows, (spans, rows, v, 6), from their features (rows, v, 6)."""
        rows, centered = len(features), features - self.columns.center
        new = _ADDED[:, :rows, :rows] @ centered.reshape(rows, -1)
        directions = _KEPT[:, :rows, None, None] * self.directions[:, None] + new.reshape(SPANS.size, *features.shape)
        self.directions = directions[:, -1] + _STEPS[:, None, None] * (centered[-1] - directions[:, -1])
        return directions

    def _gains(self, directions: Floats, features: Floats) -> Floats:
        """(f − fair)/(fair − inf f) of each row, (rows, spans, v), with fair = (1 − ε)b + ε sup f."""
        lowest, highest = _range_of(directions)
        limit = (directions * self.columns.center).sum(axis=-1) + np.abs(directions) @ self.columns.reach
        fair = (1.0 - self.contamination) * np.minimum(limit, highest) + self.contamination * highest
        payoffs, room = np.einsum("srvk,rvk->srv", directions, features), fair - lowest
        return np.where(room > 0.0, (payoffs - fair) / np.where(room > 0.0, room, 1.0), 0.0).swapaxes(0, 1)

    def _accumulate(self, growth: Floats) -> tuple[Floats, list[tuple[int, Floats]]]:
        """Add e-values (rows, spans, bets, v): the mean evidence after each row, and the rows where it is enough."""
        path, reached, start = np.empty(len(growth)), [], 0
        while start < len(path):
            products = np.cumprod(growth[start:], axis=0)
            starts = np.cumsum(np.concatenate([np.ones_like(products[:1]), 1.0 / products[:-1]]), axis=0)
            wealth = products * (self.wealth + starts)
            means = wealth.mean(axis=(1, 2, 3))
            enough = np.flatnonzero(means >= self.threshold)
            last = int(enough[0]) if enough.size else len(means) - 1
            path[start : start + last + 1], self.wealth = means[: last + 1], wealth[last]
            if enough.size:
                reached.append((start + last, self.wealth.mean(axis=(0, 1))))
                self.wealth = np.zeros_like(self.wealth)
            start += last + 1
        return path, reached


def _range_of(directions: Floats) -> tuple[Floats, Floats]:
    r"""Bounds of inf and sup over u of ⟨w, φ(u)⟩ for w (..., 6), from a grid of spacing h.

    A cosine polynomial p of degree 6 about the middle c of its values there has |p − c| ≤ max over the grid /cos(3πh).
    """
    values = _GRID @ directions.reshape(-1, FREQUENCIES.size).T  # (49, …): extremes along the first axis are fast
    lowest, highest = (end.reshape(directions.shape[:-1]) for end in (values.min(axis=0), values.max(axis=0)))
    middle, half = (highest + lowest) / 2.0, (highest - lowest) / 2.0 * _BETWEEN
    return middle - half, middle + half


def _and_whole_row(z: Floats) -> Floats:
    """u = Φ(z) of each column, and of several columns also F(Σⱼ zⱼ²) with the distribution function of χ², (n, v)."""
    u, d = scipy.special.ndtr(z), z.shape[1]
    return np.asarray(u if d == 1 else np.column_stack([u, scipy.special.chdtr(d, np.sum(z * z, axis=1))]))


@dataclass(frozen=True, eq=False)
class ExactColumns:
    """Columns u of rows (n, d) for a model with a map ``to_base`` to standard normal noise: uniform under the model."""

    to_base: Callable[[Floats], Floats]
    center: ClassVar = np.zeros((1, FREQUENCIES.size))
    reach: ClassVar = np.zeros(FREQUENCIES.size)
    state: ClassVar[tuple[str, ...]] = ()

    def __call__(self, rows: Floats) -> Floats:
        """u (n, v), v = d + 1 for the whole row where there are several columns."""
        return _and_whole_row(self.to_base(rows))


@dataclass(frozen=True, eq=False)
class DrawnColumns:
    r"""Columns u of rows by the empirical distribution functions of a tenth of a model's draws. The other m draws give
    the means c of the features under the model, each within reach of the truth by Hoeffding's inequality,

    .. math:: r_k = \sqrt{2/k} \sqrt{2 \log(2 \cdot 6 v/\delta)/m}, \qquad \delta = .001 \text{ for all at once}.

    Examples
    --------
    >>> columns = DrawnColumns.from_draws(np.random.default_rng(0).normal(size=(20_000, 1)))
    >>> columns(np.array([[-9.0], [0.0], [9.0]])).round(1).ravel(), columns.reach.round(2)[0]
    (array([0. , 0.5, 1. ]), np.float64(0.05))
    """

    knots: Floats
    center: Floats
    reach: Floats
    state: ClassVar[tuple[str, ...]] = ("knots", "center", "reach")

    @classmethod
    def from_draws(cls, draws: Floats) -> DrawnColumns:
        """The columns of a model from independent draws (m, d)."""
        first, others = np.split(draws, [max(2, len(draws) // 10)])
        knots = np.quantile(first, np.arange(1, _KNOTS) / _KNOTS, axis=0)
        columns = cls(knots, np.empty(0), np.empty(0))
        sums = [cosines(columns(part)).sum(axis=0) for part in np.array_split(others, 20)]  # in little memory
        reach = np.sqrt(2.0 / FREQUENCIES * 2.0 * np.log(2.0 * sums[0].size / _MISS) / len(others))
        return cls(knots, np.sum(sums, axis=0) / len(others), reach)

    def __call__(self, rows: Floats) -> Floats:
        """u (n, v), v = d + 1 for the whole row where there are several columns."""
        pairs = zip(self.knots.T, rows.T, strict=True)
        ranks = [np.searchsorted(knots, column, side="right") for knots, column in pairs]
        return _and_whole_row(scipy.special.ndtri((np.stack(ranks, axis=1) + 0.5) / _KNOTS))


MONITOR_DRAWS = 50_000
"""Draws of a model without a distribution function that its monitor is made from."""


def columns_of(model: Any) -> tuple[ExactColumns | DrawnColumns, int | None]:
    """A map of rows (n, d) to columns in [0, 1] that are uniform under the model, by its own map to normal noise or
    else by its draws; and d, where it is known."""
    known = Knowledge(source_of_draws(model))
    if known.to_base is not None:
        return ExactColumns(known.to_base), known.dimension
    draws = known.needed_draws(MONITOR_DRAWS) if known.second_sample is None else known.second_sample
    return DrawnColumns.from_draws(draws), draws.shape[1]


KEPT_ALARMS = 100
_COMPARED, _NEAR = 8, 0.05  # u by draws differs a little from one set of draws to the next
_SAVED = ("contamination", "expected_run", "n", "n_alarms", "alarms", "_dimension")


class Alarm(NamedTuple):
    """Where a feed was found to follow the model no longer.

    Attributes
    ----------
    row : int
        Number of the row in the feed, from 1.
    wealth : float
        The evidence there, at least ``expected_run``.
    column : int or None
        The column with the most evidence, from 0; None where that is the size of the whole row.

    Examples
    --------
    >>> import steinball as sb
    >>> Monitor(sb.models.Gaussian(), 0.05, expected_run=100).update(np.full(12, 3.0))[0].row
    7
    """

    row: int
    wealth: float
    column: int | None


class Monitor(stream.Stream):
    r"""Watch a feed of rows against a model, of which a share of the rows may always be anything

    .. math:: \bar M_t = \text{mean of } M_t \text{ over columns, spans and bets } \lambda, \qquad M_t = (1 + M_{t-1})
       \Big( 1 + \lambda \frac{f_t(X_t) - \varepsilon \sup f_t}{\varepsilon \sup f_t - \inf f_t} \Big),

    with an alarm where M̄ reaches A, after which it starts again from 0; f_t is the direction in which the last 15, 50
    or 150 rows have left the model, in cosines of u = F(x) column by column.

    Parameters
    ----------
    model : object
        Whatever knows its distribution function or a map to normal noise (distributions of SciPy on the line,
        Gaussians, mixtures, flows), or else can be drawn from.
    contamination : float
        The tolerated share ε of the rows.
    expected_run : float
        A, the least expected number of rows to a false alarm.

    Attributes
    ----------
    n : int
        Rows so far.
    alarms : list of Alarm
        The last 100; ``n_alarms`` counts all.
    last_wealth : (m,) array
        M̄ after each of the m rows of the last update.

    Notes
    -----
    Proved (``docs/theory/monitor.md``): if each row, given the rows before it, is bad with probability at most ε and
    otherwise a draw of the model, the expected number of rows to an alarm is at least A, after each alarm again, and
    P(an alarm within n rows) ≤ n/A. Bad rows may answer to the rows before them; they may not come in bursts. A model
    that is known by 50,000 draws keeps this with probability .999 over its draws. Only simulated: how soon a change is
    found. What leaves every column (and the size of the row) as it was is not seen.

    Examples
    --------
    >>> import steinball as sb
    >>> rng = np.random.default_rng(0)
    >>> monitor = Monitor(sb.models.Gaussian(), contamination=0.05)
    >>> monitor.update(rng.normal(size=500))
    []
    >>> [alarm.row for alarm in monitor.update(rng.normal(1.0, 1.0, size=40))]
    [532]
    """

    title = "Monitor of a feed"

    def __init__(self, model: Any, contamination: float, expected_run: float = 10_000) -> None:
        self.contamination = check_share(contamination, "contamination")
        self.expected_run = as_number(expected_run, "expected_run", low=1.0, open_low=True)
        self._columns, self._dimension = columns_of(model)
        self._detector: Detector | None = None
        self._path, self._first = stream.WealthPath(), (np.empty((0, 0)), np.empty((0, 0)))
        self.n = self.n_alarms = 0
        self.alarms: list[Alarm] = []
        self.last_wealth: Floats = np.empty(0)

    @property
    def wealth(self) -> float:
        """M̄ after the last row."""
        return 0.0 if self._detector is None else float(self._detector.wealth.mean())

    def update(self, rows: Any) -> list[Alarm]:
        """Take in the next rows, in their order, and return the alarms that they raise.

        Parameters
        ----------
        rows : array
            (m, d); (m,) are m rows of one column, or one row where there are more columns. How a feed is cut into
            batches changes nothing beyond rounding. After an error nothing has been taken in.
        """
        samples = to_host(stream.as_rows(rows, "rows", self._dimension))
        if len(samples) == 0:
            return []
        u, d = self._columns(samples), samples.shape[1]
        if not ((u >= 0.0) & (u <= 1.0)).all():
            raise ValueError("`model` has no distribution function at some of these `rows`: none of them was taken in.")
        detector = copy.copy(self._detector) or self._start(u.shape[1])
        path, found = detector.advance(u)
        best = [(row, float(evidence.mean()), int(evidence.argmax())) for row, evidence in found]
        alarms = [Alarm(self.n + 1 + row, wealth, column if column < d else None) for row, wealth, column in best]
        self._path.add(self.n + 1, np.log(path))
        self.last_wealth = path
        self._first = self._first if self.n else (samples[:_COMPARED].copy(), u[:_COMPARED].copy())
        self._detector, self._dimension = detector, d
        self.n, self.n_alarms = self.n + len(samples), self.n_alarms + len(alarms)
        self.alarms = [*self.alarms, *alarms][-KEPT_ALARMS:]
        return alarms

    def _start(self, columns: int) -> Detector:
        return Detector.start(self.contamination, self.expected_run, self._columns, columns)

    def _summarized(self) -> tuple[str, list[Row], str]:
        evidence = f"{number(self.wealth)} of {count(self.expected_run)}"
        word, found = "NO ALARM", "so far: the rows do not contradict"
        if self.alarms:
            word, found = "ALARM", f"at row {self.alarms[-1].row}, {count(self.n_alarms)} so far: the rows contradict"
        sentence = f"{word} {found} the model, even if up to {percent(self.contamination)} of them may be anything."
        return word, [("data", count(self.n, "row")), ("evidence", evidence)], sentence

    def plot(self, ax: Any = None) -> Any:
        """The evidence over time, by matplotlib (``pip install 'steinball[plot]'``), in ``ax``, a new figure or a file.

        ``ax`` is axes, ``None``, or the name of a file.
        """
        from steinball.show.pictures import draw_alarms, draw_into

        alarms = [alarm.row for alarm in self.alarms]
        return draw_into(ax, lambda ax: draw_alarms(*self.history, self.expected_run, alarms, ax))

    def report(self, path: Any, *, title: str = "") -> Any:
        """Write one page of HTML to hand over: whether there was an alarm, the evidence over time, the last alarms."""
        from steinball.show.page import write_monitor

        return write_monitor(self, path, title)

    def __repr__(self) -> str:
        return f"Monitor(n={self.n}, wealth={number(self.wealth)}, n_alarms={self.n_alarms})"

    def save(self, path: Any) -> None:
        """Write the monitor to a file of arrays and one text of JSON (``.npz``); the model is not in it."""
        first = {"first.rows": self._first[0], "first.u": self._first[1]}
        facts = {name: vars(self)[name] for name in _SAVED}
        stream.write(path, "Monitor", facts, stream.collect(self._parts()) | first)

    def _parts(self) -> dict[str, Any]:
        detector = {} if self._detector is None else {"detector": self._detector}
        return {"path": self._path, "columns": self._columns, **detector}

    @classmethod
    def load(cls, path: Any, model: Any) -> Monitor:
        """The monitor that :meth:`save` wrote, going on as if it had never stopped.

        Parameters
        ----------
        path : path
        model : object
            The same model: its distribution function is compared with the saved one at the first rows, or its draws
            with the saved ones, and another is refused.
        """
        facts, arrays = stream.read(path, "Monitor")
        monitor = cls(model, facts["contamination"], facts["expected_run"])
        if facts["n"]:
            rows, saved, drawn = arrays["first.rows"], arrays["first.u"], "columns.knots" in arrays
            alike = drawn == bool(monitor._columns.state) and monitor._dimension in (None, rows.shape[1])
            u = monitor._columns(rows) if alike else np.empty(0)
            stream.compare(u, saved, "`model`", _NEAR if drawn else 1e-6)
            monitor._first, monitor._detector = (rows, saved), monitor._start(u.shape[1])
            stream.fill(monitor._parts(), arrays)
        vars(monitor).update({name: facts[name] for name in _SAVED})
        monitor.alarms = [Alarm(*alarm) for alarm in facts["alarms"]]
        return monitor
