"""The test of a stream: batches, budgets, files, and that it never looks ahead."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import steinball as sb
from steinball.calibration.betting import Betting, average_evidence, log_wealth
from steinball.kernels import Gaussian, InverseMultiquadric, Matern
from steinball.kernels.base import Kernel
from steinball.sequential import checkpoint, ledger
from steinball.sequential.direction import KeptPoints
from steinball.sequential.stream import SequentialTest
from steinball.stein import SteinKernel
from steinball.tilts import PolynomialTilt

pytestmark = pytest.mark.exact
Floats = NDArray[np.float64]

KERNEL, TILT = InverseMultiquadric(math.sqrt(2.0)), PolynomialTilt()
TAU = 1.381380988112180  # of N(0, 1) with this kernel and tilt: closed form, attained at WORST
WORST = 1.109116128549130


def score(x: Any) -> Any:
    return -x


def stream(n: int, d: int = 1, share: float = 0.2, place: float = 3.0, seed: int = 0) -> Floats:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    x[rng.random(n) < share] = place
    return x


def a_test(model: Any = score, **options: Any) -> SequentialTest:
    given = {"kernel": KERNEL, "tilt": TILT, "tau": 3.0, "contamination": 0.05, "rng": 0}
    return SequentialTest(model, **{**given, **options})


def equal(a: SequentialTest, b: SequentialTest, rtol: float = 1e-9) -> None:
    """Two tests have seen and concluded the same."""
    assert a.n == b.n
    assert a.log_evalue == pytest.approx(b.log_evalue, rel=rtol, abs=rtol)
    assert a.pvalue == pytest.approx(b.pvalue, rel=rtol * 100)
    assert a.ksd == pytest.approx(b.ksd, rel=rtol)
    assert (a.rejected_at, a.contamination_bound) == (b.rejected_at, b.contamination_bound)
    for mine, theirs in zip(a.history, b.history, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=rtol)


# The same answers as for a fixed sample, while all points are kept.


@pytest.mark.parametrize("strategy", ["mixture", "newton"])
@pytest.mark.parametrize("d", [1, 3])
def test_within_the_budget_it_is_betting_on_a_fixed_sample(d: int, strategy: str) -> None:
    x = stream(150, d, share=0.4)
    test = a_test(strategy=strategy).update(x)
    calibration = Betting(strategy=strategy, reference=0.05)
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


def test_a_radius_and_a_share_are_two_ways_to_say_the_same() -> None:
    x = stream(80)
    equal(a_test().update(x), a_test(contamination=None, radius=0.05 * math.sqrt(3.0)).update(x))


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


@pytest.mark.parametrize("options", [{}, {"strategy": "newton"}, {"kernel": [KERNEL, Gaussian(1.0)], "tau": 6.0}])
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


# The budget.


def test_kept_points_are_bounded_by_the_budget() -> None:
    test = a_test(budget=25).update(stream(500, 2))
    assert test._books is not None
    held = [array for array in test._books.state().values() if array.ndim]
    assert max(array.shape[0] for array in held if array.ndim == 2) <= 25
    assert test._books.kept.samples.shape == test._books.kept.spare_samples.shape == (25, 2)
    assert sum(array.size for array in held) < 4 * 25 * 2 + 25**2 + 25 + ledger.GRID.size * 20 + 2 * ledger.KEPT + 200


def test_beyond_the_budget_the_direction_is_projected_on_the_kept_points() -> None:
    """An oracle by eigenvectors: f = ΠS/|ΠS|, Π on the span of the first 12 points, until 24 points have come."""
    x = stream(24, 3, share=0.0, seed=3)
    stein = SteinKernel(KERNEL, TILT)
    u = stein(x, -x, x, -x)
    values, vectors = np.linalg.eigh(u[:12, :12])
    features = (vectors / np.sqrt(values)).T @ u[:12]  # coordinates of the projections, (12, 24)
    payoffs = np.full(24, np.nan)
    for t in range(1, 24):
        past = features[:, :t].sum(axis=1)
        payoffs[t] = features[:, t] @ past / np.linalg.norm(past)
    path = log_wealth(payoffs, 0.05 * math.sqrt(3.0), 3.0)
    test = a_test(budget=12).update(x)
    np.testing.assert_allclose(test.history[1], path, atol=2e-4)  # what is added to the diagonal shows in the 5th digit
    full = a_test().update(x)
    np.testing.assert_allclose(test.history[1][:13], full.history[1][:13], atol=1e-10)
    assert not np.allclose(test.history[1][13:], full.history[1][13:], atol=1e-3)
    assert test.ksd <= full.ksd + 1e-9


@pytest.mark.parametrize("d", [1, 3])
def test_the_projected_direction_is_never_longer_than_one(d: int) -> None:
    """Its length in the RKHS, from the weights of the kept points; outliers in one place make the matrix singular."""
    test = a_test(budget=20)
    for part in np.split(stream(200, d), 20):
        test.update(part)
        assert test._books is not None
        direction, kept = test._books.directions[0], test._books.kept
        if kept.full:
            weights = np.linalg.solve(direction.factor.T, direction.coordinates)
            points = kept.prepared(direction.stein)
            square = weights @ direction.stein.block(points, points) @ weights
            assert square <= direction.length() ** 2 * (1.0 + 1e-9)


def test_kept_points_are_renewed_from_the_whole_past() -> None:
    """Points that come late and are of a new kind are among the kept ones after the next renewal."""
    x = np.concatenate([stream(100, 1, 0.0), np.full((100, 1), 7.0)])
    test = a_test(budget=20).update(x)  # renewals at 40, 80 and 160: a quarter of the 160 points before the last are 7
    assert test._books is not None
    late = np.sum(test._books.kept.samples == 7.0)
    assert 1 <= late <= 16
    assert test._books.kept.renewal == 320


def test_a_reservoir_is_a_uniform_sample_of_the_past() -> None:
    """Over 400 seeds each of 60 points is kept with probability 1/6: within five standard errors."""
    x = np.arange(60.0)[:, None]
    counts = np.zeros(60)
    for seed in range(400):
        kept = KeptPoints.empty(10, np.zeros(1))
        for part in (x[:10], x[10:20], x[20:47], x[47:]):
            kept.add(part, part, np.random.default_rng([seed, len(part)]))
        counts[kept.spare_samples[:, 0].astype(int)] += 1
    error = math.sqrt(400 * (1 / 6) * (5 / 6))
    assert np.abs(counts - 400 / 6).max() < 5.0 * error


# Predictability.


@pytest.mark.parametrize("options", [{}, {"strategy": "newton"}, {"budget": 20}, {"burn_in": 10, "kernel": None}])
def test_points_to_come_change_nothing_that_was(options: dict[str, Any]) -> None:
    x = stream(90)
    for cut in (11, 30, 75):
        other = x.copy()
        other[cut:] = np.random.default_rng(5).uniform(-5.0, 5.0, size=(90 - cut, 1))
        first, second = (a_test(**options).update(part) for part in (x, other))
        np.testing.assert_allclose(first.history[1][:cut], second.history[1][:cut], atol=1e-9)
        assert not np.allclose(first.history[1][cut:], second.history[1][cut:])


def test_the_wealth_is_linear_in_the_payoff_of_the_last_point() -> None:
    """No bet depends on the point it is made on: W(a) against the payoff of a is a straight line."""
    x = stream(40, seed=2)
    stein = SteinKernel(KERNEL, TILT)
    last = np.array([[-2.0], [0.3], [1.7]])
    past = stein(x, -x, x, -x).sum()
    payoff = stein(x, -x, last, -last).sum(axis=0) / math.sqrt(past)
    wealth = np.array([a_test().update(x).update(point).evalue for point in last])
    slope = (wealth[1] - wealth[0]) / (payoff[1] - payoff[0])
    assert wealth[2] == pytest.approx(wealth[0] + slope * (payoff[2] - payoff[0]), rel=1e-8)


def test_kernel_and_tilt_are_never_taken_from_points_that_are_bet_on() -> None:
    for missing in ({"kernel": None}, {"tilt": "auto"}):
        with pytest.raises(ValueError, match="model has no `sample`"):
            a_test(**missing).update(stream(10))
    model = sb.models.Gaussian()
    near, far = (SequentialTest(model, contamination=0.05).update(scale * stream(10)) for scale in (1.0, 1.2))
    assert near.kernel == far.kernel
    assert near.tilt == far.tilt
    assert near.tau == far.tau


def test_a_burn_in_chooses_and_is_not_bet_on() -> None:
    x = stream(60)
    test = a_test(kernel=None, tilt="auto", tau=5.0, burn_in=30)
    assert test.update(x[:29]).kernel is None
    assert (test.n, test.pvalue, test.log_evalue) == (29, 1.0, 0.0)
    test.update(x[29:])
    assert test.kernel.lengthscale == pytest.approx(sb.kernels.median_distance(x[:30]))
    assert test.tilt.center == (pytest.approx(np.median(x[:30])),)
    n, path = test.history
    np.testing.assert_allclose(path[n <= 30], 0.0, atol=1e-14)
    assert path[-1] != 0.0
    # The burn-in shows a direction: the first bet is made on the next point already.
    assert path[n == 31] != 0.0


def test_tau_is_found_for_a_model_that_knows_it_and_refused_otherwise() -> None:
    test = SequentialTest(sb.models.Gaussian(), kernel=KERNEL, tilt=TILT, contamination=0.05).update(stream(5))
    assert test.tau == pytest.approx(TAU, rel=1e-6)
    with pytest.raises(ValueError, match="no upper bound"):
        a_test(tau="sample").update(stream(5))
    with pytest.raises(ValueError, match="no upper bound"):
        a_test(tau="auto").update(stream(5))


# What it says.


def test_before_the_first_point_nothing_is_known() -> None:
    test = a_test()
    assert (test.n, test.evalue, test.pvalue, test.rejected, test.rejected_at) == (0, 1.0, 1.0, False, None)
    assert (test.contamination_bound, test.lower_bound) == (0.0, 0.0)
    assert math.isnan(test.ksd)
    assert test.history[0].size == 0
    assert "not rejected so far" in test.summary()


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


def test_a_history_is_short_however_long_the_stream() -> None:
    test = a_test(budget=20)
    for part in np.split(stream(3000, share=0.0), 30):
        test.update(part)
    n, path = test.history
    assert n.size == path.size <= 512
    assert set(np.diff(n)) == {8}
    assert n[-1] == 3000
    assert path[-1] == test.log_evalue


# Files.


def saved(test: SequentialTest, folder: Path, model: Any = score, **again: Any) -> SequentialTest:
    test.save(folder / "stream.npz")
    return SequentialTest.restore(folder / "stream.npz", model, **again)


@pytest.mark.parametrize(
    "options",
    [
        {"burn_in": 10, "kernel": None},
        {"strategy": "newton"},
        {"kernel": [KERNEL, 0.5 * Matern(1.0, 2.5) + Gaussian(2.0) * Gaussian(1.0)], "tau": [3.0, 9.0]},
        {"contamination": None, "radius": 0.1, "tilt": PolynomialTilt(0.5, [0.1, 0.2], precision=[1.0, 2.0])},
        {"kernel": InverseMultiquadric(1.0, metric=[1.0, 3.0]), "tau": 9.0},
    ],
)
@pytest.mark.parametrize("cut", [0, 4, 25, 30, 47, 61, 140])
def test_a_restored_test_goes_on_bit_for_bit(options: dict[str, Any], cut: int, tmp_path: Path) -> None:
    """Stopped in the burn-in, before, at and after the budget of 30, and at and after a renewal (60, 120)."""
    x = stream(180, 2, seed=4)
    straight, stopped = (a_test(budget=30, **options).update(x[:cut]) for _ in range(2))
    resumed = saved(stopped, tmp_path)
    for part in (x[cut : cut + 7], x[cut + 7 :]):
        straight.update(part)
        resumed.update(part)
    assert straight.log_evalue == resumed.log_evalue
    assert straight.pvalue == resumed.pvalue
    assert (straight.n, straight.rejected_at) == (resumed.n, resumed.rejected_at)
    assert straight.contamination_bound == resumed.contamination_bound
    for mine, theirs in zip(straight.history, resumed.history, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert np.array_equal(np.atleast_1d(straight.radius), np.atleast_1d(resumed.radius))


def test_another_model_is_refused(tmp_path: Path) -> None:
    for cut in (10, 60):
        test = a_test(budget=30, burn_in=20).update(stream(cut))
        with pytest.raises(ValueError, match="`model` is not the one"):
            saved(test, tmp_path, lambda x: -1.01 * x)


@dataclass(frozen=True, eq=False)
class OwnKernel(Kernel):
    """A Gaussian kernel that this library does not know."""

    rate: float
    metric: Any = None

    def profile(self, r2: Any) -> Any:
        value = np.exp(-self.rate * r2)
        return value, -self.rate * value, self.rate**2 * r2 * value


class OwnTilt:
    """The polynomial tilt at scale 1 under another name."""

    def __init__(self, center: float = 0.0) -> None:
        self.inner = PolynomialTilt(center=center)

    def log_weight(self, x: Any) -> Any:
        return self.inner.log_weight(x)

    def log_weight_gradient(self, x: Any) -> Any:
        return self.inner.log_weight_gradient(x)


def test_a_kernel_or_tilt_of_ones_own_is_brought_again_and_compared(tmp_path: Path) -> None:
    x = stream(60)
    test = a_test(kernel=OwnKernel(0.4), tilt=OwnTilt()).update(x[:40])
    resumed = saved(test, tmp_path, kernel=OwnKernel(0.4), tilt=OwnTilt())
    assert resumed.update(x[40:]).log_evalue == test.update(x[40:]).log_evalue
    for again, message in (
        ({"tilt": OwnTilt()}, "`kernel` that is not of this library"),
        ({"kernel": OwnKernel(0.4)}, "`tilt` that is not of this library"),
        ({"kernel": OwnKernel(0.5), "tilt": OwnTilt()}, "`kernel` or `tilt` is not the one"),
        ({"kernel": OwnKernel(0.4), "tilt": OwnTilt(0.2)}, "`kernel` or `tilt` is not the one"),
    ):
        with pytest.raises(ValueError, match=message):
            saved(test, tmp_path, **again)


def test_a_file_holds_plain_arrays_and_one_text(tmp_path: Path) -> None:
    path = tmp_path / "stream.npz"
    a_test(budget=30).update(stream(50)).save(path)
    with np.load(path, allow_pickle=False) as file:
        facts = json.loads(str(file["facts"]))
        assert all(file[name].dtype.kind in "fiU" for name in file.files)
    assert facts["schema"] == "steinball.sequential/2"
    assert facts["kernel"] == [
        {"type": "InverseMultiquadric", "lengthscale": math.sqrt(2.0), "exponent": 0.5, "metric": None}
    ]
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_cannot_run_anything(tmp_path: Path) -> None:
    path = tmp_path / "stream.npz"
    a_test().update(stream(5)).save(path)
    with np.load(path) as file:
        arrays = dict(file)
    facts = json.loads(str(arrays["facts"]))
    facts["kernel"] = [{"type": "Exec", "lengthscale": 1.0}]
    checkpoint.write(path, facts, {name: arrays[name] for name in arrays if name not in ("facts", "digest")})
    with pytest.raises(ValueError, match="no built-in kernel"):
        SequentialTest.restore(path, score)
    np.savez(path, **{**arrays, "taus": np.array([object()], dtype=object)})
    with pytest.raises(ValueError, match="pickle"):
        SequentialTest.restore(path, score)
    np.savez(path, x=np.zeros(3))
    with pytest.raises(ValueError, match="not a saved SequentialTest"):
        SequentialTest.restore(path, score)


def test_a_torch_model_is_compared_with_the_next_batch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")

    def torch_score(x: Any) -> Any:
        return -torch.clone(x)

    x = torch.asarray(stream(40))
    test = a_test(torch_score).update(x[:20])
    resumed = saved(test, tmp_path, torch_score)
    assert resumed.update(x[20:]).log_evalue == test.update(x[20:]).log_evalue
    wrong = saved(test, tmp_path, lambda x: -2.0 * torch.clone(x))
    with pytest.raises(ValueError, match="`model` is not the one"):
        wrong.update(x[20:])


# Errors.


def test_after_an_error_nothing_has_been_taken_in() -> None:
    x = stream(30)
    test = a_test(tau=TAU).update(x)
    before = test.log_evalue
    for wrong, error in (([0.1, math.nan], "finite"), (np.zeros((2, 2)), "1 columns"), (["a"], "real numbers")):
        with pytest.raises((ValueError, TypeError), match=error):
            test.update(wrong)
    narrow = a_test(tau=1.2).update(np.zeros(3))
    with pytest.raises(ValueError, match="no upper bound: u"):
        narrow.update([0.0, WORST])
    assert (test.n, test.log_evalue, narrow.n) == (30, before, 3)
    equal(test.update(x), a_test(tau=TAU).update(np.concatenate([x, x])))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"radius": 0.1}, "one of them"),
        ({"contamination": None}, "one of them"),
        ({"contamination": 1.2}, "contamination"),
        ({"kernel": [KERNEL, KERNEL], "contamination": None, "radius": 0.1}, "several radii"),
        ({"kernel": "gaussian"}, "kernel"),
        ({"kernel": []}, "kernel"),
        ({"tilt": "none"}, "tilt"),
        ({"tau": -1.0}, "tau"),
        ({"tau": [1.0, 2.0]}, "one per kernel"),
        ({"level": 0.0}, "level"),
        ({"budget": 0}, "budget"),
        ({"burn_in": -1}, "burn_in"),
        ({"strategy": "all in"}, "strategy"),
    ],
)
def test_wrong_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        a_test(**options)
    with pytest.raises(TypeError, match="score function"):
        a_test(np.zeros((3, 1)))


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


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"x,y\n1,2\n"])
def test_what_is_no_saved_test_is_refused_in_words(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "stream.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a saved SequentialTest"):
        SequentialTest.restore(path, sb.models.Gaussian())


def test_a_file_that_was_cut_off_or_holds_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "stream.npz"
    SequentialTest(sb.models.Gaussian(), contamination=0.05).update(np.zeros(30)).save(path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ValueError, match="or is truncated"):
        SequentialTest.restore(path, sb.models.Gaussian())
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(ValueError, match="bare array"):
        SequentialTest.restore(path, sb.models.Gaussian())
    others: list[dict[str, Any]] = [{"facts": np.array("[1]")}, {"facts": np.array("{}")}, {"x": np.array([object()])}]
    for other in others:
        with path.open("wb") as file:
            np.savez(file, **other)
        with pytest.raises(ValueError, match="is not a saved SequentialTest"):
            SequentialTest.restore(path, sb.models.Gaussian())
