"""The comparison with other packages."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import pytest

from benchmarks import peers

pytestmark = pytest.mark.exact


def test_peers_that_are_not_installed_are_skipped_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["peers", "--small"])
    monkeypatch.setattr(peers, "measure", lambda peer, sizes: {"power": 0.5, "times": [{"seconds": 1.0}]})
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: real(name) if name == "steinball" else None)
    peers.main()
    printed = capsys.readouterr().out
    assert "hyppo FSSD           skipped: hyppo is not installed (pip install hyppo)" in printed
    assert "goodpoints CTT       skipped: goodpoints is not installed (pip install goodpoints)" in printed
    assert "steinball ksd_test     0.50" in printed


def test_our_own_side_of_the_comparison_decides() -> None:
    x = np.random.default_rng(0).standard_normal((300, 2))
    (ours,) = (peer for peer in peers.PEERS if peer.module == "steinball")
    assert (ours.rejects(x, 0), ours.rejects(x + 1.0, 0)) == (False, True)
