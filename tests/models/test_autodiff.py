"""Scores by differentiation, against closed forms."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from steinball.models import StudentT, from_log_density
from steinball.models.autodiff import DifferentiatedDensity, numerical_gradient
from steinball.models.base import as_model, evaluate_score

MEAN = np.array([1.0, -2.0, 0.5])
PRECISION = np.array([[2.0, 0.3, -0.4], [0.3, 1.0, 0.1], [-0.4, 0.1, 0.5]])
X = np.random.default_rng(0).normal(size=(7, 3))


def gaussian_with_quartic(x: Any, mean: Any, precision: Any) -> Any:
    """No symmetry in it: coordinates differ, are coupled, and a constant is added."""
    z = x - mean
    return 5.0 - 0.5 * (z * (z @ precision)).sum(-1) - (x[:, 0] ** 4) * x[:, 1] ** 2


def gaussian_with_quartic_score(x: Any) -> Any:
    scores = -(x - MEAN) @ PRECISION
    scores[:, 0] -= 4.0 * x[:, 0] ** 3 * x[:, 1] ** 2
    scores[:, 1] -= 2.0 * x[:, 0] ** 4 * x[:, 1]
    return scores


def log_density_in(backend: str) -> Callable[[Any], Any]:
    """The function above, written in the library of the backend."""
    if backend == "torch":
        torch = pytest.importorskip("torch")

        def in_torch(x: Any) -> Any:
            return gaussian_with_quartic(x, torch.tensor(MEAN).to(x), torch.tensor(PRECISION).to(x))

        return in_torch
    if backend == "jax":
        pytest.importorskip("jax")
    return lambda x: gaussian_with_quartic(x, MEAN.astype(x.dtype), PRECISION.astype(x.dtype))


def backend(name: str) -> Any:
    """A backend as a parameter, skipped where its library is not installed."""
    missing = name != "numerical" and importlib.util.find_spec(name) is None
    return pytest.param(name, marks=pytest.mark.skipif(missing, reason=f"{name} is not installed"))


def x64(on: bool) -> Any:
    """64 bits in JAX or not, for a while, wherever the release has it."""
    jax = pytest.importorskip("jax")
    home = jax if hasattr(jax, "enable_x64") else importlib.import_module("jax.experimental")
    return home.enable_x64(on)


BACKENDS = pytest.mark.parametrize("backend", [backend(name) for name in ("jax", "torch", "numerical")])


@pytest.mark.exact
@BACKENDS
def test_the_score_of_numpy_points_is_exact_and_numpy(backend: str) -> None:
    model = from_log_density(log_density_in(backend), backend=backend)
    scores = model.score(X)
    assert type(scores) is np.ndarray
    assert scores.dtype == np.float64
    # Automatic differentiation to rounding; differences to the digits that are promised.
    np.testing.assert_allclose(
        scores, gaussian_with_quartic_score(X), rtol=1e-8 if backend == "numerical" else 1e-13, atol=1e-13
    )
    np.testing.assert_allclose(model.log_density(X), gaussian_with_quartic(X, MEAN, PRECISION), rtol=1e-14)
    assert evaluate_score(as_model(model, X), X).shape == X.shape


@pytest.mark.exact
@BACKENDS
def test_one_row_and_one_column_work(backend: str) -> None:
    column = X[:, :1]
    model = from_log_density(lambda x: -(x[:, 0] ** 4), backend=backend)
    np.testing.assert_allclose(model.score(column), -4.0 * column**3, rtol=1e-8)
    np.testing.assert_allclose(model.score(column[:, 0]), -4.0 * column**3, rtol=1e-8)
    np.testing.assert_allclose(model.score(column[:1]), -4.0 * column[:1] ** 3, rtol=1e-8)
    as_column = from_log_density(lambda x: -(x**4), backend=backend)
    np.testing.assert_allclose(as_column.score(column), -4.0 * column**3, rtol=1e-8)
    assert as_column.log_density(column).shape == (7,)


@pytest.mark.backend
@pytest.mark.parametrize("backend", ["jax", "torch"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_points_of_the_backend_keep_their_library_and_dtype(backend: str, dtype: str) -> None:
    function = log_density_in(backend)
    points: Any
    if backend == "torch":
        import torch

        points = torch.tensor(X, dtype=getattr(torch, dtype))
    else:
        import jax

        with x64(True):
            points = jax.numpy.asarray(X, dtype=dtype)
    scores = from_log_density(function, backend=backend).score(points)
    assert isinstance(scores, type(points))
    assert str(scores.dtype).endswith(dtype)
    rtol = 1e-4 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(np.asarray(scores), gaussian_with_quartic_score(X), rtol=rtol, atol=rtol)


@pytest.mark.backend
def test_float64_points_are_differentiated_in_64_bits_whatever_jax_is_set_to() -> None:
    jax = pytest.importorskip("jax")
    model = from_log_density(lambda x: jax.numpy.sum(jax.numpy.sin(x), axis=1), backend="jax")
    with x64(False):
        scores, values = model.score(X), model.log_density(X)
        assert jax.numpy.asarray(1.0).dtype == "float32"  # the user's setting is as it was
    np.testing.assert_allclose(scores, np.cos(X), rtol=1e-14)
    np.testing.assert_allclose(values, np.sin(X).sum(axis=1), rtol=1e-14)


@pytest.mark.backend
def test_a_jitted_function_and_a_mapped_function_of_one_point_work() -> None:
    jax = pytest.importorskip("jax")
    for function in (
        jax.jit(lambda x: -0.5 * (x**2).sum(axis=1)),
        jax.vmap(lambda point: -0.5 * point @ point),
    ):
        np.testing.assert_allclose(from_log_density(function, backend="jax").score(X), -X, rtol=1e-15)


@pytest.mark.backend
def test_torch_differentiates_inside_no_grad_and_inference_mode() -> None:
    torch = pytest.importorskip("torch")
    model = from_log_density(log_density_in("torch"), backend="torch")
    for mode in (torch.no_grad(), torch.inference_mode()):
        with mode:
            scores = model.score(torch.tensor(X))
        assert not scores.requires_grad
        np.testing.assert_allclose(scores.numpy(), gaussian_with_quartic_score(X), rtol=1e-12)


@pytest.mark.backend
def test_torch_leaves_the_points_and_the_parameters_alone() -> None:
    torch = pytest.importorskip("torch")
    scale = torch.ones(3, dtype=torch.float64, requires_grad=True)
    points = torch.tensor(X, requires_grad=True)
    model = from_log_density(lambda x: -0.5 * (scale * x**2).sum(1), backend="torch")
    np.testing.assert_array_equal(model.score(points).numpy(), -X)
    assert not model.log_density(points).requires_grad
    assert points.grad is None
    assert scale.grad is None


@pytest.mark.backend
def test_torch_distributions_and_reversed_arrays_come_in() -> None:
    torch = pytest.importorskip("torch")
    normal = torch.distributions.MultivariateNormal(torch.tensor(MEAN), precision_matrix=torch.tensor(PRECISION))
    scores = from_log_density(normal.log_prob, backend="torch").score(X[::-1])
    np.testing.assert_allclose(scores, -(X[::-1] - MEAN) @ PRECISION, rtol=1e-12)


@pytest.mark.exact
@pytest.mark.parametrize("n", [1, 2, 9])
def test_frozen_scipy_distributions_come_in_numerically(n: int) -> None:
    """Some drop the axis of a single row, and univariate ones keep the column."""
    x = np.random.default_rng(1).normal(size=(n, 3))
    normal = stats.multivariate_normal(MEAN, np.linalg.inv(PRECISION))
    scores = from_log_density(normal.logpdf, backend="numerical").score(x)
    np.testing.assert_allclose(scores, -(x - MEAN) @ PRECISION, rtol=1e-8, atol=1e-9)
    univariate = from_log_density(stats.gumbel_r(loc=0.5).logpdf, backend="numerical").score(x[:, :1])
    np.testing.assert_allclose(univariate, np.exp(0.5 - x[:, :1]) - 1.0, rtol=1e-8, atol=1e-9)


SCALES = [(length, offset) for offset in (0.0, 1.0) for length in (1e-8, 1e-6, 1e-3, 1.0, 1e3, 1e6)]


@pytest.mark.exact
@pytest.mark.parametrize(("length", "offset"), [*SCALES, (1e-2, 1e6)])
def test_numerical_scores_are_good_to_1e8_at_every_scale(length: float, offset: float) -> None:
    z = np.random.default_rng(2).normal(size=(200, 1))
    x = offset + length * z
    z = (x - offset) / length
    cases: dict[str, tuple[Callable[[Any], Any], Any]] = {
        "normal": (lambda z: -0.5 * z**2, -z),
        "student": (lambda z: -2.0 * np.log1p(z**2 / 3.0), -4.0 * z / (3.0 + z**2)),
        "mixture": (lambda z: np.logaddexp(-0.5 * (z - 2) ** 2, -0.5 * (z + 2) ** 2), 2 * np.tanh(2 * z) - z),
        "clipped": (lambda z: np.log(np.exp(-0.5 * z**2) + 1e-300), -z),
    }
    for name, (function, score) in cases.items():

        def log_density(x: Any, f: Callable[[Any], Any] = function) -> Any:
            return f((x[:, 0] - offset) / length)

        model = from_log_density(log_density, backend="numerical")
        error = np.abs(model.score(x) * length - score) / np.maximum(np.abs(score), 1.0)
        assert error.max() < 1e-8, name


@pytest.mark.exact
def test_an_offset_of_a_million_costs_no_digits() -> None:
    x = 1e6 + X
    model = from_log_density(lambda x: StudentT(3.0, 1e6 + MEAN).log_density(x), backend="numerical")
    np.testing.assert_allclose(model.score(x), StudentT(3.0, 1e6 + MEAN).score(x), rtol=1e-8, atol=1e-9)


@pytest.mark.exact
def test_numerical_scores_reach_the_edge_of_the_support_and_far_outliers() -> None:
    x = np.concatenate([np.geomspace(1e-6, 10.0, 40), [1e20]])[:, None]
    model = from_log_density(lambda x: 1.5 * np.log(x[:, 0]) - x[:, 0] / 3e20, backend="numerical")
    np.testing.assert_allclose(model.score(x), 1.5 / x - 1.0 / 3e20, rtol=1e-8)


@pytest.mark.exact
def test_float32_points_are_differentiated_in_float64_and_come_back_as_float32() -> None:
    narrow = X.astype(np.float32)
    scores = from_log_density(lambda x: -(x**4).sum(1), backend="numerical").score(narrow)
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, -4.0 * narrow**3, rtol=1e-6)


@pytest.mark.exact
@BACKENDS
def test_one_number_for_all_rows_is_refused(backend: str) -> None:
    model = from_log_density(lambda x: -0.5 * (x**2).sum(), backend=backend)
    with pytest.raises(ValueError, match=r"one number for each of the 7 rows, got one number for all.*`vmap`"):
        model.score(X)


@pytest.mark.exact
@BACKENDS
def test_one_number_per_coordinate_is_refused(backend: str) -> None:
    model = from_log_density(lambda x: -0.5 * x**2, backend=backend)
    with pytest.raises(ValueError, match=r"got shape \(7, 3\). Sum over the last axis; if it is the score"):
        model.log_density(X)


@pytest.mark.exact
@BACKENDS
@pytest.mark.parametrize("n", [2, 7])
def test_a_log_density_that_mixes_rows_is_refused(backend: str, n: int) -> None:
    """Of the right shape, but centered by the batch: the gradient of the sum would be zero."""
    model = from_log_density(lambda x: (0.5 * x**2).sum() / n - 0.5 * (x**2).sum(-1), backend=backend)
    with pytest.raises(ValueError, match="must treat each row by itself"):
        model.score(X[:n])


@pytest.mark.backend
@pytest.mark.parametrize(("dtype", "size"), [("float32", 10.0), ("float64", 1e7)])
def test_rounding_that_depends_on_the_batch_is_not_taken_for_mixing(dtype: str, size: float) -> None:
    """As in matrix products of few and of many rows, which add up in another order."""
    torch = pytest.importorskip("torch")

    def log_density(x: Any) -> Any:
        return (size * len(x) - 0.5 * (x**2).sum(1)) - size * len(x)

    x = torch.tensor(X, dtype=getattr(torch, dtype))
    assert torch.any(log_density(x)[:2] != log_density(x[:2]))
    assert torch.equal(from_log_density(log_density, backend="torch").score(x), -x)


@pytest.mark.exact
def test_anything_but_an_array_is_refused() -> None:
    with pytest.raises(ValueError, match="got a list"):
        from_log_density(lambda x: [0.0] * 7, backend="numerical").score(X)


@pytest.mark.exact
def test_the_dimension_is_checked_when_it_is_given() -> None:
    model = DifferentiatedDensity(lambda x: -(x**2).sum(1), "numerical", dimension=2)
    with pytest.raises(ValueError, match="`x` must have `dimension=2` columns, got 3"):
        model.score(X)
    with pytest.raises(ValueError, match="`model` has dimension 2 but `samples` has 3 columns"):
        as_model(model, X)


@pytest.mark.exact
def test_the_backend_must_be_named() -> None:
    with pytest.raises(TypeError, match="backend"):
        from_log_density(lambda x: x)  # type: ignore[call-arg]
    for backend in ("tensorflow", None, "JAX"):
        with pytest.raises(ValueError, match='`backend` must be "jax", "torch" or "numerical", got'):
            from_log_density(lambda x: x, backend=backend)  # type: ignore[arg-type]


@pytest.mark.exact
def test_a_distribution_in_place_of_its_log_density_is_told_which_method_to_pass() -> None:
    with pytest.raises(TypeError, match=r"`log_density` must be a function.*; pass its method `logpdf`"):
        from_log_density(stats.norm(), backend="numerical")


@pytest.mark.exact
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_a_missing_library_is_named_with_its_extra(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, backend, None)
    with pytest.raises(ImportError, match=rf"pip install steinball\[{backend}\]"):
        from_log_density(lambda x: x, backend=backend)


@pytest.mark.backend
def test_points_of_a_third_library_are_refused() -> None:
    torch, jnp = pytest.importorskip("torch"), pytest.importorskip("jax.numpy")
    function = log_density_in("numerical")
    with pytest.raises(TypeError, match=r'`x` is a torch array but .*backend="jax", which takes jax or NumPy arrays'):
        from_log_density(function, backend="jax").score(torch.tensor(X))
    with pytest.raises(TypeError, match=r'`x` is a jax array but .*backend="torch", which takes torch or NumPy'):
        from_log_density(function, backend="torch").score(jnp.asarray(X))
    with pytest.raises(TypeError, match=r'backend="numerical", which takes NumPy arrays'):
        from_log_density(function, backend="numerical").score(torch.tensor(X))


@pytest.mark.backend
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_a_numpy_function_cannot_be_differentiated_automatically(backend: str) -> None:
    pytest.importorskip(backend)
    normal = stats.multivariate_normal(np.zeros(3))
    with pytest.raises(TypeError, match=rf'backend="{backend}" cannot differentiate .*backend="numerical"'):
        from_log_density(normal.logpdf, backend=backend).score(X)


@pytest.mark.backend
def test_a_torch_function_that_loses_the_graph_is_refused() -> None:
    torch = pytest.importorskip("torch")
    weight = torch.ones(1, dtype=torch.float64, requires_grad=True)
    for function in (lambda x: -(x.detach() ** 2).sum(1), lambda x: weight * (x.detach() ** 2).sum(1)):
        with pytest.raises(TypeError, match="does not follow from `x` by torch operations"):
            from_log_density(function, backend="torch").score(X)


@pytest.mark.exact
def test_a_row_outside_the_support_is_an_error_of_that_row() -> None:
    x = np.array([[0.5], [-1.0], [2.0]])
    model = from_log_density(stats.gamma(2.0).logpdf, backend="numerical")
    with pytest.raises(
        ValueError, match=r"1 of 3 rows hold NaN or infinity \(first: row 1\).*the model gives these points no density"
    ):
        evaluate_score(model, x)


@pytest.mark.parametrize("near", [1e-3, 1e-12, 1e-40, 1e-76])
def test_differences_stay_inside_the_support(near: float) -> None:
    model = from_log_density(stats.gamma(0.5).logpdf, backend="numerical", support=(0, None))
    x = np.array([[near], [2.0]])
    assert model.score(x) == pytest.approx(-0.5 / x - 1.0, rel=1e-6)


def test_an_upper_edge_is_approached_as_far_as_points_are_moved() -> None:
    model = from_log_density(stats.beta(0.5, 0.5).logpdf, backend="numerical", support=(0, 1))
    assert model.support is not None
    x = model.support.off_edges(np.array([[1.0], [0.5]]))
    assert model.score(x) == pytest.approx(-0.5 / x + 0.5 / (1.0 - x), rel=1e-2, abs=1e-6)


@pytest.mark.exact
def test_the_error_of_numerical_gradients_is_honest_when_the_function_is_not_accurate() -> None:
    """Single precision inside, five digits, or noise of 1e-7: digits that are not there are not claimed."""
    x = np.random.default_rng(3).normal(size=(500, 1))
    functions: dict[str, Callable[[Any], Any]] = {
        "single": lambda x: (-0.5 * x[:, 0].astype(np.float32) ** 2 + np.float32(3)).astype(np.float64),
        "digits": lambda x: np.round(-0.5 * x[:, 0] ** 2, 5),
        "noise": lambda x: -0.5 * x[:, 0] ** 2 + 1e-7 * np.sin(1e13 * x[:, 0]),
    }
    for name, function in functions.items():
        gradient, error = numerical_gradient(function, x)
        assert np.all(np.abs(gradient + x) <= 4.0 * error), name
        assert error.max() < 0.05, name
