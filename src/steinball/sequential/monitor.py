"""A monitor of a feed: it raises an alarm when the rows follow the model no longer, and goes on."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np

from steinball.arrays import Floats, as_number, check_share, to_host
from steinball.sequential import state_file
from steinball.sequential.detector import Detector
from steinball.sequential.plan import as_rows, columns_of
from steinball.sequential.wealth import WealthPath
from steinball.text import Row, card, count, number, percent, render

KEPT_ALARMS = 100
_TITLE = "Monitor of a feed"
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


class Monitor:
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

    def __init__(self, model: Any, contamination: float, expected_run: float = 10_000) -> None:
        self.contamination = check_share(contamination, "contamination")
        self.expected_run = as_number(expected_run, "expected_run", low=1.0, open_low=True)
        self._columns, self._dimension = columns_of(model)
        self._detector: Detector | None = None
        self._path, self._first = WealthPath(), (np.empty((0, 0)), np.empty((0, 0)))
        self.n = self.n_alarms = 0
        self.alarms: list[Alarm] = []
        self.last_wealth: Floats = np.empty(0)

    @property
    def wealth(self) -> float:
        """M̄ after the last row."""
        return 0.0 if self._detector is None else float(self._detector.wealth.mean())

    @property
    def history(self) -> tuple[Any, Floats]:
        """Numbers of rows and log M̄ there, at most 512 of them, evenly spaced."""
        return self._path.n.copy(), self._path.log_wealth.copy()

    def update(self, rows: Any) -> list[Alarm]:
        """Take in the next rows, in their order, and return the alarms that they raise.

        Parameters
        ----------
        rows : array
            (m, d); (m,) are m rows of one column, or one row where there are more columns. How a feed is cut into
            batches changes nothing beyond rounding. After an error nothing has been taken in.
        """
        samples = to_host(as_rows(rows, "rows", self._dimension))
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

    def summary(self) -> str:
        """The state of the monitor for people."""
        rows, sentence = self._shown()
        return render(_TITLE, rows, sentence)

    def _shown(self) -> tuple[list[Row], str]:
        evidence = f"{number(self.wealth)} of {count(self.expected_run)}"
        words = "NO ALARM so far: the rows do not contradict"
        if self.alarms:
            words = f"ALARM at row {self.alarms[-1].row}, {count(self.n_alarms)} so far: the rows contradict"
        words += f" the model, even if up to {percent(self.contamination)} of them may be anything."
        return [("data", count(self.n, "row")), ("evidence", evidence)], words

    def plot(self, ax: Any = None) -> Any:
        """The evidence over time, by matplotlib (``pip install 'steinball[plot]'``), in ``ax``, a new figure or a file.

        ``ax`` is axes, ``None``, or the name of a file.
        """
        from steinball.show.further import draw_alarms
        from steinball.show.pictures import draw_into

        alarms = [alarm.row for alarm in self.alarms]
        return draw_into(ax, lambda ax: draw_alarms(*self.history, self.expected_run, alarms, ax))

    def report(self, path: Any, *, title: str = "") -> Any:
        """Write one page of HTML to hand over: whether there was an alarm, the evidence over time, the last alarms."""
        from steinball.show.monitor import write_monitor

        return write_monitor(self, path, title)

    def _repr_html_(self) -> str:
        rows, sentence = self._shown()
        word = "ALARM" if self.alarms else "NO ALARM"
        return card(word, _TITLE, sentence.removeprefix(word).strip(), rows)

    def __repr__(self) -> str:
        return f"Monitor(n={self.n}, wealth={number(self.wealth)}, n_alarms={self.n_alarms})"

    def save(self, path: Any) -> None:
        """Write the monitor to a file of arrays and one text of JSON (``.npz``); the model is not in it."""
        first = {"first.rows": self._first[0], "first.u": self._first[1]}
        facts = {name: vars(self)[name] for name in _SAVED}
        state_file.write(path, "Monitor", facts, state_file.collect(self._parts()) | first)

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
        facts, arrays = state_file.read(path, "Monitor")
        monitor = cls(model, facts["contamination"], facts["expected_run"])
        if facts["n"]:
            rows, saved, drawn = arrays["first.rows"], arrays["first.u"], "columns.knots" in arrays
            alike = drawn == bool(monitor._columns.state) and monitor._dimension in (None, rows.shape[1])
            u = monitor._columns(rows) if alike else np.empty(0)
            state_file.compare(u, saved, "`model`", _NEAR if drawn else 1e-6)
            monitor._first, monitor._detector = (rows, saved), monitor._start(u.shape[1])
            state_file.fill(monitor._parts(), arrays)
        vars(monitor).update({name: facts[name] for name in _SAVED})
        monitor.alarms = [Alarm(*alarm) for alarm in facts["alarms"]]
        return monitor
