"""Sizes in words and bytes, and measured memory against what was predicted."""

from __future__ import annotations

import math
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steinball.calibration import DeviationBound, WeightedBootstrap, WildBootstrap
from steinball.gram.blocked import BlockedGram
from steinball.gram.cost import Size, as_bytes, free_memory, free_on_host, in_words
from steinball.gram.lowrank import LowRankGram
from steinball.gram.whole import DenseGram
from steinball.problem import Problem, pose

pytestmark = pytest.mark.exact


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1.5 GB", 1_500_000_000),
        ("2gb", 2 * 10**9),
        (" 3 MiB ", 3 * 2**20),
        ("4KB", 4000),
        ("5 kib", 5 * 1024),
        ("2 TB", 2 * 10**12),
        ("1 TiB", 2**40),
        (".5 GB", 5 * 10**8),
        ("7", 7),
        ("7b", 7),
        (123, 123),
        (1e9, 10**9),
        (np.int64(12), 12),
        (np.float64(12.7), 12),
    ],
)
def test_sizes_are_numbers_or_texts(text: Any, size: int) -> None:
    assert as_bytes(text) == size


@pytest.mark.parametrize(
    "nonsense",
    [
        *("", "GB", "lots", "1.2.3 GB", ".", "-1 GB", "1 XB", "1 ib", "2 GBs", "0", "0 GB", "nan", "inf"),
        *(0, -5, 0.5, True, None, math.inf, -math.inf, math.nan, [1]),
    ],
)
def test_other_sizes_are_refused_with_an_example(nonsense: Any) -> None:
    with pytest.raises(ValueError, match="`memory_limit` must be a positive number of bytes or a text such as '2 GB'"):
        as_bytes(nonsense)


@given(st.integers(min_value=1, max_value=10**15))
def test_words_say_the_size_to_a_tenth_of_their_unit(size: int) -> None:
    words = in_words(size)
    number, unit = words.split()
    scale = {"bytes": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}[unit]
    assert abs(float(number) * scale - size) <= 0.0501 * scale
    assert float(number) <= 1000.0 or unit == "TB"
    if unit in ("kB", "MB", "GB"):
        assert as_bytes(words) == pytest.approx(size, rel=0.06)


def test_words_of_round_sizes() -> None:
    assert [in_words(10**k) for k in (0, 3, 6, 9, 12)] == ["1 bytes", "1.0 kB", "1.0 MB", "1.0 GB", "1.0 TB"]


def test_some_memory_is_free_and_less_than_a_petabyte() -> None:
    assert 10**6 < free_memory(np.zeros(1)) < 10**15


def test_without_the_kernels_file_half_of_the_memory_counts_as_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}.__getitem__)
    assert free_on_host(tmp_path) == 2_048_000


GB = 10**9


