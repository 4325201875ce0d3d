"""What a test is said to cost before it is run."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

import steinball as sb
from steinball.gram.cost import Cost, Size, flops_per_second

pytestmark = pytest.mark.exact


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of known speed."""
    monkeypatch.setattr("steinball.gram.cost.flops_per_second", lambda: 3e10)


SIZES = (10, 199, 201, 300, 1000, 5000, 20_000, 10**5, 10**6, 10**7)


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("d", [1, 2, 5, 6, 50])
@pytest.mark.parametrize("engine", ["dense", "blocked", "lowrank"])
def test_more_points_never_cost_less(d: int, engine: str) -> None:
    costs = [prediction[engine] for n in SIZES if engine in _engines(prediction := sb.predict_cost(n, d, n_jobs=2))]
    assert bool(costs) == (engine != "lowrank" or d <= 5)
    for fewer, more in pairwise(costs):
        assert fewer.memory < more.memory
        assert fewer.seconds < more.seconds


def _engines(prediction: Any) -> set[str]:
    return {cost.engine for cost in prediction.costs}


@pytest.mark.usefixtures("machine")
def test_more_draws_or_dimensions_never_cost_less() -> None:
    for n in (500, 20_000):
        for engine in ("dense", "blocked"):
            draws = [sb.predict_cost(n, 3, b, n_jobs=2)[engine] for b in (19, 99, 999, 9999)]
            dimensions = [sb.predict_cost(n, d, 999, n_jobs=2)[engine] for d in (1, 2, 10, 100)]
            for costs in (draws, dimensions):
                assert all(a.seconds < b.seconds for a, b in pairwise(costs))
                assert all(a.memory <= b.memory for a, b in pairwise(costs))


@pytest.mark.usefixtures("machine")
def test_the_exact_engines_grow_with_the_square_of_n_and_only_one_in_memory() -> None:
    big, small = sb.predict_cost(10**6, 10, 500, n_jobs=2), sb.predict_cost(10**5, 10, 500, n_jobs=2)
    assert big["dense"].memory == pytest.approx(100 * small["dense"].memory, rel=0.05)
    assert big["blocked"].memory < 12 * small["blocked"].memory
    assert big["blocked"].seconds == pytest.approx(100 * small["blocked"].seconds, rel=0.05)
    assert big["blocked"].seconds < 0.6 * big["dense"].seconds  # half of the matrix, on two cores


@pytest.mark.usefixtures("machine")
def test_the_low_rank_engine_grows_with_n() -> None:
    small, big = Size(10**5, 2, 500).lowrank(2), Size(10**6, 2, 500).lowrank(2)
    assert small is not None
    assert big is not None
    assert big.seconds == pytest.approx(10 * small.seconds, rel=0.01)
    assert 5 * small.memory < big.memory < 10 * small.memory


def test_low_rank_is_offered_where_it_pays() -> None:
    assert [Size(9, d, 99).likely_rank is None for d in (1, 5, 6, 50)] == [False, False, True, True]
    assert Size(100, 1, 99).lowrank() is None
    assert Size(1000, 1, 99).lowrank() is not None


@pytest.mark.usefixtures("machine")
def test_workers_share_the_time_and_each_needs_memory() -> None:
    one, two = (Size(50_000, 3, 999).blocked(256, jobs) for jobs in (1, 2))
    assert one.seconds < 2 * two.seconds < 1.3 * one.seconds
    assert one.memory < two.memory


def test_a_prediction_prints_every_engine_and_marks_the_chosen_one() -> None:
    prediction = sb.predict_cost(1_000_000, 2, 500)
    lines = str(prediction).splitlines()
    assert lines[0] == "n = 1,000,000, d = 2, 500 draws"
    assert [line[2:].partition(":")[0] for line in lines[1:]] == ["dense", "blocked", "lowrank"]
    assert [line[0] for line in lines[1:]] == [" ", " ", "*"]
    assert "TB" in lines[1]
    assert (prediction.memory, prediction.seconds) == (prediction["lowrank"].memory, prediction["lowrank"].seconds)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.1, "less than a second"),
        (0.9, "about a second"),
        (2.4, "about 2 s"),
        (110.0, "about 110 s"),
        (120.0, "about 2 min"),
        (7200.0, "about 2 h"),
        (360_000.0, "about 100 h"),
    ],
)
def test_times_are_said_in_words(seconds: float, words: str) -> None:
    assert str(Cost("dense", 2_500_000, seconds)) == f"dense: 2.5 MB, {words}"


def test_an_engine_that_is_not_offered_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="no cost of 'lowrank' here, only of 'dense', 'blocked'"):
        sb.predict_cost(1000, 10)["lowrank"]


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ((0, 1), ValueError, "`n` must be at least 1"),
        ((10, 0), ValueError, "`d` must be at least 1"),
        ((10, 1, -1), ValueError, "`n_resamples` must be at least"),
        ((10.5, 1), TypeError, "`n` must be a whole number"),
    ],
)
def test_sizes_must_be_positive_whole_numbers(arguments: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        sb.predict_cost(*arguments)


def test_the_speed_of_a_product_is_measured_once_and_plausible() -> None:
    first = flops_per_second()
    assert 1e8 < first < 1e13
    measured = flops_per_second.cache_info().misses
    assert flops_per_second() == first
    assert flops_per_second.cache_info().misses == measured


@pytest.mark.usefixtures("machine")
def test_predicted_times_count_the_products() -> None:
    """At 3·10¹⁰ a second: half of the pairs, each with 8d + 2B operations, and what single numbers cost on top."""
    products = 2500**2 / 2 * (8 * 10 + 2 * 999) / 3e10
    size = Size(2500, 10, 999).measured
    blocked = size.blocked(256).seconds
    assert products < blocked < 2.0 * products
    assert size.blocked(256, 2).seconds < 0.6 * blocked
    assert size.dense().seconds > blocked


@pytest.mark.parametrize("options", [{}, {"replicates": 99}])
def test_a_faster_machine_is_predicted_to_be_faster_and_takes_the_same_engine(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, int]
) -> None:
    found = []
    for rate in (3e10, 3e12):
        monkeypatch.setattr("steinball.gram.cost.flops_per_second", lambda rate=rate: rate)
        found.append(sb.predict_cost(3000, 10, n_jobs=1, **options))
    slow, fast = found
    assert slow.engine == fast.engine
    assert fast.seconds < slow.seconds
    shared = sb.predict_cost(3000, 10, n_jobs=2, **options)
    assert shared.seconds < 0.7 * fast.seconds
    assert sb.predict_cost(6000, 10, n_jobs=2, **options).seconds > 3.0 * shared.seconds


def test_the_rank_stops_where_the_exact_pass_is_cheaper() -> None:
    for n, d, draws in ((1000, 1, 199), (10**5, 5, 999), (10**6, 2, 500)):
        rank = Size(n, d, draws).cheaper_rank
        exact = n**2 * (4 * d + draws)
        assert n * rank * (rank + 2 * draws) <= exact < n * (rank + 1) * (rank + 1 + 2 * draws)
