"""Kernel and tilt settled before the data: for tests that must not look ahead."""

from __future__ import annotations

from typing import Any

import numpy as np

from steinball.arrays import Array, like
from steinball.kernels.bandwidth import median_distance
from steinball.kernels.base import Kernel
from steinball.kernels.radial import InverseMultiquadric
from steinball.supremum import choose_tilt
from steinball.tilts import Tilt

__all__ = ["draws_of", "settle_in_advance"]

_DRAWS = 512


def settle_in_advance(
    model: Any, kernel: Kernel | None, tilt: Tilt | str | None, template: Array
) -> tuple[Kernel, Tilt | None]:
    """The kernel and tilt that a user asked for, with the defaults taken from the model and never from the data.

    ``template`` gives the array library and the number of columns; its values are not looked at.
    """
    if kernel is None:
        kernel = InverseMultiquadric(median_distance(_needed(model, template, "kernel", "InverseMultiquadric(1.0)")))
    if isinstance(tilt, str) and tilt == "auto":
        knows = getattr(model, "location", None) is not None and getattr(model, "covariance", None) is not None
        there = template[:1, :] if knows else _needed(model, template, "tilt", "PolynomialTilt(center=0.0, scale=1.0)")
        tilt = choose_tilt(there, model, kernel)
    return kernel, tilt  # type: ignore[return-value]  # another text than "auto" is refused where the problem is posed


def draws_of(model: Any, n: int, template: Array) -> Array | None:
    """Draws of the model with a seed of our own, in the library of ``template``; ``None`` where it has no sampler."""
    if not callable(getattr(model, "sample", None)):
        return None
    return like(np.asarray(model.sample(n, np.random.default_rng(0))), template)


def _needed(model: Any, template: Array, name: str, example: str) -> Array:
    draws = draws_of(model, _DRAWS, template)
    if draws is None:
        raise ValueError(
            f"this test must not choose its {name} from the data that it bets on, and the model has no `sample` to "
            f"choose it from. Give one: `{name}={example}`."
        )
    return draws
