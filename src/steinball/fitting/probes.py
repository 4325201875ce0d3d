"""Points at which suprema over a whole line or space are looked for."""

from __future__ import annotations

import numpy as np

from steinball.arrays import Floats
from steinball.models.support import Support

_DIRECTIONS, _POINTS = 48, 256


def far_and_near(x: Floats, support: Support | None) -> Floats:
    """Points of the data, and points on rays from their median, from next to it to 10⁶ times the spread; inside."""
    n, d = x.shape
    center = np.median(x, axis=0)
    offsets = x - center
    spread = np.median(np.abs(offsets), axis=0)
    spread = np.where(spread > 0.0, spread, 1.0)
    radii = np.concatenate([[0.0], np.geomspace(0.05, 20.0, 160 if d == 1 else 24), np.geomspace(30.0, 1e6, 8)])
    directions = np.array([[1.0], [-1.0]]) if d == 1 else _directions(offsets / spread)
    rays = center + (radii[:, None, None] * directions * spread).reshape(-1, d)
    found = np.vstack([x[:: -(-n // _POINTS)], rays])
    if support is None:
        return found
    return support.rows_inside(np.vstack([found, *_next_to_edges(x, support)]))


def _directions(whitened: Floats) -> Floats:
    lengths = np.linalg.norm(whitened, axis=1, keepdims=True)
    apart = whitened[lengths[:, 0] > 0.0] / lengths[lengths[:, 0] > 0.0]
    axes = np.vstack([np.eye(whitened.shape[1]), -np.eye(whitened.shape[1])])
    return np.vstack([axes, apart[:: max(1, -(-len(apart) // _DIRECTIONS))]])


def _next_to_edges(x: Floats, support: Support) -> list[Floats]:
    """Rows of the data moved next to each finite end, column by column."""
    low, high = support.along(x.shape[1])
    rows = x[:: -(-len(x) // 16)]
    found = []
    for ends, sign in ((low, 1.0), (high, -1.0)):
        for j in np.flatnonzero(np.isfinite(ends)):
            usual = float(np.median(np.abs(x[:, j] - ends[j])))
            for near in np.geomspace(1e-8, 1.0, 60):
                moved = rows[:1].copy() if x.shape[1] == 1 else rows.copy()
                moved[:, j] = ends[j] + sign * near * usual
                found.append(moved)
    return found
