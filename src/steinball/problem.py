"""What is tested: rows and a model, checked once, brought to where they are compared, under one Stein kernel."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import (
    Array,
    Floats,
    as_number,
    as_samples,
    as_second_samples,
    computed,
    is_small_jax,
    like,
    namespace,
    private_copy,
    take_rows,
    to_host,
)
from steinball.jumps.offset import as_jumps
from steinball.kernels.bandwidth import median_of_checked, standard_distance
from steinball.kernels.base import Kernel
from steinball.kernels.radial import InverseMultiquadric
from steinball.models.base import JaxModel, Model, evaluate_score, from_scores, keepable, model_at, score_of
from steinball.models.base_map import Move
from steinball.models.base_space import as_tested
from steinball.models.knowledge import Knowledge
from steinball.models.reference import Reference, known_of
from steinball.models.standardized import standardized
from steinball.models.support import Support, place
from steinball.regions.grid import find_grid
from steinball.stein import SteinKernel, SteinPoints, center_of
from steinball.tau.edges import check_edges
from steinball.tau.tilting import choose_tilt
from steinball.tilts import Tilt

_DRAWS = 512
_FAR = 1e40
_NONE: NDArray[np.intp] = np.empty(0, dtype=np.intp)
T = TypeVar("T")


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
    >>> Rows.of([0.0, 2.0], Gaussian(3.0)).pose(None, tilt=None).stein.kernel.lengthscale
    2.0
    """

    samples: Array
    model: Model
    given: Array | None = None
    excluded: NDArray[np.intp] = field(default_factory=_NONE.copy)
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
        given = computed(as_samples(x))
        model = as_tested(model, given, base)
        samples = given
        if is_small_jax(given):
            samples, model = to_host(given), _in_numpy(model, given)
        found = cls(samples, model, given, predictable=predictable)._within(outside)
        moves = None if jumps is None else as_jumps(jumps, model, found.samples)
        if moves is not None:
            below = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 1))
            moved = moves.move(private_copy(found.samples), model, below)
            checked = as_second_samples(moved, found.samples, "jumps.move(samples, model, seed)")
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

    def _within(self, outside: str) -> Rows:
        """The rows inside the support of the model, and in base space where the model asks for that."""
        known = Knowledge(self.model)
        move = known.move
        support = known.support if move is None else move.support
        samples, excluded, remarks = self.samples, self.excluded, self.remarks
        if support is not None:
            samples, excluded, remarks = place(samples, support, outside, _steps)
        if move is None:
            return dataclasses.replace(self, samples=samples, excluded=excluded, remarks=remarks)
        told = {**remarks, "tested in": move.label} if move.label else remarks
        return dataclasses.replace(self, samples=move(samples), excluded=excluded, moves=(move,), remarks=told)

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

    def in_users_library(self, values: Array) -> Array:
        """Computed values, (n,), in the library of the user's rows."""
        return like(values, self.template) if is_small_jax(self.template) else values

    def computed_like(self, other: Array) -> Array:
        """Other samples of the user's library, in the library in which these are computed."""
        return to_host(other) if is_small_jax(self.template) else other

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
        support = self.original_support
        there: Array = to_host(places) if support is None else support.off_edges(to_host(places))
        for move in self.moves:
            there = move(there)
        return like(there, self.samples)

    def original_draws(self, n: int) -> Floats | None:
        """Draws of the model in the user's coordinates, at most ``n`` of its reference."""
        model = self.original_model
        found = Reference.of(model, self.samples) if Knowledge(model).evaluable else None
        return found.draws[:n] if found is not None and found.draws.shape[1] == self.original.shape[1] else None

    # Kernel and tilt.

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
        if not isinstance(kernel, Kernel):
            raise TypeError(
                f"`kernel` must be a kernel of `steinball.kernels`, e.g. InverseMultiquadric(1.0), got {kernel!r}."
            )
        chosen = self._tilt(tilt, kernel)
        if Knowledge(self.model).support is not None:
            check_edges(chosen, self.model, self.samples)
        return SteinKernel(kernel, chosen)

    def _tilt(self, tilt: Tilt | str | None, kernel: Kernel) -> Tilt | None:
        if isinstance(tilt, str):
            if tilt != "auto":
                raise ValueError(f'`tilt` must be a tilt, None or "auto", got {tilt!r}.')
            if self.by_data or Knowledge(self.model).support is not None:
                return choose_tilt(self._around(), self.model, kernel)
            return self._kept_tilt(kernel)
        if not (tilt is None or isinstance(tilt, Tilt)):
            raise TypeError(
                f"`tilt` must be a tilt of `steinball.tilts`, e.g. PolynomialTilt(), or None, got {tilt!r}."
            )
        return tilt

    def _kept_tilt(self, kernel: Kernel) -> Tilt | None:
        """The tilt for a model that tells its own place, chosen once; a power of the density holds the model."""
        key = "tilt", kernel, self.predictable, int(self.samples.shape[1])

        def choose() -> tuple[Tilt | None] | None:
            found = choose_tilt(self._around(), self.model, kernel)
            return None if Knowledge(found).log_density is not None else (found,)

        kept = known_of(self.model, key, choose, self.samples) if self._placed else None
        return choose_tilt(self._around(), self.model, kernel) if kept is None else kept[0]

    @property
    def _placed(self) -> bool:
        """Whether the model itself says where it lies."""
        known = Knowledge(self.model)
        return known.sampler is not None or known.place is not None

    def fixes(self, kernel: Kernel | None, tilt: Tilt | str | None) -> bool:
        """Whether a kernel and tilt asked for in these words owe nothing to the samples."""
        known = Knowledge(self.model)
        placed = not isinstance(tilt, str) or (
            self._placed and known.support is None
        )  # the samples say how wide an edge is
        return self.predictable or (placed and (kernel is not None or self.standard) and not self.by_data)

    @property
    def by_data(self) -> bool:
        """Whether the rows themselves say where they are tested."""
        return any(move.from_data for move in self.moves)

    def pose(self, kernel: Kernel | None, tilt: Tilt | str | None) -> Problem:
        """The problem of these rows under one kernel."""
        stein = self.choose(kernel, tilt)
        tilted = stein.tilt is not None and Knowledge(self.model).evaluable
        rows = self._within_reach() if tilted else self
        if rows.unstandardized is None:
            return Problem(stein, rows, evaluate_score(self.model, rows.samples))
        move: Any = rows.moves[-1]
        return Problem(stein, rows, move.pulled(evaluate_score(move.model, rows.unstandardized)))

    def _within_reach(self) -> Rows:
        """The same rows with those that are too far out to be squared moved in."""
        if self.unstandardized is None:
            return dataclasses.replace(self, samples=within_reach(self.samples))
        near = within_reach(self.unstandardized)
        if near is self.unstandardized:
            return self
        return dataclasses.replace(self, samples=self.moves[-1](near), unstandardized=near)

    def pose_all(self, kernels: Sequence[Kernel], tilt: Tilt | str | None) -> tuple[Problem, ...]:
        """One problem per kernel; the score is evaluated once, and an automatic tilt suits the kernel in the middle."""
        middle = self.pose(kernels[len(kernels) // 2], tilt)
        return tuple(middle.under(kernel) for kernel in kernels)

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
        return as_samples(like(found.draws[:_DRAWS], self.samples), "draws of the model")


@dataclass(frozen=True, eq=False)
class Problem:
    """One question: these rows, with these scores, against this model, under this Stein kernel.

    Parameters
    ----------
    stein : SteinKernel
        Kernel and tilt.
    rows : Rows
        Checked samples and their model, in the coordinates of the test.
    scores : (n, d) array
        The score of the model at the samples.
    """

    stein: SteinKernel
    rows: Rows
    scores: Array

    @classmethod
    def at_scores(cls, stein: SteinKernel, model: Model, samples: Array, scores: Array | None = None) -> Problem:
        """A problem of checked arrays; ``scores=None`` evaluates the model."""
        known = evaluate_score(model, samples) if scores is None else scores
        return cls(stein, Rows(samples, model), known)

    def __len__(self) -> int:
        return len(self.rows)

    def __getstate__(self) -> dict[str, Any]:
        """Without what a user's model may refuse: such a model is lost, its scores are not."""
        model, rows = keepable(self.model, self.samples, self.scores), self.rows
        if model is not self.model and rows.moves:
            first = keepable(rows.moves[0].model, self.samples, self.scores)
            rows = dataclasses.replace(rows, moves=(dataclasses.replace(rows.moves[0], model=first), *rows.moves[1:]))
        return {"stein": self.stein, "rows": dataclasses.replace(rows, model=model), "scores": self.scores}

    @property
    def samples(self) -> Array:
        """The rows in the coordinates of the test, (n, d)."""
        return self.rows.samples

    @property
    def model(self) -> Model:
        """The model in the coordinates of the test."""
        return self.rows.model

    @cached_property
    def known(self) -> Knowledge:
        """What the model knows of itself."""
        return Knowledge(self.model)

    @cached_property
    def points(self) -> SteinPoints:
        """The samples made ready for blocks."""
        with np.errstate(over="ignore", invalid="ignore"):  # overflow is an error of the Gram, by name
            return self.stein.prepare(self.samples, self.scores, center_of(self.samples))

    @cached_property
    def host_samples(self) -> Floats:
        """The samples as NumPy float64."""
        return to_host(self.samples)

    @cached_property
    def diagonal(self) -> Array:
        """u(xᵢ, xᵢ), shape (n,)."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.stein.diagonal(self.samples, self.scores)

    @cached_property
    def reference(self) -> Reference | None:
        """4,096 draws of the model and their scores, made once per model; ``None`` where it cannot be drawn from."""
        found = Reference.of(self.model, self.samples)
        return found if found is not None and found.draws.shape[1] == self.samples.shape[1] else None

    @property
    def evaluable(self) -> bool:
        """Whether the score is known away from the samples."""
        return self.known.evaluable

    @property
    def unknown_elsewhere(self) -> str:
        """Why it is not, for an error."""
        return self.known.unknown_elsewhere

    @cached_property
    def support(self) -> Support | None:
        """The box in which the model lives, where it has an edge."""
        return self.known.support

    @cached_property
    def _found(self) -> dict[Hashable, Any]:
        return {}

    def once(self, name: Hashable, find: Callable[[], T]) -> T:
        """What ``find`` finds out about this problem, found out once."""
        if name not in self._found:
            self._found[name] = find()
        found: T = self._found[name]
        return found

    def kept(self, name: Hashable, find: Callable[[], T]) -> T:
        """What ``find`` finds out about model, kernel and tilt alone, found out once for all rows of a model.

        Where the rows say where they are tested, kernel and tilt are their own; a power of the density holds the model.
        """
        if self.rows.by_data or Knowledge(self.stein.tilt).log_density is not None:
            return find()
        return known_of(self.model, (name, self.stein, int(self.samples.shape[1])), find, self.samples)

    def under(self, kernel: Kernel) -> Problem:
        """The same rows under another kernel and the same tilt."""
        return dataclasses.replace(self, stein=SteinKernel(kernel, self.stein.tilt))

    def at(self, samples: Array) -> Problem:
        """The same question about other samples of the same array library, in the coordinates of the test."""
        return Problem.at_scores(self.stein, self.model, samples)

    def at_places(self, samples: Array) -> Problem:
        """The same question about samples in the user's coordinates."""
        return self.at(self.rows.tested(to_host(samples)) if self.rows.moves else like(samples, self.samples))

    def take(self, rows: NDArray[np.integer], host: bool = False) -> Problem:
        """The same question about some of the rows; ``host``: as NumPy arrays."""
        parts = (take_rows(array, rows) for array in (self.samples, self.scores))
        samples, scores = (to_host(part) for part in parts) if host else parts
        return Problem.at_scores(self.stein, self.model, samples, scores)

    def diagonal_at(self, x: Floats) -> Floats:
        """u(x, x) at rows of ``x`` (m, d), on the host; NaN where the model gives no finite score or is not."""
        inside = x if self.support is None else self.support.off_edges(x)
        there = like(inside, self.samples)
        scores = score_of(self.model, there)
        values = to_host(self.stein.diagonal(there, namespace(there).reshape(scores, x.shape)))
        return values if self.support is None else np.where(self.support.outside(x), np.nan, values)

    def efficiency(self, tau: float) -> float:
        """E u(X, X) / τ: the share of a point's largest possible weight that an ordinary point has.

        Under the model where it can be drawn from, otherwise over the samples. A value near 1 wastes nothing; one near
        0 says that the radius is set by points that neither model nor data show.

        Examples
        --------
        >>> from steinball.models import Gaussian
        >>> from steinball.tilts import PolynomialTilt
        >>> narrow = Gaussian(0.0, 0.01)
        >>> round(pose([0.0, 0.1], narrow, InverseMultiquadric(0.1), PolynomialTilt()).efficiency(10000.0), 2)
        0.02
        """
        tau, found = as_number(tau, "tau", low=0.0, open_low=True), self.diagonal_at_reference()
        return (float(to_host(self.diagonal).mean()) if found is None else found[0]) / tau

    def diagonal_at_reference(self) -> tuple[float, float] | None:
        """Mean and largest finite value of u(x, x) at the draws of the reference; ``None`` where there are none, or a
        score is not finite. The mean is NaN where a draw lies outside the support."""

        def find() -> tuple[float, float] | None:
            found = self.reference
            if found is None or found.scores is None:
                return None
            values = np.asarray(self.stein.diagonal(found.draws, found.scores))
            return float(values.mean()), float(values[np.isfinite(values)].max(initial=0.0))

        return self.kept("diagonal", find)


def in_no_coordinates(kernel: Any, tilt: Any, tau: Any = "auto") -> bool:
    """Whether nothing that a user asked for is stated in the coordinates of the data."""
    return kernel is None and not isinstance(tilt, Tilt) and (tau is None or isinstance(tau, str))


def pose(x: Any, model: Any, kernel: Kernel | None = None, tilt: Tilt | str | None = None) -> Problem:
    """Everything that a user may pass, checked and put together; see :meth:`Rows.choose` for the defaults.

    In the precision of the samples, whatever it is: tests choose theirs in :meth:`Rows.of`.
    """
    samples = as_samples(x)
    model = model_at(model, samples)
    rows = Rows(samples, model, samples)
    return (rows if Knowledge(model).move is None else rows._within("error")).pose(kernel, tilt)


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
