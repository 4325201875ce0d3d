"""The picture to remember, and every other one by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from steinball.plots.nulls import draw_nulls
from steinball.plots.paths import draw_lengthscales, draw_wealth
from steinball.plots.pointwise import draw_contributions, draw_diagonal
from steinball.plots.sample import draw_sample
from steinball.plots.scene import Scene
from steinball.plots.theme import canvas, pair_of_axes
from steinball.plots.tolerance import draw_tolerance
from steinball.plots.witness import draw_witness
from steinball.results.base import Result

__all__ = ["panels", "plot"]

_LEFT, _RIGHT = ("data", "draws"), ("tolerance", "lengthscales")


def _wealth(scene: Scene, ax: Any) -> Any:
    path, level = scene.result._path(), scene.result.level
    assert path is not None
    reached = np.flatnonzero(path >= -np.log(level))
    return draw_wealth(np.arange(1, path.size + 1), path, level, int(reached[0]) + 1 if reached.size else None, ax)


_DRAWN: dict[str, Callable[[Scene, Any], Any]] = {
    "data": lambda scene, ax: draw_sample(scene.view, ax),
    "tolerance": lambda scene, ax: draw_tolerance(scene.result, scene.dial, scene.zones, ax),
    "draws": lambda scene, ax: draw_nulls(scene.result, scene.result._drawn(), ax),
    "witness": lambda scene, ax: draw_witness(scene.explanation, scene.view, ax),
    "contributions": lambda scene, ax: draw_contributions(scene.explanation, ax),
    "diagonal": lambda scene, ax: draw_diagonal(scene.explanation, scene.sums, ax),
    "lengthscales": lambda scene, ax: draw_lengthscales(scene.result._scales(), ax),
    "wealth": _wealth,
}


def plot(result: Result, kind: str = "overview", ax: Any = None, *, data: Any = None) -> Any:
    """One picture of a result, by its name: :meth:`steinball.results.Result.plot`.

    Examples
    --------
    >>> import steinball as sb
    >>> x = np.random.default_rng(0).normal(size=100)
    >>> result = sb.ksd_test(x, sb.models.Gaussian(), calibration=sb.DeviationBound(), tau="auto", tilt="auto", rng=0)
    >>> "draws" in result.pictures  # a bound needs none
    False
    """
    if kind not in result.pictures:
        raise ValueError(f"`kind` must be one of {', '.join(result.pictures)} for this result, got {kind!r}.")
    scene = Scene(result, data)
    return _overview(scene, ax) if kind == "overview" else _DRAWN[kind](scene, canvas(ax)[0])


def panels(result: Result) -> list[str]:
    """The names of the pictures that the overview is made of: two, or where a result has only one of them, that."""
    sides = (next((name for name in side if name in result.pictures), None) for side in (_LEFT, _RIGHT))
    return [name for name in sides if name is not None]


def _overview(scene: Scene, axes: Any) -> Any:
    shown = panels(scene.result)
    one = axes if axes is None or np.ndim(axes) == 0 else axes[0]
    places = pair_of_axes(axes) if len(shown) == 2 else (one,)
    return np.array([_DRAWN[name](scene, canvas(ax)[0]) for name, ax in zip(shown, places, strict=True)], dtype=object)
