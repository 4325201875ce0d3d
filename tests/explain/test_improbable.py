"""Rows where the model has next to nothing: integrals of the score, what is named, what is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import steinball as sb
from steinball.explain.improbable import line_integrals

pytestmark = pytest.mark.exact

Floats = NDArray[np.float64]


def explained(x: Floats, score: Any, **words: Any) -> Any:
    return sb.robust_ksd_test(x, score, 0.02, rng=0, **words).explain()


@pytest.mark.parametrize("far", [0.5, 3.0, 40.0, 1e6])
@pytest.mark.parametrize(
    ("score", "log_density"),
    [
        (lambda x: -x, stats.norm().logpdf),
        (lambda x: -2.0 * x / (1.0 + x**2), stats.cauchy().logpdf),
        (lambda x: -np.tanh(x / 2.0), stats.logistic().logpdf),
    ],
    ids=["normal", "Cauchy", "logistic"],
)
def test_the_integral_is_the_difference_of_log_densities(score: Any, log_density: Any, far: float) -> None:
    found = line_integrals(score, np.array([0.2]), np.array([[far], [-far]]), 1.0)
    expected = log_density(np.array([far, -far])) - log_density(0.2)
    assert np.abs(found - expected) == pytest.approx(0.0, abs=1.0 + 0.01 * np.abs(expected).max())


def test_separated_modes_are_integrated_or_left_out() -> None:
    modes = sb.models.GaussianMixture([0.5, 0.5], [-30.0, 30.0])
    x = np.linspace(-45.0, 45.0, 91)[:, None]
    found = line_integrals(modes.score, np.array([-28.0]), x, 30.0)
    expected = np.asarray(modes.log_density(x) - modes.log_density(np.array([[-28.0]])))
    ranked = np.isfinite(found)
    assert ranked.mean() > 0.5
    assert np.abs(found - expected)[ranked].max() <= 2.0


@pytest.mark.parametrize("d", [1, 10])
def test_rows_far_out_are_named_though_they_are_a_group(d: int) -> None:
    x = np.random.default_rng(0).normal(size=(500, d))
    x[::25] = 10.0 + 0.01 * x[::25]
    found = explained(x, lambda x: -x)
    assert sorted(found.improbable.tolist()) == list(range(0, 500, 25))
    assert "Where the model has next to nothing: 20 points (row " in str(found)
    assert found.to_dict()["improbable"] == found.improbable.tolist()


@pytest.mark.parametrize("d", [1, 10])
def test_clean_rows_are_not_named(d: int) -> None:
    named = 0
    for seed in range(40):
        x = np.random.default_rng(seed).normal(size=(100, d))
        result = sb.ksd_test(x, lambda x: -x, calibration=sb.WeightedBootstrap(99), rng=0)
        named += len(result.explain().improbable) > 0
    assert named <= 1


def test_heavy_tails_are_not_named() -> None:
    x = np.random.default_rng(1).standard_cauchy(size=(1000, 1))
    assert explained(x, lambda x: -2.0 * x / (1.0 + x**2)).improbable.size == 0


def test_a_field_that_is_no_gradient_names_nobody() -> None:
    x = np.random.default_rng(0).normal(size=(200, 2))
    x[:5] = [9.0, -9.0]
    assert len(explained(x, lambda x: -x).improbable) == 5
    turned = np.array([[0.0, 6.0], [-6.0, 0.0]])
    assert len(explained(x, lambda x: -x + x @ turned).improbable) == 0


def test_scores_at_the_rows_alone_and_scores_that_fail_name_nobody() -> None:
    x = np.random.default_rng(0).normal(size=(100, 1))
    x[0] = 20.0
    assert explained(x, sb.from_scores(-x)).improbable.size == 0

    def between(rows: Floats) -> Floats:
        if len(rows) != 100:
            raise RuntimeError("only these rows")
        return -rows

    assert sb.ksd_test(x, between, tilt=None, rng=0).explain().improbable.size == 0


def test_other_libraries_and_excluded_rows() -> None:
    x = np.random.default_rng(0).exponential(size=200)
    x[:20], x[50] = -1.0, 80.0
    model = sb.from_score(lambda x: -np.ones_like(x), support=(0, None))
    found = sb.robust_ksd_test(x, model, 0.05, outside="contaminated", rng=0).explain()
    assert found.improbable.tolist() == [50]
    torch = pytest.importorskip("torch")
    y = np.random.default_rng(0).normal(size=(100, 2))
    y[3] = 20.0
    assert explained(torch.asarray(y), lambda x: -x).improbable.tolist() == [3]
