"""The Stein kernel against automatic differentiation of its definition, exact arithmetic, and every array library."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as any_array
from numpy.typing import NDArray

import steinball.kernels
import steinball.stein
import steinball.tilts
from steinball.arrays import to_host
from steinball.gram.request import Request
from steinball.gram.whole import DenseGram
from steinball.kernels import Gaussian, InverseMultiquadric, Kernel, Matern
from steinball.models.base import ScoreFunction, from_scores
from steinball.problem import Problem, pose
from steinball.stein import SteinKernel, center_of
from steinball.tilts import PolynomialTilt, PowerTilt, Tilt

pytestmark = pytest.mark.exact
torch = pytest.importorskip("torch")

Floats = NDArray[np.float64]


def matern(nu: float, lengthscale: float) -> Callable[[Any], Any]:
    """The half-integer Matérn kernel as a function of r², from its general finite sum."""
    p, fact = round(nu - 0.5), math.factorial

    def phi(q: Any) -> Any:
        t = (2.0 * nu * q) ** 0.5 / lengthscale
        total = sum(fact(p + i) / (fact(i) * fact(p - i)) * (2.0 * t) ** (p - i) for i in range(p + 1))
        return torch.exp(-t) * total * fact(p) / fact(2 * p)

    return phi


# Every kernel twice: as the library builds it from a metric, and as a function of r² that torch differentiates.
KERNELS: dict[str, tuple[Callable[[Any], Kernel], Callable[[Any], Any]]] = {
    "imq": (lambda m: InverseMultiquadric(1.3, 0.5, m), lambda q: (1.0 + q / 1.69) ** -0.5),
    "imq-0.2": (lambda m: InverseMultiquadric(0.8, 0.2, m), lambda q: (1.0 + q / 0.64) ** -0.2),
    "imq-1": (lambda m: InverseMultiquadric(2.0, 1.0, m), lambda q: (1.0 + q / 4.0) ** -1.0),
    "imq-2.5": (lambda m: InverseMultiquadric(1.7, 2.5, m), lambda q: (1.0 + q / 2.89) ** -2.5),
    "gaussian": (lambda m: Gaussian(1.1, m), lambda q: torch.exp(-q / 2.42)),
    "matern-3/2": (lambda m: Matern(1.4, 1.5, m), matern(1.5, 1.4)),
    "matern-5/2": (lambda m: Matern(0.9, 2.5, m), matern(2.5, 0.9)),
    "matern-7/2": (lambda m: Matern(1.6, 3.5, m), matern(3.5, 1.6)),
    "scaled": (lambda m: 2.5 * Gaussian(1.1, m), lambda q: 2.5 * torch.exp(-q / 2.42)),
    "sum": (
        lambda m: InverseMultiquadric(1.3, 0.5, m) + Matern(0.9, 2.5, m),
        lambda q: (1.0 + q / 1.69) ** -0.5 + matern(2.5, 0.9)(q),
    ),
    "product": (
        lambda m: InverseMultiquadric(1.3, 0.5, m) * Gaussian(1.1, m),
        lambda q: (1.0 + q / 1.69) ** -0.5 * torch.exp(-q / 2.42),
    ),
    "nested": (
        lambda m: (Matern(1.4, 1.5, m) + 0.5 * Gaussian(1.1, m)) * (InverseMultiquadric(2.0, 1.0, m) * 3.0),
        lambda q: (matern(1.5, 1.4)(q) + 0.5 * torch.exp(-q / 2.42)) * 3.0 / (1.0 + q / 4.0),
    ),
}
ROUGH_AT_ZERO = {"matern-3/2", "matern-5/2", "matern-7/2", "sum", "nested"}  # torch cannot differentiate √0


def metric_of(d: int) -> Floats:
    """A full metric, far from a multiple of the identity."""
    root = np.random.default_rng(d).normal(size=(d, d)) / d
    return root @ root.T + np.diag(np.linspace(0.3, 1.6, d))


def center_vector(d: int) -> Floats:
    return np.linspace(-0.5, 0.7, d)


TILTS: dict[str, tuple[Callable[[int], Tilt | None], Callable[[int], Callable[[Any], Any]]]] = {
    "none": (lambda d: None, lambda d: lambda x: torch.ones((), dtype=torch.float64)),
    "scale": (
        lambda d: PolynomialTilt(0.7, center_vector(d), 1.5),
        lambda d: lambda x: (1.0 + ((x - torch.tensor(center_vector(d))) ** 2).sum() / 2.25) ** -0.7,
    ),
    "precision": (
        lambda d: PolynomialTilt(0.5, 0.4, precision=metric_of(d) * 0.6),
        lambda d: lambda x: (1.0 + (x - 0.4) @ torch.tensor(metric_of(d) * 0.6) @ (x - 0.4)) ** -0.5,
    ),
    "power": (
        lambda d: PowerTilt(lambda x: -(x**2).sum(axis=1) / 2.0, lambda x: -x, 0.5, -1.0),
        lambda d: lambda x: torch.exp(0.5 * (1.0 - (x**2).sum() / 2.0)),
    ),
}


def mixing(d: int) -> Floats:
    """A matrix without symmetry, for a score that is no gradient of a symmetric function."""
    return np.random.default_rng(100 + d).normal(size=(d, d))


def score(x: Floats) -> Floats:
    return np.tanh(x) @ mixing(x.shape[1]).T - 0.7 * x


def torch_score(x: Any) -> Any:
    return torch.tensor(mixing(len(x))) @ torch.tanh(x) - 0.7 * x


def points(n: int, d: int, seed: int = 0) -> Floats:
    return np.random.default_rng((seed, n, d)).normal(size=(n, d)) * 1.2


def tilted(name: str, d: int, metric: Floats | None, tilt: str) -> Callable[[Any, Any], Any]:
    """k(x, y) = w(x) φ((x − y)ᵀC(x − y)) w(y) for single points, in torch."""
    phi, weight = KERNELS[name][1], TILTS[tilt][1](d)
    c = torch.tensor(np.eye(d) if metric is None else metric)
    return lambda x, y: weight(x) * phi((x - y) @ c @ (x - y)) * weight(y)


def defined(k: Callable[[Any, Any], Any], x: Floats, y: Floats) -> Floats:
    """u = s(x)ᵀs(y) k + s(x)ᵀ∇₂k + ∇₁kᵀs(y) + tr ∇₁∇₂k, by automatic differentiation alone."""
    first, second = torch.func.grad(k, 0), torch.func.grad(k, 1)
    mixed = torch.func.jacrev(first, 1)

    def u(a: Any, b: Any) -> Any:
        sa, sb = torch_score(a), torch_score(b)
        return sa @ sb * k(a, b) + sa @ second(a, b) + first(a, b) @ sb + torch.trace(mixed(a, b))

    pairs = torch.func.vmap(torch.func.vmap(u, (None, 0)), (0, None))
    return np.asarray(pairs(torch.tensor(x), torch.tensor(y)))


def relative(values: Floats, exact: Floats, rows: Floats, columns: Floats) -> float:
    """The largest error on the scale √(u(x,x) u(y,y)) that bounds |u(x, y)|."""
    return float(np.max(np.abs(values - exact) / np.sqrt(np.outer(rows, columns))))


def gram(stein: SteinKernel, x: Any, scores: Any) -> Floats:
    return to_host(stein(x, scores, x, scores))


def diagonal(stein: SteinKernel, x: Any, scores: Any) -> Floats:
    return to_host(Problem.at_scores(stein, ScoreFunction(lambda x: scores), x, scores).diagonal)


@pytest.fixture(params=["direct", "expanded"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to form pairs, whatever the dimension."""
    monkeypatch.setattr(steinball.stein, "DIRECT_DIMENSIONS", {"direct": 10**6, "expanded": 0}[request.param])
    return str(request.param)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("tilt", TILTS)
