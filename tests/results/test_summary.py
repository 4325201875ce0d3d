"""The words of a kernel Stein test: what they promise must follow from the numbers."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.text import WIDTH, percent
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
    text = rejected.summary(details=True)
    for value in (rejected.ksd, rejected.radius, rejected.tau, rejected.threshold, rejected.statistic, rejected.pvalue):
        assert f"{value:.4g}" in text
    assert "300 points in 1 dimension\n" in text
    assert "boundary bootstrap, 999 draws" in text


def test_a_rejection_names_level_and_tolerance(rejected: sb.GofResult) -> None:
    assert rejected.rejected
    assert rejected.sentence().split("\n")[0] == (
        "REJECTED at level 0.05: the data contradict the model, even if up to 5 % of them may be contaminated."
    )


@pytest.mark.parametrize("contamination", [0.0, 0.3, 1.0])
def test_not_rejecting_is_never_worded_as_support(contamination: float) -> None:
    x = np.random.default_rng(0).normal(size=200)
    result = sb.robust_ksd_test(x, sb.models.Gaussian(), contamination=contamination, rng=0)
    assert not result.rejected
    text = " ".join(result.summary(details=True).lower().split())
    assert "not rejected" in text
    assert "does not prove the model" in text
    assert ("undecided" in text) == (result.verdict == "undecided" and contamination > 0.0)
    assert ("there are too few data to show that it is close enough" in text) == ("undecided" in text)
    assert ("close in ksd: at confidence" in text) == (result.verdict == "close in KSD")
    for word in ("fits", "good fit", "accepted", "holds", "correct", "confirmed"):
        assert word not in text


def test_the_words_follow_the_tolerance() -> None:
    x = np.random.default_rng(0).normal(size=100)
    standard = sb.ksd_test(x, sb.models.Gaussian(), rng=0)
    tilted = sb.ksd_test(x, sb.models.Gaussian(), tilt=PolynomialTilt(), rng=0)
    ball = sb.ksd_test(x, sb.models.Gaussian(), radius=0.25, rng=0)
    assert standard.summary(details=True).startswith("Standard kernel Stein")
    assert tilted.summary(details=True).startswith("Tilted kernel Stein")
    assert ball.summary(details=True).startswith("Robust kernel Stein")
    assert "contaminated" not in standard.sentence()
    assert "up to a distance of 0.25" in ball.sentence()


def test_a_sample_supremum_speaks_of_these_points_and_a_bound_of_their_distribution(rejected: sb.GofResult) -> None:
    share = percent(rejected.contamination_bound, down=True)
    conceded = dataclasses.replace(rejected, tau_kind="sample").sentence().split("\n")[1]
    assert conceded == f"At confidence 95 %, at least {share} of these points are contaminated."
    for kind in ("optimized", "largest found"):
        assert "of these points" in dataclasses.replace(rejected, tau_kind=kind).sentence()
    localized = dataclasses.replace(rejected, tau_kind="localized").sentence()
    assert "if contamination lies within the stated region" in localized
    for kind in ("given", "closed form", "certified"):
        assert "of the distribution they come from" in dataclasses.replace(rejected, tau_kind=kind).sentence()


def test_nothing_is_conceded_where_nothing_must_be() -> None:
    x = np.random.default_rng(0).normal(size=100)
    result = sb.robust_ksd_test(x, sb.models.Gaussian(), contamination=0.05, rng=0)
    assert result.contamination_bound == 0.0
    assert "At confidence" not in result.summary(details=True)


@pytest.mark.parametrize("kind", ["sample", "optimized", "given", "localized", "closed form", "certified"])
def test_every_kind_of_supremum_is_explained(rejected: sb.GofResult, kind: str) -> None:
    line = next(
        line for line in dataclasses.replace(rejected, tau_kind=kind).summary(details=True).split("\n") if "τ " in line
    )
    assert len(line.split()) > 4


def test_a_bound_has_no_draws_and_an_infinite_threshold_is_said(rejected: sb.GofResult) -> None:
    bound = sb.robust_ksd_test(
        contaminated(), sb.models.Gaussian(), contamination=0.05, calibration=sb.DeviationBound(), rng=0
    )
    assert "deviation bound\n" in bound.summary(details=True)
    assert "no value can reject" in dataclasses.replace(rejected, threshold=np.inf).summary(details=True)


def test_a_decision_that_is_not_exact_says_so(rejected: sb.GofResult) -> None:
    approximate = dataclasses.replace(rejected, engine="lowrank", grade="approximate").summary(details=True)
    assert "approximate: the exact sums might decide otherwise" in approximate
    assert "lowrank, certified" in dataclasses.replace(rejected, engine="lowrank", grade="certified").summary(
        details=True
    )


def test_the_interval_is_named_for_what_it_covers(rejected: sb.GofResult) -> None:
    low, high = rejected.interval()
    text = " ".join(rejected.summary(details=True).split())
    assert f"{low:.3g} – {high:.3g} 95 % confidence interval for the KSD of the population" in text


@pytest.mark.parametrize("dimension", [1, 2, 30])
def test_a_report_is_plain_text_of_eighty_columns(dimension: int) -> None:
    x = contaminated(100, 30, dimension)
    mean, cov = np.linspace(0, 0.5, dimension), np.diag(np.linspace(1, 2, dimension))
    text = sb.robust_ksd_test(x, sb.models.Gaussian(mean, cov), contamination=0.01, rng=0).summary(details=True)
    assert max(map(len, text.split("\n"))) <= WIDTH
    assert "\x1b" not in text
    assert all(line == line.rstrip() for line in text.split("\n"))


# Four lines.


def words(result: sb.GofResult) -> str:
    return " ".join(result.summary().split())


def test_a_misfit_is_said_first_and_what_must_be_conceded(rejected: sb.GofResult) -> None:
    assert words(rejected).startswith(
        "MISFIT at level 0.05. The 300 points contradict the model, even if up to 5 % of them may be contaminated. At "
        "confidence 95 %, at least "
    )
    assert "Contaminated means: does not come from the model." in words(rejected)
    last = rejected.summary().split("\n")[-1]
    assert last == (
        f"  p-value {rejected.pvalue:.3g} · KSD {rejected.ksd:.3g} (tolerated {rejected.radius:.3g}) · "
        "boundary bootstrap, 999 draws"
    )
    assert str(rejected) == rejected.summary()


@pytest.mark.parametrize(
    ("contamination", "start", "said"),
    [
        (0.0, "NOT REJECTED", "The 200 points do not contradict the model. This does not prove the model."),
        (0.05, "UNDECIDED", "but they are too few to show that the model is that close."),
        (0.9, "CLOSE IN KSD", "no further from the model than 90 % of contamination could put it; more of it may be"),
    ],
    ids=["nothing", "little", "much"],
)
def test_the_verdict_comes_first(contamination: float, start: str, said: str) -> None:
    x = np.random.default_rng(0).normal(size=200)
    result = sb.robust_ksd_test(x, sb.models.Gaussian(), contamination, rng=0)
    assert result.summary().startswith(f"{start} at level 0.05. ")
    assert said in words(result)
    seen = f"contamination below about {percent(float(f'{result.smallest_detectable().share:.2g}'))} would be missed"
    assert (seen in words(result)) == (start != "CLOSE IN KSD")
    assert words(result).count("Contaminated means") == 1


def test_at_tolerance_zero_a_rejection_is_called_one() -> None:
    result = sb.ksd_test(contaminated(), sb.models.Gaussian(), rng=0)
    assert result.summary().startswith("REJECTED at level 0.05. The 300 points contradict the model.")
    assert "ontaminat" not in words(result)


def test_a_kernel_without_a_bound_is_said_where_something_is_tolerated() -> None:
    with pytest.warns(sb.SteinballWarning):
        result = sb.ksd_test(contaminated(), sb.models.Gaussian(), radius=sb.Huber(0.5), rng=0)
    assert "One far point can have any effect, because u(x, x) is not bounded here." in words(result)


def test_a_doubt_takes_the_place_of_too_few() -> None:
    x = np.random.default_rng(0).normal(size=200)
    result = sb.robust_ksd_test(x, sb.models.Gaussian(), 0.5, rng=0)
    evidence = dataclasses.replace(result._evidence)
    vars(evidence)["doubt"] = "the modes are far apart"
    doubted = dataclasses.replace(result, **evidence.decide(result._tolerated, result.level))
    assert (result.verdict, doubted.verdict) == ("close in KSD", "undecided")
    assert "but whether it is that close cannot be said: the modes are far apart." in words(doubted)
    approximate = dataclasses.replace(result, grade="approximate").summary()
    assert ", approximate · boundary bootstrap" in approximate
