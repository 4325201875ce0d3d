"""The machine of the published figure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from experiments.paper.machines import (
    chain,
    last_states,
    mode_shares,
    modes_of,
    published_machine,
    random_machine,
    random_rbm,
)
from steinball.models import GaussianBernoulliRBM

pytestmark = pytest.mark.exact


def test_the_published_machine_has_fifty_visible_and_ten_hidden_units_and_signs() -> None:
    machine = published_machine()
    assert machine.weights.shape == (50, 10)
    assert set(np.unique(machine.weights)) == {-1.0, 1.0}
    assert machine.visible_bias[:2] == pytest.approx([1.2138537, -0.0951543])
    assert machine.hidden_bias[:2] == pytest.approx([-0.9656610, -0.4312446])


def test_one_mode_of_the_published_machine_holds_nearly_everything() -> None:
    probabilities = published_machine().hidden_probabilities()
    assert np.argmax(probabilities) == 0b1111101000
    assert probabilities.max() == pytest.approx(0.9994, abs=1e-4)


def test_a_mode_is_the_likeliest_hidden_state() -> None:
    machine = random_machine(3)
    x = machine.sample(20, rng=0)
    states = machine.hidden_states(np.arange(2**machine.hidden))
    joint = 0.5 * x @ machine.weights @ states.T + states @ machine.hidden_bias  # log p(h | x) up to a constant
    assert np.array_equal(modes_of(x, machine), np.argmax(joint, axis=1))


def test_exact_draws_are_in_the_modes_as_often_as_the_model_says() -> None:
    machine = published_machine()
    shares = mode_shares(machine.sample(2000, rng=0), machine)
    assert shares.sum() == pytest.approx(1.0)
    assert shares[0b1111101000] == pytest.approx(0.9994, abs=4.0 * 0.0006)


def test_chains_end_in_modes_that_the_model_hardly_has() -> None:
    """Chains of 50 sweeps are as stuck as those of 2,000: a third of them is in the mode that has all the mass."""
    machine = published_machine()
    x = last_states(machine, 400, rng=0, sweeps=50)
    assert mode_shares(x, machine)[0b1111101000] < 0.6


SMALL = random_rbm(4, 3, rng=1, normal=True)
PAPER = random_rbm(50, 10, rng=1)


def projected_law(model: GaussianBernoulliRBM, a: np.ndarray) -> Any:
    """Distribution function of aᵀx for |a| = 1: x given h is N(b + Bh/2, I)."""
    states = model.hidden_states(np.arange(2**model.hidden))
    places, weights = (model.visible_bias + 0.5 * states @ model.weights.T) @ a, model.hidden_probabilities()
    return lambda t: stats.norm.cdf(t[:, None] - places) @ weights


def unit(direction: np.ndarray) -> np.ndarray:
    return np.asarray(direction / np.linalg.norm(direction))


@pytest.mark.parametrize("column", [0, 1, 2])
def test_gibbs_chains_of_a_machine_that_mixes_follow_the_enumerated_law(column: int) -> None:
    """20,000 independent chains of 60 sweeps, Kolmogorov–Smirnov at level 1e-3."""
    a = unit(SMALL.weights[:, column])
    draws = last_states(SMALL, 20_000, rng=4, sweeps=60)
    assert stats.kstest(draws @ a, projected_law(SMALL, a)).pvalue > 1e-3


def test_one_chain_of_a_machine_that_mixes_follows_the_enumerated_law() -> None:
    """3,000 states 10 sweeps apart of a weakly coupled machine: as good as independent. Level 1e-3."""
    weak = GaussianBernoulliRBM(0.5 * SMALL.weights, SMALL.visible_bias, SMALL.hidden_bias)
    draws = chain(weak, 3000, rng=5, burn_in=100)
    assert draws.shape == (3000, 4)
    for column in range(3):
        a = unit(weak.weights[:, column])
        assert stats.kstest(draws @ a, projected_law(weak, a)).pvalue > 1e-3


def test_a_chain_takes_burn_in_plus_thin_times_n_sweeps() -> None:
    """State i of the chain is the state after burn_in + thin·(i + 1) sweeps of the same stream."""
    long = chain(SMALL, 12, rng=6, burn_in=0, thin=1)
    np.testing.assert_array_equal(chain(SMALL, 3, rng=6, burn_in=3, thin=3), long[[5, 8, 11]])


def test_gibbs_chains_of_the_paper_s_machine_do_not_mix() -> None:
    """One hidden state has almost all the mass of this machine; chains are spread over several for ever."""
    assert PAPER.hidden_probabilities().max() > 0.99
    code = 2 ** np.arange(10)
    counts = []
    for x in (PAPER.sample(200, rng=7), last_states(PAPER, 200, rng=7, sweeps=300)):
        signs = 0.5 * x @ PAPER.weights + PAPER.hidden_bias > 0.0
        counts.append(np.bincount(signs @ code, minlength=1024)[PAPER.hidden_probabilities().argmax()])
    assert counts[0] > 190
    assert counts[1] < 120


def test_random_machines_have_signs_or_normal_entries() -> None:
    assert set(np.unique(PAPER.weights)) == {-1.0, 1.0}
    normal = random_rbm(60, 50, rng=0, normal=True)
    assert stats.kstest(normal.weights.ravel(), stats.norm.cdf).pvalue > 1e-3
    assert stats.kstest(normal.visible_bias, stats.norm.cdf).pvalue > 1e-3
    assert stats.kstest(normal.hidden_bias, stats.norm.cdf).pvalue > 1e-3
    np.testing.assert_array_equal(PAPER.weights, random_rbm(50, 10, rng=1).weights)
