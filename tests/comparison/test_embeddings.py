"""The kernel of a comparison and the embeddings of models, against quadrature, brute force and simulation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from steinball.comparison import (
    DrawnEmbedding,
    KernelCoordinates,
    MixtureEmbedding,
    kernel_means,
    kernel_values,
    number_of_draws,
)
from tests.comparison.models import Floats, kernel, mixture, normal, plain

pytestmark = pytest.mark.exact


def test_the_kernel_is_a_mean_of_three_gaussians() -> None:
    x = np.random.default_rng(0).normal(size=(7, 2))
    r2 = np.sum((x[:, None] - x[None]) ** 2, axis=-1)
    np.testing.assert_allclose(kernel_values(-0.5 * r2), kernel(x, x), rtol=1e-14)
    assert kernel_values(np.zeros(1)) == 1.0


@pytest.mark.parametrize(("n", "m", "d"), [(1, 1, 1), (300, 517, 1), (257, 40, 3)])
def test_means_over_tiles_are_those_of_the_whole_matrix(n: int, m: int, d: int) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(n, d)), rng.normal(0.3, 1.2, size=(m, d))
    rows, columns = kernel_means(x, y)
    np.testing.assert_allclose(rows, kernel(x, y).mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(columns, kernel(x, y).mean(axis=0), rtol=1e-12)


def grid_of(d: int, points: int, reach: float) -> tuple[Floats, float]:
    line = np.linspace(-reach, reach, points)
    return np.array(list(itertools.product(line, repeat=d))), float(line[1] - line[0]) ** d


def density(y: Floats, means: Floats, spreads: Floats, weights: Floats) -> Floats:
    total = np.zeros(len(y))
    for weight, mean, spread in zip(weights, means, spreads, strict=True):
        moved = y - mean
        square = np.einsum("ni,ij,nj->n", moved, np.linalg.inv(spread), moved)
        total += weight * np.exp(-0.5 * square) / np.sqrt(np.linalg.det(2.0 * np.pi * spread))
    return total


def test_a_mixture_is_embedded_as_quadrature_says() -> None:
    """In the plane, in other units than those of the kernel: ∫ k(x, y) p(y) dy over a fine grid."""
    at = KernelCoordinates(np.array([0.2, -0.1]), np.array([[0.8, 0.0], [-0.3, 1.1]]))
    means, weights = np.array([[-1.0, 0.5], [1.5, 0.0]]), np.array([0.3, 0.7])
    spreads = np.array([[[1.0, 0.6], [0.6, 0.8]], [[0.3, -0.1], [-0.1, 0.5]]])
    found = MixtureEmbedding(at, means, spreads, weights)
    y, cell = grid_of(2, 241, 7.0)
    mass = density(y, means, spreads, weights) * cell
    x = np.array([[0.0, 0.0], [1.0, -2.0], [9.0, 9.0]])
    expected = kernel(at.of(x), at.of(y)) @ mass
    np.testing.assert_allclose(found.values(at.of(x)), expected, atol=1e-9)
    assert found.square == pytest.approx(float(found.values(at.of(y)) @ mass), abs=1e-9)
    np.testing.assert_allclose(found.score(x), 2.0 * expected - found.square, atol=1e-8)


def test_inner_products_agree_however_they_are_computed() -> None:
    at, rng = plain(2), np.random.default_rng(2)
    a, b = mixture(at), normal(at, 0.4, 1.3)
    y, cell = grid_of(2, 161, 9.0)
    mass = density(y, np.array([[0.4, 0.0]]), 1.69 * np.eye(2)[None], np.ones(1)) * cell
    assert a.expect(b) == pytest.approx(float(a.values(y) @ mass), abs=1e-9)
    assert a.expect(b) == pytest.approx(b.expect(a), rel=1e-14)
    drawn = DrawnEmbedding(at, rng.normal(size=(50, 2)))
    assert drawn.expect(a) == pytest.approx(float(a.values(drawn.draws).mean()))
    assert a.expect(drawn) == drawn.expect(a)


def test_draws_are_embedded_as_brute_force_says() -> None:
    at, rng = plain(2), np.random.default_rng(3)
    draws, x = rng.normal(size=(300, 2)), rng.normal(size=(20, 2))
    found = DrawnEmbedding(at, draws)
    gram = kernel(draws, draws)
    np.testing.assert_allclose(found.values(x), kernel(x, draws).mean(axis=1), rtol=1e-12)
    assert found.norm == pytest.approx(gram.mean(), rel=1e-12)
    assert found.square == pytest.approx((gram.sum() - 300) / (300 * 299), rel=1e-12)
    other = DrawnEmbedding(at, rng.normal(size=(70, 2)))
    assert found.expect(other) == pytest.approx(kernel(draws, other.draws).mean(), rel=1e-12)
    assert found.expect(found) == found.norm


def test_the_error_of_draws_is_their_variance() -> None:
    """Over 400 sets of 300 draws, the variance of the mean score is the mean of the stated one within a fifth."""
    at, rng = plain(), np.random.default_rng(4)
    x = rng.normal(0.8, 1.0, size=(60, 1))
    found = [DrawnEmbedding(at, rng.normal(size=(300, 1))).score_and_error(x) for _ in range(400)]
    variance = np.var([scores.mean() for scores, _ in found], ddof=1)
    assert variance == pytest.approx(np.mean([error for _, error in found]), rel=0.2)
    exact = normal(at).score(x).mean()
    assert np.mean([scores.mean() for scores, _ in found]) == pytest.approx(exact, abs=4.0 * np.sqrt(variance / 400))
    drawn = DrawnEmbedding(at, rng.normal(size=(90, 1)))
    for model in (drawn, normal(at)):
        np.testing.assert_allclose(model.score_and_error(x)[0], model.score(x), rtol=1e-13)
    assert normal(at).score_and_error(x)[1] == 0.0


# Coordinates


def pools(d: int = 2, n: int = 400) -> list[Floats]:
    rng = np.random.default_rng(5)
    return [rng.normal(size=(n, d)), rng.normal(0.5, 2.0, size=(n, d))]


def test_units_and_places_of_columns_do_not_matter() -> None:
    units, shift = np.array([1e6, 1e-5]), np.array([3e7, -2e-4])
    here, there = pools(), [units * pool + shift for pool in pools()]
    expected = KernelCoordinates.from_draws(here).of(here[0])
    np.testing.assert_allclose(KernelCoordinates.from_draws(there).of(there[0]), expected, atol=1e-6)


def test_a_correlation_that_all_models_share_does_not_matter() -> None:
    """Columns that agree but for a hundredth: their difference is seen as well as their sum."""
    mixed = np.array([[1.0, 1.0], [1.0, 1.01]])
    rng = np.random.default_rng(6)
    draws = [rng.normal(size=(1000, 2)) @ mixed for _ in range(2)]
    z = KernelCoordinates.from_draws(draws).of(draws[0])
    spread = np.linalg.eigvalsh(np.cov(z.T))
    assert spread[1] / spread[0] < 30.0  # 160,000 without


def test_the_order_of_the_models_does_not_matter() -> None:
    first, second = pools(3)
    one, other = KernelCoordinates.from_draws([first, second]), KernelCoordinates.from_draws([second, first])
    np.testing.assert_allclose(one.linear, other.linear, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(one.center, other.center, atol=1e-14)


def test_the_middle_length_scale_is_the_median_distance() -> None:
    draws = pools(1, 1000)
    z = KernelCoordinates.from_draws(draws).of(np.concatenate(draws))
    distances = np.abs(z - z.T)[np.triu_indices(2000, 1)]
    assert np.median(distances) == pytest.approx(0.5, rel=1e-9)


@pytest.mark.parametrize(
    "draws",
    [
        np.zeros((50, 2)),
        np.repeat([[0.0, 1.0], [0.0, 2.0]], 30, axis=0),
        np.random.default_rng(0).integers(0, 2, size=(99, 2)).astype(float),
        np.random.default_rng(0).standard_cauchy(size=(500, 2)) ** 9,
        np.array([[1e300, 1.0], [-1e300, 0.0], [0.0, 0.5]]),
        np.random.default_rng(0).normal(size=(20, 40)),
    ],
)
def test_odd_draws_still_give_a_kernel(draws: Floats) -> None:
    at = KernelCoordinates.from_draws([draws, draws[::-1]])
    assert np.isfinite(at.linear).all()
    values = DrawnEmbedding(at, draws).score(np.concatenate([draws, 1e308 * np.ones((1, draws.shape[1]))]))
    assert np.isfinite(values).all()


def test_the_number_of_draws_grows_with_the_rows_up_to_a_limit() -> None:
    assert [number_of_draws(n) for n in (10, 500, 10**5)] == [200, 10_000, 20_000]
