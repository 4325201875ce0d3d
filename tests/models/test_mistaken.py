"""A log density that is taken for a score on the line is asked about, and no score is."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.models.base import ScoreFunction
from steinball.models.mistaken import warn_if_log_density

pytestmark = pytest.mark.exact

SCORES: list[tuple[Any, Callable[[Any], Any]]] = [
    (stats.expon(), lambda x: -np.ones_like(x)),
    (stats.halfnorm(), lambda x: -x),
    (stats.gamma(0.5), lambda x: -0.5 / x - 1.0),
    (stats.gengamma(0.25, 2), lambda x: -0.5 / x - 2.0 * x),
    (stats.pareto(2.0), lambda x: -3.0 / x),
    (stats.norm(), lambda x: -x),
]


@pytest.mark.parametrize("law", [stats.norm(), stats.norm(100.0, 3.0), stats.t(3), stats.logistic()])
@pytest.mark.parametrize("n", [200, 1000])
def test_a_log_density_in_place_of_a_score_is_asked_about(law: Any, n: int) -> None:
    x = law.rvs(size=n, random_state=0)
    with pytest.warns(sb.models.LogDensityWarning, match="a log density looks like this.*from_log_density"):
        sb.ksd_test(x, lambda x: law.logpdf(x), rng=0)


@pytest.mark.parametrize(("law", "score"), SCORES)
def test_scores_that_are_negative_everywhere_are_not(law: Any, score: Callable[[Any], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in range(100):
            x = law.rvs(size=(60, 1), random_state=k)
            warn_if_log_density(ScoreFunction(score), x, score(x))
