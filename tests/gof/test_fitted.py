"""The test of a family: what it rejects, what it takes, and what it refuses."""

from __future__ import annotations

import json
import pickle
import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import steinball as sb
from steinball.fitting import MaximumLikelihood, MinimumKSD

fit_test: Any = sb.fit_test  # of one or the other result

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(3.0, 2.0, size=300)
GAMMA = RNG.gamma(2.0, size=300)


@pytest.mark.exact
@pytest.mark.parametrize(
    ("family", "x", "known"),
    [
        ("normal", NORMAL, None), ("student-t", NORMAL, None), ("gamma", GAMMA, None), ("weibull", GAMMA, None),
        ("lognormal", np.exp(NORMAL / 3.0), None), ("mixture:2", np.append(NORMAL, NORMAL + 12.0), None),
        (st.norm, NORMAL, None), (st.gamma, GAMMA, {"loc": 0}), (st.t, NORMAL, {"df": 50.0}),
        ("normal", RNG.normal(size=(300, 3)), None),
    ],
    ids=["normal", "student", "gamma", "weibull", "lognormal", "mixture", "scipy", "scipy known", "known", "columns"],
)  # fmt: skip
def test_families_are_not_rejected_by_their_own_data(family: Any, x: Any, known: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sb.cautions.SeparatedModesWarning)
        result = fit_test(x, family, known_params=known, rng=0)
    assert not result.rejected
    assert all(error > 0.0 for error in result.standard_errors.values())
    assert set(result.params) == set(result.standard_errors)
    assert result.verdict == "undecided"


@pytest.mark.exact
@pytest.mark.parametrize("family", ["normal", "lognormal", st.norm], ids=["normal", "lognormal", "scipy"])
def test_families_are_rejected_by_other_data(family: Any) -> None:
    x = 0.1 + RNG.exponential(size=300) ** 2 if family != "lognormal" else RNG.uniform(0.0, 1.0, 300)
    result = fit_test(x, family, rng=0)
    assert result.rejected
    assert "contradict every member of the family" in result.summary(details=True)


@pytest.mark.exact
def test_a_tolerance_takes_outliers_that_maximum_likelihood_does_not() -> None:
    x = NORMAL.copy()
    x[:12] = 40.0
    assert fit_test(x, "normal", rng=0).rejected
    result = fit_test(x, "normal", contamination=0.05, rng=0)
    assert not result.rejected
    assert abs(result.params["mean"] - 3.0) < 0.5
    x[:100] = 40.0
    assert fit_test(x, "normal", contamination=0.05, rng=0).rejected
    assert not fit_test(x, "normal", contamination=0.4, rng=0).rejected


@pytest.mark.exact
def test_refusals_say_what_to_do() -> None:
    given: dict[str, Any] = {"fit": MaximumLikelihood(), "calibration": sb.MonteCarlo(99), "tilt": "auto"}
    for name, value in {**given, "kernel": sb.InverseMultiquadric(1.0)}.items():
        with pytest.raises(ValueError, match=rf"`{name}` cannot be given with `contamination=0.05`.*Leave `{name}`"):
            fit_test(NORMAL, "normal", contamination=0.05, rng=0, **{name: value})
    pairs = NORMAL[:100].reshape(50, 2)
    for x, family, why in ((pairs, "normal", "of 2 columns"), (NORMAL, "mixture:2", "has 5 parameters")):
        with pytest.raises(ValueError, match=rf"{why}.*`sb.split`.*sb.check\(rest, model, contamination=0.1\)"):
            fit_test(x, family, contamination=0.1, rng=0)
    with pytest.raises(TypeError, match="does not know that the model was fitted"):
        fit_test(NORMAL, "normal", calibration=sb.WeightedBootstrap(99), rng=0)
    with pytest.raises(ValueError, match=r"gives the fitted one alone.*`sb.split`"):
        fit_test(NORMAL, lambda x: sb.models.Gaussian(), contamination=0.05, rng=0)
    with pytest.raises(ValueError, match="which fits by itself"):
        fit_test(NORMAL, lambda x: sb.models.Gaussian(), fit=MinimumKSD(), rng=0)
    with pytest.raises(ValueError, match="`contamination` must be"):
        fit_test(NORMAL, "normal", contamination=1.5, rng=0)


