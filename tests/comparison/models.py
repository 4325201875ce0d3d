"""Models and kernels that the tests of comparison share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steinball.comparison import KernelCoordinates, MixtureEmbedding

Floats = NDArray[np.float64]


def plain(d: int = 1) -> KernelCoordinates:
    """Kernel coordinates that are those of the data."""
    return KernelCoordinates(np.zeros(d), np.eye(d))


def normal(at: KernelCoordinates, mean: float = 0.0, scale: float = 1.0) -> MixtureEmbedding:
    """N(mean, scale²) along the first column, and in all columns of spread ``scale``."""
    d = len(at.center)
    return MixtureEmbedding(at, mean * np.eye(1, d), scale**2 * np.eye(d)[None], np.ones(1))


def mixture(at: KernelCoordinates) -> MixtureEmbedding:
    """Two correlated bumps in the plane."""
    means = np.array([[-1.0, 0.5], [1.5, 0.0]])
    spreads = np.array([[[1.0, 0.6], [0.6, 0.8]], [[0.3, -0.1], [-0.1, 0.5]]])
    return MixtureEmbedding(at, means, spreads, np.array([0.3, 0.7]))


def kernel(x: Floats, y: Floats) -> Floats:
    """The kernel in its own coordinates, written out."""
    r2 = np.sum((x[:, None] - y[None]) ** 2, axis=-1)
    return np.asarray(sum(np.exp(-r2 / (2.0 * width**2)) for width in (1.0, 0.5, 0.25)) / 3.0)
