"""What is tested: samples, model, kernel and tilt, checked once and put together."""

from __future__ import annotations

from typing import Any

from steinball.arrays import Array, as_samples, like
from steinball.features.tilting import choose_tilt
from steinball.kernels.bandwidth import median_distance
from steinball.kernels.base import Kernel
from steinball.kernels.radial import InverseMultiquadric
from steinball.models.base import as_model, evaluate_score
from steinball.models.knowledge import Knowledge
from steinball.stein import SteinKernel, SteinProblem
from steinball.tilts import Tilt

__all__ = ["pose", "settle_in_advance"]

_DRAWS = 512


def pose(x: Any, model: Any, kernel: Kernel | None = None, tilt: Tilt | str | None = None) -> SteinProblem:
    """Everything that a user may pass, checked and put together.

    ``kernel=None`` is the inverse multiquadric at the median distance; ``tilt="auto"`` is centered and scaled by the
    model where it knows how, for a large E u/τ (:func:`~steinball.features.tilting.choose_tilt`), otherwise by robust
    statistics of the data; ``tilt=None`` is no tilt.
    """
    samples = as_samples(x)
    if kernel is None:
        kernel = InverseMultiquadric(median_distance(samples))
    if not isinstance(kernel, Kernel):
        raise TypeError(
            f"`kernel` must be a kernel of `steinball.kernels`, e.g. InverseMultiquadric(1.0), got {kernel!r}."
        )
    model = as_model(model, samples)
    if isinstance(tilt, str):
        if tilt != "auto":
            raise ValueError(f'`tilt` must be a tilt, None or "auto", got {tilt!r}.')
        tilt = choose_tilt(samples, model, kernel)
    if not (tilt is None or isinstance(tilt, Tilt)):
        raise TypeError(f"`tilt` must be a tilt of `steinball.tilts`, e.g. PolynomialTilt(), or None, got {tilt!r}.")
    return SteinProblem(SteinKernel(kernel, tilt), model, samples, evaluate_score(model, samples))


def settle_in_advance(
    model: Any, kernel: Kernel | None, tilt: Tilt | str | None, template: Array
) -> tuple[Kernel, Tilt | None]:
    """The kernel and tilt that a user asked for, with the defaults taken from the model and never from the data.

    ``template`` gives the array library and the number of columns; its values are not looked at.
    """
    if kernel is None:
        kernel = InverseMultiquadric(median_distance(_needed(model, template, "kernel", "InverseMultiquadric(1.0)")))
    if isinstance(tilt, str) and tilt == "auto":
        knows = Knowledge(model).place is not None
        there = template[:1, :] if knows else _needed(model, template, "tilt", "PolynomialTilt(center=0.0, scale=1.0)")
        tilt = choose_tilt(there, model, kernel)
    return kernel, tilt  # type: ignore[return-value]  # another text than "auto" is refused where the problem is posed


def _needed(model: Any, template: Array, name: str, example: str) -> Array:
    draws = Knowledge(model).draws(_DRAWS)
    if draws is None:
        raise ValueError(
            f"this test must not choose its {name} from the data that it bets on, and the model has no `sample` to "
            f"choose it from. Give one: `{name}={example}`."
        )
    return like(draws, template)
