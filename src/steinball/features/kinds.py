"""A value of τ∞ = sup u(x, x), and how it was obtained (paper §4.2, App. B)."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Supremum", "is_upper_bound"]


@dataclass(frozen=True)
class Supremum:
    """A value of τ and its kind.

    Lower bounds are ``"sample"``, ``"optimized"``, ``"largest found"`` and ``"localized"``; upper bounds ``"given"``,
    ``"closed form"`` and ``"certified"``. ``doubt`` says why an upper bound that was asked for is not to be had.

    Examples
    --------
    >>> Supremum(1.5, "certified").is_upper_bound, Supremum(1.5, "sample").is_upper_bound
    (True, False)
    """

    value: float
    kind: str
    doubt: str = ""

    @property
    def is_upper_bound(self) -> bool:
        """Whether u(x, x) ≤ value for every x, so that statements about the distribution follow."""
        return is_upper_bound(self.kind)


def is_upper_bound(kind: str) -> bool:
    """Whether numbers of this kind hold for every x, not only where somebody has looked."""
    return kind in ("given", "closed form", "certified")
