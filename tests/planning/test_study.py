from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.arrays import generator_at
from steinball.planning.study import Study

pytestmark = pytest.mark.exact


def normal(n: int, rng: Any) -> Any:
    return rng.normal(size=n)


def study(alternative: Any = normal, *, test: Any = None, share: Any = None, rng: Any = 0) -> Study:
    return Study.of(sb.models.Gaussian(), alternative, 0.05, share, 0.05, test, rng, False)


def first_value(x: Any, rng: Any) -> Any:
    return SimpleNamespace(pvalue=float(np.ravel(x)[0]))


def test_a_sample_depends_on_seed_size_and_number_alone() -> None:
    five = study(test=first_value).pvalues(10, 5)
    assert study(test=first_value).pvalues(10, 3) == five[:3]
    assert study(test=first_value).pvalues(10, 8)[:5] == five
    assert study(test=first_value, rng=1).pvalues(10, 5) != five
    assert study(test=first_value).pvalues(11, 5) != five
    assert len(set(five)) == 5


def test_what_is_known_is_not_simulated_again() -> None:
    calls: list[int] = []

    def counting(n: int, rng: Any) -> Any:
        calls.append(n)
        return rng.normal(size=n)

    plan = study(counting, test=first_value)
    fresh = plan.pvalues(10, 4)
    calls.clear()
    assert plan.pvalues(10, 6)[:4] == fresh
    assert calls == [10, 10]


def test_a_share_mixes_model_and_alternative() -> None:
    seen: list[float] = []

    def look(x: Any, rng: Any) -> Any:
        seen.append(float(np.mean(np.ravel(x) == 7.0)))
        return SimpleNamespace(pvalue=1.0)

    study(7.0, share=0.3, test=look).pvalues(200, 30)
    assert np.mean(seen) == pytest.approx(0.3, abs=0.02)
    assert np.std(seen) > 0.01  # each row with that probability, not exactly that many


def test_the_default_is_the_robust_test() -> None:
    below = np.random.SeedSequence(study().seed.entropy, spawn_key=(30, 2))
    x = normal(30, generator_at(below, 0))
    expected = sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, rng=generator_at(below, 1)).pvalue
    assert study().pvalues(30, 3)[2] == expected


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
        Study.of(np.zeros((3, 1)), 3.0, 0.05, 0.1, 0.05, None, 0, False)
    with pytest.raises(TypeError, match="`test` must be a function"):
        study(test="robust")
    with pytest.raises(ValueError, match="`share`"):
        study(share=1.5)
