"""The result of a test of draws against a posterior."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import steinball as sb
from steinball.results import MCMCResult

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
