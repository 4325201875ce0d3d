"""Where suprema are looked for."""

from __future__ import annotations

import numpy as np
import pytest

from steinball.fitting.probes import far_and_near
from steinball.models.support import Support

pytestmark = pytest.mark.exact
X = np.random.default_rng(0).normal(3.0, 2.0, size=(500, 2))


def test_probes_reach_from_the_center_to_far_out() -> None:
    for x in (X, X[:, :1], np.ones((5, 2))):
        lengths = np.linalg.norm(far_and_near(x, None) - np.median(x, axis=0), axis=1)
        assert lengths.min() == 0.0
        assert lengths.max() > 1e5


def test_probes_stay_inside_and_come_next_to_edges() -> None:
    x = np.abs(X)
    probes = far_and_near(x, Support.of((0, None)))
    assert (probes > 0.0).all()
    assert (probes.min(axis=0) < 1e-6).all()
