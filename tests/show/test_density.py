"""The density of a model on a grid, against closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.problem import pose
from steinball.rows import Rows
from steinball.show.view import Shape, contours, mass_levels, shape_of

pytestmark = pytest.mark.exact


def posed(x: Any, model: Any, **options: Any) -> Rows:
    return pose(x, model, **options).rows


WINDOW = np.array([[-3.0], [3.0]])


@pytest.mark.parametrize(
    "model", [sb.models.Gaussian(), sb.from_score(lambda x: -x)], ids=["by its log density", "by its score alone"]
)
def test_one_column_is_the_normal_density(model: object) -> None:
    shape = shape_of(posed(np.linspace(-1, 1, 9), model), (0,), WINDOW)
    assert shape is not None
    expected = np.exp(-(shape.axes[0] ** 2) / 2) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(shape.values, expected, atol=2e-4)


def test_an_edge_is_where_the_density_ends() -> None:
    model = sb.from_score(lambda x: -np.ones_like(x), support=(0, None))
    shape = shape_of(posed(np.linspace(0.1, 3, 9), model, tilt="auto"), (0,), np.array([[0.0], [5.0]]))
    assert shape is not None
    assert (shape.values[shape.axes[0] < 0] == 0).all()
    inside = shape.axes[0] > 0.1
    np.testing.assert_allclose(shape.values[inside], np.exp(-shape.axes[0][inside]), atol=0.02)


def test_two_columns_of_a_score_alone_are_integrated() -> None:
    cov = np.array([[1.0, 0.6], [0.6, 2.0]])
    model = sb.from_score(lambda x: -x @ np.linalg.inv(cov))
    shape = shape_of(
        posed(np.random.default_rng(0).normal(size=(9, 2)), model), (0, 1), np.array([[-4.0] * 2, [4.0] * 2])
    )
    assert shape is not None
    known = sb.models.Gaussian([0.0, 0.0], cov)
    places = np.stack(np.meshgrid(*shape.axes, indexing="ij"), axis=-1).reshape(-1, 2)
    expected = np.exp(known.log_density(places)).reshape(shape.values.shape)
    np.testing.assert_allclose(shape.values, expected / expected.sum() * shape.values.sum(), atol=2e-3)


def test_two_columns_of_many_are_drawn_from_the_model() -> None:
    model = sb.models.Gaussian(np.zeros(5))
    shape = shape_of(
        posed(np.random.default_rng(0).normal(size=(9, 5)), model), (1, 3), np.array([[-3.0] * 2, [3.0] * 2])
    )
    assert shape is not None
    assert float(shape.values.max()) == pytest.approx(1 / (2 * np.pi), rel=0.15)


def test_what_cannot_be_known_is_not_drawn() -> None:
    x = np.random.default_rng(0).normal(size=(9, 3))
    assert shape_of(posed(x, lambda x: -x), (0, 1), np.array([[-3.0] * 2, [3.0] * 2])) is None
    assert shape_of(posed(x[:, 0], sb.from_scores(-x[:, 0])), (0,), WINDOW) is None  # scores at the samples alone

    def fails(x: object) -> object:
        if len(x) != 9:  # type: ignore[arg-type]
            raise RuntimeError("only at the data")
        return -x  # type: ignore[operator]

    assert shape_of(posed(x[:, 0], fails), (0,), WINDOW) is None


def test_contours_of_a_normal_density_are_circles_that_hold_their_mass() -> None:
    axis = np.linspace(-4, 4, 161)
    values = np.exp(-(axis[:, None] ** 2 + axis**2) / 2)
    for level, mass in zip(mass_levels(values, (0.5, 0.9)), (0.9, 0.5), strict=True):
        radii = np.linalg.norm(contours(Shape((axis, axis), values), level).reshape(-1, 2), axis=1)
        np.testing.assert_allclose(radii, np.sqrt(-2 * np.log(1 - mass)), atol=0.02)
    assert contours(Shape((axis, axis), values), 2.0).shape == (0, 2, 2)
