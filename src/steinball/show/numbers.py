"""What the sliders of a page count from: p-values along the tolerance, and bounds along the level."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.results.base import Result
from steinball.show.scene import Scene
from steinball.show.svg import Frame
from steinball.show.tolerance import can_slide

STEP = 0.001
"""Between two positions of a slider for shares and levels."""

_LARGEST_LEVEL, _FEW, _MANY = 0.25, 101, 1001


def numbers_of(scene: Scene) -> dict[str, Any]:
    """All that the sliders need; exact numbers, so that the page decides as the library does."""
    result = scene.result
    found: dict[str, Any] = {
        "level": result.level,
        "pvalue": result.pvalue,
        "rejected": result.rejected,
        "zero": result._headline().endswith("REJECTED"),
        "levels": _levels(result),
        "slider": None,
    }
    return found | {"slider": _slider(scene), **_table(scene)} if can_slide(result) else found


def _levels(result: Result) -> dict[str, Any]:
    """The positions of the slider for the level, the upper bound of the misfit at each, and what can be rejected."""
    (first, last), evidence = level_ends(result), result._evidence
    levels = [*(k / 1000 for k in range(first, last + 1)), result.level]
    return {
        "first": first,
        "upper": [_finite(evidence.upper_bound(level)) for level in levels],
        "decidable": [evidence.decidable(level) for level in levels],
    }


def level_ends(result: Result) -> tuple[int, int]:
    """The first and the last position of the slider for the level, in thousandths: from what the draws can reach."""
    draws = result._evidence.n_resamples
    least = 1.0 / (STEP * (draws + 1)) if draws else 1.0
    most = max(_LARGEST_LEVEL, result.level) / STEP
    return max(1, math.ceil(least - 1e-9)), max(math.ceil(most - 1e-9), math.ceil(least))


def _slider(scene: Scene) -> dict[str, Any]:
    zones = scene.zones
    left, right, top, bottom = Frame((0.0, 1.0), (0.0, 1.0)).ends
    limit = scene.result._evidence.limits(zones.kind, np.array([zones.own]))[0]
    return {
        "percent": zones.kind.in_percent,
        "own": zones.own,
        "limit": float(limit),
        "end": zones.end,
        "step": slider_step(scene),
        "frame": [left, right, top, bottom],
    }


def slider_end(scene: Scene) -> float:
    """Half of the data, or all of them where that much is at stake; of distances, beyond all zones."""
    zones = scene.zones
    if not zones.kind.in_percent:
        return 2.0 * zones.end
    return 0.5 if max(zones.end, zones.own) <= 0.5 else 1.0


def slider_step(scene: Scene) -> float:
    """Between two positions; a test without draws takes longer at each of them, and has fewer."""
    positions = _MANY if scene.result._evidence.n_resamples else _FEW
    return STEP if scene.zones.kind.in_percent and positions == _MANY else slider_end(scene) / (positions - 1)


def _table(scene: Scene) -> dict[str, Any]:
    """p-value and limit at every position of the slider for the tolerance."""
    step, end = slider_step(scene), slider_end(scene)
    amounts = np.array([float(f"{k * step:.12g}") for k in range(round(end / step) + 1)])
    curve = scene.result._evidence.curve(scene.zones.kind, amounts, scene.result.level)
    return {"pvalues": _packed(curve.pvalues), "limits": _packed(curve.limits)}


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
