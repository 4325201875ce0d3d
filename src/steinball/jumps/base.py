"""What a move of the data is, and which tolerances survive one."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from steinball.arrays import Array

__all__ = ["CLOSED", "Jumps", "closed_under_moves"]

CLOSED = ("ChiSquared", "DensityBand", "Hellinger", "Huber", "KullbackLeibler", "StudentTails", "TotalVariation")
"""Radii of sets of distributions that a P-invariant move does not leave, by the name of their class."""


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
    (:func:`closed_under_moves`) holds for the moved data (``docs/theory/many-modes.md``).

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


def closed_under_moves(radius: Any) -> bool:
    """Whether the set behind a radius contains QK with every Q that it contains, for every P-invariant K.

    True of Huber's model (by linearity), of total variation, Hellinger, Kullback–Leibler and χ² balls (data
    processing), and of a density band, whose image stays in the total variation ball that its radius covers. Not of a
    stated KSD, of Wasserstein balls, of score errors or of "as far as this alternative": K can carry their members
    outside. A radius of 0 holds P alone, which stays.

    Examples
    --------
    >>> from steinball.radius import FixedRadius, Huber
    >>> closed_under_moves(Huber(0.05)), closed_under_moves(FixedRadius(0.1)), closed_under_moves(0.0)
    (True, False, True)
    """
    value = getattr(radius, "value", radius)
    return type(radius).__name__ in CLOSED or (isinstance(value, (int, float)) and float(value) == 0.0)
