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
from steinball.sequential.monitor import (
    BETS,
    FREQUENCIES,
    SPANS,
    TOGETHER,
    Detector,
    DrawnColumns,
    ExactColumns,
    _range_of,
    cosines,
)

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


# Showing itself


def test_the_picture_has_the_evidence_the_threshold_and_the_alarms() -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    monitor = Monitor(NORMAL, 0.05, 1000)
    monitor.update(feed(100))
    monitor.update(feed(40, shift=1.5))
    ax = monitor.plot(Figure().subplots())
    assert ax.get_yscale() == "log"
    labels = [line.get_label() for line in ax.lines]
    assert labels[:2] == ["alarm at 1000", "evidence"]
    assert sum(len(set(line.get_xdata())) == 1 for line in ax.lines) == monitor.n_alarms > 0


def test_the_card_says_whether_there_was_an_alarm() -> None:
    monitor = Monitor(NORMAL, 0.05, 1000)
    assert ">NO ALARM<" in monitor._repr_html_()
    monitor.update(feed(60, shift=2.0))
    assert ">ALARM<" in monitor._repr_html_()


def test_the_evidence_after_each_row_of_the_last_batch_is_kept() -> None:
    monitor = Monitor(NORMAL, 0.05, 1000)
    monitor.update(feed(50))
    assert monitor.last_wealth.shape == (50,)
    assert monitor.last_wealth[-1] == pytest.approx(monitor.wealth)


def test_a_distribution_of_torch_and_draws_are_models() -> None:
    torch = pytest.importorskip("torch")

    for model in (torch.distributions.Normal(0.0, 1.0), sb.from_draws(feed(2000, seed=3))):
        monitor = Monitor(model, 0.05, 1000)
        assert monitor.update(feed(200)) == []
        assert monitor.update(feed(60, shift=2.0, seed=1))


EXACT = ExactColumns(lambda rows: rows)
FINE: Floats = np.linspace(0.0, 1.0, 20_001)


def detector(v: int = 1, contamination: float = 0.05, threshold: float = 1e9) -> Detector:
    return Detector.start(contamination, threshold, EXACT, v)


def uniforms(n: int, v: int = 1, seed: int = 0, power: float = 1.0) -> Floats:
    return np.random.default_rng(seed).random((n, v)) ** power


def looped(
    u: Floats, contamination: float, threshold: float, center: Floats, reach: Floats
) -> tuple[list[float], list[int]]:
    """The same evidence row by row, with extremes from 49 places and what they may miss between them."""
    v = u.shape[1]
    k = np.arange(1, 7)
    directions, wealth = np.zeros((3, v, 6)), np.zeros((3, 3, v))
    path, alarms = [], []
    places = np.sqrt(2.0 / k) * np.cos(np.pi * np.linspace(0.0, 1.0, 49)[:, None] * k)
    for t, row in enumerate(u):
        feature = np.sqrt(2.0 / k) * np.cos(np.pi * row[:, None] * k)  # (v, 6)
        for s, j in np.ndindex(3, v):
            values = places @ directions[s, j]
            middle, half = (values.max() + values.min()) / 2.0, np.ptp(values) / 2.0 / np.cos(np.pi / 16.0)
            top, bottom, payoff = middle + half, middle - half, feature[j] @ directions[s, j]
            limit = min(top, directions[s, j] @ center[j] + np.abs(directions[s, j]) @ reach)
            fair = (1.0 - contamination) * limit + contamination * top
            gain = (payoff - fair) / (fair - bottom) if fair > bottom else 0.0
            wealth[s, :, j] = (1.0 + wealth[s, :, j]) * (1.0 + BETS * gain)
        path.append(wealth.mean())
        if path[-1] >= threshold:
            alarms.append(t)
            wealth = np.zeros_like(wealth)
        directions += (2.0 / (SPANS + 1.0))[:, None, None] * (feature - center - directions)
    return path, alarms


