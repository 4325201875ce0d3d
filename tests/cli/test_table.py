"""Columns by name, position, range and pattern; rows that are drawn or left out."""

from __future__ import annotations

import numpy as np
import pytest

from steinball.cli.table import Table, choose_columns

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


def test_rows_that_are_drawn_stay_in_order_and_keep_the_numbers_of_the_file() -> None:
    """Row k of the file holds k; some are missing, and some of the others are drawn."""
    samples = np.arange(1.0, 101.0)[:, None]
    samples[::7] = np.nan
    table = Table(samples).complete().drawn(20, seed=1)
    values = table.samples[:, 0].astype(int)
    assert table.labels.ids == tuple(f"row {value}" for value in values)
    assert (np.diff(values) > 0).all()
    assert table.to_dict() == {"dropped": 15, "subsample": {"rows": 20, "of": 85, "seed": 1}}
    assert Table(samples).drawn(100, seed=1).to_dict() == {}
