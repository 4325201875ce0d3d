"""What the pages count, on made-up verdicts."""

from __future__ import annotations

import dataclasses

import pytest

from experiments.framework.check import Verdict
from experiments.framework.collection import Collection
from experiments.framework.counts import summary
from experiments.framework.expectations import BEYOND, CLAIM, NUMBER, THEOREM, Expectation, Finding
from experiments.paper.registry import experiment

pytestmark = pytest.mark.exact

TOY = dataclasses.replace(experiment("weights"), figure="Figure 1", reference="§5")
COLLECTION = Collection("paper", "about", "# Head", {"weights": TOY})


def verdict(source: str, holds: bool, z: float | None = None, explanation: str = "", rate: float = 0.4) -> Verdict:
    finding = Finding("label", "0.5, z = 0", rate, holds, (0.3, 0.5), {}, z)
    return Verdict(Expectation("claim", lambda results: [], source=source), finding, explanation)


def test_numbers_words_and_what_goes_beyond_are_counted_apart_and_theorems_nowhere() -> None:
    found = [
        verdict(NUMBER, True, 1.0),
        verdict(NUMBER, False, -4.0, "For a reason."),
        verdict(CLAIM, True),
        verdict(BEYOND, True),
        verdict(BEYOND, False),
        verdict(THEOREM, True),
    ]
    text = summary(COLLECTION, {"weights": found})
    assert f"| [weights](weights.md) | {TOY.title} | Figure 1, §5 | 1 of 2 | 1 of 1 | 1 of 2 |" in text
    assert "Of 2 numbers that the paper prints or draws, 1 agree." in text
    assert "1 have |z| ≤ 3. The mean of their z² is 8.50 over all and 1.00 over those within 3. 0 are 0" in text
    assert text.endswith("- [weights](weights.md), label: 0.400, published 0.5, z = 0. For a reason.")


def test_a_page_without_published_numbers_counts_claims_alone() -> None:
    text = summary(COLLECTION, {"weights": [verdict(CLAIM, True), verdict(CLAIM, False), verdict(THEOREM, True)]})
    assert f"| [weights](weights.md) | {TOY.title} | Figure 1, §5 | 1 of 2 |" in text
    assert "prints or draws" not in text


def test_rates_of_0_and_1_are_counted_apart() -> None:
    """A level of 0 and a power of 1 hold whatever the test does; a number that is not a rate has no interval."""
    number = Verdict(Expectation("claim", lambda results: []), Finding("label", "0", 0.0, True), "")
    found = [verdict(CLAIM, True, rate=rate) for rate in (0.0, 1.0, 0.04)] + [verdict(CLAIM, False, rate=1.0), number]
    assert "| 4 of 5 (2) |" in summary(COLLECTION, {"weights": found})
    published = [verdict(NUMBER, True, z, rate=rate) for z, rate in ((0.0, 1.0), (0.0, 0.4), (2.0, 0.4))]
    text = summary(COLLECTION, {"weights": published})
    assert "is 1.33 over all and 1.33 over those within 3. 1 are 0 because" in text
    assert "over the others within 3 it is 2.00." in text
