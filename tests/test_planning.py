from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.stats import binomtest

import steinball as sb
from steinball.arrays import as_seed, generator_at
from steinball.planning import Power, SampleSize, _simulation

pytestmark = pytest.mark.exact


def coin(bias: float) -> Any:
    """A test with this power, whatever the data."""

    def test(x: Any, rng: Any) -> Any:
        return SimpleNamespace(pvalue=0.0 if rng.random() < bias else 1.0)

    return test


def power(bias: float, **options: Any) -> Power:
    model = sb.models.Gaussian()
    return sb.power(model, model, 10, 0.05, test=coin(bias), progress=False, **options)


@pytest.mark.parametrize("bias", [0.0, 0.3, 1.0])
def test_the_band_is_that_of_clopper_and_pearson(bias: float) -> None:
    found = power(bias, repeats=80)
    interval = binomtest(round(80 * found.share), 80).proportion_ci(method="exact")
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert found.low <= found.share <= found.high
    assert (found.n, found.repeats, found.contamination, found.level) == (10, 80, 0.05, 0.05)


@pytest.mark.parametrize("share", [None, 0.3])
def test_distributions_of_other_libraries_are_drawn_from(share: float | None) -> None:
    x: list[Any] = []

    def test(rows: Any, rng: Any) -> Any:
        x.append(np.asarray(rows))
        return SimpleNamespace(pvalue=0.0)

    sb.power(stats.norm(), stats.norm(50.0), 200, 0.05, test=test, repeats=2, share=share, progress=False, rng=0)
    far = np.concatenate(x) > 25.0
    assert far.all() if share is None else 0.2 < far.mean() < 0.4


def test_another_level_is_read_from_the_same_samples() -> None:
    first = sb.power(sb.models.Gaussian(), sb.models.Gaussian(0.5), 50, 0.0, repeats=30, level=0.05)
    second = sb.power(sb.models.Gaussian(), sb.models.Gaussian(0.5), 50, 0.0, repeats=30, level=0.3)
    assert second.share >= first.share


@pytest.mark.calibration
def test_under_the_model_the_power_is_at_most_the_level_and_far_away_it_is_one() -> None:
    """200 samples of the model with 5 % tolerated: at most 19 rejections, the 99.5 % quantile at the level .05."""
    model = sb.models.Gaussian()
    assert sb.power(model, model, 60, 0.05).share <= 19 / 200
    assert sb.power(model, sb.models.Gaussian(3.0), 60, 0.05, repeats=40).share == 1.0


def test_it_says_so_in_words() -> None:
    found = power(0.5, repeats=20)
    assert "With 10 points the test rejects" in str(found)


@pytest.mark.parametrize(("name", "value"), [("n", 1), ("n", 10.5), ("n", "ten"), ("repeats", 0)], ids=str)
def test_a_number_that_is_none_is_refused(name: str, value: Any) -> None:
    options: dict[str, Any] = {"n": 10, "contamination": 0.05, **{name: value}}
    with pytest.raises((TypeError, ValueError), match=f"`{name}`"):
        sb.power(sb.models.Gaussian(), sb.models.Gaussian(), **options)


MODEL = sb.models.Gaussian()


def grows(scale: float) -> Any:
    """A test whose power is 1 − exp(−n/scale)."""

    def test(x: Any, rng: Any) -> Any:
        return SimpleNamespace(pvalue=0.0 if rng.random() < 1.0 - math.exp(-len(x) / scale) else 1.0)

    return test


def needed(scale: float, **options: Any) -> SampleSize:
    return sb.sample_size(MODEL, MODEL, 0.05, test=grows(scale), progress=False, **options)


@pytest.mark.parametrize("scale", [30.0, 100.0, 300.0])
def test_the_size_is_found_and_its_range_holds_the_true_one(scale: float) -> None:
    found, true = needed(scale, repeats=400), -scale * math.log(0.2)
    assert found.n == pytest.approx(true, rel=0.25)
    assert found.low <= true * 1.05
    assert found.high >= true * 0.95
    sizes = [one.n for one in found.tried]
    assert sizes == sorted(set(sizes))
    assert next(one for one in found.tried if one.n == found.n).share >= 0.8