@pytest.mark.parametrize(("v", "contamination"), [(1, 0.05), (1, 0.0), (3, 0.2)])
def test_the_evidence_is_that_of_plain_loops(v: int, contamination: float) -> None:
    u = uniforms(300, v, power=0.7)
    path, reached = detector(v, contamination, 1000.0).advance(u)
    expected, alarms = looped(u, contamination, 1000.0, np.zeros((v, 6)), np.zeros(6))
    np.testing.assert_allclose(path, expected, rtol=1e-9)
    assert [row for row, _ in reached] == alarms


def test_limits_of_columns_by_draws_are_those_of_plain_loops() -> None:
    """With a center and a reach that matter, up to where the limit is that of the range."""
    u, rng = uniforms(250, 2, power=0.6), np.random.default_rng(8)
    for size in (0.02, 1.0):
        columns = DrawnColumns(np.empty((511, 2)), 0.1 * rng.normal(size=(2, 6)), size * rng.random(6))
        path, reached = Detector.start(0.05, 500.0, columns, 2).advance(u)
        expected, alarms = looped(u, 0.05, 500.0, columns.center, columns.reach)
        np.testing.assert_allclose(path, expected, rtol=1e-9)
        assert [row for row, _ in reached] == alarms


def test_extremes_of_a_direction_are_bounded_from_outside_by_two_percent() -> None:
    directions = np.random.default_rng(1).normal(size=(500, 6))
    values = cosines(FINE[:, None])[:, 0] @ directions.T
    lowest, highest = _range_of(directions)
    assert (lowest <= values.min(axis=0) + 1e-12).all()
    assert (highest >= values.max(axis=0) - 1e-12).all()
    spread = np.ptp(values, axis=0)
    assert (highest - lowest <= 1.021 * spread).all()


@pytest.mark.parametrize("contamination", [0.0, 0.05, 0.3])
def test_no_contamination_of_that_share_makes_an_e_value_grow(contamination: float) -> None:
    """E e ≤ 1 for (1 − ε′)P + ε′R with R at the worst place and ε′ = 0 or ε, by quadrature over u; and e ≥ 0."""
    found = detector(2, contamination)
    found.advance(uniforms(80, 2, power=2.0))
    u = np.repeat((np.arange(4000) + 0.5)[:, None] / 4000, 2, axis=1)
    directions = np.repeat(found.directions[:, None], len(u), axis=1)
    growth = 1.0 + BETS[:, None] * found._gains(directions, cosines(u))[:, :, None]  # (u, spans, bets, v)
    assert (growth >= 0.5 - 1e-12).all()
    for share in (0.0, contamination):
        mean = (1.0 - share) * growth.mean(axis=0) + share * growth.max(axis=0)
        assert (mean <= 1.0 + 1e-12).all()
    tight = (1.0 - contamination) * growth.mean(axis=0) + contamination * growth.max(axis=0)
    assert (tight >= 0.97).all()  # little is given away


def test_evidence_is_the_sum_over_all_starts_of_products() -> None:
    """M_t = Σ_s Π_{r = s, …, t} e_r, for any e-values: in a batch of 128 rows with a restart in it."""
    growth = np.random.default_rng(2).uniform(0.6, 1.5, size=(128, 3, 3, 2))
    found = detector(2, threshold=50.0)
    path, reached = found._accumulate(growth)
    wealth, expected, rows = np.zeros((3, 3, 2)), [], []
    for t in range(128):
        wealth = (1.0 + wealth) * growth[t]
        expected.append(wealth.mean())
        if expected[-1] >= 50.0:
            rows.append(t)
            np.testing.assert_allclose(reached[len(rows) - 1][1], wealth.mean(axis=(0, 1)))
            wealth = np.zeros_like(wealth)
    np.testing.assert_allclose(path, expected, rtol=1e-10)
    assert [row for row, _ in reached] == rows
    assert len(rows) >= 2
    np.testing.assert_allclose(found.wealth, wealth, rtol=1e-10)


