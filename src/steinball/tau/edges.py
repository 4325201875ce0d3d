"""What a density does at the edges of its support, and the tilt that Stein's identity needs there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinball.arrays import Array, Floats, like, to_host
from steinball.models.base import score_of
from steinball.models.knowledge import Knowledge
from steinball.models.support import Support
from steinball.tilts import EdgeTilt, Tilt

NEARNESS = (1e-4, 1e-6, 1e-8)
"""How near to an edge the score is looked at, in median distances from it."""

_ROWS = 8
_VISIBLY = 1.05  # from here on a score is taken to be steeper than 1/r
_CLOSE = 1e-4


@dataclass(frozen=True, eq=False)
class End:
    """A finite end of one column, and what the score does next to it.

    Next to the edge the density is like :math:`r^k`, k = ``order``, and the score like :math:`r^{-m}`, where m is
    ``steepness`` (0 for a score that stays bounded). ``points`` are where that was seen, farthest first, (3, rows, d).
    """

    column: int
    edge: float
    order: float
    steepness: float
    points: Floats

    def tilt_order(self, tilt: Tilt | None) -> float:
        """q with w·e like r^q next to the edge."""
        if tilt is None:
            return 0.0
        far, near = (_log_weights(tilt, self.points[k], self.column) for k in (0, -1))
        apart, closer = (np.log(np.abs(self.points[k, :, self.column] - self.edge)) for k in (0, -1))
        return float(np.min((far - near) / (apart - closer)))

    def sound(self, tilt: Tilt | None) -> bool:
        """Whether E φ = 0 and E u < ∞ there: the density times the weight vanishes, and (w s)² is integrable."""
        q = self.tilt_order(tilt)
        return self.order + q > _CLOSE**2 and self.order + 2.0 * q > 1.0 + _CLOSE


def _log_weights(tilt: Tilt, x: Floats, column: int) -> Floats:
    each = tilt.coordinate_weights(x)
    log_weight = to_host(tilt.log_weight(x))
    return log_weight if each is None else log_weight + np.log(to_host(each)[:, column])


def find_ends(model: Any, samples: Array) -> list[End]:
    """The finite ends of a model's support, each with what the score does there; none where there is no edge."""
    support = Knowledge(model).support
    if support is None or not Knowledge(model).evaluable:
        return []
    x = support.rows_inside(to_host(samples))
    low, high = support.along(x.shape[1])
    sides = [(side, sign, j) for side, sign in ((low, 1.0), (high, -1.0)) for j in np.flatnonzero(np.isfinite(side))]
    return [_end(model, x, (int(j), float(side[j]), sign), samples) for side, sign, j in sides]


def _end(model: Any, x: Floats, where: tuple[int, float, float], template: Array) -> End:
    column, edge, sign = where
    unit = float(np.median(sign * (x[:, column] - edge)))
    rows = np.repeat(x[None, :: -(-len(x) // _ROWS)], len(NEARNESS), axis=0)
    least = 4096.0 * np.finfo(np.float64).eps * abs(edge)
    for k, near in enumerate(NEARNESS):
        rows[k, :, column] = edge + sign * max(near * unit, (len(NEARNESS) - k) * least)
    with np.errstate(all="ignore"):
        scores = to_host(score_of(model, like(rows.reshape(-1, x.shape[1]), template)))
        scores = scores.reshape(rows.shape)[:, :, column]
        distance = np.abs(rows[:, :, column] - edge)
        orders = sign * distance[-1] * scores[-1]
        slopes = np.log(np.abs(scores[-1] / scores[0])) / np.log(distance[0] / distance[-1])
    order = float(np.min(orders[np.isfinite(orders)], initial=math.inf))
    steepness = float(np.max(slopes[np.isfinite(slopes)], initial=0.0))
    return End(column, edge, 0.0 if math.isinf(order) else order, steepness, rows)


def edge_tilt(model: Any, samples: Array) -> EdgeTilt | None:
    """The tilt that vanishes at the finite edges of a model, or ``None`` where it has none.

    Its scale is the smaller of the median distance from the edge and the interquartile range of the samples, column by
    column; its power 1, or more where the score is visibly steeper than 1/r.

    Examples
    --------
    >>> from steinball.models import from_score
    >>> edge_tilt(from_score(lambda x: 0.0 * x, support=(0, 1)), np.linspace(0.1, 0.9, 9)[:, None]).scale
    (0.4,)
    """
    support = Knowledge(model).support
    if support is None:
        return None
    x = support.rows_inside(to_host(samples))
    steepest = max((end.steepness for end in find_ends(model, samples)), default=0.0)
    power = math.ceil(2.0 * steepest - 0.02) / 2.0 if steepest > _VISIBLY else 1.0
    low, high = (tuple(None if math.isinf(v) else float(v) for v in side) for side in support.along(x.shape[1]))
    return EdgeTilt(low, high, _scales(support, x), power)


def _scales(support: Support, x: Floats) -> tuple[float, ...]:
    medians = np.min([np.median(side, axis=0) for side in support.distances(x)], axis=0)
    spread = np.subtract(*np.quantile(x, [0.75, 0.25], axis=0))
    scales = np.where(spread > 0.0, np.minimum(medians, spread), medians)
    return tuple(np.where(np.isfinite(scales) & (scales > 0.0), scales, 1.0).tolist())


def check_edges(tilt: Tilt | None, model: Any, samples: Array) -> None:
    """Refuse a test in which Stein's identity fails at an edge of the support."""
    for end in find_ends(model, samples):
        if end.sound(tilt):
            continue
        side = "low" if end.points[0, 0, end.column] > end.edge else "high"
        falls = "" if tilt is None else f"the weight of {type(tilt).__name__} like {_power(end.tilt_order(tilt))}"
        weight = falls and f", and {falls}"
        raise ValueError(
            f"the model has an edge at {end.edge:g} in column {end.column}, where its density is like "
            f"{_power(end.order)} in the distance r{weight}: too much for Stein's identity, so that a true model would "
            f'be rejected. Use `tilt="auto"`, or a tilt that vanishes there: `EdgeTilt({side}={end.edge:g})`.'
        )


def _power(order: float) -> str:
    return f"r^{round(order, 2) + 0.0:g}"
