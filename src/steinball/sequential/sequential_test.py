"""A goodness-of-fit test of a stream: look at it after every point, stop when you like."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import steinball.arrays as arrays
from steinball.arrays import Array, Floats
from steinball.explain.tolerance import conceding
from steinball.kernels.base import Kernel
from steinball.models.base import Model, evaluate_score, model_at
from steinball.models.base_space import bring_stream
from steinball.models.knowledge import Knowledge
from steinball.models.standardized import Standardization
from steinball.problem import Problem
from steinball.rows import Rows, in_no_coordinates
from steinball.sequential import stream
from steinball.sequential.bettor import Bettor, Direction, KeptPoints, WealthByShare
from steinball.stein import SteinKernel
from steinball.tau.supremum import find_supremum
from steinball.text import OF_DISTRIBUTION, Row, count, decided, number, tolerated
from steinball.tilts import Tilt

DRAWS = 512
"""Draws of the model among which τ is first looked for."""

_SAVED = ("n", "rejected_at", "_dimension")
_PLAN = ("_kernel", "_tilt", "_tau", "contamination", "level", "budget", "burn_in")
_MOVE = ("center", "root", "inverse")


def moved(points: Floats, move: Any) -> Floats:
    """Points (n, 2, d) in standardized coordinates, where there is a move into these."""
    return points if move is None else np.stack([move(points[:, 0]), move.pulled(points[:, 1])], axis=1)


def _bound(tau: str, model: Model, points: Floats, stein: SteinKernel) -> float:
    """τ by a search that begins at points."""
    found = find_supremum(tau, Problem.at_scores(stein, model, points, evaluate_score(model, points)))
    if not found.is_upper_bound:
        raise ValueError(
            f'`tau={tau!r}` found no upper bound of u(x, x) for this model, only a value of kind "{found.kind}" '
            f"({found.value:g}). Betting needs a bound: give a number."
        )
    return found.value


def _as_kernels(kernel: Any) -> tuple[Kernel, ...] | None:
    if kernel is None:
        return None
    kernels = tuple(kernel) if isinstance(kernel, Sequence) else (kernel,)
    for each in kernels or (kernel,):
        arrays.check_kind(each, Kernel, "kernel", "a kernel of `steinball.kernels`, several of them, or None")
    return kernels


def _as_tau(tau: Any, kernels: int) -> Any:
    if isinstance(tau, str):
        return tau
    values = [arrays.as_number(value, "tau", low=0.0, open_low=True) for value in arrays.as_numbers(tau, "tau").ravel()]
    if len(values) not in (1, kernels):
        raise ValueError(f"`tau` must be one number or one per kernel, {kernels}, got {len(values)}.")
    return tuple(values)


class SequentialTest(stream.Stream):
    r"""Test a stream of points against a model by betting, with a wealth that may be looked at after every point

    .. math:: W_n = \prod_{t \le n} \big( 1 + \lambda_t (f_t(X_t) - \theta) \big), \qquad
       p_n = \min\Big(1, \frac{1}{\max_{t \le n} W_t}\Big), \qquad f_t, \lambda_t \text{ from the past alone.}

    Parameters
    ----------
    model : Model or callable
        With a score that can be evaluated anywhere.
    kernel : Kernel, sequence of kernels, or None
        Fixed before the stream. Of several kernels the wealths are averaged, each against its own radius. By default
        the inverse multiquadric at the median distance of N(0, I), in standardized coordinates; without these at that
        of the ``burn_in`` points, or of the model's draws.
    tilt : Tilt, "auto" or None
        ``"auto"`` takes center and scale from the model, or where it knows neither from the ``burn_in`` points.
    tau : "auto", float, or one float per kernel
        An upper bound of u(x, x); a point above it is an error.
    contamination : float
        The tolerated share ε₀; θ = ε₀√τ.
    level : float
        The level α of ``rejected``.
    budget : int
        Number of kept points. Up to it the direction is that of all points so far, beyond it its projection on the kept
        ones. Memory: 2·budget points and budget² numbers for each kernel. Time for a point: budget·(budget + d).
    burn_in : int
        That many first points are not bet on: they choose kernel and tilt where these are not given, and are the first
        to show a direction.
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
    Points are tested in standardized coordinates, as in :func:`steinball.ksd_test`: by the model's covariance or draws,
    or where it has neither by the ``burn_in`` points. A kernel, a tilt or a number for ``tau`` is about the coordinates
    of the data, which are kept then. Bets are the mixture of :class:`steinball.calibration.Betting`.

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

    title = "Sequential kernel Stein goodness-of-fit test"

    def __init__(
        self,
        model: Any,
        *,
        kernel: Any = None,
        tilt: Any = "auto",
        tau: Any = "auto",
        contamination: float,
        level: float = 0.05,
        budget: int = 500,
        burn_in: int = 0,
        rng: Any = None,
    ) -> None:
        if not Knowledge(model).evaluable or arrays.is_array_like(model):
            raise TypeError("`model` must have a score for points still to come: pass a score function, not an array.")
        self._model, self._dimension = model, Knowledge(model).dimension
        if not (isinstance(tilt, str) and tilt == "auto"):
            arrays.check_kind(tilt, (Tilt, type(None)), "tilt", 'a tilt of `steinball.tilts`, "auto" or None')
        self._kernel, self._tilt = _as_kernels(kernel), tilt
        self._tau = _as_tau(tau, len(self._kernel or (None,)))
        self.contamination, self.level = arrays.check_share(contamination, "contamination"), arrays.check_level(level)
        self.budget = arrays.check_resamples(budget, "budget")
        self.burn_in = arrays.check_resamples(burn_in, "burn_in", least=0)
        self._rng = np.random.Generator(np.random.PCG64(arrays.as_seed(rng)))
        self._waiting: Floats | None = None
        self._bettor: Bettor | None = None
        self._move: Standardization | None = None
        self._path, self._unchecked, self.n = stream.WealthPath(), False, 0
        self.rejected_at: int | None = None

    # What the stream has shown.

    @property
    def _wealth(self) -> WealthByShare:
        return WealthByShare.start(0.0, 1) if self._bettor is None else self._bettor.wealth

    @property
    def log_evalue(self) -> float:
        """log W_n."""
        return float(self._wealth.now[0])

    @property
    def evalue(self) -> float:
        """W_n, the wealth after the last point: what a bettor has made of 1. Infinite beyond the largest float."""
        return math.exp(self.log_evalue) if self.log_evalue < 709.0 else math.inf

    @property
    def pvalue(self) -> float:
        """1/max W so far: it never rises, and may be looked at any time."""
        return math.exp(-float(self._wealth.best[0]))

    @property
    def rejected(self) -> bool:
        """Whether the wealth has ever reached 1/level."""
        return self.pvalue <= self.level

    @property
    def contamination_bound(self) -> float:
        """At confidence 1 − level, at least this share of the distribution is contaminated, at all times at once."""
        wealth = self._wealth  # smaller shares than one that is rejected are, too
        return float(wealth.shares[np.exp(-wealth.best) <= self.level].max(initial=0.0))

    @property
    def lower_bound(self) -> float:
        """The same as a bound on D(Q, P), with one kernel."""
        tau = 0.0 if self._bettor is None else _one_or_all(self._bettor.taus, "lower_bound")
        return self.contamination_bound * math.sqrt(tau)

    @property
    def ksd(self) -> float:
        """The KSD of the points so far, with one kernel.

        Of more points than are kept it is the KSD of their projection on the kept ones, which is never larger.
        """
        if self._bettor is None:
            return math.nan
        squares = np.array([max(0.0, direction.square) for direction in self._bettor.directions])
        return float(_one_or_all(np.sqrt(squares), "ksd")) / self.n

    @property
    def tau(self) -> Any:
        """τ, an array where there are several kernels; NaN until it is known."""
        return math.nan if self._bettor is None else _one_or_all(self._bettor.taus)

    @property
    def radius(self) -> Any:
        """θ, an array where there are several kernels; NaN until it is known."""
        return math.nan if self._bettor is None else _one_or_all(self._wealth.shares[0] * np.sqrt(self._bettor.taus))

    def _summarized(self) -> tuple[str, list[Row], str]:
        where = f"at point {self.rejected_at}" if self.rejected else "so far"
        rows: list[Row] = [
            ("data", count(self.n, "point")),
            ("wealth", number(self.evalue), "what a bettor has made of 1"),
            ("p-value", number(self.pvalue), "1 over the largest wealth; valid whenever you stop"),
        ]
        words = decided(self.rejected, f"{where}, at level {self.level:g}", tolerated(self.contamination))
        conceded = conceding(self.contamination_bound, self.level, OF_DISTRIBUTION)
        return "REJECTED" if self.rejected else "NOT REJECTED", rows, f"{words}\n{conceded}".rstrip()

    def plot(self, ax: Any = None) -> Any:
        """The wealth over time, by matplotlib (``pip install 'steinball[plot]'``), in ``ax``, a new figure or a file.

        ``ax`` is axes, ``None``, or the name of a file.
        """
        from steinball.show.pictures import draw_into, draw_wealth

        return draw_into(ax, lambda ax: draw_wealth(*self.history, self.level, self.rejected_at, ax))

    def __repr__(self) -> str:
        numbers = f"evalue={number(self.evalue)}, pvalue={number(self.pvalue)}"
        return f"SequentialTest(n={self.n}, {numbers}, rejected={self.rejected})"

    # What comes in.

    def update(self, batch: Any) -> SequentialTest:
        """Take in the next points, in their order, and return the test itself.

        Parameters
        ----------
        batch : array
            Rows (m, d); (m,) are m points of one dimension, or one point where the dimension is known to be larger. How
            a stream is cut into batches changes nothing beyond rounding. After an error nothing has been taken in.
        """
        rows = stream.as_rows(batch, "batch", self._dimension)
        if rows.shape[0] == 0:
            return self
        model = model_at(self._model, rows)  # for arrays of the library of the rows
        there = bring_stream(rows, model)
        points = np.stack([arrays.to_host(part) for part in (there, evaluate_score(model, there))], axis=1)  # (m, 2, d)
        self._check_model(rows)
        if self._bettor is None:
            self._collect_burn_in(model, points)
        else:
            self._advance(self._bettor, moved(points, self._move))
        self._dimension = points.shape[2]
        return self

    def _collect_burn_in(self, model: Any, points: Floats) -> None:
        """Collect the points of the burn-in; once all are there, choose kernel, tilt and τ and bet on the others."""
        points, cut = points if self._waiting is None else np.concatenate([self._waiting, points]), self.burn_in
        if len(points) < cut:
            self._waiting, self.n = points, len(points)
            return
        steins, tau, move = self._choose(model, points[:cut, 0], points.shape[2])
        points = moved(points, move)
        self._advance(self._start(steins, tau, points[0, 0]), points, cut)
        self._kernel, self._tilt, self._tau = tuple(stein.kernel for stein in steins), steins[0].tilt, tau
        self._move, self._waiting = move, None

    def _choose(self, model: Model, burnt: Floats, dimension: int) -> tuple[list[SteinKernel], Any, Any]:
        """Kernels, tilt and τ by the model, or by points ``burnt`` (m, d) that are not bet on; and how points come into
        standardized coordinates, where they are tested there."""
        few = len(burnt) < 2
        subject = Rows(np.zeros((1, dimension)) if few else burnt, model, predictable=few)
        if in_no_coordinates(self._kernel, self._tilt, self._tau):
            subject = subject.standardized()
        move = subject.moves[0] if subject.moves else None
        first = subject.choose((self._kernel or (None,))[0], self._tilt)
        steins = [SteinKernel(kernel, first.tilt) for kernel in self._kernel or (first.kernel,)]
        if not isinstance(self._tau, str):
            return steins, self._tau, move
        known = Knowledge(subject.model)
        starts = (known.draws(DRAWS), None if few else subject.samples, known.location, np.zeros(dimension))
        points = next(np.atleast_2d(place) for place in starts if place is not None)
        return steins, tuple(_bound(self._tau, subject.model, points, stein) for stein in steins), move

    def _start(self, steins: list[SteinKernel], tau: Any, center: Floats) -> Bettor:
        """A bettor of wealth 1 without points."""
        taus, wealth = np.array(np.broadcast_to(tau, len(steins))), WealthByShare.start(self.contamination, len(steins))
        directions = [Direction(stein) for stein in steins]
        return Bettor(taus, KeptPoints.empty(self.budget, center), wealth, directions, self._rng)

    def _advance(self, bettor: Bettor, points: Floats, cut: int = 0) -> None:
        """Take in points, the first ``cut`` of them without a bet."""
        bettor.check(points)
        first = bettor.kept.seen + 1
        path = bettor.advance(points, cut)
        self._path.add(first, path)
        reached = np.flatnonzero(np.exp(-path) <= self.level)
        if self.rejected_at is None and reached.size:
            self.rejected_at = first + int(reached[0])
        self._bettor, self.n = bettor, bettor.kept.seen

    # A plain file.

    def save(self, path: Any) -> None:
        """Write the test to a file of arrays and one text of JSON (``.npz``); the model is not in it."""
        facts: dict[str, Any] = {name: vars(self)[name] for name in _SAVED}
        facts["plan"] = {name.removeprefix("_"): vars(self)[name] for name in _PLAN}
        facts["rng"] = self._rng.bit_generator.state
        held = stream.collect({"path": self._path}) | ({} if self._bettor is None else self._bettor.arrays())
        waiting = {} if self._waiting is None else {"waiting": self._waiting}
        move = {} if self._move is None else {f"move.{name}": vars(self._move)[name] for name in _MOVE}
        stream.write(path, "SequentialTest", facts, held | waiting | move)

    @classmethod
    def load(cls, path: Any, model: Any, *, kernel: Any = None, tilt: Any = None) -> SequentialTest:
        """The test that :meth:`save` wrote, going on as if it had never stopped.

        Parameters
        ----------
        path : path
        model : Model or callable
            The same model: its scores are compared with the saved ones at the kept points, and another is refused.
        kernel, tilt
            Only where they are not of this library; compared likewise.
        """
        facts, held = stream.read(path, "SequentialTest")
        own = {"kernel": kernel, "tilt": tilt}
        plan = {name: stream.recall(value, own.get(name), name) for name, value in facts["plan"].items()}
        test = cls(model, **plan)
        vars(test).update({name: facts[name] for name in _SAVED})
        test._rng.bit_generator.state, test._waiting = facts["rng"], held.get("waiting")
        stream.fill({"path": test._path}, held)
        if "kept.center" in held:
            steins = [SteinKernel(kernel, test._tilt) for kernel in test._kernel or ()]
            test._bettor = test._start(steins, test._tau, held["kept.center"])
            test._bettor.load(held)
        if "move.root" in held:
            test._move = Standardization(model, **{name: held[f"move.{name}"] for name in _MOVE})
        test._unchecked = test.n > 0
        test._check_model(None)
        return test

    def _check_model(self, rows: Array | None) -> None:
        """Compare the scores of a loaded test's model with the saved ones: at once, or with the next rows, where the
        model does not take NumPy arrays."""
        points = self._waiting if self._bettor is None else self._bettor.kept.points
        if not self._unchecked or points is None:
            return
        try:
            places = points[:, 0] if self._move is None else self._move.back(points[:, 0])
            template = places if rows is None else rows  # in whose array library scores are computed
            found = arrays.to_host(evaluate_score(model_at(self._model, template), arrays.like(places, template)))
        except Exception:  # whatever a score of another array library raises
            if rows is None:
                return
            raise
        stream.compare(found if self._move is None else self._move.pulled(found), points[:, 1], "`model`")
        self._unchecked = False


def _one_or_all(values: Floats, single: str = "") -> Any:
    """The value for one kernel, or those for several; refused for several where ``single`` names what has one value."""
    if values.size > 1 and single:
        raise ValueError(f"`{single}` has no single value for several kernels; see `contamination_bound`.")
    return float(values[0]) if values.size == 1 else values.copy()
