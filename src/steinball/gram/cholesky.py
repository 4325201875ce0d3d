"""A pivoted partial Cholesky factor of the Stein Gram matrix, grown a panel of columns at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import NDArray

from steinball.arrays import Array, Floats, like, namespace, take_rows, to_host
from steinball.gram.cost import PANEL
from steinball.gram.workers import share_threads
from steinball.progress import Progress
from steinball.stein import SteinPoints

if TYPE_CHECKING:
    from steinball.problem import Problem


_ROWS_AT_ONCE = 2**14


@dataclass(eq=False)
class PivotedCholesky:
    r"""U = L Lᵀ + R with L of low rank and R positive semi-definite, whose diagonal is known.

    Pivots are drawn with probability proportional to the residual diagonal (randomly pivoted Cholesky: Chen, Epperly,
    Tropp, Webber 2025), in panels: of :data:`PANEL` candidates drawn at once, each is kept with the probability that
    it would still be drawn after those before it. A panel is then three matrix products. ``panels`` are the columns of
    L, (n, a) each, in the array library of the samples; ``residual`` (n,) is the diagonal of R, never negative.
    """

    problem: Problem
    n_jobs: int = 1
    panels: list[Array] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.diagonal = to_host(self.problem.diagonal)
        self.residual = self.diagonal.copy()
        self._rng = np.random.default_rng(0)  # which pivots are tried is no part of the test's randomness

    @property
    def rank(self) -> int:
        """Number of columns of L."""
        return sum(int(panel.shape[1]) for panel in self.panels)

    @property
    def residual_share(self) -> float:
        """tr R / tr U."""
        return float(self.residual.sum() / self.diagonal.sum())

    def grow(self, tolerance: float, max_rank: int, show: bool | str = False) -> None:
        """Add columns until tr R ≤ ``tolerance`` · tr U or the rank reaches ``max_rank``."""
        with Progress("low rank: factor", self._digits() - math.log10(max(tolerance, 1e-16)), show) as progress:
            while self.residual_share > tolerance and self.rank < max_rank:
                before = self._digits()
                if not self._add_panel(min(PANEL, max_rank - self.rank)):
                    return
                progress.advance(before - self._digits())

    def _digits(self) -> float:
        """log₁₀ tr R / tr U, which falls about evenly with the rank: a measure of how far the factor is."""
        return math.log10(max(self.residual_share, 1e-16))

    def rows_at(self, index: NDArray[np.intp]) -> Array:
        """Rows ``index`` of L, shape (m, rank)."""
        xp = namespace(self.problem.samples)
        return xp.concat([take_rows(panel, index) for panel in self.panels], axis=1)

    def _add_panel(self, width: int) -> bool:
        """One panel of columns; ``False`` when nothing is left that rounding does not hide."""
        candidates = self._candidates(width)
        if candidates.size == 0:
            return False
        points = self.problem.points.take(candidates)
        small = to_host(self.problem.stein.block(points, points))
        if self.panels:
            rows = to_host(self.rows_at(candidates))
            small = small - rows @ rows.T
        kept, factor = self._thin(small)
        if kept.size == 0:
            self.residual[candidates] = 0.0
        else:
            self._append(candidates[kept], factor)
        return True

    def _candidates(self, width: int) -> NDArray[np.intp]:
        """Distinct points, drawn with probability proportional to their residual."""
        total = np.cumsum(self.residual)
        if total[-1] <= 1e-13 * self.diagonal.sum():
            return np.empty(0, dtype=np.intp)
        drawn = np.searchsorted(total, self._rng.random(width) * total[-1], side="right")
        _, first = np.unique(drawn, return_index=True)
        return np.asarray(np.minimum(drawn[np.sort(first)], total.size - 1), dtype=np.intp)

    def _thin(self, small: Floats) -> tuple[NDArray[np.intp], Floats]:
        """Candidates kept one after the other, and the Cholesky factor of their residual block."""
        left, kept = small.copy(), []
        chances = self._rng.random(len(small))
        start = np.diag(small).copy()
        for k in range(len(small)):
            if left[k, k] > max(chances[k], 1e-6) * start[k] and start[k] > 0.0:
                kept.append(k)
                left -= np.outer(left[:, k] / left[k, k], left[k])  # divided first: a square may overflow
        index = np.array(kept, dtype=np.intp)
        return index, np.asarray(np.linalg.cholesky(small[np.ix_(index, index)]), dtype=np.float64)

    def _append(self, pivots: NDArray[np.intp], factor: Floats) -> None:
        inverse = scipy.linalg.solve_triangular(factor, np.eye(len(factor)), lower=True)
        old = [take_rows(panel, pivots) for panel in self.panels]
        panel = self._panel(self.problem.points.take(pivots), old, like(inverse, self.problem.samples))
        self.panels.append(panel)
        self.residual -= to_host(namespace(panel).sum(panel * panel, axis=1))
        np.maximum(self.residual, 0.0, out=self.residual)
        self.residual[pivots] = 0.0

    def _panel(self, columns: SteinPoints, old: list[Array], inverse: Array) -> Array:
        """(u(X, pivots) − L L_pivotsᵀ) F⁻ᵀ, a few thousand rows at a time, shared over threads for NumPy."""
        xp, n = namespace(inverse), len(self.problem)

        def rows(start: int) -> Array:
            stop = min(start + _ROWS_AT_ONCE, n)
            block = self.problem.stein.block(self.problem.points.rows(start, stop), columns)
            for panel, at_pivots in zip(self.panels, old, strict=True):
                block -= xp.matmul(panel[start:stop, :], at_pivots.T)
            return xp.matmul(block, inverse.T)

        starts = range(0, n, _ROWS_AT_ONCE)
        if not isinstance(inverse, np.ndarray):
            return xp.concat([rows(start) for start in starts], axis=0)
        return np.concatenate(list(share_threads(rows, starts, self.n_jobs)))
