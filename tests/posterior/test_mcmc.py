"""Draws against a posterior: level, power and refusals, on chains whose distribution is known."""

from __future__ import annotations

import json
import pickle
import re
from itertools import count, tee
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.arrays import Floats
from steinball.posterior import MCMCResult
from tests.rates import happens


def gaussian(x: Floats) -> Floats:
    return -x


def outcome(x: Floats, seed: int = 0) -> str:
    """What becomes of draws against N(0, I)."""
    try:
        return "rejected" if sb.mcmc_test(x, gaussian, rng=seed).rejected else "passed"
    except ValueError as error:
        return "refused" if re.search("Run the chains longer|The sampler was stuck", str(error)) else f"failed: {error}"


@pytest.mark.calibration
@pytest.mark.parametrize(("correlation", "d"), [(0.5, 2), (0.8, 3)])
def test_chains_of_the_posterior_are_rejected_at_most_at_twice_the_level(
    chains: Any, correlation: float, d: int
) -> None:
    """A rate of .06 and not .22, which at most 12 of 100 would tell as well. Few look like long memory: .02, not .12,
    since tilted features of a chain are no autoregression."""
    first, second = tee(outcome(chains(correlation, (4, 175, d), seed), seed) for seed in count())
    assert happens((word == "rejected" for word in first), 0.06, 0.22)
    assert happens((word == "refused" for word in second), 0.02, 0.12)


@pytest.mark.calibration
@pytest.mark.parametrize("contamination", [0.0, 0.05])
def test_chains_of_another_distribution_are_rejected(chains: Any, contamination: float) -> None:
    x = 0.8 + chains(0.5, (4, 400, 2), 0)
    assert sb.mcmc_test(x, gaussian, contamination=contamination, rng=0).rejected
    assert not sb.mcmc_test(x, lambda x: 0.8 - x, contamination=contamination, rng=0).rejected


@pytest.mark.calibration
def test_a_share_of_stray_draws_is_tolerated_where_that_is_asked_for(chains: Any) -> None:
    x = chains(0.3, (4, 400, 2), 1)
    x[:, ::20] = 5.0  # 5 %
    assert sb.mcmc_test(x, gaussian, rng=0).rejected
    result = sb.mcmc_test(x, gaussian, contamination=0.1, rng=0)
    assert not result.rejected
    assert result.calibration == "BoundaryBootstrap"


@pytest.mark.calibration
def test_a_chain_in_the_wrong_place_is_rejected_or_refused(chains: Any) -> None:
    x = chains(0.5, (4, 500, 2), 2)
    x[3] += 3.0
    assert outcome(x) in {"rejected", "refused"}
    assert outcome(x - 5.0) in {"rejected", "refused"}


@pytest.mark.calibration
@pytest.mark.parametrize("share", [0.25, 0.5, 0.9])
def test_chains_that_stop_on_the_way_are_rejected_or_refused(chains: Any, share: float) -> None:
    x = chains(0.3, (2, 500, 2), 3)
    moving = round(500 * (1.0 - share))
    x[:, moving:] = x[:, moving - 1 : moving]
    assert outcome(x) in {"rejected", "refused"}


@pytest.mark.exact
def test_chains_that_are_worth_too_little_are_refused_with_what_to_do(chains: Any) -> None:
    with pytest.raises(ValueError, match=r"200 draws of 2 chains are worth about .* Run the chains longer, about \d+"):
        sb.mcmc_test(chains(0.95, (2, 100, 1), 0), gaussian)
    with pytest.raises(ValueError, match=r"pass `draws\[..., None\]`"):
        sb.mcmc_test(chains(0.0, (4, 1000, 1), 0)[..., 0], gaussian)


@pytest.mark.exact
def test_units_of_parameters_do_not_matter(chains: Any) -> None:
    x = chains(0.5, (2, 200, 2), 4)
    scale = np.array([1e4, 1e-3])
    plain, scaled = (sb.mcmc_test(s * x, scores=-x / s, rng=0) for s in (np.ones(2), scale))
    assert scaled.pvalue == plain.pvalue
    assert scaled.ksd == pytest.approx(plain.ksd, rel=1e-9)


@pytest.mark.exact
def test_a_model_and_its_scores_give_the_same_answer(chains: Any) -> None:
    x = chains(0.5, (2, 200, 2), 5)
    tilt = sb.PolynomialTilt(center=0.0, scale=1.5)
    by_model = sb.mcmc_test(x, sb.from_score(lambda x: -x), tilt=tilt, rng=0)
    by_scores = sb.mcmc_test(x, scores=-x, tilt=tilt, rng=0)
    assert by_model.pvalue == by_scores.pvalue
    assert by_model.ksd == pytest.approx(by_scores.ksd)


