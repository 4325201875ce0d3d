"""Rates from no more repeats than the answer needs: their chances of error, and that these are what is said."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

import numpy as np
import pytest
import scipy

from tests.rates import ALARM, ALWAYS, EXACT_LEVEL, LEVEL, MISS, happens

CLAIMS = pytest.mark.parametrize("claim", [LEVEL, EXACT_LEVEL, ALWAYS], ids=["level", "exact level", "always"])
WALKS = 2000


def granted(rate: float, claim: tuple[float, ...]) -> int:
    """How many of 2000 series of events of a rate are granted the claim."""
    rng = np.random.default_rng([4, int(1e6 * rate)])

    def events() -> Iterator[bool]:
        while True:
            yield from (rng.random(200) < rate).tolist()

    return sum(happens(events(), *claim) for _ in range(WALKS))


@pytest.mark.calibration
@CLAIMS
def test_the_chances_of_error_are_those_that_are_said(claim: tuple[float, ...]) -> None:
    """Within what a binomial of 2000 exceeds with probability 0.001; every other rate has its own share of alarms."""
    most = scipy.stats.binom(WALKS, ALARM * (len(claim) - 1)).isf(0.001)
    assert WALKS - granted(claim[0], claim) <= most
    assert all(granted(other, claim) <= scipy.stats.binom(WALKS, MISS).isf(0.001) for other in claim[1:])


@pytest.mark.exact
def test_fixed_numbers_of_repeats_have_the_chances_that_are_said() -> None:
    """Those of the bands over 400 repeats that the sequential tests take the place of."""
    misses = scipy.stats.binom(400, [0.13, 0.01, 0.03])
    np.testing.assert_allclose(misses.cdf(36)[0], 0.008, atol=5e-4)
    np.testing.assert_allclose(misses.sf(7)[1], 0.05, atol=5e-4)
    np.testing.assert_allclose(misses.cdf(4)[2], 0.007, atol=5e-4)


@pytest.mark.exact
def test_outcomes_that_end_too_soon_decide_nothing() -> None:
    with pytest.raises(ValueError, match="go on until"):
        happens(repeat(False, 40), *LEVEL)
