"""Tests in base space."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.models import Gaussian, GaussianMixture, StudentT
from steinball.models.base_space import normal_of, rosenblatt
from steinball.models.knowledge import Knowledge

EXPON = stats.expon()
X = EXPON.rvs(size=200, random_state=0)


def test_the_data_are_mapped_and_a_standard_normal_is_tested() -> None:
    result = sb.robust_ksd_test(X, sb.in_base_space(EXPON), contamination=0.05, rng=0)
    z = stats.norm.isf(EXPON.sf(X))
    direct = sb.robust_ksd_test(z, sb.models.Gaussian(), contamination=0.05, rng=0)
    assert result.ksd == pytest.approx(direct.ksd, rel=1e-10)
    assert result.pvalue == direct.pvalue
    assert result.tau_kind == "closed form"
    assert result.bounded == "proved"
    assert repr(sb.in_base_space(EXPON)) == "in_base_space(ScipyDistribution(expon(), score: closed form))"


@pytest.mark.parametrize(
    "radius",
    [
        sb.Huber(0.05), sb.TotalVariation(0.05), sb.Hellinger(0.05), sb.KullbackLeibler(0.01), sb.ChiSquared(0.01),
        sb.DensityBand(0.05), sb.Huber(0.05) + sb.TotalVariation(0.01), 0.0,
    ],
    ids=["huber", "tv", "hellinger", "kl", "chi2", "band", "sum", "zero"],
)  # fmt: skip
def test_sets_that_no_change_of_coordinates_alters_are_tolerated(radius: Any) -> None:
    assert not sb.ksd_test(X, sb.in_base_space(EXPON), tilt="auto", tau="auto", radius=radius, rng=0).rejected


@pytest.mark.parametrize(
    "radius",
    [0.1, sb.Wasserstein(0.1), sb.Huber(0.05) + sb.Wasserstein(0.1), sb.ChiSquared(0.01, draws=X[:, None])],
    ids=["number", "wasserstein", "sum", "draws"],
)
def test_distances_are_refused_also_afterwards(radius: Any) -> None:
    model = sb.in_base_space(EXPON)
    with pytest.raises(ValueError, match="means nothing in base space"):
        sb.ksd_test(X, model, tilt="auto", radius=radius)
    with pytest.raises(ValueError, match="means nothing in base space"):
        sb.robust_ksd_test(X, model, contamination=0.05, rng=0).at(radius=radius)


def test_explanations_speak_of_the_original_rows() -> None:
    x = X.copy()
    x[10:40] = 60.0
    result = sb.robust_ksd_test(x, sb.in_base_space(EXPON), contamination=0.0, rng=0)
    assert result.rejected
    assert set(np.argsort(result.contributions)[-30:].tolist()) == set(range(10, 40))


def test_points_outside_the_support_are_refused_or_contaminated() -> None:
    x = X.copy()
    x[:4] = -1.0
    model = sb.in_base_space(EXPON)
    with pytest.raises(ValueError, match=r"within the support \(0, ∞\)"):
        sb.robust_ksd_test(x, model, contamination=0.05)
    result = sb.robust_ksd_test(x, model, contamination=0.05, outside="contaminated", rng=0)
    assert result.details["outside the support"] == 4


def test_streams_and_aggregates_map_the_data_too() -> None:
    model = sb.in_base_space(stats.lognorm(1.0))
    x = stats.lognorm(1.0).rvs(size=200, random_state=1)
    test = sb.SequentialTest(model, contamination=0.05)
    assert not test.update(x[:90]).update(x[90:]).rejected
    assert not sb.robust_ksdagg_test(x, model, contamination=0.05, rng=0).rejected
    assert sb.ksd(x, model) < sb.ksd(3.0 * x, model)
    with pytest.raises(TypeError, match="`y` lives in base space"):
        sb.dcmmd_test(x, model, contamination=0.05)
    with pytest.raises(ValueError, match=r"within the support"):
        sb.SequentialTest(model, contamination=0.05).update(-x)


def test_independent_columns_and_multivariate_models_have_a_base_space() -> None:
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.exponential(size=300), rng.normal(size=300)])
    model = sb.in_base_space(sb.models.Independent([stats.expon(), stats.norm()]))
    assert not sb.robust_ksd_test(x, model, contamination=0.05, rng=0).rejected
    assert sb.robust_ksd_test(3.0 * x, model, contamination=0.05, rng=0).rejected
    joint = stats.multivariate_t([0.0, 0.0], [[2.0, 0.5], [0.5, 1.0]], df=3)
    y = joint.rvs(size=300, random_state=0)
    assert not sb.robust_ksd_test(y, sb.in_base_space(joint), contamination=0.05, rng=0).rejected


def test_a_model_without_a_distribution_function_is_refused() -> None:
    with pytest.raises(TypeError, match="must know its distribution function"):
        sb.in_base_space(lambda x: -x)


def test_a_model_may_be_brought_to_base_space_twice() -> None:
    again = sb.in_base_space(sb.in_base_space(EXPON))
    assert not sb.robust_ksd_test(X, again, contamination=0.05, rng=0).rejected


def test_a_base_space_can_be_pickled() -> None:
    model = pickle.loads(pickle.dumps(sb.in_base_space(EXPON)))
    assert not sb.robust_ksd_test(X, model, contamination=0.05, rng=0).rejected


def test_a_model_in_base_space_says_how_places_come_there() -> None:
    known = Knowledge(sb.in_base_space(EXPON))
    move = known.move
    assert move is not None
    np.testing.assert_allclose(move(np.array([[3.0]])), [[stats.norm.isf(EXPON.sf(3.0))]])
    assert move is known.base_map
    assert Knowledge(sb.models.Gaussian()).move is None


COV = np.array([[2.0, 0.8], [0.8, 1.0]])
MODELS: dict[str, Any] = {
    "gaussian": Gaussian([1.0, -1.0], COV),
    "student t": StudentT(3.0, [1.0, -1.0], shape=COV),
    "mixture": GaussianMixture([0.3, 0.7], [[0.0, 0.0], [3.0, 1.0]], np.stack([COV, np.eye(2)])),
}


@pytest.mark.parametrize("name", MODELS)
def test_draws_become_independent_standard_normal_ones(name: str) -> None:
    z = MODELS[name].to_base(MODELS[name].sample(4000, rng=0))
    assert all(stats.kstest(column, "norm").pvalue > 1e-3 for column in z.T)
    assert abs(np.corrcoef(z.T)[0, 1]) < 4.0 / np.sqrt(4000)
    assert abs(np.corrcoef((z**2).T)[0, 1]) < 4.0 / np.sqrt(4000)


def test_on_the_line_the_map_is_the_quantile_of_the_distribution_function() -> None:
    x = np.linspace(-8.0, 8.0, 21)[:, None]
    np.testing.assert_allclose(StudentT(3.0).to_base(x), stats.norm.isf(stats.t(3.0).sf(x)), atol=1e-9)
    mixture = GaussianMixture([0.3, 0.7], [-1.0, 2.0])
    cdf = 0.3 * stats.norm.cdf(x, -1.0) + 0.7 * stats.norm.cdf(x, 2.0)
    np.testing.assert_allclose(mixture.to_base(x), stats.norm.ppf(cdf), atol=1e-6)


def test_tails_keep_their_digits_and_are_finite() -> None:
    np.testing.assert_allclose(
        normal_of(np.array([1e-300, 1.0]), np.array([1.0, 1e-300])), [-37.0471, 37.0471], rtol=2e-3
    )
    assert np.isfinite(normal_of(np.array([0.0, 1.0]), np.array([1.0, 0.0]))).all()
    one = rosenblatt(np.array([[[40.0, -3.0]]]), np.zeros(1), np.zeros((1, 2)))
    np.testing.assert_allclose(one, [[37.0, -3.0]])
