"""The minimum-KSD estimator against the definition of the KSD, known coefficients and outliers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from steinball import fitting
from steinball.datasets import load_galaxies
from steinball.fitting import fit_kernel_exponential_family, minimum_ksd
from steinball.fitting.minimum_ksd import ScoreDistance, solve_positive
from steinball.kernels import InverseMultiquadric
from steinball.models.kernel_exponential import KernelExponentialFamily
from steinball.stein import SteinKernel
from steinball.tilts import PolynomialTilt

jax = pytest.importorskip("jax")
jnp = jax.numpy
jax.config.update("jax_enable_x64", True)

pytestmark = pytest.mark.exact

RIDGE = 0.01


def weighted_kernel(x: Any, y: Any, metric: Any) -> Any:
    """w(x) h(x − y) w(y): a sum of two inverse multiquadrics, w = (1 + |x − a|²/4)^(−1/2), a = (½, …)."""
    r2 = (x - y) @ metric @ (x - y)
    weight_x, weight_y = (1.0 + jnp.sum((v - 0.5) ** 2) / 4.0 for v in (x, y))
    return ((1.0 + r2) ** -0.5 + (1.0 + r2 / 4.0) ** -0.5) / jnp.sqrt(weight_x * weight_y)


def ksd_squared(x: Any, scores: Any, metric: Any) -> Any:
    """The V-statistic from the definition of the Langevin Stein kernel, derivatives by JAX."""

    def stein(x: Any, s: Any, y: Any, t: Any) -> Any:
        k, left = weighted_kernel(x, y, metric), jax.grad(weighted_kernel, argnums=0)
        right, cross = jax.grad(weighted_kernel, argnums=1), jax.jacfwd(left, argnums=1)
        pull = s @ right(x, y, metric) + t @ left(x, y, metric)
        return k * (s @ t) + pull + jnp.trace(cross(x, y, metric))

    rows = jax.vmap(stein, in_axes=(None, None, 0, 0))
    return jnp.mean(jax.vmap(rows, in_axes=(0, 0, None, None))(x, scores, x, scores))


def least_coefficients(x: Any, base: Any, jacobians: Any, stein: SteinKernel, ridge: float = 0.0) -> Any:
    return -solve_positive(*ScoreDistance.of(x, stein).expansion(base, jacobians), ridge)


@pytest.mark.parametrize("metric", [np.eye(2), np.array([[2.0, 0.5], [0.5, 1.0]])], ids=["plain", "metric"])
def test_the_closed_form_minimizes_the_definition(metric: np.ndarray) -> None:
    """D² from the definition is minimized by SciPy; its gradient vanishes at the closed form."""
    generator = np.random.default_rng(0)
    x, base = generator.standard_normal((2, 15, 2))
    jacobians = generator.standard_normal((15, 2, 3))

    def penalized(eta: Any) -> Any:
        return ksd_squared(x, base + jnp.asarray(jacobians) @ eta, metric) + RIDGE * jnp.sum(eta**2)

    objective = jax.jit(jax.value_and_grad(penalized))
    given = None if np.array_equal(metric, np.eye(2)) else metric
    kernel = InverseMultiquadric(1.0, metric=given) + InverseMultiquadric(2.0, metric=given)
    tilt = PolynomialTilt(0.5, center=0.5, scale=2.0)
    eta = least_coefficients(x, base, jacobians, SteinKernel(kernel, tilt), RIDGE)
    assert np.abs(objective(jnp.asarray(eta))[1]).max() < 1e-12
    found = minimize(objective, np.zeros(3), jac=True, method="BFGS", tol=1e-9)
    np.testing.assert_allclose(eta, found.x, atol=1e-6)


def test_blocks_of_rows_add_up_to_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fit_kernel_exponential_family(load_galaxies()).coefficients
    monkeypatch.setattr(minimum_ksd, "_PAIRS_AT_ONCE", 1000)  # 12 rows of 82 at once, the last block smaller
    np.testing.assert_allclose(fit_kernel_exponential_family(load_galaxies()).coefficients, whole, rtol=1e-9)


def test_the_fit_minimizes_the_stein_kernel_s_mean_plus_the_ridge() -> None:
    """The same for the KEF with the paper's kernel, tilt and ridge, through the library's own statistic."""
    x = load_galaxies()[::3]
    kernels = [InverseMultiquadric(np.sqrt(2.0 * square)) for square in (0.6, 1.0, 1.2)]
    stein = SteinKernel(kernels[0] + kernels[1] + kernels[2], PolynomialTilt())

    def objective(eta: np.ndarray) -> float:
        scores = KernelExponentialFamily(eta).score(x)
        return float(stein(x, scores, x, scores).mean() + 1e-4 * eta @ eta)

    fitted = fit_kernel_exponential_family(x, n_basis=5).coefficients
    found = minimize(objective, np.zeros(5), method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose(fitted, found.x, atol=2e-3)
    assert objective(fitted) <= found.fun + 1e-14


@pytest.mark.parametrize("tilt", [PolynomialTilt(), None], ids=["tilted", "plain"])
def test_known_coefficients_are_recovered(tilt: Any) -> None:
    """Twenty samples of 600: the mean estimate within 4 standard errors plus 0.1, the V-statistic's bias."""
    truth = np.array([1.0, -1.5, 0.8])
    samples = [KernelExponentialFamily(truth).sample(600, rng=seed) for seed in range(20)]
    fits = [fit_kernel_exponential_family(x, tilt=tilt, n_basis=3, ridge=1e-8) for x in samples]
    estimates = np.array([fit.coefficients for fit in fits])
    error = estimates.mean(axis=0) - truth
    assert np.all(np.abs(error) < 4.0 * estimates.std(axis=0, ddof=1) / np.sqrt(20.0) + 0.1)
    assert np.all(estimates.std(axis=0) < 0.6)


