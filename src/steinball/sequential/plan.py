"""What is fixed before a stream is tested or watched, and all that this room asks of models and results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import steinball.arrays as arrays
from steinball.arrays import Array, Floats
from steinball.calibration.betting import STRATEGIES
from steinball.explain.tolerance import conceding
from steinball.kernels.base import Kernel
from steinball.models.base import Model, evaluate_score, model_at
from steinball.models.base_space import bring_stream
from steinball.models.knowledge import Knowledge
from steinball.problem import Problem
from steinball.rows import Rows, in_no_coordinates
from steinball.sequential.bettor import Bettor, Direction, KeptPoints, WealthByShare
from steinball.stein import SteinKernel
from steinball.tau.supremum import find_supremum
from steinball.text import OF_DISTRIBUTION, decided, tolerated
from steinball.tilts import Tilt

DRAWS = 512
"""Draws of the model among which τ is first looked for."""


def as_rows(batch: Any, name: str, dimension: int | None) -> Array:
    """Rows (m, d) of a stream: numbers (m,) are m rows of one column, or one row where ``dimension`` is larger."""
    one = np.isscalar(batch) or (arrays.is_array(batch) and batch.ndim == 0)
    rows, shape = arrays.as_samples([batch] if one else batch, name, least=0), tuple(np.shape(batch))
    rows = rows.reshape((1, dimension)) if shape == (dimension,) else rows
    if dimension is not None and rows.shape[1] != dimension:
        raise ValueError(f"`{name}` must have {dimension} columns, got shape {shape}.")
    return rows


# What is asked of a model.


def dimension_of(model: Any, radius: Any) -> int | None:
    """The number of columns of a model that can be tested, where it says so."""
    if not Knowledge(model).evaluable or arrays.is_array_like(model):
        raise TypeError("`model` must have a score for points still to come: pass a score function, not an array.")
    if radius is not None and Knowledge(model).base_map is not None:
        raise ValueError("`radius` is a distance, which means nothing in base space; give `contamination`.")
    return Knowledge(model).dimension


def scored(model: Any, rows: Array) -> tuple[Model, Floats]:
    """The model for arrays of the library of ``rows``, and points (n, 2, d): rows where it is tested, and scores."""
    found = model_at(model, rows)
    rows = bring_stream(rows, found)
    return found, np.stack([arrays.to_host(rows), arrays.to_host(evaluate_score(found, rows))], axis=1)


def moved(points: Floats, move: Any) -> Floats:
    """Points (n, 2, d) in standardized coordinates, where there is a move into these."""
    return points if move is None else np.stack([move(points[:, 0]), move.pulled(points[:, 1])], axis=1)


def scores_at(model: Any, samples: Floats, template: Array) -> Floats:
    """Scores at samples where the model is tested, computed in the array library of ``template``."""
    return arrays.to_host(evaluate_score(model_at(model, template), arrays.like(samples, template)))


# What is said of a test.


def decision_of(rejected: bool, where: str, plan: Plan, bound: float) -> str:
    """The decision in words, and the share that is surely contaminated."""
    tolerance = tolerated(plan.contamination, plan.radius or 0.0)
    words = decided(rejected, f"{where}, at level {plan.level:g}", tolerance)
    return f"{words}\n{conceding(bound, plan.level, OF_DISTRIBUTION)}".rstrip()


# What a test is.


@dataclass(eq=False)
class Plan:
    """What the user asked for, checked, and later what was chosen for what was left open.

    The words are those of :class:`steinball.sequential.SequentialTest`.
    """

    kernel: Any
    tilt: Any
    tau: Any
    contamination: Any
    radius: Any
    level: float
    budget: int
    burn_in: int
    strategy: str
    standardize: bool = True

    def __post_init__(self) -> None:
        self.kernel, self.tilt = _as_kernels(self.kernel), _as_tilt(self.tilt)
        several = len(self.kernel or (None,))
        self.tau = _as_tau(self.tau, several)
        self.contamination, self.radius = _as_tolerance(self.contamination, self.radius, several)
        self.level, self.budget = arrays.check_level(self.level), arrays.check_resamples(self.budget, "budget")
        self.burn_in = arrays.check_resamples(self.burn_in, "burn_in", least=0)
        arrays.check_choice(self.strategy, "strategy", STRATEGIES)

    def chosen(self, model: Model, burnt: Floats, dimension: int) -> tuple[Plan, Any]:
        """The plan with kernels, tilt and τ by the model, or by points ``burnt`` (m, d) that are not bet on; and how
        points come into standardized coordinates, where they are tested there."""
        few = len(burnt) < 2
        subject = Rows(np.zeros((1, dimension)) if few else burnt, model, predictable=few)
        if self.standardize and self.radius is None and in_no_coordinates(self.kernel, self.tilt, self.tau):
            subject = subject.standardized()
        move = subject.moves[0] if subject.moves else None
        first = subject.choose((self.kernel or (None,))[0], self.tilt)
        found = replace(self, kernel=self.kernel or (first.kernel,), tilt=first.tilt)
        if isinstance(self.tau, str):
            burnt = burnt if move is None or not len(burnt) else move(burnt)
            found = replace(found, tau=found._bounds(subject.model, burnt, dimension))
        return found, move

    def _bounds(self, model: Model, burnt: Floats, dimension: int) -> tuple[float, ...]:
        """τ by a search that begins at draws, at burnt points, at the model's location, or at the origin."""
        known = Knowledge(model)
        starts = (known.draws(DRAWS), burnt if len(burnt) else None, known.location)
        points = next((np.atleast_2d(place) for place in starts if place is not None), np.zeros((1, dimension)))
        scores = evaluate_score(model, points)
        return tuple(_bound(self.tau, Problem.at_scores(stein, model, points, scores)) for stein in self._steins())

    def _steins(self) -> list[SteinKernel]:
        return [SteinKernel(kernel, self.tilt) for kernel in self.kernel]

    def start(self, center: Floats, rng: np.random.Generator) -> Bettor:
        """A bettor of wealth 1 without points, for a plan in which nothing is open."""
        taus, directions = np.broadcast_to(self.tau, len(self.kernel)), [Direction(stein) for stein in self._steins()]
        share = self.contamination if self.radius is None else self.radius / taus[0] ** 0.5
        wealth = WealthByShare.start(share, len(taus), self.strategy)
        return Bettor(np.array(taus), KeptPoints.empty(self.budget, center), wealth, directions, rng)


