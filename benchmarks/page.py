"""The recorded tables inside docs/benchmarks.md and docs/other-tests.md: ``python -m benchmarks.page``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.plot import read
from steinball.gram.cost import in_words

DOCS = Path(__file__).parents[1] / "docs"
PAGES = (DOCS / "benchmarks.md", DOCS / "other-tests.md")
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
    asked = (t for t in row.get("targets", ()) if t["target"])
    return "; ".join(f"{t['target']}: {'met' if t['met'] else '**missed**'}" for t in asked)


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
    rows = []
    for row in peers["rows"]:
        took = {(time["n"], time["d"]): seconds(time["seconds"]) for time in row["times"]}
        name = f"{row['name']} {row['version']}"
        rows.append((name, row["computes"], f"{row['power']:.2f}", *(took.get(size, "") for size in sizes)))
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


def competitor_tables(cells: Any) -> str:
    """What ``python -m benchmarks.competitors`` counted: shares of rejected samples, by what is wrong and by test."""
    shares: dict[str, dict[str, dict[str, float]]] = {}
    sizes = {}
    for key, cell in cells.items():
        d, truth, test = key.split(" | ")
        sizes[d] = f"{cell['n']} rows, {cell['repeats']} samples each"
        shares.setdefault(d, {}).setdefault(truth, {})[test] = cell["rejected"] / cell["repeats"]
    return "\n\n".join(
        f"**{d} {'column' if d == '1' else 'columns'}, {sizes[d]}; {said}**\n\n{_shares(rows, tests)}"
        for d, rows in shares.items()
        for said, tests in _groups(next(iter(rows.values())))
    )


def _groups(tests: Iterable[str]) -> list[tuple[str, list[str]]]:
    """The tests that tolerate nothing, and those that tolerate 5 %."""
    tolerant = {"the paper's test", "`robust_ksd_test`", "`check`, contamination", "`check`, tolerance"}
    names = list(tests)
    return [
        ("nothing is tolerated", [name for name in names if name not in tolerant]),
        ("5 % is tolerated", [name for name in names if name in tolerant]),
    ]


def _shares(rows: dict[str, dict[str, float]], tests: list[str]) -> str:
    body = ((truth, *(f"{found[test]:.2f}" for test in tests)) for truth, found in rows.items())
    return markdown(("the rows", *tests), body)


def small_table(small: Any) -> str:
    """What ``python -m benchmarks.small`` measured."""
    rows = [
        (
            row["group"], row["case"], f"{row['n']:,}" if row["n"] else "", seconds(row["seconds"]),
            f"{row['ratio']:.2g} {row['unit']}", targets({"targets": [row]}),
        )
        for row in small
    ]  # fmt: skip
    table = markdown(("call", "model", "rows", "processor time", "as much as", "target"), rows)
    return f"Measured on {max(row['when'] for row in small)}.\n\n{table}"


TABLES = {
    "cpu": cpu_table, "competitors": competitor_tables, "device": device_table, "doors": doors_table,
    "peers": peer_table, "small": small_table,
}  # fmt: skip


def fill(text: str) -> str:
    """The page with every table that was recorded; the others stay as they are."""
    for name, table in TABLES.items():
        recorded, mark = read(f"{name}.json"), f"<!-- {name} -->\n"
        head, found, rest = text.partition(mark)
        if found and recorded is not None:
            text = f"{head}{mark}{table(recorded)}\n{END}{rest.partition(END)[2]}"
    return text


def main() -> None:
    """Bring the pages up to date."""
    for page in PAGES:
        page.write_text(fill(page.read_text(encoding="utf-8")), encoding="utf-8")
        print(f"filled: {page.name}")


if __name__ == "__main__":
    main()
