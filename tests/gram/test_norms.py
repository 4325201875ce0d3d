"""Lengths of sums over samples of the model: joined in order, and refused where they overflow."""

from __future__ import annotations

import numpy as np
import pytest

from steinball.gram.norms import PrefixNorms

pytestmark = pytest.mark.exact


def test_parts_are_joined_in_order() -> None:
    parts = [PrefixNorms(np.full((k, 3), float(k)), np.full(k, k / 10)) for k in (1, 2)]
    joined = PrefixNorms.joined(parts)
    np.testing.assert_array_equal(joined.norms[:, 0], [1.0, 2.0, 2.0])
    np.testing.assert_array_equal(joined.uniforms, [0.1, 0.2, 0.2])


def test_what_overflows_is_named() -> None:
    with pytest.raises(FloatingPointError, match="draws of the model overflow"):
        PrefixNorms(np.array([[0.0, np.inf]]), np.zeros(1))
