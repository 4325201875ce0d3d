"""Why the data lie as far from a model as they do: points, coordinates and places, where the witness is largest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import steinball.explain.influence as influence
from steinball.arrays import Floats, check_resamples, to_host
from steinball.evidence.base import PairSums
from steinball.explain.influence import Influence
from steinball.frames import Labels, labels_of
from steinball.text import Row, Summarized, count, number, percent, render

_DRAWS, _GRID = 512, 201
_ENTRIES_AT_ONCE = 2**21


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
        return self._inside(influence.as_places(problem, grid, "grid"))

    def _inside(self, places: Floats) -> Floats:
        """f where the model has a density, NaN elsewhere."""
        values, support = np.full(len(places), np.nan), self.sums.problem.rows.original_support
        inside = np.ones(len(places), dtype=bool) if support is None else ~support.outside(places)
        if inside.any():
            values[inside] = self._values(places[inside])
        return values

    def _values(self, places: Floats) -> Floats:
        problem, many = self.sums.problem, 1 + len(places) * len(self.sums) // _ENTRIES_AT_ONCE
        parts = (influence.points_at(problem, problem.rows.tested(part)) for part in np.array_split(places, many))
        sums = [to_host(problem.stein.block(part, problem.points)).sum(axis=1) for part in parts]
        return np.concatenate(sums) / (len(self.sums) * (self.sums.length or 1.0))

    def places(self) -> tuple[Floats, Floats]:
        """Where f is largest and smallest, over the data and, where the model can be sampled, over draws of it."""
        at, values = self.sums.problem.rows.original, self.sums.row_means[self.sums.rows] / (self.sums.length or 1.0)
        draws = self.sums.problem.rows.original_draws(_DRAWS)
        if draws is not None:
            at, values = np.vstack([at, draws]), np.concatenate([values, self._inside(draws)])
        return at[np.nanargmax(values)], at[np.nanargmin(values)]


def _range(column: Floats) -> Floats:
    """From below nearly all of the data to above them: a far point must not stretch the picture."""
    low, high = np.quantile(column, [0.01, 0.99])
    room = 0.25 * (high - low) or 1.0
    return np.linspace(low - room, high + room, _GRID)


OUTSIDE = "outside the support of the model"
"""What is said of a point that the model excludes, in place of its values."""

_COLUMNS, _LISTED = 3, 5


@dataclass(frozen=True, eq=False, kw_only=True)
class Explanation(Summarized):
    """Which points, coordinates and places the distance D of the data from the model is made of.

    It describes this sample under the kernel of the test, where there are several under the leading one; it is not a
    confidence statement.

    Attributes
    ----------
    points : array of int
        Rows of the data, the most responsible for D first; at most ``top`` of them.
    contributions : (n,) array
        What each point adds to D²; they sum to D², and some may be negative.
    far : array of int
        Points with hardly another one near them, the farthest first. To a tilted test such a point is nearly orthogonal
        to all others and adds little to D however wrong it is, so that it need not be among ``points``.
    influence : Influence
        D without each point, and the points without which the decision would be the other one.
    coordinates : (d,) array
        The share of each coordinate in D²; they sum to 1. In base space: the part of each column that those before it
        leave open, and of a flow the coordinates of its noise.
    names : tuple of str
        The names of the columns.
    ids : tuple of str
        The names of all rows; empty where the data have none.
    surplus, lack : (d,) arrays
        Where the data are most in excess of the model, and where most is lacking, among the data and draws of the
        model.
    rejected : bool
        The decision.
    ksd : float
        D.
    samples : (n, d) array
        The data, in their own coordinates also where they were tested in base space; NaN where the model excludes a
        point.
    witness : SteinWitness
        The function that tells data from model: ``witness(grid)`` is positive where there are more data than the model
        expects, negative where there are fewer, and NaN outside the support.

    Examples
    --------
    >>> import steinball as sb
    >>> x = np.random.default_rng(0).normal(size=100)
    >>> x[:10] = 4.0
    >>> found = sb.robust_ksd_test(x, sb.models.Gaussian(), 0.02, rng=0).explain(top=10)
    >>> sorted(found.points.tolist()), bool(np.isclose(found.contributions.sum(), found.ksd**2))
    ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], True)
    """

    points: NDArray[np.intp]
    contributions: Floats = field(repr=False)
    far: NDArray[np.intp]
    influence: Influence = field(repr=False)
    coordinates: Floats
    names: tuple[str, ...]
    ids: tuple[str, ...] = field(default=(), repr=False)
    surplus: Floats = field(repr=False)
    lack: Floats = field(repr=False)
    rejected: bool
    ksd: float
    samples: Floats = field(repr=False)
    witness: SteinWitness = field(repr=False)

    @cached_property
    def improbable(self) -> NDArray[np.intp]:
        """Rows where the model has next to nothing, the least probable first: by integrals of the score along lines
        (:func:`steinball.explain.influence.improbable_rows`). Empty where they cannot be found so."""
        sums = self.witness.sums
        return np.asarray(sums.rows[influence.improbable_rows(sums.problem)])

    def witness_along(self, j: int | str) -> tuple[Floats, Floats]:
        """A grid of one coordinate, by number or name, and the witness on it, through the median of the data."""
        d = len(self.names)
        if not (j in self.names if isinstance(j, str) else -d <= j < d):
            raise ValueError(f"`j` must be one of the {d} coordinates or its name, got {j!r}.")
        j, x = self.names.index(j) if isinstance(j, str) else j, self.witness.sums.problem.rows.original
        grid = _range(x[:, j])
        places = np.tile(np.median(x, axis=0), (len(grid), 1))
        places[:, j] = grid
        return grid, self.witness(places)

    def label(self, row: int) -> str:
        """What a row is called."""
        return Labels(self.names, self.ids).row(row)

    def shares(self, rows: NDArray[np.intp]) -> Floats:
        """The contributions of some points as shares of their sum over all."""
        total = float(self.contributions.sum())
        return np.asarray(self.contributions[rows] / total if total > 0.0 else np.zeros(len(rows)))

    def summary(self) -> str:
        """A table of the points, and the coordinates and places in words."""
        ksd = self.influence.ksd
        rows: list[Row] = [
            (self.label(i), f"{percent(share)} of D²", f"D = {number(ksd[i])} without it; {self._values(i)}")
            for i, share in zip(self.points.tolist(), self.shares(self.points), strict=True)
        ]
        why = "Why the data were rejected", "What the data's distance from the model is made of"
        return render(why[0] if self.rejected else why[1], rows, "\n".join(self._sentences()))

    def _largest_columns(self, most: int = _COLUMNS) -> list[int]:
        """The coordinates to show, the largest share first."""
        return [int(j) for j in np.argsort(-self.coordinates, kind="stable")[:most]]

    def _values(self, i: int) -> str:
        if np.isnan(self.samples[i]).any():
            return OUTSIDE
        parts = [f"{self.names[j]}={number(self.samples[i, j])}" for j in self._largest_columns()]
        return ", ".join(parts) + ", …" * (len(self.names) > _COLUMNS)

    def _sentences(self) -> list[str]:
        listed = self._largest_columns(_LISTED)
        shares = ", ".join(f"{self.names[j]} {percent(float(self.coordinates[j]))}" for j in listed)
        parts = f"; by coordinate{self._in_space}: {shares}" if len(self.coordinates) > 1 else ""
        surplus, lack = self._place_words(self.surplus), self._place_words(self.lack)
        found = [f"D = {number(self.ksd)}{parts}.", f"Too many points near {surplus}, too few near {lack}."]
        if len(single := self.influence.flips):
            found.append(f"Without any single one of {self._named(single)} the decision would be the other one.")
        if len(rows := self.improbable):
            found.append(f"Where the model has next to nothing: {self._named(rows)}.")
        if len(self.far):
            share = percent(float(self.shares(self.far).sum()))
            found.append(f"Far from all others{self._in_space}: {self._named(self.far)}, {share} of D² together.")
        return found

    @property
    def _in_space(self) -> str:
        """Where distances were measured, where that is not in the coordinates of the data."""
        return " in base space" if self.witness.sums.problem.rows.in_base_space else ""

    def _named(self, rows: NDArray[np.intp]) -> str:
        named = ", ".join(self.label(i) for i in rows[:_LISTED].tolist()) + ", …" * (len(rows) > _LISTED)
        return f"{count(len(rows), 'point')} ({named})"

    def _place_words(self, place: Floats) -> str:
        inside = ", ".join(number(value) for value in place[:_COLUMNS]) + ", …" * (len(place) > _COLUMNS)
        return inside if len(place) == 1 else f"({inside})"

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary for JSON: of the listed points all, of the others nothing."""
        shares, names = self.coordinates.tolist(), list(self.names)
        told: dict[str, Any] = {"schema": "steinball.explanation/2", "rejected": self.rejected, "ksd": self.ksd}
        told |= {name: [self._point(i) for i in vars(self)[name].tolist()] for name in ("points", "far")}
        told |= {"improbable": self.improbable.tolist(), "flips": self.influence.flips.tolist(), "names": names}
        told["coordinates"] = dict(zip(names, shares, strict=True)) if len(set(names)) == len(names) else shares
        return told | {name: vars(self)[name].tolist() for name in ("surplus", "lack")}

    def _point(self, i: int) -> dict[str, Any]:
        values = None if np.isnan(self.samples[i]).any() else self.samples[i].tolist()
        told = {"row": i, "id": self.label(i), "contribution": float(self.contributions[i]), "values": values}
        return told | {"share": float(self.shares(np.array([i]))[0]), "ksd_without": float(self.influence.ksd[i])}


