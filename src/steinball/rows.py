"""Rows and their model, checked once, and brought to where they are compared."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball import arrays
from steinball.arrays import Array, Floats, check_kind, like, namespace, to_host
from steinball.jumps.modes import as_jumps
from steinball.kernels.base import Kernel, median_of_checked, standard_distance
from steinball.kernels.radial import InverseMultiquadric
from steinball.models.base import JaxModel, Model, evaluate_score, from_scores, model_at
from steinball.models.base_space import as_tested
from steinball.models.knowledge import Knowledge
from steinball.models.reference import Reference, known_of
from steinball.models.standardized import standardized
from steinball.models.support import Move, Support, off_edges, place
from steinball.regions.source import find_grid, spread_over_cells
from steinball.stein import SteinKernel, center_of
from steinball.tau.search import Cloud
from steinball.tau.tilting import check_edges, choose_tilt
from steinball.tilts import Tilt

MOST_COLUMNS = 100_000
"""Columns that are tested: of more, the draws of the model alone do not fit into memory."""

_DRAWS = 512
_FAR = 1e40


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows and the model that they are tested against, in the coordinates of the test, and how the rows came there.

    Parameters
    ----------
    samples : (n, d) array
        The rows in the coordinates of the test, without those that the model excludes; where ``predictable``, only
        their library and number of columns are looked at.
    model : Model
        The model in the same coordinates.
    given : (n, d) array, optional
        All rows as the user passed them; by default ``samples``.
    excluded : (m,) integers
        Places, among all rows, of those outside the support of the model.
    moves : tuple of Move
        How places of the user's coordinates come to those of the test.
    remarks : dict
        What a result says of the rows.
    predictable : bool
        Whether kernel and tilt must not look at the samples: then they are taken from the model.
    standard : bool
        Whether the coordinates of the test are such that the model spreads as N(0, I) does: then the length scale is
        that of N(0, I), fixed in advance.
    unstandardized : (n, d) array, optional
        The samples before the last move, where that standardized them: the score of the model is evaluated there.

    Examples
    --------
    >>> from steinball.models import Gaussian
    >>> Rows.of([0.0, 2.0], Gaussian(3.0)).choose(None, tilt=None).kernel.lengthscale
    2.0
    """

    samples: Array
    model: Model
    given: Array | None = None
    excluded: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    moves: tuple[Move, ...] = ()
    remarks: dict[str, Any] = field(default_factory=dict)
    predictable: bool = False
    standard: bool = False
    unstandardized: Array | None = None

    @classmethod
    def of(
        cls,
        x: Any,
        model: Any,
        *,
        predictable: bool = False,
        jumps: Any = None,
        seed: Any = None,
        outside: str = "error",
        base: bool = False,
        standardize: bool = False,
    ) -> Rows:
        """What a user passed, checked once; ``jumps`` move the samples, by random numbers below ``seed``.

        ``base`` says that nothing else was asked for in the coordinates of the data, so that a model that is better
        tested in base space may be; ``standardize`` that others are tested in standardized coordinates.
        """
        given = arrays.computed(arrays.as_samples(x))
        if given.shape[1] > MOST_COLUMNS:
            raise ValueError(
                f"`samples` has {given.shape[1]:,} columns, and at most {MOST_COLUMNS:,} are tested. Rows are "
                "observations: if yours are columns, pass the transpose; otherwise test fewer columns."
            )
        model = as_tested(model, given, base)
        samples = given
        if arrays.is_small_jax(given):
            samples, model = to_host(given), _in_numpy(model, given)
        found = cls(samples, model, given, predictable=predictable).within(outside)
        moves = None if jumps is None else as_jumps(jumps, model, found.samples)
        if moves is not None:
            below = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 1))
            moved = moves.move(arrays.private_copy(found.samples), model, below)
            checked = arrays.as_second_samples(moved, found.samples, "jumps.move(samples, model, seed)")
            found = dataclasses.replace(found, samples=checked)
        return found.standardized() if standardize else found

    def standardized(self) -> Rows:
        """The same rows where neither units nor correlations matter, as far as model or data tell these.

        Base space is such a place already.
        """
        found = None if self.moves else standardized(self.model, self.samples, look=not self.predictable)
        if found is None or found[1].is_identity:
            return dataclasses.replace(self, standard=found is not None or bool(self.moves))
        model, move = found
        moved = {"samples": move(self.samples), "unstandardized": self.samples, "model": model, "moves": (move,)}
        return dataclasses.replace(self, standard=True, remarks={**self.remarks, "tested in": move.label}, **moved)

    def within(self, outside: str) -> Rows:
        """The rows inside the support of the model, and in base space where the model asks for that."""
        known = Knowledge(self.model)
        move = known.move
        support = known.support if move is None else move.support
        samples, excluded, remarks = place(self.samples, support, outside, _steps)
        if move is None:
            return dataclasses.replace(self, samples=samples, excluded=excluded, remarks=remarks)
        told = {**remarks, "tested in": move.label} if move.label else remarks
        samples = self._spread_over_cells(move, move(samples), excluded)
        return dataclasses.replace(self, samples=samples, excluded=excluded, moves=(move,), remarks=told)

    def _spread_over_cells(self, move: Move, mapped: Array, excluded: NDArray[np.intp]) -> Array:
        """The ``mapped`` rows, those of one rounded column in base space at random places of their cells."""
        if not self.in_base_space or mapped.shape[1] > 1:
            return mapped
        x = np.delete(to_host(self.samples), excluded, axis=0)
        ends = (move.support or Support.of((None, None))).along(1)
        return like(spread_over_cells(x, to_host(mapped), ends, move.model.to_base), mapped)

    def __len__(self) -> int:
        return int(self.samples.shape[0])

    @property
    def n(self) -> int:
        """Number of rows, those that the model excludes among them."""
        return len(self) + len(self.excluded)

    @property
    def kept(self) -> NDArray[np.intp]:
        """Places of the rows that are tested among all."""
        return np.setdiff1d(np.arange(self.n), self.excluded)

    @property
    def template(self) -> Array:
        """An array of the library that the user passed."""
        return self.samples if self.given is None else self.given

    # In the user's coordinates.

    @cached_property
    def original(self) -> Floats:
        """The tested rows as the user passed them, (n, d) on the host."""
        given = to_host(self.template)
        return np.delete(given, self.excluded, axis=0) if len(self.excluded) else given

    @property
    def original_model(self) -> Any:
        """What the rows are tested against, in the user's coordinates."""
        return self.moves[0].model if self.moves else self.model

    @property
    def original_support(self) -> Support | None:
        """The box in which the model lives in the user's coordinates, where it has an edge."""
        return self.moves[0].support if self.moves else Knowledge(self.model).support

    @property
    def in_base_space(self) -> bool:
        """Whether the rows are tested in base space."""
        return Knowledge(self.model).base_map is not None

    @property
    def stretch(self) -> float:
        """How many times as large distances of the user's coordinates are in those of the test, at most."""
        return math.prod(move.stretch for move in self.moves)

    @property
    def score_stretch(self) -> float:
        """How many times as large scores of the user's coordinates are in those of the test, at most."""
        return math.prod(move.score_stretch for move in self.moves)

    def tested(self, places: Floats) -> Array:
        """Places of the user's coordinates, (m, d), where the test sees them, in the library of the samples.

        Places on an edge are moved off it.
        """
        there: Array = off_edges(to_host(places), self.original_support)
        for move in self.moves:
            there = move(there)
        return like(there, self.samples)

    def original_draws(self, n: int) -> Floats | None:
        """Draws of the model in the user's coordinates, at most ``n`` of its reference."""
        model = self.original_model
        found = Reference.of(model, self.samples) if Knowledge(model).evaluable else None
        return found.draws[:n] if found is not None and found.draws.shape[1] == self.original.shape[1] else None

    # Kernel and tilt.

    @cached_property
    def cloud(self) -> Cloud:
        """Where the samples lie."""
        return Cloud.of(to_host(self.samples), Knowledge(self.model).support)

    def median_distance(self) -> float:
        """The median distance between samples; where they must not be looked at, between draws of the model; in
        standardized coordinates that of a normal distribution, which is fixed in advance."""
        if self.standard:
            return standard_distance(int(self.samples.shape[1]))
        if self.predictable:
            return median_of_checked(self._draws("kernel", "InverseMultiquadric(1.0)"))
        return median_of_checked(self.samples)

    def choose(self, kernel: Kernel | None, tilt: Tilt | str | None) -> SteinKernel:
        """The kernel and tilt that a user asked for.

        ``kernel=None`` is the inverse multiquadric at the median distance; ``tilt="auto"`` is centered and scaled by
        the model where it knows how, for a large E u/τ (:func:`~steinball.tau.tilting.choose_tilt`), otherwise by
        robust statistics of the data; ``tilt=None`` is no tilt.
        """
        kernel = InverseMultiquadric(self.median_distance()) if kernel is None else kernel
        check_kind(kernel, Kernel, "kernel", "a kernel of `steinball.kernels`, e.g. InverseMultiquadric(1.0)")
        chosen = self._automatic_tilt(tilt, kernel) if isinstance(tilt, str) else tilt
        if chosen is not None:
            check_kind(chosen, Tilt, "tilt", "a tilt of `steinball.tilts`, e.g. PolynomialTilt(), or None")
        if Knowledge(self.model).support is not None:
            check_edges(chosen, self.model, self.samples)
        return SteinKernel(kernel, chosen)

    def _automatic_tilt(self, word: str, kernel: Kernel) -> Tilt | None:
        """The tilt for ``"auto"``; for a model that tells its own place it is chosen once."""
        if word != "auto":
            raise ValueError(f'`tilt` must be a tilt, None or "auto", got {word!r}.')

        def choose() -> Tilt | None:
            far_out = None if self.predictable else lambda: self.cloud.decades
            return choose_tilt(self._around(), self.model, kernel, far_out)

        def choose_once() -> tuple[Tilt | None] | None:  # a power of the density holds the model, and is not kept
            found = choose()
            return None if Knowledge(found).log_density is not None else (found,)

        key = "tilt", kernel, self.predictable, int(self.samples.shape[1])
        known = known_of(self.model, key, choose_once, self.samples) if self._placed and not self.by_data else None
        return choose() if known is None else known[0]

    @cached_property
    def _placed(self) -> bool:
        """Whether the model itself says where it lies; how wide an edge is, the samples say."""
        known = Knowledge(self.model)
        return known.support is None and (known.sampler is not None or known.place is not None)

    def fixes(self, kernel: Kernel | None, tilt: Tilt | str | None) -> bool:
        """Whether a kernel and tilt asked for in these words owe nothing to the samples."""
        placed = self._placed or not isinstance(tilt, str)
        return self.predictable or (placed and (kernel is not None or self.standard) and not self.by_data)

    @property
    def by_data(self) -> bool:
        """Whether the rows themselves say where they are tested."""
        return any(move.from_data for move in self.moves)

    def within_reach(self) -> Rows:
        """The same rows with those that are too far out to be squared moved in."""
        passed = self.samples if self.unstandardized is None else self.unstandardized
        if (near := within_reach(passed)) is passed:
            return self
        if passed is self.samples:
            return dataclasses.replace(self, samples=near)
        return dataclasses.replace(self, samples=self.moves[-1](near), unstandardized=near)

    def _around(self) -> Array:
        """Points that an automatic tilt may look at where the model does not know its own place."""
        if not self.predictable:
            return self.samples
        known = Knowledge(self.model)
        if known.support is not None:
            return self._draws("tilt", "EdgeTilt(low=0.0, scale=1.0)")
        if known.place is not None:
            return self.samples[:1, :]
        return self._draws("tilt", "PolynomialTilt(center=0.0, scale=1.0)")

    def _draws(self, name: str, example: str) -> Array:
        found = Reference.of(self.model, self.samples)
        if found is None:
            raise ValueError(
                f"this test must not choose its {name} from the data, and the model has no `sample` to "
                f"choose it from. Give one: `{name}={example}`."
            )
        return arrays.as_samples(like(found.draws[:_DRAWS], self.samples), "draws of the model")


