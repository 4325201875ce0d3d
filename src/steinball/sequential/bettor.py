"""A bettor on a stream: the direction in which the past has left the model, from a bounded number of kept points."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy

from steinball.arrays import Floats
from steinball.calibration.betting import BETS, along_direction, average_evidence, relative_gains
from steinball.sequential.stream import collect, compare, fill
from steinball.stein import SteinKernel, SteinPoints

GRID: Floats = np.concatenate([np.linspace(0.0, 0.2, 51), np.linspace(0.22, 0.98, 39)])
"""The radii, as shares of √τ, that the lower confidence bound is looked for among."""


@dataclass(eq=False)
class WealthByShare:
    r"""Log wealth against the radii r√τ, r the tested share first and then a grid, for one or several kernels

    .. math:: W_t(r) = \frac1J \sum_j W_t^{(j)}(r), \qquad
       W_t^{(j)}(r) = \sum_c p_c \prod_{s \le t} \Big( 1 + c \frac{f_s^{(j)}(x_s)/\sqrt{\tau_j} - r}{1 + r} \Big),

    with the mixture's bets c and shares p. ``logs`` is (J, R, bets); ``best`` (R,) is the largest log W so far, ``now``
    (R,) the last.
    """

    shares: Floats
    logs: Floats
    best: Floats
    now: Floats
    state: ClassVar = ("logs", "best", "now")

    @classmethod
    def start(cls, share: float, kernels: int) -> WealthByShare:
        """Wealth 1 against every radius."""
        shares = np.concatenate([[share], GRID])
        nothing = np.zeros(shares.size)
        return cls(shares, np.zeros((kernels, shares.size, BETS.size)), nothing, nothing)

    def record(self, payoffs: Floats) -> Floats:
        """Add the payoffs (J, m) of the next points, each in units of its √τ; log W (m,) against the tested share."""
        growth = np.log1p(relative_gains(payoffs[:, :, None], self.shares, 1.0)[..., None] * BETS)  # (J, m, R, bets)
        paths = np.cumsum(np.concatenate([self.logs[:, None], growth], axis=1), axis=1)
        self.logs = paths[:, -1].copy()
        wealth = average_evidence(np.logaddexp.reduce(paths[:, 1:] + np.log(BETS / BETS.sum()), axis=-1))  # (m, R)
        self.best, self.now = np.maximum(self.best, wealth.max(axis=0)), wealth[-1]
        return np.asarray(wealth[:, 0])


TOGETHER = 64
"""Points that are taken in at once: they bound the memory of a step."""

_COMPARED, _JITTER = 8, 1e-8


@dataclass(eq=False)
class KeptPoints:
    """The points that a direction is made of, and a uniform sample of the past to take their place.

    The first ``budget`` points are kept. From then on a reservoir (Vitter 1985) holds as many points, each of the past
    equally likely; whenever the stream has doubled, the reservoir becomes the kept points. So late arrivals of a new
    kind are seen, too. All of it depends on the past alone. Points are (n, 2, d): samples, and scores.
    """

    budget: int
    points: Floats
    spare: Floats
    center: Floats
    seen: int = 0
    state: ClassVar = ("points", "spare", "center", "seen")

    @classmethod
    def empty(cls, budget: int, center: Floats) -> KeptPoints:
        """Nothing kept yet; ``center`` (d,) is where coordinates are measured from, for their rounding alone."""
        nothing = np.empty((0, 2, center.size))
        return cls(budget, nothing, nothing, center)

    @property
    def full(self) -> bool:
        """Whether directions are projected on the kept points from now on."""
        return self.seen >= self.budget

    def room(self) -> int:
        """How many points come before something changes: the budget is full, or the stream has doubled since then."""
        return (self.budget << (self.seen // self.budget).bit_length()) - self.seen

    def prepared(self, stein: SteinKernel, first: int | None = None) -> SteinPoints:
        """The kept points, or the first of them, made ready for blocks."""
        return stein.prepare(self.points[:first, 0], self.points[:first, 1], self.center)

    def add(self, points: Floats, rng: np.random.Generator) -> None:
        """Take in at most :meth:`room` points; past the budget by one uniform number each, whatever the batches."""
        if not self.full:
            self.points = self.spare = np.concatenate([self.points, points])
        else:
            self.spare = self.spare.copy()  # it may be the kept points, too
            places = (rng.random(len(points)) * (self.seen + 1 + np.arange(len(points)))).astype(np.int64)
            for i in np.flatnonzero(places < self.budget):
                self.spare[places[i]] = points[i]
        self.seen += len(points)


@dataclass(eq=False)
class Direction:
    r"""S = Σ u(·, x_s) over the past of a stream, in the eyes of one Stein kernel

    .. math:: f_t = \frac{S_{t-1}}{|S_{t-1}|} \text{ while all points are kept}, \qquad
       f_t = \frac{\Pi S_{t-1}}{|\Pi S_{t-1}|} \text{ beyond},

    where Π projects on the span of the kept points: with L Lᵀ the Gram matrix of the kept points (and a little more on
    its diagonal, which only shortens f) and k(x) its row for x, ΠS has the coordinates Σ L⁻¹k(x_s). Each point adds its
    own, so the sum needs no memory of the others.
    """

    stein: SteinKernel
    square: float = 0.0
    trace: float = 0.0
    factor: Floats = field(default_factory=lambda: np.empty((0, 0)))
    coordinates: Floats = field(default_factory=lambda: np.empty(0))
    state: ClassVar = ("square", "trace", "factor", "coordinates")

    def advance(self, kept: KeptPoints, points: Floats) -> Floats:
        """f_t(x_t) for the next points, (m,), and S with these points in it; NaN where there is no direction."""
        here = self.stein.prepare(points[:, 0], points[:, 1], kept.center)
        diagonal = self.stein.diagonal(points[:, 0], points[:, 1])
        step = self._products_with_projection if kept.full else self._products_with_sum
        block = self.stein.block(kept.prepared(self.stein), here) if kept.seen else np.empty((0, len(here)))
        sums, squares = step(block, here, diagonal)
        traces = np.cumsum(np.concatenate([[self.trace], diagonal]))
        self.trace = float(traces[-1])
        return along_direction(sums, squares, traces[:-1], diagonal)

    def _products_with_sum(self, block: Floats, here: SteinPoints, diagonal: Floats) -> tuple[Floats, Floats]:
        """⟨S, u(·, x)⟩ and |S|² before each point, with S the sum of all points."""
        sums = block.sum(axis=0) + np.triu(self.stein.block(here, here), 1).sum(axis=0)
        squares = np.cumsum(np.concatenate([[self.square], 2.0 * sums + diagonal]))
        self.square = float(squares[-1])
        return sums, squares[:-1]

    def _products_with_projection(self, block: Floats, here: SteinPoints, diagonal: Floats) -> tuple[Floats, Floats]:
        """⟨ΠS, u(·, x)⟩ and |ΠS|² before each point."""
        features = scipy.linalg.solve_triangular(self.factor, block, lower=True, check_finite=False)  # (kept, m)
        totals = np.cumsum(np.concatenate([self.coordinates[:, None], features], axis=1), axis=1)
        self.coordinates = totals[:, -1].copy()
        self.square = float(self.coordinates @ self.coordinates)
        before = totals[:, :-1]
        return np.sum(before * features, axis=0), np.sum(before * before, axis=0)

    def renew(self, kept: KeptPoints) -> None:
        """S, or ΠS on the kept points, is projected on the span of those that take their place."""
        before, points = kept.prepared(self.stein), self.stein.prepare(kept.spare[:, 0], kept.spare[:, 1], kept.center)
        projected = len(self.coordinates) > 0
        weights = scipy.linalg.solve_triangular(self.factor.T, self.coordinates) if projected else np.ones(kept.seen)
        self.factor, sums = _factor(self.stein.block(points, points)), self.stein.block(points, before) @ weights
        self.coordinates = scipy.linalg.solve_triangular(self.factor, sums, lower=True)
        self.square = float(self.coordinates @ self.coordinates)


def _factor(gram: Floats) -> Floats:
    """The Cholesky factor, with as much on the diagonal as it takes: points may coincide."""
    jitter = _JITTER * float(np.trace(gram)) / len(gram)
    while True:
        try:
            return np.asarray(np.linalg.cholesky(gram + jitter * np.eye(len(gram))))
        except np.linalg.LinAlgError:
            jitter *= 100.0


@dataclass(eq=False)
class Bettor:
    """All that changes while a stream is tested. Every payoff is of a direction that was there before its point."""

    taus: Floats
    kept: KeptPoints
    wealth: WealthByShare
    directions: list[Direction]
    rng: np.random.Generator

    def check(self, points: Floats) -> None:
        """Refuse points at which τ is no bound."""
        for direction, tau in zip(self.directions, self.taus, strict=True):
            with np.errstate(over="ignore", invalid="ignore"):  # a NaN is refused as no bound holds for it
                largest = float(direction.stein.diagonal(points[:, 0], points[:, 1]).max(initial=0.0))
            if not largest <= tau * (1.0 + 1e-9):
                raise ValueError(
                    f"`tau={tau:g}` is not an upper bound: u(x, x) reaches {largest:g} in this `batch`. None of it was "
                    "taken in. Start again with a larger bound, or with a tilt that bounds u."
                )

    def advance(self, points: Floats, cut: int = 0) -> Floats:
        """Take in the next points: log W after each, (m,). The first ``cut`` only join the past, without a bet."""
        start, paths = 0, [np.empty(0)]
        while start < len(points):
            part = points[start : start + min(TOGETHER, self.kept.room())]
            payoffs = np.stack([direction.advance(self.kept, part) for direction in self.directions])
            payoffs[:, : max(0, cut - start)] = np.nan
            paths.append(self.wealth.record(payoffs / np.sqrt(self.taus)[:, None]))
            self._keep(part)
            start += len(part)
        return np.concatenate(paths)

    def _keep(self, points: Floats) -> None:
        kept, renewed = self.kept, len(points) == self.kept.room()
        kept.add(points, self.rng)
        if renewed:  # at the budget the spare points are the kept ones
            for direction in self.directions:
                direction.renew(kept)
            kept.points = kept.spare

    def arrays(self) -> dict[str, Any]:
        """Everything that changes, and u at kept points, as arrays by name."""
        return {**collect(self._parts()), **self._values()}

    def load(self, arrays: dict[str, Any]) -> None:
        """Take over what :meth:`arrays` gave, if kernels and tilt are the same: u at kept points tells."""
        fill(self._parts(), arrays)
        for name, values in self._values().items():
            compare(values, arrays[name], "`kernel` or `tilt`")

    def _parts(self) -> dict[str, Any]:
        directions = {f"direction{j}": direction for j, direction in enumerate(self.directions)}
        return {"kept": self.kept, "wealth": self.wealth, **directions}

    def _values(self) -> dict[str, Floats]:
        """u among the first kept points, for each kernel: what tells one kernel from another."""
        points = [(direction.stein, self.kept.prepared(direction.stein, _COMPARED)) for direction in self.directions]
        return {f"values{j}": np.asarray(stein.block(few, few)) for j, (stein, few) in enumerate(points)}
