"""Few rows, rounded rows and the rows of a fit are remarked."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.cautions import DependentRowsWarning, FewRowsWarning, FittedOnDataWarning, RoundedDataWarning
from steinball.checks import rows
from steinball.checks.rows import few_rows, repeated_rows

pytestmark = pytest.mark.exact


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((4, 1000), r"looks like \(chain, draw\), 4 chains .*`x\.reshape\(-1, 1\)`.*chains=4"),
        ((20, 30), r"fewer observations than dimensions.*pass the transpose"),
        ((12, 20), r"fewer observations than dimensions"),
        ((3, 1), r"3 observations are too few.*at least 4"),
    ],
)
def test_few_rows_are_remarked_by_their_likely_cause(shape: tuple[int, int], said: str) -> None:
    (remark,) = few_rows(np.zeros(shape))
    assert remark.category is FewRowsWarning
    assert re.search(said, f"{remark.cause} {remark.remedy}")


def test_ordinary_shapes_are_not() -> None:
    for shape in ((4, 1), (4, 4), (500, 10), (500, 500)):
        assert list(few_rows(np.zeros(shape))) == []


def test_every_test_remarks_it() -> None:
    x = np.random.default_rng(0).normal(size=(4, 40))
    model = sb.models.Gaussian(np.zeros(40))
    few = sb.BoundaryBootstrap(19)
    with pytest.warns(FewRowsWarning):
        sb.ksd_test(x, model)
    with pytest.warns(FewRowsWarning):
        sb.robust_ksd_test(x, model, 0.05, calibration=few)
    with pytest.warns(FewRowsWarning):
        sb.ksdagg_test(x, model, n_resamples=199, n_resamples_level=19)
    with pytest.warns(FewRowsWarning):
        sb.robust_ksdagg_test(x, model, 0.05, calibration=few)


ROUNDED = np.random.default_rng(0).normal(size=(100, 2))
MODEL = sb.models.Gaussian(dimension=2)


def test_rounded_data_are_remarked_with_the_radius_for_them() -> None:
    with pytest.warns(RoundedDataWarning, match=r"whole numbers.*Wasserstein\.rounding\(1, dimension=2\)"):
        sb.ksd_test(np.round(2.0 * ROUNDED), MODEL, rng=0)


def test_fine_steps_fractions_and_few_points_are_not() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in (np.round(50.0 * ROUNDED), np.round(ROUNDED, 1), np.round(2.0 * ROUNDED)[:20], 1e6 + 1e-6 * ROUNDED):
            sb.ksd_test(x, MODEL, rng=0)


@pytest.mark.parametrize(
    "model", [stats.gamma(3.0, scale=2.0), sb.in_base_space(stats.gamma(3.0, scale=2.0))], ids=["SciPy", "asked for"]
)
def test_whole_numbers_are_remarked_where_they_are_tested_in_base_space(model: Any) -> None:
    x = np.ceil(stats.gamma(3.0, scale=2.0).rvs(100, random_state=0))
    with pytest.warns(RoundedDataWarning, match=r"whole numbers.*Wasserstein\.rounding.*`sb\.as_model\(model\)`"):
        result = sb.robust_ksd_test(x, model, contamination=0.05, rng=0)
    assert result.to_dict()["details"]["tested in"] == "base space"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sb.robust_ksd_test(x - np.random.default_rng(0).random(100), model, contamination=0.05, rng=0)


def test_whole_numbers_on_an_edge_are_whole() -> None:
    x = np.ceil(stats.gamma(3.0, scale=2.0).rvs(100, random_state=0))
    x[7] = 0.0  # moved off the edge by next to nothing
    with pytest.warns(RoundedDataWarning):
        sb.robust_ksd_test(x, sb.as_model(stats.gamma(3.0, scale=2.0)), contamination=0.05, rng=0)


@pytest.mark.parametrize("step", [0.5, 0.254, 2.0])
def test_any_grid_is_remarked(step: float) -> None:
    x = 0.1 + step * np.round(2.0 * ROUNDED)
    with pytest.warns(RoundedDataWarning, match=rf"lie on a grid \(column 0: step {step:g}\).*rounding\({step:g}, "):
        sb.ksd_test(x, sb.models.Gaussian(np.full(2, 0.1), 4.0 * step**2), rng=0)


def test_a_tenth_is_coarse_where_the_model_ends_unless_rows_are_spread_over_their_cells() -> None:
    """As they are, exponential data rounded to a tenth are rejected .14 of the time at n = 2,000."""
    x = np.round(stats.expon().rvs(300, random_state=0), 1)
    with pytest.warns(RoundedDataWarning, match=r"step 0.1.*a density, which no rounded numbers come from"):
        sb.ksd_test(x, sb.as_model(stats.expon()), tilt="auto", rng=0)
    sb.ksd_test(x, stats.expon(), rng=0)
    with pytest.warns(RoundedDataWarning, match=r"step 0.5.*evenly over the cells.*ages in whole years"):
        sb.ksd_test(0.5 * np.round(2.0 * x), stats.expon(), rng=0)


def test_who_tolerates_the_rounding_is_not_told_of_it() -> None:
    x, rounding = np.round(2.0 * ROUNDED), sb.Wasserstein.rounding(1.0, dimension=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for radius in (rounding, sb.Huber(0.05) + rounding, rounding + sb.ScoreError(0.01)):
            sb.ksd_test(x, MODEL, tilt="auto", radius=radius, tau="auto", rng=0)
        sb.robust_ksdagg_test(x, MODEL, radius=rounding, rng=0)
    with pytest.warns(RoundedDataWarning):
        sb.ksd_test(x, MODEL, tilt="auto", radius=sb.Wasserstein.rounding(0.5, dimension=2), rng=0)


X = np.random.default_rng(0).normal(3.0, 2.0, size=(100, 2))


def test_a_model_with_the_mean_of_the_data_is_warned_of() -> None:
    with pytest.warns(FittedOnDataWarning, match="sb.fit_test"):
        sb.ksd_test(X, sb.models.Gaussian(X.mean(axis=0), np.cov(X.T)), rng=0)
    with pytest.warns(FittedOnDataWarning, match="were centered by it"):
        sb.robust_ksd_test((X - X.mean(axis=0)) / X.std(axis=0), sb.models.Gaussian([0.0, 0.0]), 0.05, rng=0)


def test_known_models_grids_and_those_who_know_are_not_warned() -> None:
    sb.ksd_test(X, sb.models.Gaussian([3.0, 3.0]), rng=0)
    sb.ksd_test(np.linspace(-1.0, 1.0, 40), sb.models.Gaussian(), rng=0)
    sb.ksd_test(X, sb.models.Gaussian(X.mean(axis=0), np.cov(X.T)), check_model=False, rng=0)
    sb.fit_test(X, "normal", rng=0)


@pytest.mark.parametrize("times", [2, 5])
@pytest.mark.parametrize("d", [1, 3])
def test_copied_rows_are_remarked(times: int, d: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.permutation(np.repeat(rng.normal(size=(200 // times, d)), times, axis=0))
    for run in (sb.ksd_test, lambda x, model, **options: sb.robust_ksd_test(x, model, 0.05, **options)):
        with pytest.warns(DependentRowsWarning, match="different rows occur more than once"):
            run(x, sb.models.Gaussian(dimension=d), rng=0)
    with pytest.warns(DependentRowsWarning, match="occur more than once"):
        sb.robust_ksdagg_test(x, sb.models.Gaussian(dimension=d), 0.05, rng=0)


def test_lumps_rounded_numbers_and_chains_are_not_called_copies() -> None:
    rng = np.random.default_rng(0)
    lump = rng.normal(size=300)
    lump[::10], lump[5::10] = 4.0, -3.0
    rounded = [np.round(rng.normal(size=n), k) for n, k in ((300, 1), (2000, 2), (20000, 3), (20000, 4))]
    single = [rng.normal(size=(20000, 1)).astype(np.float32).astype(float), np.round(rng.normal(size=(500, 2)), 1)]
    for x in (lump, *rounded, *single):
        assert not list(repeated_rows(np.asarray(x, dtype=float).reshape(len(x), -1)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stuck = np.repeat(rng.normal(size=200), 3)
        sb.ksd_test(stuck, sb.models.Gaussian(), calibration=sb.WildBootstrap(99, dependence="auto"), rng=0)


def test_favorite_values_are_no_copies() -> None:
    """Many wages are whole thousands; a file that is joined to itself is still found, and so is a resample."""
    for n in (500, 8000):
        assert not list(repeated_rows(sb.datasets.load_wages()[:n]))
    rng = np.random.default_rng(0)
    assert list(repeated_rows(rng.normal(size=(1000, 1))[rng.integers(0, 1000, 1000)]))
    copied = np.repeat(np.random.default_rng(0).normal(size=(300, 1)), 5, axis=0)
    assert list(repeated_rows(copied))


def test_ties_by_the_precision_of_float32_are_no_grid_and_those_of_a_coarse_grid_are() -> None:
    """Half of the column lies on five whole numbers; the other half on whole numbers of its own, and makes no ties."""
    rng = np.random.default_rng(0)
    single = rng.normal(size=(100_000, 2)).astype(np.float32).astype(np.float64)
    assert (rows._ties(single) > 0).all()
    assert not rows._may_be_coarse(single)
    coarse = np.concatenate([rng.integers(-2, 3, size=1_000), 3.0 + np.arange(1_000)])[:, None]
    assert rows._may_be_coarse(rng.permutation(coarse))


def test_outliers_that_are_stored_as_one_value_start_no_search_for_grids() -> None:
    x = np.random.default_rng(0).normal(size=(5_000, 3))
    x[:750] = 10.0
    assert (rows._ties(x) > 700).all()
    assert not rows._may_be_coarse(x)
    x[:, 1] = np.where(x[:, 1] == 10.0, 10.0, x[:, 1].round())
    assert rows._may_be_coarse(x)


def test_equal_rows_are_counted_whatever_the_sign_of_their_zeros() -> None:
    x = np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, -0.0], [2.0, 0.0], [2.0, 0.0], [3.0, 3.0]])
    assert sorted(rows._counts(x).tolist()) == [1, 2, 3]
