"""Data of every family, with parameters to look at it from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
RNG = np.random.default_rng(0)

DATA: dict[str, Floats] = {
    "normal": RNG.normal(2.0, 3.0, (150, 1)),
    "student-t": 2.0 + 3.0 * RNG.standard_t(4.0, (150, 1)),
    "gamma": RNG.gamma(2.0, 3.0, (150, 1)),
    "lognormal": RNG.lognormal(1.0, 0.7, (150, 1)),
    "weibull": 2.0 * RNG.weibull(1.5, (150, 1)),
    "mixture:2": np.vstack([RNG.normal(-2.0, 1.0, (100, 1)), RNG.normal(2.0, 0.5, (50, 1))]),
}
PARAMS: dict[str, list[float]] = {
    "normal": [1.5, 2.5],
    "student-t": [3.0, 1.0, 2.0],
    "gamma": [2.5, 2.0],
    "lognormal": [0.8, 0.9],
    "weibull": [1.2, 1.8],
    "mixture:2": [0.6, -1.5, 1.2, 2.5, 0.4],
}


def case(name: str) -> tuple[Any, Floats, Floats]:
    """The family, its data, and parameters that are not the fitted ones."""
    from steinball.fitting import as_family

    return as_family(name, DATA[name].shape[1]), DATA[name], np.array(PARAMS[name])


def rescaled(name: str, params: Any, unit: float) -> Floats:
    """The parameters of ``unit`` times a variable with these."""
    factors = {
        "normal": [unit, unit],
        "student-t": [1.0, unit, unit],
        "gamma": [1.0, unit],
        "lognormal": [1.0, 1.0],
        "weibull": [1.0, unit],
        "mixture:2": [1.0, unit, unit**2, unit, unit**2],
    }[name]
    moved = np.array([np.log(unit), 0.0]) if name == "lognormal" else 0.0
    return np.asarray(params) * factors + moved
