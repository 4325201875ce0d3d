"""Columns u in [0, 1] of the rows of a feed, uniform where the rows follow the model: exactly, or up to a known limit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from steinball.arrays import Floats
from steinball.sequential.detector import FREQUENCIES, cosines

KNOTS = 512
_CUT_SHARE = 0.1
_MISS = 1e-3  # the chance that the draws of a model mislead its monitor


@dataclass(frozen=True, eq=False)
class ExactColumns:
    """Columns of a model that knows its distribution function: ``to_uniform`` maps rows (n, d) to u (n, v).

    Each column of u must be uniform on [0, 1] under the model; the columns may depend on each other.
    """

    to_uniform: Callable[[Floats], Floats]
    state: ClassVar[tuple[str, ...]] = ()

    def __call__(self, rows: Floats) -> Floats:
        """u (n, v), or an error that names the model where it gives no numbers in [0, 1]."""
        u = np.asarray(self.to_uniform(rows), dtype=np.float64)
        if u.ndim != 2 or len(u) != len(rows) or not ((u >= 0.0) & (u <= 1.0)).all():
            raise ValueError(
                f"`model` must map {len(rows)} rows to as many rows of numbers in [0, 1], got shape {u.shape} or "
                "numbers elsewhere. Check its distribution function at these rows."
            )
        return u

    def limits(self, columns: int) -> tuple[Floats, Floats]:
        """The mean features under the model, (v, 6), and how far the truth may be from them, (6,): 0."""
        return np.zeros((columns, FREQUENCIES.size)), np.zeros(FREQUENCIES.size)


@dataclass(frozen=True, eq=False)
class DrawnColumns:
    r"""Columns of a model that is known by draws: a tenth of the draws gives empirical distribution functions, the others
    the means of the features under the model, which Hoeffding's inequality brackets

    .. math:: \big| \hat c_{jk} - E_P \varphi_k(u_j) \big| \le \sqrt{2/k} \sqrt{2 \log(2 \cdot 6 v/\delta)/m}, \qquad
       \delta = .001 \text{ for all at once}.

    With more than one column the last of the v = d + 1 is the whole row, by Σⱼ zⱼ² of standardized columns.

    Examples
    --------
    >>> columns = DrawnColumns.from_draws(np.random.default_rng(0).normal(size=(20_000, 1)))
    >>> columns(np.array([[0.0], [9.0]])).round(2).ravel()
    array([0.5, 1. ])
    """

    location: Floats
    scale: Floats
    knots: Floats
    center: Floats
    reach: Floats
    state: ClassVar[tuple[str, ...]] = ("location", "scale", "knots", "center", "reach")

    @classmethod
    def from_draws(cls, draws: Floats) -> DrawnColumns:
        """The columns of a model from independent draws (m, d)."""
        cut = max(2, int(_CUT_SHARE * len(draws)))
        low, location, high = np.quantile(draws[:cut], [0.25, 0.5, 0.75], axis=0)
        scale = np.where(high > low, high - low, 1.0)
        seen = _views(draws[:cut], location, scale)
        knots = np.quantile(seen, np.arange(1, KNOTS + 1) / (KNOTS + 1), axis=0)
        nothing = np.empty(0)
        center, reach = cls(location, scale, knots, nothing, nothing).measure(draws[cut:])
        return cls(location, scale, knots, center, reach)

    def __call__(self, rows: Floats) -> Floats:
        """u (n, v): the share of knots at or below each view of a row."""
        views = _views(rows, self.location, self.scale)
        ranks = [np.searchsorted(self.knots[:, j], view, side="right") for j, view in enumerate(views.T)]
        return (np.stack(ranks, axis=1) + 0.5) / (len(self.knots) + 1)

    def limits(self, columns: int) -> tuple[Floats, Floats]:
        """The mean features of the draws, (v, 6), and how far the truth may be from them, (6,)."""
        return self.center, self.reach

    def measure(self, draws: Floats) -> tuple[Floats, Floats]:
        """Mean features of other draws (m, d), and by how much they may miss."""
        center = np.sum([cosines(self(part)).sum(axis=0) for part in np.array_split(draws, 20)], axis=0) / len(draws)
        chance = math.log(2.0 * center.size / _MISS)
        return center, np.sqrt(2.0 / FREQUENCIES) * math.sqrt(2.0 * chance / len(draws))


def _views(rows: Floats, location: Floats, scale: Floats) -> Floats:
    """The columns of the rows, and where there are several the size of the whole row, (n, v)."""
    if rows.shape[1] == 1:
        return rows
    with np.errstate(over="ignore"):
        return np.column_stack([rows, np.sum(((rows - location) / scale) ** 2, axis=1)])
