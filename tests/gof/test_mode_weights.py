"""The test of the weights of modes: its functions, its level, and what it says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from steinball.evidence.means import MeansEvidence
from steinball.gof.mode_weights import _deficits, _least_shares, mode_weights_test
from steinball.jumps import ModeJumps
from steinball.models import Gaussian, GaussianMixture
from steinball.radius import Huber

pytestmark = pytest.mark.exact


def evidence_of(values: Any, low: float, method: str = "betting") -> MeansEvidence:
    """Of one function with these values."""
    return MeansEvidence(values[None], np.array([low]), np.zeros(1), method)


@pytest.mark.parametrize("contamination", [0.0, 0.1, 0.4])
def test_the_mean_of_the_evalue_is_one_at_the_edge(contamination: float) -> None:
    # Two values, 1 and low, with mean ε: the expectation is a binomial sum.
    n, low = 12, -1.5
    share = (contamination - low) / (1.0 - low)
    total = 0.0
    for k in range(n + 1):
        evidence = evidence_of(np.repeat([1.0, low], [k, n - k]), low)
        total += stats.binom.pmf(k, n, share) * np.exp(evidence.log_evalue(contamination))
    assert abs(total - 1.0) < 1e-10


def test_the_conceded_share_is_where_the_pvalue_crosses_the_level() -> None:
    values = np.random.default_rng(0).uniform(-0.4, 1.0, size=400)
    for method in ("betting", "asymptotic"):
        evidence = evidence_of(values, -0.4, method)
        bound = evidence.bound(0.05)
        assert 0.1 < bound < values.mean()
        assert evidence.pvalue(bound - 1e-6) <= 0.05 < evidence.pvalue(bound + 1e-6)
        pvalues = evidence.pvalues(Huber(0.0), np.linspace(0.0, 1.0, 30))
        assert np.all(np.diff(pvalues) >= 0.0)


def test_the_standard_deviation_is_at_least_that_under_the_model() -> None:
    """A rare value that was not seen leaves none in the sample."""
    values = np.full((1, 100), 0.25)
    certain, doubtful = (
        MeansEvidence(values, np.array([-1.0]), np.array([deviation]), "asymptotic") for deviation in (0.0, 2.0)
    )
    assert certain.pvalue(0.1) == 0.0
    assert doubtful.pvalue(0.1) == pytest.approx(stats.norm.sf(10.0 * 0.15 / 2.0))
    assert certain.pvalue(0.25) == 0.5  # constant values that do not exceed the share


def test_functions_of_the_weights_have_mean_zero_and_stay_below_one() -> None:
    model = GaussianMixture([0.2, 0.5, 0.3], [-5.0, 0.0, 3.0], [0.5, 1.0, 2.0])  # modes that touch, of other widths
    grid = np.linspace(-25.0, 25.0, 200_001)[:, None]
    mass = np.exp(model.log_density(grid)) * (grid[1, 0] - grid[0, 0])
    for jumps in (ModeJumps.from_model(model), ModeJumps([-4.0, 1.0, 9.0], 2.0)):
        floors = _least_shares(jumps, model, grid)
        values = _deficits(*jumps.memberships(grid, model), floors)
        assert np.abs(mass @ values).max() < 2e-4
        assert values.max() <= 1.0
        assert np.all(values >= -1.0 / floors)


def test_for_modes_of_one_shape_the_deficit_is_the_missing_mass() -> None:
    model = GaussianMixture([0.3, 0.3, 0.4], [[-9.0, 0.0], [9.0, 0.0], [0.0, 12.0]])
    x = GaussianMixture([0.5, 0.1, 0.4], model.means).sample(500, rng=0)
    result = mode_weights_test(x, model, contamination=0.2)
    nearest = np.linalg.norm(x[:, None] - model.means, axis=2).argmin(axis=1)
    expected = 1.0 - np.bincount(nearest) / (500 * model.weights)
    order = np.lexsort(model.means.T[::-1])
    assert np.allclose(result.details["deficits"], expected[order], atol=1e-3)
    assert result.rejected
    assert 0.4 < result.contamination_bound < 2 / 3  # the truth: 1 − .1/.3
    assert ("modes", "3") in result.rows()


@pytest.mark.calibration
def test_weights_are_tested_at_their_level_up_to_the_edge() -> None:
    model = GaussianMixture([0.3, 0.7], np.outer([-2.5, 2.5], np.ones(10)))
    jumps, rng = ModeJumps.from_model(model), np.random.default_rng(7)
    counts = {"betting": 0, "asymptotic": 0}
    for _ in range(100):
        x = model.sample(300, rng)
        outliers = rng.random(300) < 0.1
        x[outliers] = 2.5  # all of the contamination sits in one mode: the edge
        for method in counts:
            counts[method] += mode_weights_test(x, model, 0.1, jumps=jumps, method=method).rejected
    # At most .05 each; 13 or more of 100 with probability below .002.
    assert counts["betting"] <= 5
    assert counts["asymptotic"] <= 12


def test_results_speak() -> None:
    model = GaussianMixture([0.5, 0.5], [-6.0, 6.0])
    x = GaussianMixture([0.9, 0.1], [-6.0, 6.0]).sample(200, rng=0)
    result = mode_weights_test(x, model)
    assert result.rejected
    assert result.statistic >= result.threshold
    assert "REJECTED at level 0.05" in result.summary(details=True)
    assert max(map(len, result.summary(details=True).splitlines())) <= 80
    plain = result.to_dict()
    assert plain["schema"] == "steinball.sharp/2"
    assert plain["pvalue"] == result.pvalue
    fine = mode_weights_test(model.sample(200, rng=0), model, method="asymptotic")
    assert not fine.rejected
    assert fine.statistic < fine.threshold
    assert "does not prove the model" in " ".join(fine.summary(details=True).split())


@pytest.mark.backend
def test_every_library_gives_the_same_answer(xp: Any) -> None:
    model = GaussianMixture([0.5, 0.5], [-6.0, 6.0])
    x = model.sample(100, rng=0)
    assert np.isclose(mode_weights_test(x, model).pvalue, mode_weights_test(xp.asarray(x), model).pvalue)


def test_what_cannot_be_done_is_said() -> None:
    x = np.random.default_rng(0).normal(size=(50, 1))
    with pytest.raises(ValueError, match="compares modes, but the model has one"):
        mode_weights_test(x, Gaussian())
    with pytest.raises(TypeError, match='`jumps` must be "auto" or ModeJumps'):
        mode_weights_test(x, Gaussian(), jumps=None)  # type: ignore[arg-type]


@pytest.mark.calibration
@pytest.mark.parametrize("n", [50, 200])
def test_a_rare_mode_that_no_point_lies_in_is_no_proof_against_it(n: int) -> None:
    model = GaussianMixture([0.98, 0.02], [-6.0, 6.0])
    samples = [model.sample(n, rng=[k, n]) for k in range(200)]
    rejected = sum(mode_weights_test(x, model, method="asymptotic").rejected for x in samples)
    assert rejected <= 17, "level .05 and its band; .335 at n = 50 before"
    lacking = GaussianMixture([0.5, 0.5], [-6.0, 6.0])
    assert mode_weights_test(np.full(50, -6.0), lacking, method="asymptotic").rejected
