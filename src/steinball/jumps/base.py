"""What a move of the data is."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from steinball.arrays import Array


@runtime_checkable
class Jumps(Protocol):
    r"""A Markov kernel K that leaves the model alone, applied to each point before testing

    .. math:: P K = P, \qquad Q K = (1 - \varepsilon) P + \varepsilon R K
       \quad\text{for}\quad Q = (1 - \varepsilon) P + \varepsilon R.

    Notes
    -----
    Whoever writes one promises three things, none of which can be checked from outside: K is *exactly* P-invariant;
    it was fixed without looking at the tested data; each point moves by itself, with randomness of its own. Then the
    moved data are an independent sample of QK, and every statement about sets that K does not leave
    (:attr:`steinball.radius.Radius.closed_under_moves`) holds for the moved data (``docs/theory/many-modes.md``).

    Examples
    --------
    >>> class Mirror:  # P-invariant for every model symmetric about 0
    ...     def move(self, samples, model, seed):
    ...         signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(len(samples), 1))
    ...         return signs * samples
    >>> isinstance(Mirror(), Jumps)
    True
    """

    def move(self, samples: Array, model: Any, seed: np.random.SeedSequence, /) -> Array:
        """The moved points: the shape, library, device and dtype of ``samples`` (n, d)."""
