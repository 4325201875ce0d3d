"""Inputs that break careless code: each gives the right numbers or a clear error, never a silent NaN.

Warnings are errors here, so that an overflow inside NumPy does not pass either.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import steinball as sb

pytestmark = pytest.mark.exact

FEW = sb.WeightedBootstrap(99)
TESTS = pytest.mark.parametrize("test", [sb.ksd_test, partial(sb.robust_ksd_test, contamination=0.05)])
KERNEL, TILT = sb.InverseMultiquadric(1.5), sb.PolynomialTilt(0.5)

Test = Callable[..., sb.GofResult]


def gaussian(x: Any) -> Any:
    return -x


def grid_normal(n: int, d: int, seed: int = 0) -> NDArray[np.float64]:
    """Normal numbers rounded to multiples of 2⁻²⁰, so that adding 2²⁰ and scaling by powers of 2 are exact."""
    return np.round(np.random.default_rng(seed).normal(size=(n, d)) * 2.0**20) / 2.0**20


def stated_numbers(result: sb.GofResult) -> NDArray[np.float64]:
    """Everything on the scale of D that a result states; all of it finite."""
    draws = np.zeros(0) if result.draws is None else result.draws
    numbers = np.array([result.ksd, result.statistic, result.threshold, result.radius, math.sqrt(result.tau), *draws])
    assert np.isfinite(numbers).all()
    assert np.isfinite(np.asarray(result.contributions, dtype=float)).all()
    assert 0.0 < result.pvalue <= 1.0
    return numbers


def imq_stein(x: NDArray[np.float64], s: NDArray[np.float64], lengthscale: float) -> NDArray[np.float64]:
    """u of the untilted inverse multiquadric, pair by pair, from differences."""
    n, d = x.shape
    u = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            r, t = x[i] - x[j], s[j] - s[i]
            q = 1.0 + r @ r / lengthscale**2
            gradient = -r / lengthscale**2 * q**-1.5
            mixed = d / lengthscale**2 * q**-1.5 - 3.0 * (r / lengthscale**2) @ (r / lengthscale**2) * q**-2.5
            u[i, j] = s[i] @ s[j] * q**-0.5 + gradient @ t + mixed
    return u


# Offsets and scales


@TESTS
@pytest.mark.parametrize("d", [1, 3, 8])
@pytest.mark.parametrize("offset", [2.0**20, -(2.0**20)])
def test_an_offset_of_a_million_changes_nothing(test: Test, d: int, offset: float) -> None:
    x = grid_normal(40, d)
    here = test(x, sb.models.Gaussian(0.0, dimension=d), calibration=FEW, rng=0)
    there = test(x + offset, sb.models.Gaussian(offset, dimension=d), calibration=FEW, rng=0)
    assert stated_numbers(there) == pytest.approx(stated_numbers(here), rel=1e-9)
    assert there.pvalue == here.pvalue
    scores = test(x + offset, sb.from_scores(-x), calibration=FEW, rng=0)
    assert stated_numbers(scores)[0] == pytest.approx(
        stated_numbers(test(x, sb.from_scores(-x), calibration=FEW, rng=0))[0], rel=1e-9
    )


@TESTS
@pytest.mark.parametrize("d", [1, 3, 8])
@pytest.mark.parametrize("scale", [2.0**20, 2.0**-20])
@pytest.mark.parametrize("known", [True, False])
def test_units_of_a_millionth_or_a_million_only_rescale_the_answer(
    test: Test, d: int, scale: float, known: bool
) -> None:
    """In coordinates of the data D has the unit of a score, 1/scale; the p-value has none, and nothing that is stated
    by default. With models that know their scale and that do not."""
    x = grid_normal(40, d)
    model: Any = sb.models.Gaussian(0.0, scale**2, dimension=d) if known else lambda x: -x / scale**2
    plain: Any = sb.models.Gaussian(dimension=d) if known else gaussian
    for standardize, unit in ((True, 1.0), (False, scale)):
        options: dict[str, Any] = {"calibration": FEW, "rng": 0, "standardize": standardize}
        here, there = test(x, plain, **options), test(scale * x, model, **options)
        assert unit * stated_numbers(there) == pytest.approx(stated_numbers(here), rel=1e-9)
        assert there.pvalue == here.pvalue


@TESTS
@pytest.mark.parametrize("columns", [(1e-6, 1e6), (1e-6, 1.0, 1e6)])
def test_columns_of_very_different_units_are_summed_right(test: Test, columns: tuple[float, ...]) -> None:
    x = np.random.default_rng(0).normal(size=(15, len(columns))) * columns
    model = sb.models.Gaussian(cov=np.square(columns), dimension=len(columns))
    for standardize, units in ((True, np.ones(len(columns))), (False, np.array(columns))):
        stated_numbers(test(x, model, calibration=FEW, standardize=standardize))
        standard = sb.ksd_test(x, model, calibration=FEW, rng=0, standardize=standardize)
        z = x / columns * units
        u = imq_stein(z, -z / units**2, standard.kernel.lengthscale)  # type: ignore[attr-defined]
        assert standard.ksd == pytest.approx(math.sqrt(u.mean()), rel=1e-9)


# Outliers


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("place", [1e8, 1e20, 1e150])
@pytest.mark.parametrize("tau", ["sample", "optimized"])
def test_one_outlier_anywhere_adds_at_most_its_share_to_the_robust_test(d: int, place: float, tau: str) -> None:
    """Far out u(z, z) → 1 and u(z, x) → 0, so that n²D² is that of the other points plus 1."""
    x = grid_normal(50, d)
    z = np.zeros((1, d))
    z[0, -1] = place
    options: dict[str, Any] = {"kernel": KERNEL, "tilt": TILT, "calibration": FEW, "rng": 0}
    bulk = sb.ksd_test(x, gaussian, **options)
    result = sb.robust_ksd_test(np.vstack([x, z]), gaussian, 0.05, tau=tau, **options)
    stated_numbers(result)
    assert result.squared_ksd == pytest.approx((2500 * bulk.squared_ksd + 1.0) / 2601, rel=1e-6)
    assert result.contributions[-1] == pytest.approx(1.0 / 2601, rel=1e-6)
    assert not result.rejected


@pytest.mark.parametrize("d", [1, 3])
def test_an_outlier_at_1e20_costs_the_bulk_no_digits(d: int) -> None:
    x = np.vstack([grid_normal(30, d), np.full((1, d), 1e20)])
    result = sb.ksd_test(x, gaussian, kernel=KERNEL, tilt=TILT, calibration=FEW, rng=0)
    bulk = sb.ksd_test(x[:-1], gaussian, kernel=KERNEL, tilt=TILT, calibration=FEW, rng=0)
    assert 961 * result.contributions[:-1] == pytest.approx(900 * bulk.contributions, rel=1e-10)


@pytest.mark.parametrize("d", [1, 3])
def test_an_outlier_at_1e20_dominates_the_standard_test_as_it_must(d: int) -> None:
    x = grid_normal(50, d)
    x[0, 0] = 1e20
    result = sb.ksd_test(x, gaussian, kernel=KERNEL, calibration=FEW, rng=0)
    stated_numbers(result)
    assert result.ksd == pytest.approx(1e20 / 50, rel=1e-12)


@pytest.mark.parametrize("model", [gaussian, sb.models.Gaussian()], ids=["function", "model"])
@pytest.mark.parametrize("kernel", [None, sb.kernels.Gaussian(1.0), sb.Matern(1.0)], ids=repr)
def test_the_automatic_tilt_is_not_stretched_by_an_outlier(model: Any, kernel: Any) -> None:
    x = np.append(grid_normal(60, 1), 1e20)
    result = sb.robust_ksd_test(x, model, 0.05, kernel=kernel, calibration=FEW, rng=0)
    stated_numbers(result)
    assert not result.rejected
    near = sb.robust_ksd_test(np.append(x[:-1], 1e6), model, 0.05, kernel=kernel, calibration=FEW, rng=0)
    assert result.ksd == pytest.approx(near.ksd, rel=1e-4)


@TESTS
@pytest.mark.parametrize("calibration", [FEW, sb.WildBootstrap(99), sb.DeviationBound(proven=False)], ids=repr)
@pytest.mark.parametrize("d", [1, 3])
def test_what_cannot_be_squared_is_an_overflow_by_name_without_a_tilt(test: Test, d: int, calibration: Any) -> None:
    x = np.random.default_rng(0).normal(size=(30, d))
    x[3, 0] = 1e200
    for tau in ("sample", "optimized"):
        with pytest.raises(FloatingPointError, match=r"overflows at 1 of 30 points \(first: row 3\).*rescale"):
            test(x, gaussian, kernel=KERNEL, tilt=None, tau=tau, calibration=calibration)
    with pytest.raises(FloatingPointError, match=r"overflows at 1 of 30 points \(first: row 3\).*rescale"):
        test(x, sb.from_scores(-x), kernel=KERNEL, tilt=TILT, calibration=FEW)


# Points that coincide

KERNELS = [KERNEL, sb.kernels.Gaussian(1.2), sb.Matern(1.2, 1.5), sb.Matern(1.2, 2.5)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("d", [1, 3, 10])
def test_repeating_every_point_leaves_the_statistic(d: int, kernel: Any, dtype: Any) -> None:
    """D² is a mean over all pairs; duplicates are at distance 0 exactly, also where distances are expanded."""
    x = np.random.default_rng(1).normal(size=(12, d)).astype(dtype)
    once, often = (
        sb.ksd(x, sb.from_scores(-x), kernel=kernel),
        sb.ksd(np.repeat(x, 5, axis=0), sb.from_scores(-np.repeat(x, 5, axis=0)), kernel=kernel),
    )
    assert often == pytest.approx(once, rel=1e-10 if dtype is np.float64 else 1e-4)
    assert sb.ksd(x.astype(float), sb.from_scores(-x.astype(float)), kernel=kernel) == pytest.approx(once, rel=1e-4)


@TESTS
def test_duplicates_are_tested_like_other_points(test: Test) -> None:
    x = np.repeat(grid_normal(20, 2), 3, axis=0)
    stated_numbers(test(x, gaussian, calibration=FEW))
    stated_numbers(test(x, gaussian, calibration=FEW, estimator="u", level=0.1))


@TESTS
@pytest.mark.parametrize("model", [gaussian, sb.models.Gaussian(dimension=3)], ids=["function", "model"])
def test_a_constant_column_is_a_column(test: Test, model: Any) -> None:
    x = grid_normal(15, 3)
    x[:, 1] = 0.75
    stated_numbers(test(x, model, calibration=FEW))
    u = imq_stein(x, -x, 1.5)
    assert sb.ksd(x, model, kernel=KERNEL) == pytest.approx(math.sqrt(u.mean()), rel=1e-10)


@TESTS
@pytest.mark.parametrize("x", [np.ones(10), np.append(np.zeros(80), np.arange(20.0)), np.zeros((7, 4))])
def test_a_median_distance_of_zero_is_an_error_that_asks_for_a_kernel(test: Test, x: Any) -> None:
    with pytest.raises(ValueError, match=r"median distance is 0.*kernel=InverseMultiquadric\(lengthscale=1.0\)"):
        test(x, gaussian, standardize=False)
    stated_numbers(test(x, gaussian, calibration=FEW))  # by default the length scale does not come from the data
    stated_numbers(test(x, gaussian, kernel=KERNEL, calibration=FEW))
    stated_numbers(test(x, gaussian, kernel=KERNEL, calibration=FEW, tau="optimized"))


@pytest.mark.parametrize("d", [1, 4])
def test_points_that_all_coincide_have_the_ksd_of_one(d: int) -> None:
    x = np.full((9, d), 2.0)
    result = sb.ksd_test(x, gaussian, kernel=KERNEL, calibration=FEW, rng=0)
    assert result.ksd == pytest.approx(math.sqrt(4.0 * d + d / 1.5**2), rel=1e-12)
    assert result.threshold == pytest.approx(0.0, abs=1e-6)
    assert result.contamination_bound == 0.0  # u(x, x) is not bounded
    tilted = sb.ksd_test(x, gaussian, kernel=KERNEL, tilt=sb.PolynomialTilt(), calibration=FEW, rng=0)
    assert tilted.contamination_bound == pytest.approx(1.0, rel=1e-6)


# Many dimensions, few points


@TESTS
def test_a_thousand_dimensions(test: Test) -> None:
    x = np.random.default_rng(0).normal(size=(12, 1000))
    for model in (gaussian, sb.models.Gaussian(dimension=1000)):
        result = test(x, model, calibration=FEW, rng=0)
        stated_numbers(result)
        assert not result.rejected
    lengthscale = sb.ksd_test(x, gaussian, calibration=FEW, standardize=False).kernel.lengthscale  # type: ignore[attr-defined]
    assert sb.ksd(x, gaussian) == pytest.approx(math.sqrt(imq_stein(x, -x, lengthscale).mean()), rel=1e-10)


@TESTS
@pytest.mark.parametrize("d", [1, 2, 1000])
@pytest.mark.parametrize("estimator", ["v", "u"])
def test_two_points_are_enough(test: Test, d: int, estimator: str) -> None:
    x = np.random.default_rng(d).normal(size=(2, d))
    result = test(x, gaussian, estimator=estimator, calibration=FEW, rng=0)
    assert math.isfinite(result.ksd)
    assert 0.0 < result.pvalue <= 1.0


def test_two_points_by_hand() -> None:
    """Weights are (0, 0) or ±(1, −1): half of the draws are 0, the others √(u₁₁ + u₂₂ − 2u₁₂)/2."""
    x = np.array([[0.3], [-1.1]])
    u = imq_stein(x, -x, 1.5)
    result = sb.ksd_test(x, gaussian, kernel=KERNEL, calibration=sb.WeightedBootstrap(999), rng=0)
    assert result.ksd == pytest.approx(math.sqrt(u.sum()) / 2, rel=1e-12)
    assert result.draws is not None
    other = math.sqrt(u[0, 0] + u[1, 1] - 2 * u[0, 1]) / 2
    assert set(np.round(result.draws, 10)) == {0.0, round(other, 10)}
    assert result.pvalue == (1 + np.sum(result.draws > result.ksd)) / 1000


# Not finite


@TESTS
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_samples_that_are_not_finite_are_refused_by_row(test: Test, value: float, dtype: Any) -> None:
    x = grid_normal(20, 2).astype(dtype)
    x[[4, 9], 1] = value
    message = r"`samples` must be finite, but 2 of 20 rows hold NaN or infinity \(first: row 4\)"
    with pytest.raises(ValueError, match=message):
        test(x, gaussian)
    with pytest.raises(ValueError, match=message):
        test(x, sb.from_scores(np.zeros_like(x)))


@TESTS
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_scores_that_are_not_finite_are_refused_by_row(test: Test, value: float) -> None:
    x = grid_normal(20, 2)
    scores = -x
    scores[7, 0] = value
    with pytest.raises(ValueError, match=r"`scores` must be finite, but 1 of 20 rows.*first: row 7"):
        test(x, sb.from_scores(scores))
    with pytest.raises(ValueError, match=r"`model.score\(samples\)` must be finite, but 1 of 20 rows"):
        test(x, lambda x: scores)


@TESTS
def test_masked_entries_are_missing_and_unmasked_ones_are_not(test: Test) -> None:
    x = grid_normal(20, 2)
    with pytest.raises(ValueError, match="`samples` must be finite, but 1 of 20 rows"):
        test(np.ma.array(x, mask=np.arange(40).reshape(20, 2) == 6), gaussian)
    plain = test(x, gaussian, calibration=FEW, rng=0)
    assert test(np.ma.array(x, mask=False), gaussian, calibration=FEW, rng=0).ksd == plain.ksd


# Not an (n, d) array of numbers


@TESTS
@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (np.zeros((5, 2, 3)), ValueError, r"`samples` must have shape \(n, d\), got \(5, 2, 3\)"),
        (3.0, ValueError, r"`samples` must have shape \(n, d\), got \(\)"),
        (np.zeros((1, 4)), ValueError, "`samples` must have at least 2 rows, got 1"),
        (np.zeros((0, 4)), ValueError, "`samples` must have at least 2 rows, got 0"),
        ([], ValueError, "`samples` must have at least 2 rows, got 0"),
        (np.zeros((5, 0)), ValueError, r"`samples` must have at least one column, got shape \(5, 0\)"),
        ([[1.0, 2.0], [3.0]], ValueError, "`samples` must be a rectangular array"),
        (["a", "b", "c"], TypeError, "`samples` must hold real numbers"),
        (np.zeros(5, dtype=complex), TypeError, "`samples` must hold real numbers, got dtype complex128"),
        (np.ones(5, dtype=bool), TypeError, "`samples` must hold real numbers, got dtype bool"),
        (np.array([1.0, None, 2.0]), TypeError, "`samples` must hold real numbers, got dtype object"),
        (None, TypeError, "`samples` must hold real numbers"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(test: Test, x: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        test(x, gaussian)


@TESTS
@pytest.mark.parametrize("shape", [(20, 3), (19, 2), (2, 20), (20,), (20, 2, 1), ()])
def test_scores_of_another_shape_are_refused(test: Test, shape: tuple[int, ...]) -> None:
    x = grid_normal(20, 2)
    for model in (sb.from_scores(np.zeros(shape)), lambda x: np.zeros(shape)):
        with pytest.raises(ValueError, match=r"must have the shape of `samples`, \(20, 2\), got"):
            test(x, model)


@TESTS
def test_a_model_of_another_dimension_is_refused(test: Test) -> None:
    with pytest.raises(ValueError, match="`model` has dimension 3 but `samples` has 2 columns"):
        test(grid_normal(20, 2), sb.models.Gaussian(dimension=3))


@TESTS
@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint16, np.float16, ">f8"])
def test_other_number_types_are_computed_in_float(test: Test, dtype: Any) -> None:
    x = np.arange(12).astype(dtype)
    result = test(x, gaussian, calibration=FEW, rng=0)
    wanted = test(np.arange(12.0), gaussian, calibration=FEW, rng=0)
    assert result.ksd == pytest.approx(wanted.ksd, rel=1e-4 if dtype is np.float16 else 1e-12)


@TESTS
@pytest.mark.parametrize("view", ["reversed", "strided", "transposed", "readonly"])
def test_every_layout_in_memory_is_fine(test: Test, view: str) -> None:
    x = grid_normal(24, 3)
    views = {"reversed": x[::-1], "strided": np.repeat(x, 2, axis=0)[::2], "transposed": np.ascontiguousarray(x.T).T}
    y = views.get(view, x.copy())
    y.flags.writeable = view != "readonly"
    assert test(y, gaussian, calibration=FEW, rng=0).ksd == pytest.approx(
        test(y.copy(), gaussian, calibration=FEW, rng=0).ksd, rel=1e-12
    )


# Mixed array libraries


@TESTS
@pytest.mark.parametrize("samples_in", ["numpy", "torch", "array_api_strict"])
@pytest.mark.parametrize("scores_in", ["numpy", "torch", "array_api_strict"])
def test_samples_and_scores_must_come_from_one_library(test: Test, samples_in: str, scores_in: str) -> None:
    def move(array: NDArray[np.float64], library: str) -> Any:
        return array if library == "numpy" else pytest.importorskip(library).asarray(array)

    x = grid_normal(20, 2)
    data, scores = move(x, samples_in), move(-x, scores_in)
    if samples_in == scores_in:
        stated_numbers(test(data, sb.from_scores(scores), calibration=FEW))
        return
    message = (
        f"`samples` is a {samples_in} array but .* is a {scores_in} array; return scores from the same array library"
    )
    for model in (sb.from_scores(scores), lambda _: scores):
        with pytest.raises(TypeError, match=message):
            test(data, model)


@TESTS
def test_either_may_be_in_single_precision_and_is_widened(test: Test) -> None:
    x = grid_normal(20, 2)
    exact = test(x, sb.from_scores(-x), calibration=FEW, rng=0, tilt=TILT).ksd
    for samples, scores in ((x.astype(np.float32), -x), (x, (-x).astype(np.float32))):
        assert test(samples, sb.from_scores(scores), calibration=FEW, rng=0, tilt=TILT).ksd == pytest.approx(
            exact, rel=1e-6
        )


@pytest.mark.parametrize(
    "model", [sb.models.Gaussian(), lambda x: -x, sb.models.StudentT(3.0)], ids=["Gaussian", "function", "StudentT"]
)
@pytest.mark.parametrize("far", [1e100, 1e160, -1e300])
def test_one_point_beyond_all_squares_is_one_outlier(model: Any, far: float) -> None:
    x = np.random.default_rng(0).normal(size=(100, 1))
    x[0] = np.sign(far) * 1e30
    near = sb.robust_ksd_test(x, model, 0.05, rng=0)
    x[0] = far
    found = sb.robust_ksd_test(x, model, 0.05, rng=0)
    assert found.ksd == pytest.approx(near.ksd, rel=1e-9)
    assert found.tau == pytest.approx(near.tau, rel=1e-9)
    assert found.pvalue == near.pvalue


def test_a_fill_value_in_single_precision_is_one_outlier() -> None:
    x = np.random.default_rng(0).normal(size=100).astype(np.float32)
    x[0] = 1e20
    assert not sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, rng=0).rejected


@pytest.mark.parametrize("engine", ["auto", "dense", "blocked", "lowrank"])
def test_single_precision_on_a_cpu_is_computed_in_double(engine: str) -> None:
    x = np.random.default_rng(0).normal(size=300).astype(np.float32)
    narrow, wide = (
        sb.robust_ksd_test(y, sb.models.Gaussian(), 0.05, engine=engine, rng=0) for y in (x, x.astype(float))
    )
    assert narrow.to_dict() == wide.to_dict()
    torch = pytest.importorskip("torch", reason="torch is an extra")
    tensor = sb.robust_ksd_test(torch.tensor(x), sb.models.Gaussian(), 0.05, engine="blocked", rng=0)
    assert tensor.pvalue == wide.pvalue


def test_a_network_in_single_precision_is_evaluated_in_it() -> None:
    torch = pytest.importorskip("torch", reason="torch is an extra")
    torch.manual_seed(0)
    network, x = torch.nn.Linear(1, 1), torch.tensor(np.random.default_rng(0).normal(size=(60, 1)))
    wide, narrow = (sb.ksd_test(samples, lambda z: network(z), rng=0) for samples in (x, x.float().double()))
    assert wide.ksd == pytest.approx(narrow.ksd, rel=1e-5)
    with pytest.raises(RuntimeError, match="the model's own"):
        sb.ksd_test(x, _fails, rng=0)


def _fails(x: Any) -> Any:
    raise RuntimeError(f"the model's own words about {x.dtype}")
