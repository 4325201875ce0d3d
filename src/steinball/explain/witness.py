"""Where a model has too much mass or too little: the function that tells the data from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steinball.arrays import Floats, as_samples, to_host
from steinball.evidence.base import PairSums
from steinball.models.base import evaluate_score
from steinball.stein import center_of

_DRAWS, _GRID = 512, 201
_ENTRIES_AT_ONCE = 2**21


@dataclass(frozen=True, eq=False)
class Places:
    """Two places, (d,), and the witness there: where the data are most in excess, and where most is lacking.

    Examples
    --------
    >>> Places(np.array([2.0]), np.array([0.1]), (0.9, -0.3)).lack
    array([0.1])
    """

    surplus: Floats
    lack: Floats
    heights: tuple[float, float]


@dataclass(frozen=True, eq=False)
class SteinWitness:
    r"""The Stein function along which the data lie furthest from the model

    .. math:: f(x) = \frac{1}{n D} \sum_j u(x, x_j), \qquad E_P f = 0, \qquad \frac1n \sum_i f(x_i) = D.

    It is positive where there are more data than the model expects, and negative where there are fewer. Its argument is
    in the coordinates of the data, also where these were tested in base space.

    Examples
    --------
    >>> import steinball as sb
    >>> x = np.random.default_rng(0).normal(size=400)
    >>> x = x[abs(x - 0.5) > 0.3]  # a hole
    >>> witness = SteinWitness(sb.robust_ksd_test(x, sb.models.Gaussian(), 0.0, rng=0)._sums()[0])
    >>> grid = np.linspace(-2.0, 2.0, 81)
    >>> bool(abs(grid[witness(grid).argmin()] - 0.5) < 0.3)
    True
    """

    sums: PairSums

    def __call__(self, grid: Any) -> Floats:
        """f at each row of ``grid``, (m, d) or for d = 1 also (m,)."""
        problem = self.sums.problem
        if not problem.evaluable:
            raise TypeError(
                f"the witness function needs the score away from the samples; {problem.unknown_elsewhere}. Pass a "
                "score function to the test, such as one of a module, which can be pickled."
            )
        places = to_host(as_samples(grid, "grid", least=1))
        if places.shape[1] != problem.samples.shape[1]:
            raise ValueError(f"`grid` must have {problem.samples.shape[1]} columns, got shape {places.shape}.")
        return self._inside(places)

    def _inside(self, places: Floats) -> Floats:
        """f where the model has a density, NaN elsewhere."""
        values, support = np.full(len(places), np.nan), self.sums.problem.rows.original_support
        inside = np.ones(len(places), dtype=bool) if support is None else ~support.outside(places)
        if inside.any():
            values[inside] = self._values(places[inside])
        return values

    def _values(self, places: Floats) -> Floats:
        problem, step = self.sums.problem, max(1, _ENTRIES_AT_ONCE // len(self.sums))
        center, parts = center_of(problem.samples), []
        for start in range(0, len(places), step):
            there = problem.rows.tested(places[start : start + step])
            rows = problem.stein.prepare(there, evaluate_score(problem.model, there), center)
            parts.append(to_host(problem.stein.block(rows, problem.points)).sum(axis=1))
        return np.concatenate(parts) / (len(self.sums) * (self.sums.length or 1.0))

    def along(self, j: int, grid: Any = None, at: Any = None) -> tuple[Floats, Floats]:
        """A grid of coordinate j and f on it, on the line through ``at``, by default the median of the data."""
        x = self.sums.problem.rows.original
        line = np.array(np.median(x, axis=0) if at is None else to_host(at), dtype=np.float64).reshape(-1)
        if line.size != x.shape[1]:
            raise ValueError(f"`at` must be a point of {x.shape[1]} numbers, got {line.size}.")
        grid = _range(x[:, j]) if grid is None else np.ravel(to_host(grid))
        places = np.repeat(line[None, :], len(grid), axis=0)
        places[:, j] = grid
        return grid, self(places)

    def places(self) -> Places:
        """Where f is largest and smallest, over the data and, where the model can be sampled, over draws of it."""
        at, values = self.sums.problem.rows.original, self.sums.row_means[self.sums.rows] / (self.sums.length or 1.0)
        draws = self.sums.problem.rows.original_draws(_DRAWS)
        if draws is not None:
            at, values = np.vstack([at, draws]), np.concatenate([values, self._inside(draws)])
        most, least = int(np.nanargmax(values)), int(np.nanargmin(values))
        return Places(at[most], at[least], (float(values[most]), float(values[least])))


def _range(column: Floats) -> Floats:
    """From below nearly all of the data to above them: a far point must not stretch the picture."""
    low, high = np.quantile(column, [0.01, 0.99])
    room = 0.25 * (high - low) or 1.0
    return np.linspace(low - room, high + room, _GRID)
