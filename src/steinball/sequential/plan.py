"""What is fixed before a stream is tested or watched, and all that this room asks of models and results."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
from scipy.special import chdtr, ndtr

from steinball.arrays import (
    Array, Floats, as_number, as_numbers, as_samples, check_level, check_resamples, check_share, is_array,
    is_array_like, lent, like, to_host,
)  # fmt: skip
from steinball.calibration.betting import Betting
from steinball.card import card as html_card
from steinball.cautions import UncertifiedSupremumWarning
from steinball.features.supremum import find_supremum
from steinball.kernels.base import Kernel
from steinball.models.base import Model, as_model, evaluate_score, model_at
from steinball.models.base_space import let_in
from steinball.models.knowledge import Knowledge
from steinball.problem import Subject
from steinball.results.base import OF_DISTRIBUTION, conceding, decided, tolerated
from steinball.sequential.columns import DrawnColumns, ExactColumns
from steinball.stein import SteinKernel, SteinProblem
from steinball.tilts import Tilt

__all__ = [
    "Plan", "Setting", "as_rows", "columns_of", "decision_of", "dimension_of", "html_card", "monitor_draws", "scored",
    "scores_at",
]  # fmt: skip

DRAWS = 512
"""Draws of the model among which τ is first looked for."""

MONITOR_DRAWS = 50_000
"""Draws of a model without a distribution function that its monitor is made from."""


def as_rows(batch: Any, name: str, dimension: int | None) -> Array:
    """Rows (m, d) of a stream: numbers (m,) are m rows of one column, or one row where ``dimension`` is larger."""
    one = isinstance(batch, Number) or (is_array(batch) and batch.ndim == 0)
    rows, shape = as_samples([batch] if one else batch, name, least=0), tuple(np.shape(batch))
    if dimension is not None and dimension > 1 and shape == (dimension,):
        rows = rows.reshape((1, dimension))
    if dimension is not None and rows.shape[1] != dimension:
        raise ValueError(f"`{name}` must have {dimension} columns, got shape {shape}.")
    return rows


# What is asked of a model.


def dimension_of(model: Any) -> int | None:
    """The number of columns of a model, where it says so."""
    return Knowledge(model).dimension


def scored(model: Any, rows: Array) -> tuple[Model, Floats, Floats]:
    """The model for arrays of the library of ``rows``; on the host, the rows where it is tested, and its scores."""
    found = model_at(model, rows)
    rows = let_in(rows, found)
    return found, to_host(lent(rows)), to_host(evaluate_score(found, rows))  # a user may fill a buffer again


def scores_at(model: Any, samples: Floats, template: Array) -> Floats:
    """Scores at samples where the model is tested, computed in the array library of ``template``."""
    return to_host(evaluate_score(model_at(model, template), like(samples, template)))


def columns_of(model: Any) -> ExactColumns | DrawnColumns:
    """Columns of u for a monitor: by the model's map to normal noise where it has one, otherwise by its draws."""
    known = _known_for_columns(model)
    to_base = known.to_base
    if to_base is None:
        return DrawnColumns.from_draws(known.needed_draws(MONITOR_DRAWS))
    return ExactColumns(lambda rows: _uniform(to_base(rows)))


def monitor_draws(model: Any, n: int) -> Floats:
    """Draws of the model, (n, d)."""
    return _known_for_columns(model).needed_draws(n)


def _known_for_columns(model: Any) -> Knowledge:
    known = Knowledge(model)
    if known.entrance is not None:
        return Knowledge(known.entrance.model)
    return known if known.to_base is not None or known.sampler is not None else Knowledge(as_model(model))


def _uniform(z: Floats) -> Floats:
    """Φ of standard normal columns, and where there are several the distribution function of their Σ z²."""
    columns = ndtr(z)
    return columns if z.shape[1] == 1 else np.column_stack([columns, chdtr(z.shape[1], np.sum(z * z, axis=1))])


# What is said of a test.


def decision_of(rejected: bool, where: str, plan: Plan, bound: float) -> str:
    """The decision in words, and the share that is surely contaminated."""
    tolerance = tolerated(plan.contamination, plan.radius or 0.0)
    words = decided(rejected, f"{where}, at level {plan.level:g}", tolerance)
    return f"{words}\n{conceding(bound, plan.level, OF_DISTRIBUTION)}".rstrip()


# What a test is.


@dataclass(frozen=True, eq=False)
class Setting:
    """Kernels with one tilt, an upper bound τ for each, and the tolerated share of √τ."""

    kernels: tuple[Kernel, ...]
    tilt: Tilt | None
    taus: Floats
    share: float

    @property
    def steins(self) -> tuple[SteinKernel, ...]:
        """The Stein kernels."""
        return tuple(SteinKernel(kernel, self.tilt) for kernel in self.kernels)

    @property
    def radii(self) -> Floats:
        """θ for each kernel."""
        return np.asarray(self.share * np.sqrt(self.taus))


