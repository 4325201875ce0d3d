"""How fast a score grows toward infinity, as far as rays show it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Array, lent, like, to_host
from steinball.features.regions import Cloud, open_directions
from steinball.models.base import score_of
from steinball.models.knowledge import Knowledge

__all__ = ["growth_rate", "is_tamed", "ray_points"]

Floats = NDArray[np.float64]

DECADES = 10.0 ** np.arange(1, 7)
"""Lengths of the rays, in median distances from the center."""

STEEPEST = 8.0
"""A score that grows faster than this power of the distance is taken to grow faster than any."""

_AXES_UP_TO = 16


def ray_points(model: Any, samples: Array) -> Floats:
    """Points along rays inside the support, shape (decades, rays, d)."""
    x, support = to_host(samples), Knowledge(model).support
    cloud = Cloud.of(x, support)
    directions = cloud.directions
    if (d := x.shape[1]) <= _AXES_UP_TO:
        axes = np.vstack([np.eye(d), -np.eye(d)])
        directions = np.vstack([directions, axes if support is None else open_directions(axes, *support.along(d))])
    return cloud.center + cloud.spread * DECADES[:, None, None] * directions


def growth_rate(model: Any, samples: Array) -> float | None:
    r"""r with \|s(x)\| like \|x\|^r far out: what the model declares, or the largest along rays over two decades.

    Infinite where it is more than 8, and ``None`` where nothing can be told.

    Examples
    --------
    >>> from steinball.models import from_score
    >>> x = np.random.default_rng(0).normal(size=(50, 1))
    >>> round(growth_rate(from_score(lambda x: -x - 4 * x**3), x), 2)
    3.0
    """
    known = Knowledge(model)
    if known.growth is not None:
        return known.growth
    if not known.evaluable:
        return None
    points = ray_points(model, samples)
    try:
        with np.errstate(all="ignore"):
            sizes = np.abs(_scores(model, points, samples)).max(axis=2)
            logs = np.log10(np.maximum(sizes, 1e-300))
    except Exception:  # the user's score need not be defined so far out: then nothing is known
        return None
    rates = [rate for rate in (_last_slope(ray) for ray in logs.T) if rate is not None]
    if not rates:
        return None
    return math.inf if max(rates) > STEEPEST else max(rates)


def _scores(model: Any, points: Floats, template: Array) -> Floats:
    flat = points.reshape(-1, points.shape[-1])
    return to_host(score_of(model, like(flat, template))).reshape(points.shape)


def _last_slope(logs: Floats) -> float | None:
    """The slope over the last two decades that are finite; over the last one where there are no more."""
    finite = int(np.argmin(np.append(np.isfinite(logs), False)))
    if finite < 2:
        return None
    back = min(2, finite - 1)
    return float(logs[finite - 1] - logs[finite - 1 - back]) / back


def is_tamed(model: Any, samples: Array, power: float) -> bool:
    """Whether p^power·\\|s\\| falls along all rays, as far as they show it."""
    points = ray_points(model, samples)
    log_density = Knowledge(model).log_density
    if log_density is None:
        return False
    try:
        with np.errstate(all="ignore"):
            sizes = np.log(np.abs(_scores(model, points, samples)).max(axis=2))
            logs = to_host(log_density(lent(like(points.reshape(-1, points.shape[-1]), samples)))).reshape(sizes.shape)
    except Exception:
        return False
    with np.errstate(invalid="ignore"):
        together = np.where(np.isneginf(logs), -np.inf, power * logs + sizes)
    return bool(not np.isnan(together).any() and (together[2:] <= np.max(together[:2], axis=0)).all())
