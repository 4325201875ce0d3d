"""A monitor of a feed: alarms, what it refuses, files, and how long it is quiet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import steinball as sb
from steinball.sequential import Alarm, Monitor, SequentialTest
from steinball.sequential.detector import TOGETHER, Detector

pytestmark = pytest.mark.exact
Floats = NDArray[np.float64]

NORMAL = sb.models.Gaussian()
PLANE = sb.models.Gaussian(dimension=2)


class Drawn:
    """A model that can only be drawn from."""

    def __init__(self, mean: float = 0.0, dimension: int = 2) -> None:
        self.mean, self.columns = mean, dimension

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        return rng.normal(self.mean, 1.0, size=(n, self.columns))


def feed(n: int, d: int = 1, shift: float = 0.0, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(shift, 1.0, size=(n, d))


def state(monitor: Monitor) -> tuple[Any, ...]:
    return monitor.n, monitor.wealth, monitor.n_alarms, monitor.alarms, *(part.tolist() for part in monitor.history)


# Alarms


def test_a_change_is_found_and_named_by_its_row_and_column() -> None:
    monitor = Monitor(PLANE, 0.05, expected_run=1000)
    assert monitor.update(feed(300, 2)) == []
    assert not monitor.update(feed(0, 2))
    rows = feed(100, 2, seed=1)
    rows[:, 1] += 1.5
    alarms = monitor.update(rows)
    assert 303 < alarms[0].row < 340
    assert alarms[0].column == 1
    assert alarms[0].wealth >= 1000.0
    assert monitor.alarms == alarms
    assert (monitor.n, monitor.n_alarms) == (400, len(alarms))


def test_an_alarm_names_the_row_that_reached_the_threshold() -> None:
    monitor = Monitor(NORMAL, 0.05, 1000)
    alarms = [*monitor.update(feed(90)), *monitor.update(feed(60, shift=1.5))]
    n, log_wealth = monitor.history
    assert [alarm.row for alarm in alarms] == n[log_wealth >= np.log(1000.0)].tolist()
    assert [alarm.wealth for alarm in alarms] == pytest.approx(np.exp(log_wealth[log_wealth >= np.log(1000.0)]))


def test_a_change_of_all_columns_is_one_of_the_whole_row() -> None:
    monitor = Monitor(sb.models.Gaussian(dimension=30), 0.05)
    alarms = monitor.update(1.5 * feed(60, 30))
    assert alarms[0].column is None


def test_only_the_last_hundred_alarms_are_kept_and_all_are_counted() -> None:
    monitor = Monitor(NORMAL, 0.05, expected_run=2)
    found = monitor.update(np.full(2000, 9.0))
    assert len(found) == monitor.n_alarms > 100
    assert monitor.alarms == found[-100:]
    assert len(monitor.history[0]) <= 512


def test_models_of_every_kind_are_watched() -> None:
    rng = np.random.default_rng(3)
    flat = np.array([[1.0, 0.0], [0.0, 1.0]])
    for model, rows in (
        (stats.gamma(2.0), rng.gamma(2.0, size=300)),
        (sb.in_base_space(stats.lognorm(1.0)), rng.lognormal(size=300)),
        (sb.models.GaussianMixture([0.5, 0.5], [[0.0, 0.0], [4.0, 1.0]], flat), None),
        (Drawn(), rng.normal(size=(300, 2))),
    ):
        monitor = Monitor(model, 0.05)
        rows = model.sample(300, rng) if rows is None else rows
        assert monitor.update(rows) == []
        assert monitor.update(np.asarray(rows) + 5.0)


def test_what_it_says_is_short() -> None:
    monitor = Monitor(NORMAL, 0.05, 1000)
    monitor.update(feed(100))
    assert "NO ALARM so far" in monitor.summary()
    monitor.update(feed(50, shift=3.0))
    last = monitor.alarms[-1].row
    assert f"ALARM at row {last}" in monitor.summary()
    assert f"n_alarms={monitor.n_alarms}" in repr(monitor)


# What comes in


def test_rows_come_as_arrays_lists_numbers_and_frames() -> None:
    pandas, torch = pytest.importorskip("pandas"), pytest.importorskip("torch")
    rows = feed(60, 2)
    expected = Monitor(PLANE, 0.05)
    expected.update(rows)
    for other in (rows.tolist(), pandas.DataFrame(rows, columns=["a", "b"]), torch.asarray(rows)):
        monitor = Monitor(PLANE, 0.05)
        monitor.update(other)
        assert state(monitor) == state(expected)
    one_by_one = Monitor(PLANE, 0.05)
    for row in rows:
        one_by_one.update(row)
    assert one_by_one.wealth == pytest.approx(expected.wealth, rel=1e-9)
    line = Monitor(NORMAL, 0.05)
    line.update(0.3)
    line.update(np.float64(0.1))
    assert line.n == 2


@pytest.mark.parametrize("model", [PLANE, Drawn()])
def test_what_cannot_be_taken_in_is_refused_by_name_and_nothing_is_lost(model: Any) -> None:
    monitor = Monitor(model, 0.05)
    monitor.update(feed(50, 2))
    before = state(monitor)
    hole = feed(5, 2)
    hole[3, 1] = np.nan
    for wrong, error in (
        (hole, "`rows` must be finite"),
        (feed(4, 3), "`rows` must have 2 columns"),
        ("abc", "`rows`"),
    ):
        with pytest.raises((ValueError, TypeError), match=error):
            monitor.update(wrong)
    assert state(monitor) == before


def test_an_interruption_leaves_everything_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monitor = Monitor(NORMAL, 0.05)
    monitor.update(feed(50))
    before = state(monitor)
    whole = Detector._accumulate

    def interrupted(detector: Detector, growth: Floats) -> Any:
        if len(growth) < TOGETHER:
            raise KeyboardInterrupt
        return whole(detector, growth)

    with monkeypatch.context() as patch:
        patch.setattr(Detector, "_accumulate", interrupted)
        with pytest.raises(KeyboardInterrupt):
            monitor.update(feed(TOGETHER + 5))
    assert state(monitor) == before


class Holey(Drawn):
    """A map to normal noise that fails at large rows."""

    dimension = 2

    def to_base(self, x: Floats) -> Floats:
        return np.where(x > 5.0, np.nan, x)


def test_a_model_without_a_value_at_a_row_is_refused() -> None:
    monitor = Monitor(Holey(), 0.05)
    monitor.update(feed(20, 2))
    before = state(monitor)
    with pytest.raises(ValueError, match="`model` has no distribution function at some of these `rows`"):
        monitor.update(np.array([[0.0, 0.0], [0.0, 6.0]]))
    assert state(monitor) == before


def test_a_model_that_cannot_be_drawn_from_and_wrong_numbers_are_refused() -> None:
    with pytest.raises(TypeError, match="sample"):
        Monitor(lambda x: -x, 0.05)
    for options in ({"contamination": 1.5}, {"contamination": 0.05, "expected_run": 0.5}):
        with pytest.raises(ValueError, match=next(reversed(options))):
            Monitor(NORMAL, **options)


# Files


@pytest.mark.parametrize("model", [PLANE, Drawn()])
@pytest.mark.parametrize("cut", [0, 1, 127, 128, 200, 260])
def test_a_loaded_monitor_goes_on_bit_for_bit(model: Any, cut: int, tmp_path: Path) -> None:
    """Stopped before the first row, within and at a step of 128 rows, and after an alarm."""
    rows = np.concatenate([feed(200, 2), feed(150, 2, shift=1.0)])
    straight = Monitor(model, 0.05, 500)
    straight.update(rows[:cut])
    straight.save(tmp_path / "feed.npz")
    resumed = Monitor.load(tmp_path / "feed.npz", model)
    for part in (rows[cut : cut + 9], rows[cut + 9 :]):
        assert straight.update(part) == resumed.update(part)
    assert state(straight) == state(resumed)
    assert straight.n_alarms > 0
    assert all(isinstance(alarm, Alarm) for alarm in resumed.alarms)


@pytest.mark.parametrize(
    ("model", "other"),
    [
        (PLANE, sb.models.Gaussian([0.01, 0.0], np.eye(2))),
        (PLANE, sb.models.Gaussian(dimension=3)),
        (PLANE, Drawn()),
        (Drawn(), Drawn(0.5)),
        (Drawn(), Drawn(dimension=3)),
        (Drawn(), PLANE),
    ],
)
def test_the_file_of_another_model_is_refused(model: Any, other: Any, tmp_path: Path) -> None:
    monitor = Monitor(model, 0.05)
    monitor.update(feed(20, 2))
    monitor.save(tmp_path / "feed.npz")
    with pytest.raises(ValueError, match="`model` is not the one that the file was saved with"):
        Monitor.load(tmp_path / "feed.npz", other)


def test_a_truncated_file_or_that_of_a_test_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "feed.npz"
    monitor = Monitor(NORMAL, 0.05)
    monitor.update(feed(20))
    monitor.save(path)
    with pytest.raises(ValueError, match=r"feed\.npz` is not a saved SequentialTest"):
        SequentialTest.load(path, NORMAL)
    content = path.read_bytes()
    for place in range(0, len(content), len(content) // 25):
        path.write_bytes(content[:place])
        with pytest.raises(ValueError, match=r"feed\.npz` is not a saved Monitor, or is truncated"):
            Monitor.load(path, NORMAL)
    SequentialTest(NORMAL, contamination=0.05).update(feed(5)).save(path)
    with pytest.raises(ValueError, match=r"feed\.npz` is not a saved Monitor"):
        Monitor.load(path, NORMAL)
    with pytest.raises(FileNotFoundError):
        Monitor.load(tmp_path / "nothing.npz", NORMAL)


def test_a_long_feed_needs_no_more_memory(tmp_path: Path) -> None:
    monitor, sizes = Monitor(NORMAL, 0.05), []
    for seed in range(8):
        monitor.update(feed(2500, seed=seed))
        monitor.save(tmp_path / "feed.npz")
        sizes.append((tmp_path / "feed.npz").stat().st_size)
    assert max(sizes) < 20_000


# How long it is quiet


@pytest.mark.calibration
@pytest.mark.parametrize("place", [None, 8.0, 1.0])
def test_false_alarms_are_rare(place: float | None) -> None:
    """40 feeds of 1,000 rows with A = 1,000, clean or with 5 % in one place: the chance is proved to be at most 1 and
    is about .15 clean, .4 at 8; within 100 rows at most .1 is proved."""
    first = []
    for seed in range(40):
        rng = np.random.default_rng([seed, 5])
        rows = rng.normal(size=1000)
        if place is not None:
            rows[rng.random(1000) < 0.05] = place
        alarms = Monitor(NORMAL, 0.05, 1000).update(rows)
        first.append(alarms[0].row if alarms else 1001)
    assert np.mean(np.array(first) <= 100) <= 0.2
    assert np.mean(first) >= (800 if place is None else 550)


@pytest.mark.calibration
def test_a_shift_of_one_standard_deviation_is_found_within_forty_rows() -> None:
    delays = []
    for seed in range(40):
        rows = np.concatenate([feed(200, seed=seed), feed(200, shift=1.0, seed=seed + 100)])
        alarms = [alarm.row for alarm in Monitor(NORMAL, 0.05, 1000).update(rows) if alarm.row > 200]
        delays.append(alarms[0] - 200 if alarms else 200)
    assert np.median(delays) <= 30
