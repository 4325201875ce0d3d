"""Huber's model tested with bounded Stein functions, and the weights of modes with bounded functions of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import steinball as sb
from steinball.evidence.means import BoundedMean, MeansEvidence
from steinball.gof.sharp_huber import sharp_huber_test
from steinball.kernels import Matern
from steinball.models import Gaussian, GaussianMixture
from steinball.radius import Huber

pytestmark = pytest.mark.exact

Host = NDArray[np.float64]


@pytest.mark.parametrize("contamination", [0.0, 0.1, 0.4])
def test_the_mean_of_the_evalue_is_one_at_the_edge(contamination: float) -> None:
    # Two values, 1 and low, with mean ε: the expectation is a binomial sum.
    n, low = 12, -1.5
    share = (contamination - low) / (1.0 - low)
    total = 0.0
    for k in range(n + 1):
        values = BoundedMean(np.repeat([1.0, low], [k, n - k]), low)
        total += stats.binom.pmf(k, n, share) * np.exp(values.log_evalue(contamination))
    assert abs(total - 1.0) < 1e-10


def test_the_conceded_share_is_where_the_pvalue_crosses_the_level() -> None:
    values = BoundedMean(np.random.default_rng(0).uniform(-0.4, 1.0, size=400), -0.4)
    for method in ("betting", "asymptotic"):
        evidence = MeansEvidence((values,), method)
        bound = evidence.bound(0.05)
        assert 0.1 < bound < values.values.mean()
        assert evidence.pvalue(bound - 1e-6) <= 0.05 < evidence.pvalue(bound + 1e-6)
        pvalues = evidence.pvalues(Huber(0.0), np.linspace(0.0, 1.0, 30))
        assert np.all(np.diff(pvalues) >= 0.0)


def contaminated(share: float, mean: float, deviation: float, rng: np.random.Generator, n: int = 600) -> Host:
    x = rng.normal(size=n)
    chosen = rng.random(n) < share
    x[chosen] = rng.normal(mean, deviation, size=int(chosen.sum()))
    return x[:, None]


@pytest.mark.calibration
@pytest.mark.parametrize(("mean", "deviation"), [(1.1, 0.01), (2.5, 0.3), (10.0, 0.1)])
def test_the_level_holds_at_the_edge_of_hubers_model(mean: float, deviation: float) -> None:
    rng = np.random.default_rng(3)
    samples = [contaminated(0.1, mean, deviation, rng, n=400) for _ in range(30)]
    rejected = {
        method: sum(sharp_huber_test(x, Gaussian(), 0.1, rng=k, method=method).rejected for k, x in enumerate(samples))
        for method in ("betting", "asymptotic")
    }
    # At most .05: 6 or more of 30 with probability below .004. The bets are far below.
    assert rejected["betting"] <= 2
    assert rejected["asymptotic"] <= 5


@pytest.mark.calibration
def test_spread_contamination_is_seen_more_sharply_than_by_the_radius() -> None:
    rng = np.random.default_rng(4)
    x = contaminated(0.3, 0.0, 3.0, rng, n=4000)
    result = sharp_huber_test(x, Gaussian(), 0.05, rng=0)
    ksd = sb.robust_ksd_test(x, Gaussian(), 0.05, rng=0)
    assert result.details["supremum"] <= 1.05
    # Per unit of contamination conceded: E f / sup f against D / √τ, of a true share of .3.
    assert result.share > 1.6 * ksd.ksd / ksd.tau**0.5
    assert result.rejected
    assert ksd.contamination_bound < result.contamination_bound < 0.3


@pytest.mark.calibration
def test_with_jumps_wrong_weights_come_back_at_a_tolerance() -> None:
    model, data = (GaussianMixture([w, 1.0 - w], [-6.0, 6.0]) for w in (0.5, 0.75))
    x = data.sample(800, rng=0)
    seen = sharp_huber_test(x, model, 0.1, rng=0, jumps="auto")
    blind = sharp_huber_test(x, model, 0.1, rng=0)
    assert seen.rejected
    assert not blind.rejected
    assert seen.contamination_bound <= 0.5  # wrong weights .75/.25 are a contamination of exactly one half


def test_the_test_in_the_plane_is_certified_too() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(1200, 2))
    x[:400] = rng.normal([2.0, 0.0], 0.3, size=(400, 2))
    result = sharp_huber_test(x, Gaussian(dimension=2), 0.05, rng=0)
    assert result.rejected
    assert result.contamination_bound < 1 / 3
    assert result.details["largest seen"] <= result.details["supremum"] < 1.3


@pytest.mark.backend
def test_every_library_gives_the_same_answer(xp: Any) -> None:
    x = contaminated(0.3, 2.0, 0.3, np.random.default_rng(6), n=200)
    here, there = (sharp_huber_test(v, Gaussian(), 0.05, rng=0) for v in (x, xp.asarray(x)))
    assert np.isclose(here.pvalue, there.pvalue, rtol=1e-6)


def test_what_cannot_be_done_is_said() -> None:
    x = np.random.default_rng(0).normal(size=(50, 4))
    with pytest.raises(ValueError, match=r"d ≤ 3; got d = 4\. Use `robust_ksd_test`"):
        sharp_huber_test(x, Gaussian(dimension=4), 0.05)
    with pytest.raises(TypeError, match="away from the samples"):
        sharp_huber_test(x[:, :1], sb.from_scores(-x[:, :1]), 0.05)
    with pytest.raises(TypeError, match="give `score_lipschitz`"):
        sharp_huber_test(x[:, :1], lambda x: -x, 0.05)
    assert sharp_huber_test(x[:, :1], lambda x: -x, 0.05, score_lipschitz=1.0, rng=0).pvalue > 0.05
    with pytest.raises(TypeError, match="`kernel` must be Gaussian or InverseMultiquadric"):
        sharp_huber_test(x[:, :1], Gaussian(), 0.05, kernel=Matern(1.0))
    with pytest.raises(ValueError, match='`method` must be "betting" or "asymptotic"'):
        sharp_huber_test(x[:, :1], Gaussian(), 0.05, method="exact")
    with pytest.raises(ValueError, match="`support` must be"):
        sharp_huber_test(x[:, :1], Gaussian(), 0.05, support=(1.0, 0.0))


def test_a_column_that_does_not_vary_costs_no_more_than_the_budget() -> None:
    rng = np.random.default_rng(0)
    seen: list[int] = []

    def score(y: Any) -> Any:
        seen.append(len(y))
        return -y

    for spread in (0.0, 1e-9):
        x = np.column_stack([rng.normal(size=200), spread * rng.normal(size=200)])
        result = sharp_huber_test(x, score, 0.05, score_lipschitz=1.0, budget=20_000, rng=0)
        assert 0.0 <= result.pvalue <= 1.0
    assert max(seen) <= 20_000


@pytest.mark.parametrize("budget", [0, -5, 1.5, float("nan"), "many"], ids=str)
def test_a_budget_is_a_positive_count(budget: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="`budget` must be"):
        sharp_huber_test(np.arange(20.0), Gaussian(), 0.05, budget=budget)


LIPSCHITZ: dict[str, Any] = {
    "NaN": float("nan"),
    "negative": -1.0,
    "text": "steep",
    "a function to NaN": lambda y, r: np.full(len(y), np.nan),
    "a function below 0": lambda y, r: -1.0,
}


@pytest.mark.parametrize("bad", LIPSCHITZ.values(), ids=list(LIPSCHITZ))
def test_a_lipschitz_bound_that_is_none_is_refused(bad: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="`score_lipschitz` must"):
        sharp_huber_test(np.random.default_rng(0).normal(size=50), lambda y: -y, 0.05, score_lipschitz=bad, rng=0)


def test_a_score_that_is_nan_inside_the_box_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`model.score` must be finite wherever f is not 0"):
        sharp_huber_test(
            np.random.default_rng(0).normal(size=50),
            lambda y: np.where(np.abs(y - 0.3) < 0.2, np.nan, -y),
            0.05,
            score_lipschitz=1.0,
            rng=0,
        )
