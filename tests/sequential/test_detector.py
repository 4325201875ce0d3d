"""The e-detector against plain loops and quadrature: bounds, e-values, evidence, and columns by draws."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from steinball.sequential.detector import (
    BETS,
    FREQUENCIES,
    SPANS,
    Detector,
    DrawnColumns,
    ExactColumns,
    _range_of,
    cosines,
)

pytestmark = pytest.mark.exact
Floats = NDArray[np.float64]

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
