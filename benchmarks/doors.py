"""What a comparison and a monitor cost: ``python -m benchmarks.doors``.

Processor time on one core, so that a busy machine does not matter much. A comparison by draws is also measured in
passes over as many pairs of rows and draws of one model, a monitor in rows a second.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

import steinball as sb
from benchmarks.__main__ import RESULTS
from benchmarks.fitted import seconds
from steinball.comparison import kernel_means, number_of_draws

ROWS = 100_000
CLOSED, DRAWN = 5.0, 60.0
"""Most seconds of a comparison in closed form, and by draws: these take two passes over rows and draws, 0.4 for pairs
of draws, and at most 0.3 for the extremes of the preference."""

FEEDS = {1: 1e5, 50: 1e4}
"""Columns of a feed, and the rows a second that a monitor must take in."""


def compared(n: int = ROWS, d: int = 2) -> list[dict[str, Any]]:
    """A comparison in closed form, and one by draws beside one pass over all pairs of rows and draws."""
    x, m = np.random.default_rng(0).normal(size=(n, d)), number_of_draws(n)
    normal = {"a": sb.models.Gaussian(dimension=d), "b": sb.models.Gaussian(0.1, dimension=d)}
    student = {"a": sb.models.StudentT(5.0, dimension=d), "b": sb.models.StudentT(8.0, 0.1, dimension=d)}
    closed = seconds(lambda: sb.compare(x, normal, contamination=0.05, rng=0), 3)
    drawn = seconds(lambda: sb.compare(x, student, contamination=0.05, rng=0), 1)
    once = seconds(lambda: kernel_means(x, x[:m]), 1)
    shared = {"n": n, "d": d, "when": time.strftime("%Y-%m-%d")}
    fast, slow = closed <= CLOSED, drawn <= DRAWN
    named, target = f"compare, {m:,} draws of each", f"≤ {DRAWN:g} s"
    return [
        {"case": "compare, closed form", **shared, "seconds": closed, "target": f"≤ {CLOSED:g} s", "met": fast},
        {"case": named, **shared, "seconds": drawn, "passes": drawn / once, "target": target, "met": slow},
    ]


def watched(d: int, least: float, batch: int = 10_000, batches: int = 5) -> dict[str, Any]:
    """Rows a second of a monitor, in batches."""
    monitor = sb.Monitor(sb.models.Gaussian(dimension=d), 0.05)
    x = np.random.default_rng(0).normal(size=(batch, d))
    rate = batch * batches / seconds(lambda: [monitor.update(x) for _ in range(batches)], 1)
    shared = {"n": batch * batches, "d": d, "when": time.strftime("%Y-%m-%d")}
    return {"case": "monitor", **shared, "rate": rate, "target": f"≥ {least:,.0f} rows a second", "met": rate >= least}


def line(row: dict[str, Any]) -> str:
    """One measurement in words."""
    found = f"{row['rate']:,.0f} rows a second" if "rate" in row else f"{row['seconds']:.2f} s"
    passes = f", {row['passes']:.2f} passes" if "passes" in row else ""
    met = "met" if row["met"] else "MISSED"
    return f"{row['case']}, n={row['n']:,} d={row['d']}: {found}{passes}; {row['target']}: {met}"


def main() -> None:
    """Measure, print, and keep the rows under ``benchmarks/results``."""
    rows = [*compared(), *(watched(d, least) for d, least in FEEDS.items())]
    print("\n".join(line(row) for row in rows))
    (RESULTS / "doors.json").write_text(json.dumps(rows, indent=1) + "\n")
    sys.exit(0 if all(row["met"] for row in rows) else 1)


if __name__ == "__main__":
    main()
