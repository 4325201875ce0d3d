"""The test of a stream: batches, budgets, files, and that it never looks ahead."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.calibration.betting import Betting, average_evidence, log_wealth
from steinball.kernels import Gaussian, InverseMultiquadric
from steinball.stein import SteinKernel
from tests.sequential.streams import KERNEL, TAU, TILT, WORST, a_test, equal, score, stream

pytestmark = pytest.mark.exact


# The same answers as for a fixed sample, while all points are kept.


@pytest.mark.parametrize("d", [1, 3])
def test_within_the_budget_it_is_betting_on_a_fixed_sample(d: int) -> None:
    x = stream(150, d, share=0.4)
    test = a_test().update(x)
    calibration = Betting(order="arrival")
    fixed = sb.ksd_test(
        x, score, kernel=KERNEL, tilt=TILT, tau=3.0, radius=sb.radius.Huber(0.05), calibration=calibration
    )
    assert test.pvalue == pytest.approx(fixed.pvalue, rel=1e-8)
    assert test.ksd == pytest.approx(fixed.ksd, rel=1e-9)
    assert test.radius == pytest.approx(fixed.radius)
    assert test.rejected == fixed.rejected is True
    step = 0.02 * math.sqrt(3.0)  # of the grid
    assert fixed.lower_bound - step <= test.lower_bound <= fixed.lower_bound
    assert test.contamination_bound * math.sqrt(3.0) == test.lower_bound


def test_several_kernels_share_one_wealth() -> None:
    x, kernels, taus = stream(120), [InverseMultiquadric(s) for s in (0.5, 1.0, 2.0)], [5.0, 3.0, 3.0]
    test = a_test(kernel=kernels, tau=taus).update(x)
    paths = []
    for kernel, tau in zip(kernels, taus, strict=True):
        stein = SteinKernel(kernel, TILT)
        u = stein(x, -x, x, -x)
        c = np.triu(u, 1).sum(axis=0)
        before = np.concatenate([[np.nan], np.cumsum(2.0 * c + np.diag(u))[:-1]])
        paths.append(log_wealth(c / np.sqrt(before), 0.05 * math.sqrt(tau), tau))
    path = average_evidence(np.stack(paths))
    assert test.log_evalue == pytest.approx(path[-1], rel=1e-8)
    assert test.pvalue == pytest.approx(math.exp(-path.max()), rel=1e-8)
    np.testing.assert_allclose(test.radius, 0.05 * np.sqrt(taus))
    assert 0.0 < test.contamination_bound < 0.3
    for name in ("ksd", "lower_bound"):
        with pytest.raises(ValueError, match="several kernels"):
            getattr(test, name)


# Batches.


@pytest.mark.parametrize("options", [{}, {"kernel": [KERNEL, Gaussian(1.0)], "tau": 6.0}])
@pytest.mark.parametrize("d", [1, 3])
def test_batches_of_any_size_give_the_same_answer(d: int, options: dict[str, Any]) -> None:
    """With a budget of 30 the 200 points fill it and renew the kept points twice."""
    x = stream(200, d)
    whole = a_test(budget=30, burn_in=7, **options).update(x)
    for size in (1, 13, 64, 65, 199):
        parts = a_test(budget=30, burn_in=7, **options)
        for start in range(0, 200, size):
            parts.update(x[start : start + size])
        assert parts.log_evalue == pytest.approx(whole.log_evalue, rel=1e-7, abs=1e-7)
        assert parts.rejected_at == whole.rejected_at
        np.testing.assert_allclose(parts.history[1], whole.history[1], rtol=1e-6, atol=1e-7)


def test_points_come_as_rows_vectors_or_numbers() -> None:
    x = stream(20)
    one_by_one = a_test()
    for value in x[:, 0]:
        one_by_one.update(float(value))
    equal(a_test().update(x[:, 0]), one_by_one)
    equal(a_test().update(x.tolist()), one_by_one)
    assert a_test().update(np.empty((0, 1))).n == 0
    plane = a_test(sb.models.Gaussian(dimension=2))
    assert plane.update(np.array([0.3, 0.1])).n == 1  # the model says that this is one point
    assert plane.update(np.zeros((3, 2))).n == 4
    with pytest.raises(ValueError, match="2 columns"):
        plane.update(np.zeros(3))


@pytest.mark.backend
def test_every_array_library_gives_the_same_answer(xp: Any) -> None:
    x = stream(60, 2)
    test = a_test(budget=20)
    for start in (0, 25):
        test.update(xp.asarray(x[start : start + 25 if start == 0 else 60]))
    equal(test, a_test(budget=20).update(x), rtol=1e-7)


# What it says.


def test_before_the_first_point_nothing_is_known() -> None:
    test = a_test()
    assert (test.n, test.evalue, test.pvalue, test.rejected, test.rejected_at) == (0, 1.0, 1.0, False, None)
    assert (test.contamination_bound, test.lower_bound) == (0.0, 0.0)
    assert math.isnan(test.ksd)
    assert test.history[0].size == 0
    assert "NOT REJECTED so far, at level 0.05" in test.summary()


def test_a_rejection_is_dated_and_stays() -> None:
    x = np.concatenate([stream(200, share=0.4), stream(300, share=0.0, seed=1)])
    test, seen = a_test(), []
    for part in np.split(x, 50):
        test.update(part)
        seen.append((test.pvalue, test.contamination_bound, test.rejected))
    pvalues, bounds, rejected = zip(*seen, strict=True)
    assert list(pvalues) == sorted(pvalues, reverse=True)
    assert list(bounds) == sorted(bounds)
    assert rejected[-1]
    n, path = test.history
    assert test.rejected_at == n[np.flatnonzero(path >= math.log(20.0))[0]]
    assert f"REJECTED at point {test.rejected_at}" in test.summary()
    assert "rejected=True" in repr(test)


# Level and power by simulation.


def rates(n: int, share: float, repeats: int, place: float = WORST, **options: Any) -> float:
    rejected = [a_test(tau=TAU, **options).update(stream(n, 1, share, place, seed)).rejected for seed in range(repeats)]
    return float(np.mean(rejected))


@pytest.mark.calibration
def test_the_level_holds_on_the_edge_whatever_the_budget() -> None:
    """100 repeats: a rate of .05 exceeds .11 with probability .005."""
    assert rates(150, 0.05, 100, budget=20) <= 0.11
    assert rates(150, 0.05, 100, place=10.0, budget=150) <= 0.11


@pytest.mark.calibration
def test_a_budget_of_thirty_costs_no_power_in_one_dimension() -> None:
    """Rates over the same 40 streams, n = 300, ε = .2: within .05 of each other."""
    full, small = rates(300, 0.2, 40), rates(300, 0.2, 40, budget=30)
    assert full > 0.5
    assert abs(full - small) <= 0.05


def test_after_an_error_nothing_has_been_taken_in() -> None:
    x = stream(30)
    test = a_test(tau=TAU).update(x)
    before = test.log_evalue
    for wrong, error in (([0.1, math.nan], "finite"), (np.zeros((2, 2)), "1 columns"), (["a"], "real numbers")):
        with pytest.raises((ValueError, TypeError), match=error):
            test.update(wrong)
    narrow = a_test(tau=1.2).update(np.zeros(3))
    with pytest.raises(ValueError, match="not an upper bound: u"):
        narrow.update([0.0, WORST])
    assert (test.n, test.log_evalue, narrow.n) == (30, before, 3)
    equal(test.update(x), a_test(tau=TAU).update(np.concatenate([x, x])))


def test_a_network_in_single_precision_is_evaluated_in_it() -> None:
    torch = pytest.importorskip("torch")
    network, x = torch.nn.Linear(1, 1), stream(40)
    with torch.no_grad():
        network.weight.fill_(-1.0)
        network.bias.zero_()
    ours = a_test().update(x).log_evalue
    for points in (torch.asarray(x), torch.asarray(x, dtype=torch.float32)):
        test = a_test(network).update(points[:25]).update(points[25:])
        assert test.log_evalue == pytest.approx(ours, rel=1e-5)
