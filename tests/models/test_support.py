"""Where a model lives: ends are read and checked, points outside refused or set apart, points on an edge moved off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from steinball.models.knowledge import Knowledge
from steinball.models.support import Support, place, within

pytestmark = pytest.mark.exact


def column(*values: float) -> Any:
    return np.array(values, dtype=float)[:, None]


def test_one_pair_is_for_every_column_and_none_is_infinite() -> None:
    low, high = Support.of((0, None)).along(3)
    assert low.tolist() == [0.0, 0.0, 0.0]
    assert np.isposinf(high).all()
    assert Support.of([(0, 1), (None, None)]).along(2)[1].tolist() == [1.0, np.inf]
    assert not Support.of((None, None)).has_edges


@pytest.mark.parametrize("value", [(1, 0), (0, 0), (0,), 3.0, [(0, 1, 2)], "ab", (float("nan"), 1)])
def test_what_is_no_support_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"`support` must be a pair \(low, high\)"):
        Support.of(value)


def test_columns_must_agree() -> None:
    with pytest.raises(ValueError, match="`support` has 2 columns, but the samples have 3"):
        Support.of([(0, 1), (0, 1)]).along(3)


def test_outside_on_the_edge_and_distance() -> None:
    support, x = Support.of([(0, 1), (None, 2)]), np.array([[0.25, 0.0], [0.0, 0.0], [-1.0, 0.0], [0.5, 3.0]])
    assert support.outside(x).tolist() == [False, False, True, True]
    assert (support.distance(x).min(axis=1) == 0.0).tolist() == [False, True, False, False]
    assert support.distance(x)[0].tolist() == [0.25, 2.0]


@pytest.mark.parametrize(("kind", "edge"), [("float64", 0.0), ("float64", 1.0), ("float32", 0.0), ("float32", -7.0)])
def test_a_point_on_the_edge_moves_to_where_the_inverse_distance_is_finite(kind: str, edge: float) -> None:
    moved = Support.of((edge, None)).off_edges(column(edge, edge + 1.0), kind).astype(kind)
    assert moved[1, 0] == edge + 1.0
    distance = moved[0, 0] - np.dtype(kind).type(edge)
    assert 0.0 < distance < 1e-2
    assert np.isfinite(1.0 / distance**2)
    mirrored = Support.of((None, -edge)).off_edges(column(-edge, -edge - 1.0), kind).astype(kind)
    np.testing.assert_array_equal(mirrored, -moved)


def test_points_outside_are_refused_with_the_way_out() -> None:
    with pytest.raises(ValueError, match=r"1 of 3 rows do not \(first: row 1\).*excludes.*outside=\"contaminated\""):
        place(column(1.0, -1.0, 2.0), Support.of((0, None)))
    with pytest.raises(ValueError, match=r"first: row 0"):
        within(column(-1.0), Support.of((0, None)))
    with pytest.raises(ValueError, match='`outside` must be "error" or "contaminated", got \'drop\''):
        place(column(1.0), None, "drop")


def test_points_outside_are_set_apart_where_that_is_asked() -> None:
    inside, excluded, remarks = place(column(1.0, -1.0, 2.0, 3.0, -5.0), Support.of((0, None)), "contaminated")
    assert inside[:, 0].tolist() == [1.0, 2.0, 3.0]
    assert excluded.tolist() == [1, 4]
    assert remarks == {"outside the support": 2}


def test_a_few_points_on_the_edge_are_rounding_and_many_are_not() -> None:
    support, x = Support.of((0, None)), np.ones((100, 1))
    x[:5] = 0.0
    inside, _, remarks = place(x, support)
    assert remarks == {"moved off the edge": 5}
    assert (inside > 0.0).all()
    x[:6] = 0.0
    with pytest.raises(ValueError, match=r"6 of 100 `samples` lie exactly on an edge .* too many to be rounding"):
        place(x, support)


def test_a_model_is_asked_for_its_support() -> None:
    class Half:
        support = (0, None)

    class Wrong:
        support = (1, 0)

    class Callable:
        def support(self) -> tuple[float, float]:
            return 0.0, np.inf

    assert Knowledge(Half()).support == Support.of((0, None))
    assert Knowledge(Callable()).support is None
    with pytest.raises(ValueError, match="`support` must be"):
        _ = Knowledge(Wrong()).support


def test_points_rounded_onto_an_edge_go_to_the_middle_of_their_half_cell() -> None:
    x = np.array([[0.0, 3.0], [0.1, 2.0], [0.1, 1.0]])
    support = Support.of([(0.0, None), (None, 3.0)])
    inside, excluded, remarks = place(x, support, steps=lambda rows: np.array([0.1, 1.0]))
    np.testing.assert_allclose(inside, [[0.025, 2.75], [0.1, 2.0], [0.1, 1.0]])
    assert remarks == {"moved off the edge": 1}
    assert not excluded.size
    alone, _, _ = place(x, support)
    assert 0.0 < alone[0, 0] < 1e-60


def test_as_many_on_the_edge_as_rounding_explains_are_not_refused() -> None:
    rng = np.random.default_rng(0)
    x = np.round(rng.exponential(size=(200, 1)) / 0.3) * 0.3
    assert (x == 0.0).mean() > 0.1
    support, steps = Support.of((0, None)), lambda rows: np.array([0.3])
    assert place(x, support, steps=steps)[2]["moved off the edge"] == int((x == 0.0).sum())
    mirrored = Support.of((None, 0))  # an upper edge is like a lower one
    assert place(-x, mirrored, steps=steps)[2]["moved off the edge"] == int((x == 0.0).sum())
    with pytest.raises(ValueError, match="too many to be rounding"):
        place(x, support)
    x[:150] = 0.0
    with pytest.raises(ValueError, match="too many to be rounding"):
        place(x, support, steps=steps)
