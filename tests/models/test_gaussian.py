"""The Gaussian model against SciPy and automatic differentiation."""

from __future__ import annotations

import dataclasses
import pickle
import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.arrays import dtype_name, like, namespace, to_host
from steinball.models.gaussian import MANY, Covariance, Gaussian
from steinball.models.knowledge import RadialScore
from steinball.models.standardized import standardized

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)

pytestmark = pytest.mark.exact

CORRELATION = np.array([[1.0, 0.6, -0.3], [0.6, 1.0, 0.2], [-0.3, 0.2, 1.0]])
DEVIATIONS = np.array([0.5, 2.0, 3.0])
FULL = CORRELATION * np.outer(DEVIATIONS, DEVIATIONS)
MEAN = np.array([1.0, -2.0, 0.5])

MODELS = {
    "standard": Gaussian(),
    "scalar": Gaussian(2.0, 0.25, dimension=2),
    "diagonal": Gaussian(MEAN, DEVIATIONS**2),
    "full": Gaussian(MEAN, FULL),
    "million offset": Gaussian(MEAN + 1e6, FULL * 1e-12),
}


def autodiff_score(model: Any, x: np.ndarray) -> np.ndarray:
    """Gradients of the log density by JAX, one point at a time."""
    gradient = jax.grad(lambda point: model.log_density(point[None, :])[0])
    return np.asarray(jax.vmap(gradient)(jax.numpy.asarray(x)))


def points(model: Gaussian, n: int = 40) -> np.ndarray:
    """Draws from the model, and the same directions 10³ and 10²⁰ out."""
    near = model.sample(n, rng=3)
    return np.concatenate([near, near * 1e3, np.sign(near) * 1e20])


@pytest.mark.parametrize("name", MODELS)
def test_the_score_is_the_gradient_of_the_log_density(name: str) -> None:
    model = MODELS[name]
    x = points(model)
    expected = autodiff_score(model, x)
    size = np.abs(expected).max(axis=1, keepdims=True)
    np.testing.assert_allclose(model.score(x) / size, expected / size, atol=1e-10)
    assert np.isfinite(expected).all()


@pytest.mark.parametrize("name", ["standard", "scalar", "diagonal", "full"])
def test_the_log_density_is_scipys(name: str) -> None:
    model = MODELS[name]
    x = np.concatenate([model.sample(40, rng=3), 30.0 * model.sample(40, rng=4)])
    expected = stats.multivariate_normal(model.mean, model.cov).logpdf(x)
    np.testing.assert_allclose(model.log_density(x), expected, rtol=1e-11)


def test_badly_scaled_coordinates_cost_no_digits() -> None:
    units = np.array([1e-9, 1.0, 1e9])
    model = Gaussian(np.zeros(3), CORRELATION * np.outer(units, units))
    z = np.random.default_rng(0).standard_normal((20, 3))
    expected = -np.linalg.solve(CORRELATION, z.T).T / units
    np.testing.assert_allclose(model.score(z * units), expected, rtol=1e-12)


def test_draws_have_the_mean_the_covariance_and_the_law() -> None:
    """n = 20,000: means and second moments within 4.5 standard errors, Kolmogorov–Smirnov at level 1e-3."""
    n, model = 20_000, MODELS["full"]
    x = model.sample(n, rng=5)
    offset = x - MEAN
    assert np.all(np.abs(offset.mean(axis=0)) < 4.5 * DEVIATIONS / np.sqrt(n))
    second = offset[:, :, None] * offset[:, None, :]
    assert np.all(np.abs(second.mean(axis=0) - FULL) < 4.5 * second.std(axis=0) / np.sqrt(n))
    mahalanobis = np.sum(offset * np.linalg.solve(FULL, offset.T).T, axis=1)
    assert stats.kstest(mahalanobis, stats.chi2(3).cdf).pvalue > 1e-3
    direction = np.array([1.0, 1.0, -1.0])
    spread = np.sqrt(direction @ FULL @ direction)
    assert stats.kstest(offset @ direction, stats.norm(0.0, spread).cdf).pvalue > 1e-3