def test_a_size_that_is_far_off_is_given_up_early() -> None:
    tried = needed(300.0, repeats=400).tried
    assert tried[0].repeats == 50
    assert max(one.repeats for one in tried) == 400


def test_an_alternative_that_cannot_be_seen_has_no_size() -> None:
    found = needed(1e9, largest=100)
    assert math.isinf(found.n)
    assert "No size up to 100 points has a power of 80 %" in " ".join(str(found).split())


def test_the_smallest_size_may_be_enough() -> None:
    found = needed(1e-3)
    assert found.n == 20
    assert "About 20 points are needed for a power of 80 %" in " ".join(str(found).split())


@pytest.mark.parametrize("power", [0.0, 1.0, -0.5, "much"])
def test_a_power_that_is_none_is_refused(power: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="`power`"):
        needed(1.0, power=power)


def test_more_contamination_needs_fewer_points() -> None:
    sizes = [
        sb.sample_size(MODEL, sb.models.Gaussian(3.0), 0.0, share=share, repeats=20, largest=320, rng=1).n
        for share in (0.5, 0.2)
    ]
    assert sizes[0] < sizes[1]
    assert np.isfinite(sizes).all()


def normal(n: int, rng: Any) -> Any:
    return rng.normal(size=n)


def study(alternative: Any = normal, *, test: Any = None, share: Any = None, rng: Any = 0) -> Any:
    return _simulation(sb.models.Gaussian(), alternative, 0.05, share, test, rng, False)


def first_value(x: Any, rng: Any) -> Any:
    return SimpleNamespace(pvalue=float(np.ravel(x)[0]))


def test_a_sample_depends_on_seed_size_and_number_alone() -> None:
    five = study(test=first_value)(10, 5)
    assert study(test=first_value)(10, 3) == five[:3]
    assert study(test=first_value)(10, 8)[:5] == five
    assert study(test=first_value, rng=1)(10, 5) != five
    assert study(test=first_value)(11, 5) != five
    assert len(set(five)) == 5


def test_what_is_known_is_not_simulated_again() -> None:
    calls: list[int] = []

    def counting(n: int, rng: Any) -> Any:
        calls.append(n)
        return rng.normal(size=n)

    plan = study(counting, test=first_value)
    fresh = plan(10, 4)
    calls.clear()
    assert plan(10, 6)[:4] == fresh
    assert calls == [10, 10]


def test_a_share_mixes_model_and_alternative() -> None:
    seen: list[float] = []

    def look(x: Any, rng: Any) -> Any:
        seen.append(float(np.mean(np.ravel(x) == 7.0)))
        return SimpleNamespace(pvalue=1.0)

    study(7.0, share=0.3, test=look)(200, 30)
    assert np.mean(seen) == pytest.approx(0.3, abs=0.02)
    assert np.std(seen) > 0.01  # each row with that probability, not exactly that many


def test_the_default_is_the_robust_test() -> None:
    below = np.random.SeedSequence(as_seed(0).entropy, spawn_key=(30, 2))
    x = normal(30, generator_at(below, 0))
    expected = sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, rng=generator_at(below, 1)).pvalue
    assert study()(30, 3)[2] == expected


@pytest.mark.parametrize(
    "alternative",
    [np.zeros(3), 3.0, "normal", sb.models.Gaussian, None],
    ids=["array", "number", "text", "class", "none"],
)
def test_what_gives_no_data_is_refused(alternative: Any) -> None:
    with pytest.raises(TypeError, match="`alternative` must be a model with `sample"):
        study(alternative)


def test_a_model_without_a_sampler_cannot_be_mixed() -> None:
    with pytest.raises(TypeError, match="`model` must be a model with `sample"):
        _simulation(np.zeros((3, 1)), 3.0, 0.05, 0.1, None, 0, False)
    with pytest.raises(TypeError, match="`test` must be a function"):
        study(test="robust")
    with pytest.raises(ValueError, match="`share`"):
        study(share=1.5)
