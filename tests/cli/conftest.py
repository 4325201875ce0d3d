"""What the tests of the command share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def data(tmp_path: Path) -> str:
    """300 standard normal points, 15 of them (5 %) moved to 10."""
    x = np.random.default_rng(1).normal(size=300)
    x[::20] = 10.0
    np.savetxt(tmp_path / "points.csv", x, header="x", comments="")
    return str(tmp_path / "points.csv")