def test_seeds_and_generators_reproduce_draws() -> None:
    model = MODELS["full"]
    np.testing.assert_array_equal(model.sample(5, rng=1), model.sample(5, rng=np.random.default_rng(1)))
    assert model.sample(0, rng=1).shape == (0, 3)
    assert model.sample(4).dtype == np.float64


def test_parameters_give_the_dimension_and_the_moments() -> None:
    assert Gaussian().dimension == 1
    assert Gaussian(0.0, 2.0, dimension=4).covariance.tolist() == (2.0 * np.eye(4)).tolist()
    assert Gaussian([1.0, 2.0]).dimension == 2
    assert Gaussian(1.0, [1.0, 2.0, 3.0]).location.tolist() == [1.0, 1.0, 1.0]
    np.testing.assert_array_equal(MODELS["full"].covariance, FULL)
    assert repr(Gaussian(0.0, 2.0)) == "Gaussian(mean=0, cov=2)"
    assert repr(MODELS["full"]) == "Gaussian(dimension=3)"


def test_parameters_are_copied_and_cannot_be_written() -> None:
    mean = np.zeros(2)
    model = Gaussian(mean)
    mean[0] = 7.0
    assert model.mean[0] == 0.0
    for array in (model.mean, model.cov, model.covariance):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cov": -1.0}, "positive variances"),
        ({"cov": 0.0}, "positive variances"),
        ({"cov": [[1.0, 0.5], [0.2, 1.0]]}, "`cov` must be symmetric"),
        ({"cov": [[1.0, 2.0], [2.0, 1.0]]}, "`cov` must be positive definite.*-1"),
        ({"cov": [[1.0, 1.0], [1.0, 1.0]]}, "`cov` must be positive definite"),
        ({"cov": [[1.0, 0.0]]}, r"\(2, 2\) matrix, got shape \(1, 2\)"),
        ({"mean": [0.0, 0.0], "cov": np.eye(3)}, "`mean` says 2, `cov` says 3"),
        ({"mean": [0.0, 0.0], "dimension": 3}, "`mean` says 2, `dimension` says 3"),
        ({"mean": [[0.0]]}, "`mean` must be a number or have shape"),
        ({"mean": np.nan}, "`mean` must be finite"),
        ({"cov": np.inf}, "`cov` must be finite"),
        ({"dimension": 0}, "`dimension` must be at least 1"),
    ],
)
def test_bad_parameters_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Gaussian(**arguments)


def test_a_vector_is_a_column_only_in_one_dimension() -> None:
    x = np.array([0.0, 1.0, 2.0])
    np.testing.assert_array_equal(Gaussian().score(x), -x[:, None])
    assert Gaussian().log_density(x).shape == (3,)
    np.testing.assert_array_equal(Gaussian().score([0, 1, 2]), -x[:, None])
    np.testing.assert_array_equal(Gaussian().score(np.array([0, 1, 2])), -x[:, None])
    with pytest.raises(ValueError, match=r"`x` must have shape \(n, 3\)"):
        Gaussian(dimension=3).score(x)
    with pytest.raises(ValueError, match=r"got \(3, 1\)"):
        Gaussian(dimension=3).log_density(x[:, None])


@pytest.mark.backend
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_libraries_agree(xp: Any, dtype: str) -> None:
    model = MODELS["full"]
    x = model.sample(30, rng=0).astype(dtype)
    tolerance = 1e-12 if dtype == "float64" else 2e-5
    theirs = xp.asarray(x.copy())
    for function in (model.score, model.log_density):
        value = function(theirs)
        assert namespace(value) is namespace(theirs)
        assert dtype_name(value) == dtype
        expected = function(x.astype(np.float64))
        np.testing.assert_allclose(to_host(value), expected, rtol=tolerance, atol=tolerance)


def test_parameters_do_not_share_memory_with_what_models_hand_out() -> None:
    torch = pytest.importorskip("torch")
    model = Gaussian(MEAN, FULL)
    handed = like(model.mean, torch.zeros(1, dtype=torch.float64))
    handed += 1.0
    np.testing.assert_array_equal(model.mean, MEAN)


