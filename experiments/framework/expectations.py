"""Claims about a table that can fail."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from experiments.framework.table import Rate, Results, as_text

__all__ = [
    "BEYOND", "CLAIM", "LEVEL", "NUMBER", "THEOREM", "Expectation", "Finding", "above", "agree", "at_the_level",
    "because", "below", "beyond", "exceeds", "level", "monotone", "number", "published", "theorem",
]  # fmt: skip

LEVEL = 0.05
PUBLISHED_REPEATS = 100
MOST_Z = 3.0

NUMBER, CLAIM, BEYOND, THEOREM = "number", "claim", "beyond", "theorem"
"""Where an expectation comes from: a number that the paper prints or draws, something that it (or we) say in words,
something that goes beyond it, or something that is proved, which is shown and never counted."""

Where = Mapping[str, Any]


@dataclass(frozen=True)
class Finding:
    """One number of a claim: what was expected, what was measured, and whether that will do.

    ``where`` is the cell that a rate belongs to, for a run that looks again at cells that miss; ``z`` how many standard
    errors a rate is from the published one.
    """

    label: str
    expected: str
    measured: float
    holds: bool
    interval: tuple[float, float] | None = None
    where: Where | None = None
    z: float | None = None


@dataclass(frozen=True)
class Expectation:
    """A claim in words, the findings that decide it from the tables of one variant alone, and where it comes from.

    ``reason`` is why the claim is put as it is, where it is narrower than what the paper says; ``rates`` are published
    rates with their cells, which figures mark.
    """

    claim: str
    findings: Callable[[Results], Iterable[Finding]]
    variant: str = "published"
    source: str = CLAIM
    reason: str = ""
    rates: tuple[tuple[Where, float], ...] = ()


def beyond(expectation: Expectation) -> Expectation:
    """The same expectation as one that the paper does not have."""
    return replace(expectation, source=BEYOND)


def theorem(expectation: Expectation) -> Expectation:
    """The same expectation as something proved: it is shown, and counted nowhere."""
    return replace(expectation, source=THEOREM)


def because(reason: str, expectation: Expectation) -> Expectation:
    """The same expectation with the reason why it is put as it is."""
    return replace(expectation, reason=reason)


def describe(where: Where) -> str:
    """A cell in words.

    Examples
    --------
    >>> describe({"test": "r-ksd", "outlier": 10.0})
    'r-ksd at outlier=10'
    """
    rest = ", ".join(f"{name}={as_text(value)}" for name, value in where.items() if name != "test")
    return " at ".join(part for part in (where.get("test", ""), rest) if part)


def _points(where: Where, axes: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """``where`` with every combination of the values of ``axes``."""
    cells: list[dict[str, Any]] = [dict(where)]
    for name, values in axes.items():
        cells = [{**cell, name: value} for cell in cells for value in values]
    yield from cells


def _finding(rate: Rate, where: Where, expected: str, holds: bool) -> Finding:
    return Finding(describe(where), expected, rate.rate, holds, rate.interval, where)


def published(
    claim: str,
    axis: str,
    values: Mapping[Any, float],
    variant: str = "published",
    repeats: int = PUBLISHED_REPEATS,
    **where: Any,
) -> Expectation:
    """Rates along an axis no more than three standard errors from published ones, which were found in ``repeats``."""

    def findings(results: Results) -> Iterator[Finding]:
        for value, rate in values.items():
            cell = {**where, axis: value}
            measured = results.rates.one(**cell)
            z = (measured.rate - rate) / _difference_error([(measured.rate, measured.repeats), (rate, repeats)])
            found = _finding(measured, cell, f"{rate:g}, z = {_signed(z)}", abs(z) <= MOST_Z)
            yield replace(found, z=z)

    rates = tuple(({**where, axis: value, "variant": variant}, rate) for value, rate in values.items())
    return Expectation(claim, findings, variant, NUMBER, rates=rates)


def _signed(z: float) -> str:
    """One decimal, with a sign unless it is 0.

    Examples
    --------
    >>> _signed(0.04), _signed(-1.26), _signed(2.0)
    ('0', '−1.3', '+2.0')
    """
    text = f"{z:+.1f}".replace("-", "−")
    return "0" if text[1:] == "0.0" else text


def _each(
    claim: str,
    variant: str,
    where: Where,
    axes: Mapping[str, Sequence[Any]],
    judge: Callable[[Rate], tuple[str, bool]],
) -> Expectation:
    def findings(results: Results) -> Iterator[Finding]:
        for cell in _points(where, axes):
            measured = results.rates.one(**cell)
            yield _finding(measured, cell, *judge(measured))

    return Expectation(claim, findings, variant)


def level(claim: str, variant: str = "published", *, axes: Mapping[str, Sequence[Any]], **where: Any) -> Expectation:
    """No more rejections than the level and two standard errors."""
    return _each(claim, variant, where, axes, at_the_level)


def at_the_level(rate: Rate) -> tuple[str, bool]:
    """What is expected of a rate at the level, and whether it is so."""
    bound = LEVEL + 2.0 * math.sqrt(LEVEL * (1.0 - LEVEL) / rate.repeats)
    return f"≤ {bound:.3f} (level + 2 s.e.)", rate.rate <= bound


def above(
    claim: str, bound: float = 0.9, variant: str = "published", *, axes: Mapping[str, Sequence[Any]], **where: Any
) -> Expectation:
    """At least this share of rejections."""
    return _each(claim, variant, where, axes, lambda r: (f"≥ {bound:g}", r.rate >= bound))


def below(
    claim: str, bound: float, variant: str = "published", *, axes: Mapping[str, Sequence[Any]], **where: Any
) -> Expectation:
    """At most this share of rejections."""
    return _each(claim, variant, where, axes, lambda r: (f"≤ {bound:g}", r.rate <= bound))


def exceeds(claim: str, variant: str = "published", *, axes: Mapping[str, Sequence[Any]], **where: Any) -> Expectation:
    """More rejections than the level: it lies below the 95 % interval."""
    return _each(claim, variant, where, axes, lambda r: (f"interval above {LEVEL:g}", r.interval[0] > LEVEL))


def standard_error(*rates: Rate) -> float:
    """Of a difference of rates, each estimated with half a count added so that it is never 0."""
    return _difference_error([(rate.rate, rate.repeats) for rate in rates])


def _difference_error(rates: Sequence[tuple[float, int]]) -> float:
    """The same for rates and their numbers of repeats."""
    shares = [((rate * n + 0.5) / (n + 1.0), n) for rate, n in rates]
    return math.sqrt(math.fsum(p * (1.0 - p) / n for p, n in shares))


def monotone(
    claim: str,
    axis: str,
    values: Sequence[Any],
    *,
    falling: bool = False,
    variant: str = "published",
    axes: Mapping[str, Sequence[Any]] | None = None,
    **where: Any,
) -> Expectation:
    """Rates that rise (or fall) along an axis, up to two standard errors at each step."""

    def findings(results: Results) -> Iterator[Finding]:
        for cell in _points(where, axes or {}):
            rates = [results.rates.one(**{**cell, axis: value}) for value in values]
            for before, after, value in zip(rates[:-1], rates[1:], values[1:], strict=True):
                gain = (before.rate - after.rate) if falling else (after.rate - before.rate)
                word = "≤" if falling else "≥"
                holds = gain >= -2.0 * standard_error(before, after)
                yield _finding(after, {**cell, axis: value}, f"{word} {before.rate:.3f} before it (2 s.e.)", holds)

    return Expectation(claim, findings, variant)


def agree(
    claim: str,
    first: Where,
    second: Where,
    *,
    axes: Mapping[str, Sequence[Any]],
    errors: float = 3.0,
    least: bool = False,
    variant: str = "published",
) -> Expectation:
    """Two tests that reject equally often within sampling error; with ``least``, the second no less often."""

    def findings(results: Results) -> Iterator[Finding]:
        for cell in _points({}, axes):
            a, b = results.rates.one(**{**first, **cell}), results.rates.one(**{**second, **cell})
            room = errors * standard_error(a, b)
            holds = b.rate >= a.rate - room if least else abs(a.rate - b.rate) <= room
            word = "≥" if least else "≈"
            yield _finding(b, {**second, **cell}, f"{word} {a.rate:.3f} ({describe({**first})}) ± {room:.3f}", holds)

    return Expectation(claim, findings, variant)


def number(
    claim: str,
    label: str,
    expected: float,
    measure: Callable[[Results], float],
    tolerance: float,
    variant: str = "published",
) -> Expectation:
    """A number, not a rate, within a tolerance."""

    def findings(results: Results) -> Iterator[Finding]:
        value = measure(results)
        yield Finding(label, f"{expected:g} ± {tolerance:g}", value, abs(value - expected) <= tolerance)

    return Expectation(claim, findings, variant, NUMBER)
