"""Rows of one member of each family that is fitted, for all evidence on families."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from steinball.arrays import Floats

__all__ = ["MEMBERS", "Draw", "column"]

Draw = Callable[[np.random.Generator, int], Floats]

MEMBERS: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "gamma": lambda rng, n: rng.gamma(2.0, size=n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "weibull": lambda rng, n: rng.weibull(1.5, size=n),
    "student-t": lambda rng, n: rng.standard_t(5.0, size=n),
}


def column(family: str) -> tuple[str, Draw]:
    """A family, and rows (n, 1) of its member."""
    return family, lambda rng, n: MEMBERS[family](rng, n)[:, None]
