"""What a radius is, a stated one, and how radii add."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

from steinball.arrays import as_number
from steinball.features import UPPER_BOUNDS, Supremum
from steinball.jumps import closed_under_moves
from steinball.stein import SteinProblem

__all__ = ["Additive", "FixedRadius", "Radius", "Sum", "as_radius", "within_all"]


@runtime_checkable
class Radius(Protocol):
    """A radius θ ≥ 0 on the KSD scale, for a problem and its τ."""

    @property
    def needs_bounded(self) -> bool:
        """Whether it means anything only where sup u(x, x) is finite."""

    @property
    def contamination(self) -> float | None:
        """The tolerated share of contamination, where it is one."""

    @property
    def closed_under_moves(self) -> bool:
        """Whether jumps that leave the model alone do not lead out of its set."""

    @property
    def stated(self) -> bool:
        """Whether it is a bare number on the KSD scale, which means something else under every kernel."""

    def __call__(self, problem: SteinProblem, tau: Supremum) -> float:
        """The radius."""


def as_radius(radius: Any) -> Radius:
    """A :class:`Radius` from what the user passed: one already, or a number."""
    if isinstance(radius, Radius) and not isinstance(radius, type):
        return radius
    return FixedRadius(radius)


def within_all(radius: float, tau: Supremum) -> float:
    """``radius``, or √τ where it is larger: |μ_Q| ≤ E_Q |φ| ≤ √τ for every Q, so no ball need be larger."""
    return min(radius, math.sqrt(tau.value))


class Additive:
    """What the radii of this room share: ``+``, and the kind of number that they are."""

    needs_bounded: ClassVar[bool] = True
    anchored: ClassVar[bool] = False
    """Whether its set lies around the model alone, so that it says nothing of steps away from other distributions."""
    contamination: float | None = None
    stated: ClassVar[bool] = False

    @property
    def closed_under_moves(self) -> bool:
        """Whether jumps that leave the model alone do not lead out of its set."""
        return closed_under_moves(self)

    def kind(self, problem: SteinProblem, tau: Supremum) -> str:
        """How the number was obtained, in the words of :class:`~steinball.features.Supremum`: that of τ, mostly."""
        return tau.kind if self.needs_bounded else "given"

    def __add__(self, other: Any) -> Sum:
        return Sum(as_radius(self), as_radius(other))

    def __radd__(self, other: Any) -> Sum:
        return Sum(as_radius(other), as_radius(self))


@dataclass(frozen=True)
class FixedRadius(Additive):
    """A stated number on the KSD scale. Valid with any kernel, tilted or not.

    Examples
    --------
    >>> FixedRadius(0.1).value
    0.1
    """

    value: float
    needs_bounded: ClassVar[bool] = False
    stated: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", as_number(self.value, "radius", low=0.0))

    def __call__(self, problem: SteinProblem, tau: Supremum) -> float:
        """The number."""
        return self.value


@dataclass(frozen=True, repr=False)
class Sum(Additive):
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
        if _anchored(self.first) and _anchored(self.second):
            raise TypeError(
                f"`{self.first!r}` and `{self.second!r}` are both sets around the model alone, so that their radii do "
                "not add: the second says nothing of steps away from members of the first. State one set that holds "
                "both departures, or a number."
            )

    def __repr__(self) -> str:
        return f"{self.first!r} + {self.second!r}"

    @property
    def needs_bounded(self) -> bool:  # type: ignore[override]
        """Whether one of them does."""
        return self.first.needs_bounded or self.second.needs_bounded

    @property
    def anchored(self) -> bool:  # type: ignore[override]
        """Whether one of them is."""
        return _anchored(self.first) or _anchored(self.second)

    def kind(self, problem: SteinProblem, tau: Supremum) -> str:
        """The kind of the part that can be trusted least."""
        kinds = [kind_of(part, problem, tau) for part in (self.first, self.second)]
        return min(kinds, key=lambda kind: kind in UPPER_BOUNDS)

    def __call__(self, problem: SteinProblem, tau: Supremum) -> float:
        """θ₁ + θ₂."""
        return self.first(problem, tau) + self.second(problem, tau)


def kind_of(radius: Radius, problem: SteinProblem, tau: Supremum) -> str:
    """The kind of a radius; of one from elsewhere, that of τ."""
    kind = getattr(radius, "kind", None)
    return str(kind(problem, tau)) if callable(kind) else tau.kind


def _anchored(radius: Radius) -> bool:
    return bool(getattr(radius, "anchored", False))
