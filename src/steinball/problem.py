"""What is tested: samples, model, kernel and tilt, checked once and put together."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import (
    Array,
    as_samples,
    as_second_samples,
    computed,
    is_small_jax,
    lent,
    like,
    namespace,
    to_host,
)
from steinball.features.edges import check_edges
from steinball.features.tilting import choose_tilt
from steinball.jumps.offset import as_jumps
from steinball.kernels.bandwidth import median_of_checked
from steinball.kernels.base import Kernel
from steinball.kernels.radial import InverseMultiquadric
from steinball.models.base import JaxModel, Model, evaluate_score, model_at
from steinball.models.base_space import as_tested, brought_in
from steinball.models.diagnoses import warn_if_log_density
from steinball.models.knowledge import Knowledge
from steinball.models.support import Placed
from steinball.stein import SteinKernel, SteinProblem, center_of
from steinball.tilts import Tilt

__all__ = ["Subject", "in_no_coordinates", "pose"]

_DRAWS = 512
_FAR = 1e40


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
    home : array, optional
        A row of the samples as the user passed them, where they are computed in another library.

    Examples
    --------
    >>> from steinball.models import Gaussian
    >>> Subject.of([0.0, 2.0], Gaussian(3.0)).pose(None, tilt=None).stein.kernel.lengthscale
    2.0
    """

    samples: Array
    model: Model
    predictable: bool = False
    placed: Placed | None = None
    home: Array | None = None

    def __len__(self) -> int:
        return int(self.samples.shape[0])

    @property
    def isolated(self) -> NDArray[np.intp]:
        """Places of the points that the model excludes, among all ``n``."""
        return np.empty(0, dtype=np.intp) if self.placed is None else self.placed.isolated

    @property
    def remarks(self) -> dict[str, Any]:
        """What a result says of the data."""
        told = {} if self.placed is None else self.placed.remarks
        return told if Knowledge(self.model).entrance is None else {**told, "tested in": "base space"}

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
        base: bool = False,
    ) -> Subject:
        """What a user passed, checked once; ``jumps`` move the samples, by random numbers below ``seed``.

        ``base`` says that nothing else was asked for in the coordinates of the data, so that a model that is better
        tested in base space may be.
        """
        samples = computed(as_samples(x))
        model = as_tested(model, samples, base)
        home = samples[:1, :] if is_small_jax(samples) else None
        if home is not None:
            samples, model = to_host(samples), _in_numpy(model, samples)
        placed = brought_in(samples, model, outside)
        samples = placed.samples
        moves = as_jumps(jumps, model, samples)
        if moves is not None:
            below = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 1))
            samples = as_second_samples(
                moves.move(lent(samples), model, below), samples, "jumps.move(samples, model, seed)"
            )
        return cls(samples, model, predictable, placed, home)

    @property
    def as_given(self) -> Array:
        """A sample of the library that the user passed."""
        return self.samples if self.home is None else self.home

    def computed_like(self, other: Array) -> Array:
        """Other samples of that library, where these are computed."""
        return other if self.home is None else to_host(other)

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

    def fixes(self, kernel: Kernel | None, tilt: Tilt | str | None) -> bool:
        """Whether a kernel and tilt asked for in these words owe nothing to the samples."""
        known = Knowledge(self.model)
        placed = not isinstance(tilt, str) or known.place is not None or known.sampler is not None
        return self.predictable or (kernel is not None and placed)

    def pose(self, kernel: Kernel | None, tilt: Tilt | str | None) -> SteinProblem:
        """The problem of these samples under one kernel."""
        stein = self.settle(kernel, tilt)
        tilted = stein.tilt is not None and Knowledge(self.model).evaluable
        samples = within_reach(self.samples) if tilted else self.samples
        scores = evaluate_score(self.model, samples)
        warn_if_log_density(self.model, samples, scores)
        return SteinProblem(stein, self.model, samples, scores, None if self.placed is None else self.placed.original)

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
                f"this test must not choose its {name} from the data, and the model has no `sample` to "
                f"choose it from. Give one: `{name}={example}`."
            )
        return as_samples(like(draws, self.samples), "draws of the model")


def _in_numpy(model: Model, samples: Array) -> Model:
    """The model for samples of JAX that are computed in NumPy, since they are few."""
    known = Knowledge(model)
    if not known.evaluable:
        return model_at(to_host(evaluate_score(model, samples)), to_host(samples))
    return model if known.takes_numpy else JaxModel(model, samples[:1, :])


def in_no_coordinates(kernel: Any, tilt: Any, tau: Any = "auto") -> bool:
    """Whether nothing that a user asked for is stated in the coordinates of the data."""
    return kernel is None and not isinstance(tilt, Tilt) and (tau is None or isinstance(tau, str))


def pose(x: Any, model: Any, kernel: Kernel | None = None, tilt: Tilt | str | None = None) -> SteinProblem:
    """Everything that a user may pass, checked and put together; see :meth:`Subject.settle` for the defaults.

    In the precision of the samples, whatever it is: tests choose theirs in :meth:`Subject.of`.
    """
    samples = as_samples(x)
    model = model_at(model, samples)
    if Knowledge(model).entrance is not None:
        samples = brought_in(samples, model).samples
    return Subject(samples, model).pose(kernel, tilt)


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
