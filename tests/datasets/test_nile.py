"""The flow of the Nile: known numbers."""

from __future__ import annotations

import pytest

from steinball.datasets import load_nile

pytestmark = pytest.mark.exact


def test_flows_are_the_published_hundred() -> None:
    flow = load_nile()
    assert flow.shape == (100, 1)
    assert flow.sum() == 91_935.0  # a mean of 919.35
    assert (flow[0, 0], flow[42, 0], flow[-1, 0]) == (1120.0, 456.0, 740.0)
    assert flow[:28].mean() - flow[28:].mean() == pytest.approx(247.8, abs=0.1)