@pytest.mark.parametrize("metric", ["identity", "metric"])
@pytest.mark.parametrize("name", KERNELS)
def test_stein_kernel_is_its_definition(
    name: str, metric: str, tilt: str, d: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    c = metric_of(d) if metric == "metric" else None
    x, y = points(4, d), points(3, d, seed=1)
    exact = defined(tilted(name, d, c, tilt), x, y)
    stein = SteinKernel(KERNELS[name][0](c), TILTS[tilt][0](d))
    for direct_dimensions in (10**6, 0):
        monkeypatch.setattr(steinball.stein, "DIRECT_DIMENSIONS", direct_dimensions)
        np.testing.assert_allclose(stein(x, score(x), y, score(y)), exact, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("tilt", TILTS)
@pytest.mark.parametrize("metric", ["identity", "metric"])
@pytest.mark.parametrize("name", KERNELS)
def test_diagonal_is_the_definition_where_points_meet(name: str, metric: str, tilt: str, d: int) -> None:
    """Kernels with a root in them are differentiated a hair away, where u has moved by no more than that."""
    c = metric_of(d) if metric == "metric" else None
    x = points(4, d)
    apart = 1e-8 if name in ROUGH_AT_ZERO else 0.0
    exact = np.diag(defined(tilted(name, d, c, tilt), x, x + apart))
    stein = SteinKernel(KERNELS[name][0](c), TILTS[tilt][0](d))
    np.testing.assert_allclose(diagonal(stein, x, score(x)), exact, rtol=1e-6 if apart else 1e-12)
    np.testing.assert_allclose(np.diag(gram(stein, x, score(x))), diagonal(stein, x, score(x)), rtol=1e-12)


def test_every_exported_kernel_and_tilt_is_in_these_tables() -> None:
    """A kernel added later is differentiated too, or this fails."""

    def parts(kernel: Kernel) -> set[str]:
        inner = [value for value in vars(kernel).values() if isinstance(value, Kernel)]
        return {type(kernel).__name__}.union(*(parts(k) for k in inner))

    exported = {getattr(steinball.kernels, name) for name in steinball.kernels.__all__}
    concrete = {k.__name__ for k in exported if isinstance(k, type) and issubclass(k, Kernel) and k is not Kernel}
    made = {"Sum", "Product", "Scaled"}  # by adding and multiplying kernels
    assert concrete | made == set().union(*(parts(make(None)) for make, _ in KERNELS.values()))
    tilts = {type(make(2)).__name__ for make, _ in TILTS.values()} - {"NoneType"}
    by_coordinate = {"EdgeTilt"}  # has another definition: tests/tilts/test_edge.py
    no_tilt = {"Tilt", "robust_scatter"}
    assert tilts == set(steinball.tilts.__all__) - no_tilt - by_coordinate


def test_tilting_equals_shifting_the_score(path: str) -> None:
    """u of the tilted kernel = w(x) w(y) · u of the plain kernel under s + ∇log w, with ∇log w by differentiation."""
    x, tilt = points(6, 3), PolynomialTilt(0.8, (0.1, -0.4, 1.0), 1.3)
    rows, center = torch.tensor(x), torch.tensor(tilt.center, dtype=torch.float64)

    def log_weight(v: Any) -> Any:
        return -0.8 * torch.log1p(((v - center) ** 2).sum() / 1.69)

    weight = np.exp(np.asarray(torch.func.vmap(log_weight)(rows)))
    shift = np.asarray(torch.func.vmap(torch.func.grad(log_weight))(rows))
    plain = gram(SteinKernel(InverseMultiquadric(1.0)), x, score(x) + shift)
    ours = gram(SteinKernel(InverseMultiquadric(1.0), tilt), x, score(x))
    np.testing.assert_allclose(ours, np.outer(weight, weight) * plain, rtol=1e-11, atol=1e-13)


def test_a_metric_is_not_a_change_of_variables(path: str) -> None:
    """Only for C = c·I: there the change of variables z = √c·x, s/√c gives u/c."""
    x, s, c = points(6, 3), score(points(6, 3)), 2.7
    plain = SteinKernel(Gaussian(1.2))
    ours = gram(SteinKernel(Gaussian(1.2, c * np.eye(3))), x, s)
    np.testing.assert_allclose(ours, c * gram(plain, x * c**0.5, s / c**0.5), rtol=1e-11, atol=1e-12)
    root = np.linalg.cholesky(metric_of(3))
    full = gram(SteinKernel(Gaussian(1.2, metric_of(3))), x, s)
    for scores in (s @ np.linalg.inv(root).T, s @ root, s):
        assert relative(gram(plain, x @ root, scores), full, np.diag(full), np.diag(full)) > 0.1


def test_a_diagonal_metric_may_be_given_as_a_vector() -> None:
    x, c = points(5, 3), np.array([0.5, 2.0, 3.0])
    vector, matrix = (SteinKernel(Matern(1.0, 2.5, m)) for m in (c, np.diag(c)))
    np.testing.assert_array_equal(gram(vector, x, score(x)), gram(matrix, x, score(x)))


def test_metric_of_another_dimension_is_refused() -> None:
    x = points(3, 2)
    with pytest.raises(ValueError, match=r"`metric` of the kernel is \(3, 3\), but the samples have 2 columns"):
        gram(SteinKernel(Gaussian(1.0, np.eye(3))), x, x)


finite = st.floats(-6.0, 6.0, allow_subnormal=False)


@given(data=st.data(), d=st.integers(1, 4), n=st.integers(2, 7))
def test_gram_is_symmetric_positive_semidefinite_and_bounded_by_its_diagonal(
    data: st.DataObject, d: int, n: int
) -> None:
    """For any scores whatever: u is the inner product of the features s(x) k(x, ·) + ∇k(x, ·)."""
    name, tilt = data.draw(st.sampled_from(sorted(KERNELS))), data.draw(st.sampled_from(sorted(TILTS)))
    c = data.draw(st.sampled_from([None, metric_of(d)]))
    x, s = data.draw(any_array(float, (n, d), elements=finite)), data.draw(any_array(float, (n, d), elements=finite))
    stein = SteinKernel(KERNELS[name][0](c), TILTS[tilt][0](d))
    u, diag = gram(stein, x, s), diagonal(stein, x, s)
    size = np.sqrt(np.outer(diag, diag))
    assert (diag > 0.0).all()
    np.testing.assert_allclose(np.diag(u), diag, rtol=1e-10)
    assert (np.abs(u - u.T) <= 1e-12 * size).all()
    assert (np.abs(u) <= (1.0 + 1e-10) * size).all()
    assert np.linalg.eigvalsh(u / size).min() >= -1e-10 * n


@pytest.mark.parametrize("name", KERNELS)
def test_duplicated_points_give_duplicated_rows(name: str, path: str) -> None:
    """A rounding error in r² of 1e-16 may not move u by its root, as it would for Matérn-3/2."""
    x = points(9, 5) * 8.0
    x[4:] = x[0]
    for metric in (None, metric_of(5)):
        stein = SteinKernel(KERNELS[name][0](metric))
        u, diag = gram(stein, x, score(x)), diagonal(stein, x, score(x))
        assert relative(u[4:], np.tile(u[0], (5, 1)), diag[4:], diag) < 1e-10
        assert relative(u[4:, 4:], np.full((5, 5), diag[0]), diag[4:], diag[4:]) < 1e-10


@pytest.mark.parametrize("reach", [1.0, 30.0, 1e3, 1e6])
@pytest.mark.parametrize("name", KERNELS)
def test_expansion_gives_way_before_it_costs_digits(name: str, reach: float) -> None:
    """Neighbors 1e-3 apart, and an outlier ``reach`` away that stretches the expansion."""
    x = np.repeat(points(4, 5), 2, axis=0)
    x[::2] += 1e-3
    x[-1] *= reach
    stein, exact = SteinKernel(KERNELS[name][0](None)), defined(tilted(name, 5, None, "none"), x, x + 0.0)
    exact[np.diag_indices(8)] = diagonal(stein, x, score(x))
    assert relative(gram(stein, x, score(x)), exact, np.diag(exact), np.diag(exact)) < 1e-9


@pytest.mark.parametrize("d", [1, 4])
@pytest.mark.parametrize("tilt", ["none", "scale", "precision"])
@pytest.mark.parametrize("name", KERNELS)
def test_an_offset_of_a_million_changes_nothing(name: str, tilt: str, d: int) -> None:
    """Far below the 1e-10 that a million costs a product of uncentered points with a metric."""
    x = np.round(points(12, d) * 1024.0) / 1024.0  # exact before and after the shift
    for metric in (None, metric_of(d)):
        kernel, model = KERNELS[name][0](metric), TILTS[tilt][0](d)
        here = there = None
        if isinstance(model, PolynomialTilt):
            center = np.round(np.asarray(model.center) * 1024.0) / 1024.0
            here, there = (
                PolynomialTilt(model.exponent, c, model.scale, model.precision) for c in (center, center + 1e6)
            )
        u, moved = gram(SteinKernel(kernel, here), x, score(x)), gram(SteinKernel(kernel, there), x + 1e6, score(x))
        assert relative(moved, u, np.diag(u), np.diag(u)) < 1e-13


@pytest.mark.parametrize("c", [1e-6, 1e6])
@pytest.mark.parametrize("d", [1, 4])
def test_units_of_measurement_only_divide_the_stein_kernel(c: float, d: int) -> None:
    """x → cx turns s into s/c; with length, tilt scale and center times c (or C over c²), u becomes u/c²."""
    x, s, center = points(8, d), score(points(8, d)), center_vector(d)
    before = SteinKernel(InverseMultiquadric(1.3, 0.5), PolynomialTilt(0.5, center, 2.0))
    after = SteinKernel(InverseMultiquadric(1.3 * c, 0.5), PolynomialTilt(0.5, center * c, 2.0 * c))
    np.testing.assert_allclose(gram(after, c * x, s / c) * c**2, gram(before, x, s), rtol=1e-9, atol=1e-12)
    m = metric_of(d)
    before = SteinKernel(Matern(1.3, 2.5, m), PolynomialTilt(0.5, center, precision=m))
    after = SteinKernel(Matern(1.3, 2.5, m / c**2), PolynomialTilt(0.5, center * c, precision=m / c**2))
    np.testing.assert_allclose(gram(after, c * x, s / c) * c**2, gram(before, x, s), rtol=1e-9, atol=1e-12)


def decimal_gram(x: Floats, tilted: bool) -> list[list[Decimal]]:
    """u for the inverse multiquadric of length 1, score −x and weight (1 + |x|²)^(−1/2), in 60 digits."""
    with localcontext() as context:
        context.prec = 60
        rows = [[Decimal(float(v)) for v in row] for row in x]
        weights = [1 / Decimal(1 + sum(v * v for v in row)).sqrt() if tilted else Decimal(1) for row in rows]
        scores = [[-v - v * w * w if tilted else -v for v in row] for row, w in zip(rows, weights, strict=True)]

        def u(i: int, j: int) -> Decimal:
            difference = [a - b for a, b in zip(rows[i], rows[j], strict=True)]
            cross = sum(e * (b - a) for e, a, b in zip(difference, scores[i], scores[j], strict=True))
            inner = sum(a * b for a, b in zip(scores[i], scores[j], strict=True))
            q = Decimal(1 + sum(e * e for e in difference))
            phi = 1 / q.sqrt()
            plain = phi * inner - phi / q * cross - 3 * phi / q**2 * (q - 1) + len(rows[i]) * phi / q
            return weights[i] * weights[j] * plain

        return [[u(i, j) for j in range(len(rows))] for i in range(len(rows))]


@pytest.mark.parametrize("tilt", [None, PolynomialTilt()])
@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize(("far", "copies"), [(1e20, 1), (1e9, 25), (1e4, 3), (50.0, 2)])
def test_far_outliers_are_right_and_cost_the_bulk_nothing(
    far: float, copies: int, d: int, tilt: PolynomialTilt | None
) -> None:
    bulk = copies + 5  # beyond half, outliers are the bulk
    x = np.concatenate([points(bulk, d), np.full((copies, d), far)])
    exact = np.array(decimal_gram(x, tilt is not None), dtype=float)
    u = gram(SteinKernel(InverseMultiquadric(1.0), tilt), x, -x)
    np.testing.assert_allclose(u[:bulk, :bulk], exact[:bulk, :bulk], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(u[bulk:, bulk:], exact[bulk:, bulk:], rtol=1e-11)
    assert relative(u, exact, np.diag(exact), np.diag(exact)) < 1e-11


def test_decimal_oracle_agrees_with_differentiation() -> None:
    """The oracle itself, checked once against the other one at ordinary points."""
    x = points(4, 2)
    numbers = np.array(decimal_gram(x, True), dtype=float)
    stein = SteinKernel(InverseMultiquadric(1.0), PolynomialTilt())
    np.testing.assert_allclose(gram(stein, x, -x), numbers, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", KERNELS)
def test_two_points_a_constant_column_and_a_thousand_columns(name: str) -> None:
    for x in (points(2, 1), np.hstack([points(5, 3), np.ones((5, 1))]), points(3, 1000) / 30.0):
        exact = defined(tilted(name, x.shape[1], None, "scale"), x, x + 0.0) if x.shape[1] < 10 else None
        stein = SteinKernel(KERNELS[name][0](None), TILTS["scale"][0](x.shape[1]))
        s = score(x) / x.shape[1]
        u, diag = gram(stein, x, s), diagonal(stein, x, s)
        assert np.isfinite(u).all()
        np.testing.assert_allclose(np.diag(u), diag, rtol=1e-11)
        if exact is not None:
            off = ~np.eye(len(x), dtype=bool)
            u = gram(stein, x, score(x))
            np.testing.assert_allclose(u[off], exact[off], rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("d", [1, 3, 20])
@pytest.mark.parametrize("name", KERNELS)
def test_single_precision_is_within_one_in_ten_thousand(name: str, d: int) -> None:
    x, s = points(40, d).astype(np.float32), score(points(40, d)).astype(np.float32)
    for tilt in (None, PolynomialTilt()):
        stein = SteinKernel(KERNELS[name][0](metric_of(d)), tilt)
        single, double = stein(x, s, x, s), gram(stein, x.astype(float), s.astype(float))
        assert single.dtype == np.float32
        assert relative(single.astype(float), double, np.diag(double), np.diag(double)) < 1e-4


@pytest.mark.backend
@pytest.mark.parametrize("d", [2, 4])
@pytest.mark.parametrize("name", KERNELS)
def test_every_array_library_gives_the_same_numbers(name: str, d: int, xp: Any) -> None:
    x, y = points(5, d), points(3, d, seed=1)
    for metric, tilt in ((None, None), (metric_of(d), TILTS["precision"][0](d)), (None, TILTS["scale"][0](d))):
        stein = SteinKernel(KERNELS[name][0](metric), tilt)
        theirs = stein(*(xp.asarray(v, dtype=xp.float64) for v in (x, score(x), y, score(y))))
        np.testing.assert_allclose(to_host(theirs), stein(x, score(x), y, score(y)), rtol=1e-12, atol=1e-12)
        own = diagonal(stein, xp.asarray(x), xp.asarray(score(x)))
        np.testing.assert_allclose(own, diagonal(stein, x, score(x)), rtol=1e-12)


def test_inputs_are_left_as_they_were(path: str) -> None:
    x, s = points(6, 4), score(points(6, 4))
    kept = x.copy(), s.copy()
    for make, _ in KERNELS.values():
        prepared = SteinKernel(make(metric_of(4)), PolynomialTilt()).prepare(x, s, center_of(x))
        first = SteinKernel(make(metric_of(4)), PolynomialTilt()).block(prepared, prepared)
        again = SteinKernel(make(metric_of(4)), PolynomialTilt()).block(prepared, prepared)
        np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(x, kept[0])
    np.testing.assert_array_equal(s, kept[1])


def test_a_block_of_rows_is_a_part_of_the_matrix(path: str) -> None:
    x = points(9, 4)
    stein = SteinKernel(Gaussian(1.1, metric_of(4)), PolynomialTilt(0.5, 0.3, 1.4))
    prepared = stein.prepare(x, score(x), center_of(x))
    part = stein.block(prepared.rows(2, 5), prepared.rows(4, 9))
    assert (len(prepared), prepared.dimension, len(prepared.rows(2, 5))) == (9, 4, 3)
    np.testing.assert_allclose(part, stein.block(prepared, prepared)[2:5, 4:9], rtol=1e-12, atol=1e-13)


@pytest.mark.backend
@pytest.mark.parametrize("name", KERNELS)
def test_points_taken_and_paired_off_are_entries_of_the_matrix(name: str, xp: Any) -> None:
    x, index, partner = points(9, 3), [4, 0, 7, 7], [2, 0, 8, 1]
    x[8] = x[7]
    for metric, tilt in ((None, None), (metric_of(3), PolynomialTilt(0.5, 0.3, 1.4))):
        stein = SteinKernel(KERNELS[name][0](metric), tilt)
        prepared = stein.prepare(xp.asarray(x), xp.asarray(score(x)), xp.asarray(x[0]))
        first, second = (prepared.take(xp.asarray(rows)) for rows in (index, partner))
        u = gram(stein, x, score(x))
        np.testing.assert_allclose(
            to_host(stein.block(first, second)), u[np.ix_(index, partner)], rtol=1e-11, atol=1e-12
        )
        np.testing.assert_allclose(to_host(stein.pairs(first, second)), u[index, partner], rtol=1e-11, atol=1e-12)
        weight = np.ones(9) if tilt is None else np.exp(tilt.log_weight(x))
        fused = to_host(stein.untilted_block(first, second, fused=True)) * np.outer(weight[index], weight[partner])
        np.testing.assert_allclose(fused, u[np.ix_(index, partner)], rtol=1e-11, atol=1e-12)


def test_center_is_inside_the_bulk_and_ignores_outliers() -> None:
    x = points(501, 2)
    far = x.copy()
    far[::5] = 1e20
    for samples in (x, far):
        center = center_of(samples)
        assert center.shape == (2,)
        assert (np.abs(center) < 1.0).all()


def test_a_problem_asks_the_same_question_elsewhere() -> None:
    x, y = points(4, 3), points(5, 3, seed=2)
    stein = SteinKernel(InverseMultiquadric(1.0), PolynomialTilt(0.5, 0.3, 1.4))
    problem = Problem.at_scores(stein, ScoreFunction(score), x, score(x))
    assert problem.evaluable
    assert not pose(x, from_scores(score(x))).evaluable
    np.testing.assert_array_equal(problem.at(y).scores, score(y))
    np.testing.assert_allclose(problem.diagonal_at(y), np.diag(gram(stein, y, score(y))), rtol=1e-12)
    np.testing.assert_allclose(problem.at(y).diagonal, problem.diagonal_at(y), rtol=1e-15)


@pytest.mark.parametrize("d", [1, 4])
@pytest.mark.parametrize("tilt", [None, PolynomialTilt()])
@pytest.mark.parametrize(
    ("far", "dtype", "fits"),
    [
        (1e15, np.float32, True),
        (1.2e19, np.float32, False),  # its square is a float32, but not a weight times it
        (1.7e19, np.float32, False),
        (1e25, np.float32, False),
        (1e38, np.float32, False),
        (1e100, np.float64, True),
        (0.9e154, np.float64, False),  # likewise
        (1.2e154, np.float64, False),
        (1e200, np.float64, False),
        (1e307, np.float64, False),
    ],
)
def test_what_is_too_large_is_named_and_never_a_nan(
    far: float, dtype: type, fits: bool, tilt: PolynomialTilt | None, d: int
) -> None:
    """Either every answer is finite, or an error says that the kernel overflows."""
    x: NDArray[Any] = points(6, d).astype(dtype)
    x[3] = far
    weights = np.random.default_rng(0).integers(-3, 9, size=(50, 6))
    problem = pose(x, lambda x: -x, InverseMultiquadric(1.0), tilt)
    try:
        summary = DenseGram(problem).summarise(Request([weights]))
    except FloatingPointError as error:
        assert not fits
        assert "overflow" in str(error)  # noqa: PT017
    else:
        for numbers in (summary.diagonal, summary.row_means, summary.quadratic_forms, summary.diagonal_forms):
            assert np.isfinite(numbers).all()
        assert math.isfinite(summary.mean)
