"""Chains that stand one behind the other in the rows of a sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import check_resamples

__all__ = ["Chains", "as_chains", "chain_lengths", "chain_starts"]

Chains = int | Sequence[int]
"""A number of chains of one length, or the length of each."""


def as_chains(chains: Any) -> Chains:
    """What a user passed: a number of chains, or their lengths in order.

    Examples
    --------
    >>> as_chains(4), as_chains([500, 300])
    (4, (500, 300))
    """
    chains = chains.tolist() if isinstance(chains, np.ndarray) else chains
    if isinstance(chains, Sequence) and not isinstance(chains, str) and len(chains):
        return tuple(check_resamples(length, "chains") for length in chains)
    return check_resamples(chains, "chains")


def chain_lengths(n: int, chains: Chains) -> tuple[int, ...]:
    """The length of each chain in n rows; refused where they do not add up to n.

    Examples
    --------
    >>> chain_lengths(600, 2)
    (300, 300)
    """
    lengths = (n // chains,) * chains if isinstance(chains, int) else tuple(chains)
    if sum(lengths) != n or min(lengths) < 1:
        rule = "divide the number of rows" if isinstance(chains, int) else "be lengths that add up to the rows"
        raise ValueError(f"`chains={chains!r}` must {rule}, n = {n}. Give the length of each chain, in their order.")
    return lengths


def chain_starts(n: int, chains: Chains) -> NDArray[np.intp]:
    """The first row of each chain."""
    return np.cumsum([0, *chain_lengths(n, chains)[:-1]])
