"""A goodness-of-fit test of a stream: look at it after every point, stop when you like."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Array, Floats, as_samples, as_seed, is_array, is_array_like, lent, like, to_host
from steinball.explain.tolerance import conceding
from steinball.kernels.base import Kernel
from steinball.models.base import Model, evaluate_score, model_at
from steinball.models.base_space import bring_stream
from steinball.models.knowledge import Knowledge
from steinball.results.base import OF_DISTRIBUTION, decided, tolerated
from steinball.sequential import checkpoint
from steinball.sequential.books import Books, compare
from steinball.sequential.ledger import History
from steinball.sequential.plan import Plan, Settled
from steinball.text import Row, card, count, number, render
from steinball.tilts import Tilt

_TITLE = "Sequential kernel Stein goodness-of-fit test"


class SequentialTest:
    r"""Test a stream of points against a model by betting, with a wealth that may be looked at after every point

    .. math:: W_n = \prod_{t \le n} \big( 1 + \lambda_t (f_t(X_t) - \theta) \big), \qquad
       p_n = \min\Big(1, \frac{1}{\max_{t \le n} W_t}\Big), \qquad f_t, \lambda_t \text{ from the past alone.}

    Parameters
    ----------
    model : Model or callable
        With a score that can be evaluated anywhere.
    kernel : Kernel, sequence of kernels, or None
        Fixed before the stream. Of several kernels the wealths are averaged, each against its own radius. By default
        the inverse multiquadric at the median distance of the ``burn_in`` points, or without them of the model's draws.
    tilt : Tilt, "auto" or None
        ``"auto"`` takes center and scale from the model, or where it knows neither from the ``burn_in`` points.
    tau : "auto", float, or one float per kernel
        An upper bound of u(x, x); a point above it is an error.
    contamination, radius : float
        One of them: the tolerated share ε₀, θ = ε₀√τ; or θ itself, with one kernel.
    level : float
        The level α of ``rejected``.
    budget : int
        Number of kept points. Up to it the direction is that of all points so far, beyond it its projection on the kept
        ones. Memory: 2·budget points and budget² numbers for each kernel. Time for a point: budget·(budget + d).
    burn_in : int
        That many first points are not bet on: they choose kernel and tilt where these are not given, and are the first
        to show a direction.
    strategy : {"mixture", "newton"}
        How much is bet, as in :class:`steinball.calibration.Betting`.
    rng : None, int, SeedSequence or Generator
        For the sample of the past that renews the kept points.

    Attributes
    ----------
    n : int
        Points so far.
    rejected_at : int or None
        The point at which the wealth first reached 1/level.

    Notes
    -----
    Proved (``docs/theory/betting.md``): if each point, given the past, has a distribution within the ball, the chance
    that ``rejected`` ever becomes true is at most ``level``, whenever the stream is stopped and whatever the budget.
    ``contamination_bound`` and ``lower_bound`` hold likewise, at all times at once, where all points have one
    distribution. Only simulated: power, and what a budget costs of it (``docs/sequential.md``). Computed on the host in
    float64.

    Examples
    --------
    >>> import steinball as sb
    >>> rng = np.random.default_rng(0)
    >>> kernel, tilt = sb.kernels.InverseMultiquadric(1.0), sb.tilts.PolynomialTilt()
    >>> test = SequentialTest(sb.models.Gaussian(), kernel=kernel, tilt=tilt, tau=1.7, contamination=0.05)
    >>> test.update(rng.normal(size=100)).rejected
    False
    >>> test.update(rng.normal(2.0, size=100)).rejected, test.n
    (True, 200)
    """

    def __init__(
        self,
        model: Any,
        *,
        kernel: Kernel | Sequence[Kernel] | None = None,
        tilt: Tilt | str | None = "auto",
        tau: Any = "auto",
        contamination: float | None = None,
        radius: float | None = None,
        level: float = 0.05,
        budget: int = 500,
        burn_in: int = 0,
        strategy: str = "mixture",
        rng: Any = None,
    ) -> None:
        if is_array_like(model):
            raise TypeError("`model` must have a score for points still to come: pass a score function, not an array.")
        options = {"level": level, "budget": budget, "burn_in": burn_in, "strategy": strategy}
        if radius is not None and Knowledge(model).base_map is not None:
            raise ValueError("`radius` is a distance, which means nothing in base space; give `contamination`.")
        self._model = model
        self._plan = Plan.of(kernel, tilt, tau, contamination, radius, **options)
        self._rng = np.random.Generator(np.random.PCG64(as_seed(rng)))
        self._dimension = Knowledge(model).dimension
        self._waiting: tuple[Floats, Floats] | None = None
        self._books: Books | None = None
        self._unchecked = False

    # What the stream has shown.

    @property
    def n(self) -> int:
        """Points so far, those of the burn-in among them."""
        if self._books is not None:
            return self._books.n
        return 0 if self._waiting is None else len(self._waiting[0])

    @property
    def level(self) -> float:
        """The level α."""
        return self._plan.level

    @property
    def log_evalue(self) -> float:
        """log W_n."""
        return 0.0 if self._books is None else float(self._books.ledger.now[0])

    @property
    def evalue(self) -> float:
        """W_n, the wealth after the last point: what a bettor has made of 1. Infinite beyond the largest float."""
        return math.exp(self.log_evalue) if self.log_evalue < 709.0 else math.inf

    @property
    def pvalue(self) -> float:
        """1/max W so far: it never rises, and may be looked at any time."""
        return 1.0 if self._books is None else math.exp(-float(self._books.ledger.best[0]))

    @property
    def rejected(self) -> bool:
        """Whether the wealth has ever reached 1/level."""
        return self.pvalue <= self.level

    @property
    def rejected_at(self) -> int | None:
        """The point at which the wealth first reached 1/level."""
        return None if self._books is None else self._books.rejected_at

    @property
    def contamination_bound(self) -> float:
        """At confidence 1 − level, at least this share of the distribution is contaminated, at all times at once."""
        return 0.0 if self._books is None else self._books.ledger.rejected_share(self.level)

    @property
    def lower_bound(self) -> float:
        """The same as a bound on D(Q, P), with one kernel."""
        return 0.0 if self._books is None else self.contamination_bound * math.sqrt(_only(self.tau, "lower_bound"))

    @property
    def ksd(self) -> float:
        """D of the points so far, with one kernel; beyond the budget of its projection, which is not larger."""
        if self._books is None:
            return math.nan
        lengths = np.array([direction.length() for direction in self._books.directions])
        return _only(_plain(lengths), "ksd") / self.n

    @property
    def history(self) -> tuple[NDArray[np.int64], Floats]:
        """Numbers of points and log W there, at most 512 of them, evenly spaced."""
        history = History() if self._books is None else self._books.history
        return history.n.copy(), history.log_wealth.copy()

    @property
    def kernel(self) -> Any:
        """The kernel, or a tuple of them; ``None`` until it is chosen."""
        kernels = self._plan.kernels if self._books is None else self._books.settled.kernels
        return kernels[0] if kernels is not None and len(kernels) == 1 else kernels

    @property
    def tilt(self) -> Any:
        """The tilt; ``"auto"`` until it is chosen."""
        return self._plan.tilt if self._books is None else self._books.settled.tilt

    @property
    def tau(self) -> Any:
        """τ, an array where there are several kernels; NaN until it is known."""
        return math.nan if self._books is None else _plain(self._books.settled.taus)

    @property
    def radius(self) -> Any:
        """θ, an array where there are several kernels; NaN until it is known."""
        return math.nan if self._books is None else _plain(self._books.settled.radii)

    def summary(self) -> str:
        """The state of the test for people: a table, and the decision in words."""
        return render(_TITLE, *self._shown())

    def _shown(self) -> tuple[list[Row], str]:
        where = f"at point {self.rejected_at}" if self.rejected else "so far"
        tolerance = tolerated(self._plan.contamination, self._plan.radius or 0.0)
        rows: list[Row] = [
            ("data", count(self.n, "point")),
            ("wealth", number(self.evalue), "what a bettor has made of 1"),
            ("p-value", number(self.pvalue), "1 over the largest wealth; valid whenever you stop"),
        ]
        words = decided(self.rejected, f"{where}, at level {self.level:g}", tolerance)
        concession = conceding(self.contamination_bound, self.level, OF_DISTRIBUTION)
        return rows, f"{words}\n{concession}".rstrip()

    def plot(self, ax: Any = None) -> Any:
        """The wealth over time, by matplotlib (``pip install 'steinball[plot]'``), in ``ax`` or in a new figure."""
        from steinball.show.further import draw_wealth

        return draw_wealth(*self.history, self.level, self.rejected_at, ax)

    def _repr_html_(self) -> str:
        rows, sentence = self._shown()
        word = "REJECTED" if self.rejected else "NOT REJECTED"
        return card(word, _TITLE, sentence.removeprefix(word).strip(), rows)

    def __repr__(self) -> str:
        state = f"n={self.n}, evalue={number(self.evalue)}, pvalue={number(self.pvalue)}, rejected={self.rejected}"
        return f"SequentialTest({state})"

    # What comes in.

    def update(self, batch: Any) -> SequentialTest:
        """Take in the next points, in their order, and return the test itself.

        Parameters
        ----------
        batch : array
            Rows (m, d); (m,) are m points of one dimension, or one point where the dimension is known to be larger. How
            a stream is cut into batches changes nothing beyond rounding. After an error nothing has been taken in.
        """
        rows = self._as_rows(batch)
        if rows.shape[0] == 0:
            return self
        model = model_at(self._model, rows)
        rows = bring_stream(rows, model)
        self._check_model(model, rows)
        samples, scores = to_host(lent(rows)), to_host(evaluate_score(model, rows))  # a buffer may be used again
        if self._books is None:
            self._wait(model, samples, scores)
        else:
            self._books.check(samples, scores)
            self._books.advance(samples, scores)
        self._dimension = samples.shape[1]
        return self

    def _as_rows(self, batch: Any) -> Array:
        one = isinstance(batch, Number) or (is_array(batch) and batch.ndim == 0)
        rows, d = as_samples([batch] if one else batch, "batch", least=0), self._dimension
        shape = tuple(np.shape(batch))
        if d is not None and d > 1 and shape == (d,):
            rows = rows.reshape((1, d))
        if d is not None and rows.shape[1] != d:
            raise ValueError(f"`batch` must have {d} columns, got shape {shape}.")
        return rows

    def _wait(self, model: Model, samples: Floats, scores: Floats) -> None:
        """Collect the burn-in; once it is there, choose what is open and go on with the rest."""
        if self._waiting is not None:
            samples, scores = (np.concatenate(pair) for pair in zip(self._waiting, (samples, scores), strict=True))
        cut = self._plan.burn_in
        if len(samples) < cut:
            self._waiting = (samples, scores)
            return
        books = Books.open(self._plan, self._plan.settle(model, samples[:cut], samples.shape[1]), samples[0], self._rng)
        books.check(samples, scores)
        books.advance(samples[:cut], scores[:cut], bet=False)
        books.advance(samples[cut:], scores[cut:])
        self._books, self._waiting = books, None

    # A plain file.

    def save(self, path: Any) -> None:
        """Write the test to a file of arrays and one text of JSON (``.npz``); the model is not in it."""
        books, plan = self._books, self._plan
        kernels, tilt = (plan.kernels, plan.tilt) if books is None else (books.settled.kernels, books.settled.tilt)
        facts = {
            "level": plan.level, "budget": plan.budget, "burn_in": plan.burn_in, "strategy": plan.strategy,
            "contamination": plan.contamination, "radius": plan.radius, "tau": plan.tau,
            "kernel": None if kernels is None else [checkpoint.describe(kernel) for kernel in kernels],
            "tilt": tilt if tilt is None or isinstance(tilt, str) else checkpoint.describe(tilt),
            "dimension": self._dimension, "rng": self._rng.bit_generator.state, "rejected_at": self.rejected_at,
            "share": None if books is None else books.settled.share,
        }  # fmt: skip
        arrays = {} if books is None else {**books.state(), "taus": books.settled.taus}
        if self._waiting is not None:
            arrays |= {"waiting.samples": self._waiting[0], "waiting.scores": self._waiting[1]}
        checkpoint.write(path, facts, arrays)

    @classmethod
    def restore(cls, path: Any, model: Any, *, kernel: Any = None, tilt: Any = None) -> SequentialTest:
        """The test that :meth:`save` wrote, going on as if it had never stopped.

        Parameters
        ----------
        path : path
        model : Model or callable
            The same model: its scores are compared with the saved ones at the kept points, and another is refused.
        kernel, tilt
            Only where they are not of this library; compared likewise.
        """
        facts, arrays = checkpoint.read(path)
        names = ("tau", "contamination", "radius", "level", "budget", "burn_in", "strategy")
        kernel = checkpoint.recall(facts["kernel"], kernel, "kernel")
        tilt = checkpoint.recall(facts["tilt"], tilt, "tilt")
        test = cls(model, kernel=kernel, tilt=tilt, **{name: facts[name] for name in names})
        test._rng.bit_generator.state = facts["rng"]
        test._dimension = facts["dimension"]
        test._refill(facts, arrays)
        return test

    def _refill(self, facts: dict[str, Any], arrays: dict[str, Any]) -> None:
        if "waiting.samples" in arrays:
            self._waiting = (arrays["waiting.samples"], arrays["waiting.scores"])
        if facts["share"] is not None:
            tilt: Any = self._plan.tilt
            settled = Settled(self._plan.kernels or (), tilt, arrays["taus"], facts["share"])
            self._books = Books.open(self._plan, settled, arrays["kept.center"], self._rng)
            self._books.load(arrays)
            self._books.rejected_at = facts["rejected_at"]
        self._unchecked = self.n > 0
        if self._unchecked:
            self._check_at_once()

    def _check_at_once(self) -> None:
        """A model that takes NumPy arrays is compared now, any other with the next batch."""
        samples, _ = self._remembered()
        model = model_at(self._model, samples)
        try:
            evaluate_score(model, samples)
        except Exception:  # whatever a score of another array library raises
            return
        self._check_model(model, samples)

    def _check_model(self, model: Model, rows: Array) -> None:
        if self._unchecked:
            samples, scores = self._remembered()
            compare(to_host(evaluate_score(model, like(samples, rows))), scores, "`model`")
            self._unchecked = False

    def _remembered(self) -> tuple[Floats, Floats]:
        if self._waiting is not None:
            return self._waiting
        assert self._books is not None
        return self._books.kept.samples, self._books.kept.scores


def _plain(values: Floats) -> Any:
    return float(values[0]) if values.size == 1 else values.copy()


def _only(value: Any, name: str) -> float:
    if not isinstance(value, float):
        raise ValueError(f"`{name}` has no single value for several kernels; see `contamination_bound`.")
    return value
