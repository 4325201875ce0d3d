"""Chains one behind the other: their number or their lengths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from steinball.checks.chains import as_chains, chain_lengths, chain_starts

pytestmark = pytest.mark.exact


def test_a_number_of_chains_and_their_lengths_say_the_same() -> None:
    assert chain_lengths(12, 3) == chain_lengths(12, (4, 4, 4))
    assert chain_starts(12, 3).tolist() == [0, 4, 8]
    assert chain_starts(12, (5, 7)).tolist() == [0, 5]
    assert as_chains(np.array([5, 7])) == (5, 7)


@pytest.mark.parametrize("chains", [5, 13, (4, 4), (12, 1)])
def test_chains_add_up_to_the_rows(chains: Any) -> None:
    with pytest.raises(ValueError, match="n = 12"):
        chain_lengths(12, chains)


@pytest.mark.parametrize("chains", [0, -1, 2.5, "two", [], [3, 0]])
def test_what_is_no_number_of_chains_is_refused(chains: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="`chains`"):
        as_chains(chains)
