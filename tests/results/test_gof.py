"""The result of a test: what follows from it without computing anything again, and how it is shown."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.stein import SteinKernel

pytestmark = [pytest.mark.exact, pytest.mark.filterwarnings("ignore::steinball.cautions.RemovalWarning")]

RNG = np.random.default_rng(5)
X = np.append(RNG.normal(size=110), np.full(40, 4.0))
OPTIONS: dict[str, Any] = {"tilt": sb.PolynomialTilt(), "calibration": sb.WeightedBootstrap(199), "rng": 1}
EACH_CALIBRATION = pytest.mark.parametrize(
    "calibration", [sb.WeightedBootstrap(199), sb.WildBootstrap(199), sb.DeviationBound(proven=False)], ids=repr
)
ESTIMATORS = pytest.mark.parametrize("estimator", ["v", "u"])


def gaussian(x: Any) -> Any:
    return -x


def run(**options: Any) -> sb.GofResult:
    return sb.ksd_test(X, gaussian, **{**OPTIONS, **options})


def numbers(result: sb.GofResult) -> dict[str, Any]:
    """Everything that a result states."""
    return result.to_dict()


# at


@ESTIMATORS
@EACH_CALIBRATION
def test_at_gives_what_the_test_itself_would_have_given(estimator: str, calibration: Any) -> None:
    if estimator == "u" and isinstance(calibration, sb.DeviationBound):
        return
    options = {"estimator": estimator, "calibration": calibration}
    first = run(**options)
    for contamination in (0.0, 0.02, 0.3, 1.0):
        asked = first.at(contamination=contamination, level=0.2)
        assert numbers(asked) == numbers(run(radius=sb.Huber(contamination), level=0.2, **options))
    for radius in (0.0, 0.1, sb.DensityBand(0.3), sb.StudentTails(10)):
        assert numbers(first.at(radius=radius)) == numbers(run(radius=radius, **options))
    for level in (0.01, 0.29, 0.5):
        assert numbers(first.at(level=level)) == numbers(run(level=level, **options))


def test_at_keeps_what_it_is_not_asked_to_change() -> None:
    result = run(radius=sb.Huber(0.1), level=0.2)
    assert numbers(result.at()) == numbers(result)
    assert result.at(level=0.4).contamination == 0.1
    assert result.at(contamination=0.3).level == 0.2
    assert result.at(radius=0.2).contamination is None
    assert numbers(result.at(contamination=0.4, level=0.3).at(contamination=0.1, level=0.2)) == numbers(result)


def test_at_decides_from_the_same_draws_without_another_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the pairs nor the scores are touched again; not even by a radius that was costly the first time."""
    calls = []

    def score(x: Any) -> Any:
        calls.append(len(x))
        return -x

    result = sb.ksd_test(X, score, radius=sb.Alternative(X + 1.0), **OPTIONS)
    gram = type(result._evidence.gram)
    before = len(calls)

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("another pass over the pairs")

    monkeypatch.setattr(gram, "summarise", refuse)
    assert result.at(level=0.5).radius == result.radius
    assert result.at(radius=0.1).radius == 0.1
    assert len(calls) == before
    result.at(contamination=0.1)  # looks whether u grows, at a few points far away
    assert sum(calls[before:]) <= 64
    for call in (result.summary, result.to_dict, result._repr_html_, lambda: result.contributions):
        call()


def test_contamination_and_radius_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="`contamination` or `radius`, not both"):
        run().at(contamination=0.1, radius=0.1)
    others: list[Any] = [{"contamination": 0.1}, {"radius": 0.1}]
    for other in others:
        with pytest.raises(ValueError, match="`contamination` or `tolerance`, not both"):
            run().at(tolerance=0.1, **other)


def test_a_tolerance_is_a_difference_of_shares() -> None:
    result = run()
    told = result.at(tolerance=0.05).to_dict()
    assert told == result.at(radius=sb.TotalVariation(0.05)).to_dict()
    assert told["contamination"] is None
    with pytest.raises(ValueError, match="`tolerance` must be"):
        result.at(tolerance=1.5)


def test_larger_tolerances_never_have_smaller_pvalues() -> None:
    result = run()
    pvalues = [result.at(contamination=c).pvalue for c in np.linspace(0.0, 1.0, 101)]
    assert pvalues == sorted(pvalues)
    assert pvalues[0] == 1 / 200
    assert pvalues[-1] == 1.0


# extend


