"""The samples and grids that several experiments share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.paper.base import Cell

__all__ = ["gaussian_cell", "normal_outliers", "point_mass", "replace_rows"]

Samples = NDArray[np.float64]


def gaussian_cell(**grid: Any) -> Cell:
    """The common setting: n = 500 points of N(0, 1), outliers at z = 10 without spread, the median heuristic."""
    return {"outlier": 10, "noise": 0, "bandwidth": "median", "n": 500, "dimension": 1, **grid}


def replace_rows(x: Samples, share: float, rows: Any, rng: np.random.Generator) -> Samples:
    """``x`` with int(n·share) of its rows, chosen at random, replaced by ``rows(count)``."""
    x = x.copy()
    count = int(len(x) * share)
    x[rng.choice(len(x), count, replace=False)] = rows(count)
    return x


def point_mass(model: Any, cell: Cell, rng: np.random.Generator) -> Samples:
    """A sample of the model with int(nε) points set to z in every coordinate."""
    x = model.sample(cell["n"], rng)
    return replace_rows(x, cell["contamination"], lambda count: float(cell["outlier"]), rng)


def normal_outliers(x: Samples, cell: Cell, rng: np.random.Generator) -> Samples:
    """``x`` with int(nε) points replaced by draws of N(z, σ²) in every coordinate."""
    return replace_rows(
        x, cell["contamination"], lambda count: rng.normal(cell["outlier"], cell["noise"], (count, x.shape[1])), rng
    )
