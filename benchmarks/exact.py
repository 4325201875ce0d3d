"""Time of the exact test, and how well it was predicted: ``python -m benchmarks.exact``."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

import numpy as np

import steinball as sb
from benchmarks.__main__ import RESULTS

SAMPLES = 999
JOBS = 2
SIZES = ((50, 1), (500, 1), (500, 10), (500, 50), (1000, 1))
TARGET = {(500, 1): 5.0}
"""Seconds that a size may take on two cores."""


def measure(n: int, d: int, samples: int = SAMPLES, jobs: int = JOBS) -> dict[str, Any]:
    """A test of a standard Gaussian, the fastest of three, with the time of all threads beside the clock's."""
    x = np.random.default_rng(0).standard_normal((n, d))
    cost = sb.predict_cost(n, d, replicates=samples, n_jobs=jobs)
    calibration, model = sb.MonteCarlo(samples), sb.models.Gaussian(dimension=d)

    def once() -> tuple[float, float]:
        clock, cpu = time.perf_counter(), time.process_time()
        sb.robust_ksd_test(x, model, 0.05, calibration=calibration, n_jobs=jobs, rng=0, progress=False)
        return time.perf_counter() - clock, time.process_time() - cpu

    seconds, cpu_seconds = min(once() for _ in range(3))
    return {
        "n": n,
        "d": d,
        "samples": samples,
        "jobs": jobs,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "predicted": cost.seconds,
        "memory": cost.memory,
    }


def line(row: dict[str, Any]) -> str:
    """One row of the printed table."""
    target = TARGET.get((row["n"], row["d"]))
    met = "" if target is None else f"  ≤ {target:g} s: {'met' if row['seconds'] <= target else 'MISSED'}"
    times = f"{row['seconds']:8.2f} s, {row['cpu_seconds']:.2f} s of all cores, predicted {row['predicted']:.2f} s"
    return f"n={row['n']:,} d={row['d']} M={row['samples']}: {times}{met}"


def main() -> None:
    """Measure every size, print it, and keep it under ``benchmarks/results``."""
    rows = [{**measure(n, d), "when": datetime.now(UTC).date().isoformat()} for n, d in SIZES]
    print("\n".join(map(line, rows)))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "exact.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
