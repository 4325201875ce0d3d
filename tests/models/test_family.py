"""What every family must obey: scores that are derivatives, a likelihood that is largest, coordinates that return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from steinball import fitting
from steinball.fitting import ExponentialFamily
from steinball.models.autodiff import difference_jacobian
from steinball.models.family import Family, NormalFamily, from_log_cholesky, log_cholesky, packed, unpacked
from tests.fitting.conftest import DATA, case, rescaled

as_family: Any = fitting.as_family
pytestmark = pytest.mark.exact


@pytest.mark.parametrize("name", DATA)
def test_parameter_scores_are_derivatives_of_the_log_density_of_the_model(name: str) -> None:
    family, x, params = case(name)
    found = difference_jacobian(lambda at: np.asarray(family.model(at).log_density(x)), params)
    scores = family.parameter_scores(params, x)
    np.testing.assert_allclose(scores, found, atol=1e-7 * np.abs(scores).max())


@pytest.mark.parametrize("name", DATA)
def test_scores_of_the_model_are_derivatives_of_its_log_density(name: str) -> None:
    family, x, params = case(name)
    model, step = family.model(params), 1e-5
    found = (np.asarray(model.log_density(x + step)) - np.asarray(model.log_density(x - step))) / (2.0 * step)
    inside = x[:, 0] > 0.01 if family.support else np.ones(len(x), dtype=bool)
    np.testing.assert_allclose(np.asarray(model.score(x))[inside, 0], found[inside], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", DATA)
def test_the_fit_has_the_largest_likelihood(name: str) -> None:
    family, x, other = case(name)
    params = family.fit(x)
    assert np.abs(family.parameter_scores(params, x).mean(axis=0)).max() < 1e-6
    best = np.asarray(family.model(params).log_density(x)).sum()
    assert best > np.asarray(family.model(other).log_density(x)).sum()


@pytest.mark.parametrize("name", DATA)
def test_working_coordinates_lead_back_and_their_jacobian_is_a_derivative(name: str) -> None:
    family, _, params = case(name)
    working = family.to_working(params)
    np.testing.assert_allclose(family.from_working(working), params, rtol=1e-12)
    np.testing.assert_allclose(
        family.working_jacobian(params), difference_jacobian(family.from_working, working), atol=1e-7
    )


@pytest.mark.parametrize("name", DATA)
def test_draws_of_the_model_have_the_margins_of_the_family(name: str) -> None:
    """Uniform by their own distribution function: the Kolmogorov distance of 4,000 is below .03 (p = .001)."""
    family, _, params = case(name)
    heights = np.sort(family.margins(params, family.model(params).sample(4000, 1)), axis=0)[:, 0]
    assert np.abs(heights - np.linspace(0.0, 1.0, 4000)).max() < 0.031


@pytest.mark.parametrize("name", [name for name in DATA if isinstance(case(name)[0], ExponentialFamily)])
def test_the_score_is_linear_in_natural_parameters(name: str) -> None:
    family, x, params = case(name)
    natural = family.natural(params)
    np.testing.assert_allclose(family.from_natural(natural), params, rtol=1e-12)
    np.testing.assert_allclose(
        family.base_score(x) + family.score_basis(x) @ natural, family.score(params, x), rtol=1e-9, atol=1e-12
    )
    assert np.isnan(family.from_natural(-np.abs(natural) - 2.0)).all()


def test_a_start_is_not_moved_by_outliers() -> None:
    for name in DATA:
        family, x, _ = case(name)
        dirty = np.vstack([x, np.full((8, 1), 1e6)])
        clean, moved = family.model(family.start(x)), family.model(family.start(dirty))
        draws = [np.median(model.sample(2000, 0)) for model in (clean, moved)]
        assert abs(draws[1] - draws[0]) < 0.5 * x.std(), name


@pytest.mark.parametrize("unit", [1e-9, 1e6, 1e9])
@pytest.mark.parametrize("name", DATA)
def test_a_change_of_the_unit_changes_the_fit_by_that(name: str, unit: float) -> None:
    """The search for the likelihood stopped early in units in which the slope is small."""
    family, x, _ = case(name)
    np.testing.assert_allclose(family.fit(unit * x), rescaled(name, family.fit(x), unit), rtol=1e-6)


def test_an_offset_of_the_data_moves_the_location_alone() -> None:
    family, x, _ = case("student-t")
    np.testing.assert_allclose(family.fit(x + 1e6) - [0.0, 1e6, 0.0], family.fit(x), rtol=1e-5)


@pytest.mark.parametrize("name", DATA)
def test_units_of_the_working_coordinates_are_those_in_which_the_log_density_moves(name: str) -> None:
    family, x, params = case(name)
    units = family.working_units(params, x)
    slopes = family.parameter_scores(params, x) @ family.working_jacobian(params) * units
    np.testing.assert_allclose(np.quantile(np.abs(slopes), 0.9, axis=0), 1.0)
    still = family.working_units(params, np.repeat(x[:1], 3, axis=0))
    assert (np.isfinite(still) & (still > 0.0)).all()


COLUMNS = np.random.default_rng(1).normal(size=(60, 3)) @ np.array([[1.0, 0.5, 0.0], [0.0, 2.0, 0.3], [0.0, 0.0, 0.5]])


def test_scores_of_covariances_are_derivatives() -> None:
    family = NormalFamily(3)
    params = family.fit(COLUMNS) * 1.1
    found = difference_jacobian(lambda at: np.asarray(family.model(at).log_density(COLUMNS)), params)
    np.testing.assert_allclose(family.parameter_scores(params, COLUMNS), found, atol=1e-6)
    natural = family.natural(params)
    np.testing.assert_allclose(family.score_basis(COLUMNS) @ natural, family.score(params, COLUMNS), atol=1e-10)
    np.testing.assert_allclose(family.from_natural(natural), params, atol=1e-12)
    np.testing.assert_allclose(family.from_working(family.to_working(params)), params, atol=1e-12)


def test_matrices_pack_and_unpack() -> None:
    cov = np.cov(COLUMNS.T)
    np.testing.assert_array_equal(unpacked(packed(cov), 3), cov)
    np.testing.assert_allclose(from_log_cholesky(log_cholesky(cov), 3), cov, rtol=1e-12)


def test_too_few_rows_and_constant_columns_are_refused() -> None:
    for x in (COLUMNS[:3], np.ones((9, 3))):
        with pytest.raises(ValueError, match="more rows than columns and no constant column"):
            NormalFamily(3).fit(x)


@pytest.mark.exact
@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_information_of_a_normal_fit_is_that_of_differences(d: int) -> None:
    x = np.random.default_rng(d).normal(size=(60, d)) @ np.random.default_rng(9).normal(size=(d, d)) + 3.0
    family = NormalFamily(d)
    params = family.fit(x)
    units = np.ones(len(params))
    np.testing.assert_allclose(
        family.mean_slope(params, x, units), Family.mean_slope(family, params, x, units), rtol=1e-5, atol=1e-6
    )
