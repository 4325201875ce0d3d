"""Other tests beside those of the library: their samples and statistics are what they are called."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from benchmarks import competitors

pytestmark = pytest.mark.exact


def test_anderson_darling_has_the_limit_of_the_literature() -> None:
    """2.492 is the limit of level .05 where the distribution is known (D'Agostino and Stephens 1986, table 4.2)."""
    assert competitors._anderson_darling_limit(100) == pytest.approx(2.492, abs=0.15)
    x = np.random.default_rng(0).normal(size=(50, 1))
    u = (np.arange(400_000) + 0.5) / 400_000  # the integral that the statistic is: n ∫ (F_n − u)² / (u (1 − u)) du
    share = np.searchsorted(np.sort(stats.norm.cdf(x[:, 0])), u) / 50
    integral = 50 * np.mean((share - u) ** 2 / (u * (1 - u)))
    assert competitors.anderson_darling(x) == pytest.approx(integral, rel=1e-3)


@pytest.mark.parametrize("rejects", [competitors.mmd_rejects, competitors.classifier_rejects])
def test_two_sample_tests_tell_far_rows_and_leave_those_of_the_model(rejects: competitors.Rejects) -> None:
    far = np.random.default_rng(1).normal(3.0, 1.0, size=(100, 1))
    assert rejects(far, 0)
    assert competitors.count(rejects, competitors.ONE["the model itself"], 100, 20) <= 4


@pytest.mark.parametrize("d", [1, 10])
def test_samples_have_the_shape_of_their_table(d: int) -> None:
    rng = np.random.default_rng(2)
    for draw in competitors.TRUTHS[d].values():
        assert draw(rng, 300).shape == (300, d)


def test_a_wrong_tenth_is_missing_and_ripples_keep_the_spread() -> None:
    rng = np.random.default_rng(3)
    assert competitors.ONE["no upper tenth"](rng, 2_000).max() <= stats.norm.ppf(0.9)
    rippled = competitors.ONE["ripples"](rng, 4_000)
    assert rippled.std() == pytest.approx(1.0, abs=0.05)
    assert np.mean(np.sin(8 * rippled)) == pytest.approx(0.45, abs=0.05)


def test_every_cell_was_recorded() -> None:
    cells = json.loads(competitors.FILE.read_text(encoding="utf-8"))
    wanted = {f"{d} | {truth} | {test}" for d, tests in competitors.TESTS.items()
              for truth in competitors.TRUTHS[d] for test in tests}  # fmt: skip
    assert set(cells) == wanted