def _bound(tau: str, problem: Problem) -> float:
    found = find_supremum(tau, problem)
    if not found.is_upper_bound:
        raise ValueError(
            f'`tau={tau!r}` found no upper bound of u(x, x) for this model, only a value of kind "{found.kind}" '
            f"({found.value:g}). Betting needs a bound: give a number."
        )
    return found.value


def _as_kernels(kernel: Any) -> tuple[Kernel, ...] | None:
    if kernel is None:
        return None
    kernels = tuple(kernel) if isinstance(kernel, Sequence) else (kernel,)
    if not kernels or not all(isinstance(k, Kernel) for k in kernels):
        raise TypeError(f"`kernel` must be a kernel of `steinball.kernels`, several of them, or None, got {kernel!r}.")
    return kernels


def _as_tilt(tilt: Any) -> Any:
    automatic = tilt is None or (isinstance(tilt, str) and tilt == "auto")
    return tilt if automatic else arrays.check_kind(tilt, Tilt, "tilt", 'a tilt of `steinball.tilts`, "auto" or None')


def _as_tau(tau: Any, kernels: int) -> Any:
    if isinstance(tau, str):
        return tau
    values = [arrays.as_number(value, "tau", low=0.0, open_low=True) for value in arrays.as_numbers(tau, "tau").ravel()]
    if len(values) not in (1, kernels):
        raise ValueError(f"`tau` must be one number or one per kernel, {kernels}, got {len(values)}.")
    return tuple(values)


def _as_tolerance(contamination: Any, radius: Any, kernels: int) -> tuple[float | None, float | None]:
    if (contamination is None) == (radius is None):
        raise ValueError("give `contamination` (a share) or `radius` (on the scale of D), one of them.")
    if contamination is not None:
        return arrays.check_share(contamination, "contamination"), None
    if kernels > 1:
        raise ValueError("several kernels have several radii: give `contamination`, which sets them all.")
    return None, arrays.as_number(radius, "radius", low=0.0)
