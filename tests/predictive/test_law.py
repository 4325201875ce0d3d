"""What is predicted for each row, read from plain objects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from steinball.predictive.law import (
    ClassProbabilities,
    Distribution,
    DistributionFunction,
    Draws,
    Observed,
    plain_prediction,
)
from steinball.predictive.loo import LeaveOneOut

pytestmark = pytest.mark.exact

RNG = np.random.default_rng(0)
Y = RNG.normal(size=50)


PLAIN = Observed()


def ends(law: Any, y: Any = Y, observed: Observed = PLAIN) -> tuple[Any, Any]:
    pit = law.pit(y, observed, np.random.default_rng(1))
    return pit.low, pit.high


@pytest.mark.parametrize(
    ("predictive", "kind"),
    [
        ((np.zeros(50), 1.0), Distribution),
        (stats.norm(np.zeros(50), 1.0), Distribution),
        (stats.Normal(mu=np.zeros(50), sigma=1.0), Distribution),
        (RNG.normal(size=(50, 19)), Draws),
        (RNG.dirichlet(np.ones(3), size=50), ClassProbabilities),
        (stats.norm(0.0, 1.0).cdf, DistributionFunction),
    ],
)
def test_plain_objects_are_read_by_their_shape(predictive: Any, kind: type) -> None:
    assert type(plain_prediction(predictive, Y).law) is kind


def test_a_pair_a_frozen_law_a_new_law_and_a_function_say_the_same() -> None:
    mean = RNG.normal(size=50)
    laws = [
        (mean, 2.0),
        stats.norm(mean, 2.0),
        stats.Normal(mu=mean, sigma=2.0),
        lambda y: stats.norm.cdf(y, mean, 2.0),
    ]
    found = [ends(plain_prediction(law, Y).law)[0] for law in laws]
    for other in found:
        np.testing.assert_allclose(other, stats.norm.cdf(Y, mean, 2.0)[None], atol=1e-12)


def test_a_discrete_law_of_the_new_kind_has_steps() -> None:
    y = np.array([0.0, 2.0, 3.0])
    low, high = ends(plain_prediction(stats.Binomial(n=5, p=np.array([0.1, 0.5, 0.9])), y).law, y)
    old = ends(plain_prediction(stats.binom(5, [0.1, 0.5, 0.9]), y).law, y)
    np.testing.assert_allclose([low, high], old, atol=1e-9)


@pytest.mark.parametrize(
    ("predictive", "words"),
    [
        (stats.norm, "no parameters yet"),
        (np.zeros(50), "one number a row is no law"),
        (np.zeros((30, 50)), "pass its transpose"),
        (np.zeros((50, 5)), "S ≥ 19"),
        ((np.zeros(49), 1.0), "must have shape"),
        ((np.zeros(50), 0.0), "above 0"),
        (stats.norm(np.zeros(49), 1.0), "one law for each of the 50 rows"),
        ((np.full(50, np.nan), 1.0), "finite means"),
        (np.full((50, 19), np.nan), "nan"),
        (lambda y: 2.0 + 0.0 * y, r"must lie in \[0, 1\], got 2"),
        ("normal", "must be a pair"),
    ],
)
def test_what_is_no_law_of_these_rows_is_refused_by_name(predictive: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        ends(plain_prediction(predictive, Y).law)


def test_draws_are_censored_and_rounded_as_y_is() -> None:
    limits, draws = np.full(50, 0.5), RNG.normal(size=(50, 99))
    y = np.minimum(Y, limits)
    low, high = ends(Draws(draws), y, Observed(limits))
    censored = y == limits
    beyond = (draws >= 0.5).mean(axis=1)[censored]
    assert ((low[0, censored] >= 1.0 - beyond - 0.02) & (high[0, censored] <= 1.0)).all()
    rounded = np.round(Y)
    low, _ = ends(Draws(draws), rounded, Observed(step=1.0))
    assert np.unique(low).size > 10  # ties are broken at random among equal draws


def test_every_row_is_censored_at_a_limit_of_its_own() -> None:
    observed, draws = Observed(np.array([1.0, 2.0])), np.array([[0.5, 3.0, 9.0], [0.5, 3.0, 9.0]])
    assert observed(draws, 0.0).tolist() == [[0.5, 1.0, 1.0], [0.5, 2.0, 2.0]]
    assert observed(draws[:, 1], 0.0).tolist() == [1.0, 2.0]


def test_a_function_and_a_law_agree_on_censored_rows() -> None:
    limits = np.full(50, 0.3)
    y = np.minimum(Y, limits)
    by_function = ends(DistributionFunction(stats.norm(0.0, 1.0).cdf), y, Observed(limits))
    np.testing.assert_allclose(by_function, ends(Distribution(stats.norm(0.0, 1.0)), y, Observed(limits)), atol=1e-12)
    with pytest.raises(ValueError, match="at most `censoring`"):
        ends(DistributionFunction(stats.norm(0.0, 1.0).cdf), Y, Observed(limits))


def test_classes_are_read_by_their_labels_and_drawn_with_them() -> None:
    law = ClassProbabilities(np.tile([0.2, 0.3, 0.5], (4000, 1)), np.array(["a", "b", "c"]))
    drawn = law.draw(4000, np.random.default_rng(0))
    assert set(drawn) == {"a", "b", "c"}
    assert abs((drawn == "c").mean() - 0.5) < 0.03
    with pytest.raises(ValueError, match="must hold the classes a, b, c, got 'd'"):
        law.read(["a", "d"])


def test_draws_of_a_law_have_that_law() -> None:
    law = Distribution(stats.poisson(np.full(4000, 2.0)))
    drawn = law.draw(4000, np.random.default_rng(0))
    assert abs(drawn.mean() - 2.0) < 0.1
    assert abs(drawn.var() - 2.0) < 0.2


def test_the_center_is_the_mean_or_the_median_of_a_law_without_one() -> None:
    np.testing.assert_allclose(Distribution(stats.poisson([1.0, 2.0])).center(2)["prediction"], [1.0, 2.0])
    np.testing.assert_allclose(Distribution(stats.cauchy([1.0, 2.0])).center(2)["prediction"], [1.0, 2.0])


def test_a_posterior_says_which_weights_are_not_reliable() -> None:
    draws, steady = RNG.normal(size=(50, 200)), np.zeros((50, 200))
    assert LeaveOneOut(draws, steady).remarks == ()
    wild = RNG.standard_cauchy(size=(50, 200)) * 20
    assert "Pareto k" in LeaveOneOut(draws, wild).remarks[0].cause


def test_laws_are_drawn_from_by_their_sampler_or_their_quantiles() -> None:
    n = 4000
    laws = (stats.norm(np.full(n, 3.0), 1.0), stats.poisson(np.full(n, 3.0)), stats.binom(np.full(n, 6.0), 0.5),
            stats.Normal(mu=np.full(n, 3.0), sigma=1.0))  # fmt: skip
    for law in laws:
        drawn = plain_prediction(law, np.zeros(n)).law.draw(n, np.random.default_rng(0))
        assert drawn.shape == (n,)
        assert drawn.dtype == np.float64
        assert drawn.mean() == pytest.approx(3.0, abs=0.1)


def test_a_law_of_another_number_of_rows_is_refused_by_its_shape() -> None:
    with pytest.raises(ValueError, match=r"one law for each of the 50 rows of `y`, got shape \(49,\)"):
        ends(plain_prediction(stats.norm(np.zeros(49), 1.0), Y).law)
