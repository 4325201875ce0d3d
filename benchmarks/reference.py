"""Plain references: the paper's formula as it is written, and the matrix product that no bootstrap can avoid."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def shortest(function: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Shortest wall time of some runs, and the last result."""
    best, result = np.inf, None
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        best = min(best, time.perf_counter() - start)
    return best, result


def product_seconds(n: int, draws: int, repeats: int) -> float:
    """Seconds of one (B × n)·(n × n) product; past 8,000 columns, from a part of the columns."""
    rng = np.random.default_rng(0)
    columns = min(n, 8_000, max(256, int(4e8) // n))
    weights, gram = rng.standard_normal((draws, n)), rng.standard_normal((n, columns))
    seconds, _ = shortest(lambda: weights @ gram, repeats)
    return seconds * n / columns


def four_terms(x: Array, scores: Array, lengthscale: float) -> Array:
    """u = sᵀs′k + sᵀ∇₂k + ∇₁kᵀs′ + tr ∇₁∇₂k for the tilted inverse multiquadric, with arrays of shape (n, n, d)."""
    d = x.shape[1]
    difference = x[:, None, :] - x[None, :, :]  # (n, n, d)
    base = 1.0 + np.sum(difference**2, axis=-1) / lengthscale**2
    h = base**-0.5
    gradient = -(base**-1.5)[..., None] * difference / lengthscale**2  # ∇₁h
    trace = d * base**-1.5 / lengthscale**2 - 3.0 * base**-2.5 * np.sum(difference**2, axis=-1) / lengthscale**4
    w = (1.0 + np.sum(x**2, axis=1)) ** -0.5
    slope = -(w[:, None] ** 3) * x  # ∇w
    k = w[:, None] * w[None, :] * h
    first = w[None, :, None] * (slope[:, None, :] * h[..., None] + w[:, None, None] * gradient)  # ∇₁k
    second = w[:, None, None] * (slope[None, :, :] * h[..., None] - w[None, :, None] * gradient)  # ∇₂k
    mixed = (slope @ slope.T) * h + w[:, None] * w[None, :] * trace
    mixed += np.sum(w[:, None, None] * slope[None, :, :] * gradient, axis=-1)
    mixed -= np.sum(w[None, :, None] * slope[:, None, :] * gradient, axis=-1)
    u = (scores @ scores.T) * k + np.sum(scores[:, None, :] * second, axis=-1)
    return np.asarray(u + np.sum(first * scores[None, :, :], axis=-1) + mixed)


def plain_test(x: Array, contamination: float, draws: int, seed: int = 0) -> tuple[float, float, float]:
    """The robust test as the paper states it: D, θ and the bootstrap quantile."""
    n = len(x)
    squares = np.sum((x[:, None, :] - x[None, :, :]) ** 2, axis=-1)
    lengthscale = float(np.sqrt(np.median(squares[np.triu_indices(n, 1)])))
    u = four_terms(x, -x, lengthscale)
    weights = np.random.default_rng(seed).multinomial(n, np.full(n, 1.0 / n), size=draws) - 1.0
    forms = np.einsum("bi,bi->b", weights @ u, weights) / n**2
    theta = contamination * float(np.sqrt(np.diag(u).max()))
    return float(np.sqrt(u.mean())), theta, float(np.sqrt(np.quantile(forms, 0.95)))
