"""Low rank plus exact residual diagonal: a million points in seconds, with a certified error."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from steinball.arrays import Array, Floats, dtype_name, like, namespace, take_rows, to_host
from steinball.gram.base import Gram, GramSummary, check_rows, mean_squares
from steinball.gram.cost import COLUMNS_AT_ONCE, PANEL
from steinball.gram.request import Request
from steinball.gram.weights import Chunk, Weights, chunk_makers
from steinball.gram.workers import share_threads
from steinball.progress import Progress, counted
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
        if not candidates.size:
            return False
        points = self.problem.points.take(candidates)
        small = to_host(self.problem.stein.block(points, points))
        if self.panels:
            rows = to_host(self.rows_at(candidates))
            small = small - rows @ rows.T
        kept, factor = self._thin(small)
        if kept.size:
            self._append(candidates[kept], factor)
        else:
            self.residual[candidates] = 0.0
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

        return xp.concat(list(share_threads(rows, range(0, n, _ROWS_AT_ONCE), self.n_jobs)), axis=0)


TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
"""Shares tr R / tr U at which to stop and look whether the decision is certain."""

PAIRS = (2**17, 2**20)
"""Random pairs that the residual of D² is measured on."""

FAILURE = 1e-6
"""Probability that a certified bound is wrong, at whichever rank and number of pairs one stops."""

_FAILURE_OF_ONE = FAILURE / (len(TOLERANCES) * (1 + len(PAIRS)))  # every look is another chance to be wrong

_ROUNDING = 1e-12  # how far, as a share of the mean diagonal, rounding may move a mean of the Stein kernel
_PAIR_ENTRIES = 2**18  # entries of L that are gathered at once for random pairs


@dataclass(frozen=True, eq=False)
class LowRankGram:
    """The Stein Gram matrix as L Lᵀ plus a residual whose diagonal is exact.

    Time n·r·(d + r + B), memory n·r. The rank is raised until ``decides(summary)``, until ``max_rank``, or through the
    list of :data:`TOLERANCES`. Bounds need float64: single precision leaves no digits to certify.
    """

    problem: Problem
    max_rank: int
    n_jobs: int = 1
    progress: bool | str = False
    decides: Callable[[GramSummary], bool] = lambda summary: False
    fallback: Gram | None = None

    def summarise(self, request: Request) -> GramSummary:
        """The answers with bounds: the exact ones lie between, except with probability 10⁻⁶.

        Where they leave the decision open and there is a ``fallback``, that engine is asked instead. Sums over earlier
        points and products with directions are refused: nothing bounds their errors.
        """
        if request.needs:
            raise ValueError(
                f'`engine="lowrank"` gives no {request.needs}: it does not see every pair of points, and bounds its '
                'errors for independent weights. Use engine="auto", "blocked" or "dense".'
            )
        check_rows(self.problem.diagonal)
        with np.errstate(over="ignore", invalid="ignore"):  # caught by the summary, by name
            summary = self._raise_rank(request)
        if self.fallback is not None and not self.decides(summary):
            return self.fallback.summarise(request)
        return summary

    def _raise_rank(self, request: Request) -> GramSummary:
        factor = PivotedCholesky(self.problem, self.n_jobs)
        projections = Projections(factor, request.weights, request.spread)
        # Single precision can never settle anything, and hides what the later tolerances would bring.
        double = dtype_name(self.problem.samples) == "float64"
        for tolerance in TOLERANCES if double else TOLERANCES[:1]:
            factor.grow(tolerance, self.max_rank, self.progress)
            projections.update(self.progress)
            for pairs in PAIRS:  # as many random pairs as it takes
                summary = _summary(factor, projections, sampled_residual(factor, pairs))
                if self.decides(summary):
                    return summary
            if factor.residual_share > tolerance:
                break
        return summary


class Projections:
    """|Lᵀw|² and wᵀLLᵀ1 for every row w of the weights, brought up to date as L grows; ``spread`` is theirs."""

    def __init__(self, factor: PivotedCholesky, weights: Weights, spread: float = 1.0) -> None:
        self._factor, self.weights, self.spread = factor, weights, spread
        self.totals: list[Floats] = []
        self.squares = self.linear = self.mean_squares = np.zeros(1)

    def update(self, show: bool | str = False) -> None:
        """Add what the panels grown since the last call contribute; the weights are read once."""
        new, makers = self._factor.panels[len(self.totals) :], chunk_makers(self.weights)
        totals = [to_host(namespace(panel).sum(panel, axis=0)) for panel in new]
        found = share_threads(lambda make: self._chunk(make(), new, totals), makers, self._factor.n_jobs)
        parts = list(counted(found, "low rank: draws", len(makers), show))
        squares, linear, self.mean_squares = np.concatenate(parts, axis=1) if parts else np.empty((3, 0))
        self.totals += totals
        self.squares, self.linear = self.squares + squares, self.linear + linear

    def _chunk(self, chunk: Chunk, panels: list[Array], totals: list[Floats]) -> Floats:
        """Both answers over the given panels, and (1/n) Σ wᵢ², for a few rows w: shape (3, rows)."""
        samples = self._factor.problem.samples
        sums: list[Any] = [0.0 for _ in panels]
        for start in range(0, chunk.shape[1], COLUMNS_AT_ONCE):
            part = slice(start, min(start + COLUMNS_AT_ONCE, chunk.shape[1]))
            rows = like(chunk[:, part], samples)
            for k, panel in enumerate(panels):
                sums[k] = sums[k] + namespace(rows).matmul(rows, panel[part, :])
        both = np.zeros((2, len(chunk)))
        for projected, total in zip(map(to_host, sums), totals, strict=True):
            both += np.stack([np.square(projected).sum(axis=1), projected @ total])
        return np.concatenate([both, mean_squares(chunk)[None]])


def _summary(factor: PivotedCholesky, projections: Projections, residual: tuple[float, float, float]) -> GramSummary:
    """Estimates and bounds; ``residual`` is 1ᵀR1/n² as estimate, lower and upper bound."""
    n, samples = len(factor.residual), factor.problem.samples
    xp, totals = namespace(samples), projections.totals
    low = sum(float(np.square(total).sum()) for total in totals) / n**2
    rows = sum(xp.matmul(panel, like(total, samples)) for panel, total in zip(factor.panels, totals, strict=True))
    row_means = (rows + like(factor.residual, samples)) / n
    estimate, least, most = (low + r for r in residual)
    row_means = row_means + (estimate - float(to_host(row_means).mean()))  # what R adds beside its diagonal, evenly
    forms, linear = projections.squares / n**2, projections.linear / n**2
    slack = draw_slack(factor.residual, forms.size, projections.spread)
    double = dtype_name(samples) == "float64"
    rounding = _ROUNDING * float(factor.diagonal.mean())
    tilted = math.sqrt(slack * residual[2]) + rounding  # |wᵀR1| ≤ √(wᵀRw · 1ᵀR1), since R is positive semi-definite
    return GramSummary(
        factor.problem.diagonal,
        row_means,
        estimate,
        forms + float(factor.residual.sum()) / n**2,  # the mean of what R adds to a draw
        projections.weights,
        "lowrank",
        "approximate",
        {"rank": factor.rank, "residual_share": factor.residual_share, "draw_slack": slack},
        linear,
        (least - rounding, most + rounding) if double else None,
        (forms - rounding, forms + (slack + rounding)) if double else None,
        (linear - tilted, linear + tilted) if double else None,
        mean_squares=projections.mean_squares,
    )


def draw_slack(residual: Floats, n_draws: int, spread: float = 1.0, failure: float = _FAILURE_OF_ONE) -> float:
    r"""A bound on wᵀRw/n² for all bootstrap draws together, except with probability δ.

    Each is the squared norm of a mean of independent centered vectors whose squared lengths are at most 4 max Rᵢᵢ and
    sum to c tr R in expectation, so by Bernstein's inequality in a Hilbert space (Pinelis and Sakhanenko 1985)

    .. math:: \sqrt{w^\top R w} \le \sqrt{2 c \operatorname{tr} R \, l} + 4 l \sqrt{\max R_{ii}},
       \qquad l = \log(2B/\delta).

    c is the ``spread`` of the weights: 1, or 2 for balanced signs; δ is ``failure``.
    """
    log = math.log(2.0 * max(n_draws, 1) / failure)
    norm = math.sqrt(2.0 * spread * float(residual.sum()) * log)
    norm += 4.0 * log * math.sqrt(float(residual.max(initial=0.0)))
    return (norm / residual.size) ** 2


def sampled_residual(factor: PivotedCholesky, pairs: int) -> tuple[float, float, float]:
    r"""1ᵀR1/n² as (estimate, lower bound, upper bound), the bounds wrong with probability δ at most.

    The diagonal is known. The rest is the mean of :math:`R_{ij}` over random pairs, drawn in proportion to
    :math:`\sqrt{R_{ii} R_{jj}}`, which bounds :math:`|R_{ij}|`; an empirical Bernstein bound (Maurer and Pontil 2009)
    does the rest. R is positive semi-definite, so neither bound leaves [0, tr R / n].
    """
    root, n = np.sqrt(factor.residual), len(factor.residual)
    worst = float(factor.residual.sum()) / n
    scale = (float(root.sum()) / n) ** 2
    if scale <= 0.0:
        return 0.0, 0.0, 0.0
    rng = np.random.default_rng(pairs)
    total = np.cumsum(root)
    together = max(1, _PAIR_ENTRIES // (factor.rank + 1))
    sizes = [min(together, pairs - done) for done in range(0, pairs, together)]
    values = np.concatenate([_pair_values(factor, total, rng, scale, size) for size in sizes])
    log = math.log(4.0 / _FAILURE_OF_ONE)
    margin = math.sqrt(2.0 * float(values.var(ddof=1)) * log / values.size)
    margin += 14.0 * scale * log / (3.0 * (values.size - 1))
    estimate = float(values.mean()) + worst / n
    low, high = max(0.0, estimate - margin), min(worst, estimate + margin)
    return min(max(estimate, low), high), low, high


def _pair_values(factor: PivotedCholesky, total: Floats, rng: np.random.Generator, scale: float, size: int) -> Floats:
    """R_ij / √(R_ii R_jj) · scale at random pairs i ≠ j (0 at i = j), each within ± scale."""
    drawn = np.searchsorted(total, rng.random((2, size)) * total[-1], side="right")
    first, second = np.minimum(drawn, total.size - 1)
    points = factor.problem.points
    exact = factor.problem.stein.pairs(points.take(first), points.take(second))
    xp = namespace(exact)
    low_rank = xp.sum(factor.rows_at(first) * factor.rows_at(second), axis=1)
    bound = np.sqrt(factor.residual[first] * factor.residual[second])
    ratio = np.divide(to_host(exact - low_rank), bound, out=np.zeros_like(bound), where=bound > 0.0)
    return np.asarray(np.where(first == second, 0.0, scale * np.clip(ratio, -1.0, 1.0)))
