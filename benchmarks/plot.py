"""The growth of time and memory with n, drawn from the recorded tables: ``python -m benchmarks.plot``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.__main__ import RESULTS

FIGURE = Path(__file__).parents[1] / "docs" / "_static" / "scaling"
COLORS = {"dense": "#E69F00", "blocked": "#0072B2", "lowrank": "#009E73", "GPU": "#CC79A7"}
NAMES = {"dense": "dense, exact", "blocked": "blocked, exact", "lowrank": "low rank"}
DASHES = {2: "-", 10: "--"}
PEER_MARKS = {"hyppo FSSD": "x", "goodpoints CTT": "+"}
STYLE: Any = {
    "font.size": 9, "axes.titlesize": 10, "legend.fontsize": 8, "axes.spines.top": False, "axes.spines.right": False,
    "lines.linewidth": 1.5, "lines.markersize": 4.5, "legend.frameon": False, "svg.hashsalt": "steinball",
    "savefig.dpi": 150, "figure.constrained_layout.use": True,
}  # fmt: skip


@dataclass(frozen=True)
class Line:
    """One engine in one dimension: sizes, seconds, and bytes."""

    label: str
    color: str
    dashes: str
    points: tuple[tuple[int, float, float], ...]
    filled: tuple[bool, ...]
    """Whether each answer is exact or certified; an approximate one is drawn hollow."""


def read(name: str) -> Any:
    """One recorded table, or nothing."""
    path = RESULTS / name
    return json.loads(path.read_text()) if path.exists() else None


def cpu_lines(growth: Any, table: Any) -> list[Line]:
    """Every engine in every dimension; sizes beyond the growth table come from the table of targets."""
    rows = [*growth["rows"], *(row for row in table or [] if row["outliers"] == 0.0 and row["n"] > 64_000)]
    lines = []
    for engine, name in NAMES.items():
        for d, dashes in DASHES.items():
            mine = {row["n"]: row for row in rows if (row["engine"], row["d"]) == (engine, d)}
            points = tuple((n, row["seconds"], row["memory"]) for n, row in sorted(mine.items()))
            sure = tuple(row["grade"] != "approximate" for _, row in sorted(mine.items()))
            lines.append(Line(f"{name}, d = {d}", COLORS[engine], dashes, points, sure))
    return [line for line in lines if line.points]


def gpu_line(device: Any) -> list[Line]:
    """The recorded line of the GPU."""
    scaling = device["scaling"] if device else []
    rows = sorted((row for row in scaling if row["outliers"] == 0.0 and row["d"] == 10), key=lambda row: row["n"])
    if not rows:
        return []
    points = tuple((row["n"], row["seconds"], 1e9 * row["memory_gb"]) for row in rows)
    label = f"blocked, exact, d = {rows[0]['d']}, one H200 GPU"
    return [Line(label, COLORS["GPU"], DASHES[rows[0]["d"]], points, (True,) * len(points))]


def draw_lines(ax: Any, lines: Iterable[Line], value: int) -> None:
    """Lines with a marker per measurement; ``value`` is 1 for seconds, 2 for bytes."""
    for line in lines:
        x, y = [point[0] for point in line.points], [point[value] for point in line.points]
        ax.plot(x, y, color=line.color, linestyle=line.dashes, label=line.label, zorder=3)
        for a, b, filled in zip(x, y, line.filled, strict=True):
            ax.plot(a, b, "o", color=line.color, markerfacecolor=line.color if filled else "white", zorder=4)


def draw_slope(ax: Any, start: tuple[float, float], power: int, label: str) -> None:
    """A gray line of slope ``power`` over most of a decade."""
    x0, y0 = start
    x1 = x0 * 10**0.8
    ax.plot([x0, x1], [y0, y0 * (x1 / x0) ** power], color="0.6", linewidth=0.9, linestyle=":", zorder=1)
    ax.annotate(
        label, (x1, y0 * (x1 / x0) ** power), color="0.4", xytext=(3, 0), textcoords="offset points", va="center"
    )


def draw_peers(ax: Any, peers: Any, d: int = 2) -> None:
    """Other libraries' tests, where they were measured."""
    for row in peers["rows"] if peers else []:
        if row["name"] in PEER_MARKS:
            times = [(t["n"], t["seconds"]) for t in row["times"] if t["d"] == d]
            look = {"marker": PEER_MARKS[row["name"]], "label": f"{row['name']}, d = {d} (other work)"}
            ax.plot(*zip(*times, strict=True), color="0.45", linewidth=0.8, linestyle="-.", **look)


def draw() -> Any:
    """The figure: time on the left, memory on the right."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    growth = read("growth.json")
    lines = [*cpu_lines(growth, read("cpu.json")), *gpu_line(read("device.json"))]
    figure = Figure(figsize=(9.6, 4.9))
    left, right = figure.subplots(1, 2)
    draw_lines(left, lines, 1)
    draw_peers(left, read("peers.json"))
    draw_lines(right, lines, 2)
    for ax, title in ((left, "time"), (right, "memory beyond the data and libraries")):
        ax.set(xscale="log", yscale="log", xlabel="number of points n", xlim=(180, 1.6e6), title=title)
        ax.grid(True, which="major", color="0.92", linewidth=0.8)
    left.yaxis.set_major_formatter(FuncFormatter(lambda value, _: seconds_in_words(value)))
    right.yaxis.set_major_formatter(FuncFormatter(lambda value, _: bytes_in_words(value)))
    draw_slope(left, (100_000, 8e-3), 1, "n")
    draw_slope(left, (100_000, 8e-3), 2, "n²")
    draw_slope(right, (40_000, 2.5e6), 1, "n")
    draw_slope(right, (40_000, 2.5e6), 2, "n²")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def seconds_in_words(value: float) -> str:
    """A power of ten as a duration: ``"10 ms"``."""
    return f"{value * 1000:g} ms" if value < 1 else f"{value:g} s"


def bytes_in_words(value: float) -> str:
    """A power of ten as a size: ``"10 MB"``."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g} B"


def main() -> None:
    """Draw the figure, the same bytes for the same tables; without matplotlib or tables, say so."""
    try:
        import matplotlib
    except ImportError:
        print("no figure: matplotlib is not installed (pip install 'steinball[plot]')")
        return
    if read("growth.json") is None:
        sys.exit("no figure: run `python -m benchmarks.growth` first")
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(STYLE):
        figure = draw()
        figure.savefig(FIGURE.with_suffix(".png"), metadata={"Software": None})
        figure.savefig(FIGURE.with_suffix(".svg"), metadata={"Date": None})
    print(f"drawn: {FIGURE.with_suffix('.png').name}, {FIGURE.with_suffix('.svg').name}")


if __name__ == "__main__":
    main()
