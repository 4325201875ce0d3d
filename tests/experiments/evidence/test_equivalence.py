"""The upper bounds that are compared with the one in use."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtri

from experiments.evidence.equivalence import asymptotic_bound

pytestmark = pytest.mark.exact


def test_the_asymptotic_bound_is_the_smallest_radius_that_its_rule_certifies() -> None:
    rng = np.random.default_rng(3)
    rows, ksd = rng.normal(0.2, 0.1, size=50), 0.4
    found = asymptotic_bound(ksd, rows)
    radii = np.linspace(0.0, 1.0, 100_001)
    certified = radii[ksd <= radii - float(ndtri(0.95)) * rows.std() / (ksd * math.sqrt(50))]
    assert found == pytest.approx(certified[0], abs=1e-5)
    assert asymptotic_bound(0.0, rows) == math.inf