def test_standard_deviations_may_be_given_in_place_of_variances() -> None:
    assert np.array_equal(Gaussian(1.0, sd=2.0).cov, Gaussian(1.0, cov=4.0).cov)
    assert np.array_equal(Gaussian(sd=[1.0, 3.0]).cov, np.diag([1.0, 9.0]))
    assert np.array_equal(dataclasses.replace(Gaussian(sd=3.0), mean=1.0).cov, [[9.0]])
    with pytest.raises(ValueError, match="not both"):
        Gaussian(0.0, 1.0, sd=1.0)
    for wrong in (0.0, -1.0, np.nan, [[1.0]]):
        with pytest.raises(ValueError, match="`sd` must be a positive number"):
            Gaussian(sd=wrong)


# Many uncorrelated columns: no matrix of all pairs of them is made.


def test_five_rows_of_twenty_thousand_columns_are_tested_without_a_matrix() -> None:
    """A matrix of 20,000 by 20,000 has 3.2 GB; the draws of the model have .13 GB."""
    x = np.random.default_rng(0).normal(size=(5, 20_000))
    tracemalloc.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = sb.ksd_test(x, Gaussian(0.0, 1.0, dimension=20_000), rng=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.0 < result.pvalue <= 1.0
    assert peak < 1.0e9


def test_a_diagonal_covariance_is_that_of_its_matrix() -> None:
    variances, x = np.array([4.0, 0.25, 9.0]), np.random.default_rng(1).normal(size=(7, 3))
    alone, whole = (Covariance.of(value, "cov", 3) for value in (variances, np.diag(variances)))
    assert (alone.compact.shape, whole.compact.shape) == ((3,), (3, 3))
    for name in ("matrix", "root", "whitener", "inverse"):
        np.testing.assert_allclose(getattr(alone, name), getattr(whole, name), rtol=1e-15)
    for name in ("whiten", "pull_back", "color"):
        np.testing.assert_allclose(getattr(alone, name)(x), getattr(whole, name)(x), rtol=1e-14)
    assert alone.log_volume == pytest.approx(whole.log_volume)


def test_the_covariance_of_many_columns_is_there_when_it_is_asked_for() -> None:
    model = Gaussian(1.0, 4.0, dimension=MANY + 1)
    assert model.cov.shape == (MANY + 1,)
    assert model.covariance.shape == (MANY + 1, MANY + 1)
    assert model.covariance[3, 3] == 4.0
    assert pickle.loads(pickle.dumps(model)).covariance[0, 0] == 4.0
    assert Gaussian(1.0, 4.0, dimension=3).cov.shape == (3, 3)


def test_a_diagonal_says_how_steep_and_whether_round() -> None:
    center = np.zeros(3)
    for axes in (np.array([2.0, 2.0, 2.0]), np.array([1.0, 2.0, 4.0])):
        alone, whole = RadialScore(center, axes), RadialScore(center, np.diag(axes))
        assert alone.steepness == whole.steepness
        assert alone.isotropic_variance == whole.isotropic_variance


def test_other_scales_of_many_columns_are_standardized_one_by_one() -> None:
    d = MANY + 1
    scales = np.linspace(0.1, 10.0, d)
    z = np.random.default_rng(2).normal(size=(6, d))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = sb.ksd_test(3.0 + z * scales, Gaussian(np.full(d, 3.0), scales**2), rng=0)
        plain = sb.ksd_test(z, Gaussian(dimension=d), rng=0)
    assert ours.ksd == pytest.approx(plain.ksd, rel=1e-9)
    found = standardized(Gaussian(np.full(d, 3.0), scales**2), z)
    assert found is not None
    np.testing.assert_allclose(found[0].variances, 1.0)


def test_more_columns_than_fit_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"100,001 columns, and at most 100,000.*transpose"):
        sb.ksd_test(np.zeros((2, 100_001)), Gaussian(dimension=100_001))


def test_weights_of_modes_of_a_gaussian_are_refused_before_modes_are_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The search took 19 s in 2,000 columns."""

    def looked_for(*_: Any, **__: Any) -> None:
        raise AssertionError("modes were looked for")

    monkeypatch.setattr(sb.jumps.ModeJumps, "from_model", looked_for)
    with pytest.raises(ValueError, match="the model has one"):
        sb.mode_weights_test(np.zeros((9, 2000)), Gaussian(dimension=2000))
