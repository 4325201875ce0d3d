"""What a page counts its p-values, thresholds and verdicts from: the draws, or where there are none a table."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.plots.scene import Scene
from steinball.report.svg import Frame
from steinball.results.base import Result

__all__ = ["STEP", "as_json", "has_draws", "level_ends", "numbers_of", "slider_end", "slider_step"]

STEP = 0.001
"""Between two positions of a slider for shares and levels."""

_LARGEST_LEVEL, _MANY_DRAWS, _ROWS = 0.25, 20_000, 101


def numbers_of(scene: Scene) -> dict[str, Any]:
    """All that the sliders need; exact numbers, so that the page decides as the library does."""
    result = scene.result
    found: dict[str, Any] = {
        "level": result.level, "pvalue": result.pvalue, "statistic": result.statistic,
        "threshold": _finite(result.threshold), "rejected": result.rejected, "verdict": result.verdict,
        "zero": result._headline().endswith("REJECTED"),
        "draws": result.n_resamples, "levels": _levels(scene), "dial": None,
    }  # fmt: skip
    if result._dial() is not None:
        found |= {"dial": _dial(scene), "null": _null(scene)}
    return found


def _levels(scene: Scene) -> dict[str, Any]:
    """The positions of the slider for the level, and the upper bound of the distance at each."""
    (first, last), dial = level_ends(scene.result), scene.result._dial()
    if dial is None:
        return {"first": first, "upper": [], "own": None}
    upper = [_finite(dial.upper(k / 1000)) for k in range(first, last + 1)]
    return {"first": first, "upper": upper, "own": _finite(dial.upper(scene.result.level))}


def level_ends(result: Result) -> tuple[int, int]:
    """The first and the last position of the slider for the level, in thousandths: from what the draws can reach."""
    least = 1.0 / (STEP * (result.n_resamples + 1)) if result.n_resamples else 1.0
    most = max(_LARGEST_LEVEL, result.level) / STEP
    return max(1, math.ceil(least - 1e-9)), max(math.ceil(most - 1e-9), math.ceil(least))


def _dial(scene: Scene) -> dict[str, Any]:
    dial, zones = scene.dial, scene.zones
    left, right, top, bottom = Frame((0.0, 1.0), (0.0, 1.0)).ends
    return {
        "unit": dial.unit, "own": dial.own, "scale": _finite(dial.scale), "distance": dial.distance,
        "radius": _own_radius(scene), "certain": dial.certain, "end": zones.end, "most": slider_end(scene),
        "step": slider_step(scene), "frame": [left, right, top, bottom],
    }  # fmt: skip


def _own_radius(scene: Scene) -> float | None:
    """θ of the result, which rounding must not move."""
    dial = scene.dial
    return None if dial.own is None else _finite(dial.own * dial.scale)


def slider_end(scene: Scene) -> float:
    """Half of the data, or all of them where that much is at stake; of distances, beyond all zones."""
    if scene.dial.unit == "distance":
        return 2.0 * scene.zones.end
    return 0.5 if max(scene.zones.end, scene.dial.own or 0.0) <= 0.5 else 1.0


def has_draws(scene: Scene) -> bool:
    """Whether the page counts from draws: there are some, and not too many for a page."""
    return scene.dial.numbers is not None and scene.result.n_resamples <= _MANY_DRAWS


def slider_step(scene: Scene) -> float:
    """Of a slider that a table is behind, from row to row."""
    if has_draws(scene):
        return STEP if scene.dial.unit == "share" else slider_end(scene) / 1000
    return slider_end(scene) / (_ROWS - 1)


def _null(scene: Scene) -> dict[str, Any]:
    """The draws, or p-values in a table where there are none, or too many for a page."""
    dial = scene.dial
    if has_draws(scene) and dial.numbers is not None:
        return {name: _packed(values) for name, values in dial.numbers.items()}
    step = slider_step(scene)
    rows = [dial.decide(float(f"{k * step:.12g}")) for k in range(_ROWS)]
    return {"pvalues": [row.pvalue for row in rows]}


def _packed(values: Floats) -> str:
    """Every bit of the numbers, as text."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode()


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def as_json(values: Any) -> str:
    """JSON that may stand inside of a page: nothing in it can end the element that it stands in.

    Examples
    --------
    >>> as_json({"name": "</script>"})
    '{"name":"\\\\u003c/script>"}'
    """
    plain = json.dumps(values, allow_nan=False, separators=(",", ":"))
    return plain.replace("<", "\\u003c").replace("&", "\\u0026").replace("\u2028", "\\u2028")
