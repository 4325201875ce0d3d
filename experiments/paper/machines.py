"""The Boltzmann machines of the paper's §5.2: the one behind its figure, and random ones."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from steinball.models import GaussianBernoulliRBM

__all__ = [
    "DIMENSION",
    "HIDDEN",
    "chain",
    "last_states",
    "mode_shares",
    "modes_of",
    "published_machine",
    "random_machine",
    "random_rbm",
]

DIMENSION, HIDDEN = 50, 10
_FILE = Path(__file__).with_name("machine.json")


@cache
def published_machine() -> GaussianBernoulliRBM:
    """The machine of the published figure: B of entries ±1, b and c standard normal, drawn once by the authors.

    Examples
    --------
    >>> machine = published_machine()
    >>> machine, round(float(machine.visible_bias[0]), 3)
    (GaussianBernoulliRBM(dimension=50, hidden=10), 1.214)
    """
    parts = json.loads(_FILE.read_text(encoding="utf-8"))
    return GaussianBernoulliRBM(parts["B"], parts["b"], parts["c"])


@cache
def random_machine(seed: int, *, normal: bool = False) -> GaussianBernoulliRBM:
    """Another machine like it; ``normal`` entries of B are N(0, 1), as the text says."""
    return random_rbm(DIMENSION, HIDDEN, seed, normal=normal)


def random_rbm(dimension: int, hidden: int, rng: Any = None, *, normal: bool = False) -> GaussianBernoulliRBM:
    """A machine with standard normal biases and weights ±1, as behind the paper's figure, or ``normal`` ones.

    Examples
    --------
    >>> random_rbm(50, 10, rng=0)
    GaussianBernoulliRBM(dimension=50, hidden=10)
    """
    generator, size = np.random.default_rng(rng), (dimension, hidden)
    weights = generator.standard_normal(size) if normal else generator.choice([-1.0, 1.0], size=size)
    return GaussianBernoulliRBM(weights, generator.standard_normal(dimension), generator.standard_normal(hidden))


def modes_of(x: NDArray[np.float64], machine: GaussianBernoulliRBM) -> NDArray[np.intp]:
    """The likeliest hidden state at each row, by its number; given x the hidden units are independent."""
    fields = 0.5 * x @ machine.weights + machine.hidden_bias
    return np.asarray((fields > 0.0) @ (1 << np.arange(machine.hidden)), dtype=np.intp)


def mode_shares(x: NDArray[np.float64], machine: GaussianBernoulliRBM) -> NDArray[np.float64]:
    """The share of the rows in every hidden state, shape (2^d',); beside ``machine.hidden_probabilities()``."""
    return np.bincount(modes_of(x, machine), minlength=2**machine.hidden) / len(x)


def last_states(machine: GaussianBernoulliRBM, n: int, rng: Any = None, sweeps: int = 2000) -> NDArray[np.float64]:
    """The last states of ``n`` Gibbs chains of so many sweeps from N(0, I), shape (n, d)."""
    generator = np.random.default_rng(rng)
    return _swept(machine, generator.standard_normal((n, machine.dimension)), sweeps, generator)


def chain(
    machine: GaussianBernoulliRBM, n: int, rng: Any = None, burn_in: int = 2000, thin: int = 10
) -> NDArray[np.float64]:
    """``n`` states of one Gibbs chain from N(0, I), every ``thin``-th past ``burn_in`` sweeps; (n, d).

    The paper's text takes n = 500 with these defaults: 7,000 sweeps. The states are dependent, and all in one mode
    where the chain does not mix.
    """
    generator = np.random.default_rng(rng)
    x = _swept(machine, generator.standard_normal((1, machine.dimension)), burn_in, generator)
    kept = np.empty((n, machine.dimension))
    for i in range(n):
        x = _swept(machine, x, thin, generator)
        kept[i] = x[0]
    return kept


def _swept(
    machine: GaussianBernoulliRBM, x: NDArray[np.float64], sweeps: int, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Rows of ``x`` after ``sweeps`` draws of h given x, then x given h."""
    for _ in range(sweeps):
        fields = x @ (0.5 * machine.weights) + machine.hidden_bias
        up = generator.random((len(x), machine.hidden)) < expit(2.0 * fields)
        x = machine.draw_visible(2.0 * up - 1.0, generator)
    return x
