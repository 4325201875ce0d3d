"""Whether every engine keeps its ``memory_limit`` at n = 50,000: ``python -m benchmarks.memory [--small]``.

Each row is a process of its own. A limit is what the engine says that it needs, or a rounder number above it; the peak
is that of the resident memory during the test, over what there was before it. An engine that does not fit refuses.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from steinball.gram.cost import as_bytes, in_words

N, SMALL = 50_000, 3_000
MOST = 1.2
"""The peak may exceed the limit by a fifth."""


@dataclass(frozen=True)
class Run:
    """One test: an engine, a limit in words, and what it is asked to do."""

    engine: str
    limit: str
    d: int
    draws: int
    jobs: int
    n: int = N


RUNS = (
    Run("dense", "4 GB", 2, 199, 1),
    Run("blocked", "tight", 2, 199, 1),
    Run("blocked", "tight", 2, 199, 2),
    Run("blocked", "tight", 10, 99, 2),
    Run("lowrank", "tight", 1, 199, 1),
    Run("lowrank", "100 MB", 1, 999, 2),
    Run("lowrank", "300 MB", 2, 999, 2),
    Run("lowrank", "1 GB", 3, 199, 2),
    Run("auto", "200 MB", 2, 199, 2),
)


def child(run: Run) -> dict[str, Any]:
    """The test, in this process: its limit and its peak in bytes, or that it was refused."""
    import numpy as np

    import steinball as sb
    from benchmarks.row import Peak
    from steinball.arrays import MemoryLimitError

    def test(n: int, limit: int | None) -> Any:
        x = np.random.default_rng(0).standard_normal((n, run.d))
        options: dict[str, Any] = {"engine": run.engine, "memory_limit": limit, "n_jobs": run.jobs, "progress": False}
        with Peak() as peak:
            result = sb.robust_ksd_test(
                x, sb.models.Gaussian(np.zeros(run.d)), calibration=sb.WeightedBootstrap(run.draws), rng=0, **options
            )
        return result, peak.value

    test(250, None)  # what is loaded on the first call is no matter of n
    limit = least_limit(run) if run.limit == "tight" else as_bytes(run.limit)
    try:
        result, peak = test(run.n, limit)
    except MemoryLimitError as error:
        return {"limit": limit, "refused": str(error)}
    return {"limit": limit, "peak": peak, "engine": result.engine, "details": str(result.details.get("rank", ""))}


def least_limit(run: Run) -> int:
    """The smallest limit that the engine accepts."""
    from steinball.gram.blocked import CPU_TILE
    from steinball.gram.cost import Size

    if run.engine == "blocked":
        return Size(run.n, run.d, run.draws).blocked(2 * CPU_TILE, run.jobs).memory
    return Size(run.n, run.d, run.draws).lowrank_memory(16, run.jobs)


def rows(small: bool) -> Iterator[tuple[Run, dict[str, Any]]]:
    """Every run, each in a fresh interpreter."""
    for run in RUNS:
        run = Run(**{**asdict(run), "n": SMALL}) if small else run
        command = [sys.executable, "-m", "benchmarks.memory", json.dumps(asdict(run))]
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **threads})
        if done.returncode:
            raise RuntimeError(done.stderr)
        yield run, json.loads(done.stdout.strip().splitlines()[-1])


def main() -> int:
    """Print the table in Markdown; the exit code says whether every limit was kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--small", action="store_true", help=f"n = {SMALL:,}")
    parser.add_argument("child", nargs="?", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child is not None:
        print(json.dumps(child(Run(**json.loads(asked.child)))))
        return 0
    print("| engine | n | d | draws | threads | limit | peak | share |\n|---|---|---|---|---|---|---|---|")
    exceeded = 0
    for run, row in rows(asked.small):
        share = row.get("peak", 0) / row["limit"]
        exceeded += share > MOST
        peak = "refused" if "refused" in row else in_words(row["peak"])
        engine = run.engine if row.get("engine", run.engine) == run.engine else f"{run.engine}: {row['engine']}"
        shown = "" if "refused" in row else f"{share:.2f}"
        cells = engine, f"{run.n:,}", run.d, run.draws, run.jobs, in_words(row["limit"]), peak, shown
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    return int(exceeded > 0)


if __name__ == "__main__":
    sys.exit(main())
