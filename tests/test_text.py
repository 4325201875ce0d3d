"""Text for people: numbers, shares, counts and kernels are written in one way, and tables have eighty columns."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

import steinball as sb
from steinball.kernels import Gaussian, InverseMultiquadric
from steinball.text import WIDTH, card, count, describe, percent, render, short, spaced, wrap
from steinball.tilts import PolynomialTilt

pytestmark = pytest.mark.exact


def test_a_lower_bound_is_never_rounded_up() -> None:
    assert percent(0.09999, down=True) == "9.99 %"
    assert percent(0.123456, down=True) == "12.3 %"
    assert percent(0.0299999, down=True) == "2.99 %"
    assert percent(0.05) == "5 %"
    for share in np.random.default_rng(0).uniform(0, 1, 200):
        assert float(percent(share, down=True).split()[0]) <= 100 * share


def test_short_numbers_have_three_digits_and_thousands_are_written_out() -> None:
    assert [short(value) for value in (0.12345, 12.345, 999.4, 999.6)] == ["0.123", "12.3", "999", "1,000"]
    assert [short(value) for value in (2374.15, -18777.2, 2e7, 1e-9)] == ["2,374", "-18,777", "2e+07", "1e-09"]


def test_kernels_and_tilts_are_described_shortly() -> None:
    assert describe(None) == "none"
    assert describe(2 * Gaussian(1.0)) == "Scaled(kernel=Gaussian(lengthscale=1), factor=2)"
    assert (
        describe(PolynomialTilt(center=np.arange(9.0))) == "PolynomialTilt(exponent=0.5, center=<9 numbers>, scale=1)"
    )
    metric = describe(InverseMultiquadric(1 / 3, metric=np.eye(4)))
    assert metric == "InverseMultiquadric(lengthscale=0.3333, exponent=0.5, metric=<4 × 4 numbers>)"


def test_the_same_tilt_is_described_alike_whatever_its_center_came_as() -> None:
    text = "PolynomialTilt(exponent=0.5, center=0, scale=1)"
    assert [describe(PolynomialTilt(center=c)) for c in (0, 0.0, [0.0], (0.0,), np.zeros(1))] == [text] * 5
    assert describe(PolynomialTilt(center=(0.0, 1 / 3))) == "PolynomialTilt(exponent=0.5, center=(0, 0.3333), scale=1)"


def test_switches_texts_and_sets_are_described_as_they_are() -> None:
    @dataclasses.dataclass
    class Thing:
        switch: bool = True
        word: str = "auto"
        parts: tuple[object, ...] = (Gaussian(1.0), None)

    assert describe(Thing()) == "Thing(switch=True, word='auto', parts=(Gaussian(lengthscale=1), none))"
    assert describe(sb.Huber(0.05)) == "Huber(contamination=0.05)"


def test_counts_and_class_names_become_words() -> None:
    assert [count(n, "draw") for n in (0, 1, 999, 1_000_000)] == ["0 draws", "1 draw", "999 draws", "1,000,000 draws"]
    assert [spaced(name) for name in ("WildBootstrap", "Betting", "DeviationBound")] == [
        "wild bootstrap",
        "betting",
        "deviation bound",
    ]


def test_notes_stand_in_a_column_and_every_line_of_the_sentence_is_a_paragraph() -> None:
    long = "word " * 40
    text = render("Title", [("a", "1", "first"), ("longer", "22", long), ("b", long)], f"{long}\nSecond.")
    lines = text.split("\n")
    assert lines[:2] == ["Title", "  a       1   first"]
    assert lines[2].startswith("  longer  22  word word")
    assert lines[3].startswith(" " * 14 + "word")
    assert lines[-1] == "  Second."
    assert max(map(len, lines)) <= WIDTH
    assert all(line == line.rstrip() for line in lines)


def test_every_line_of_a_sentence_that_is_wrapped_is_indented() -> None:
    lines = wrap("a " * 60, indent=4).split("\n")
    assert [line[:5] for line in lines] == ["    a"] * 2


HOSTILE = "<script>alert('&\"')</script>"


def test_whatever_is_said_stays_text() -> None:
    page = card(HOSTILE, HOSTILE, f"{HOSTILE}\n{HOSTILE}", [(HOSTILE, HOSTILE), (HOSTILE, HOSTILE, HOSTILE)])
    assert "<script" not in page
    assert page.count("&lt;script&gt;") == 9


def test_tables_are_rectangular() -> None:
    page = card("MISFIT", "A test", "Words.", [("a", "1"), ("b", "c", "d")])
    assert [line.count("</t") for line in re.findall(r"<tr>.*?</tr>", page)] == [4, 4]


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
