"""What a test of a stream is to be, fixed without the points that are bet on."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinball.arrays import Floats, as_number, as_numbers, check_level, check_resamples, check_share
from steinball.calibration.betting import Betting
from steinball.cautions import UncertifiedSupremumWarning
from steinball.kernels.base import Kernel
from steinball.models.base import Model, evaluate_score
from steinball.models.knowledge import Knowledge
from steinball.problem import Problem, Rows
from steinball.stein import SteinKernel
from steinball.tau.supremum import find_supremum
from steinball.tilts import Tilt

DRAWS = 512
"""Draws of the model among which τ is first looked for."""


@dataclass(frozen=True, eq=False)
class Settled:
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
    """What the user asked for, checked; see :class:`steinball.sequential.stream.SequentialTest` for the words."""

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
    def of(cls, kernel: Any, tilt: Any, tau: Any, contamination: Any, radius: Any, **rest: Any) -> Plan:
        """The plan for what a user passed; ``rest`` is level, budget, burn_in and strategy."""
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

    def settle(self, model: Model, burnt: Floats, dimension: int) -> Settled:
        """Kernel, tilt, τ and radius from the model or from the points ``burnt`` (m, d), which are not bet on."""
        kernels, tilt = self._chosen(model, burnt, dimension)
        taus = self._bounds([SteinKernel(kernel, tilt) for kernel in kernels], model, burnt, dimension)
        share = self.contamination if self.radius is None else self.radius / math.sqrt(taus[0])
        return Settled(kernels, tilt, taus, float(share or 0.0))

    def _chosen(self, model: Model, burnt: Floats, dimension: int) -> tuple[tuple[Kernel, ...], Tilt | None]:
        few = len(burnt) < 2
        subject = Rows(np.zeros((1, dimension)) if few else burnt, model, predictable=few)
        first = subject.choose((self.kernels or (None,))[0], self.tilt)
        return self.kernels or (first.kernel,), first.tilt

    def _bounds(self, steins: list[SteinKernel], model: Model, burnt: Floats, dimension: int) -> Floats:
        if not isinstance(self.tau, str):
            return np.asarray(np.broadcast_to(self.tau, (len(steins),))).copy()
        points = _look_around(model, burnt, dimension)
        scores = evaluate_score(model, points)
        return np.array([_bound(self.tau, Problem.at_scores(stein, model, points, scores)) for stein in steins])


def _look_around(model: Model, burnt: Floats, dimension: int) -> Floats:
    """Points where the search for τ begins: burnt, drawn, the model's location, or the origin."""
    known = Knowledge(model)
    draws, location = known.draws(DRAWS), known.location
    if len(burnt) or draws is not None:
        return burnt if draws is None else draws
    return np.zeros((1, dimension)) if location is None else location.reshape(1, -1)


def _bound(tau: str, problem: Problem) -> float:
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