@ESTIMATORS
@pytest.mark.parametrize("calibration", [sb.WeightedBootstrap, sb.WildBootstrap])
def test_extending_keeps_the_earlier_draws_and_adds_those_of_a_longer_test(calibration: Any, estimator: str) -> None:
    short, long = (run(calibration=calibration(b), estimator=estimator) for b in (100, 1000))
    extended = short.extend(900)
    assert short.draws is not None
    assert long.draws is not None
    assert extended.draws is not None
    assert np.array_equal(extended.draws[:100], short.draws)  # bit for bit
    assert extended.draws == pytest.approx(long.draws, rel=1e-9, abs=1e-12)
    assert (extended.n_resamples, extended.pvalue, extended.rejected) == (1000, long.pvalue, long.rejected)
    assert extended.threshold == pytest.approx(long.threshold, rel=1e-10)
    assert (extended.ksd, extended.radius, extended.tau) == (short.ksd, short.radius, short.tau)


def test_extending_in_steps_is_extending_at_once() -> None:
    result = run(calibration=sb.WeightedBootstrap(30))
    steps, once = result.extend(1).extend(40).extend(129), result.extend(170)
    assert steps.draws == pytest.approx(once.draws, rel=1e-12)
    assert steps.n_resamples == once.n_resamples == 200


def test_extending_reaches_levels_that_were_out_of_reach() -> None:
    result = run(calibration=sb.WeightedBootstrap(99))
    with pytest.raises(ValueError, match="cannot reach"):
        result.at(level=0.001)
    assert result.extend(900).at(level=0.001).level == 0.001


def test_extending_keeps_level_and_radius() -> None:
    extended = run(radius=sb.Huber(0.2), level=0.3).extend(10)
    assert (extended.level, extended.contamination) == (0.3, 0.2)


@pytest.mark.parametrize(("count", "error"), [(0, ValueError), (-5, ValueError), (1.5, TypeError), ("9", TypeError)])
def test_extending_needs_a_positive_whole_number(count: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="`n_more`"):
        run().extend(count)


def test_the_draws_that_a_result_shows_are_a_copy() -> None:
    result = run()
    draws = result.draws
    assert draws is not None
    draws[:] = 0.0
    assert result.at(level=0.3).threshold > 0.0
    assert result.draws is not None
    assert result.draws.min() > 0.0


# contributions


@ESTIMATORS
@pytest.mark.parametrize("d", [1, 4])
def test_contributions_sum_to_the_squared_statistic(estimator: str, d: int) -> None:
    x = np.random.default_rng(d).normal(size=(60, d))
    result = sb.ksd_test(x, sb.from_scores(-x), estimator=estimator, **OPTIONS)
    assert result.contributions.shape == (60,)
    assert float(result.contributions.sum()) == pytest.approx(result.squared_ksd, rel=1e-10)


@ESTIMATORS
def test_a_contribution_is_the_row_of_its_point(estimator: str) -> None:
    x = np.random.default_rng(0).normal(size=(12, 2))
    kernel = sb.InverseMultiquadric(1.0)
    u = SteinKernel(kernel, OPTIONS["tilt"])(x, -x, x, -x)
    result = sb.ksd_test(x, sb.from_scores(-x), kernel=kernel, estimator=estimator, **OPTIONS)
    rows = u.sum(axis=1) / 144 if estimator == "v" else (u.sum(axis=1) - np.diag(u)) / 132
    assert result.contributions == pytest.approx(rows, rel=1e-10, abs=1e-14)


def test_outliers_contribute_most() -> None:
    assert set(np.argsort(-run().contributions)[:40].tolist()) == set(range(110, 150))


# the contamination bound


@ESTIMATORS
@EACH_CALIBRATION
def test_the_contamination_bound_is_where_the_decision_turns(calibration: Any, estimator: str) -> None:
    if estimator == "u" and isinstance(calibration, sb.DeviationBound):
        return
    level = 0.5 if isinstance(calibration, sb.DeviationBound) else 0.2
    result = run(calibration=calibration, estimator=estimator, level=level)
    bound = result.contamination_bound
    assert bound == pytest.approx(result.lower_bound / math.sqrt(result.tau), rel=1e-12)
    assert 0.0 < bound < 1.0
    assert result.at(contamination=bound * (1 - 1e-9)).rejected
    assert not result.at(contamination=bound * (1 + 1e-9)).rejected
    assert result.at(contamination=0.3).contamination_bound == bound


def test_the_contamination_bound_is_zero_where_nothing_is_rejected() -> None:
    clean = sb.ksd_test(X[:110], gaussian, **OPTIONS)
    assert clean.ksd < clean.threshold
    assert clean.contamination_bound == 0.0


