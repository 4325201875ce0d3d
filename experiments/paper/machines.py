"""The Boltzmann machines of the paper's §5.2: the one behind its figure, and random ones."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steinball.models import GaussianBernoulliRBM

__all__ = ["DIMENSION", "HIDDEN", "mode_shares", "modes_of", "published_machine", "random_machine"]

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
    return GaussianBernoulliRBM.random(DIMENSION, HIDDEN, seed, "normal" if normal else "signs")


def modes_of(x: NDArray[np.float64], machine: GaussianBernoulliRBM) -> NDArray[np.intp]:
    """The likeliest hidden state at each row, by its number; given x the hidden units are independent."""
    fields = 0.5 * x @ machine.weights + machine.hidden_bias
    return np.asarray((fields > 0.0) @ (1 << np.arange(machine.hidden)), dtype=np.intp)


def mode_shares(x: NDArray[np.float64], machine: GaussianBernoulliRBM) -> NDArray[np.float64]:
    """The share of the rows in every hidden state, shape (2^d',); beside ``machine.hidden_probabilities()``."""
    return np.bincount(modes_of(x, machine), minlength=2**machine.hidden) / len(x)