def in_no_coordinates(kernel: Any, tilt: Any, tau: Any = "auto") -> bool:
    """Whether nothing that a user asked for is stated in the coordinates of the data."""
    return kernel is None and not isinstance(tilt, Tilt) and (tau is None or isinstance(tau, str))


def _in_numpy(model: Model, samples: Array) -> Model:
    """The model for samples of JAX that are computed in NumPy, since they are few."""
    known = Knowledge(model)
    if not known.evaluable:
        return model_at(from_scores(to_host(evaluate_score(model, samples))), to_host(samples))
    return model if known.takes_numpy else JaxModel(model, samples[:1, :])


def _steps(x: Floats) -> Floats:
    """The steps of the grids that the columns of (n, d) were rounded to; 0 where they were not."""
    found = find_grid(x)
    return np.zeros(x.shape[1]) if found is None else found.step


def within_reach(samples: Array) -> Array:
    """The samples, with points so far out that squares overflow moved toward the center, to 10⁴⁰ times its spread.

    A tilted feature has come to its limit along that ray long before, up to a share of 10⁻⁴⁰: the point stays the
    outlier that it is.
    """
    xp = namespace(samples)
    if float(xp.max(xp.abs(samples))) < _FAR:
        return samples
    center = center_of(samples)
    sizes = xp.max(xp.abs(samples - center), axis=1)
    ordinary = float(xp.sort(sizes)[sizes.shape[0] // 2]) or 1.0
    factor = xp.clip(_FAR * ordinary / xp.where(sizes > 0.0, sizes, xp.ones_like(sizes)), max=1.0)
    return center + (samples - center) * factor[:, None]
