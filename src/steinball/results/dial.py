"""A result at other tolerances: what a slider moves, and what a curve is drawn from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from steinball.arrays import Floats

if TYPE_CHECKING:
    from steinball.results.base import Result

__all__ = ["Dial", "Scales"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Dial:
    """The tolerance of a result, and its decision at others, from the same draws; no check is made and nothing warned.

    Attributes
    ----------
    unit : {"share", "distance"}
        What the tolerance is: a share of contamination, or a distance on the scale of D.
    own : float or None
        That of the result; ``None`` where it is of another kind.
    decide : callable
        The result at another tolerance, and at the level of this one.
    distance : float
        D, the observed distance.
    scale : float
        θ per unit of tolerance; NaN where several kernels have one each.
    upper : callable
        At a level, an upper bound of the distance of the population; infinite where there is none.
    numbers : mapping of arrays, or None
        What p-values and thresholds can be counted from (:meth:`steinball.calibration.Null.numbers`).
    certain : bool
        Whether a bound within the tolerance means *good enough*.
    """

    unit: str
    own: float | None
    decide: Callable[[float], Result]
    distance: float
    scale: float = math.nan
    upper: Callable[[float], float] = lambda level: math.inf
    numbers: Mapping[str, Any] | None = None
    certain: bool = True


@dataclass(frozen=True, eq=False)
class Scales:
    """What several length scales say: how strongly each speaks against the model, and what rejects."""

    lengthscales: Floats
    values: Floats
    threshold: float
    label: str

    def __post_init__(self) -> None:
        for name in ("lengthscales", "values"):
            object.__setattr__(self, name, np.asarray(vars(self)[name], dtype=np.float64))
