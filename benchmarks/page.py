"""The recorded tables inside docs/benchmarks.md: ``python -m benchmarks.page``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.plot import read
from steinball.gram.memory import in_words

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
END = "<!-- end -->"


def markdown(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of texts."""
    titles = list(header)
    lines = [titles, ["---"] * len(titles), *(list(row) for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def seconds(value: float) -> str:
    """Three digits of a time."""
    return f"{1000 * value:.3g} ms" if value < 1.0 else f"{value:.3g} s" if value < 100 else f"{value:.0f} s"


def cpu_table(rows: Any) -> str:
    """What ``python -m benchmarks`` measured."""
    header = (
        "n",
        "d",
        "outliers",
        "cores",
        "engine, grade",
        "time",
        "products",
        "faster than plain",
        "memory",
        "targets",
    )
    body = [
        (
            f"{row['n']:,}", str(row["d"]), f"{100 * row['outliers']:.0f} %", str(row["jobs"]),
            f"{row['engine']}, {row['grade']}", seconds(row["seconds"]), f"{row['products']:.2g}",
            "" if row["speedup"] is None else f"{row['speedup']:.0f} ×", in_words(row["memory"]), targets(row),
        )
        for row in rows
    ]  # fmt: skip
    return f"Measured on {max(row['when'] for row in rows)}.\n\n{markdown(header, body)}"


def targets(row: Any) -> str:
    """The targets of a row in words."""
    return "; ".join(f"{t['target']}: {'met' if t['met'] else '**missed**'}" for t in row.get("targets", ()))


def device_table(device: Any) -> str:
    """What ``python -m benchmarks.device`` measured."""
    times = {
        "default test, known model": "default_seconds",
        "a new score, as in the paper": "seconds",
        "the same weights drawn on one core": "drawing_seconds",
    }
    rows = []
    for row in device["scaling"]:
        size = f"{row['n']:,}", str(row["d"]), f"{100 * row['outliers']:.0f} %", row["grade"]
        took = [seconds(row[time]) for time in times.values()]
        rows.append((*size, *took, f"{row['memory_gb']:.1f} GB", row["draw_precision"]))
    return markdown(("n", "d", "outliers", "grade", *times, "GPU memory", "draws in"), rows)


def peer_table(peers: Any) -> str:
    """What ``python -m benchmarks.peers`` measured."""
    sizes = [(time["n"], time["d"]) for time in peers["rows"][0]["times"]]
    header = ("test", "computes", "power", *(f"n = {n:,}, d = {d}" for n, d in sizes))
    rows = [
        (
            f"{row['name']} {row['version']}",
            row["computes"],
            f"{row['power']:.2f}",
            *(seconds(t["seconds"]) for t in row["times"]),
        )
        for row in peers["rows"]
    ]
    return f"Measured on {peers['when']}.\n\n{markdown(header, rows)}"


def doors_table(doors: Any) -> str:
    """What ``python -m benchmarks.doors`` measured."""
    rows = [
        (
            row["case"], f"{row['n']:,}", str(row["d"]),
            seconds(row["seconds"]) if "seconds" in row else f"{row['rate']:,.0f} rows a second",
            f"{row['passes']:.2g}" if "passes" in row else "", targets({"targets": [row]}),
        )
        for row in doors
    ]  # fmt: skip
    table = markdown(("task", "rows", "columns", "processor time", "passes", "target"), rows)
    return f"Measured on {max(row['when'] for row in doors)}.\n\n{table}"


TABLES = {"cpu": cpu_table, "device": device_table, "doors": doors_table, "peers": peer_table}


def fill(text: str) -> str:
    """The page with every table that was recorded; the others stay as they are."""
    for name, table in TABLES.items():
        recorded, mark = read(f"{name}.json"), f"<!-- {name} -->\n"
        head, found, rest = text.partition(mark)
        if found and recorded is not None:
            text = f"{head}{mark}{table(recorded)}\n{END}{rest.partition(END)[2]}"
    return text


def main() -> None:
    """Bring the page up to date."""
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"filled: {PAGE.name}")


if __name__ == "__main__":
    main()
