"""Families under a tolerance, in one column: what is decided by regions, and what the result says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.evidence.regions import KUIPER, FamilyRegionEvidence
from steinball.results.regions import RegionFitResult

pytestmark = [pytest.mark.exact, pytest.mark.filterwarnings("ignore::steinball.cautions.DependentRowsWarning")]
RNG = np.random.default_rng(0)
SPOILT = RNG.normal(3.0, 2.0, size=400)
SPOILT[RNG.choice(400, 16, replace=False)] = 40.0
UNIFORM = np.random.default_rng(1).uniform(size=500)


def fitted(x: Any, family: Any = "normal", contamination: float = 0.05, **words: Any) -> RegionFitResult:
    found = sb.fit_test(x, family, contamination=contamination, **words)
    assert isinstance(found, RegionFitResult)
    return found


@pytest.mark.calibration
@pytest.mark.parametrize("far", [3.0, 8.0, 1e6])
@pytest.mark.parametrize("family", ["normal", "exponential", "student-t"])
def test_families_that_are_right_up_to_contamination_are_not_rejected(family: str, far: float) -> None:
    """8 samples: at most 1 rejection of .05 has probability .94, and the test is conservative."""
    rejected = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        scale = np.sqrt(5.0 / rng.chisquare(5, size=100)) if family == "student-t" else 1.0
        rows = scale * (rng.exponential(size=100) if family == "exponential" else rng.normal(size=100))
        rows[rng.random(100) < 0.05] = far
        rejected += fitted(rows, family).rejected
    assert rejected <= 1


@pytest.mark.calibration
def test_uniform_rows_and_two_lumps_are_no_normal_sample() -> None:
    rng = np.random.default_rng(2)
    assert fitted(UNIFORM).rejected
    assert fitted(rng.normal(size=500) + 2.0 * rng.choice([-1.0, 1.0], size=500)).rejected
    assert fitted(UNIFORM, "student-t").rejected
    assert not fitted(UNIFORM, stats.beta, known_params={"loc": 0.0, "scale": 1.0}).rejected


def test_the_closest_member_is_reported_and_decides() -> None:
    found = fitted(SPOILT)
    assert found.params["mean"] == pytest.approx(3.0, abs=0.4)
    assert found.params["sd"] == pytest.approx(2.0, abs=0.4)
    known = sb.region_test(SPOILT, found.model, contamination=0.05)
    assert found.pvalue == known.pvalue
    assert found.statistic == pytest.approx(known.statistic, rel=1e-9)
    assert found.summary().startswith("normal, n = 400; closest member: mean ")
    assert found.pvalue >= sb.region_test(SPOILT, stats.norm(3.0, 2.0), contamination=0.05).pvalue or found.pvalue > 0.5
    assert set(np.flatnonzero(SPOILT == 40.0)) == set(found.explain(top=16).points.tolist())


def test_units_and_places_change_no_decision() -> None:
    first, second = fitted(UNIFORM[:100]), fitted(1e6 + 1e-3 * UNIFORM[:100])
    assert first.pvalue == pytest.approx(second.pvalue, abs=0.05)


def test_good_enough_is_kuipers_distance_and_said_at_one_level_alone() -> None:
    x = np.random.default_rng(3).normal(size=6000)
    found = fitted(x)
    u = np.sort(stats.norm(*found.params.values()).cdf(x))
    steps = np.arange(1, 6001) / 6000
    kuiper = (steps - u).max() + (u - steps + 1 / 6000).max()
    assert found.difference_bound == pytest.approx(kuiper + KUIPER / math.sqrt(6000), rel=1e-9)
    assert found.verdict == "good enough"
    assert "closest member" in found.summary()
    assert found.at(level=0.01).verdict == "undecided"
    assert math.isinf(found.at(level=0.01).difference_bound)
    assert (found.contamination_bound, found.difference_interval[0]) == (0.0, 0.0)


def test_kuipers_limit_covers_the_distance_of_n_rows_from_their_distribution() -> None:
    for n in (10, 100, 1000):
        u = np.sort(np.random.default_rng(n).random((4000, n)), axis=1)
        steps = np.arange(1, n + 1) / n
        distances = (steps - u).max(axis=1) + (u - steps + 1.0 / n).max(axis=1)
        assert np.mean(distances > KUIPER / math.sqrt(n)) <= 0.06


def test_rows_outside_the_support_are_contaminated() -> None:
    x = np.random.default_rng(4).gamma(2.0, size=300)
    x[::30] = -5.0
    found = fitted(x, "gamma")
    assert not found.rejected
    assert isinstance(found._evidence, FamilyRegionEvidence)
    assert found._evidence.kuiper >= 10 / 300
    x[::4] = -5.0
    assert fitted(x, "gamma").rejected


def test_rounded_rows_are_no_misfit() -> None:
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=1000)
        assert not fitted(x.round(1)).rejected
    assert "rounded to" in fitted(x.round(1)).details


def test_another_tolerance_is_refused_with_a_reason() -> None:
    found = fitted(UNIFORM[:60])
    assert found.at(contamination=0.05).pvalue == found.pvalue
    with pytest.raises(ValueError, match="another tolerance needs another search"):
        found.at(contamination=0.1)
    with pytest.raises(ValueError, match="cannot be given for a family"):
        found.at(tolerance=0.1)


def test_a_check_of_a_family_says_what_the_test_says() -> None:
    found, alone = sb.check(UNIFORM, "normal", contamination=0.05), fitted(UNIFORM)
    assert (found.verdict, found.pvalue) == ("misfit", alone.pvalue)
    assert set(found.parts) == {"regions"}
    assert found.summary() == alone.summary()
    assert "every other one fits worse" in found.summary()
    assert sb.check(SPOILT, stats.norm, contamination=0.05).verdict == "undecided"
