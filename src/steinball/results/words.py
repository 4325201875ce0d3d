"""The words that tables and sentences of all results share."""

from __future__ import annotations

import math
from typing import Any

from steinball.tau.certificate import is_upper_bound
from steinball.text import number, percent, short

CONTAMINATED = "Contaminated means: does not come from the model."
OF_POINTS = "of these points are contaminated"
OF_DISTRIBUTION = "of the distribution they come from is contaminated"
UNPROVED = "This does not prove the model"


def decided(
    rejected: bool, where: str, tolerated: str, words: tuple[str, str, str] = ("the data", "the model", UNPROVED)
) -> str:
    """The decision in a sentence, and what does not follow from it; ``words`` are subject, object and the latter."""
    subject, target, unproved = words
    if rejected:
        return f"REJECTED {where}: {subject} contradict {target}{', even ' * bool(tolerated)}{tolerated}."
    found = f"NOT REJECTED {where}: {subject} do not contradict {target} {tolerated}".rstrip()
    return f"{found}. {unproved}."


def tolerated(contamination: float | None, radius: float = 0.0) -> str:
    """The tolerance, a share or else a distance, as a part of that sentence; empty where nothing is tolerated."""
    if contamination is None:
        return f"up to a distance of {number(radius)}" if radius > 0 else ""
    return f"if up to {percent(contamination)} of them may be contaminated" if contamination > 0 else ""


def measured(name: str, distance: float, radius: float) -> str:
    """A distance, and what was tolerated of it."""
    return f"{name} {short(distance)}" + f" (tolerated {short(radius)})" * (radius > 0.0)


def unbounded_words(bounded: str) -> str:
    """What cannot be said where u(x, x) is not bounded; empty elsewhere."""
    return "u(x, x) grows without limit, so no share of contamination can be bounded." if bounded == "unbounded" else ""


def whose(tau_kind: str) -> str:
    """What the bound on contamination is about: of these points it holds when τ is at least their largest u(x, x)."""
    if is_upper_bound(tau_kind):
        return OF_DISTRIBUTION
    return f"{OF_POINTS}, if contamination lies within the stated region" if tau_kind == "localized" else OF_POINTS


def plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return {key: plain(part) for key, part in value.items()} if isinstance(value, dict) else repr(value)
