"""Rows of the evidence on predictive checks are what they say, and every kind of trial runs."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.evidence import predictive
from experiments.evidence.predictive_settings import (
    ANY_PLACES,
    POWER,
    ROBUST,
    TRUE_TYPES,
    WRONG_TYPES,
    fixed_x,
    huber,
    least_squares,
    poisson_fit,
    with_ones,
)

pytestmark = pytest.mark.exact


def test_the_bad_rows_are_as_many_as_their_cells_say() -> None:
    rng = np.random.default_rng(0)
    for truths in (POWER, ANY_PLACES, ROBUST):
        for name, data in truths.items():
            x, z = data(20_000, rng)
            assert x.shape == z.shape == (20_000,)
            if "z = 8" in name:
                assert np.mean(z == 8.0) == pytest.approx(0.1 if name.startswith("10") else 0.05, abs=0.006)


def test_bad_rows_where_x_is_large_leave_x_as_it_is() -> None:
    x, z = ROBUST["5 % at z = 3 where x > 1"](20_000, np.random.default_rng(1))
    assert (x[z == 3.0] > 1.0).all()
    assert np.mean(z == 3.0) == pytest.approx(0.05, abs=0.006)
    assert np.histogram(x, bins=4, range=(-2, 2))[0] == pytest.approx([5000] * 4, rel=0.08)


def test_true_types_have_uniform_randomised_pit_and_wrong_ones_belong_to_them() -> None:
    rng, x = np.random.default_rng(2), fixed_x(400)
    assert {name.partition(":")[0] for name in WRONG_TYPES} <= set(TRUE_TYPES)
    for name, rows in TRUE_TYPES.items():
        pits = [rows(x, rng) for _ in range(30)]
        u = np.concatenate([pit.low + (pit.high - pit.low) * rng.random(pit.low.shape) for pit in pits], axis=1)
        assert np.abs(np.histogram(u[0], bins=8, range=(0, 1))[0] / u[0].size - 0.125).max() < 0.015, name
    censored = np.mean([(TRUE_TYPES["exponential, 31 % censored"](x, rng).high == 1.0).mean() for _ in range(30)])
    assert censored == pytest.approx(0.31, abs=0.02)


def test_fits_recover_their_parameters() -> None:
    rng, n = np.random.default_rng(3), 5000
    x = rng.uniform(-2.0, 2.0, size=n)
    design, y = with_ones(x), 1.0 + x + rng.normal(size=n)
    mean, sd = least_squares(x)(y)
    assert np.abs(mean - 1.0 - x).max() < 0.1
    assert sd == pytest.approx(1.0, abs=0.05)
    y[:100] = 30.0
    mean, sd = huber(design, y)
    assert np.abs(mean - 1.0 - x).max() < 0.15
    assert sd == pytest.approx(1.0, abs=0.08)
    rate = np.exp(1.0 + 0.3 * x)
    assert poisson_fit(design, rng.poisson(rate).astype(float)) == pytest.approx(rate, rel=0.1)


@pytest.mark.parametrize("kind", ["level", "called", "least squares", "counts", "robust", "posterior"])
def test_a_trial_of_each_cheap_kind_gives_decisions(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictive, "KEPT", 99)
    predictive._known_null.cache_clear()
    cell = next(cell for cell in predictive.GRID if cell["kind"] == kind)
    rows = predictive.trial({**cell, "variant": "published"}, np.random.default_rng(0))
    predictive._known_null.cache_clear()
    assert rows
    assert all(row["rejected"] in (0, 1) and row["kind"] == kind for row in rows)


def test_the_costly_cells_have_the_repeats_that_the_page_says() -> None:
    found = {(cell["kind"], cell["n"]): predictive.most_repeats(cell) for cell in predictive.GRID}
    assert [found["robust", n] for n in (400, 4000, 20_000)] == [200, 100, 30]
    assert found["ten", 400] == found["counts", 1000] == 200
    assert found["level", 50] > 400
