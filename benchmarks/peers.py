"""Other libraries' tests of the same question, where they are installed: ``python -m benchmarks.peers [--small]``.

None of them does the work of this library: a tolerance, a full kernel Stein discrepancy and a bootstrap. Those that
answer the question nearest to it, "could this sample come from a standard Gaussian?", are timed beside its standard
test (radius 0, no tilt), with what each of them computes, and how often it sees a small shift of the mean.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import steinball as sb
from benchmarks.__main__ import RESULTS
from benchmarks.cases import DRAWS
from benchmarks.reference import shortest

Sample = NDArray[np.float64]
LEVEL = 0.05
SIZES = ((1_000, 2), (10_000, 2), (100_000, 2), (1_000, 10), (10_000, 10))
SMALL = SIZES[:1]
SHIFT, SHIFTED_SAMPLES, SHIFTED_SIZE = 0.1, 40, (1_000, 2)


@dataclass(frozen=True)
class Peer:
    """A test of a standard Gaussian: ``rejects(sample, seed)``, and what it computes."""

    name: str
    module: str
    computes: str
    rejects: Callable[[Sample, int], bool]
    most: int = 10**9
    """Rows whose matrices it has room for."""
    install: str = ""
    """What pip asks for, where that is not the name of the module."""


def _steinball(x: Sample, seed: int) -> bool:
    model = sb.models.Gaussian(np.zeros(x.shape[1]), 1.0)
    return sb.ksd_test(
        x, model, calibration=sb.WeightedBootstrap(DRAWS), level=LEVEL, rng=seed, progress=False
    ).rejected


def _hyppo(x: Sample, seed: int) -> bool:
    kgof = importlib.import_module("hyppo.kgof")
    locations = np.random.default_rng(seed).standard_normal((5, x.shape[1]))
    kernel = kgof.KGauss(kgof.meddistance(x, subsample=1_000) ** 2)
    model = kgof.IsotropicNormal(np.zeros(x.shape[1]), 1.0)
    null = kgof.FSSDH0SimCovObs(n_simulate=DRAWS, seed=seed)
    return bool(kgof.FSSD(model, kernel, locations, null, alpha=LEVEL).test(x)["h0_rejected"])


def _goodpoints(x: Sample, seed: int) -> bool:
    ctt = importlib.import_module("goodpoints.ctt").ctt
    from_model = np.random.default_rng(seed + 10**6).standard_normal(x.shape)
    lengthscale = sb.kernels.median_distance(x)
    done = ctt(x, from_model, g=4, B=DRAWS, lam=lengthscale, null_seed=seed, statistic_seed=seed, alpha=LEVEL)
    return bool(np.ravel(done.rejects)[0])


def _ksdagg(x: Sample, seed: int) -> bool:
    """With its defaults and its own seed: another one is compiled anew."""
    ksdagg, samples = importlib.import_module("ksdagg").ksdagg, importlib.import_module("jax.numpy").asarray(x)
    return bool(ksdagg(samples, -samples))


PEERS = (
    Peer("steinball ksd_test", "steinball", "KSD over all pairs, weighted bootstrap", _steinball),
    Peer("hyppo FSSD", "hyppo", "Stein features at 5 random locations, asymptotic null; linear in n", _hyppo),
    Peer(
        "goodpoints CTT", "goodpoints", "two-sample MMD of compressed samples; needs n draws of the model", _goodpoints
    ),
    Peer(
        "ksdagg",
        "ksdagg",
        "KSD over all pairs at 10 length scales, wild bootstrap; JAX",
        _ksdagg,
        2_000,
        "git+https://github.com/antoninschrab/ksdagg",
    ),
)


def installed() -> list[Peer]:
    """Those that are there."""
    return [peer for peer in PEERS if importlib.util.find_spec(peer.module) is not None]


def seconds_of(peer: Peer, n: int, d: int) -> float:
    """Wall time of one test of a sample that the model fits."""
    x = np.random.default_rng(0).standard_normal((n, d))
    peer.rejects(x[:256], 0)  # the first call loads and compiles what it needs
    return shortest(lambda: peer.rejects(x, 0), 3 if n <= 10_000 else 1)[0]


def power_of(peer: Peer) -> float:
    """How often a shift of every coordinate of the mean is seen."""
    rngs = [np.random.default_rng(seed) for seed in range(SHIFTED_SAMPLES)]
    return float(np.mean([peer.rejects(SHIFT + rng.standard_normal(SHIFTED_SIZE), k) for k, rng in enumerate(rngs)]))


def measure(peer: Peer, sizes: tuple[tuple[int, int], ...]) -> dict[str, Any]:
    """All times of one peer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        times = [{"n": n, "d": d, "seconds": seconds_of(peer, n, d)} for n, d in sizes if n <= peer.most]
        version = sb.__version__ if peer.module == "steinball" else importlib.metadata.version(peer.module)
        power = power_of(peer)
    return {"name": peer.name, "version": version, "computes": peer.computes, "power": power, "times": times}


def main() -> None:
    """Print a table of those that are installed, say which are not, and keep it under ``benchmarks/results``."""
    sizes = SMALL if "--small" in sys.argv else SIZES
    rows = []
    print(f"power: share of {SHIFTED_SAMPLES} samples with mean {SHIFT:g} rejected, n = 1,000, d = 2, level {LEVEL:g}")
    print(f"{'':20}{'power':>7}" + "".join(f"{f'n={n:,} d={d}':>18}" for n, d in sizes))
    for peer in PEERS:
        if peer not in installed():
            print(f"{peer.name:20} skipped: {peer.module} is not installed (pip install {peer.install or peer.module})")
            continue
        row = measure(peer, sizes)
        rows.append(row)
        print(
            f"{peer.name:20}{row['power']:7.2f}" + "".join(f"{t['seconds']:16.3f} s" for t in row["times"]), flush=True
        )
        print(f"  {peer.computes}")
    if "--small" not in sys.argv and len(rows) == len(PEERS):
        RESULTS.mkdir(exist_ok=True)
        text = json.dumps({"when": time.strftime("%Y-%m-%d"), "draws": DRAWS, "rows": rows}, indent=1)
        (RESULTS / "peers.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
