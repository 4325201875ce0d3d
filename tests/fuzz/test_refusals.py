"""What a long series of hostile calls found once, in the shortest form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.arrays import OutOfRangeError

pytestmark = pytest.mark.exact

X = np.random.default_rng(0).normal(size=(20, 1))
NORMAL = sb.models.Gaussian()
TWO = sb.models.GaussianMixture([0.5, 0.5], [-4.0, 4.0])

REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a number as marginals": (lambda: sb.models.Independent(0.5), TypeError, "`marginals` must be"),  # type: ignore[arg-type]
    "a letter among marginals": (lambda: sb.models.Independent("a"), TypeError, r"`marginals\[0\]`"),
    "a negative stop": (lambda: sb.Betting(stop=-1.0), ValueError, "`stop` must be"),
    "a scale whose square is no float": (lambda: sb.models.StudentT(4.0, scale=1e155), ValueError, "`scale` must be"),
    "an empty metric": (lambda: sb.InverseMultiquadric(1.0, metric=[]), ValueError, "`metric` must be"),
    "bytes as known parameters": (
        lambda: sb.fit_test(X, "normal", known_params=b"a"),  # type: ignore[arg-type]
        TypeError,
        "`known_params` must be",
    ),
    "a test without an answer": (
        lambda: sb.power(NORMAL, NORMAL, 20, 0.0, test=lambda x, rng: None),  # type: ignore[arg-type, return-value]
        TypeError,
        "`test` must return",
    ),
    "an alternative without a generator": (
        lambda: sb.power(NORMAL, lambda n: np.zeros(n), 20, 0.0),
        TypeError,
        "`alternative` must be a function",
    ),
    "an alternative without data": (
        lambda: sb.power(NORMAL, lambda n, rng: None, 20, 0.0),
        TypeError,
        r"`alternative\(n, rng\)` must",
    ),
    "a score as sampler": (
        lambda: sb.power(lambda x: -x, NORMAL, 20, 0.0, share=0.1),
        TypeError,
        "`model` must be a model with `sample",
    ),
    "points too far from all modes": (lambda: sb.mode_weights_test(1e200 * X, TWO), OutOfRangeError, "`x` has values"),
    "draws too wide for the model": (
        lambda: sb.mcmc_test(1e200 * np.random.default_rng(0).normal(size=(2, 60, 1)), NORMAL),
        ValueError,
        "too large to be squared",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused_by_name(case: str) -> None:
    call, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        call()


def test_means_of_huge_samples_do_not_pass_for_fitted_ones() -> None:
    x = X.copy()
    x[0] = 1e200
    sb.ksd_test(x, NORMAL, kernel=sb.InverseMultiquadric(1.0), tilt=sb.PolynomialTilt(), tau=2.0, rng=0)
