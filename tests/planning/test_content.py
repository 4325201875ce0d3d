from __future__ import annotations

import threading
from functools import partial
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.planning.content import fingerprint

pytestmark = pytest.mark.exact

SHIFT = 1.0


class Mine:
    def __init__(self, mean: float) -> None:
        self.mean = mean

    def sample(self, n: int, rng: Any) -> Any:
        return rng.normal(self.mean + SHIFT, size=n)


def shifted(by: float) -> Any:
    return lambda n, rng: rng.normal(by, size=n)


def recursive(n: int) -> int:
    return 1 if n == 0 else n * recursive(n - 1)


@pytest.mark.parametrize(
    "make",
    [
        lambda v: sb.models.Gaussian(v, sd=2.0),
        lambda v: sb.models.GaussianMixture([0.5, 0.5], [v, 6.0]),
        Mine,
        shifted,
        lambda v: partial(shifted, v),
        lambda v: np.full(3, v),
        lambda v: sb.from_score(lambda x: v - x),
        lambda v: {"a": [v, (v, None)]},
    ],
    ids=["model", "mixture", "class", "closure", "partial", "array", "wrapped", "containers"],
)
def test_the_same_content_has_the_same_fingerprint_and_another_another(make: Any) -> None:
    first = fingerprint(make(1.0))
    assert first is not None
    assert first == fingerprint(make(1.0))
    assert first != fingerprint(make(1.5))


def test_what_a_function_refers_to_is_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    first = fingerprint(Mine(0.0))
    monkeypatch.setitem(globals(), "SHIFT", 2.0)
    assert fingerprint(Mine(0.0)) != first


def test_another_body_under_the_same_name_is_another_function() -> None:
    bodies = ("return x", "return x + 1")
    prints = []
    for body in bodies:
        names: dict[str, Any] = {"__name__": "__main__"}
        exec(f"def f(x):\n    {body}", names)
        prints.append(fingerprint(names["f"]))
    assert None not in prints
    assert prints[0] != prints[1]


def test_what_refers_to_itself_has_a_fingerprint() -> None:
    assert fingerprint(recursive) == fingerprint(recursive) is not None


def test_what_cannot_be_written_down_has_none() -> None:
    assert fingerprint(threading.Lock()) is None
    assert fingerprint(x for x in "ab") is None
