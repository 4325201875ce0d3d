"""An e-detector: evidence that the rows of a feed follow the model no longer, since whatever row.

The proofs are in ``docs/theory/monitor.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from steinball.arrays import Floats

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
_BETWEEN = 1.0 / np.cos(np.pi / 16.0)  # most that a cosine polynomial gains between the points of the grid


def cosines(u: Floats) -> Floats:
    r"""The features √(2/k) cos(kπu), k = 1, …, 6, of u in [0, 1]: (n, v) to (n, v, 6). Of a uniform u they have mean 0.

    Examples
    --------
    >>> cosines(np.array([[0.5]])).round(3)
    array([[[ 0.   , -1.   ,  0.   ,  0.707, -0.   , -0.577]]])
    """
    return np.asarray(np.sqrt(2.0 / FREQUENCIES) * np.cos(np.pi * u[..., None] * FREQUENCIES))


_GRID: Floats = cosines(np.linspace(0.0, 1.0, 8 * FREQUENCIES.size + 1))  # (49, 6)


class Crossing(NamedTuple):
    """Where the evidence reached the threshold: the row, the evidence, (spans, bets, v), and the directions there."""

    row: int
    wealth: Floats
    directions: Floats


@dataclass(eq=False)
class Detector:
    r"""The evidence of a feed against a model, for each column of u, span and bet λ

    .. math:: M_t = (1 + M_{t-1}) \Big( 1 + \lambda \frac{f_t(u_t) - (1 - \varepsilon) b_t - \varepsilon \sup f_t}
       {(1 - \varepsilon) b_t + \varepsilon \sup f_t - \inf f_t} \Big), \qquad f_t = \langle w_t, \varphi \rangle,

    with φ the :func:`cosines`, w_t the exponentially weighted mean of φ over the rows before t, and b_t an upper limit
    of E f_t under the model: ⟨w_t, center⟩ + Σ \|w_t\| reach, or 0 where u is exactly uniform. When the mean of all M
    reaches ``threshold``, they start again from 0.

    ``directions`` is (spans, v, 6), ``wealth`` (spans, bets, v), ``center`` (v, 6), ``reach`` (6,).
    """

    contamination: float
    threshold: float
    center: Floats
    reach: Floats
    directions: Floats
    wealth: Floats
    state: ClassVar = ("directions", "wealth")

    @classmethod
    def start(cls, contamination: float, threshold: float, center: Floats, reach: Floats) -> Detector:
        """No evidence and no direction."""
        columns = len(center)
        nothing = np.zeros((SPANS.size, *center.shape)), np.zeros((SPANS.size, BETS.size, columns))
        return cls(contamination, threshold, center, reach, *nothing)

    def advance(self, u: Floats) -> tuple[Floats, list[Crossing]]:
        """Take in rows u (n, v): the mean evidence after each, (n,), and where it reached the threshold."""
        paths, crossings = [np.empty(0)], []
        for start in range(0, len(u), TOGETHER):
            features = cosines(u[start : start + TOGETHER])
            directions = self._look_back(features)
            path, reached = self._accumulate(1.0 + BETS[:, None] * self._gains(directions, features)[:, :, None])
            paths.append(path)
            crossings += [Crossing(start + row, wealth, directions[:, row]) for row, wealth in reached]
        return np.concatenate(paths), crossings

    def _look_back(self, features: Floats) -> Floats:
        """The directions before each of the next rows, (spans, rows, v, 6), from their features (rows, v, 6)."""
        rows = len(features)
        new = _ADDED[:, :rows, :rows] @ features.reshape(rows, -1)
        directions = _KEPT[:, :rows, None, None] * self.directions[:, None] + new.reshape(SPANS.size, *features.shape)
        self.directions = directions[:, -1] + _STEPS[:, None, None] * (features[-1] - directions[:, -1])
        return directions

    def _gains(self, directions: Floats, features: Floats) -> Floats:
        """(f − fair)/(fair − inf f) of each row, (rows, spans, v), with fair = (1 − ε)b + ε sup f."""
        lowest, highest = _range_of(directions)
        limit = np.einsum("srvk,vk->srv", directions, self.center) + np.abs(directions) @ self.reach
        fair = (1.0 - self.contamination) * np.minimum(limit, highest) + self.contamination * highest
        payoffs, room = np.einsum("srvk,rvk->srv", directions, features), fair - lowest
        return np.where(room > 0.0, (payoffs - fair) / np.where(room > 0.0, room, 1.0), 0.0).swapaxes(0, 1)

    def _accumulate(self, growth: Floats) -> tuple[Floats, list[tuple[int, Floats]]]:
        """Add e-values (rows, spans, bets, v): the mean evidence after each row, and rows with all the evidence there."""
        path, reached, start = np.empty(len(growth)), [], 0
        while start < len(path):
            products = np.cumprod(growth[start:], axis=0)
            shares = 1.0 / products
            shares[1:], shares[0] = shares[:-1].copy(), 1.0  # of a start at each row in the products before it
            wealth = products * (self.wealth + np.cumsum(shares, axis=0))
            mean = wealth.mean(axis=(1, 2, 3))
            over = np.flatnonzero(mean >= self.threshold)
            last = int(over[0]) if over.size else len(mean) - 1
            path[start : start + last + 1] = mean[: last + 1]
            self.wealth = wealth[last]
            start += last + 1
            if over.size:
                reached.append((start - 1, self.wealth))
                self.wealth = np.zeros_like(self.wealth)
        return path, reached


def _range_of(directions: Floats) -> tuple[Floats, Floats]:
    r"""Bounds of inf and sup over u of ⟨w, φ(u)⟩ for w (..., 6), from a grid of spacing h.

    A cosine polynomial p of degree 6 about the middle c of its values there has |p − c| ≤ max over the grid /cos(3πh).
    """
    values = _GRID @ directions.reshape(-1, FREQUENCIES.size).T  # (49, …): extremes along the first axis are fast
    lowest, highest = (end.reshape(directions.shape[:-1]) for end in (values.min(axis=0), values.max(axis=0)))
    middle, half = (highest + lowest) / 2.0, (highest - lowest) / 2.0 * _BETWEEN
    return middle - half, middle + half
