"""Draws and model in units of the draws' spread."""

from __future__ import annotations

import numpy as np
import pytest

import steinball as sb
from steinball.arrays import Floats
from steinball.models.base import ScoreArray
from steinball.models.knowledge import Knowledge
from steinball.posterior.standardized import Standardized, spread_of

pytestmark = pytest.mark.exact

RNG = np.random.default_rng(0)
CENTER, SCALE = np.array([3.0, -1.0]), np.array([10.0, 0.1])
X = CENTER + SCALE * RNG.normal(size=(200, 2))


def of(model: sb.models.Model) -> Standardized:
    return Standardized(model, CENTER, SCALE, X)


def test_the_score_is_that_of_the_transformed_density() -> None:
    model = of(sb.models.Gaussian(CENTER, np.diag(SCALE**2)))
    np.testing.assert_allclose(model.score(model.standard), -model.standard, atol=1e-12)
    np.testing.assert_allclose(model.score(np.array([[2.0, 1.0]])), [[-2.0, -1.0]], atol=1e-12)


def test_the_score_at_the_draws_is_computed_once() -> None:
    rows = []

    def score(x: Floats) -> Floats:
        rows.append(len(x))
        return -x

    model = of(sb.from_score(score))
    for _ in range(3):
        model.score(model.standard.copy())
    assert rows == [200]


def test_scores_that_are_known_at_the_draws_only_stay_so() -> None:
    model = of(ScoreArray(X, -X))
    assert not Knowledge(model).evaluable
    np.testing.assert_array_equal(model.score(model.standard), -X * SCALE)
    with pytest.raises(ValueError, match="knows the score only at the samples"):
        model.score(model.standard + 1.0)


def test_what_the_model_knows_of_itself_is_told_in_those_units() -> None:
    known = Knowledge(of(sb.models.Gaussian(CENTER, np.diag(SCALE**2))))
    np.testing.assert_allclose(known.location, [0.0, 0.0], atol=1e-12)  # type: ignore[arg-type]
    np.testing.assert_allclose(known.covariance, np.eye(2))  # type: ignore[arg-type]
    np.testing.assert_allclose(known.draws(4000).std(axis=0), 1.0, atol=0.05)  # type: ignore[union-attr]
    assert known.growth == 1.0
    density = known.log_density
    assert density is not None
    np.testing.assert_allclose(np.diff(density(np.array([[0.0, 0.0], [1.0, 0.0]]))), -0.5)


def test_its_ends_and_modes_move_along() -> None:
    edged = Knowledge(of(sb.from_score(lambda x: -x, support=[(3.0, None), (None, None)]))).support
    assert edged is not None
    assert edged.ends == ((0.0, np.inf), (-np.inf, np.inf))
    apart = of(sb.models.GaussianMixture([0.5, 0.5], [[-97.0, -1.0], [103.0, -1.0]], [np.diag(SCALE**2)] * 2))
    np.testing.assert_allclose(apart.modes.locations, [[-10.0, 0.0], [10.0, 0.0]], atol=1e-12)  # type: ignore[union-attr]


def test_a_model_that_knows_nothing_says_nothing() -> None:
    model = of(sb.from_score(lambda x: -x))
    said = (model.location, model.covariance, model.sample, model.log_density, model.support, model.modes, model.growth)
    assert said == (None,) * 7


def test_a_column_that_mostly_stays_put_has_a_spread_all_the_same() -> None:
    x = np.zeros((100, 1))
    x[:10] = 5.0
    assert spread_of(x)[1][0] == pytest.approx(1.5)


def test_the_move_leads_from_parameters_to_where_they_are_tested() -> None:
    x = np.random.default_rng(0).normal(5.0, 3.0, size=(20, 2))
    model = Standardized(sb.from_score(lambda x: -x, support=(0, None)), *spread_of(x), x)
    move = model.move
    np.testing.assert_array_equal(move(x), model.standard)
    assert move.model is model.model
    assert move.support is not None
    assert str(move.support) == "(0, ∞)"


def test_a_model_that_is_known_to_be_right_stays_so() -> None:
    assert Knowledge(of(sb.models.Gaussian(CENTER, np.diag(SCALE**2)))).verified
    assert not Knowledge(of(sb.from_score(lambda x: -x))).verified
