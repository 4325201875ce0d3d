"""An experiment: the axes of its grid, its cells and its variants."""

from __future__ import annotations

import pytest

from experiments.framework.base import Experiment

pytestmark = pytest.mark.exact

TOY = Experiment(
    name="toy",
    title="a toy",
    reference="nowhere",
    says="Nothing.",
    grid=({"n": 10, "shift": 0.0, "dimension": 2}, {"n": 10, "shift": 1.0, "dimension": 2}, {"n": 20, "dimension": 2}),
    trial=lambda cell, rng: [],
    repeats=1,
    expectations=(),
    draw=lambda results, figure: None,
    variants={"published": "as it is", "text": "as it says"},
)


def test_an_axis_is_a_column_in_which_cells_differ() -> None:
    assert TOY.axes == ("n", "shift")


def test_a_cell_knows_its_variant_and_the_grid_does_not() -> None:
    assert TOY.cell(1, "text") == {"n": 10, "shift": 1.0, "dimension": 2, "variant": "text"}
    assert all("variant" not in cell for cell in TOY.grid)


def test_an_unknown_variant_is_refused_with_those_there_are() -> None:
    assert TOY.check_variant("text") == "text"
    with pytest.raises(ValueError, match="`variant` of toy must be one of published, text, got `texts`"):
        TOY.check_variant("texts")


def test_without_more_an_experiment_has_no_curves_and_no_table_of_its_own() -> None:
    assert TOY.curves("published") == []
    assert TOY.always == ("published",)
