"""Time and memory against n, for every engine: ``python -m benchmarks.growth [--small]``."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from benchmarks.__main__ import RESULTS
from benchmarks.cases import DRAWS, Case
from steinball.gram.cost import in_words

ENGINES = ("dense", "blocked", "lowrank")
DIMENSIONS = (2, 10)
SIZES = (250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 100_000)
SMALL = (250, 500)
TWO_CORES_FROM = 3_000

SECONDS_PER_POINT = 60.0
SECONDS_IN_ALL = 330.0


def point(n: int, d: int, engine: str) -> dict[str, Any] | None:
    """One size in a fresh interpreter; ``None`` when the engine cannot do it in the time or memory that there is."""
    case = Case(n=n, d=d, outliers=0.0, jobs=1 if n < TWO_CORES_FROM else 2, engine=engine, compared=False)
    command = [sys.executable, "-m", "benchmarks.row", json.dumps(asdict(case))]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=2 * SECONDS_PER_POINT)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode and "MemoryLimitError" not in done.stderr:
        raise RuntimeError(done.stderr)
    row: dict[str, Any] | None = json.loads(done.stdout.strip().splitlines()[-1]) if done.returncode == 0 else None
    return row


def next_seconds(rows: list[dict[str, Any]], n: int) -> float:
    """What n points can be expected to take: time grows at least as n², and at least as fast as it last did."""
    if not rows:
        return 0.0
    last, power = rows[-1], 2.0
    if len(rows) > 1:
        before = rows[-2]
        power = max(power, math.log(last["seconds"] / before["seconds"]) / math.log(last["n"] / before["n"]))
    return float(last["seconds"] * (n / last["n"]) ** power)


def line(engine: str, d: int, sizes: tuple[int, ...], deadline: float) -> Iterator[dict[str, Any]]:
    """The sizes that one engine can do, from small to large."""
    rows: list[dict[str, Any]] = []
    for n in sizes:
        if time.monotonic() > deadline or next_seconds(rows, n) > SECONDS_PER_POINT:
            return
        row = point(n, d, engine)
        if row is None:
            return
        rows.append(row)
        yield row


def main() -> None:
    """Measure every line, print it, and keep it under ``benchmarks/results``."""
    sizes = SMALL if "--small" in sys.argv else SIZES
    deadline = time.monotonic() + SECONDS_IN_ALL
    rows = []
    for engine in ENGINES:
        for d in DIMENSIONS:
            for row in line(engine, d, sizes, deadline):
                rows.append(row)
                memory = in_words(row["memory"])
                print(
                    f"{engine:8} d={d:<3}n={row['n']:<8,}{row['seconds']:9.3f} s{memory:>10}  {row['grade']}",
                    flush=True,
                )
    if "--small" not in sys.argv:
        RESULTS.mkdir(exist_ok=True)
        text = json.dumps({"when": time.strftime("%Y-%m-%d"), "draws": DRAWS, "rows": rows}, indent=1)
        (RESULTS / "growth.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
