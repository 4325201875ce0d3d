"""States of BlackJAX."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import steinball as sb
from steinball.adapters.samplers import ADAPTERS, OrderedDraws, Reading
from steinball.posterior import ChainDraws, read

X = np.random.default_rng(0).normal(size=(3, 40, 4))


class HMCState(NamedTuple):
    """A stand-in with the fields of ``blackjax.mcmc.hmc.HMCState``."""

    position: Any
    logdensity: Any
    logdensity_grad: Any


class RWState(NamedTuple):
    position: Any
    logdensity: Any


HMCState.__module__ = "blackjax.mcmc.hmc"


def read_states(states: HMCState, reading: Reading) -> tuple[ChainDraws, Any]:
    return read(states, None, None, reading)


def state(x: Any) -> HMCState:
    tree = {"mu": x[..., 0], "theta": x[..., 1:]}
    return HMCState(tree, np.zeros(x.shape[:-1]), {name: -part for name, part in tree.items()})


@pytest.mark.exact
def test_positions_and_gradients_become_rows() -> None:
    draws, scores = read_states(state(X), Reading(chain_axis=0))
    assert draws.parameters == ("mu", "theta[0]", "theta[1]", "theta[2]")
    assert draws.lengths == (40, 40, 40)
    np.testing.assert_array_equal(scores.scores, -X.reshape(-1, 4))
    turned = read_states(state(X.swapaxes(0, 1)), Reading(chain_axis=1))
    np.testing.assert_array_equal(turned[0].values, draws.values)
    np.testing.assert_array_equal(turned[1].scores, scores.scores)
    assert read_states(state(X[0]), Reading())[0].lengths == (40,)


@pytest.mark.exact
def test_positions_of_any_tree_have_names() -> None:
    tree = {"a": (X[0, :, 0], X[0, :, 1]), "b": {"c": X[0, :, 2:]}}
    draws, _ = read_states(HMCState(tree, np.zeros(40), tree), Reading())
    assert draws.parameters == ("a.x0", "a.x1", "b.c[0]", "b.c[1]")
    plain = HMCState(X[0], np.zeros(40), -X[0])
    assert read_states(plain, Reading())[0].parameters[0] == "x[0]"
    assert read_states(plain, Reading(parameters=("p", "q", "r", "s")))[0].parameters == ("p", "q", "r", "s")


@pytest.mark.exact
def test_which_axis_is_the_chain_must_be_said() -> None:
    with pytest.raises(ValueError, match=r"two leading axes \(3, 40\)"):
        read_states(state(X), Reading())
    with pytest.raises(ValueError, match="one leading axis"):
        read_states(state(X[0, 0]), Reading())


@pytest.mark.exact
def test_states_without_a_gradient_give_no_scores() -> None:
    found = ADAPTERS["blackjax"].draws(RWState(X[0], np.zeros(40)), Reading())
    assert isinstance(found, OrderedDraws)
    assert found.scores is None


@pytest.mark.calibration
def test_draws_of_nuts_pass_and_a_wrong_gradient_is_rejected() -> None:
    blackjax, jax = pytest.importorskip("blackjax"), pytest.importorskip("jax")

    def logdensity(x: Any) -> Any:
        return -0.5 * x["mu"] ** 2 / 9.0 + x["rate"] - jax.numpy.exp(x["rate"])

    nuts = blackjax.nuts(logdensity, 0.5, np.array([9.0, 1.0]))
    start = jax.vmap(nuts.init)({"mu": np.zeros(4), "rate": np.zeros(4)})

    def step(states: Any, key: Any) -> Any:
        states = jax.vmap(nuts.step)(jax.random.split(key, 4), states)[0]
        return states, states

    _, states = jax.lax.scan(step, start, jax.random.split(jax.random.key(0), 400))
    result = sb.mcmc_test(states, chain_axis=1, rng=0)
    assert not result.rejected
    assert result.parameters == ("mu", "rate")
    assert result.chains == (400,) * 4
    wrong = {**states.logdensity_grad, "rate": states.logdensity_grad["rate"] - 1.0}  # the Jacobian was forgotten
    assert sb.mcmc_test(states._replace(logdensity_grad=wrong), chain_axis=1, rng=0).rejected
