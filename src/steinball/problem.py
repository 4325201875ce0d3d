"""What is tested: rows against a model, under one Stein kernel."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Array, Floats, as_number, as_samples, like, namespace, take_rows, to_host
from steinball.kernels.base import Kernel
from steinball.models.base import Model, evaluate_score, keepable, model_at, score_of
from steinball.models.knowledge import Knowledge
from steinball.models.reference import Reference, known_of
from steinball.models.support import Support, off_edges
from steinball.rows import Rows
from steinball.stein import SteinKernel, SteinPoints, center_of
from steinball.tau.search import largest_finite
from steinball.tilts import Tilt

T = TypeVar("T")


class Findings:
    """Something of which facts are found out once."""

    @cached_property
    def _found(self) -> dict[Hashable, Any]:
        return {}

    def once(self, name: Hashable, find: Callable[[], T]) -> T:
        """The answer of ``find``, which is asked once under this name."""
        if name not in self._found:
            self._found[name] = find()
        found: T = self._found[name]
        return found


@dataclass(frozen=True, eq=False)
class Problem(Findings):
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
    def of(cls, rows: Rows, kernel: Kernel | None = None, tilt: Tilt | str | None = None) -> Problem:
        """The problem of these rows under the kernel and tilt that a user asked for (:meth:`Rows.choose`)."""
        stein = rows.choose(kernel, tilt)
        if stein.tilt is not None and Knowledge(rows.model).evaluable:
            rows = rows.within_reach()
        if rows.unstandardized is None:
            return cls(stein, rows, evaluate_score(rows.model, rows.samples))
        move: Any = rows.moves[-1]
        return cls(stein, rows, move.pulled(evaluate_score(move.model, rows.unstandardized)))

    @classmethod
    def of_all(cls, rows: Rows, kernels: Sequence[Kernel], tilt: Tilt | str | None) -> tuple[Problem, ...]:
        """One problem per kernel; the score is evaluated once, and an automatic tilt suits the kernel in the middle."""
        middle = cls.of(rows, kernels[len(kernels) // 2], tilt)
        return tuple(middle.under(kernel) for kernel in kernels)

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
        there = like(off_edges(x, self.support), self.samples)
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
        >>> from steinball.kernels import InverseMultiquadric
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
            return float(values.mean()), largest_finite(values)

        return self.kept("diagonal", find)


def pose(x: Any, model: Any, kernel: Kernel | None = None, tilt: Tilt | str | None = None) -> Problem:
    """Everything that a user may pass, checked and put together; see :meth:`Rows.choose` for the defaults.

    In the precision of the samples, whatever it is: tests choose theirs in :meth:`Rows.of`.
    """
    samples = as_samples(x)
    model = model_at(model, samples)
    rows = Rows(samples, model, samples)
    return Problem.of(rows if Knowledge(model).move is None else rows.within("error"), kernel, tilt)