def machine(root: Path, files: dict[str, Any]) -> Path:
    """The files of a system with 64 GB available, and those given."""
    for name, content in {"proc/meminfo": f"MemTotal: 1 kB\nMemAvailable: {64 * GB // 1024} kB\n", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{content}\n")
    return root


V2 = "sys/fs/cgroup"


@pytest.mark.parametrize(
    ("files", "free"),
    [
        ({}, 64 * GB // 1024 * 1024),
        ({"proc/self/cgroup": "0::/", f"{V2}/memory.max": 4 * GB, f"{V2}/memory.current": GB}, 3 * GB),
        ({"proc/self/cgroup": "0::/", f"{V2}/memory.max": "max", f"{V2}/memory.current": GB}, 64 * GB // 1024 * 1024),
        ({"proc/self/cgroup": "0::/", f"{V2}/memory.max": "max", f"{V2}/memory.high": 2 * GB}, 2 * GB),
        (  # files that the group has cached are dropped when memory is needed
            {
                "proc/self/cgroup": "0::/job",
                f"{V2}/job/memory.max": 4 * GB,
                f"{V2}/job/memory.current": 3 * GB,
                f"{V2}/job/memory.stat": f"anon {GB}\ninactive_file {2 * GB}\nactive_file 7",
            },
            3 * GB,
        ),
        (  # the limit of a group above
            {
                "proc/self/cgroup": "0::/slice/job",
                f"{V2}/slice/job/memory.max": 8 * GB,
                f"{V2}/slice/memory.max": 2 * GB,
                f"{V2}/slice/memory.current": GB,
            },
            GB,
        ),
        (  # a container that sees its own group at the top, under the path that the host has for it
            {"proc/self/cgroup": "4:cpu:/x\n0::/docker/1f", f"{V2}/memory.max": 3 * GB},
            3 * GB,
        ),
        ({"proc/self/cgroup": "0::/", f"{V2}/memory.max": GB, f"{V2}/memory.current": 2 * GB}, 0),
    ],
)
def test_the_limits_of_control_groups_count(tmp_path: Path, files: dict[str, Any], free: int) -> None:
    assert free_on_host(machine(tmp_path, files)) == free


def peak(work: Callable[[], Any]) -> int:
    """The most memory that NumPy and Python held at one moment of ``work``, beyond what was held before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def problem_of(n: int, d: int, dtype: Any = np.float64) -> Problem:
    problem = pose(np.random.default_rng(0).normal(size=(n, d)).astype(dtype), lambda x: -x, tilt="auto")
    assert problem.diagonal.shape == (n,)  # computed now, and counted by neither side
    return problem


@pytest.mark.parametrize("calibration", [WeightedBootstrap(199), WildBootstrap(199), DeviationBound(proven=False)])
@pytest.mark.parametrize("jobs", [1, 2])
def test_the_blocked_engine_stays_within_its_prediction(calibration: Any, jobs: int) -> None:
    """At n = 6000, where the matrix has 288 MB; and the prediction is no wild guess."""
    n, d, problem = 6000, 3, problem_of(6000, 3)
    request = calibration.request(n, np.random.SeedSequence(0))
    used = peak(lambda: BlockedGram(problem, 256, jobs).summarise(request))
    predicted = Size(n, d, calibration.n_resamples).blocked(256, jobs).memory
    assert predicted / 3 < used <= predicted < n * n * 8 / 10


@pytest.mark.parametrize("jobs", [1, 2])
def test_weights_too_many_to_keep_are_not_kept(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("blocked", "cost"):
        monkeypatch.setattr(f"steinball.gram.{module}.KEPT_WEIGHTS", 10**5)
    n, problem = 3000, problem_of(3000, 2)
    request = WeightedBootstrap(499).request(n, np.random.SeedSequence(0))
    used = peak(lambda: BlockedGram(problem, 256, jobs).summarise(request))
    predicted = Size(n, 2, 499).blocked(256, jobs).memory
    assert predicted / 3 < used <= predicted


def test_single_precision_takes_half_the_memory() -> None:
    n, problem = 2000, problem_of(2000, 3, np.float32)
    request = WeightedBootstrap(99).request(n, np.random.SeedSequence(0))
    used = peak(lambda: BlockedGram(problem, 256, 1).summarise(request))
    assert used <= Size(n, 3, 99, itemsize=4).blocked(256).memory < Size(n, 3, 99).blocked(256).memory


@pytest.mark.parametrize(("n", "n_resamples"), [(200, 999), (1000, 99)])
def test_the_dense_engine_stays_within_its_prediction(n: int, n_resamples: int) -> None:
    problem = problem_of(n, 3)
    request = WeightedBootstrap(n_resamples).request(n, np.random.SeedSequence(0))
    used = peak(lambda: DenseGram(problem).summarise(request))
    predicted = Size(n, 3, n_resamples).dense().memory
    assert predicted / 3 < used <= predicted


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(("n", "d"), [(6000, 1), (20_000, 1), (6000, 2)])
def test_the_low_rank_engine_stays_within_its_prediction(n: int, d: int, jobs: int) -> None:
    problem = problem_of(n, d)
    request = WeightedBootstrap(129).request(n, np.random.SeedSequence(0))
    ranks = []

    def work() -> None:
        summary = LowRankGram(problem, 200, jobs, decides=lambda summary: True).summarise(request)
        ranks.append(summary.details["rank"])

    used = peak(work)
    predicted = Size(n, d, 0).lowrank_memory(ranks[0], jobs)
    assert predicted / 8 < used <= predicted
