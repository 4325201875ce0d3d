"""A value of τ∞ = sup u(x, x), how it was obtained, and what to warn of (paper §4.2, App. B)."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "UPPER_BOUNDS",
    "Supremum",
    "UnboundedSteinKernelWarning",
    "UncertifiedSupremumWarning",
]

UPPER_BOUNDS = ("given", "closed form", "certified")
"""The kinds of τ that bound u(x, x) for every x, not only where somebody has looked."""


class UnboundedSteinKernelWarning(UserWarning):
    """A radius or bound that needs sup u(x, x) < ∞ was asked of a Stein kernel that grows without limit."""


class UncertifiedSupremumWarning(UserWarning):
    """An upper bound on sup u(x, x) was asked for, and only the largest value at the samples was to be had.

    Examples
    --------
    >>> import warnings, steinball as sb
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", sb.features.UncertifiedSupremumWarning)
    ...     sb.robust_ksd_test([0.0, 1.0, 2.0], lambda x: -x, tau="auto", rng=0).tau_kind
    'sample'
    """


@dataclass(frozen=True)
class Supremum:
    """A value of τ and its kind.

    Lower bounds are ``"sample"``, ``"optimized"`` and ``"localized"``; upper bounds ``"given"``, ``"closed form"`` and
    ``"certified"``.
    """

    value: float
    kind: str

    @property
    def is_upper_bound(self) -> bool:
        """Whether u(x, x) ≤ value for every x, so that statements about the distribution follow."""
        return self.kind in UPPER_BOUNDS