@pytest.mark.parametrize("size", [1, 7, 128, 129, 400])
def test_batches_of_any_size_give_the_same_evidence(size: int) -> None:
    u = uniforms(400, 2, power=0.5)
    whole, alarms = detector(2, threshold=500.0).advance(u)
    parts, found = detector(2, threshold=500.0), []
    path = []
    for start in range(0, 400, size):
        values, reached = parts.advance(u[start : start + size])
        path.append(values)
        found += [start + row for row, _ in reached]
    np.testing.assert_allclose(np.concatenate(path), whole, rtol=1e-9)
    assert found == [row for row, _ in alarms] != []


def test_rows_to_come_change_nothing_that_was() -> None:
    u, other = uniforms(300), uniforms(300)
    other[170:] = 0.99
    first, second = detector().advance(u)[0], detector().advance(other)[0]
    np.testing.assert_allclose(first[:170], second[:170], rtol=1e-12)
    assert not np.allclose(first[180:], second[180:])


def test_an_alarm_starts_the_evidence_again_and_keeps_the_direction() -> None:
    found, bad = detector(threshold=100.0), np.full((200, 1), 0.999)
    path, reached = found.advance(bad)
    rows = [row for row, _ in reached]
    assert rows[0] == int(np.argmax(path >= 100.0))
    assert path[rows[0] + 1] < 2.0
    assert rows[1] - rows[0] < rows[0] + 1  # the direction is known already
    assert all(path[row] >= 100.0 for row in rows)


# Columns by draws


def test_columns_of_draws_are_nearly_uniform_and_their_limits_hold() -> None:
    """The features' means under an exponential law by quadrature: within reach of the stated ones."""
    columns = DrawnColumns.from_draws(np.random.default_rng(3).exponential(size=(20_000, 1)))
    points = -np.log1p(-(np.arange(200_000) + 0.5) / 200_000)[:, None]
    u = columns(points)
    assert abs(u.mean() - 0.5) < 0.03
    truth = cosines(u).mean(axis=0)
    assert (np.abs(truth - columns.center) <= columns.reach).all()
    m = 18_000
    expected = np.sqrt(2.0 / FREQUENCIES) * np.sqrt(2.0 * np.log(2.0 * 6 / 1e-3) / m)
    np.testing.assert_allclose(columns.reach, expected)


def test_the_limit_makes_e_values_of_columns_by_draws_valid() -> None:
    """E e ≤ 1 under the true law, by quadrature, although u is not uniform: here by a table that is off on purpose."""
    rng = np.random.default_rng(4)
    columns = DrawnColumns.from_draws(np.sort(rng.normal(size=(3000, 1)), axis=0)[rng.permutation(3000)])
    skewed = DrawnColumns(columns.knots + 0.2, columns.center, columns.reach)
    honest = DrawnColumns(skewed.knots, cosines(skewed(rng.normal(size=(27_000, 1)))).mean(axis=0), columns.reach)
    found = Detector.start(0.05, 1e9, honest, 1)
    found.advance(honest(rng.normal(0.5, 1.0, size=(60, 1))))
    draws = np.random.default_rng(5).normal(size=(100_000, 1))
    u = honest(draws)
    directions = np.repeat(found.directions[:, None], len(u), axis=1)
    growth = 1.0 + BETS[:, None] * found._gains(directions, cosines(u))[:, :, None]
    assert (growth.mean(axis=0) <= 1.0).all()


def test_several_columns_have_one_more_for_the_whole_row() -> None:
    z = np.random.default_rng(6).normal(size=(20_000, 4))
    u = EXACT(z)
    assert u.shape == (20_000, 5)
    assert np.abs(cosines(u).mean(axis=0)).max() < 0.05
    drawn = DrawnColumns.from_draws(z)
    assert drawn(1.5 * z[:1000])[:, 4].mean() > 0.75
    np.testing.assert_allclose(drawn(z[:50]), u[:50], atol=0.06)
    assert np.isfinite(drawn(np.full((1, 4), 1e300))).all()
