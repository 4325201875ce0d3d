"""The Student t model against SciPy and automatic differentiation, near and very far."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from steinball.arrays import dtype_name, namespace, to_host
from steinball.models.autodiff import difference_jacobian
from steinball.models.gaussian import Gaussian
from steinball.models.student_t import StudentFamily, StudentT, _loss, _tail_score

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)

pytestmark = pytest.mark.exact

LOCATION = np.array([1.0, -1.0])
SHAPE = np.array([[2.0, 0.7], [0.7, 0.5]])

MODELS = {
    "plain": StudentT(3.0),
    "scaled": StudentT(0.5, 2.0, 0.1),
    "standardized": StudentT(5.0, scale=0.6**0.5),
    "shaped": StudentT(4.0, LOCATION, 1.5, shape=SHAPE),
    "isotropic": StudentT(30.0, 0.0, 2.0, dimension=3),
}


def autodiff_score(model: Any, x: np.ndarray) -> np.ndarray:
    gradient = jax.grad(lambda point: model.log_density(point[None, :])[0])
    return np.asarray(jax.vmap(gradient)(jax.numpy.asarray(x)))


@pytest.mark.parametrize("name", MODELS)
def test_the_score_is_the_gradient_of_the_log_density(name: str) -> None:
    model = MODELS[name]
    moves = model.sample(40, rng=3) - model.location
    x = model.location + np.concatenate([stretch * moves for stretch in (0.0, 1.0, 1e3, 1e20)])
    expected = autodiff_score(model, x)
    size = np.abs(expected).max(axis=1, keepdims=True) + 1e-300
    np.testing.assert_allclose(model.score(x) / size, expected / size, atol=1e-11)


@pytest.mark.parametrize("name", MODELS)
def test_the_log_density_is_scipys(name: str) -> None:
    model = MODELS[name]
    x = np.concatenate([model.sample(50, rng=1), 100.0 * model.sample(50, rng=2)])
    expected = stats.multivariate_t(model.location, model.covariance, df=model.df).logpdf(x)
    np.testing.assert_allclose(model.log_density(x), expected, rtol=1e-11, atol=1e-12)


def test_many_degrees_of_freedom_give_the_gaussian() -> None:
    """The log densities differ by (x⁴ − 2x² − 1)/4ν to first order: rounding must stay below that."""
    df, x = 1e8, np.linspace(-5.0, 5.0, 21)
    difference = StudentT(df).log_density(x) - stats.norm.logpdf(x)
    np.testing.assert_allclose(difference, (x**4 - 2 * x**2 - 1) / (4 * df), atol=2e-10)


@pytest.mark.parametrize("distance", [1e20, 1e100, 1e200, 1e300])
def test_the_score_far_out_is_minus_df_plus_d_over_x(distance: float) -> None:
    score = StudentT(3.0).score(np.array([distance, -distance]))
    np.testing.assert_allclose(score[:, 0], [-4.0 / distance, 4.0 / distance], rtol=1e-12)
    tail = np.log(6.0 * np.sqrt(3.0) / np.pi) - 4.0 * np.log(distance)  # t_3 ≈ 6√3/π · x⁻⁴
    assert StudentT(3.0).log_density(np.array([distance]))[0] == pytest.approx(tail, rel=1e-13)


def test_single_precision_does_not_overflow() -> None:
    x = np.array([[1e20], [-1e30]], dtype=np.float32)
    np.testing.assert_allclose(StudentT(3.0).score(x)[:, 0], [-4e-20, 4e-30], rtol=1e-5)
    assert np.isfinite(StudentT(3.0).log_density(x)).all()


@pytest.mark.parametrize("df", [2.1, 3.0, 5.0, 100.0])
def test_the_standardized_t_has_unit_variance(df: float) -> None:
    """Q_ν = t_ν √((ν − 2)/ν) of the paper's §5.1."""
    model = StudentT(df, scale=((df - 2.0) / df) ** 0.5)
    assert stats.t(df, scale=model.scale).var() == pytest.approx(1.0)
    expected = stats.t(df).logpdf(1.7 / np.sqrt((df - 2) / df)) - 0.5 * np.log((df - 2) / df)
    assert model.log_density(np.array([1.7]))[0] == pytest.approx(expected)


@pytest.mark.parametrize("name", ["plain", "scaled", "standardized"])
def test_draws_in_one_dimension_follow_scipys_law(name: str) -> None:
    """Kolmogorov–Smirnov with n = 20,000 at level 1e-3."""
    model = MODELS[name]
    law = stats.t(model.df, model.location[0], np.sqrt(model.covariance[0, 0]))
    assert stats.kstest(model.sample(20_000, rng=2)[:, 0], law.cdf).pvalue > 1e-3


@pytest.mark.parametrize("direction", [[1.0, 0.0], [0.0, 1.0], [1.0, 2.0], [1.0, -2.0]])
def test_projections_of_multivariate_draws_are_t(direction: list[float]) -> None:
    """aᵀx is t with scale √(aᵀΣa): four directions fix Σ. n = 20,000, level 1e-3."""
    model, a = MODELS["shaped"], np.array(direction)
    law = stats.t(4.0, a @ LOCATION, 1.5 * np.sqrt(a @ SHAPE @ a))
    assert stats.kstest(model.sample(20_000, rng=7) @ a, law.cdf).pvalue > 1e-3


