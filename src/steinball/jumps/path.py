"""Differences of a log density from its score alone, along straight lines."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.polynomial.legendre import leggauss

from steinball.arrays import Array, Floats, like, to_host
from steinball.models.base import score_of
from steinball.models.knowledge import Knowledge

TOLERANCE = 1e-6
_NODES = 12
_PANELS = (8, 16, 32, 64, 128, 256)
_BLOCK = 1 << 16


def log_ratio_along_paths(model: Any, x: Floats, y: Floats, template: Array) -> Floats:
    r"""log p(y) − log p(x) for pairs of rows, from the score

    .. math:: \log p(y) - \log p(x) = \int_0^1 s(x + t (y - x))^\top (y - x) \, dt,

    by Gauss–Legendre panels that are halved until two in a row agree to 10⁻⁶. A path that never gets there, across a
    place where the score jumps or is infinite, is refused: an acceptance that is only roughly right would not leave the
    model alone.
    """
    if not Knowledge(model).evaluable:
        raise TypeError("jumps need the model away from the samples; `model` is an array of scores.")
    value, left = np.full(len(x), np.nan), np.arange(len(x))
    before = _integral(model, x, y, _PANELS[0], template)
    for panels in _PANELS[1:]:
        after = _integral(model, x[left], y[left], panels, template)
        settled = np.abs(after - before) <= TOLERANCE
        value[left[settled]] = after[settled]
        left, before = left[~settled], after[~settled]
        if not left.size:
            return value
    raise ValueError(
        f"the score could not be integrated to {TOLERANCE:g} along {left.size} of {len(x)} jumps. Give the model a "
        "`log_density(x)` (up to a constant), for instance by `from_log_density`."
    )


def _integral(model: Any, x: Floats, y: Floats, panels: int, template: Array) -> Floats:
    nodes, weights = leggauss(_NODES)
    times = ((np.arange(panels)[:, None] + 0.5 + 0.5 * nodes) / panels).ravel()
    parts = np.tile(0.5 * weights / panels, panels)
    size = max(1, _BLOCK // times.size)
    blocks = [slice(start, start + size) for start in range(0, len(x), size)]
    return np.concatenate([_block(model, x[b], y[b] - x[b], times, parts, template) for b in blocks])


def _block(model: Any, x: Floats, apart: Floats, times: Floats, parts: Floats, template: Array) -> Floats:
    points = (x[:, None, :] + times[:, None] * apart[:, None, :]).reshape(-1, x.shape[1])
    scores = to_host(score_of(model, like(points, template))).reshape(len(x), times.size, x.shape[1])
    return np.asarray(np.einsum("ntd,nd,t->n", scores, apart, parts))
