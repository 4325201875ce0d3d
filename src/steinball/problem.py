"""What is tested: samples, model, kernel and tilt, checked once and put together."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Array, as_samples, as_second_samples, like
from steinball.features.edges import check_edges
from steinball.features.tilting import choose_tilt
from steinball.jumps.offset import as_jumps
from steinball.kernels.bandwidth import median_of_checked
from steinball.kernels.base import Kernel
from steinball.kernels.radial import InverseMultiquadric
from steinball.models.base import Model, as_model, evaluate_score
from steinball.models.knowledge import Knowledge
from steinball.models.support import Placed, place
from steinball.stein import SteinKernel, SteinProblem
from steinball.tilts import Tilt

__all__ = ["Subject", "pose"]

_DRAWS = 512


@dataclass(frozen=True, eq=False)
class Subject:
    """Samples and a model, checked, and where the defaults of kernel and tilt are taken from.

    Parameters
    ----------
    samples : (n, d) array
        Checked samples; where ``predictable``, only their library and number of columns are looked at.
    model : Model
        What they are tested against.
    predictable : bool
        Whether kernel and tilt must not look at the samples: then they are taken from the model.
    placed : Placed, optional
        What became of points outside the support of the model and on its edge.

    Examples
    --------
    >>> from steinball.models import Gaussian
    >>> Subject.of([0.0, 1.0], Gaussian(3.0)).pose(None, None).stein
    SteinKernel(kernel=InverseMultiquadric(lengthscale=1.0, exponent=0.5, metric=None), tilt=None)
    """

    samples: Array
    model: Model
    predictable: bool = False
    placed: Placed | None = None

    def __len__(self) -> int:
        return int(self.samples.shape[0])

    @property
    def isolated(self) -> NDArray[np.intp]:
        """Places of the points that the model excludes, among all ``n``."""
        return np.empty(0, dtype=np.intp) if self.placed is None else self.placed.isolated

    @property
    def remarks(self) -> dict[str, int]:
        """What a result says of the data."""
        return {} if self.placed is None else self.placed.remarks

    @property
    def n(self) -> int:
        """Number of points, those that the model excludes among them."""
        return len(self) + len(self.isolated)

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
    ) -> Subject:
        """What a user passed, checked once; ``jumps`` move the samples, by random numbers below ``seed``."""
        samples = as_samples(x)
        model = as_model(model, samples)
        placed = place(samples, Knowledge(model).support, outside)
        samples = placed.samples
        moves = as_jumps(jumps, model, samples)
        if moves is not None:
            below = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 1))
            samples = as_second_samples(moves.move(samples, model, below), samples, "jumps.move(samples, model, seed)")
        return cls(samples, model, predictable, placed)

    def median_distance(self) -> float:
        """The median distance between samples; where they must not be looked at, between draws of the model."""
        if self.predictable:
            return median_of_checked(self._draws("kernel", "InverseMultiquadric(1.0)"))
        return median_of_checked(self.samples)

    def settle(self, kernel: Kernel | None, tilt: Tilt | str | None) -> SteinKernel:
        """The kernel and tilt that a user asked for.

        ``kernel=None`` is the inverse multiquadric at the median distance; ``tilt="auto"`` is centered and scaled by
        the model where it knows how, for a large E u/τ (:func:`~steinball.features.tilting.choose_tilt`), otherwise by
        robust statistics of the data; ``tilt=None`` is no tilt.
        """
        kernel = InverseMultiquadric(self.median_distance()) if kernel is None else kernel
        if not isinstance(kernel, Kernel):
            raise TypeError(
                f"`kernel` must be a kernel of `steinball.kernels`, e.g. InverseMultiquadric(1.0), got {kernel!r}."
            )
        chosen = self._tilt(tilt, kernel)
        check_edges(chosen, self.model, self.samples)
        return SteinKernel(kernel, chosen)

    def _tilt(self, tilt: Tilt | str | None, kernel: Kernel) -> Tilt | None:
        if isinstance(tilt, str):
            if tilt != "auto":
                raise ValueError(f'`tilt` must be a tilt, None or "auto", got {tilt!r}.')
            return choose_tilt(self._around(), self.model, kernel)
        if not (tilt is None or isinstance(tilt, Tilt)):
            raise TypeError(
                f"`tilt` must be a tilt of `steinball.tilts`, e.g. PolynomialTilt(), or None, got {tilt!r}."
            )
        return tilt

    def pose(self, kernel: Kernel | None, tilt: Tilt | str | None) -> SteinProblem:
        """The problem of these samples under one kernel."""
        stein = self.settle(kernel, tilt)
        return SteinProblem(stein, self.model, self.samples, evaluate_score(self.model, self.samples))

    def pose_all(self, kernels: Sequence[Kernel], tilt: Tilt | str | None) -> list[SteinProblem]:
        """One problem per kernel; the score is evaluated once, and an automatic tilt suits the kernel in the middle."""
        first = self.pose(kernels[len(kernels) // 2], tilt)
        return [dataclasses.replace(first, stein=SteinKernel(kernel, first.stein.tilt)) for kernel in kernels]

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
        draws = Knowledge(self.model).draws(_DRAWS)
        if draws is None:
            raise ValueError(
                f"this test must not choose its {name} from the data that it bets on, and the model has no `sample` to "
                f"choose it from. Give one: `{name}={example}`."
            )
        return as_samples(like(draws, self.samples), "draws of the model")


def pose(x: Any, model: Any, kernel: Kernel | None = None, tilt: Tilt | str | None = None) -> SteinProblem:
    """Everything that a user may pass, checked and put together; see :meth:`Subject.settle` for the defaults."""
    return Subject.of(x, model).pose(kernel, tilt)
