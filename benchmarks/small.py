"""What the usual small calls cost: ``python -m benchmarks.small [--small]``.

Tests are repeated on other rows of a model that was tested before, and measured in runs of a bare computation: the same
statistic and as many draws in plain NumPy, without a check, a bound or a report. Both take turns in one process, which
is one of their own. Processor time of one core, the least of some repeats, so that a busy machine does not matter much.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import steinball as sb
from benchmarks.__main__ import RESULTS
from benchmarks.peers import Peer, installed

Rows = NDArray[np.float64]
fit_test: Any = sb.fit_test  # of one or the other result

DRAWS, SHARE = 999, 0.05
SIZES = {50: 4.0, 500: 0.7}
"""Rows, and how many bare computations a default test may cost."""

MIXTURE = sb.models.GaussianMixture([0.5, 0.3, 0.2], [[-4.0, 0.0], [0.0, 2.0], [4.0, 0.0]], [np.eye(2)] * 3)
FIRST = """
import numpy as np, steinball as sb
x = np.random.default_rng(0).normal(size=200)
print(sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, rng=0))
"""


class Scored:
    """A model of a user's own that has a score and can be drawn from."""

    def score(self, x: Rows) -> Rows:
        return -x

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
        return rng.normal(size=(n, 2))


class Placed:
    """One that says where it lies, as a Laplace approximation does, and cannot be drawn from."""

    location, covariance = np.zeros(2), np.eye(2)

    def score(self, x: Rows) -> Rows:
        return -x


@dataclass(frozen=True)
class Case:
    """A model, its score, and rows that fit it."""

    name: str
    model: Any
    score: Callable[[Rows], Rows]
    draw: Callable[[int, np.random.Generator], Rows]


def normal(d: int, name: str = "", model: Any = None) -> Case:
    """The standard Gaussian in d columns, by a model of ours or of the user's own."""
    known = sb.models.Gaussian(dimension=d) if model is None else model
    return Case(f"{name or 'Gaussian'}, d = {d}", known, lambda x: -x, lambda n, rng: rng.normal(size=(n, d)))


CASES = (
    *map(normal, (1, 10, 50)),
    normal(2, "SciPy's multivariate normal", stats.multivariate_normal(np.zeros(2))),
    normal(2, "a score with a sampler", Scored()),
    normal(2, "a score with a place", Placed()),
    normal(2, "a score alone", lambda x: -x),
    Case("SciPy's t", stats.t(5), lambda x: -6.0 * x / (5.0 + x * x), lambda n, rng: rng.standard_t(5, size=(n, 1))),
    Case("SciPy's gamma", stats.gamma(3), lambda x: 2.0 / x - 1.0, lambda n, rng: rng.gamma(3.0, size=(n, 1))),
    Case("a mixture of three, d = 2", MIXTURE, MIXTURE.score, MIXTURE.sample),
)


def bare(x: Rows, scores: Rows, seed: int) -> tuple[Rows, float]:
    """Bootstrap draws of the tilted inverse multiquadric KSD at the median distance, and the KSD itself."""
    n, d = x.shape
    norms = np.sum(x * x, axis=1)
    r2 = np.maximum(norms[:, None] + norms - 2.0 * x @ x.T, 0.0)
    scale = np.median(r2[np.triu_indices(n, 1)])
    weight = 1.0 / np.sqrt(1.0 + norms / d)
    pull = scores - x * (weight**2)[:, None] / d
    base = 1.0 / (1.0 + r2 / scale)
    value = np.sqrt(base)
    slope = value * base / scale
    mixed = np.sum(x * pull, axis=1)[:, None] - pull @ x.T
    u = value * (pull @ pull.T) + slope * (mixed + mixed.T + d) - 3.0 * value * base**2 * r2 / scale**2
    u *= weight[:, None] * weight
    rows = np.random.default_rng(seed).integers(0, n, (DRAWS, n)) + n * np.arange(DRAWS)[:, None]
    counts = np.bincount(rows.ravel(), minlength=DRAWS * n).reshape(DRAWS, n) - 1.0
    return np.sqrt(np.sum(counts @ u * counts, axis=1)) / n, float(np.sqrt(u.mean()))


