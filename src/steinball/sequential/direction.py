"""The direction in which a stream has left the model so far, from a bounded number of kept points."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import solve_triangular

from steinball.arrays import Floats
from steinball.calibration.wealth import NO_DIRECTION
from steinball.stein import SteinKernel, SteinPoints

_JITTER = 1e-8


@dataclass(eq=False)
class KeptPoints:
    """The points that a direction is made of, and a uniform sample of the past to take their place.

    The first ``budget`` points are kept. From then on a reservoir (Vitter 1985) holds as many points, each of the past
    equally likely; whenever the stream has doubled, the reservoir becomes the kept points. So late arrivals of a new
    kind are seen, too. All of it depends on the past alone.
    """

    budget: int
    samples: Floats
    scores: Floats
    spare_samples: Floats
    spare_scores: Floats
    center: Floats
    seen: int = 0
    renewal: int = 0
    state: ClassVar = ("samples", "scores", "spare_samples", "spare_scores", "center", "seen", "renewal")

    @classmethod
    def empty(cls, budget: int, center: Floats) -> KeptPoints:
        """Nothing kept yet; ``center`` (d,) is where coordinates are measured from, for their rounding alone."""
        nothing = np.empty((0, center.size))
        return cls(budget, nothing, nothing, nothing, nothing, center, renewal=2 * budget)

    @property
    def full(self) -> bool:
        """Whether directions are projected on the kept points from now on."""
        return self.seen >= self.budget

    def room(self) -> int:
        """How many points may come before something changes: the budget is full, or kept points are renewed."""
        return (self.renewal if self.full else self.budget) - self.seen

    def prepared(self, stein: SteinKernel) -> SteinPoints:
        """The kept points made ready for blocks."""
        return stein.prepare(self.samples, self.scores, self.center)

    def add(self, samples: Floats, scores: Floats, rng: np.random.Generator) -> None:
        """Take in at most :meth:`room` points."""
        if not self.full:
            self.samples = np.concatenate([self.samples, samples])
            self.scores = np.concatenate([self.scores, scores])
        else:
            self._sample(samples, scores, rng)
        self.seen += len(samples)
        if self.seen == self.budget:
            self.spare_samples, self.spare_scores = self.samples.copy(), self.scores.copy()

    def _sample(self, samples: Floats, scores: Floats, rng: np.random.Generator) -> None:
        """One uniform number per point, so that batches of any size draw the same ones."""
        places = (rng.random(len(samples)) * (self.seen + 1 + np.arange(len(samples)))).astype(np.int64)
        for i in np.flatnonzero(places < self.budget):
            self.spare_samples[places[i]], self.spare_scores[places[i]] = samples[i], scores[i]

    def renew(self) -> None:
        """The reservoir becomes the kept points; it goes on as it is."""
        self.samples, self.scores = self.spare_samples.copy(), self.spare_scores.copy()
        self.renewal *= 2


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

    def advance(self, kept: KeptPoints, samples: Floats, scores: Floats) -> Floats:
        """f_t(x_t) for the next points, (m,), and S with these points in it; NaN where there is no direction."""
        here = self.stein.prepare(samples, scores, kept.center)
        diagonal = self.stein.diagonal(samples, scores)
        step = self._project if kept.full else self._sum
        block = self.stein.block(kept.prepared(self.stein), here) if kept.seen else np.empty((0, len(here)))
        sums, squares = step(block, here, diagonal)
        traces = self.trace + np.cumsum(diagonal)
        known = squares > NO_DIRECTION * np.concatenate([[self.trace], traces[:-1]])
        self.trace = float(traces[-1])
        values = np.where(known, sums / np.sqrt(np.where(known, squares, 1.0)), np.nan)
        return np.clip(values, -np.sqrt(diagonal), np.sqrt(diagonal))

    def _sum(self, block: Floats, here: SteinPoints, diagonal: Floats) -> tuple[Floats, Floats]:
        """⟨S, u(·, x)⟩ and |S|² before each point, with S the sum of all points."""
        sums = block.sum(axis=0) + np.triu(self.stein.block(here, here), 1).sum(axis=0)
        squares = np.cumsum(np.concatenate([[self.square], 2.0 * sums + diagonal]))
        self.square = float(squares[-1])
        return sums, squares[:-1]

    def _project(self, block: Floats, here: SteinPoints, diagonal: Floats) -> tuple[Floats, Floats]:
        """⟨ΠS, u(·, x)⟩ and |ΠS|² before each point."""
        features = solve_triangular(self.factor, block, lower=True, check_finite=False)  # (kept, m)
        totals = np.cumsum(np.concatenate([self.coordinates[:, None], features], axis=1), axis=1)
        self.coordinates = totals[:, -1].copy()
        self.square = float(self.coordinates @ self.coordinates)
        before = totals[:, :-1]
        return np.sum(before * features, axis=0), np.sum(before * before, axis=0)

    def fill(self, kept: KeptPoints) -> None:
        """The budget is full: from the sum of the kept points to its coordinates."""
        points = kept.prepared(self.stein)
        gram = self.stein.block(points, points)
        self.factor = _factor(gram)
        self.coordinates = _solve(self.factor, gram.sum(axis=1))

    def renew(self, before: SteinPoints, kept: KeptPoints) -> None:
        """Other points are kept: ΠS is projected on their span."""
        points = kept.prepared(self.stein)
        weights = solve_triangular(self.factor.T, self.coordinates, lower=False)
        self.factor = _factor(self.stein.block(points, points))
        self.coordinates = _solve(self.factor, self.stein.block(points, before) @ weights)
        self.square = float(self.coordinates @ self.coordinates)

    def length(self) -> float:
        """|S|, or |ΠS| once the budget is full."""
        return math.sqrt(max(0.0, self.square))


def _factor(gram: Floats) -> Floats:
    """The Cholesky factor, with as much on the diagonal as it takes: points may coincide."""
    size = float(np.trace(gram)) / len(gram)
    jitter = _JITTER
    while True:
        try:
            return np.asarray(np.linalg.cholesky(gram + jitter * size * np.eye(len(gram))))
        except np.linalg.LinAlgError:
            jitter *= 100.0


def _solve(factor: Floats, right: Any) -> Floats:
    return np.asarray(solve_triangular(factor, right, lower=True))
