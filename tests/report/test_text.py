"""The words of a report: what they promise must follow from the numbers."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.kernels import Gaussian, InverseMultiquadric
from steinball.report.text import WIDTH, conceded, decision, describe, percent, render_summary
from steinball.tilts import PolynomialTilt

pytestmark = pytest.mark.exact


def contaminated(n: int = 300, outliers: int = 60, dimension: int = 1) -> Any:
    x = np.random.default_rng(3).normal(size=(n, dimension))
    x[:outliers] = 4.0
    return x


@pytest.fixture(scope="module")
def rejected() -> sb.GofResult:
    return sb.robust_ksd_test(contaminated(), sb.models.Gaussian(), contamination=0.05, rng=0)


def test_the_numbers_of_the_result_are_in_the_summary(rejected: sb.GofResult) -> None:
    text = render_summary(rejected)
    for value in (rejected.ksd, rejected.radius, rejected.tau, rejected.threshold, rejected.statistic, rejected.pvalue):
        assert f"{value:.4g}" in text
    assert "300 points in 1 dimension\n" in text
    assert "boundary bootstrap, 999 draws" in text
    assert rejected.summary() == text


def test_a_rejection_names_level_and_tolerance(rejected: sb.GofResult) -> None:
    assert rejected.rejected
    assert decision(rejected) == (
        "REJECTED at level 0.05: the data contradict the model, even if up to 5 % of them may be contaminated."
    )


@pytest.mark.parametrize("contamination", [0.0, 0.3, 1.0])
def test_not_rejecting_is_never_worded_as_support(contamination: float) -> None:
    x = np.random.default_rng(0).normal(size=200)
    result = sb.robust_ksd_test(x, sb.models.Gaussian(), contamination=contamination, rng=0)
    assert not result.rejected
    text = " ".join(render_summary(result).lower().split())
    assert "not rejected" in text
    assert "does not prove the model" in text
    assert ("undecided" in text) == (result.verdict == "undecided" and contamination > 0.0)
    assert ("good enough: at confidence" in text) == (result.verdict == "good enough")
    for word in ("fits", "good fit", "accepted", "holds", "correct", "confirmed"):
        assert word not in text


def test_the_words_follow_the_tolerance() -> None:
    x = np.random.default_rng(0).normal(size=100)
    standard = sb.ksd_test(x, sb.models.Gaussian(), rng=0)
    tilted = sb.ksd_test(x, sb.models.Gaussian(), tilt=PolynomialTilt(), rng=0)
    ball = sb.ksd_test(x, sb.models.Gaussian(), radius=0.25, rng=0)
    assert render_summary(standard).startswith("Standard kernel Stein")
    assert render_summary(tilted).startswith("Tilted kernel Stein")
    assert render_summary(ball).startswith("Robust kernel Stein")
    assert "contaminated" not in decision(standard)
    assert "up to a distance of 0.25" in decision(ball)


def test_a_sample_supremum_speaks_of_these_points_and_a_bound_of_their_distribution(rejected: sb.GofResult) -> None:
    share = percent(rejected.contamination_bound, down=True)
    assert conceded(rejected) == f"At confidence 95 %, at least {share} of these points are contaminated."
    assert "of these points" in conceded(dataclasses.replace(rejected, tau_kind="optimized"))
    assert "if contamination lies within the stated region" in conceded(
        dataclasses.replace(rejected, tau_kind="localized")
    )
    for kind in ("given", "closed form", "certified"):
        assert "of the distribution they come from" in conceded(dataclasses.replace(rejected, tau_kind=kind))


def test_nothing_is_conceded_where_nothing_must_be() -> None:
    x = np.random.default_rng(0).normal(size=100)
    result = sb.robust_ksd_test(x, sb.models.Gaussian(), contamination=0.05, rng=0)
    assert result.contamination_bound == 0.0
    assert conceded(result) == ""
    assert "At confidence" not in render_summary(result)


@pytest.mark.parametrize("kind", ["sample", "optimized", "given", "localized", "closed form", "certified"])
def test_every_kind_of_supremum_is_explained(rejected: sb.GofResult, kind: str) -> None:
    line = next(
        line for line in render_summary(dataclasses.replace(rejected, tau_kind=kind)).split("\n") if "τ " in line
    )
    assert len(line.split()) > 4


def test_a_bound_has_no_draws_and_an_infinite_threshold_is_said(rejected: sb.GofResult) -> None:
    bound = sb.robust_ksd_test(
        contaminated(), sb.models.Gaussian(), contamination=0.05, calibration=sb.DeviationBound(), rng=0
    )
    assert "deviation bound\n" in render_summary(bound)
    assert "no value can reject" in render_summary(dataclasses.replace(rejected, threshold=np.inf))


def test_a_decision_that_is_not_exact_says_so(rejected: sb.GofResult) -> None:
    assert "approximate: the exact sums might decide otherwise" in render_summary(
        dataclasses.replace(rejected, engine="lowrank", grade="approximate")
    )
    assert "lowrank, certified" in render_summary(dataclasses.replace(rejected, engine="lowrank", grade="certified"))


def test_a_lower_bound_is_never_rounded_up() -> None:
    assert percent(0.09999, down=True) == "9.99 %"
    assert percent(0.123456, down=True) == "12.3 %"
    assert percent(0.0299999, down=True) == "2.99 %"
    assert percent(0.05) == "5 %"
    for share in np.random.default_rng(0).uniform(0, 1, 200):
        assert float(percent(share, down=True).split()[0]) <= 100 * share


@pytest.mark.parametrize("dimension", [1, 2, 30])
def test_a_report_is_plain_text_of_eighty_columns(dimension: int) -> None:
    x = contaminated(100, 30, dimension)
    mean, cov = np.linspace(0, 0.5, dimension), np.diag(np.linspace(1, 2, dimension))
    text = sb.robust_ksd_test(x, sb.models.Gaussian(mean, cov), contamination=0.01, rng=0).summary()
    assert max(map(len, text.split("\n"))) <= WIDTH
    assert "\x1b" not in text
    assert all(line == line.rstrip() for line in text.split("\n"))


def test_kernels_and_tilts_are_described_shortly() -> None:
    assert describe(None) == "none"
    assert describe(2 * Gaussian(1.0)) == "Scaled(kernel=Gaussian(lengthscale=1), factor=2)"
    assert (
        describe(PolynomialTilt(center=np.arange(9.0))) == "PolynomialTilt(exponent=0.5, center=<9 numbers>, scale=1)"
    )
    metric = describe(InverseMultiquadric(1 / 3, metric=np.eye(4)))
    assert metric == "InverseMultiquadric(lengthscale=0.3333, exponent=0.5, metric=<4 × 4 numbers>)"
