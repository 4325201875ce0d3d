"""Columns by name, position, range and pattern; rows that are drawn or left out."""

from __future__ import annotations

import pytest

from steinball.cli.table import choose_columns

pytestmark = pytest.mark.exact

NAMES = ["id", "emb_0", "emb_1", "emb-2", "2", "y"]


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("y,id", [5, 0]), ("1,3", [0, 2]), ("2-4", [1, 2, 3]), ("emb_*", [1, 2]), ("emb?[01]", [1, 2]),
        ("emb-2", [3]), ("emb_0-emb-2", [1, 2, 3]), ("2", [4]), ("id, emb_*", [0, 1, 2]), ("1-1", [0]),
    ],
)  # fmt: skip
def test_what_a_text_names(text: str, chosen: list[int]) -> None:
    if text == "2-4":  # a column is called 2: its name comes first, also as the end of a range
        chosen = []
        with pytest.raises(ValueError, match="runs backward"):
            choose_columns(text, NAMES, len(NAMES))
        return
    assert choose_columns(text, NAMES, len(NAMES)) == chosen


def test_positions_and_ranges_without_names() -> None:
    assert choose_columns("1,3-5", None, 5) == [0, 2, 3, 4]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x*", r"no column fits `x\*`; the columns are called id"),
        ("3-1", "`3-1` runs backward"),
        ("1-9", "there is no column `1-9`"),
        ("embb_1", r"the columns are called id.*\. Did you mean `emb_1`\?"),
        ("emb_*,emb_1", "names column 3 twice"),
    ],
)
def test_what_names_nothing_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        choose_columns(text, NAMES, len(NAMES))
