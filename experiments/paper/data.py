"""The samples and grids that several experiments share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.framework.base import Cell
from steinball.datasets.data import contaminate
from steinball.models import Gaussian

__all__ = ["gaussian_cell", "normal_outliers", "point_mass"]

Samples = NDArray[np.float64]


def gaussian_cell(**grid: Any) -> Cell:
    """The common setting: n = 500 points of N(0, 1), outliers at z = 10 without spread, the median heuristic."""
    return {"outlier": 10, "noise": 0, "bandwidth": "median", "n": 500, "dimension": 1, **grid}


def point_mass(model: Any, cell: Cell, rng: np.random.Generator) -> Samples:
    """A sample of the model with ⌊nε⌋ points set to z in every coordinate."""
    return np.asarray(contaminate(model.sample(cell["n"], rng), cell["contamination"], cell["outlier"], rng))


def normal_outliers(x: Samples, cell: Cell, rng: np.random.Generator) -> Samples:
    """``x`` with ⌊nε⌋ points replaced by draws of N(z, σ² I)."""
    noise = Gaussian(np.full(x.shape[1], float(cell["outlier"])), cell["noise"] ** 2)
    return np.asarray(contaminate(x, cell["contamination"], noise, rng))
