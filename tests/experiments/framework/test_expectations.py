"""Each kind of claim holds where it should and misses where it should, on made-up tables."""

from __future__ import annotations

import pytest

from experiments.framework.expectations import (
    BEYOND,
    CLAIM,
    NUMBER,
    THEOREM,
    Expectation,
    above,
    agree,
    because,
    below,
    beyond,
    exceeds,
    level,
    monotone,
    number,
    published,
    theorem,
)
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


def holds(expectation: Expectation, table: Results) -> list[bool]:
    return [finding.holds for finding in expectation.findings(table)]


def test_a_published_rate_must_come_out_within_three_standard_errors() -> None:
    claim = published("claim", "contamination", {0.05: 0.5, 0.1: 1.0}, test="r-ksd")
    assert holds(claim, results(0, 50, 100)) == [True, True]
    # √(.7 · .3 / 100 + .25 / 100) ≈ .068: three of them are .2.
    assert holds(claim, results(0, 70, 95)) == [True, True]
    assert holds(claim, results(0, 72, 89)) == [False, False]
    assert holds(claim, results(0, 28, 100)) == [False, True]


def test_a_rate_of_zero_is_no_agreement_with_a_published_one_of_fifteen_percent() -> None:
    [finding] = published("claim", "contamination", {0.05: 0.15}, test="r-ksd").findings(results(0, 0, 0))
    assert not finding.holds
    ours, theirs = 0.5 / 101, 15.5 / 101
    assert finding.z == pytest.approx(-0.15 / ((ours * (1 - ours) + theirs * (1 - theirs)) / 100) ** 0.5)


def test_an_expectation_says_where_it_comes_from() -> None:
    claim = published("claim", "contamination", {0.05: 0.5}, test="r-ksd")
    assert claim.source == NUMBER
    plain = below("claim", 0.01, test="r-ksd", axes={"contamination": SHARES})
    assert (plain.source, beyond(plain).source, theorem(plain).source) == (CLAIM, BEYOND, THEOREM)
    assert because("so", plain).reason == "so"


def test_the_level_allows_two_standard_errors() -> None:
    claim = level("claim", test="r-ksd", axes={"contamination": SHARES})
    assert holds(claim, results(5, 9, 10)) == [True, True, False]  # .05 + 2 √(.05 · .95 / 100) = .0936
    assert holds(claim, results(20, 28, 29, repeats=400)) == [True, True, False]  # .0718


def test_bounds_from_above_and_below() -> None:
    assert holds(above("claim", test="r-ksd", axes={"contamination": SHARES}), results(89, 90, 91)) == [
        False,
        True,
        True,
    ]
    assert holds(below("claim", 0.01, test="r-ksd", axes={"contamination": SHARES}), results(0, 1, 2)) == [
        True,
        True,
        False,
    ]


def test_monotone_rates_may_only_step_back_by_sampling_error() -> None:
    claim = monotone("claim", "contamination", SHARES, test="r-ksd")
    assert holds(claim, results(10, 50, 90)) == [True, True]
    assert holds(claim, results(10, 50, 40)) == [True, True]  # 2 s.e. of the difference are .14
    assert holds(claim, results(10, 50, 30)) == [True, False]
    falling = monotone("claim", "contamination", SHARES, falling=True, test="r-ksd")
    assert holds(falling, results(90, 50, 70)) == [True, False]


def both(first: tuple[int, ...], second: tuple[int, ...]) -> Results:
    tables = results(*first, test="imq-ksd").rates.rows + results(*second, test="r-ksd").rates.rows
    return Results(type(results(0, 0, 0).rates)(tables))


def test_two_tests_agree_within_sampling_error() -> None:
    claim = agree("claim", {"test": "imq-ksd"}, {"test": "r-ksd"}, axes={"contamination": SHARES})
    assert holds(claim, both((0, 50, 100), (2, 70, 97))) == [True, True, True]
    assert holds(claim, both((0, 50, 100), (10, 75, 90))) == [False, False, False]


def test_the_second_of_two_tests_must_reject_no_less() -> None:
    claim = agree(
        "claim", {"test": "imq-ksd"}, {"test": "r-ksd"}, axes={"contamination": SHARES}, least=True, errors=0.0
    )
    assert holds(claim, both((0, 50, 90), (0, 90, 89))) == [True, True, False]


def test_a_number_must_come_out_within_its_tolerance() -> None:
    def measure(table: Results) -> float:
        curve = table.panel("panel")["line"]
        assert curve.value is not None
        return float(curve.value[0])

    assert holds(number("claim", "label", 1.5, measure, 0.0), results(0, 0, 0)) == [True]
    assert holds(number("claim", "label", 1.4, measure, 0.05), results(0, 0, 0)) == [False]


def test_a_rate_exceeds_the_level_when_its_interval_lies_above_it() -> None:
    claim = exceeds("claim", test="r-ksd", axes={"contamination": SHARES})
    assert holds(claim, results(5, 9, 11)) == [False, False, True]  # 9 of 100: .048 to .162
