"""The predictive test: levels, refusals, every type of y, fits on the same rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.arrays import Floats
from steinball.cautions import RoundedDataWarning
from steinball.evidence import predictive as evidence

N = 300
X = np.random.default_rng(5).uniform(-2.0, 2.0, size=N)
QUICK: dict[str, Any] = {"n_resamples": 59, "rng": 0}


@pytest.fixture(autouse=True)
def small_pilot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer replicates that scale the views: the level does not depend on them."""
    monkeypatch.setattr("steinball.evidence.predictive.PILOT", 40)


def normal(seed: int = 0, n: int = N) -> Floats:
    return np.random.default_rng(seed).normal(size=n)


@pytest.mark.exact
def test_exactly_one_of_the_two_words_is_given() -> None:
    questions: list[dict[str, Any]] = [{}, {"contamination": 0.05, "tolerance": 0.05}]
    for words in questions:
        with pytest.raises(TypeError, match="give `contamination` or `tolerance`"):
            sb.predictive_test(X + normal(), (X, 1.0), **words)


@pytest.mark.exact
@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"contamination": 0.05, "refit": lambda y: (y, 1.0)}, "`refit` holds where nothing is tolerated"),
        ({"contamination": 0.05, "proven": True, "fitted": "same-rows"}, "not fitted to these rows"),
        ({"contamination": 0.05, "fitted": "loo"}, "needs an InferenceData"),
        ({"contamination": 0.05, "fitted": "yes"}, "`fitted` must be"),
        ({"contamination": 0.05, "rows": "some"}, "`rows` must be"),
        ({"contamination": 0.05, "features": {"x": X[:5]}}, "must have the 300 rows of `y`, got 5"),
        ({"contamination": 0.05, "features": np.zeros((2, 2, 2))}, "must have shape"),
        ({"contamination": 0.05, "features": {"x": np.full(N, np.nan)}}, "must be finite"),
        ({"contamination": 0.05, "censoring": X[:5]}, "must have shape"),
        ({"contamination": 0.05, "resolution": 0.0}, "`resolution` must be"),
        ({"contamination": 1.5}, "`contamination` must be"),
        ({"tolerance": 0.05, "level": 0.01, "n_resamples": 99}, "cannot reach"),
    ],
)
def test_what_does_not_go_together_is_refused(more: dict[str, Any], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        sb.predictive_test(X + normal(), (X, 1.0), **more)


@pytest.mark.exact
def test_a_misfit_names_its_feature_and_range_first() -> None:
    other = normal(9)
    y = X + normal() + 2.0 * (X > 1.0)
    result = sb.predictive_test(y, (X, 1.0), {"z": other, "dose": X}, contamination=0.05, **QUICK)
    assert result.verdict == "misfit"
    assert result.feature == "dose"
    assert result.region.startswith("For dose between ")
    assert "too low" in result.region
    assert str(result).startswith(f"MISFIT at level 0.05. {result.region.split(' (')[0]}")
    assert str(result.explain()).startswith(result.region)


@pytest.mark.exact
def test_features_are_frames_mappings_or_arrays_and_the_same_column_counts_once() -> None:
    pandas = pytest.importorskip("pandas")
    y, columns = X + normal(), {"x": X, "group": np.array(["a", "b", "c"] * 100), "one": np.ones(N)}
    found = [
        sb.predictive_test(y, (X, 1.0), given, contamination=0.0, **QUICK).features
        for given in (columns, pandas.DataFrame(columns), None, X, np.column_stack([X, normal(1)]))
    ]
    assert found == [("x", "group", "row")] * 2 + [("prediction", "row"), ("x", "row"), ("x1", "x2", "row")]


@pytest.mark.exact
def test_a_seed_gives_the_same_answer() -> None:
    y = X + 1.3 * normal()
    first, again = (sb.predictive_test(y, (X, 1.0), {"x": X}, contamination=0.02, **QUICK) for _ in range(2))
    assert first.to_dict() == again.to_dict()


COUNTS = np.random.default_rng(1).poisson(np.exp(0.3 * X)).astype(float)
BINARY = (np.random.default_rng(2).random(N) < 1 / (1 + np.exp(-X))).astype(int)
CHANCE = 1 / (1 + np.exp(-X))
LIMITS = np.full(N, 1.0)
TIMES = np.random.default_rng(3).exponential(np.exp(0.3 * X))
THREE = np.column_stack([0.5 * CHANCE, 0.5 * CHANCE, 1.0 - CHANCE])
CLASSES = np.array([np.random.default_rng(k).choice(3, p=p) for k, p in enumerate(THREE)])
TYPES: dict[str, tuple[Any, Any, Any, dict[str, Any]]] = {
    "counts": (COUNTS, stats.poisson(np.exp(0.3 * X)), stats.poisson(2.0 * np.exp(0.3 * X)), {}),
    "binary": (BINARY, np.column_stack([1 - CHANCE, CHANCE]), np.column_stack([CHANCE, 1 - CHANCE]), {}),
    "nominal": (CLASSES, THREE, THREE[:, ::-1], {}),
    "ordinal": (CLASSES, THREE, THREE[:, ::-1], {"ordered": True}),
    "censored": (
        np.minimum(TIMES, LIMITS),
        stats.expon(0.0, np.exp(0.3 * X)),
        stats.expon(0.0, 3.0 * np.exp(0.3 * X)),
        {"censoring": LIMITS},
    ),
    "rounded": (np.round(X + normal()), (X, 1.0), (X, 2.0), {"resolution": 1.0}),
    "draws": (
        X + normal(),
        X[:, None] + np.random.default_rng(4).normal(size=(N, 99)),
        X[:, None] + 2.0 * np.random.default_rng(4).normal(size=(N, 99)),
        {},
    ),
}


@pytest.mark.calibration
@pytest.mark.parametrize("name", list(TYPES))
def test_every_type_of_y_accepts_its_own_law_and_rejects_another(name: str) -> None:
    y, right, wrong, more = TYPES[name]
    good = sb.predictive_test(y, right, {"x": X}, contamination=0.0, **QUICK, **more)
    assert good.pvalue > 0.01
    assert sb.predictive_test(y, wrong, {"x": X}, contamination=0.05, **QUICK, **more).rejected


@pytest.mark.calibration
def test_rounded_values_of_a_true_law_need_their_resolution() -> None:
    y = np.round(2.0 * (X + normal())) / 2.0
    assert sb.predictive_test(y, (X, 1.0), {"x": X}, contamination=0.0, resolution=0.5, **QUICK).pvalue > 0.05
    with pytest.warns(RoundedDataWarning, match="Pass `resolution=0.5`"):
        sb.predictive_test(y, (X, 1.0), {"x": X}, contamination=0.0, **QUICK)


def rate(test: Callable[[int], bool], repeats: int) -> float:
    return float(np.mean([test(seed) for seed in range(repeats)]))


@pytest.mark.calibration
@pytest.mark.parametrize(
    ("words", "most"),
    [({"contamination": 0.0}, 4), ({"contamination": 0.05}, 1), ({"tolerance": 0.05}, 0)],
)
def test_a_true_model_is_rejected_no_more_often_than_the_level(words: dict[str, Any], most: int) -> None:
    """5 % of the rows lie far away where 5 % are tolerated; 10 repeats, of which more than four are rejected by an
    exact test once in 10,000 times."""

    def rejected(seed: int) -> bool:
        z = normal(seed, 100)
        z[: 5 * ("contamination" not in words or words["contamination"] > 0)] = 8.0
        x = X[:100]
        return sb.predictive_test(x + z, (x, 1.0), {"x": x}, **words, n_resamples=39, rng=seed).rejected

    assert 10 * rate(rejected, 10) <= most


@pytest.mark.calibration
def test_good_enough_is_said_by_the_interval_alone() -> None:
    x = np.random.default_rng(0).normal(size=2000)
    y = x + normal(1, 2000)
    result = sb.predictive_test(y, (x, 1.0), {"x": x}, tolerance=0.05, **QUICK)
    assert result.verdict == "good enough"
    assert result.difference_interval[0] <= result.difference_bound <= 0.05
    tight = result.at(tolerance=0.9 * result.difference_bound)
    assert (tight.verdict, tight.rejected) == ("undecided", False)


@pytest.mark.exact
def test_a_model_fitted_to_these_rows_is_never_good_enough_and_is_warned_of() -> None:
    with pytest.warns(sb.cautions.FittedOnDataWarning, match="not known to be robust"):
        result = sb.predictive_test(
            X + normal(), (X, 1.0), {"x": X}, contamination=0.3, fitted="same-rows", n_resamples=39, rng=0
        )
    assert result.verdict == "undecided"
    assert result.difference_bound == np.inf
    assert "because the model was fitted to them" in str(result)
    with pytest.warns(sb.cautions.FittedOnDataWarning, match="Pass `refit`"):
        sb.predictive_test(X + normal(), (X, 1.0), contamination=0.0, fitted="same-rows", n_resamples=39, rng=0)


def least_squares(y: Floats) -> Any:
    design = np.column_stack([np.ones(len(y)), X[: len(y)]])
    fit = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return fit, float(np.sqrt(np.sum((y - fit) ** 2) / (len(y) - 2)))


@pytest.mark.calibration
def test_refits_find_a_bend_and_keep_the_level_of_least_squares() -> None:
    bent = X + 0.6 * (X**2 - 4.0 / 3.0) + normal()
    result = sb.predictive_test(bent, least_squares(bent), {"x": X}, contamination=0.0, refit=least_squares, **QUICK)
    assert result.rejected
    assert result.calibration == "Refits"
    assert (result.fitted, result.feature) == ("same-rows", "x")
    x = X[:80]

    def rejected(seed: int) -> bool:
        y = x + normal(seed, 80)
        settings: dict[str, Any] = {"contamination": 0.0, "refit": least_squares, "n_resamples": 19, "rng": seed}
        return sb.predictive_test(y, least_squares(y), {"x": x}, **settings).rejected

    assert rate(rejected, 8) <= 0.25


@pytest.mark.exact
def test_a_result_at_another_tolerance_says_what_its_null_was_imitated_by() -> None:
    """Refits are for a share of 0 alone."""
    y = X + normal()
    words: dict[str, Any] = {"refit": least_squares, "n_resamples": 19, "rng": 0}
    refitted = sb.predictive_test(y, least_squares(y), contamination=0.0, **words)
    with pytest.warns(sb.cautions.FittedOnDataWarning, match="not known to be robust"):
        later = refitted.at(contamination=0.05)
    assert (refitted.calibration, later.calibration) == ("Refits", "SimulatedRows")
    assert later.at(contamination=0.0).calibration == "Refits"


@pytest.mark.exact
def test_the_model_is_fitted_again_for_every_replicate() -> None:
    fits = []

    def refit(y: Any) -> Any:
        fits.append(y)
        return least_squares(y)

    y = X + normal()
    sb.predictive_test(y, least_squares(y), {"x": X}, contamination=0.0, refit=refit, n_resamples=19, rng=0)
    assert len(fits) == evidence.PILOT + 19


@pytest.mark.exact
def test_dependent_rows_are_warned_of() -> None:
    noise = np.random.default_rng(0).normal(size=N)
    for i in range(1, N):
        noise[i] = 0.9 * noise[i - 1] + np.sqrt(1 - 0.81) * noise[i]
    with pytest.warns(sb.cautions.DependentRowsWarning, match="test innovations"):
        sb.predictive_test(X + noise, (X, 1.0), contamination=0.05, **QUICK)


@pytest.mark.exact
def test_rows_that_coincide_and_limits_for_all_rows_are_read() -> None:
    coins = np.random.default_rng(0).random(N) < 0.5
    assert not sb.predictive_test(coins, np.full((N, 2), 0.5), contamination=0.05, **QUICK).rejected
    assert sb.predictive_test(X + 1e6, (X, 1.0), contamination=0.05, **QUICK).rejected
    limited = np.minimum(X + normal(), 0.5)
    results = [
        sb.predictive_test(limited, (X, 1.0), {"x": X}, contamination=0.0, censoring=limits, **QUICK)
        for limits in (0.5, np.full(N, 0.5))
    ]
    assert results[0].pvalue == results[1].pvalue > 0.05


@pytest.mark.exact
def test_the_proven_p_value_is_larger() -> None:
    y = X + 1.15 * normal()
    plain, proven = (
        sb.predictive_test(y, (X, 1.0), {"x": X}, contamination=0.01, proven=flag, **QUICK).pvalue
        for flag in (False, True)
    )
    assert proven > plain