def least(tasks: list[Callable[[int], Any]], repeats: int) -> list[float]:
    """The least processor time of each task, which take turns and get the number of the turn."""
    found: list[list[float]] = [[] for _ in tasks]
    for turn in range(-1, repeats):  # the first turn loads what is needed
        for task, times in zip(tasks, found, strict=True):
            start = time.process_time()
            task(turn + 1)
            times.append(time.process_time() - start)
    return [min(times[1:]) for times in found]


def row(group: str, case: str, n: int, seconds: float, unit: tuple[str, float], most: float) -> dict[str, Any]:
    """One measurement: a time in units of another one, and how many there may be."""
    words, other = unit
    ratio = seconds / other
    facts = {"group": group, "case": case, "n": n, "seconds": seconds, "unit": words, "unit seconds": other}
    return {**facts, "ratio": ratio, "target": f"≤ {most:.3g}", "met": bool(ratio <= most)}


def tested(case: Case, n: int, most: float, repeats: int) -> dict[str, Any]:
    """The default test beside the bare computation."""
    rng = np.random.default_rng(n)
    samples = [case.draw(n, rng) for _ in range(8)]
    scores = [case.score(x) for x in samples]
    ours, other = least(
        [
            lambda k: sb.robust_ksd_test(samples[k % 8], case.model, SHARE, rng=1000 + k),
            lambda k: bare(samples[k % 8], scores[k % 8], k),
        ],
        repeats,
    )
    return row("robust_ksd_test", case.name, n, ours, ("bare computations", other), most)


def checked(case: Case, n: int, repeats: int) -> dict[str, Any]:
    """A check beside the default test; it may cost two of them and five milliseconds."""
    rng = np.random.default_rng(n)
    samples = [case.draw(n, rng) for _ in range(8)]
    ours, test = least(
        [
            lambda k: sb.check(samples[k % 8], case.model, contamination=SHARE, rng=1000 + k),
            lambda k: sb.robust_ksd_test(samples[k % 8], case.model, SHARE, rng=2000 + k),
        ],
        repeats,
    )
    return row("check", case.name, n, ours, ("robust_ksd_test", test), 2.0 + 0.005 / test)


def regions(case: Case, n: int, repeats: int) -> dict[str, Any]:
    """Regions alone beside the default test."""
    x = case.draw(n, np.random.default_rng(n))
    ours, test = least(
        [
            lambda k: sb.region_test(x, case.model, contamination=SHARE),
            lambda k: sb.robust_ksd_test(x, case.model, SHARE, rng=k),
        ],
        repeats,
    )
    return row("region_test", case.name, n, ours, ("robust_ksd_test", test), 1.0)


def fitted(n: int, d: int, repeats: int) -> dict[str, Any]:
    """The normal family beside a known normal model."""
    x, model = np.random.default_rng(n).normal(size=(n, d)), sb.models.Gaussian(dimension=d)
    ours, known = least(
        [lambda k: fit_test(x, "normal", rng=k), lambda k: sb.ksd_test(x, model, rng=1000 + k)], repeats
    )
    return row("fit_test", f"normal, d = {d}", n, ours, ("ksd_test of a known model", known), 1.5)


def mixture_fit(n: int, repeats: int) -> dict[str, Any]:
    """A mixture of two normal distributions, by the clock."""
    x = np.random.default_rng(n).normal(size=n) + np.where(np.arange(n) % 2, 2.0, -2.0)
    (ours,) = least([lambda k: fit_test(x, "mixture:2", rng=k)], repeats)
    return row("fit_test", "mixture:2, d = 1", n, ours, ("half seconds", 0.5), 1.0)


