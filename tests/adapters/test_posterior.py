"""Named parameters as columns, and what every posterior of another library has."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from steinball.adapters.samplers import Layout, Posterior
from steinball.arrays import Floats

pytestmark = pytest.mark.exact

LAYOUT = Layout({"mu": (), "corr": (2, 3), "tau": (1,)})


def test_columns_are_named_by_parameter_and_index() -> None:
    names = ["corr[0,0]", "corr[0,1]", "corr[0,2]", "corr[1,0]", "corr[1,1]", "corr[1,2]"]
    assert LAYOUT.parameters == ("mu", *names, "tau[0]")


@pytest.mark.parametrize("leading", [(), (5,), (4, 5)], ids=str)
def test_unpacking_undoes_packing(leading: tuple[int, ...]) -> None:
    rows = np.random.default_rng(0).normal(size=(*leading, 8))
    parts = LAYOUT.unpack(rows)
    assert [part.shape for part in parts.values()] == [leading, (*leading, 2, 3), (*leading, 1)]
    np.testing.assert_array_equal(LAYOUT.pack(parts), rows)


def test_the_layout_of_draws_is_that_of_one_draw() -> None:
    assert Layout.of({"a": np.zeros((4, 9)), "b": np.zeros((4, 9, 2))}, 2) == Layout({"a": (), "b": (2,)})


class Half(Posterior):
    names, parameters = ("x", "y"), ("a", "b")

    def free_rows(self, rows: Mapping[str, Floats]) -> Floats:
        return np.log(np.stack([rows["x"], rows["y"]], axis=1))

    def score(self, x: Floats, /) -> Floats:
        return -x


def test_the_dimension_of_a_posterior_is_the_number_of_its_parameters() -> None:
    assert Half().dimension == 2
    assert repr(Half()) == "Half(a, b)"


def test_parameters_that_the_draws_lack_are_named() -> None:
    with pytest.raises(ValueError, match="`draws` lacks y of the model; it has x, theta"):
        Half().unconstrain({"x": np.zeros((1, 1)), "theta": np.zeros((1, 1))})


def test_draws_are_unconstrained_row_by_row_and_keep_their_chains() -> None:
    x = np.exp(np.arange(6.0)).reshape(2, 3)
    found = Half().unconstrain({"other": x, "y": 2.0 * x, "x": x})
    np.testing.assert_allclose(found, np.log(np.stack([x, 2.0 * x], axis=2)))
