"""Like something else: the KSD of a stated alternative, from a sample of it or from its model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from steinball.arrays import Array, as_number, as_samples, check_resamples, like, to_host
from steinball.gram.blocked import BlockedGram
from steinball.gram.dense import DenseGram
from steinball.gram.request import Request
from steinball.models.knowledge import Knowledge
from steinball.problem import Problem
from steinball.radius.base import Radius
from steinball.tau.certificate import Supremum


class _Estimated(Radius):
    """A radius that is the KSD of something else, estimated from its samples."""

    needs_bounded = False
    anchored = True

    def kind(self, problem: Problem, tau: Supremum) -> str:
        """An estimate, or a confidence limit."""
        return "estimated"

    def _asked_of(self, samples: Array, problem: Problem) -> Problem:
        """The same question about the samples of an alternative."""
        if not problem.evaluable:
            raise TypeError(f"`{type(self).__name__}` needs the score at its own samples; {problem.unknown_elsewhere}.")
        ours, theirs = samples.shape[1], problem.samples.shape[1]
        if ours != theirs:
            raise ValueError(f"`samples` of the alternative have {ours} columns, the samples tested {theirs}.")
        return problem.at_places(samples)


@dataclass(frozen=True, eq=False)
class Alternative(_Estimated):
    r"""The KSD of a stated alternative, from a sample of it (paper App. B, mean-shift experiment)

    .. math:: \theta = \sqrt{\max(0, D_U^2)},

    the root of the unbiased U-statistic under the kernel, tilt and model of the test: whatever is no farther from the
    model than this alternative is tolerated.

    Parameters
    ----------
    samples : (m, d) array
        A sample of the alternative, independent of the data tested; the larger, the sharper θ.

    Examples
    --------
    >>> Alternative(np.zeros((5, 1)))
    Alternative(m=5)
    """

    samples: Array

    def __post_init__(self) -> None:
        self._declare(samples=as_samples(self.samples, "samples of the alternative"))

    def __repr__(self) -> str:
        return f"Alternative(m={self.samples.shape[0]})"

    def __call__(self, problem: Problem, tau: Supremum) -> float:
        """The KSD of the alternative from the model."""
        summary = DenseGram(self._asked_of(self.samples, problem)).summarise(Request())
        return math.sqrt(max(0.0, summary.unbiased_mean))


@dataclass(frozen=True, eq=False, repr=False)
class LikeModel(_Estimated):
    r"""The KSD of another model from the one tested: whatever is no farther away than *that* model is tolerated

    .. math:: \theta = \hat D + z \, \frac{\mathrm{sd}(r_i)}{\hat D \sqrt m}
       \quad\text{from } m \text{ draws of the other model},

    with D̂ the V-statistic of the draws (which exceeds D on average) and r the row means of their Gram matrix: an upper
    confidence limit of the KSD by the delta method.

    Parameters
    ----------
    model
        Anything with ``sample(n, rng)``.
    n_draws : int
        m. The draws are the same every time. D̂ has an error of about √(‖C‖/m): some .012 √τ on the line.
    confidence : float
        Of the limit, in (½, 1); asymptotic in m, and simulated only. ``None`` for D̂ itself.

    Examples
    --------
    >>> from steinball.models import Gaussian
    >>> LikeModel(Gaussian(0.2))
    LikeModel(Gaussian(mean=0.2, cov=1))
    """

    model: Any
    n_draws: int = 5000
    confidence: float | None = 0.95

    def __post_init__(self) -> None:
        self._declare(n_draws=check_resamples(self.n_draws, "n_draws"))
        if self.confidence is not None:
            self._declare(confidence=as_number(self.confidence, "confidence", low=0.5, high=1.0 - 1e-12))
        self._declare(_draws=as_samples(Knowledge(self.model).needed_draws(self.n_draws), "draws of the model"))

    def __repr__(self) -> str:
        return f"LikeModel({self.model!r})"

    def __call__(self, problem: Problem, tau: Supremum) -> float:
        """The KSD of the other model, or its upper limit."""
        draws = like(self._draws, problem.samples)  # type: ignore[attr-defined]
        summary = BlockedGram(self._asked_of(draws, problem), n_jobs=1).summarise(Request())
        ksd = math.sqrt(max(0.0, summary.mean))
        if self.confidence is None or ksd == 0.0:
            return ksd
        error = float(np.std(to_host(summary.row_means))) / (ksd * math.sqrt(self.n_draws))
        return ksd + float(scipy.special.ndtri(self.confidence)) * error
