"""Verdicts on made-up tables: what holds, what misses, and what is explained."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.framework.base import Experiment
from experiments.framework.check import check, render_check
from experiments.framework.expectations import Expectation, published
from experiments.framework.table import Curve, Results, as_record, rates_of

pytestmark = pytest.mark.exact

SHARES = (0, 0.05, 0.1)


def results(*hits: int, repeats: int = 100, test: str = "r-ksd", variant: str = "published") -> Results:
    """A table with so many rejections at ε = 0, .05, .1."""
    rows = [
        {"test": test, "variant": variant, "contamination": share, "repeat": k, "rejected": int(k < count)}
        | {"seconds": 0.0, "ksd": 0.1}
        for share, count in zip(SHARES, hits, strict=True)
        for k in range(repeats)
    ]
    return Results(rates_of([as_record(row) for row in rows]), (Curve("panel", "line", [0.0], value=[1.5]),))


def experiment(*expectations: Expectation, **changes: Any) -> Experiment:
    settings: dict[str, Any] = {
        "name": "toy",
        "title": "a toy",
        "reference": "nowhere",
        "says": "nothing",
        "grid": ({},),
        "trial": lambda cell, rng: [],
        "repeats": 1,
        "expectations": expectations,
        "draw": lambda results, figure: None,
    }
    return Experiment(**{**settings, **changes})


CLAIM = published("the claim", "contamination", {0.05: 0.5}, test="r-ksd")
LABEL = "r-ksd at contamination=0.05"


def test_a_miss_is_a_miss_unless_it_has_a_written_explanation() -> None:
    def words(found: Experiment) -> list[str]:
        return [verdict.word for verdict in check(found, results(0, 10, 0))]

    assert words(experiment(CLAIM)) == ["MISSES"]
    assert words(experiment(CLAIM, explanations={"something else": "because"})) == ["MISSES"]
    assert words(experiment(CLAIM, explanations={LABEL: "because"})) == ["explained"]


def test_a_verdict_shows_the_number_its_interval_and_what_was_expected() -> None:
    found = experiment(CLAIM, explanations={LABEL: "because of the moon"})
    text = render_check(found, check(found, results(0, 10, 0)))
    assert f"{LABEL}: 0.100 [0.055, 0.174], expected 0.5, z = −6.8" in text
    assert "0 hold, 1 missed and explained, 0 missed" in text
    assert "because of the moon" in text


def test_a_claim_about_a_variant_is_checked_where_that_variant_was_run() -> None:
    text = published("the claim", "contamination", {0.05: 0.5}, variant="text", test="r-ksd")
    assert check(experiment(text), results(0, 10, 0)) == []
    assert [v.word for v in check(experiment(text), results(0, 50, 0, variant="text"))] == ["holds"]
