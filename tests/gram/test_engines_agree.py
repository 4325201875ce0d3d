"""The three engines answer alike: same seed, same decision; and what a result says of its engine is true."""

from __future__ import annotations

import functools
import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import steinball as sb
import steinball.gram.lowrank
from steinball.arrays import to_host
from steinball.calibration import DeviationBound, WeightedBootstrap, WildBootstrap
from steinball.tilts import PolynomialTilt

pytestmark = pytest.mark.exact
Floats = NDArray[np.float64]

ENGINES = ("dense", "blocked", "lowrank")


@pytest.fixture(autouse=True)
def few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer random pairs: the bounds are wider, and no less valid."""
    monkeypatch.setattr(steinball.gram.lowrank, "PAIRS", (2**13, 2**15))


def sample_of(d: int, outliers: float, n: int = 350) -> Floats:
    x = np.random.default_rng(d).normal(size=(n, d))
    x[: int(outliers * n)] = 5.0
    return x


def results_of(x: Any, **options: Any) -> dict[str, Any]:
    model = sb.models.Gaussian(np.zeros(x.shape[1]))
    return {engine: sb.ksd_test(x, model, engine=engine, rng=11, **options) for engine in ENGINES}


CALIBRATIONS: dict[str, dict[str, Any]] = {
    "weighted": {"calibration": WeightedBootstrap(299)},
    "wild": {"calibration": WildBootstrap(299)},
    "deviation": {"calibration": DeviationBound(proven=False)},
    "u": {"calibration": WeightedBootstrap(299), "estimator": "u"},
}


@pytest.mark.parametrize("outliers", [0.0, 0.03, 0.15])
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_the_same_seed_gives_the_same_answer_on_every_engine(d: int, outliers: float, calibration: str) -> None:
    options = CALIBRATIONS[calibration]
    results = results_of(sample_of(d, outliers), tilt=PolynomialTilt(), radius=0.02, **options)
    dense, blocked, low = (results[engine] for engine in ENGINES)
    assert blocked.pvalue == pytest.approx(dense.pvalue, rel=1e-9)
    assert blocked.squared_ksd == pytest.approx(dense.squared_ksd, rel=1e-10)
    assert blocked.threshold == pytest.approx(dense.threshold, rel=1e-10)
    np.testing.assert_allclose(blocked.contributions, dense.contributions, rtol=1e-8, atol=1e-12)
    bounds = low.details["ksd_bounds"], low.details["pvalue_bounds"]
    assert bounds[0][0] <= dense.ksd <= bounds[0][1]
    assert bounds[1][0] <= dense.pvalue * (1 + 1e-12)
    assert dense.pvalue <= bounds[1][1] * (1 + 1e-12)
    if low.grade == "certified":
        assert low.rejected == dense.rejected
    assert low.tau == blocked.tau == dense.tau
    assert [result.engine for result in results.values()] == list(ENGINES)
    assert [result.grade for result in (dense, blocked)] == ["exact", "exact"]


def test_far_outliers_leave_the_engines_in_agreement() -> None:
    x = sample_of(3, 0.05)
    x[:17] = 1e9
    results = results_of(x, tilt=PolynomialTilt(), calibration=WeightedBootstrap(199))
    assert results["blocked"].pvalue == results["dense"].pvalue
    assert results["blocked"].ksd == pytest.approx(results["dense"].ksd, rel=1e-10)
    assert results["lowrank"].rejected == results["dense"].rejected


def test_low_rank_contributions_add_up_nearly() -> None:
    """They sum to D² up to the part of the residual that is spread over pairs: within the bound on it."""
    low = results_of(sample_of(2, 0.03), tilt=PolynomialTilt())["lowrank"]
    lower, upper = low.details["ksd_bounds"]
    assert float(low.contributions.sum()) == pytest.approx(low.squared_ksd, abs=upper**2 - lower**2)


@pytest.mark.backend
@pytest.mark.parametrize("engine", ["dense", "blocked"])
def test_every_array_library_gives_the_same_pvalue(xp: Any, engine: str) -> None:
    x = sample_of(3, 0.1, 230)
    options: dict[str, Any] = {
        "engine": engine,
        "rng": 3,
        "tilt": PolynomialTilt(),
        "calibration": WeightedBootstrap(99),
    }
    ours = sb.ksd_test(x, functools.partial(np.multiply, -1.0), **options)
    theirs = sb.ksd_test(xp.asarray(x), lambda x: -x, **options)
    assert theirs.pvalue == ours.pvalue
    assert theirs.rejected == ours.rejected
    assert theirs.ksd == pytest.approx(ours.ksd, rel=1e-10)
    np.testing.assert_allclose(to_host(theirs.contributions), ours.contributions, rtol=1e-8, atol=1e-12)
    assert type(theirs.contributions) is type(xp.asarray(x))


@pytest.mark.parametrize("engine", ENGINES)
def test_single_precision_is_computed_in_double(engine: str) -> None:
    x = sample_of(2, 0.1)
    double = sb.ksd_test(x, lambda x: -x, engine="dense", rng=1, tilt=PolynomialTilt())
    single = sb.ksd_test(x.astype(np.float32), lambda x: -x, engine=engine, rng=1, tilt=PolynomialTilt())
    tolerance = 1e-2 if engine == "lowrank" else 1e-6
    assert single.ksd == pytest.approx(double.ksd, rel=tolerance)
    assert single.rejected == double.rejected
    assert single.contributions.dtype == np.float64


@pytest.mark.parametrize("engine", ENGINES)
def test_more_draws_extend_the_earlier_ones(engine: str) -> None:
    """The draws of B + more are those of B and then more, on every engine; the low-rank ones nearly so."""
    x = sample_of(1, 0.1)
    options: dict[str, Any] = {"tilt": PolynomialTilt(), "rng": 5, "engine": engine}
    grown = sb.ksd_test(x, lambda x: -x, calibration=WeightedBootstrap(100), **options).extend(77).extend(23)
    whole = sb.ksd_test(x, lambda x: -x, calibration=WeightedBootstrap(200), **options)
    assert grown.n_resamples == whole.n_resamples == 200
    assert grown.draws is not None
    assert whole.draws is not None
    np.testing.assert_allclose(grown.draws, whole.draws, rtol=1e-2 if engine == "lowrank" else 1e-10)
    assert grown.rejected == whole.rejected
    assert grown.engine == engine


@pytest.mark.parametrize("engine", ENGINES)
def test_results_of_every_engine_go_through_json(engine: str) -> None:
    result = results_of(sample_of(1, 0.1), tilt=PolynomialTilt())[engine]
    stored = json.loads(json.dumps(result.to_dict()))
    assert (stored["engine"], stored["grade"]) == (engine, "certified" if engine == "lowrank" else "exact")
    if engine == "lowrank":
        assert stored["details"]["rank"] > 0
        low, high = stored["details"]["ksd_bounds"]
        assert low <= result.ksd <= high
    assert engine in result.summary(details=True)