def test_coordinates_share_one_mixing_variable() -> None:
    """|L⁻¹(x − μ)|²/d is F(d, ν), not so if coordinates have a χ² of their own. n = 20,000, level 1e-3."""
    model = MODELS["shaped"]
    offset = model.sample(20_000, rng=8) - LOCATION
    ratio = np.sum(offset * np.linalg.solve(model.covariance, offset.T).T, axis=1) / 2.0
    assert stats.kstest(ratio, stats.f(2, 4.0).cdf).pvalue > 1e-3


def test_scale_and_shape_multiply() -> None:
    np.testing.assert_allclose(MODELS["shaped"].covariance, 2.25 * SHAPE, rtol=1e-15)
    np.testing.assert_array_equal(MODELS["shaped"].location, LOCATION)
    np.testing.assert_array_equal(MODELS["isotropic"].covariance, 4.0 * np.eye(3))
    assert repr(MODELS["shaped"]) == "StudentT(df=4, dimension=2)"
    assert repr(StudentT(3.0, 1.0, 2.0)) == "StudentT(df=3, location=1, scale=2)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"df": 0.0}, "`df` must be a finite number"),
        ({"df": -1.0}, "`df` must be a finite number"),
        ({"df": np.inf}, "`df` must be a finite number"),
        ({"df": 3.0, "scale": 0.0}, "`scale` must be a finite number"),
        ({"df": 3.0, "shape": [[1.0, 2.0], [2.0, 1.0]]}, "`shape` must be positive definite"),
        ({"df": 3.0, "location": [0.0, 1.0], "dimension": 3}, "`location` says 2, `dimension` says 3"),
    ],
)
def test_bad_parameters_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        StudentT(**arguments)


@pytest.mark.backend
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_libraries_agree(xp: Any, dtype: str) -> None:
    model = MODELS["shaped"]
    x = np.concatenate([model.sample(30, rng=0), [[1e15, -1e15]]]).astype(dtype)
    tolerance = 1e-12 if dtype == "float64" else 2e-5
    theirs = xp.asarray(x.copy())
    for function in (model.score, model.log_density):
        value = function(theirs)
        assert namespace(value) is namespace(theirs)
        assert dtype_name(value) == dtype
        expected = function(x.astype(np.float64))
        np.testing.assert_allclose(to_host(value), expected, rtol=tolerance, atol=tolerance)


def test_light_tails_end_at_the_normal_distribution() -> None:
    """Uniform data have lighter tails than any member: the likelihood rises to the edge of the family."""
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (300, 1))
    inverse, loc, scale = params = StudentFamily().fit(x)
    assert inverse == 0.0
    np.testing.assert_allclose([loc, scale], [x.mean(), x.std()], rtol=1e-5)
    assert isinstance(StudentFamily().model(params), Gaussian)
    assert StudentFamily().inside(params).tolist() == [False, True, True]
    assert not StudentFamily().free_scores(params, x)[:, 0].any()


Z = np.array([-30.0, -2.0, -0.4, 0.0, 0.7, 3.0, 1e4])
FEW_DF = [0.0, 1e-7, 1e-5, 9.9e-4, 1.1e-3, 0.03, 0.2, 1.0, 4.0]


@pytest.mark.parametrize("inverse", FEW_DF)
def test_the_loss_is_the_log_density_of_scipy_and_its_slopes_are_derivatives(inverse: float) -> None:
    """The series for large ν meet the closed forms: log densities to 1e-12, slopes against differences."""
    at = np.array([inverse, 0.3, 0.4])
    theirs = (stats.norm(0.3, np.exp(0.4)) if inverse == 0.0 else stats.t(1 / inverse, 0.3, np.exp(0.4))).logpdf(Z)
    assert _loss(at, Z)[0] == pytest.approx(-theirs.mean(), rel=1e-11 if inverse != 1e-7 else 1e-8)
    z = Z[np.abs(Z) < 40.0]
    for k, step in ((1, 1e-6), (2, 1e-6), (0, 1e-5 * max(inverse, 1e-3))):
        up, down = (_loss(at + sign * step * np.eye(3)[k], z)[0] for sign in (1.0, -1.0))
        if k or inverse > step:
            assert _loss(at, z)[1][k] == pytest.approx((up - down) / (2.0 * step), rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("inverse", [0.0, 1e-5, 0.2, 2.0])
def test_the_jacobian_of_the_score_is_its_derivative(inverse: float) -> None:
    family, x = StudentFamily(), np.array([[-3.0], [0.1], [2.0], [50.0]])
    working = np.array([max(inverse, 1e-4), 0.3, 0.2])
    found = family.score_jacobian(working, x, np.ones(3))
    wanted = difference_jacobian(lambda at: family.score(family.from_working(at), x), working)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-7)
    params = np.array([inverse, 0.3, 1.2])
    np.testing.assert_allclose(family.score(params, x), family.model(params).score(x), rtol=1e-12)


def test_at_the_normal_the_tail_score_is_the_fourth_moment() -> None:
    np.testing.assert_allclose(_tail_score(0.0, Z), (Z**4 - 2.0 * Z**2 - 1.0) / 4.0, rtol=1e-12)


def test_degrees_of_freedom_are_reported() -> None:
    family = StudentFamily()
    shown = family.reported(np.array([0.25, 1.0, 2.0]), np.array([0.05, 0.1, 0.2]))
    assert shown == {"df": (4.0, pytest.approx(0.8)), "loc": (1.0, 0.1), "scale": (2.0, 0.2)}
    normal = family.reported(np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.1, 0.2]))["df"]
    assert normal[0] == np.inf
    assert np.isnan(normal[1])
