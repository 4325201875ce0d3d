"""Which engine is taken, and what is said when memory does not suffice."""

from __future__ import annotations

import re
from typing import Any

import joblib
import numpy as np
import pytest

import steinball as sb
from steinball.gram.blocked import BlockedGram
from steinball.gram.choose import Settings, make_gram
from steinball.gram.cost import Size, as_bytes
from steinball.gram.lowrank import LowRankGram
from steinball.gram.request import Request
from steinball.gram.whole import DenseGram
from steinball.kernels import InverseMultiquadric
from steinball.problem import pose

pytestmark = pytest.mark.exact


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of known speed, size and number of cores."""
    monkeypatch.setattr("steinball.gram.cost.flops_per_second", lambda: 3e10)
    monkeypatch.setattr("steinball.gram.choose.free_memory", lambda samples: 16 * 10**9)
    monkeypatch.setattr(joblib, "cpu_count", lambda *args, **options: 2)
    monkeypatch.setattr(joblib, "effective_n_jobs", lambda n_jobs=-1: 2 if n_jobs in (-1, None) else n_jobs)


def gram_of(n: int, d: int, n_resamples: int = 999, x: Any = None, **options: Any) -> Any:
    """The engine for n points in d dimensions, without running it."""
    samples = np.zeros((n, d)) if x is None else x
    samples[0] = 1.0
    problem = pose(samples, lambda x: -x, InverseMultiquadric(1.0))
    return make_gram(problem, Request(), n_resamples, Settings(**options))


@pytest.mark.parametrize(
    ("n", "d", "kind"),
    [
        (2, 1, DenseGram),
        (200, 1, DenseGram),
        (200, 50, DenseGram),
        (201, 1, BlockedGram),
        (500, 10, BlockedGram),
        (5000, 1, BlockedGram),
        (50_000, 1, LowRankGram),
        (50_000, 2, LowRankGram),
        (50_000, 6, BlockedGram),
        (50_000, 10, BlockedGram),
        (1_000_000, 1, LowRankGram),
    ],
)
def test_auto_takes_the_fastest_engine(n: int, d: int, kind: type) -> None:
    assert type(gram_of(n, d)) is kind
    assert {"dense": DenseGram, "blocked": BlockedGram, "lowrank": LowRankGram}[sb.predict_cost(n, d).engine] is kind


@pytest.mark.parametrize(("engine", "kind"), [("dense", DenseGram), ("blocked", BlockedGram), ("lowrank", LowRankGram)])
def test_a_named_engine_is_taken_whatever_the_size(engine: str, kind: type) -> None:
    for n, d in ((50, 1), (50, 20), (3000, 3)):
        assert type(gram_of(n, d, engine=engine)) is kind


def test_low_rank_has_an_exact_fallback_only_where_it_chose_itself_and_one_can_wait() -> None:
    assert isinstance(gram_of(50_000, 1).fallback, BlockedGram)
    assert gram_of(50_000, 1, engine="lowrank").fallback is None
    assert gram_of(1_000_000, 1).fallback is None  # an hour or more
    assert gram_of(50_000, 1, memory_limit="110 MB").fallback is None


def test_low_rank_may_use_all_the_memory_it_is_given_while_it_is_cheaper_than_the_exact_pass() -> None:
    for limit in ("100 MB", "300 MB", "1 GB"):
        gram = gram_of(20_000, 2, memory_limit=limit, engine="lowrank")
        assert Size(20_000, 2, 999).lowrank_memory(gram.max_rank, 2) <= as_bytes(limit)
        fits_no_more = Size(20_000, 2, 999).lowrank_memory(gram.max_rank + 1, 2) > as_bytes(limit)
        assert fits_no_more == (limit != "1 GB")
        assert fits_no_more or gram.max_rank == Size(20_000, 2, 999).cheaper_rank


def test_other_libraries_and_single_precision_are_worked_on_exactly() -> None:
    """Low rank certifies nothing in single precision, so starting with it would only cost time."""
    torch = pytest.importorskip("torch")
    assert type(gram_of(50_000, 1, x=torch.zeros((50_000, 1), dtype=torch.float64))) is BlockedGram
    assert type(gram_of(50_000, 1, x=np.zeros((50_000, 1), dtype=np.float32))) is BlockedGram
    assert type(gram_of(100, 1, x=np.zeros((100, 1), dtype=np.float32))) is DenseGram


@pytest.mark.parametrize(
    ("n", "d", "limit", "kind"),
    [
        (50_000, 1, "110 MB", LowRankGram),
        (50_000, 2, "100 MB", BlockedGram),
        (3000, 2, "60 MB", BlockedGram),
        (50_000, 10, "150 MB", BlockedGram),
    ],
)
def test_auto_takes_an_engine_that_fits(n: int, d: int, limit: str, kind: type) -> None:
    assert type(gram_of(n, d, n_resamples=499, memory_limit=limit)) is kind


def test_auto_prefers_a_slower_engine_to_an_error() -> None:
    """A million points in d = 1 are done by low rank; what has no room for the factor may have some for the tiles."""
    assert type(gram_of(1_000_000, 1, n_resamples=100)) is LowRankGram
    assert type(gram_of(1_000_000, 1, n_resamples=100, memory_limit="450 MB")) is BlockedGram


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"engine": "dense", "memory_limit": "300 MB"}, r"the dense engine needs 1\.\d GB .*Use engine=\"blocked\""),
        ({"engine": "blocked", "memory_limit": "1 MB"}, r"blocked engine needs .* Use fewer `n_resamples`, or engine="),
        ({"engine": "lowrank", "memory_limit": "1 MB"}, r"lowrank engine needs .* Use fewer `n_resamples`, or engine="),
        (
            {"engine": "auto", "memory_limit": 1000},
            r"`memory_limit` is 1\.0 kB\. Use fewer .* or raise `memory_limit`\.",
        ),
    ],
)
def test_too_little_memory_is_an_error_that_says_what_suffices(options: dict[str, Any], says: str) -> None:
    with pytest.raises(MemoryError, match=says) as caught:
        gram_of(5000, 2, **options)
    text = str(caught.value)
    assert "for n = 5,000" in text
    named = re.search(r'engine="(\w+)", which needs ([\d.]+ \w+)', text)
    assert named is not None
    enough = int(as_bytes(named[2]) * 1.06)  # words are rounded
    assert gram_of(5000, 2, engine=named[1], memory_limit=enough) is not None


def test_low_rank_is_no_remedy_in_many_dimensions() -> None:
    with pytest.raises(MemoryError, match='or engine="blocked", which needs'):
        gram_of(5000, 10, memory_limit=10**5)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"engine": "gpu"}, "`engine` must be one of 'auto', 'dense', 'blocked', 'lowrank', got 'gpu'"),
        ({"engine": None}, "`engine` must be one of"),
        ({"memory_limit": "much"}, "`memory_limit` must be a positive number of bytes"),
        ({"n_jobs": 0}, "`n_jobs` must be None or a non-zero whole number, got 0"),
        ({"n_jobs": 1.5}, "`n_jobs` must be"),
        ({"progress": "yes"}, "`progress` must be True, False or \"auto\", got 'yes'"),
        ({"progress": None}, "`progress` must be"),
    ],
)
def test_settings_are_checked_before_any_work(options: dict[str, Any], says: str) -> None:
    def never(x: Any) -> Any:
        raise AssertionError("the model was asked")

    with pytest.raises(ValueError, match=re.escape(says)):
        sb.ksd_test(np.arange(10.0), never, **options)


def test_half_of_what_is_free_is_the_limit_unless_one_is_given() -> None:
    assert Settings().limit(np.zeros(1), 10**9) == 8 * 10**9
    assert Settings().limit(np.zeros(1), 10**6) == 10**6  # every machine has that
    assert Settings(memory_limit="3 GB").limit(np.zeros(1), 10**9) == 3 * 10**9


def test_few_points_are_worked_on_serially_unless_told_otherwise() -> None:
    assert gram_of(1000, 2).n_jobs == 1
    assert gram_of(1000, 2, n_jobs=2).n_jobs == 2
    assert gram_of(4000, 6).n_jobs == 2
    assert gram_of(4000, 6, n_jobs=1).n_jobs == 1
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert gram_of(1000, 2).n_jobs is None  # what joblib is configured for
    with joblib.parallel_config(n_jobs=1):
        assert gram_of(4000, 6).n_jobs == 1
