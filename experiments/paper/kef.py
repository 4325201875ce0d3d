"""The kernel exponential family on the galaxies, which two experiments share (paper §5.3)."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.framework.base import TEXT, Cell, Row
from experiments.framework.rows import standard_row, tilted_rows
from experiments.framework.table import Curve
from experiments.paper.generators import split_with_outliers
from steinball.datasets.data import load_galaxies
from steinball.fitting import fit_kernel_exponential_family
from steinball.kernels.base import Kernel
from steinball.kernels.radial import InverseMultiquadric
from steinball.models.kernel_exponential import KernelExponentialFamily

__all__ = ["SETUP", "TOLERANCE", "density_curve", "fit_and_split", "kef_rows"]

TOLERANCE = 0.2
NOISE = 0.1
LENGTHSCALE2 = 4.0
SETUP = (
    "inverse multiquadric of length scale² = 4 (λ² = 2), B = 1000 draws for IMQ-KSD, 500 for the others; 82 galaxies "
    "in halves of 41, d = 1, ε₀ = .2"
)
_SUM: Kernel = reduce(add, [InverseMultiquadric((2.0 * square) ** 0.5) for square in (0.6, 1.0, 1.2)])

Samples = NDArray[np.float64]


def fit_and_split(share: float, outlier: float, rng: Any) -> tuple[KernelExponentialFamily, Samples, Samples]:
    """The family fitted to one half of the galaxies with its outliers, that half, and the other."""
    first, second = split_with_outliers(load_galaxies(), share, outlier, rng, noise=NOISE)
    return fit_kernel_exponential_family(first), first, second


def kef_rows(x: Samples, model: Any, rng: np.random.Generator, cell: Cell) -> list[Row]:
    """Every test of a fitted model on the other half: length scale² = 4, or the text's kernels."""
    text = cell["variant"] == TEXT
    standard, tilted = (None, _SUM) if text else 2 * (InverseMultiquadric(LENGTHSCALE2**0.5),)
    here = {**cell, "n": len(x), "noise": NOISE, "dimension": 1}
    names = ("median", "sum") if text else 2 * (LENGTHSCALE2 / 2.0,)
    first = standard_row(x, model, rng, here, standard, bandwidth=names[0])
    return [first, *tilted_rows(x, model, rng, here, tilted, (TOLERANCE,), bandwidth=names[1])]


def density_curve(panel: str, series: str, model: KernelExponentialFamily) -> Curve:
    """The fitted density on [−9, 9]."""
    x = np.linspace(-9.0, 9.0, 361)
    return Curve(panel, series, x, value=np.exp(model.log_density(x) - model.log_normalizer))
