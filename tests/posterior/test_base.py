"""What every posterior of another library has."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from steinball.arrays import Floats
from steinball.posterior.base import Posterior, check_names, over_draws

pytestmark = pytest.mark.exact


class Half(Posterior):
    parameters = ("a", "b")

    def unconstrain(self, values: Mapping[str, Floats]) -> Floats:
        return np.log(values["x"])

    def score(self, x: Floats, /) -> Floats:
        return -x


def test_its_dimension_is_the_number_of_its_parameters() -> None:
    assert Half().dimension == 2
    assert repr(Half()) == "Half(a, b)"


def test_parameters_that_the_draws_lack_are_named() -> None:
    with pytest.raises(ValueError, match="`draws` lacks tau of the model; it has mu, theta"):
        check_names(["mu", "tau"], {"mu": np.zeros(1), "theta": np.zeros(1)})


def test_draws_become_rows_chain_behind_chain() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(over_draws({"x": x})["x"], x.reshape(6, 4))
