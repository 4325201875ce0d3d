"""What a radius is and what it says of its set, a stated one, and how radii add."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from steinball.arrays import as_number
from steinball.features.kinds import Supremum, is_upper_bound
from steinball.stein import SteinProblem

__all__ = ["FixedRadius", "Radius", "Sum", "as_radius", "closed_under_moves", "within_all"]


class Radius(ABC):
    """A radius θ ≥ 0 on the KSD scale, for a problem and its τ, and what is true of the set that it stands for.

    A radius of one's own derives from it and is called; what its set is like is said by the properties below, each of
    which has the careful value. Radii add.

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
    """The tolerated share of contamination, where the set is that and nothing else."""

    @property
    def needs_bounded(self) -> bool:
        """Whether it means anything only where sup u(x, x) is finite."""
        return True

    @property
    def anchored(self) -> bool:
        """Whether its set lies around the model alone, so that it says nothing of steps away from others."""
        return False

    @property
    def closed_under_moves(self) -> bool:
        """Whether its ball holds QK with every Q of the set, for every Markov kernel K that leaves the model alone."""
        return False

    @property
    def allows_removal(self) -> bool:
        """Whether a member of the set may lack mass that the model has; contamination only adds."""
        return True

    @property
    def kernel_specific(self) -> bool:
        """Whether it is a number on the KSD scale of one kernel, which means another set under another."""
        return False

    def kind(self, problem: SteinProblem, tau: Supremum) -> str:
        """How the number was obtained, in the words of :class:`~steinball.features.Supremum`: that of τ, mostly."""
        return tau.kind if self.needs_bounded else "given"

    @abstractmethod
    def __call__(self, problem: SteinProblem, tau: Supremum) -> float:
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


def closed_under_moves(radius: Any) -> bool:
    """Whether a radius, or a number in its place, survives jumps: :attr:`Radius.closed_under_moves`."""
    return as_radius(radius).closed_under_moves


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

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", as_number(self.value, "radius", low=0.0))

    @property
    def needs_bounded(self) -> bool:
        """No."""
        return False

    @property
    def closed_under_moves(self) -> bool:
        """A radius of 0 holds the model alone, which stays."""
        return self.value == 0.0

    @property
    def allows_removal(self) -> bool:
        """Unless it is 0."""
        return self.value > 0.0

    @property
    def kernel_specific(self) -> bool:
        """Unless it is 0."""
        return self.value > 0.0

    def __call__(self, problem: SteinProblem, tau: Supremum) -> float:
        """The number."""
        return self.value


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
        if self.first.anchored and self.second.anchored:
            raise TypeError(
                f"`{self.first!r}` and `{self.second!r}` are both sets around the model alone, so that their radii do "
                "not add: the second says nothing of steps away from members of the first. State one set that holds "
                "both departures, or a number."
            )

    def __repr__(self) -> str:
        return f"{self.first!r} + {self.second!r}"

    @property
    def needs_bounded(self) -> bool:
        """Whether one of them does."""
        return self.first.needs_bounded or self.second.needs_bounded

    @property
    def anchored(self) -> bool:
        """Whether one of them is."""
        return self.first.anchored or self.second.anchored

    @property
    def closed_under_moves(self) -> bool:
        """Whether both are: a move takes members to members and makes no step longer."""
        return self.first.closed_under_moves and self.second.closed_under_moves

    @property
    def allows_removal(self) -> bool:
        """Whether one of them does."""
        return self.first.allows_removal or self.second.allows_removal

    @property
    def kernel_specific(self) -> bool:
        """Whether one of them is."""
        return self.first.kernel_specific or self.second.kernel_specific

    def kind(self, problem: SteinProblem, tau: Supremum) -> str:
        """The kind of the part that can be trusted least."""
        return min((part.kind(problem, tau) for part in (self.first, self.second)), key=is_upper_bound)

    def __call__(self, problem: SteinProblem, tau: Supremum) -> float:
        """θ₁ + θ₂."""
        return self.first(problem, tau) + self.second(problem, tau)
