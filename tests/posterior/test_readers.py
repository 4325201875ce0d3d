"""Who reads what."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import steinball as sb
from steinball.posterior.draws import Reading
from steinball.posterior.readers import kind_of, read

pytestmark = pytest.mark.exact

X = np.random.default_rng(0).normal(size=(2, 100, 2))
GAUSSIAN = sb.models.Gaussian([0.0, 0.0])


def made(module: str, name: str) -> Any:
    """An instance of a class that another library might have."""
    return type(name, (), {"__module__": module})()


@pytest.mark.parametrize(
    ("module", "name", "kind"),
    [
        ("numpyro.infer.mcmc", "MCMC", "MCMC"),
        ("pymc.model.core", "Model", "PyMC"),
        ("bridgestan.model", "StanModel", "Stan"),
        ("arviz.data.inference_data", "InferenceData", "InferenceData"),
        ("xarray.core.datatree", "DataTree", "DataTree"),
        ("blackjax.mcmc.hmc", "HMCState", "BlackJAX"),
        ("mine", "MCMC", ""),
    ],
)
def test_objects_are_known_by_the_names_of_their_classes(module: str, name: str, kind: str) -> None:
    value = made(module, name)
    assert kind_of(value) == kind
    assert kind_of(type("Derived", (type(value),), {})()) == kind


def test_scores_of_every_shape_follow_the_draws() -> None:
    rows = X.reshape(-1, 2)
    for draws, scores, reading in (
        (X, -X, Reading()),
        (rows, -rows, Reading()),
        (X, -rows, Reading()),
        (X.swapaxes(0, 1), -X.swapaxes(0, 1), Reading(chain_axis=1)),
        ({"x": X}, -X, Reading()),
        ({"x": X}, (-rows).tolist(), Reading()),
    ):
        case = read(draws, None, scores, reading)
        np.testing.assert_array_equal(np.asarray(case.model), -case.draws.values)


@pytest.mark.parametrize(
    ("draws", "model", "scores", "message"),
    [
        (X, GAUSSIAN, -X, "`model` or `scores`, not both"),
        (X, None, None, "`model` or `scores` is needed"),
        (X, made("pymc.model.core", "Model"), None, "knows its parameters by name"),
        (X, made("bridgestan.model", "StanModel"), None, "knows its parameters by name"),
        (made("pymc.model.core", "Model"), X, None, "draws first"),
        ({"x": X}, made("numpyro.infer.hmc", "MCMCKernel"), None, "without its run"),
        ({"mu": X, "tau": X}, GAUSSIAN, None, "has the variables mu, tau"),
    ],
    ids=["both", "neither", "no names", "no names for Stan", "turned round", "kernel", "order"],
)
def test_what_is_ambiguous_is_refused(draws: Any, model: Any, scores: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        read(draws, model, scores, Reading())


def test_chains_of_draws_that_know_them_are_not_asked_for() -> None:
    with pytest.raises(ValueError, match="a Dataset, which knows its chains"):
        read(made("xarray.core.dataset", "Dataset"), GAUSSIAN, None, Reading(chain_axis=0))


class State(NamedTuple):
    position: Any
    logdensity: Any
    logdensity_grad: Any


State.__module__ = "blackjax.mcmc.hmc"


def test_states_against_another_model_are_tested_against_that() -> None:
    states = State(X[0], np.zeros(100), -X[0])
    assert read(states, GAUSSIAN, None, Reading()).model is GAUSSIAN
    np.testing.assert_array_equal(read(states, None, None, Reading()).model, -X[0])
