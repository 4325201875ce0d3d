"""The oracle of the engines: the paper's four-term formula, with (n, n, d) arrays and nothing of the library."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

Floats = NDArray[np.float64]
FourTerm = Callable[..., Floats]


def _four_term(x: Floats, s: Floats, lengthscale: float, metric: Floats | None = None, tilted: bool = False) -> Floats:
    r"""u of k(x, y) = w(x) h(x, y) w(y), h = (1 + r²/ℓ²)^(−1/2), w = (1 + |x|²)^(−1/2), in full.

    s(x)·s(y) k + s(x)·∇_y k + s(y)·∇_x k + ∇_x·∇_y k with the product rule written out, none of it shared with the
    library: no shifted score, no profile, no expanded distances.
    """
    c = np.eye(x.shape[1]) if metric is None else metric
    apart = x[:, None, :] - x[None, :, :]  # (n, n, d)
    bent = apart @ c
    q = 1.0 + np.sum(apart * bent, axis=2) / lengthscale**2
    h, slope, curve = q**-0.5, -0.5 * q**-1.5 / lengthscale**2, 0.75 * q**-2.5 / lengthscale**4
    h_x = 2.0 * slope[:, :, None] * bent  # ∇_x h; ∇_y h is its opposite
    h_xy = -4.0 * curve * np.sum(bent * bent, axis=2) - 2.0 * slope * np.trace(c)
    w = (1.0 + np.sum(x * x, axis=1)) ** -0.5 if tilted else np.ones(len(x))
    w_x = -x * w[:, None] ** 3 if tilted else np.zeros_like(x)
    left, right = w[:, None], w[None, :]
    k = left * h * right
    k_x = right[:, :, None] * (w_x[:, None, :] * h[:, :, None] + left[:, :, None] * h_x)
    k_y = left[:, :, None] * (w_x[None, :, :] * h[:, :, None] - right[:, :, None] * h_x)
    k_xy = (w_x @ w_x.T) * h + left * right * h_xy
    k_xy += np.einsum("ijk,jk->ij", h_x, w_x) * left - np.einsum("ijk,ik->ij", h_x, w_x) * right
    terms = (s @ s.T) * k + np.einsum("ik,ijk->ij", s, k_y) + np.einsum("jk,ijk->ij", s, k_x) + k_xy
    return np.asarray(terms)


@pytest.fixture(scope="session")
def four_term() -> FourTerm:
    """``four_term(x, s, lengthscale, metric=None, tilted=False)``: the Stein Gram matrix of an IMQ, (n, n)."""
    return _four_term
