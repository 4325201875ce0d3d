"""What the statistic, the calibration, the radius and the explanations share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from steinball.arrays import Array, Floats, OutOfRangeError, check_choice, like, namespace, to_host
from steinball.gram.request import Request
from steinball.gram.tiles import PrefixNorms, PrefixSums
from steinball.gram.weights import ChainedWeights, Chunk, Weights

if TYPE_CHECKING:
    from steinball.problem import Problem


_SWAMPED = 1e10
_ENTRIES_AT_ONCE = 2**18

Bounds = tuple[Floats, Floats]
"""Below and above, one entry per draw."""


@dataclass(frozen=True, eq=False)
class GramSummary:
    r"""The answers of one pass over the pairs.

    Parameters
    ----------
    diagonal : (n,) array
        :math:`u(x_i, x_i)`, in the array library of the samples.
    row_means : (n,) array
        :math:`\frac1n \sum_j u(x_i, x_j)`, likewise.
    mean : float
        :math:`\frac1{n^2} \sum_{ij} u(x_i, x_j)`, the V-statistic D².
    quadratic_forms : (B,) NumPy array
        :math:`\frac1{n^2} w^\top U w` for every row w of the weights.
    weights : iterable
        The chunks of weights, to be read again where something else is asked of them.
    engine, grade : str
        How it was computed, and how far it can be trusted: ``"exact"``, ``"certified"`` or ``"approximate"``.
    details : mapping
        What else a user may want to know: tile size, rank, size of the error.
    linear_forms : (B,) NumPy array
        :math:`\frac1{n^2} w^\top U 1` for every row w: how far each draw points where the data point.
    mean_bounds, form_bounds, linear_bounds : pairs, optional
        Where the exact ``mean``, ``quadratic_forms`` and ``linear_forms`` lie, for an engine that approximates them.
    prefix_sums : PrefixSums, optional
        :math:`\sum_{s \text{ before } t} u(x_s, x_t)` of every point t, in the K orders that were asked for.
    direction_products : (n, p) array, optional
        :math:`U S` for the directions S that were asked for, in the array library of the samples.
    prefix_norms : PrefixNorms, optional
        Lengths of sums of features over the samples of the model that were asked for.
    mean_squares : (B,) NumPy array
        :math:`\frac1n \sum_i w_i^2` for every row w.
    """

    diagonal: Array
    row_means: Array
    mean: float
    quadratic_forms: Floats
    weights: Weights
    engine: str
    grade: str
    details: Mapping[str, Any] = field(default_factory=dict)
    linear_forms: Floats = field(default_factory=lambda: np.empty(0))
    mean_bounds: tuple[float, float] | None = None
    form_bounds: Bounds | None = None
    linear_bounds: Bounds | None = None
    prefix_sums: PrefixSums | None = None
    direction_products: Array | None = None
    prefix_norms: PrefixNorms | None = None
    mean_squares: Floats = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        check_rows(self.row_means)
        if self.direction_products is not None:
            check_rows(namespace(self.direction_products).sum(self.direction_products, axis=1))
        _check_draws(self.quadratic_forms)

    def __len__(self) -> int:
        return int(self.diagonal.shape[0])

    @property
    def unbiased_mean(self) -> float:
        """The U-statistic: the mean over pairs of distinct points (paper App. C)."""
        n, diagonal = len(self), to_host(self.diagonal)
        if diagonal.max() > _SWAMPED * np.median(diagonal):
            raise OutOfRangeError(
                "one u(x, x) is so much larger than the others that the U-statistic, which leaves it out, keeps no "
                'digits. Use a tilt, or estimator="v".'
            )
        return (n * n * self.mean - float(diagonal.sum())) / (n * (n - 1))

    @cached_property
    def diagonal_forms(self) -> Floats:
        r""":math:`\frac1{n^2} \sum_i w_i^2 u(x_i, x_i)` for every row w: what a U-statistic leaves out."""
        n, diagonal = len(self), to_host(self.diagonal)
        return np.array([np.square(row, dtype=np.float64) @ diagonal for chunk in self.weights for row in chunk]) / n**2

    @property
    def unbiased_forms(self) -> Floats:
        """The bootstrap draws of the U-statistic."""
        n = len(self)
        return np.asarray((self.quadratic_forms - self.diagonal_forms) * (n / (n - 1)))

    def ends(self) -> tuple[GramSummary, GramSummary] | None:
        """The summaries most and least favorable to a rejection within the bounds; ``None`` without bounds."""
        if self.grade == "exact" or (bounds := self._bounds()) is None:
            return None
        (low, high), (lower, upper), (less, more) = bounds
        # What counts of a linear form is its quotient by D, so its end also depends on which D divides it.
        ratio = math.sqrt(max(high, 0.0) / low) if low > 0.0 else math.inf
        favorable = np.where(less < 0.0, less * ratio, less)
        unfavorable = np.where(more < 0.0, more / ratio, more)
        return (
            replace(self, mean=high, quadratic_forms=lower, linear_forms=favorable),
            replace(self, mean=low, quadratic_forms=upper, linear_forms=unfavorable),
        )

    def join(self, more: GramSummary) -> GramSummary:
        """This summary with the draws of ``more`` behind its own; it is exact only where both are."""
        joined = replace(
            self,
            quadratic_forms=np.concatenate([self.quadratic_forms, more.quadratic_forms]),
            linear_forms=np.concatenate([self.linear_forms, more.linear_forms]),
            mean_squares=np.concatenate([self.mean_squares, more.mean_squares]),
            weights=ChainedWeights((self.weights, more.weights)),
            prefix_norms=self._norms_with(more),
        )
        if self.grade == more.grade == "exact":
            return joined
        ours, theirs = self._bounds(), more._bounds()
        if ours is None or theirs is None:
            return replace(joined, grade="approximate", form_bounds=None)
        forms, linear = (
            (np.concatenate([low, more_low]), np.concatenate([high, more_high]))
            for (low, high), (more_low, more_high) in zip(ours[1:], theirs[1:], strict=True)
        )
        return replace(joined, grade="approximate", mean_bounds=ours[0], form_bounds=forms, linear_bounds=linear)

    def _norms_with(self, more: GramSummary) -> PrefixNorms | None:
        found = [part.prefix_norms for part in (self, more) if part.prefix_norms is not None]
        return PrefixNorms.joined(found) if found else None

    def _bounds(self) -> tuple[tuple[float, float], Bounds, Bounds] | None:
        """Where the exact mean and forms lie; exact ones lie where they are."""
        if self.grade == "exact":
            forms, linear = self.quadratic_forms, self.linear_forms
            return (self.mean, self.mean), (forms, forms), (linear, linear)
        if self.mean_bounds is None or self.form_bounds is None or self.linear_bounds is None:
            return None
        return self.mean_bounds, self.form_bounds, self.linear_bounds


def linear_forms(weights: Array, row_means: Array, width: int | None = None) -> Floats:
    """(1/n) Σ wᵢ rᵢ for every row w of the weights, ``width`` columns at a time: the small integers stay small."""
    xp, n = namespace(row_means), row_means.shape[0]
    forms = np.zeros(weights.shape[0])
    width = width or max(1, _ENTRIES_AT_ONCE // max(1, len(forms)))
    for part in (slice(start, min(start + width, n)) for start in range(0, n, width)):
        forms += to_host(xp.matmul(xp.astype(weights[:, part], row_means.dtype), row_means[part]))
    return np.asarray(forms / n)


def mean_squares(weights: Chunk) -> Floats:
    """(1/n) Σ wᵢ² for every row w of the weights."""
    return np.asarray(np.einsum("bi,bi->b", weights, weights, dtype=np.float64) / max(1, weights.shape[1]))


def further_answers(request: Request, by_point: Floats, problem: Problem) -> dict[str, Any]:
    """What a summary says of orders and directions, from sums over earlier points and products, (K + p, n)."""
    found: dict[str, Any] = {}
    if request.orders is not None:
        earlier, by_point = np.split(by_point, [len(request.orders)])
        found["prefix_sums"] = PrefixSums.in_order(earlier, to_host(problem.diagonal), request.orders)
    if request.directions is not None:
        found["direction_products"] = like(by_point.T, problem.samples)
    return found


class Gram(Protocol):
    """A Stein Gram matrix that may never exist as a whole."""

    def summarise(self, request: Request) -> GramSummary:
        """All that ``request`` asks for, in one pass; an engine that cannot answer refuses it by name."""


def check_estimator(estimator: str) -> str:
    """``estimator``, if it names one."""
    return check_choice(estimator, "estimator", ("v", "u"))


def check_rows(row_means: Array) -> None:
    """A NaN is never a rejection: sums of the Stein kernel must be finite."""
    xp = namespace(row_means)
    if bool(xp.all(xp.isfinite(row_means))):
        return
    bad = np.flatnonzero(~np.isfinite(to_host(row_means)))
    raise OutOfRangeError(
        f"the Stein kernel overflows at {bad.size} of {row_means.shape[0]} points (first: row {bad[0]}): the samples "
        "or scores are too large to be squared in their precision. Use float64, rescale `samples`, or use a tilt."
    )


def _check_draws(forms: Floats) -> None:
    """Weights multiply the Stein kernel, so draws may overflow where the statistic does not."""
    if not np.isfinite(forms).all():
        raise OutOfRangeError(
            f"{int(np.sum(~np.isfinite(forms)))} of {forms.size} bootstrap draws of the Stein kernel overflow: the "
            "samples or scores are too large for their precision. Use float64, rescale `samples`, or use a tilt."
        )