def explain(
    kernels: Sequence[PairSums], rejected: bool, data: Any = None, top: int = 10, columns: tuple[str, ...] = ()
) -> Explanation:
    """Which points, coordinates and places the distance of the data from the model is made of.

    Parameters
    ----------
    kernels : sequence of PairSums
        The sums over pairs of a kernel Stein test, the leading kernel first, which is explained.
    rejected : bool
        The decision.
    columns : tuple of str
        What the columns are called where ``data`` does not say.
    data : frame, optional
        The frame that was tested, for the names of its columns and rows. Columns that were not tested may be there.
    top : int
        How many points to list.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import steinball as sb
    >>> rng = np.random.default_rng(0)
    >>> x, moved = rng.normal(size=(300, 2)), rng.choice(300, 40, replace=False)
    >>> x[moved] = [0.5, 4.0]
    >>> result = sb.robust_ksd_test(x, sb.models.Gaussian([0.0, 0.0]), contamination=0.02, rng=0)
    >>> found = result.explain(top=40)
    >>> set(found.points.tolist()) == set(moved.tolist()), found.names[found.coordinates.argmax()]
    (True, 'x2')
    """
    sums, top = kernels[0], check_resamples(top, "top")
    rows, n = sums.rows, len(sums)
    shown = sums.problem.rows.original
    labels = labels_of(data, shown, rows, n, columns)
    samples = np.full((n, len(labels.names)), np.nan)
    samples[rows] = shown
    witness = SteinWitness(sums)
    surplus, lack = witness.places()
    return Explanation(
        points=np.argsort(-sums.contributions, kind="stable")[:top],
        contributions=sums.contributions,
        far=rows[influence.far_points(sums.problem.host_samples)],
        influence=influence.leave_one_out(sums),
        coordinates=influence.coordinate_shares(sums.problem),
        names=labels.names,
        ids=labels.ids,
        surplus=surplus,
        lack=lack,
        rejected=rejected,
        ksd=sums.ksd,
        samples=samples,
        witness=witness,
    )