@dataclass(frozen=True, eq=False)
class Plan:
    """What the user asked for, checked; see :class:`steinball.sequential.SequentialTest` for the words."""

    kernels: tuple[Kernel, ...] | None
    tilt: Tilt | str | None
    tau: Any
    contamination: float | None
    radius: float | None
    level: float
    budget: int
    burn_in: int
    strategy: str

    @classmethod
    def of(cls, model: Any, kernel: Any, tilt: Any, tau: Any, contamination: Any, radius: Any, **rest: Any) -> Plan:
        """The plan for what a user passed; ``rest`` is level, budget, burn_in and strategy."""
        if is_array_like(model):
            raise TypeError("`model` must have a score for points still to come: pass a score function, not an array.")
        if radius is not None and Knowledge(model).entrance is not None:
            raise ValueError("`radius` is a distance, which means nothing in base space; give `contamination`.")
        kernels = _as_kernels(kernel)
        tolerance = _as_tolerance(contamination, radius, len(kernels or (None,)))
        return cls(
            kernels,
            _as_tilt(tilt),
            _as_tau(tau, len(kernels or (None,))),
            *tolerance,
            level=check_level(rest["level"]),
            budget=check_resamples(rest["budget"], "budget"),
            burn_in=check_resamples(rest["burn_in"], "burn_in") if rest["burn_in"] else 0,
            strategy=Betting(strategy=rest["strategy"]).strategy,
        )

    def choose(self, model: Model, burnt: Floats, dimension: int) -> Setting:
        """Kernel, tilt, τ and radius from the model or from the points ``burnt`` (m, d), which are not bet on."""
        kernels, tilt = self._chosen(model, burnt, dimension)
        taus = self._bounds([SteinKernel(kernel, tilt) for kernel in kernels], model, burnt, dimension)
        share = self.contamination if self.radius is None else self.radius / math.sqrt(taus[0])
        return Setting(kernels, tilt, taus, float(share or 0.0))

    def _chosen(self, model: Model, burnt: Floats, dimension: int) -> tuple[tuple[Kernel, ...], Tilt | None]:
        few = len(burnt) < 2
        subject = Subject(np.zeros((1, dimension)) if few else burnt, model, predictable=few)
        first = subject.settle((self.kernels or (None,))[0], self.tilt)
        return self.kernels or (first.kernel,), first.tilt

    def _bounds(self, steins: list[SteinKernel], model: Model, burnt: Floats, dimension: int) -> Floats:
        if not isinstance(self.tau, str):
            return np.asarray(np.broadcast_to(self.tau, (len(steins),))).copy()
        points = _look_around(model, burnt, dimension)
        scores = evaluate_score(model, points)
        return np.array([_bound(self.tau, SteinProblem(stein, model, points, scores)) for stein in steins])


def _look_around(model: Model, burnt: Floats, dimension: int) -> Floats:
    """Points where the search for τ begins: burnt, drawn, the model's location, or the origin."""
    known = Knowledge(model)
    draws, location = known.draws(DRAWS), known.location
    if len(burnt) or draws is not None:
        return burnt if draws is None else draws
    return np.zeros((1, dimension)) if location is None else location.reshape(1, -1)


def _bound(tau: str, problem: SteinProblem) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncertifiedSupremumWarning)  # what it would say is an error here
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
    kernels = (kernel,) if isinstance(kernel, Kernel) else tuple(kernel) if isinstance(kernel, Sequence) else ()
    if not kernels or not all(isinstance(k, Kernel) for k in kernels):
        raise TypeError(f"`kernel` must be a kernel of `steinball.kernels`, several of them, or None, got {kernel!r}.")
    return kernels


def _as_tilt(tilt: Any) -> Any:
    if tilt is None or (isinstance(tilt, str) and tilt == "auto"):
        return tilt
    if isinstance(tilt, Tilt) and not isinstance(tilt, type):
        return tilt
    raise TypeError(f'`tilt` must be a tilt of `steinball.tilts`, "auto" or None, got {tilt!r}.')


def _as_tau(tau: Any, kernels: int) -> Any:
    if isinstance(tau, str):
        return tau
    values = [as_number(value, "tau", low=0.0, open_low=True) for value in as_numbers(tau, "tau").ravel()]
    if len(values) not in (1, kernels):
        raise ValueError(f"`tau` must be one number or one per kernel, {kernels}, got {len(values)}.")
    return tuple(values)


def _as_tolerance(contamination: Any, radius: Any, kernels: int) -> tuple[float | None, float | None]:
    if (contamination is None) == (radius is None):
        raise ValueError("give `contamination` (a share) or `radius` (on the scale of D), one of them.")
    if contamination is not None:
        return check_share(contamination, "contamination"), None
    if kernels > 1:
        raise ValueError("several kernels have several radii: give `contamination`, which sets them all.")
    return None, as_number(radius, "radius", low=0.0)