def predicted(n: int, repeats: int) -> dict[str, Any]:
    """Normal predictions of one feature, by the clock."""
    rng = np.random.default_rng(n)
    z = rng.normal(size=n)
    y, laws = z + rng.normal(size=n), stats.norm(z, 1.0)
    (ours,) = least([lambda k: sb.predictive_test(y, laws, features=z, tolerance=SHARE, rng=k)], repeats)
    return row("predictive_test", "normal, one feature", n, ours, ("seconds", 1.0), 1.0)


def beside(peer: Peer, n: int, repeats: int) -> dict[str, Any]:
    """The test of another library beside our default test, which tolerates something and does more."""
    x, model = np.random.default_rng(n).normal(size=(n, 2)), sb.models.Gaussian(dimension=2)
    theirs, ours = least(
        [lambda k: peer.rejects(x, k), lambda k: sb.robust_ksd_test(x, model, SHARE, rng=1000 + k)], repeats
    )
    found = row(peer.name, "Gaussian, d = 2", n, theirs, ("robust_ksd_test", ours), np.inf)
    ahead = peer.module == "ksdagg" and n >= 200
    return {**found, "target": "≥ 1" * ahead, "met": bool(not ahead or found["ratio"] >= 1.0)}


def processor_seconds(command: list[str], compiled: str) -> float:
    """Of a command in a process of its own, the least of three; modules are compiled once, into a folder of ours."""
    found, environment = [], {**os.environ, "PYTHONPYCACHEPREFIX": compiled, "PYTHONDONTWRITEBYTECODE": ""}
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def first_calls() -> list[dict[str, Any]]:
    """Import, one test and its text above the import of NumPy, and the help of the command."""
    with tempfile.TemporaryDirectory() as folder:
        commands = ["-c", "import numpy"], ["-c", FIRST], ["-m", "steinball_command", "--help"]
        numpy, test, helped = (processor_seconds([sys.executable, *command], folder) for command in commands)
    test -= numpy
    return [
        row("first call", "import, one test and print, beyond NumPy", 200, test, ("half seconds", 0.5), 1.0),
        row("first call", "steinball --help", 0, helped, ("0.4 seconds", 0.4), 1.0),
    ]


def alone(measurement: Callable[..., Any], *arguments: Any) -> Any:
    """A measurement in a process of its own: how much memory was let go before decides how much a new array costs."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measurement, *arguments).result()


def of_case(measurement: Callable[..., Any], k: int, *arguments: Any) -> Any:
    """A measurement of the k-th case, which cannot be sent to another process."""
    return measurement(CASES[k], *arguments)


def measure(sizes: dict[int, float], repeats: int) -> list[dict[str, Any]]:
    """All measurements."""
    few = [k for k, case in enumerate(CASES) if not any(word in case.name for word in ("10", "50", "score", "multi"))]
    rows = [alone(of_case, tested, k, n, most, repeats) for k in range(len(CASES)) for n, most in sizes.items()]
    rows += [alone(of_case, checked, k, n, repeats) for k in few for n in sizes]
    rows += [alone(of_case, regions, 0, n, repeats) for n in sizes]
    rows += [*(alone(fitted, 500, d, repeats) for d in (1, 4)), alone(mixture_fit, 200, max(1, repeats // 5))]
    rows += [alone(predicted, 500, max(1, repeats // 5)), *first_calls()]
    others = [peer for peer in installed() if peer.module != "steinball"]
    return rows + [alone(beside, peer, n, max(2, repeats // 5)) for peer in others for n in (50, 200, 500)]


def line(one: dict[str, Any]) -> str:
    """One measurement in words."""
    met = f"{one['target']}: {'met' if one['met'] else 'MISSED'}" if one["target"] else ""
    what = f"{one['group']}, {one['case']}, n={one['n']}"
    return f"{what:64}{1000 * one['seconds']:9.2f} ms = {one['ratio']:6.2f} {one['unit']}; {met}"


def main() -> None:
    """Measure, print, and keep the rows under ``benchmarks/results``."""
    small = "--small" in sys.argv
    rows = [{**one, "when": time.strftime("%Y-%m-%d")} for one in measure(SIZES, 3 if small else 25)]
    print("\n".join(map(line, rows)))
    if not small:
        (RESULTS / "small.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
