"""The machine of the published figure."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.paper.machines import mode_shares, modes_of, published_machine, random_machine

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
    x = machine.sample(400, rng=0, method="gibbs", sweeps=50)
    assert mode_shares(x, machine)[0b1111101000] < 0.6
