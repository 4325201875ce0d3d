"""One description of a picture, drawn for a page and in axes of matplotlib."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from steinball.show.svg import Element, Frame, element_of, ends_of, figure_of

pytestmark = pytest.mark.exact


def described(**more: Any) -> Frame:
    frame = Frame((0.0, 10.0), (0.0, 1.0), ("x $<b>", "y"), "a heading", "A caption.", **more)
    frame.spans([(1.0, 2.0), (4.0, 5.0)], "too few")
    frame.bars(np.array([0.0, 5.0, 10.0]), np.array([0.2, 0.4]), "data")
    frame.line([0.0, 10.0], 0.5, "model", "model <i>")
    frame.rug(np.array([3.0, 4.0]), 0.1, "blamed", "guilty")
    frame.add("dots", "far", [[2.0, 0.25]], "$far$", words=["row <7>"], size=3.0)
    frame.box((5.0, 6.0), (0.0, 0.5), "less", "fewer", opacity=0.3)
    frame.beyond(np.array([0.0, 10.0, 11.0, 12.0, 13.0, 14.0]))
    return frame


def in_axes(frame: Frame) -> Any:
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib.figure import Figure

    from steinball.show.axes import draw_frame

    ax = draw_frame(frame, Figure().subplots())
    ax.figure.canvas.draw()
    return ax


def test_the_legend_says_the_same_on_a_page_and_in_axes() -> None:
    frame = described()
    page, ax = figure_of(frame), in_axes(frame)
    legend = re.findall(r"<span><svg.*?</svg> (.*?)</span>", page)
    assert legend == ["too few", "data", "model &lt;i&gt;", "guilty", "$far$", "fewer"]
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert shown == ["too few", "data", "model <i>", "guilty", r"\$far\$", "fewer"]


def test_shapes_lie_where_the_data_are() -> None:
    frame = described()
    page, ax = figure_of(frame), in_axes(frame)
    left, right, top, bottom = ends_of(frame)
    middle = (top + bottom) / 2.0
    assert f'd="M{left:.2f} {middle:.2f}L{right:.2f} {middle:.2f}"' in page
    assert ax.lines[0].get_xydata().tolist() == [[0.0, 0.5], [10.0, 0.5]]
    assert [line.get_linewidth() for line in ax.lines] == [2.0, 1.2]  # the model, and the rug
    at = left + 0.2 * (right - left)
    assert f'<circle cx="{at:.1f}" cy="{bottom - 0.25 * (bottom - top):.1f}" r="3"><title>row &lt;7&gt;</title>' in page
    assert ax.collections[0].get_offsets().tolist() == [[2.0, 0.25]]
    wide, high = 0.1 * (right - left), 0.5 * (bottom - top)
    assert f'y="{middle:.2f}" width="{wide:.2f}" height="{high:.2f}"' in page
    box = ax.patches[-1].get_path().get_extents()
    np.testing.assert_allclose(np.ravel(box.get_points()), [5.0, 0.0, 6.0, 0.5])
    assert "4 ▸" in page
    assert [text.get_text() for text in ax.texts] == ["4 ▸"]
    assert tuple(ax.texts[0].xy) == (10.0, 0.0)


def test_many_lines_are_one_shape_that_is_broken_between_them() -> None:
    frame = described()
    rug = next(element for element in frame.elements if element.kind == "rug blamed")
    assert rug.places.tolist() == [[[3.0, 0.0], [3.0, -0.1]], [[4.0, 0.0], [4.0, -0.1]]]
    assert element_of(frame, rug).count("M") == 2
    drawn = next(line for line in in_axes(frame).lines if line.get_label() == "guilty").get_xydata()
    assert np.isnan(drawn[2]).all()
    assert len(drawn) == 5


def test_axes_are_named_and_marked_alike() -> None:
    frame = described(percents=(False, True), marks=[(2.0, "north"), (8.0, "a long name of a place")], categories=True)
    page, ax = figure_of(frame), in_axes(frame)
    assert "x $&lt;b&gt;" in page
    assert ax.get_xlabel() == r"x \$<b>"
    assert "20 %</text>" in page
    assert "20 %" in [tick.get_text() for tick in ax.get_yticklabels()]
    assert ">a long name of a pla<" in page  # there is room for forty letters
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["north", "a long name of a place"]


def test_notes_stand_below_a_picture_and_the_caption_is_told_to_those_who_do_not_see_it() -> None:
    frame = described(notes=["3 points lie outside of this picture."])
    page, ax = figure_of(frame), in_axes(frame)
    assert "<figcaption>A caption. 3 points lie outside of this picture.</figcaption>" in page
    assert 'aria-label="A caption."' in page
    assert ax.get_xlabel().splitlines()[1:] == ["3 points lie outside of this picture."]
    assert ax.get_title(loc="left") == "a heading"


def test_a_shape_has_the_name_that_a_script_looks_for() -> None:
    element = Element(form="paths", kind="level", places=np.array([[[0.0, 0.5], [10.0, 0.5]]]), name="level-line")
    assert ' id="level-line"' in element_of(described(), element)
