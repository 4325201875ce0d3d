"""What a fitted family costs beside a known model: ``python -m benchmarks.fitted``.

The same pairs, draws and engine for both; processor time, so that a busy machine does not matter much.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import steinball as sb
from benchmarks.__main__ import RESULTS

fit_test: Any = sb.fit_test  # of one or the other result

N, D, DRAWS, TARGET = 5_000, 4, 999, 1.3
"""A normal family in four dimensions has p = 14 parameters."""


def seconds(task: Callable[[], Any], repeats: int = 3) -> float:
    """The least processor time of a few runs."""
    found = []
    for _ in range(repeats):
        start = time.process_time()
        task()
        found.append(time.process_time() - start)
    return min(found)


def measure(n: int = N, repeats: int = 3) -> dict[str, Any]:
    """Times of both tests, and their ratio."""
    x = np.random.default_rng(0).normal(size=(n, D))
    shared: dict[str, Any] = {"rng": 0, "engine": "blocked", "n_jobs": 1, "progress": False}
    fitted = fit_test(x, "normal", calibration=sb.ProjectedBootstrap(DRAWS), **shared)
    known: dict[str, Any] = {"kernel": fitted.kernel, "check_model": False, "calibration": sb.WeightedBootstrap(DRAWS)}
    plain = seconds(lambda: sb.ksd_test(x, fitted.model, **known, **shared), repeats)
    projected = seconds(
        lambda: fit_test(x, "normal", calibration=sb.ProjectedBootstrap(DRAWS), **shared), repeats
    )  # fmt: skip
    ratio = projected / plain
    parameters = len(fitted.params)
    return {"n": n, "d": D, "p": parameters, "plain": plain, "projected": projected, "ratio": ratio, "target": TARGET}


def main() -> None:
    """Measure, print, and keep the row under ``benchmarks/results``."""
    row = measure()
    met = "met" if row["ratio"] <= TARGET else "MISSED"
    print(f"n={row['n']:,} p={row['p']}: plain {row['plain']:.2f} s, projected {row['projected']:.2f} s, ", end="")
    print(f"{row['ratio']:.2f} ≤ {TARGET:g}: {met}")
    (RESULTS / "fitted.json").write_text(json.dumps(row, indent=1) + "\n")
    sys.exit(0 if met == "met" else 1)


if __name__ == "__main__":
    main()
