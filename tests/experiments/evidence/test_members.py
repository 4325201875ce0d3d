"""Rows of one member of each family."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.evidence.members import MEMBERS, column
from steinball.fitting import as_family


@pytest.mark.exact
@pytest.mark.parametrize("name", MEMBERS)
def test_a_column_has_the_rows_of_the_member_of_a_known_family(name: str) -> None:
    family, draw = column(name)
    x = draw(np.random.default_rng(0), 30)
    np.testing.assert_array_equal(x[:, 0], MEMBERS[name](np.random.default_rng(0), 30))
    assert as_family(family, x.shape[1]).label
