"""The exact engine on a GPU: time, memory, agreement. ``python -m benchmarks.device [OUT.json]`` on a CUDA machine."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import steinball as sb

DRAWS = 500
TOLERANCE = 0.05
TILE = 8192


def contaminated(n: int, d: int, share: float, seed: int = 0) -> np.ndarray[Any, Any]:
    """Standard normal points, a share of them replaced by 10."""
    x = np.random.default_rng(seed).standard_normal((n, d))
    x[: int(n * share)] = 10.0
    return x


def score(x: Any) -> Any:
    """The score of a standard Gaussian."""
    return -x


def run_test(x: Any, **options: Any) -> sb.GofResult:
    """The robust test of a standard Gaussian, as the paper runs it."""
    calibration = sb.WeightedBootstrap(DRAWS)
    return sb.robust_ksd_test(x, score, TOLERANCE, tilt=sb.PolynomialTilt(), calibration=calibration, rng=1, **options)


def run_default(x: Any, model: sb.models.Gaussian, draws: int = DRAWS) -> sb.GofResult:
    """The default test of a model that was tested before."""
    return sb.robust_ksd_test(x, model, TOLERANCE, calibration=sb.BoundaryBootstrap(draws), rng=1)


def timed(function: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Shortest wall time of a few runs (the device is waited for), and the last result."""
    import torch

    best = np.inf
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        result = function()
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return best, result


def product_limit(n: int) -> float:
    """Seconds of the (B × n)·(n × n) product in TF32, from one tile of it."""
    import torch

    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    a, b = torch.randn(DRAWS, TILE, device="cuda"), torch.randn(TILE, TILE, device="cuda")
    seconds, _ = timed(lambda: [a @ b for _ in range(50)], 5)
    torch.backends.cuda.matmul.allow_tf32 = before
    return seconds / 50 * (n / TILE) ** 2


def scaling_row(n: int, d: int, share: float, repeats: int) -> dict[str, Any]:
    """One size on torch, in single precision."""
    import torch

    x = torch.asarray(contaminated(n, d, share), dtype=torch.float32, device="cuda")
    torch.cuda.reset_peak_memory_stats()
    seconds, result = timed(lambda: run_test(x), repeats)
    model = sb.models.Gaussian(np.zeros(d))
    run_default(x, model)
    default, _ = timed(lambda: run_default(x, model), repeats)
    more, _ = timed(lambda: run_default(x, model, 999), repeats)
    weights = sb.WeightedBootstrap(DRAWS).request(n, np.random.SeedSequence(0)).weights
    drawing, _ = timed(lambda: [0 for _ in weights], 1)
    return {
        "n": n,
        "d": d,
        "outliers": share,
        "seconds": seconds,
        "default_seconds": default,
        "default_seconds_999": more,
        "drawing_seconds": drawing,
        "over_product": seconds / product_limit(n),
        "memory_gb": torch.cuda.max_memory_allocated() / 1e9,
        "rejected": result.rejected,
        "ksd": result.ksd,
        "grade": result.grade,
        **{key: str(value) for key, value in result.details.items()},
    }


def agreement(n: int, d: int) -> list[dict[str, Any]]:
    """Statistic, quantile and decision on every library, against NumPy in float64."""
    import torch

    x = contaminated(n, d, 0.04)
    reference = run_test(x)
    draws = np.asarray(reference.draws)
    spread = np.std([np.quantile(part, 0.95) for part in np.array_split(draws, 10)]) / np.sqrt(10)
    arrays: dict[str, Callable[[], Any]] = {
        "torch float64": lambda: torch.asarray(x, device="cuda"),
        "torch float32": lambda: torch.asarray(x, dtype=torch.float32, device="cuda"),
        "jax float32": lambda: __import__("jax").numpy.asarray(x, dtype="float32"),
        "cupy float64": lambda: __import__("cupy").asarray(x),
    }
    rows = []
    for name, make in arrays.items():
        result = run_test(make())
        quantile = float(np.quantile(np.asarray(result.draws), 0.95))
        rows.append(
            {
                "library": name,
                "ksd_relative_error": abs(result.ksd / reference.ksd - 1),
                "quantile_shift": abs(quantile - float(np.quantile(draws, 0.95))),
                "quantile_monte_carlo_error": float(spread),
                "pvalue": result.pvalue,
                "reference_pvalue": reference.pvalue,
                "at_zero": result.at(contamination=0).pvalue,
                "reference_at_zero": reference.at(contamination=0).pvalue,
                "device": str(result.details.get("device")),
                "compiled": str(result.details.get("compiled")),
            }
        )
    return rows


def main() -> None:
    """Print every row as it comes; write all of them to the file named on the command line."""
    rows: dict[str, Any] = {"agreement": [], "scaling": []}
    for row in agreement(20_000, 10):
        rows["agreement"].append(row)
        print(row, flush=True)
    sizes = ((100_000, 10, 0.0), (100_000, 10, 0.15), (100_000, 256, 0.0), (1_000_000, 10, 0.0), (1_000_000, 10, 0.15))
    for n, d, share in sizes:
        rows["scaling"].append(scaling_row(n, d, share, 5 if n < 10**6 else 2))
        print(rows["scaling"][-1], flush=True)
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
