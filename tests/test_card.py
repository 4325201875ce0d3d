"""Cards for notebooks: a verdict, words, a table to unfold, and everything escaped."""

from __future__ import annotations

import re

import pytest

import steinball as sb
from steinball.card import card, table

pytestmark = pytest.mark.exact

HOSTILE = "<script>alert('&\"')</script>"


def test_whatever_is_said_stays_text() -> None:
    page = card(HOSTILE, HOSTILE, f"{HOSTILE}\n{HOSTILE}", [(HOSTILE, HOSTILE), (HOSTILE, HOSTILE, HOSTILE)], HOSTILE)
    assert "<script" not in page
    assert page.count("&lt;script&gt;") == 10


def test_tables_are_rectangular() -> None:
    page = table([("a",), ("b", "c", "d")], heads=("one", "two"))
    assert [line.count("</t") for line in re.findall(r"<tr>.*?</tr>", page)] == [4, 4, 4]


def test_without_a_table_there_is_nothing_to_unfold() -> None:
    assert "<details" not in card("MISFIT", "A test", "Words.")


def test_no_color_is_fixed_but_on_its_own_ground() -> None:
    """Text in the color of the notebook, which may be dark; only the chip has both ink and ground."""
    page = card("UNDECIDED", "A test", "Words.", [("D", "0.1")])
    assert page.count("color:#000") == 1
    assert not re.search(r"(?<!-)background:(?!#E6B84A|transparent)", page)


def test_a_stream_has_a_card_too() -> None:
    test = sb.SequentialTest(sb.models.Gaussian(), kernel=sb.InverseMultiquadric(1.0), contamination=0.05)
    assert "NOT REJECTED" in test._repr_html_()
    assert "REJECTED" in test.update([5.0] * 60)._repr_html_()