@pytest.mark.exact
@pytest.mark.parametrize("calibration", [sb.ProjectedBootstrap(99), sb.RefitBootstrap(1)], ids=["projected", "refit"])
def test_the_memory_limit_holds_for_families(calibration: Any) -> None:
    """A matrix of 2,000 rows has 32 MB: refused below that by name, and never made where a limit leaves other ways."""
    x = np.random.default_rng(1).normal(size=(2000, 2))
    options: dict[str, Any] = {"calibration": calibration, "level": 0.5, "rng": 0}
    with pytest.raises(MemoryError, match=r"`memory_limit` is 20\.0 MB"):
        fit_test(x, "normal", engine="dense", memory_limit="20MB", **options)
    tracemalloc.start()
    fit_test(x, "normal", engine="blocked", memory_limit="28MB", **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6


@pytest.mark.exact
def test_results_answer_other_questions_and_travel() -> None:
    result = fit_test(GAMMA, "gamma", rng=0)
    assert result.at(level=0.5).level == 0.5
    assert result.at(level=0.5).params == result.params
    assert json.loads(json.dumps(result.to_dict()))["params"] == result.params
    assert pickle.loads(pickle.dumps(result)).pvalue == result.pvalue
    assert "shape" in result.summary(details=True)
    assert repr(result).startswith("FitResult(rejected=False")
    with pytest.raises(ValueError, match="`radius` cannot be given for a family"):
        result.at(radius=0.1)
    with pytest.raises(ValueError, match=r"question about all members.*run `fit_test` again"):
        result.at(contamination=0.1)
    assert result.contamination_bound == 0.0


@pytest.mark.backend
@pytest.mark.parametrize("library", ["torch"])
def test_arrays_of_other_libraries_give_the_same_answer(library: str) -> None:
    module = pytest.importorskip(library)
    x = module.asarray(GAMMA)
    ours, theirs = (fit_test(data, "gamma", rng=0) for data in (GAMMA, x))
    assert abs(ours.pvalue - theirs.pvalue) < 0.01


@pytest.mark.exact
def test_the_order_of_rows_does_not_matter_beyond_the_draws() -> None:
    first, second = (fit_test(x, "normal", rng=0) for x in (NORMAL, np.sort(NORMAL)))
    np.testing.assert_allclose(first.ksd, second.ksd, rtol=1e-9)
    assert abs(first.pvalue - second.pvalue) < 0.1


@pytest.mark.exact
def test_a_split_is_a_partition_in_the_old_order() -> None:
    x = np.arange(20.0).reshape(10, 2)
    first, second = sb.split(x, 0.3, rng=1)
    assert len(first) == 3
    np.testing.assert_array_equal(np.sort(np.vstack([first, second]), axis=0), x)
    assert (np.diff(first[:, 0]) > 0).all()
    np.testing.assert_array_equal(sb.split(x, 0.3, rng=1)[0], first)
    with pytest.raises(ValueError, match="leaves a part empty"):
        sb.split(x, 0.01)


@pytest.mark.calibration
def test_the_level_holds_under_a_tolerance_and_outliers_beyond_it_are_seen() -> None:
    """10 samples of 250: 5 % of outliers, 5 % tolerated, at most 2 rejections (.05: p = .01); 20 %, 8 or more."""
    level = power = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x, places = rng.normal(size=250), rng.permutation(250)
        x[places[:12]] = 6.0
        level += fit_test(x, "normal", contamination=0.05, rng=seed).rejected
        x[places[:50]] = 6.0
        power += fit_test(x, "normal", contamination=0.05, rng=seed).rejected
    assert level <= 2
    assert power >= 8


@pytest.mark.exact
@pytest.mark.parametrize("change", [lambda x: x + 1e8, lambda x: 1e-9 * x], ids=["offset", "units"])
def test_offsets_and_units_change_nothing_under_a_tolerance(change: Any) -> None:
    x = NORMAL[:150].copy()
    x[:6] = 20.0
    first, second = (fit_test(data, "normal", contamination=0.05, rng=0) for data in (x, change(x)))
    assert abs(first.pvalue - second.pvalue) < 0.1
    assert first.rejected == second.rejected


@pytest.mark.exact
def test_points_at_the_end_of_the_numbers_are_outliers_like_any_other() -> None:
    assert not fit_test(np.append(NORMAL, 1e300), "normal", contamination=0.05, rng=0).rejected


@pytest.mark.exact
@pytest.mark.parametrize(("family", "n"), [("normal", 2), ("student-t", 8), ("gamma", 9)])
def test_too_few_rows_for_a_tolerance_over_a_family_are_refused(family: str, n: int) -> None:
    x = np.random.default_rng(0).gamma(2.0, size=n)
    with pytest.raises(ValueError, match=rf"`x` has {n} rows for \d parameters.*needs at least 10"):
        fit_test(x, family, contamination=0.05, rng=0)


@pytest.mark.exact
@pytest.mark.parametrize("calibration", [sb.ProjectedBootstrap(99), sb.RefitBootstrap(19)], ids=["projected", "refits"])
def test_units_and_correlations_change_no_fit(calibration: Any) -> None:
    """The third column is wrong, and in large units: a test of the data as they are sees the first alone."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(150, 3))
    z[:, 2] = rng.standard_t(3, size=150)
    turn = np.array([[1.0, 0.0, 0.0], [9.0, 4.0, 0.0], [0.0, 700.0, 1e4]])
    plain, moved = (fit_test(x, "normal", calibration=calibration, rng=0) for x in (z, 5.0 + z @ turn.T))
    assert moved.ksd == pytest.approx(plain.ksd, rel=1e-6)
    if isinstance(calibration, sb.ProjectedBootstrap):
        assert moved.pvalue == pytest.approx(plain.pvalue, abs=0.05)
    names = list(plain.params)
    means = [moved.params[name] for name in names if name.startswith("mean")]
    np.testing.assert_allclose(means, (5.0 + z @ turn.T).mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(moved.explain().samples, 5.0 + z @ turn.T, rtol=1e-12)
    assert moved.details["tested in"] == "standardized coordinates"


@pytest.mark.exact
def test_a_fitter_is_tested_in_its_own_coordinates() -> None:
    def fit(x: Any) -> Any:
        return sb.models.Gaussian(x.mean(axis=0), np.cov(x.T))

    z, units = np.random.default_rng(0).standard_t(4, size=(100, 2)), np.array([1.0, 1e4])
    plain, moved = (fit_test(x, fit, calibration=sb.RefitBootstrap(19), rng=0) for x in (z, units * z))
    assert moved.ksd == pytest.approx(plain.ksd, rel=1e-6)
    assert moved.pvalue == plain.pvalue
    kept = fit_test(units * z, fit, kernel=sb.InverseMultiquadric(1e4), calibration=sb.RefitBootstrap(19), rng=0)
    assert "tested in" not in kept.details
