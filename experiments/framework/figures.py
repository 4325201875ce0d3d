"""Figures from tables: rates with 95 % intervals, the level dotted, the tolerance dash-dotted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.framework.base import Experiment
from experiments.framework.expectations import LEVEL
from experiments.framework.table import Curve, Rate, Rates, Results

__all__ = [
    "Series",
    "Style",
    "key",
    "mark",
    "mark_published",
    "nest",
    "rate_panel",
    "render",
    "shades",
    "uncover",
    "value_panel",
]


@dataclass(frozen=True)
class Style:
    """How a line looks."""

    label: str
    color: str
    marker: str = "o"
    line: str = "-"


TESTS = {
    "imq-ksd": Style("IMQ-KSD", "#D55E00", "s"),
    "tilted-ksd": Style("Tilted-KSD", "#0072B2", "^"),
    "r-ksd": Style("R-KSD", "#009E73", "o"),
    "r-ksd-boundary": Style("R-KSD, boundary", "#009E73", "o", "--"),
    "r-ksd-dev": Style("R-KSD-Dev", "#56B4E9", "v"),
    "ksdagg": Style("KSDAgg", "#CC79A7", "D"),
    "dcmmd": Style("dcMMD", "#E69F00", "P"),
    "mmd-dev": Style("MMD-Dev", "#7F7F7F", "X"),
}
_SHADES = ("#440154", "#3B528B", "#21918C", "#5EC962", "#D9B300", "#F8766D", "#A0522D")
_MARKERS = "osD^vPX"

_STYLE: Any = {
    "font.size": 9, "axes.titlesize": 9, "axes.labelsize": 9, "legend.fontsize": 7.5, "xtick.labelsize": 8,
    "ytick.labelsize": 8, "axes.spines.top": False, "axes.spines.right": False, "lines.linewidth": 1.3,
    "lines.markersize": 3.8, "legend.frameon": False, "svg.hashsalt": "steinball", "svg.fonttype": "none",
    "savefig.dpi": 150, "figure.constrained_layout.use": True,
}  # fmt: skip


@dataclass(frozen=True)
class Series:
    """Rows that make one line."""

    rates: Rates
    style: Style


def shades(values: Sequence[str], label: str = "{}") -> dict[str, Style]:
    """One style per value of an ordered setting, dark to light."""
    return {
        value: Style(label.format(value), _SHADES[i % len(_SHADES)], _MARKERS[i % len(_MARKERS)])
        for i, value in enumerate(values)
    }


def tests(rates: Rates, names: Iterable[str]) -> list[Series]:
    """One line per test, in its own color everywhere."""
    return [Series(rates.select(test=name), TESTS[name]) for name in names]


def rate_panel(
    ax: Any, axis: str, series: Iterable[Series], *, xlabel: str, title: str = "", log: bool = False
) -> None:
    """Rejection rates along an axis, with 95 % Wilson intervals and a dotted line at the level."""
    ax.rates_drawn = axis, (lines := list(series))
    for line in lines:
        rows = line.rates.along(axis)
        x = [row.number(axis) for row in rows]
        low, high = zip(*(row.interval for row in rows), strict=True) if rows else ((), ())
        _line(ax, x, [row.rate for row in rows], low, high, line.style)
    ax.axhline(LEVEL, color="0.45", linestyle=":", linewidth=1.0, zorder=0, label="_level")
    ax.set(xlabel=xlabel, ylabel="rejection rate", title=title, ylim=(-0.04, 1.04))
    if log:
        ax.set_xscale("log")


def value_panel(
    ax: Any,
    axis: str,
    series: Iterable[Series],
    value: Callable[[Rate], tuple[float, float]],
    *,
    xlabel: str,
    ylabel: str,
) -> None:
    """Another column along an axis: ``value(row)`` gives its mean and half its interval."""
    for line in series:
        rows = line.rates.along(axis)
        pairs = [value(row) for row in rows]
        low, high = [m - h for m, h in pairs], [m + h for m, h in pairs]
        _line(ax, [row.number(axis) for row in rows], [m for m, _ in pairs], low, high, line.style)
    ax.set(xlabel=xlabel, ylabel=ylabel)


def mean_ksd(row: Rate) -> tuple[float, float]:
    """The mean KSD and half of its 95 % interval."""
    return row.ksd, 1.96 * row.ksd_sd / row.repeats**0.5


def mean_tau(row: Rate) -> tuple[float, float]:
    """The mean τ and half of its 95 % interval."""
    return row.tau, 1.96 * row.tau_sd / row.repeats**0.5


def _line(ax: Any, x: Any, y: Any, low: Any, high: Any, style: Style) -> None:
    look = {"color": style.color, "marker": style.marker, "linestyle": style.line, "label": style.label}
    ax.plot(x, y, markeredgecolor="white", markeredgewidth=0.4, **look)
    ax.fill_between(x, low, high, color=style.color, alpha=0.15, linewidth=0)


def draw_curves(ax: Any, curves: Mapping[str, Curve], styles: Mapping[str, Style]) -> None:
    """Curves of a panel as plain lines."""
    for name, curve in curves.items():
        style = styles[name]
        ax.plot(curve.x, curve.value, color=style.color, linestyle=style.line, label=style.label)


def mark(ax: Any, x: float) -> None:
    """The dash-dotted line at the tolerance or the reference."""
    ax.axvline(x, color="black", linestyle="-.", linewidth=0.9, zorder=0, label="_mark")


def mark_published(figure: Any, published: Iterable[tuple[Mapping[str, Any], float]]) -> None:
    """A cross for every published rate, in the panels that show the rate of its cell."""
    points = list(published)
    for ax in figure.axes:
        axis, lines = getattr(ax, "rates_drawn", ("", ()))
        for (cell, rate), line in ((point, line) for point in points for line in lines):
            found = line.rates.select(**cell).rows
            if len(found) == 1:
                look = {"color": line.style.color, "markersize": 7, "markeredgewidth": 1.8, "zorder": 5}
                ax.plot(found[0].number(axis), rate, "x", clip_on=False, label="_published", **look)


def nest(ax: Any, step: float = 0.6) -> None:
    """Let curves that coincide be seen: each is wider than the ones drawn over it, and its rim shows."""
    curves = [line for line in ax.get_lines() if not line.get_label().startswith("_")]
    for depth, line in enumerate(reversed(curves)):
        _widen(line, step * depth)


def uncover(ax: Any, label: str) -> None:
    """Let one curve be seen that another covers nearly everywhere."""
    for line in (line for line in ax.get_lines() if line.get_label() == label):
        _widen(line, 2.2)


def _widen(line: Any, points: float) -> None:
    line.set_linewidth(line.get_linewidth() + points)
    line.set_markersize(line.get_markersize() + points)


def key(ax: Any, marked: str = "", **options: Any) -> None:
    """A legend of every line style, beside the axes: the curves, the level, and what the dash-dotted line marks."""
    lines = {line.get_label(): line for line in ax.get_lines()}
    texts = {"_level": f"level {LEVEL:g}", "_mark": marked}
    handles, labels = ax.get_legend_handles_labels()
    for name in (name for name, text in texts.items() if text and name in lines):
        handles.append(lines[name])
        labels.append(texts[name])
    ax.legend(handles, labels, **{"loc": "center left", "bbox_to_anchor": (1.0, 0.5), **options})


def render(experiment: Experiment, results: Results, folder: Path) -> list[Path]:
    """Draw the figures and write each as PNG and SVG, the same bytes for the same table.

    Needs matplotlib (``pip install 'steinball[plot]'``).
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ModuleNotFoundError("figures need matplotlib: install `steinball[plot]`.") from error
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    with matplotlib.rc_context(_STYLE):
        for drawing in experiment.drawings:
            figure = Figure(figsize=drawing.size)
            drawing.draw(results, figure)
            mark_published(figure, experiment.published)
            png, svg = (folder / f"{drawing.name}.{kind}" for kind in ("png", "svg"))
            figure.savefig(png, metadata={"Software": None})
            figure.savefig(svg, metadata={"Date": None, "Creator": None})
            paths += [png, svg]
    return paths
