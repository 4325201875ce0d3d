"""What the page says of samplers and machines, from made-up tables."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.framework.table import Curve, Results, as_record, rates_of
from experiments.paper.rbm_figures import tables

pytestmark = pytest.mark.paper

PLACES = ((0.05, 0.1), (0.05, 0.15), (0.1, 0.2), (0.25, 0.45), (0.25, 0.5))


def rows(variant: str, hits: int, ksd: float = 0.7, **cell: Any) -> list[dict[str, str]]:
    shared = {"test": "r-ksd", "variant": variant, "seconds": 0.0, **cell}
    return [
        as_record({**shared, "repeat": k, "rejected": int(k < hits), "ksd": ksd + 0.01 * (-1) ** k}) for k in range(100)
    ]


def test_the_page_compares_samplers_and_lists_machines() -> None:
    records = []
    for e0, share in PLACES:
        for variant, hits, ksd in (("published", 50, 0.702), ("exact", 30, 0.7)):
            records += rows(variant, hits, ksd, tolerance=e0, contamination=share)
    for k, hits in enumerate((93, 1, 40)):
        records += rows("machines", hits, tolerance=0.1, contamination=0.2, kind=f"machine {k}")
    text = tables(Results(rates_of(records), (Curve("timing", "R-KSD", [500], value=[0.03]),)))
    assert "| ε₀ = 0.1, ε = 0.2 | 0.7020 | 0.7000 | +1.4 | 0.50 | 0.30 | +2.9 |" in text
    assert "3 random machines: 0.01, 0.40, 0.93." in text
    assert "| R-KSD | 0.030 | .84 |" in text


def test_nothing_is_compared_where_a_variant_was_not_run() -> None:
    text = tables(Results(rates_of(rows("exact", 10, tolerance=0.1, contamination=0.2))))
    assert text.startswith("| 500 points |")
