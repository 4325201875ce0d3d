"""Named parameters as columns."""

from __future__ import annotations

import numpy as np
import pytest

from steinball.posterior.layout import Layout

pytestmark = pytest.mark.exact

LAYOUT = Layout(("mu", "corr", "tau"), ((), (2, 3), (1,)))


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
    assert Layout.of({"a": np.zeros((4, 9)), "b": np.zeros((4, 9, 2))}, 2) == Layout(("a", "b"), ((), (2,)))