def test_one_outlier_moves_a_tilted_fit_little_and_an_untilted_one_much() -> None:
    """A Gaussian of unknown mean, with one of 201 points at 10⁶."""
    clean = np.random.default_rng(0).normal(0.5, 1.0, (200, 1))
    dirty = np.vstack([clean, [[1e6]]])
    kernel = InverseMultiquadric(1.0)

    def fit(x: np.ndarray, tilt: Any) -> float:
        return float(least_coefficients(x, -x, np.ones((len(x), 1, 1)), SteinKernel(kernel, tilt))[0])

    assert abs(fit(dirty, PolynomialTilt()) - fit(clean, PolynomialTilt())) < 1e-3
    assert abs(fit(dirty, None) - fit(clean, None)) > 10.0


@pytest.mark.parametrize("distance", [1e3, 1e20])
def test_an_outlier_hardly_moves_the_galaxy_fit(distance: float) -> None:
    """One outlier shifts |η| = 9.6 by 0.045 with the tilt; without it by more than twice that."""
    clean = load_galaxies()
    dirty = np.vstack([clean, [[distance]]])

    def shift(**options: Any) -> float:
        fits = [fit_kernel_exponential_family(x, **options).coefficients for x in (clean, dirty)]
        return float(np.linalg.norm(fits[1] - fits[0]))

    assert shift() < 0.06
    assert shift(tilt=None) > 2.0 * shift()


def test_the_galaxy_fit_follows_the_data_and_ignores_contamination() -> None:
    """Four bumps where the galaxies are; a fifth of outliers at 10 leaves them there (paper §5.3)."""
    galaxies = load_galaxies()
    outliers = np.random.default_rng(0).normal(10.0, 0.1, (20, 1))
    grid = np.linspace(-9.0, 9.0, 1801)
    fits = [fit_kernel_exponential_family(x) for x in (galaxies, np.vstack([galaxies, outliers]))]
    clean, dirty = (np.exp(model.log_density(grid) - model.log_normalizer) for model in fits)
    peaks = grid[1:-1][(clean[1:-1] > clean[:-2]) & (clean[1:-1] > clean[2:])]
    np.testing.assert_allclose(peaks, [-4.7, -0.4, 1.1, 4.9], atol=0.15)
    shares = [np.mean(np.abs(galaxies - peak) < 1.0) for peak in peaks]
    masses = [np.sum(clean[np.abs(grid - peak) < 1.0]) * 0.01 for peak in peaks]
    np.testing.assert_allclose(masses, shares, atol=0.12)
    assert np.abs(dirty - clean).max() < 0.03


@pytest.mark.backend
def test_samples_of_any_library_give_one_fit(xp: Any) -> None:
    galaxies = load_galaxies()
    fitted = fit_kernel_exponential_family(xp.asarray(galaxies)).coefficients
    np.testing.assert_array_equal(fitted, fit_kernel_exponential_family(galaxies[:, 0]).coefficients)


def test_a_system_without_a_unique_minimum_is_refused() -> None:
    x = np.array([[0.0], [1.0]])
    with pytest.raises(ValueError, match=r"minimum is not unique.*`ridge=0`"):
        least_coefficients(x, -x, np.ones((2, 1, 3)), SteinKernel(InverseMultiquadric(1.0)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ridge": -1.0}, "`ridge` must be a finite number"),
        ({"n_basis": 0}, "`n_basis` must be at least 1"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit_kernel_exponential_family(load_galaxies(), **options)


def test_bad_arrays_are_named() -> None:
    with pytest.raises(ValueError, match="`samples` must have one column, got 2"):
        fit_kernel_exponential_family(np.zeros((4, 2)))


def test_the_influence_function_is_drawn() -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    axes = fitting.fit_minimum_ksd("gamma", np.random.default_rng(0).gamma(3.0, size=60)).plot()
    assert [line.get_label() for line in axes.lines] == ["shape", "scale"]
    plt.close(axes.figure)
