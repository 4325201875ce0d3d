"""Rows and models in standardized coordinates."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.arrays import Floats
from steinball.fitting import as_family
from steinball.models.autodiff import difference_jacobian
from steinball.models.family import Family
from steinball.models.knowledge import Knowledge
from steinball.models.reference import Reference
from steinball.models.registry import ScoreArray
from steinball.models.standardized import MovedFamily, Standardization, Standardized, standardized
from steinball.models.student_t import StudentFamily
from steinball.problem import Problem
from steinball.rows import Rows
from steinball.tilts.scatter import Scatter

pytestmark = pytest.mark.exact

CENTER = np.array([3.0, -1.0])
COV = np.array([[100.0, 0.9], [0.9, 0.01]])
X = np.random.default_rng(0).multivariate_normal(CENTER, COV, size=200)
MOVE = Standardization.of(Scatter(CENTER, COV))


class Shown:
    """A model that can be drawn from and says nothing else."""

    def score(self, x: Any) -> Any:
        return -(x - CENTER) @ np.linalg.inv(COV)

    def sample(self, n: int, rng: Any) -> Floats:
        return np.asarray(rng.multivariate_normal(CENTER, COV, size=n))


def of(model: Any, move: Standardization = MOVE) -> Standardized:
    return Standardized(model, move)


def test_the_move_takes_the_covariance_to_the_identity_and_comes_back() -> None:
    np.testing.assert_allclose(MOVE.shrunk(COV), np.eye(2), atol=1e-10)
    np.testing.assert_allclose(MOVE.back(MOVE(X)), X, rtol=1e-10)
    np.testing.assert_allclose(MOVE.root @ MOVE.root.T, COV, rtol=1e-10)
    z = (X - CENTER) / np.sqrt(np.diag(COV))
    assert np.corrcoef(MOVE(X)[:, 0], z[:, 0])[0, 1] > 0.5  # a column stays what it was, as far as it can


def test_units_of_the_columns_do_not_matter() -> None:
    units = np.array([1e-3, 1e4])
    other = Standardization.of(Scatter(CENTER * units, COV * np.outer(units, units)))
    np.testing.assert_allclose(other(X * units), MOVE(X), rtol=1e-9)


def test_the_score_is_the_gradient_of_the_log_density_of_z() -> None:
    model = of(sb.models.StudentT(5.0, CENTER, shape=2.0 * COV))
    z, h = np.array([[0.3, -1.2]]), 1e-6
    assert model.log_density is not None
    slopes = [(model.log_density(z + h * e) - model.log_density(z - h * e))[0] / (2.0 * h) for e in np.eye(2)]
    np.testing.assert_allclose(model.score(z)[0], slopes, rtol=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        sb.models.Gaussian(CENTER, COV),
        sb.models.StudentT(5.0, CENTER, 2.0, shape=COV),
        sb.models.GaussianMixture([0.3, 0.7], [CENTER, CENTER + 2.0], [COV, 2.0 * COV]),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_of_closed_classes_stay_in_their_class_and_agree_with_the_general_form(model: Any) -> None:
    found = standardized(model, X)
    assert found is not None
    alike, move = found
    assert type(alike) is type(model)
    z = move(X)
    np.testing.assert_allclose(alike.score(z), of(model, move).score(z), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(np.diag(alike.covariance), 1.0, rtol=1e-7)


def test_a_model_without_covariance_is_standardized_by_its_draws() -> None:
    found = standardized(Shown(), X, look=False)
    assert found is not None
    np.testing.assert_allclose(found[1].shrunk(COV), np.eye(2), atol=0.15)
    assert not found[1].from_data


def test_a_bare_score_is_standardized_by_the_data_unless_these_must_not_be_looked_at() -> None:
    found = standardized(sb.from_score(lambda x: -x), X)
    assert found is not None
    assert found[1].from_data
    np.testing.assert_allclose(found[1].shrunk(COV), np.eye(2), atol=0.5)
    assert standardized(sb.from_score(lambda x: -x), X, look=False) is None


def test_few_rows_tell_scales_and_no_correlations() -> None:
    found = standardized(sb.from_score(lambda x: -x), X[:9])
    assert found is not None
    assert found[1].root.ndim == 1


def test_a_model_with_edges_is_scaled_column_by_column() -> None:
    edged = sb.from_score(lambda x: -x, support=[(-100.0, None), (None, None)])
    found = standardized(edged, X)
    assert found is not None
    model, move = found
    assert move.root.ndim == 1
    support = Knowledge(model).support
    assert support is not None
    assert support.ends[0][0] == pytest.approx((-100.0 - move.center[0]) / move.root[0])


def test_scores_that_are_known_at_the_draws_only_stay_so() -> None:
    model = of(ScoreArray(X, -X))
    assert not Knowledge(model).evaluable
    rows = Rows.of(X, ScoreArray(X, -X), standardize=True)
    problem = Problem.of(rows, None, None)
    np.testing.assert_allclose(problem.scores, rows.moves[0].pulled(-X))  # type: ignore[attr-defined]


def test_what_the_model_knows_of_itself_is_told_in_those_coordinates() -> None:
    known = Knowledge(of(sb.models.Gaussian(CENTER, COV)))
    np.testing.assert_allclose(known.location, [0.0, 0.0], atol=1e-12)  # type: ignore[arg-type]
    np.testing.assert_allclose(known.covariance, np.eye(2), atol=1e-10)  # type: ignore[arg-type]
    np.testing.assert_allclose(np.cov(known.draws(4000).T), np.eye(2), atol=0.08)  # type: ignore[arg-type, union-attr]
    assert known.growth == 1.0
    assert known.verified


def test_modes_move_along() -> None:
    apart = of(sb.models.GaussianMixture([0.5, 0.5], [CENTER - 50.0, CENTER + 50.0], [COV] * 2))
    assert apart.modes is not None
    np.testing.assert_allclose(apart.modes.locations, MOVE(np.stack([CENTER - 50.0, CENTER + 50.0])))
    np.testing.assert_allclose(apart.modes.covariances, [np.eye(2)] * 2, atol=1e-10)


def test_a_model_that_knows_nothing_says_nothing() -> None:
    known = Knowledge(of(sb.from_score(lambda x: -x)))
    said = (known.location, known.covariance, known.sampler, known.log_density, known.support, known.clusters)
    assert said == (None,) * 6
    assert (known.growth, known.score_bounds) == (None, None)
    assert known.score_growth(np.zeros(2), np.eye(2)) == ()


def test_bounds_of_the_score_hold_at_many_points() -> None:
    model = of(sb.models.GaussianMixture([0.3, 0.7], [CENTER, CENTER + 2.0], [COV, 2.0 * COV]))
    known, rng = Knowledge(model), np.random.default_rng(1)
    low, high = np.array([[-1.0, 0.5]]), np.array([[0.5, 2.0]])
    z = rng.uniform(low, high, size=(500, 2))
    assert known.score_bounds is not None
    least, most = known.score_bounds(low, high)
    scores = model.score(z)
    assert ((scores >= least - 1e-9) & (scores <= most + 1e-9)).all()
    far, center = 10.0 * rng.normal(size=(500, 2)), np.array([0.5, -0.5])
    precision = np.array([[2.0, 0.3], [0.3, 1.0]])
    distance = np.sqrt(np.einsum("ni,ij,nj->n", far - center, precision, far - center))
    for growth in known.score_growth(center, precision):
        assert (np.linalg.norm(model.score(far), axis=1) <= growth.at(distance) * (1.0 + 1e-9)).all()


def test_bounds_of_a_round_model_are_attained() -> None:
    """s_z = −z where the standard deviation is 10 in both columns: nothing is lost, and nothing is missing."""
    wide = Standardization.of(Scatter(CENTER, 100.0 * np.eye(2)))
    known = Knowledge(of(sb.models.Gaussian(CENTER, 100.0), wide))
    (growth,) = known.score_growth(np.zeros(2), np.eye(2))
    assert (growth.offset, growth.slope) == pytest.approx((0.0, 1.0), abs=1e-12)
    assert known.score_bounds is not None
    low, high = known.score_bounds(np.array([[-1.0, 0.0]]), np.array([[2.0, 1.0]]))
    np.testing.assert_allclose([low[0], high[0]], [[-2.0, -1.0], [1.0, 0.0]], atol=1e-12)


def test_a_model_is_drawn_from_once() -> None:
    drawn = []

    class Counted(Shown):
        def sample(self, n: int, rng: Any) -> Floats:
            drawn.append(n)
            return super().sample(n, rng)

    model = Counted()
    rows = Rows.of(X, model, standardize=True)
    found = Reference.of(rows.model, X)
    assert found is not None
    assert drawn == [len(found.draws)]
    np.testing.assert_allclose(found.draws, rows.moves[0](Reference.of(model, X).draws))  # type: ignore[arg-type, union-attr]
    np.testing.assert_allclose(found.scores, rows.model.score(found.draws), rtol=1e-8)  # type: ignore[arg-type]


def test_draws_are_moved_once_for_all_rows_of_a_model() -> None:
    model = Shown()
    first, second = (Reference.of(Rows.of(x, model, standardize=True).model, X) for x in (X, X[::-1]))
    assert first is not None
    assert first is second


def test_a_model_that_has_changed_is_standardized_anew() -> None:
    class Moving(Shown):
        location, covariance = CENTER, COV

    model = Moving()
    first = Rows.of(X, model, standardize=True)
    model.covariance = 4.0 * COV
    second = Rows.of(X, model, standardize=True)
    np.testing.assert_allclose(first.samples, 2.0 * second.samples, rtol=1e-8)


def test_what_is_kept_does_not_keep_the_model_alive() -> None:
    model = Shown()
    Rows.of(X, model, standardize=True)
    reference = weakref.ref(model)
    del model
    gc.collect()
    assert reference() is None


def test_rows_of_a_round_model_are_left_where_they_are() -> None:
    rows = Rows.of(X, sb.models.Gaussian(dimension=2), standardize=True)
    assert rows.standard
    assert rows.moves == ()
    assert rows.samples is rows.given


def test_a_covariance_of_another_dimension_is_not_used() -> None:
    with pytest.raises(ValueError, match="has dimension 1 but"):
        sb.ksd_test(X, sb.models.Gaussian(0.0, 4.0), rng=0)


def test_a_frozen_distribution_of_scipy_is_standardized() -> None:
    rows = Rows.of(X, stats.multivariate_normal(CENTER, COV), standardize=True)
    np.testing.assert_allclose(rows.moves[0].shrunk(COV), np.eye(2), atol=1e-8)  # type: ignore[arg-type, attr-defined]


FAMILY_COV = np.array([[100.0, 0.9], [0.9, 0.01]])
FAMILY_MOVE = Standardization.of(Scatter(np.array([3.0, -1.0]), FAMILY_COV))
ROWS = np.random.default_rng(0).multivariate_normal([3.0, -1.0], FAMILY_COV, size=300)


@pytest.mark.parametrize("name", ["normal", "mixture:2"])
def test_parameters_are_those_of_the_data_and_scores_those_of_z(name: str) -> None:
    family = as_family(name, 2)
    assert isinstance(family, Family)
    x = (
        ROWS
        if name == "normal"
        else np.where(np.arange(len(ROWS))[:, None] % 2 == 0, ROWS, ROWS + np.array([60.0, 0.0]))
    )
    moved, z = MovedFamily(family, FAMILY_MOVE), FAMILY_MOVE(x)
    params = moved.fit(z)
    np.testing.assert_allclose(params, family.fit(x), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(
        moved.score(params, z), FAMILY_MOVE.pulled(family.score(params, x)), rtol=1e-6, atol=1e-8
    )
    np.testing.assert_allclose(
        moved.parameter_scores(params, z), family.parameter_scores(params, x), rtol=1e-5, atol=1e-5
    )
    np.testing.assert_allclose(moved.start(z), family.start(x), rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(moved.from_working(moved.to_working(params)), params, rtol=1e-6, atol=1e-9)
    steps = 1e-6 * np.maximum(np.abs(params), 1e-3)

    def densities(at: np.ndarray) -> np.ndarray:
        return np.asarray(moved.model(at).log_density(z[:20]))  # type: ignore[attr-defined]

    slopes = difference_jacobian(densities, params, steps)
    np.testing.assert_allclose(
        moved.parameter_scores(params, z[:20]), slopes, rtol=2e-3, atol=2e-3 * np.abs(slopes).max()
    )


def test_draws_are_those_of_z() -> None:
    moved = MovedFamily(as_family("normal", 2), FAMILY_MOVE)  # type: ignore[arg-type]
    model = moved.model(moved.fit(FAMILY_MOVE(ROWS)))
    assert isinstance(model.model, sb.models.Gaussian)  # type: ignore[attr-defined]
    draws = model.sample(4000, np.random.default_rng(0))  # type: ignore[attr-defined]
    np.testing.assert_allclose(np.cov(draws.T), np.cov(FAMILY_MOVE(ROWS).T), atol=0.1)


def test_what_no_affine_map_changes_is_passed_on() -> None:
    class Scored:
        growth, derived, takes_numpy, verified = 2.0, True, True, True

        def score(self, x: Any) -> Any:
            return -x

    model = Scored()
    known = Knowledge(Standardized(model, FAMILY_MOVE))
    assert (known.growth, known.derived, known.takes_numpy, known.verified) == (2.0, True, True, True)
    assert known.original is model
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        _ = Standardized(model, FAMILY_MOVE).colour


def test_what_is_about_parameters_alone_is_that_of_the_family() -> None:
    family: Any = as_family("normal", 2)
    moved, params = MovedFamily(family, FAMILY_MOVE), family.fit(ROWS)
    working = family.to_working(params)
    np.testing.assert_array_equal(moved.to_working(params), working)
    np.testing.assert_array_equal(moved.from_working(working), family.from_working(working))
    np.testing.assert_array_equal(moved.working_jacobian(params), family.working_jacobian(params))
    assert moved.reported(params, params) == family.reported(params, params)


def test_a_moved_family_says_of_its_parameters_what_the_family_says() -> None:
    class Named(StudentFamily):
        label, numerical, fixed, quick = "named", True, ("a",), False

    family, edge, ones = Named(), np.array([0.0, 1.0, 2.0]), np.ones(3)
    moved = MovedFamily(family, Standardization.of(Scatter(np.ones(1), 4.0 * np.eye(1))))
    for name in ("label", "names", "positive", "numerical", "fixed", "quick"):
        assert getattr(moved, name) == getattr(family, name)
    assert moved.inside(edge).tolist() == [False, True, True]
    assert moved.reported(edge, ones).keys() == family.reported(edge, ones).keys()
    np.testing.assert_array_equal(moved.working_jacobian(edge), family.working_jacobian(edge))
    np.testing.assert_array_equal(moved.from_working(-ones), family.from_working(-ones))
