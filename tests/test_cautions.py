"""Warnings have one base and point at the user's line; old names still work and say so."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball import cautions

pytestmark = pytest.mark.exact

X = np.random.default_rng(11).normal(size=200)
CATEGORIES = [
    value
    for name, value in vars(cautions).items()
    if name.endswith("Warning") and name not in ("SteinballWarning", "DeprecationWarning")
]


def gaussian(x: Any) -> Any:
    return -x


LOG_NORMAL = sb.from_score(
    lambda x: -(1.0 + np.log(x) / 2.25) / x,
    support=(0, None),
    sample=lambda n, rng: rng.lognormal(sigma=1.5, size=(n, 1)),
)


class Wrong:
    """Its score has the other sign."""

    def score(self, x: Any) -> Any:
        return np.asarray(x)

    def log_density(self, x: Any) -> Any:
        return -0.5 * np.asarray(x)[:, 0] ** 2


WRONG = Wrong()


def test_the_warning_points_at_the_users_line() -> None:
    result = sb.ksd_test(X, gaussian, calibration=sb.WeightedBootstrap(19), rng=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        here = inspect.currentframe()
        assert here is not None
        line = here.f_lineno
        sb.ksd_test(X, gaussian, radius=sb.Huber(0.1))
        sb.robust_ksd_test(X, gaussian, 0.05, tilt=None)
        result.at(contamination=0.1)
        sb.ksd_test(X, gaussian, calibration=sb.DeviationBound(proven=False))
        sb.robust_ksd_test(X, gaussian, 0.05, tau="auto")
        sb.ksd_test(X, sb.models.GaussianMixture([0.5, 0.5], [-6.0, 6.0]))
        sb.ksd_test(X, sb.from_score(lambda x: -1.3 * x, sample=lambda n, rng: rng.normal(size=(n, 1))))
        sb.ksd_test(np.exp(1.5 * X), LOG_NORMAL)
        sb.ksd_test(np.round(X), gaussian)
        sb.ksd_test(X, gaussian, tilt="auto", radius=sb.TotalVariation(0.1))
        sb.ksd_test(X, lambda x: -0.5 * x**2 - 1.0)
        sb.ksd_test(np.sort(X), gaussian)
        sb.ksd_test(X[:3], gaussian)
        sb.ksd_test(X, sb.models.Gaussian(X.mean(), X.var()))
        sb.ksd_test(X, WRONG)
    assert [(w.filename, w.lineno - line) for w in caught] == [(__file__, k) for k in range(1, 16)]
    assert {w.category for w in caught} == set(CATEGORIES)


@pytest.mark.parametrize("category", CATEGORIES, ids=lambda c: c.__name__)
def test_every_category_is_public_and_says_cause_and_remedy(category: type[Warning]) -> None:
    assert issubclass(category, sb.SteinballWarning)
    assert issubclass(category, UserWarning)
    assert "Remedy:" in (category.__doc__ or "")
    rooms = (getattr(sb, name) for name in sb.__all__)
    assert any(inspect.ismodule(room) and category.__name__ in room.__all__ for room in rooms)


def test_one_line_silences_them_all() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=sb.SteinballWarning)
        sb.ksd_test(X, gaussian, radius=sb.Huber(0.1), tau="auto", rng=0)


def test_a_finite_sample_bound_is_warned_of_at_a_contamination_of_zero_too() -> None:
    """Huber(0) needs no bound and the deviation bound does; neither warned, each leaving it to the other."""
    with pytest.warns(sb.features.UnboundedSteinKernelWarning, match="`DeviationBound` needs a bounded Stein kernel"):
        sb.ksd_test(X, gaussian, radius=sb.Huber(0.0), calibration=sb.DeviationBound(proven=False))
