"""Bounds of the preference over all x: upper bounds, and close ones where they are searched."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from steinball.comparison import DrawnEmbedding, Embedding, KernelCoordinates, extremes_of, largest_value
from tests.comparison.models import Floats, mixture, normal, plain

pytestmark = pytest.mark.exact


def preference(a: Embedding, b: Embedding, z: Floats) -> Floats:
    return 2.0 * (a.values(z) - b.values(z)) + b.square - a.square


def norm_of(a: Embedding, b: Embedding) -> float:
    return float(np.sqrt(a.norm + b.norm - 2.0 * a.expect(b)))


@pytest.mark.parametrize(("mean", "scale"), [(0.5, 1.0), (3.0, 1.0), (0.0, 2.0), (0.1, 0.3), (0.001, 1.0), (40.0, 1.0)])
def test_on_the_line_bounds_are_two_percent_beyond_a_fine_grid(mean: float, scale: float) -> None:
    a, b = normal(plain()), normal(plain(), mean, scale)
    g = preference(a, b, np.linspace(-20.0, 60.0, 160_001)[:, None])
    found, room = extremes_of(a, b), 0.02 * norm_of(a, b)
    assert found.kind == "search"
    assert g.max() <= found.highest <= g.max() + 2.0 * room
    assert g.min() - 2.0 * room <= found.lowest <= g.min()


def test_in_the_plane_they_are_as_close() -> None:
    a, b = mixture(plain(2)), normal(plain(2), 0.3)
    axis = np.linspace(-6.0, 6.0, 301)
    g = preference(a, b, np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2))
    found, room = extremes_of(a, b), 0.02 * norm_of(a, b)
    assert g.max() <= found.highest <= g.max() + 2.0 * room
    assert g.min() - 2.0 * room <= found.lowest <= g.min()


@pytest.mark.parametrize(("d", "kind", "room"), [(3, "search", 1.35), (5, "norm", 2.2), (20, "norm", 2.2)])
def test_in_more_columns_they_are_bounds_and_not_far(d: int, kind: str, room: float) -> None:
    at = KernelCoordinates(np.zeros(d), np.eye(d) / np.sqrt(8.0 * d))  # about half of the median distance
    a, b = normal(at), normal(at, 0.7)
    starts = [-np.eye(d)[0], np.eye(d)[0]]
    top = max(-minimize(lambda z: -preference(a, b, at.of(z[None]))[0], start).fun for start in starts)
    found = extremes_of(a, b)
    assert found.kind == kind
    assert top <= found.highest <= room * top


def test_draws_are_bounded_as_they_are() -> None:
    rng, at = np.random.default_rng(0), plain()
    a, b = (DrawnEmbedding(at, rng.normal(m, 1.0, size=(200, 1))) for m in (0.0, 0.5))
    g = preference(a, b, np.linspace(-12.0, 12.0, 6001)[:, None])
    found = extremes_of(a, b)
    assert g.max() <= found.highest <= g.max() + 0.04 * norm_of(a, b)
    wide = DrawnEmbedding(at, rng.standard_cauchy(size=(200, 1)) ** 3)
    g = preference(a, wide, np.concatenate([a.draws, wide.draws, np.linspace(-9.0, 9.0, 999)[:, None]]))
    found = extremes_of(a, wide)
    assert found.lowest <= g.min()
    assert g.max() <= found.highest


def test_a_search_that_ends_early_still_bounds() -> None:
    a, b = normal(plain()), normal(plain(), 1.0)
    norm, box = norm_of(a, b), (np.array([-9.0]), np.array([9.0]))
    true = float((a.values(np.linspace(-9, 9, 9001)[:, None]) - b.values(np.linspace(-9, 9, 9001)[:, None])).max())
    bounds = [largest_value(lambda z: a.values(z) - b.values(z), norm, box, most) for most in (0, 10, 40, 4000)]
    assert bounds[0] == norm
    assert all(bound >= true for bound in bounds)
    assert sorted(bounds, reverse=True) == bounds


def test_far_from_everything_the_preference_is_a_constant_within_the_bounds() -> None:
    a, b = normal(plain(), 0.0, 1.0), normal(plain(), 0.0, 3.0)
    constant = b.square - a.square
    found = extremes_of(a, b)
    assert found.lowest <= constant <= found.highest
    assert preference(a, b, np.array([[1e9]]))[0] == constant


def test_exchanging_the_models_exchanges_the_bounds() -> None:
    for d in (1, 2, 5):
        a, b = normal(plain(d)), normal(plain(d), 0.7, 1.2)
        one, other = extremes_of(a, b), extremes_of(b, a)
        assert one.highest == pytest.approx(-other.lowest, rel=1e-12)
        assert one.lowest == pytest.approx(-other.highest, rel=1e-12)


def test_equal_models_have_no_preference() -> None:
    found = extremes_of(normal(plain()), normal(plain()))
    assert found.highest - found.lowest < 1e-7
