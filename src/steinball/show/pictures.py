"""Every picture by its name, what it needs of a result, and the overview that is made of two of them."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.explain.explanation import Explanation
from steinball.files import write_whole
from steinball.kernels.base import unit_kernel
from steinball.predictive.finding import BAND_LEVELS, bands
from steinball.results.aggregated import KernelsResult
from steinball.results.base import Result
from steinball.results.comparison import ComparisonResult
from steinball.results.predictive import PredictiveResult
from steinball.results.regions import SharesResult
from steinball.show import panels
from steinball.show.axes import NEEDED, Theme, canvas, draw_described, finish, new_axes, plain
from steinball.show.svg import Frame
from steinball.show.view import MOST, Scene, View, some_of, widened
from steinball.text import count, number, percent

_LARGEST = 300.0
_TICKS, _TAIL = 8, 0.005


def draw_wealth(n: Any, log_wealth: Floats, level: float, rejected_at: int | None, ax: Any = None) -> Any:
    """What a bettor has made of 1, on a logarithmic scale, against what rejects."""
    ax, theme = canvas(ax)
    ax.axhline(1.0, color=theme.data, linewidth=0.8)
    told = f"1/level = {number(1 / level)}", f"rejected at point {rejected_at:,}" if rejected_at else ""
    _draw_growth(ax, theme, n, log_wealth, "wealth", 1.0 / level, [rejected_at] if rejected_at else [], told)
    ax.set(xlabel="number of points", ylabel="wealth")
    return finish(ax, "wealth of a bettor against the model")


def draw_alarms(n: Any, log_wealth: Floats, threshold: float, alarms: Sequence[int], ax: Any = None) -> Any:
    """The evidence of a monitor after each row, on a logarithmic scale, the threshold and the rows of alarms."""
    ax, theme = canvas(ax)
    told = f"alarm at row {alarms[0]:,}" if len(alarms) == 1 else count(len(alarms), "alarm")
    _draw_growth(ax, theme, n, log_wealth, "evidence", threshold, alarms, (f"alarm at {number(threshold)}", told))
    ax.set(xlabel="number of rows", ylabel="evidence since the last alarm")
    return finish(ax, "evidence that the rows follow the model no longer")


def _draw_growth(
    ax: Any, theme: Theme, n: Any, logs: Floats, name: str, most: float, rows: Sequence[int], told: tuple[str, str]
) -> None:
    """A quantity that grows by factors, dashed how much is enough, the rows where it was; ``told`` in words."""
    ax.axhline(most, color=theme.ink, linestyle="--", linewidth=1, label=told[0])
    values = np.exp(np.clip(np.ravel(logs), -_LARGEST, _LARGEST))
    ax.semilogy(np.ravel(n), values, color=theme.model, linewidth=1.5, label=name)
    for k, row in enumerate(rows):
        ax.axvline(row, color=theme.blamed, linewidth=1.4, alpha=0.8, label=told[1] if k == 0 else None)


def draw_lengthscales(scene: Scene, ax: Any) -> Any:
    """How strongly every length scale speaks against the model, and what rejects."""
    assert isinstance(scene.result, KernelsResult)
    (values, threshold, label), (ax, theme) = scene.result._by_kernel(), canvas(ax)
    lengths = np.array([unit_kernel(kernel)[1] for kernel in scene.result.kernels])
    order = np.argsort(lengths)
    x, y = lengths[order], values[order]
    ax.plot(x, y, "o-", color=theme.model, linewidth=1.6, label="length scales")
    leading = int(np.argmax(y))
    ax.plot(x[leading], y[leading], "o", color=theme.blamed, markersize=9, label=f"leading: {number(x[leading])}")
    if math.isfinite(threshold):
        ax.axhline(threshold, color=theme.ink, linestyle="--", linewidth=1, label="rejected above")
    ax.set(xscale="log", xlabel="length scale of the kernel", ylabel=label)
    ax.set_xticks(x[:: 1 + len(x) // _TICKS], [f"{value:.2g}" for value in x[:: 1 + len(x) // _TICKS]])
    ax.minorticks_off()
    return finish(ax, "evidence by length scale")


def draw_nulls(scene: Scene, ax: Any) -> Any:
    """A histogram of draws on the scale of the statistic."""
    result, draws, (ax, theme) = scene.result, scene.result._drawn(), canvas(ax)
    assert draws is not None
    ax.hist(draws, bins=int(np.clip(np.sqrt(draws.size), 10, 60)), color=theme.data, alpha=0.6, label="draws")
    if math.isfinite(result.threshold):
        ax.axvline(result.threshold, color=theme.ink, linestyle="--", label=f"threshold {number(result.threshold)}")
    label = f"statistic {number(result.statistic)}"
    ax.axvline(result.statistic, color=theme.blamed if result.rejected else theme.model, linewidth=2.2, label=label)
    ax.set(xlabel="D − θ", ylabel="number of draws")
    return finish(ax, f"null distribution, p-value {number(result.pvalue)}")


def draw_contributions(scene: Scene, ax: Any) -> Any:
    """The largest contributions by name, and the sum of all others."""
    explanation, (ax, theme) = scene.explanation, canvas(ax)
    rows = explanation.points
    shares, places = 100 * explanation.shares(rows), np.arange(len(rows))
    ax.barh(places, shares, color=theme.blamed)
    ax.axvline(0.0, color=theme.ink, linewidth=0.8)
    ax.set_yticks(places, [plain(explanation.label(i)) for i in rows.tolist()], fontsize="small")
    ax.invert_yaxis()
    others = len(explanation.contributions) - len(rows)
    rest = f"; the other {count(others, 'point')}: {percent(1 - shares.sum() / 100)} together" if others else ""
    ax.set_xlabel(f"share of D² in %{rest}")
    return finish(ax, "which points the distance is made of", legend=False)


def draw_diagonal(scene: Scene, ax: Any) -> Any:
    """u(x, x), how much each point can count, against where it lies; τ is the most that any point can."""
    explanation, sums, (ax, theme) = scene.explanation, scene.sums, canvas(ax)
    j = int(np.argmax(explanation.coordinates))
    x, values = sums.problem.rows.original[:, j], sums.diagonal[sums.rows]
    low, high = _window(x)
    outside = int(((x < low) | (x > high)).sum())
    some = some_of(np.ones(len(x), dtype=bool), MOST)
    x, values = x[some], values[some]
    order = np.argsort(x)
    if sums.problem.samples.shape[1] == 1:
        ax.plot(x[order], values[order], color=theme.model, linewidth=1)
    ax.scatter(x, values, s=8, color=theme.data, linewidths=0, alpha=0.8, label="data")
    if np.isfinite(sums.tau):
        ax.axhline(sums.tau, color=theme.blamed, linestyle="--", label="τ")
    beyond = f" ({count(outside, 'point')} outside of this picture)" if outside else ""
    ax.set(xlabel=f"{plain(explanation.names[j])}{beyond}", ylabel="u(x, x)", ylim=(0.0, None), xlim=(low, high))
    return finish(ax, "how much a point can count")


def _window(x: Floats) -> tuple[float, float]:
    """From the least point to the largest; a far one must not make a line of all others."""
    low, high = widened(np.quantile(x, [_TAIL, 1.0 - _TAIL]), 0.5)
    return widened((max(float(x.min()), low), min(float(x.max()), high)), 0.03)


_CELLS = 60


def draw_witness(scene: Scene, ax: Any) -> Any:
    """Along the column that counts most, or over the plane of two columns."""
    ax, theme = canvas(ax)
    plane = len(scene.explanation.names) == 2
    _draw_plane(scene.explanation, scene.view, ax) if plane else _draw_line(scene.explanation, ax, theme)
    return finish(ax, "where the data have too much (+) or too little (−) mass", legend=not plane)


def _draw_line(explanation: Explanation, ax: Any, theme: Theme) -> None:
    j = int(np.argmax(explanation.coordinates))
    grid, values = explanation.witness_along(j)
    ax.axhline(0.0, color=theme.ink, linewidth=0.8)
    ax.plot(grid, values, color=theme.model, linewidth=2)
    for sign, color, label in ((1, theme.blamed, "more data than expected"), (-1, theme.model, "fewer data")):
        where = sign * values > 0
        ax.fill_between(grid, values, 0.0, where=where, color=color, alpha=0.3, linewidth=0, label=label)
    column = explanation.samples[:, j]
    shown = column[(column >= grid[0]) & (column <= grid[-1])][:2_000]
    ax.plot(shown, np.zeros_like(shown), "|", color=theme.data, markersize=7)
    through = "" if len(explanation.names) == 1 else ", through the median of the other columns"
    ax.set(xlabel=f"{plain(explanation.names[j])}{through}", ylabel="witness", xlim=(grid[0], grid[-1]))


def _draw_plane(explanation: Explanation, view: View, ax: Any) -> None:
    axes = [np.linspace(low, high, _CELLS) for low, high in view.window.T]
    places = np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], axis=1)
    values = explanation.witness(places).reshape(_CELLS, _CELLS)
    most = float(np.nanmax(np.abs(values))) or 1.0
    look = {"cmap": "PuOr_r", "vmin": -most, "vmax": most}  # two colors that nobody confuses
    drawn = ax.pcolormesh(*axes, values.T, shading="gouraud", rasterized=True, **look)
    ax.scatter(*view.points.T, s=5, color="black", linewidths=0, alpha=0.5)
    ax.figure.colorbar(drawn, ax=ax, label="witness")
    xlabel, ylabel = map(plain, explanation.names)
    ax.set(xlabel=xlabel, ylabel=ylabel, xlim=view.window[:, 0], ylim=view.window[:, 1])


def has_bands(result: Any) -> bool:
    """Whether the laws have quantiles to draw."""
    return result._evidence.pit.quantiles is not None


def draw_bands(scene: Scene, ax: Any) -> Any:
    """y against the feature that decides: predicted quantiles as bands, and observed ones in each bin."""
    evidence: Any = scene.result._evidence
    box, (ax, theme) = panels.Box.of(scene.result), canvas(ax)
    found = bands(evidence.y, evidence.pit, evidence.features, box.feature)
    assert found is not None
    x = box.bins.astype(float) if box.categories else box.column
    some = some_of(np.ones(x.size, dtype=bool), MOST)
    ax.scatter(x[some], evidence.y[some], s=6, color=theme.data, alpha=0.5, linewidths=0, label="rows")
    there = np.isfinite(found.centers)
    centers, wanted = found.centers[there], found.predicted[:, there]
    for k, alpha in ((0, 0.15), (1, 0.3)):
        label = f"predicted {percent(BAND_LEVELS[4 - k] - BAND_LEVELS[k])}"
        ax.fill_between(centers, wanted[k], wanted[4 - k], color=theme.model, alpha=alpha, linewidth=0, label=label)
    ax.plot(centers, wanted[2], color=theme.model, linewidth=2, label="predicted median")
    for k, seen in enumerate(found.observed[:, there]):
        look = {"linewidth": 2 if k == 2 else 1, "linestyle": "-" if k == 2 else "--", "color": theme.blamed}
        ax.plot(centers, seen, **look, label="observed: 5, 25, 50, 75, 95 %" if k == 2 else None)
    if box.categories:
        ax.set_xticks([at - 0.5 for at, _ in box.marks], [plain(words) for _, words in box.marks])
    ax.set(xlabel=plain(box.finding.feature), ylabel="y")
    return finish(ax, "predicted and observed quantiles")


_METADATA = {".png": {"Software": None}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
"""The formats of a file; what would differ from one drawing to the next is left out of it."""


@dataclass(frozen=True)
class Picture:
    """A picture: ``draw(scene, ax)`` draws it, and ``possible(result)`` says whether a result has what it needs.

    ``side`` is where the overview may show it, ``"left"``, ``"right"`` or nowhere. A page has it where
    ``frame(scene)`` gives it as shapes.
    """

    draw: Callable[[Scene, Any], Any]
    possible: Callable[[Result], bool]
    side: str = ""
    frame: Callable[[Scene], Frame] | None = None


def _framed(frame: Callable[[Scene], Frame], possible: Callable[[Result], bool], side: str) -> Picture:
    return Picture(partial(draw_described, frame), possible, side, frame)


def can_slide(result: Result) -> bool:
    """Whether the tolerance of a result can be changed without another test."""
    return result._evidence.sliding(result._tolerated) is not None


def _has_points(result: Result) -> bool:
    return bool(result._evidence.pair_sums(result._tolerated, result.level))


def _has_regions(result: Result) -> bool:
    return isinstance(result, SharesResult) and bool(result.region) and not _has_table(result)


def _has_table(result: Result) -> bool:
    return isinstance(result, PredictiveResult)


def _draw_path(scene: Scene, ax: Any) -> Any:
    path, level = scene.result._wealth(), scene.result.level
    assert path is not None
    reached = np.flatnonzero(path >= -np.log(level))
    return draw_wealth(np.arange(1, path.size + 1), path, level, int(reached[0]) + 1 if reached.size else None, ax)


PICTURES: dict[str, Picture] = {
    "regions": _framed(panels.region_frame, _has_regions, "left"),
    "table": _framed(panels.table_frame, _has_table, "left"),
    "pit": _framed(panels.pit_frame, _has_table, "right"),
    "bands": Picture(draw_bands, lambda result: _has_table(result) and has_bands(result)),
    "data": _framed(panels.sample_frame, _has_points, "left"),
    "tolerance": _framed(panels.tolerance_frame, can_slide, "right"),
    "lengthscales": Picture(draw_lengthscales, lambda result: isinstance(result, KernelsResult), "right"),
    "draws": Picture(draw_nulls, lambda result: result._drawn() is not None, "left"),
    "witness": Picture(draw_witness, lambda result: _has_points(result) and result._sums()[0].problem.evaluable),
    "contributions": Picture(draw_contributions, _has_points),
    "diagonal": Picture(draw_diagonal, _has_points),
    "wealth": Picture(_draw_path, lambda result: result._wealth() is not None),
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
    scene = Scene(result, data)
    drawers = {name: partial(PICTURES[name].draw, scene) for name in possible_pictures(result)}
    return draw_chosen(drawers, overview_of(result), kind, ax)


def plot_comparison(result: ComparisonResult, kind: str | Path = "overview", ax: Any = None) -> Any:
    """One picture of a comparison, or both side by side: :meth:`steinball.ComparisonResult.plot`."""
    drawers = {name: partial(draw_described, frame, result) for name, frame in panels.COMPARISON.items()}
    return draw_chosen(drawers, list(panels.COMPARISON), kind, ax)


class Panels(tuple[Any, ...]):
    """The axes of a picture; a notebook that ends in ``result.plot()`` shows the picture and prints nothing."""

    def _ipython_display_(self) -> None:
        """Print nothing: the figure shows itself."""


def draw_chosen(
    drawers: Mapping[str, Callable[[Any], Any]], overview: Sequence[str], kind: str | Path, place: Any
) -> Any:
    """One of several pictures, or those of the overview side by side, in axes, in a new figure, or in a file.

    The name of a file in place of a kind means the overview in that file.
    """
    if Path(kind).suffix.lower() in _METADATA:
        kind, place = "overview", kind
    if kind in drawers:
        return draw_into(place, drawers[str(kind)])
    if kind != "overview":
        raise ValueError(
            f"`kind` must be one of {', '.join(['overview', *drawers])} for this result, or a file that ends in .png, "
            f".pdf or .svg, got {str(kind)!r}."
        )

    def draw(axes: Any) -> Panels:
        own = np.ravel(axes) if axes is not None else new_axes(len(overview))
        return Panels(drawers[name](ax) for name, ax in zip(overview, own, strict=True))

    return draw_into(place, draw, len(overview))


def draw_into(place: Any, draw: Callable[[Any], Any], many: int = 1) -> Any:
    """What is drawn in axes or, where ``place`` is ``None``, in a new figure; or the path of a file that is written."""
    return save_axes(draw, many, place) if isinstance(place, str | Path) else draw(place)


def overview_of(result: Result) -> list[str]:
    """The names of the pictures that the overview is made of: two, or where a result has only one of them, that."""
    first = {PICTURES[name].side: name for name in reversed(possible_pictures(result))}
    return [first[side] for side in ("left", "right") if side in first]


def check_picture(path: str | Path) -> None:
    """Refuse a name that is no picture's, and say what is missing to draw one."""
    if Path(path).suffix.lower() not in _METADATA:
        raise ValueError(f"`{path}` must end in .png, .pdf or .svg.")
    if find_spec("matplotlib") is None:
        raise ValueError(NEEDED)


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
        suffix = path.suffix.lower()
        figure.savefig(drawn, format=suffix[1:], dpi=dpi, metadata=_METADATA[suffix])
    write_whole(path, drawn.getvalue())
    return path
