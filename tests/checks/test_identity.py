"""A model that can be sampled is checked against itself, once, with a seed of its own."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.checks.identity import identity_excess
from steinball.models import RareFeaturesWarning, SteinIdentityWarning
from steinball.problem import pose

pytestmark = pytest.mark.exact

X = np.random.default_rng(3).exponential(size=120)
FEW = sb.WeightedBootstrap(19)


def exponential(n: int, rng: Any) -> Any:
    return rng.exponential(size=(n, 1))


def normal(n: int, rng: Any) -> Any:
    return rng.normal(size=(n, 1))


def minus_one(x: Any) -> Any:
    return -np.ones_like(x)


def test_an_edge_that_was_not_declared_is_seen() -> None:
    with pytest.warns(SteinIdentityWarning, match=r"contradicts itself.*support=.*check_model=False"):
        sb.ksd_test(X, sb.from_score(minus_one, sample=exponential), calibration=FEW, rng=0)


@pytest.mark.parametrize(
    "model",
    [
        sb.from_score(lambda x: -1.3 * x, sample=normal),
        sb.from_score(minus_one, support=(-0.05, None), sample=exponential),
    ],
    ids=["a wrong score", "a support that is too wide"],
)
def test_a_wrong_model_is_seen_by_every_test(model: Any) -> None:
    with pytest.warns(SteinIdentityWarning):
        sb.robust_ksd_test(X, model, 0.05, calibration=sb.BoundaryBootstrap(19), rng=0)


def test_a_right_model_passes_and_is_asked_once() -> None:
    asked = []

    def sample(n: int, rng: Any) -> Any:
        asked.append(n)
        return exponential(n, rng)

    model = sb.from_score(minus_one, support=(0, None), sample=sample)
    for _ in range(3):
        sb.robust_ksd_test(X, model, 0.05, tilt=sb.tilts.EdgeTilt(low=0.0), calibration=sb.BoundaryBootstrap(19), rng=0)
    assert asked.count(16384) == 1


def test_it_can_be_turned_off_and_does_not_touch_the_seed() -> None:
    def run(**options: Any) -> float:
        model = sb.from_score(lambda x: -1.3 * x, sample=normal)
        return sb.ksd_test(X, model, calibration=FEW, rng=0, **options).pvalue

    off = run(check_model=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SteinIdentityWarning)
        assert run() == off


def test_a_slow_sampler_is_left_alone() -> None:
    model = sb.from_score(lambda x: -1.3 * x, sample=normal)
    assert identity_excess(pose(X, model), patience=-1.0) is None


def log_normal(sigma: float) -> Any:
    return sb.from_score(
        lambda x: -(1.0 + np.log(x) / sigma**2) / x,
        support=(0, None),
        sample=lambda n, rng: rng.lognormal(sigma=sigma, size=(n, 1)),
    )


def gamma(shape: float) -> Any:
    return sb.from_score(lambda x: (shape - 1.0) / x - 1.0, sample=lambda n, rng: rng.gamma(shape, size=(n, 1)))


@pytest.mark.parametrize("model", [log_normal(1.5), log_normal(1.0), gamma(1.5)], ids=["σ = 1.5", "σ = 1", "Γ(1.5)"])
def test_what_is_too_rare_to_be_seen_is_said(model: Any) -> None:
    with pytest.warns(RareFeaturesWarning, match="too rare to be seen"):
        sb.ksd_test(X, model, calibration=FEW, rng=0)


@pytest.mark.parametrize("model", [log_normal(0.5), gamma(5.0)], ids=["σ = 0.5", "Γ(5)"])
def test_what_a_sample_does_see_is_not_called_rare(model: Any) -> None:
    found = identity_excess(pose(X, model))
    assert found is not None
    assert found[1] < 0.15


def test_a_sampler_that_fails_is_no_reason_to_stop() -> None:
    def sample(n: int, rng: Any) -> Any:
        raise ArithmeticError

    sb.ksd_test(X, sb.from_score(lambda x: -x, sample=sample), calibration=FEW, rng=0)
