"""One case in a process of its own, so that its memory is its own: ``python -m benchmarks.row JSON``."""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
import time
from dataclasses import replace
from typing import Any

JOBS = int(json.loads(sys.argv[1])["jobs"]) if len(sys.argv) > 1 else 1
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):  # before NumPy is loaded
    os.environ[_name] = str(JOBS)

import numpy as np  # noqa: E402

import steinball as sb  # noqa: E402
from benchmarks.cases import DRAWS, TOLERANCE, Case  # noqa: E402
from benchmarks.reference import plain_test, product_seconds, shortest  # noqa: E402


def contaminated(case: Case) -> np.ndarray[Any, Any]:
    """Standard normal points, a share of them replaced by 10."""
    x = np.random.default_rng(0).standard_normal((case.n, case.d))
    x[: int(case.n * case.outliers)] = 10.0
    return x


def run_case(case: Case, x: np.ndarray[Any, Any]) -> sb.GofResult:
    """The robust test with the paper's tilt."""
    return sb.robust_ksd_test(
        x,
        sb.models.Gaussian(np.zeros(case.d), 1.0),
        TOLERANCE,
        tilt=sb.PolynomialTilt(),
        calibration=sb.WeightedBootstrap(DRAWS),
        engine=case.engine,
        n_jobs=case.jobs,
        rng=0,
        progress=False,
    )


class Peak:
    """The largest resident memory while a block of code runs, over what there was before it.

    Linux keeps the largest value itself, and can forget it; elsewhere a thread looks a hundred times a second.
    """

    def __enter__(self) -> Peak:
        self._stop, self.start = threading.Event(), _resident()
        self._kept = _forget_peak()
        self.value = 0
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._stop.wait(0.01):
            self.value = max(self.value, _resident() - self.start)

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._kept:
            self.value = max(self.value, _kept_peak() - self.start)


def _forget_peak() -> bool:
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        return False
    return True


def _kept_peak() -> int:
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def _resident() -> int:
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(case: Case) -> dict[str, Any]:
    """Times, ratios, memory and the answer of one case."""
    x = contaminated(case)
    repeats = 25 if case.n <= 1_000 and case.compared else 3 if case.n <= 5_000 else 1
    few = replace(case, n=min(case.n, 200))
    run_case(few, contaminated(few))  # the first call loads what it needs
    with Peak() as peak:
        seconds, result = shortest(lambda: run_case(case, x), repeats)
    product = product_seconds(case.n, DRAWS, repeats) if case.compared else None
    plain = shortest(lambda: plain_test(x, TOLERANCE, DRAWS), 1)[0] if case.least_speedup else None
    return {
        **{key: getattr(case, key) for key in ("n", "d", "outliers", "jobs")},
        "engine": result.engine,
        "grade": result.grade,
        "rank": result.details.get("rank"),
        "seconds": seconds,
        "predicted": sb.predict_cost(case.n, case.d, DRAWS, n_jobs=case.jobs)[result.engine].seconds,
        "products": None if product is None else seconds / product,
        "speedup": None if plain is None else plain / seconds,
        "memory": max(peak.value, 0),
        "rejected": result.rejected,
        "pvalue": result.pvalue,
        "when": time.strftime("%Y-%m-%d"),
    }


if __name__ == "__main__":
    print(json.dumps(measure(Case(**json.loads(sys.argv[1])))))
