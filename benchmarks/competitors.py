"""How often other tests find what this library finds: ``python -m benchmarks.competitors [--small]``.

Samples that differ from a standard Gaussian in a known way are given to tests that people know and to those of this
library, at level .05. The tests of the first group tolerate nothing; those of the second tolerate 5 %. Every cell is
kept as it comes in ``results/competitors.json``: a run that was stopped goes on where it was.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

import steinball as sb
from benchmarks.__main__ import RESULTS

Sample = NDArray[np.float64]
LEVEL, TOLERATED = 0.05, 0.05
REPEATS = {1: 200, 10: 50}
ROWS = {1: 200, 10: 500}
FILE = RESULTS / "competitors.json"


def _replaced(x: Sample, share: float, by: Sample | float, rng: np.random.Generator) -> Sample:
    """Each row is replaced with a probability."""
    bad = rng.random(len(x)) < share
    return np.where(bad[:, None], by, x)


def _wiggle(rng: np.random.Generator, n: int) -> Sample:
    """Draws of φ(x)(1 + .9 sin 8x), by rejection."""
    x = rng.normal(size=4 * n)
    return x[rng.random(4 * n) < (1 + 0.9 * np.sin(8 * x)) / 1.9][:n, None]


def _without_top(rng: np.random.Generator, n: int) -> Sample:
    """Draws of N(0, 1) without its upper tenth."""
    return np.asarray(stats.norm.ppf(rng.uniform(0.0, 0.9, size=(n, 1))))


Draw = Callable[[np.random.Generator, int], Sample]
ONE: dict[str, Draw] = {
    "the model itself": lambda rng, n: rng.normal(size=(n, 1)),
    "mean + 0.3": lambda rng, n: rng.normal(0.3, 1.0, size=(n, 1)),
    "sd × 1.4": lambda rng, n: rng.normal(0.0, 1.4, size=(n, 1)),
    "sd × 0.8": lambda rng, n: rng.normal(0.0, 0.8, size=(n, 1)),
    "Student t, 3 degrees": lambda rng, n: rng.standard_t(3, size=(n, 1)),
    "ripples": _wiggle,
    "no upper tenth": _without_top,
    "4 % at 10": lambda rng, n: _replaced(rng.normal(size=(n, 1)), 0.04, 10.0, rng),
    "12 % at 10": lambda rng, n: _replaced(rng.normal(size=(n, 1)), 0.12, 10.0, rng),
    "15 % five times as wide": lambda rng, n: _replaced(
        rng.normal(size=(n, 1)), 0.15, rng.normal(0.0, 5.0, size=(n, 1)), rng
    ),
}


def _shifted(rng: np.random.Generator, n: int) -> Sample:
    return np.asarray(rng.normal(size=(n, 10)) + 0.5 * np.eye(10)[0])


def _paired(rng: np.random.Generator, n: int) -> Sample:
    x = rng.normal(size=(n, 10))
    x[:, 1] = 0.4 * x[:, 0] + np.sqrt(1 - 0.16) * x[:, 1]
    return x


TEN: dict[str, Draw] = {
    "the model itself": lambda rng, n: rng.normal(size=(n, 10)),
    "one mean + 0.5": _shifted,
    "one pair, correlation 0.4": _paired,
    "all sd × 1.1": lambda rng, n: rng.normal(0.0, 1.1, size=(n, 10)),
    "15 % five times as wide": lambda rng, n: _replaced(
        rng.normal(size=(n, 10)), 0.15, rng.normal(0.0, 5.0, size=(n, 10)), rng
    ),
}
TRUTHS = {1: ONE, 10: TEN}


def anderson_darling(x: Sample) -> float:
    """The statistic of Anderson and Darling against N(0, 1)."""
    low = np.sort(x[:, 0])
    weights = 2.0 * np.arange(1, low.size + 1) - 1.0
    return float(-low.size - np.mean(weights * (stats.norm.logcdf(low) + stats.norm.logsf(low[::-1]))))


@cache
def _anderson_darling_limit(n: int) -> float:
    draws = np.random.default_rng(7).normal(size=(4_000, n, 1))
    return float(np.quantile([anderson_darling(x) for x in draws], 1.0 - LEVEL))


def mmd_rejects(x: Sample, seed: int, permutations: int = 199) -> bool:
    """Gaussian MMD against as many draws of the model, median length scale, permuted."""
    rng, n = np.random.default_rng(seed), len(x)
    squared = cdist(both := np.concatenate([x, rng.normal(size=x.shape)]), both, "sqeuclidean")
    kernel = np.exp(-squared / np.median(squared))
    signs = np.repeat([1.0, -1.0], n)
    orders = np.stack([signs, *(rng.permutation(signs) for _ in range(permutations))])
    values = np.einsum("bi,bi->b", orders @ kernel, orders)
    return bool((1 + np.sum(values[1:] >= values[0])) / (permutations + 1) <= LEVEL)


def classifier_rejects(x: Sample, seed: int) -> bool:
    """Nearest neighbors told from as many draws of the model, on one half and counted on the other."""
    rng, n = np.random.default_rng(seed), len(x)
    rows = np.concatenate([x, rng.normal(size=x.shape)])
    label = np.repeat([1, 0], n)
    order = rng.permutation(2 * n)
    train, rest = order[:n], order[n:]
    near = cKDTree(rows[train]).query(rows[rest], k=2 * (int(np.sqrt(n)) // 2) + 1)[1]
    right = int(np.sum((label[train][near].mean(axis=1) > 0.5) == label[rest]))
    return bool(stats.binomtest(right, n, alternative="greater").pvalue <= LEVEL)


def _model(d: int) -> Any:
    return sb.models.Gaussian(mean=np.zeros(d))


_MODELS: dict[int, Any] = {d: _model(d) for d in ROWS}
"""One model for all samples: it keeps its null distribution."""


def _authors(x: Sample, seed: int) -> bool:
    settings: dict[str, Any] = {"tilt": sb.PolynomialTilt(), "tau": "sample", "calibration": sb.WeightedBootstrap(499)}
    return sb.robust_ksd_test(x, _model(x.shape[1]), TOLERATED, rng=seed, **settings).rejected


Rejects = Callable[[Sample, int], bool]
STRICT: dict[str, Rejects] = {
    "Kolmogorov–Smirnov": lambda x, _: stats.kstest(x[:, 0], stats.norm.cdf).pvalue <= LEVEL,
    "Anderson–Darling": lambda x, _: anderson_darling(x) > _anderson_darling_limit(len(x)),
    "Shapiro–Wilk": lambda x, _: stats.shapiro(x[:, 0]).pvalue <= LEVEL,
    "MMD": mmd_rejects,
    "classifier": classifier_rejects,
    "`ksd_test`": lambda x, seed: sb.ksd_test(x, _model(x.shape[1]), rng=seed).rejected,
    "`check`, 0": lambda x, seed: sb.check(x, _MODELS[x.shape[1]], contamination=0.0, rng=seed).rejected,
}
TOLERANT: dict[str, Rejects] = {
    "the paper's test": _authors,
    "`robust_ksd_test`": lambda x, seed: sb.robust_ksd_test(x, _model(x.shape[1]), TOLERATED, rng=seed).rejected,
    "`check`, contamination": lambda x, seed: (
        sb.check(x, _MODELS[x.shape[1]], contamination=TOLERATED, rng=seed).rejected
    ),
    "`check`, tolerance": lambda x, seed: sb.check(x, _MODELS[x.shape[1]], tolerance=TOLERATED, rng=seed).rejected,
}
TESTS = {1: STRICT | TOLERANT, 10: {name: STRICT[name] for name in list(STRICT)[3:]} | TOLERANT}


def count(rejects: Rejects, draw: Draw, n: int, repeats: int) -> int:
    """How many of so many samples are rejected; every test sees the same samples."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sum(bool(rejects(draw(np.random.default_rng([11, seed]), n), seed)) for seed in range(repeats))


def main() -> None:
    """Fill the cells that are missing, and say each."""
    cells: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {}
    small = "--small" in sys.argv
    for d, tests in TESTS.items():
        repeats = 2 if small else REPEATS[d]
        for truth, draw in TRUTHS[d].items():
            for name, rejects in tests.items():
                key = f"{d} | {truth} | {name}"
                if small or key not in cells:
                    cells[key] = {"rejected": count(rejects, draw, ROWS[d], repeats), "repeats": repeats, "n": ROWS[d]}
                    print(key, cells[key]["rejected"] / repeats, flush=True)
                    if not small:
                        FILE.write_text(json.dumps(cells, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
