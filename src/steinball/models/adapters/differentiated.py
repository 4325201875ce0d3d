"""Log densities of other libraries with automatic differentiation, and all else that they know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.models.autodiff import DifferentiatedDensity
from steinball.models.support import Support

Map = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False, repr=False)
class ForeignDensity(DifferentiatedDensity):
    """A distribution of a library that differentiates, with its place where it knows it.

    ``base`` maps data to standard normal ones, where the model can; ``original`` is the object that the user passed.
    """

    name: str = ""
    location: Any = None
    covariance: Any = None
    base: Map | None = None
    original: Any = None

    def __repr__(self) -> str:
        return f"ForeignDensity({self.name}, score: automatic derivative by {self.backend})"

    @property
    def to_base(self) -> Map | None:
        """Data to base space, where the model can."""
        return self.base


def box_of(low: Any, high: Any, dimension: int) -> Support:
    """The support between two ends, numbers or one per column."""
    ends = (np.broadcast_to(np.asarray(end, dtype=np.float64), dimension) for end in (low, high))
    return Support(tuple((float(a), float(b)) for a, b in zip(*ends, strict=True)))