def test_the_contamination_bound_is_zero_under_an_infinite_threshold() -> None:
    x = np.linspace(-1.5, 1.6, 20)[:, None]
    result = sb.ksd_test(x, sb.from_scores(-x), estimator="u", calibration=sb.WeightedBootstrap(199), rng=3, level=0.5)
    assert math.isinf(result.threshold)
    assert result.contamination_bound == 0.0


def test_the_contamination_bound_is_at_most_one() -> None:
    x = np.full(50, 3.0)
    result = sb.ksd_test(x, sb.from_scores(-x), kernel=sb.InverseMultiquadric(1.0), **OPTIONS)
    assert result.contamination_bound == pytest.approx(1.0, rel=1e-6)
    assert result.contamination_bound <= 1.0


# to_dict

KEYS = {
    "schema": str,
    "statistic": float,
    "pvalue": float,
    "rejected": bool,
    "threshold": float,
    "ksd": float,
    "squared_ksd": float,
    "radius": float,
    "contamination": float,
    "tau": float,
    "tau_kind": str,
    "level": float,
    "n": int,
    "dimension": int,
    "estimator": str,
    "calibration": str,
    "n_resamples": int,
    "engine": str,
    "grade": str,
    "details": dict,
    "contamination_bound": float,
    "verdict": str,
    "lower_bound": float,
    "upper_bound": float,
    "kernel": str,
    "tilt": str,
    "bounded": str,
}
"""Names and types of version 2. A key that goes or changes its meaning needs a new version."""


@ESTIMATORS
def test_the_dictionary_has_a_stable_schema_and_survives_json(estimator: str) -> None:
    result = run(radius=sb.Huber(0.05), estimator=estimator)
    found = result.to_dict()
    assert {key: type(value) for key, value in found.items()} == KEYS
    assert found["schema"] == "steinball.gof/2"
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    for key in set(KEYS) - {"schema", "kernel", "tilt"}:
        assert found[key] == getattr(result, key)


@pytest.mark.filterwarnings("ignore::steinball.cautions.RoundedDataWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_the_dictionary_is_plain_whatever_the_samples_were(dtype: Any) -> None:
    x = np.round(3 * X).astype(dtype)
    options = {**OPTIONS, "level": np.float64(0.1), "radius": np.float32(0.125)}
    found = sb.ksd_test(x, gaussian, kernel=sb.InverseMultiquadric(1.5), **options).to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert type(found["radius"]) is type(found["level"]) is float


def test_what_is_absent_or_infinite_is_null() -> None:
    x = np.linspace(-1.5, 1.6, 20)[:, None]
    found = sb.ksd_test(
        x, sb.from_scores(-x), estimator="u", calibration=sb.WeightedBootstrap(199), rng=3, level=0.5
    ).to_dict()
    assert found["threshold"] is found["tilt"] is found["contamination"] is None
    assert json.loads(json.dumps(found, allow_nan=False)) == found


# how it is shown


def test_the_repr_is_one_short_line_that_tells_the_decision() -> None:
    text = repr(run())
    assert text.startswith("GofResult(rejected=True, pvalue=0.005, ")
    assert "\n" not in text
    assert len(text) < 160


def test_the_html_repr_escapes_what_users_name() -> None:
    @dataclasses.dataclass(frozen=True)
    class Cunning(sb.PolynomialTilt):
        def __repr__(self) -> str:
            return "<script>alert('tilt')</script>"

    Cunning.__name__ = "<b>Cunning</b>"
    page = run(tilt=Cunning(), radius=sb.Huber(0.05))._repr_html_()
    assert "<script" not in page
    assert "<b>" not in page
    assert page.startswith('<div class="steinball-card"')
    assert page.endswith("</details></div>")


@pytest.mark.parametrize("contamination", [0.05, 0.9])
def test_summary_and_html_say_the_same_decision(contamination: float) -> None:
    result = run(radius=sb.Huber(contamination))
    assert ("NOT REJECTED" in result.summary(details=True)) == (not result.rejected)
    assert result.summary().startswith("MISFIT") == result.rejected
    assert (">MISFIT</span>" in result._repr_html_()) == result.rejected


def test_a_result_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        run().rejected = False  # type: ignore[misc]


def test_a_result_can_be_pickled_where_its_model_can() -> None:
    result = sb.robust_ksd_test(X, sb.models.Gaussian(), 0.05, calibration=sb.WeightedBootstrap(99), rng=0)
    copy = pickle.loads(pickle.dumps(result))
    assert numbers(copy) == numbers(result)
    assert numbers(copy.extend(100)) == numbers(result.extend(100))
