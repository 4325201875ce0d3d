"""Predictions of statsmodels, on the real library."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.adapters.estimators import ADAPTERS
from steinball.predictive.law import Observed

pytestmark = pytest.mark.exact

N = 200
RNG = np.random.default_rng(0)
X = np.column_stack([np.ones(N), RNG.normal(size=(N, 2))])
MEAN = X @ [1.0, 0.3, 0.2]
Y = {
    "normal": MEAN + RNG.normal(size=N),
    "counts": RNG.poisson(np.exp(MEAN)).astype(float),
    "binary": (RNG.random(N) < 1 / (1 + np.exp(-MEAN))).astype(int),
    "gamma": RNG.gamma(2.0, np.exp(MEAN) / 2.0),
    "trials": RNG.binomial(10, 1 / (1 + np.exp(-MEAN))),
    "classes": RNG.integers(0, 3, N),
}


@pytest.fixture
def sm() -> Any:
    return pytest.importorskip("statsmodels.api")


def models(sm: Any) -> dict[str, tuple[Any, Any]]:
    """Result and y of every kind that is read."""
    families, y = sm.families, Y
    pairs = np.column_stack([y["trials"], 10 - y["trials"]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "OLS": (sm.OLS(y["normal"], X).fit(), y["normal"]),
            "WLS": (sm.WLS(y["normal"], X, weights=np.linspace(1.0, 2.0, N)).fit(), y["normal"]),
            "RLM": (sm.RLM(y["normal"], X).fit(), y["normal"]),
            "GLM Gaussian": (sm.GLM(y["normal"], X, family=families.Gaussian()).fit(), y["normal"]),
            "GLM Poisson": (sm.GLM(y["counts"], X, family=families.Poisson()).fit(), y["counts"]),
            "Poisson": (sm.Poisson(y["counts"], X).fit(disp=0), y["counts"]),
            "GLM negative binomial": (
                sm.GLM(y["counts"], X, family=families.NegativeBinomial(alpha=0.01)).fit(),
                y["counts"],
            ),
            "negative binomial": (sm.NegativeBinomial(y["counts"], X).fit(disp=0), y["counts"]),
            "GLM gamma": (sm.GLM(y["gamma"], X, family=families.Gamma(families.links.Log())).fit(), y["gamma"]),
            "GLM binomial": (sm.GLM(y["binary"], X, family=families.Binomial()).fit(), y["binary"]),
            "trials": (sm.GLM(pairs, X, family=families.Binomial()).fit(), y["trials"]),
            "Logit": (sm.Logit(y["binary"], X).fit(disp=0), y["binary"]),
            "MNLogit": (sm.MNLogit(y["classes"], X).fit(disp=0), y["classes"]),
        }


def pit(result: Any, y: Any) -> Any:
    found = ADAPTERS["statsmodels"].prediction(result, y, None)
    assert found is not None
    return found.law.pit(y, Observed(), np.random.default_rng(0))


def test_every_kind_is_read_with_its_own_law(sm: Any) -> None:
    found = models(sm)
    for name, (result, y) in found.items():
        intervals = pit(result, y)
        middle = (intervals.low + intervals.high) / 2.0
        assert abs(middle.mean() - 0.5) < 0.06, name
    ols, y = found["OLS"]
    expected = stats.norm.cdf(y, ols.fittedvalues, np.sqrt(ols.scale))
    np.testing.assert_allclose(pit(ols, y).low[0], expected)
    weighted, _ = found["WLS"]
    scale = np.sqrt(weighted.scale / np.linspace(1.0, 2.0, N))
    np.testing.assert_allclose(pit(weighted, y).low[0], stats.norm.cdf(y, weighted.fittedvalues, scale))
    counted, y = found["trials"]
    np.testing.assert_allclose(pit(counted, y).high[0], stats.binom.cdf(y, 10, counted.fittedvalues))


def test_refits_are_fits_to_the_simulated_values(sm: Any) -> None:
    for name, (result, y) in models(sm).items():
        read = ADAPTERS["statsmodels"].prediction(result, y, None)
        assert read is not None
        assert read.refit is not None
        again = read.refit(y).law.pit(y, Observed(), np.random.default_rng(0))
        np.testing.assert_allclose(again.low, pit(result, y).low, atol=1e-3, err_msg=name)
        drawn = read.law.draw(N, np.random.default_rng(1))
        moved = read.refit(drawn).law.pit(drawn, Observed(), np.random.default_rng(0))
        middle = (moved.low + moved.high) / 2.0
        assert abs(middle.mean() - 0.5) < 0.08, name


def test_results_know_that_they_were_fitted_to_these_rows(sm: Any) -> None:
    y = Y["normal"]
    result = sb.predictive_test(y, sm.OLS(y, X).fit(), contamination=0.0, n_resamples=39, rng=0)
    assert (result.fitted, result.calibration) == ("same-rows", "Refits")
    assert result.features == ("x1", "x2", "prediction", "row")
    with pytest.warns(sb.cautions.FittedOnDataWarning, match=r"statsmodels\.api\.RLM"):
        sb.predictive_test(y, sm.OLS(y, X).fit(), contamination=0.05, n_resamples=39, rng=0)
    robust = sb.predictive_test(y, sm.RLM(y, X).fit(), contamination=0.05, n_resamples=39, rng=0)
    assert not robust.rejected
    with pytest.raises(ValueError, match="must be the y that `predictive` was fitted to"):
        sb.predictive_test(y[::-1], sm.OLS(y, X).fit(), contamination=0.0)
    with pytest.raises(ValueError, match="other-rows"):
        sb.predictive_test(y, sm.OLS(y, X).fit(), contamination=0.0, fitted="other-rows")


def test_a_missed_bend_is_found_and_named(sm: Any) -> None:
    y = MEAN + 0.6 * X[:, 1] ** 2 + RNG.normal(size=N)
    result = sb.predictive_test(y, sm.OLS(y, X).fit(), contamination=0.0, n_resamples=99, rng=0)
    assert result.rejected
    assert result.feature in ("x1", "prediction")


def test_counts_that_vary_too_much_are_found(sm: Any) -> None:
    y = RNG.negative_binomial(2, 2 / (2 + np.exp(MEAN))).astype(float)
    result = sb.predictive_test(y, sm.Poisson(y, X).fit(disp=0), contamination=0.0, n_resamples=39, rng=0)
    assert result.rejected
    assert "too narrow" in result.region


def test_what_is_no_result_is_left_to_others(sm: Any) -> None:
    assert ADAPTERS["statsmodels"].prediction(sm.families.Poisson(), Y["counts"], None) is None
