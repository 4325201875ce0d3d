"""Every picture by its name, what it needs of a result, and the overview that is made of two of them."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from steinball.evidence.kernels import KernelsEvidence
from steinball.files import write_whole
from steinball.results.base import Result
from steinball.results.predictive import PredictiveResult
from steinball.results.regions import SharesResult
from steinball.show.further import (
    draw_contributions,
    draw_diagonal,
    draw_lengthscales,
    draw_nulls,
    draw_wealth,
    draw_witness,
)
from steinball.show.predictive import draw_bands, draw_pit, draw_table, has_bands
from steinball.show.sample import draw_regions, draw_sample, draw_shares
from steinball.show.theme import NEEDED, new_axes
from steinball.show.tolerance import can_slide, draw_tolerance
from steinball.show.view import Scene

_FORMATS = (".png", ".pdf", ".svg")


@dataclass(frozen=True)
class Picture:
    """A picture: ``draw(scene, ax)`` draws it, and ``possible(result)`` says whether a result has what it needs.

    ``side`` is where the overview may show it, ``"left"``, ``"right"`` or nowhere.
    """

    draw: Callable[[Scene, Any], Any]
    possible: Callable[[Result], bool]
    side: str = ""


def _has_points(result: Result) -> bool:
    return result._has_sums


def _has_regions(result: Result) -> bool:
    return isinstance(result, SharesResult) and bool(result.region) and not _has_table(result)


def _has_table(result: Result) -> bool:
    return isinstance(result, PredictiveResult)


def _wealth(scene: Scene, ax: Any) -> Any:
    path, level = scene.result._wealth(), scene.result.level
    assert path is not None
    reached = np.flatnonzero(path >= -np.log(level))
    return draw_wealth(np.arange(1, path.size + 1), path, level, int(reached[0]) + 1 if reached.size else None, ax)


PICTURES: dict[str, Picture] = {
    "regions": Picture(lambda scene, ax: draw_regions(scene.profile, ax), _has_regions, "left"),
    "table": Picture(lambda scene, ax: draw_table(scene.result, ax), _has_table, "left"),
    "pit": Picture(lambda scene, ax: draw_pit(scene.result, ax), _has_table, "right"),
    "bands": Picture(
        lambda scene, ax: draw_bands(scene.result, ax), lambda result: _has_table(result) and has_bands(result)
    ),
    "data": Picture(lambda scene, ax: draw_sample(scene.view, ax), _has_points, "left"),
    "tolerance": Picture(lambda scene, ax: draw_tolerance(scene.result, scene.zones, ax), can_slide, "right"),
    "lengthscales": Picture(
        lambda scene, ax: draw_lengthscales(scene.result._lengthscales(), ax),
        lambda result: isinstance(result._evidence, KernelsEvidence),
        "right",
    ),
    "draws": Picture(
        lambda scene, ax: draw_nulls(scene.result, scene.result._drawn(), ax),
        lambda result: result._drawn() is not None,
        "left",
    ),
    "witness": Picture(
        lambda scene, ax: draw_witness(scene.explanation, scene.view, ax),
        lambda result: _has_points(result) and result._sums()[0].problem.evaluable,
    ),
    "contributions": Picture(lambda scene, ax: draw_contributions(scene.explanation, ax), _has_points),
    "diagonal": Picture(lambda scene, ax: draw_diagonal(scene.explanation, scene.sums, ax), _has_points),
    "shares": Picture(lambda scene, ax: draw_shares(scene.profile, ax), _has_regions),
    "wealth": Picture(_wealth, lambda result: result._wealth() is not None),
}
"""A new picture is an entry here."""


def possible_pictures(result: Result) -> tuple[str, ...]:
    """The names of the pictures that can be drawn of a result."""
    return tuple(name for name, picture in PICTURES.items() if picture.possible(result))


def plot(result: Result, kind: str | Path = "overview", ax: Any = None, *, data: Any = None) -> Any:
    """One picture of a result, by its name: :meth:`steinball.results.Result.plot`.

    Examples
    --------
    >>> import steinball as sb
    >>> x = np.random.default_rng(0).normal(size=100)
    >>> result = sb.ksd_test(x, sb.models.Gaussian(), calibration=sb.DeviationBound(), tau="auto", tilt="auto", rng=0)
    >>> "draws" in result.pictures  # a bound needs none
    False
    """
    kind, ax = chosen_picture(kind, ax, result.pictures)
    scene, shown = Scene(result, data), panels(result) if kind == "overview" else [kind]
    drawers = [partial(PICTURES[name].draw, scene) for name in shown]
    return draw_panels(drawers, ax) if kind == "overview" else draw_into(ax, drawers[0])


def chosen_picture(kind: str | Path, ax: Any, kinds: Sequence[str]) -> tuple[str, Any]:
    """Which picture, and where: the name of a file in place of a kind means the overview in that file."""
    if Path(kind).suffix.lower() in _FORMATS:
        return "overview", kind
    if kind not in kinds:
        raise ValueError(
            f"`kind` must be one of {', '.join(kinds)} for this result, or a file that ends in .png, .pdf or .svg, "
            f"got {str(kind)!r}."
        )
    return str(kind), ax


class Panels(tuple[Any, ...]):
    """The axes of a picture; a notebook that ends in ``result.plot()`` shows the picture and prints nothing."""

    def _ipython_display_(self) -> None:
        """Print nothing: the figure shows itself."""


def draw_panels(drawers: Sequence[Callable[[Any], Any]], place: Any) -> Any:
    """Pictures side by side, in axes that were given, in a new figure, or in a file."""

    def draw(axes: Any) -> Panels:
        own = np.ravel(axes) if axes is not None else new_axes(len(drawers))
        return Panels(one(ax) for one, ax in zip(drawers, own, strict=True))

    return draw_into(place, draw, len(drawers))


def draw_into(place: Any, draw: Callable[[Any], Any], many: int = 1) -> Any:
    """What is drawn in axes or, where ``place`` is ``None``, in a new figure; or the path of a file that is written."""
    return save_axes(draw, many, place) if isinstance(place, str | Path) else draw(place)


def panels(result: Result) -> list[str]:
    """The names of the pictures that the overview is made of: two, or where a result has only one of them, that."""
    there = possible_pictures(result)
    sides = (next((name for name in there if PICTURES[name].side == side), None) for side in ("left", "right"))
    return [name for name in sides if name is not None]


def check_picture(path: str | Path) -> None:
    """Refuse a name that is no picture's, and say what is missing to draw one."""
    if Path(path).suffix.lower() not in _FORMATS:
        raise ValueError(f"`{path}` must end in .png, .pdf or .svg.")
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ValueError(NEEDED) from error


def save_picture(result: Result, path: str | Path, *, data: Any = None) -> Path:
    """Draw the overview of a result into a file, without a screen; the same result gives the same bytes."""
    check_picture(path)
    return Path(plot(result, path, data=data))


def save_axes(draw: Callable[[Any], Any], many: int, path: str | Path, dpi: int = 120) -> Path:
    """Draw into so many axes, side by side, and write them to a file: the same drawing gives the same bytes."""
    check_picture(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    path = Path(path)
    with rc_context({"svg.hashsalt": "steinball"}):
        figure = Figure(figsize=(5.4 * many, 4.2), layout="constrained")
        draw(figure.subplots(1, many))
        drawn = io.BytesIO()
        date = {".png": {"Software": None}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
        suffix = path.suffix.lower()
        figure.savefig(drawn, format=suffix[1:], dpi=dpi, metadata=date[suffix])
    write_whole(path, drawn.getvalue())
    return path
