"""What a radius is and what it says of its set; a stated number, an error of the score, the KSD of something, a sum."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from steinball.arrays import Array, as_number, as_samples, check_resamples, like, to_host
from steinball.gram.blocked import BlockedGram
from steinball.gram.request import Request
from steinball.gram.whole import DenseGram
from steinball.models.knowledge import Knowledge
from steinball.problem import Problem
from steinball.tau.certificate import Supremum, is_upper_bound
from steinball.tau.isotropic import kernel_constants


class Radius(ABC):
    """A radius θ ≥ 0 on the KSD scale, for a problem and its τ, and what is true of the set that it stands for.

    A radius of one's own derives from it and is called. What its set is like is declared by attributes, each of which
    has the careful value where nothing is said. Radii add.

    Attributes
    ----------
    contamination : float or None
        The tolerated share of contamination, where the set is that and nothing else.
    variation : float or None
        A total variation distance within which the whole set lies, where such a number is known.
    needs_bounded : bool
        Whether it means anything only where sup u(x, x) is finite.
    anchored : bool
        Whether its set lies around the model alone, so that it says nothing of steps away from other distributions.
    closed_under_moves : bool
        Whether its ball holds QK with every Q of the set, for every Markov kernel K that leaves the model alone.
    invariant : bool
        Whether its set is stated by shares or divergences, which no change of coordinates alters, so that it is the
        same set in base space; distances are not.
    allows_removal : bool
        Whether a member of the set may lack mass that the model has; contamination only adds.
    kernel_specific : bool
        Whether it is a number on the KSD scale of one kernel, which means another set under another.
    displacement : float
        The mean distance by which the points of a member may be moved, in the units of the data.
    sized_by : str
        The parameter that says how large the set is, which sliders and pictures change; empty where there is not one.
    axis, in_percent
        What pictures call that number, and whether it is a share.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class HalfTheBall(Radius):
    ...     def __call__(self, problem, tau):
    ...         return 0.5 * math.sqrt(tau.value)
    >>> HalfTheBall() + 0.1
    HalfTheBall() + FixedRadius(value=0.1)
    """

    contamination: float | None = None
    variation: float | None = None
    needs_bounded: bool = True
    anchored: bool = False
    closed_under_moves: bool = False
    invariant: bool = False
    allows_removal: bool = True
    kernel_specific: bool = False
    displacement: float = 0.0
    sized_by: ClassVar[str] = ""
    axis: ClassVar[str] = "tolerated distance θ"
    in_percent: ClassVar[bool] = False

    @property
    def amount(self) -> float | None:
        """The number that says how large the set is, where one does."""
        return float(vars(self)[self.sized_by]) if self.sized_by else None

    def resized(self, amount: float) -> Radius:
        """The same kind of set with another ``amount``."""
        return dataclasses.replace(self, **{self.sized_by: amount})  # type: ignore[type-var]

    def kind(self, problem: Problem, tau: Supremum) -> str:
        """How the number was obtained, in the words of :class:`~steinball.tau.Supremum`: that of τ, mostly."""
        return tau.kind if self.needs_bounded else "given"

    def trusts(self, tau: Supremum) -> bool:
        """Whether its number holds with this τ: what was removed is not in the sample, so an upper bound is needed."""
        return tau.is_upper_bound or not (self.needs_bounded and self.allows_removal)

    @abstractmethod
    def __call__(self, problem: Problem, tau: Supremum) -> float:
        """The radius."""

    def __add__(self, other: Any) -> Sum:
        return Sum(self, as_radius(other))

    def __radd__(self, other: Any) -> Sum:
        return Sum(as_radius(other), self)


def as_radius(radius: Any) -> Radius:
    """A :class:`Radius` from what the user passed: one already, or a number."""
    if callable(radius) and not isinstance(radius, Radius):
        raise TypeError(
            f"`radius` must be a number or a `steinball.radius.Radius`, got {radius!r}. Derive your class from Radius."
        )
    return radius if isinstance(radius, Radius) else FixedRadius(radius)


def within_all(radius: float, tau: Supremum) -> float:
    """``radius``, or √τ where it is larger: |μ_Q| ≤ E_Q |φ| ≤ √τ for every Q, so no ball need be larger."""
    return min(radius, math.sqrt(tau.value))


@dataclass(frozen=True)
class FixedRadius(Radius):
    """A stated number on the KSD scale. Valid with any kernel, tilted or not.

    Examples
    --------
    >>> FixedRadius(0.1).value
    0.1
    """

    value: float
    needs_bounded = False
    sized_by = "value"

    def __post_init__(self) -> None:
        value = as_number(self.value, "radius", low=0.0)
        some = value > 0.0  # a radius of 0 holds the model alone, which stays
        vars(self).update(value=value, closed_under_moves=not some, invariant=not some, allows_removal=some)
        vars(self).update(kernel_specific=some, variation=None if some else 0.0)

    def __call__(self, problem: Problem, tau: Supremum) -> float:
        """The number."""
        return self.value


@dataclass(frozen=True)
class ScoreError(Radius):
    r"""A score that is itself approximate, to be added to any other tolerance θ₀

    .. math:: \theta = \sqrt{h(0)} \, \delta, \qquad
       \delta \ge \mathbb{E} \left| w(X) (\hat s(X) - s(X)) \right|,

    where ŝ is the score that the test uses and s the exact one: a fitted network, a subsampled likelihood, finite
    differences. δ may also bound the root mean square, which is larger.

    Parameters
    ----------
    delta : float
        δ ≥ 0, under the exact model: then θ₀ may be any radius computed, as it is, with ŝ. (A bound under the law of
        the data serves a θ₀ that was computed with s.)

    Examples
    --------
    >>> from steinball.radius import Huber
    >>> Huber(0.05) + ScoreError(0.01)
    Huber(contamination=0.05) + ScoreError(delta=0.01)
    """

    delta: float
    needs_bounded = False

    def __post_init__(self) -> None:
        vars(self).update(delta=as_number(self.delta, "delta", low=0.0))

    def __call__(self, problem: Problem, tau: Supremum) -> float:
        """√h(0) δ."""
        return math.sqrt(kernel_constants(problem.stein.kernel)[0]) * self.delta * problem.rows.score_stretch


@dataclass(frozen=True, repr=False)
class Sum(Radius):
    r"""Two departures at once: a member of the first set, moved by a step of the second (or the other way round)

    .. math:: \theta = \theta_1 + \theta_2.

    By the triangle inequality, where at least one of the two bounds steps away from *any* distribution. Sets that lie
    around the model alone (:class:`ChiSquared`, :class:`StudentTails`, :class:`Alternative`, :class:`LikeModel`) add to
    such steps, not to each other.

    Examples
    --------
    >>> from steinball.radius import Huber, ScoreError
    >>> Huber(0.05) + ScoreError(0.01)
    Huber(contamination=0.05) + ScoreError(delta=0.01)
    """

    first: Radius
    second: Radius

    def __post_init__(self) -> None:
        a, b = self.first, self.second
        if a.anchored and b.anchored:
            raise TypeError(
                f"`{a!r}` and `{b!r}` are both sets around the model alone, so that their radii do not add: the second "
                "says nothing of steps away from members of the first. State one set that holds both departures, or a "
                "number."
            )
        vars(self).update(
            needs_bounded=a.needs_bounded or b.needs_bounded,
            anchored=a.anchored or b.anchored,
            closed_under_moves=a.closed_under_moves and b.closed_under_moves,  # a move makes no step longer
            invariant=a.invariant and b.invariant,
            allows_removal=a.allows_removal or b.allows_removal,
            kernel_specific=a.kernel_specific or b.kernel_specific,
            displacement=a.displacement + b.displacement,
        )

    def __repr__(self) -> str:
        return f"{self.first!r} + {self.second!r}"

    def kind(self, problem: Problem, tau: Supremum) -> str:
        """The kind of the part that can be trusted least."""
        return min((part.kind(problem, tau) for part in (self.first, self.second)), key=is_upper_bound)

    def trusts(self, tau: Supremum) -> bool:
        """Whether both numbers hold."""
        return self.first.trusts(tau) and self.second.trusts(tau)

    def __call__(self, problem: Problem, tau: Supremum) -> float:
        """θ₁ + θ₂."""
        return self.first(problem, tau) + self.second(problem, tau)


class _Estimated(Radius):
    """A radius that is the KSD of something else, estimated from its samples."""

    needs_bounded = False
    anchored = True

    def kind(self, problem: Problem, tau: Supremum) -> str:
        """An estimate, or a confidence limit."""
        return "estimated"

    def _problem_of(self, samples: Array, problem: Problem) -> Problem:
        """The problem of the samples of an alternative, under the kernel, tilt and model of the test."""
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
        vars(self).update(samples=as_samples(self.samples, "samples of the alternative"))

    def __repr__(self) -> str:
        return f"Alternative(m={self.samples.shape[0]})"

    def __call__(self, problem: Problem, tau: Supremum) -> float:
        """The KSD of the alternative from the model."""
        summary = DenseGram(self._problem_of(self.samples, problem)).summarise(Request())
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
        vars(self).update(n_draws=check_resamples(self.n_draws, "n_draws"))
        if self.confidence is not None:
            vars(self).update(confidence=as_number(self.confidence, "confidence", low=0.5, high=1.0 - 1e-12))
        vars(self).update(_draws=as_samples(Knowledge(self.model).needed_draws(self.n_draws), "draws of the model"))

    def __repr__(self) -> str:
        return f"LikeModel({self.model!r})"

    def __call__(self, problem: Problem, tau: Supremum) -> float:
        """The KSD of the other model, or its upper limit."""
        draws = like(self._draws, problem.samples)  # type: ignore[attr-defined]
        summary = BlockedGram(self._problem_of(draws, problem), n_jobs=1).summarise(Request())
        ksd = math.sqrt(max(0.0, summary.mean))
        if self.confidence is None or ksd == 0.0:
            return ksd
        error = float(np.std(to_host(summary.row_means))) / (ksd * math.sqrt(self.n_draws))
        return ksd + float(scipy.special.ndtri(self.confidence)) * error