@pytest.mark.exact
def test_rows_with_their_chains_are_the_array_of_chains(chains: Any) -> None:
    x = chains(0.5, (4, 100, 2), 6)
    whole = sb.mcmc_test(x, gaussian, rng=0)
    assert sb.mcmc_test(x.reshape(-1, 2), gaussian, chains=4, rng=0).pvalue == whole.pvalue
    assert sb.mcmc_test(x.swapaxes(0, 1), gaussian, chain_axis=1, rng=0).pvalue == whole.pvalue
    assert sb.mcmc_test({"x": x}, gaussian, rng=0).pvalue == whole.pvalue


@pytest.mark.exact
def test_a_calibration_of_ones_own_is_used_as_it_is(chains: Any) -> None:
    x = chains(0.95, (2, 100, 1), 7)  # worth too little for the default
    result = sb.mcmc_test(x, gaussian, calibration=sb.WildBootstrap(199, dependence=40.0, chains=2), rng=0)
    assert result.n_resamples == 199
    assert result.effective_size < 20


@pytest.mark.exact
def test_a_posterior_with_an_edge_is_tested_with_a_tilt_that_ends_there() -> None:
    x = np.random.default_rng(0).exponential(size=(2, 200, 1))
    exponential = sb.from_score(lambda x: -np.ones_like(x), support=(0, None))
    assert not sb.mcmc_test(x, exponential, rng=0).rejected
    assert sb.mcmc_test(1.5 * x, exponential, rng=0).rejected


@pytest.mark.exact
def test_a_log_density_in_place_of_a_score_is_asked_about(chains: Any) -> None:
    with pytest.warns(sb.cautions.LogDensityWarning, match="from_log_density"):
        sb.mcmc_test(chains(0.0, (1, 300, 1), 8), lambda x: -0.5 * x**2 - 1.0, rng=0)


@pytest.mark.backend
def test_draws_of_every_library_give_one_answer(xp: Any, chains: Any) -> None:
    x = chains(0.5, (2, 100, 2), 9)
    here = sb.mcmc_test(xp.asarray(x), lambda x: -x, rng=0)
    assert here.pvalue == sb.mcmc_test(x, gaussian, rng=0).pvalue


@pytest.mark.exact
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"contamination": 1.5}, "`contamination` must be a finite number"),
        ({"chain_axis": 2}, "`chain_axis` must be 0"),
        ({"level": 0.0}, "`level`"),
        ({"parameters": ["a"]}, "`parameters` must name the 2 columns"),
        ({"kernel": 3.0}, "`kernel` must be a kernel"),
    ],
    ids=["contamination", "axis", "level", "parameters", "kernel"],
)
def test_wrong_options_are_refused_by_name(chains: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        sb.mcmc_test(chains(0.0, (2, 100, 2), 0), gaussian, **options)


@pytest.mark.exact
def test_scores_of_another_shape_are_refused(chains: Any) -> None:
    x = chains(0.0, (2, 100, 2), 0)
    for wrong in (-x[:, :50], -x[..., :1], -x[..., 0]):
        with pytest.raises(ValueError, match="must have the shape"):
            sb.mcmc_test(x, scores=wrong)


def test_a_model_in_base_space_is_refused() -> None:
    draws = np.random.default_rng(0).normal(size=(4, 300, 1))
    with pytest.raises(TypeError, match="`model` lives in base space, and draws are tested as they are"):
        sb.mcmc_test(draws, sb.in_base_space(sb.models.Gaussian(1.0)))


pytestmark = pytest.mark.exact


@pytest.fixture(scope="module")
def result() -> MCMCResult:
    draws = np.random.default_rng(0).normal(size=(4, 100, 2))
    return sb.mcmc_test(draws, scores=-draws, parameters=["mu", "theta"], rng=0)


def test_it_keeps_names_and_chains(result: MCMCResult) -> None:
    assert result.parameters == ("mu", "theta")
    assert result.chains == (100,) * 4
    assert result.effective_size == pytest.approx(400 / result.autocorrelation_time)
    assert result.contributions.shape == (400,)


def test_it_keeps_them_at_another_tolerance_and_with_more_draws(result: MCMCResult) -> None:
    for other in (result.at(level=0.1), result.at(radius=0.5), result.extend(100)):
        assert isinstance(other, MCMCResult)
        assert other.parameters == result.parameters
        assert other.effective_size == result.effective_size
    assert result.extend(100).n_resamples == 1099
    assert result.at(radius=0.5).pvalue == 1.0


def test_its_words_are_about_draws_and_a_posterior(result: MCMCResult) -> None:
    short, text = " ".join(result.summary().split()), result.summary(details=True)
    assert "The 400 draws do not contradict the posterior" in short
    assert "Kernel Stein test of draws against a posterior" in text
    assert "400 draws of 2 parameters" in text
    assert "the draws do not contradict the posterior" in " ".join(text.split())
    assert "does not prove that the chains have converged" in " ".join(text.split())
    assert "data" not in result.sentence()


def test_it_goes_to_json_and_through_pickle(result: MCMCResult) -> None:
    said = json.loads(json.dumps(result.to_dict()))
    assert said["schema"] == "steinball.mcmc/1"
    assert said["parameters"] == ["mu", "theta"]
    assert pickle.loads(pickle.dumps(result)).to_dict() == result.to_dict()
