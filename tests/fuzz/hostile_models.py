"""Models that raise, mutate, answer in another shape or library, or with NaN once."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from tests.fuzz.values import DeliberateError, Floats, Rng, Value, scalar


def plain_score(x: Any) -> Any:
    """The score that all of them have, or mean to have."""
    return -x


def _mutates(x: Any) -> Any:
    x *= -1.0
    return x


def _raises(*given: Any) -> Any:
    raise DeliberateError("the model fails")


def _in_torch(x: Any) -> Any:
    return import_module("torch").tensor(-np.asarray(x))


class _Once:
    """Something odd on one call, the right answer on all others."""

    def __init__(self, call: int, odd: Callable[[Any], Any]) -> None:
        self.call, self.odd, self.calls = call, odd, 0

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        return self.odd(x) if self.calls == self.call else -x


class Declares:
    """A right score, with attributes that are whatever was asked for."""

    def __init__(self, **said: Any) -> None:
        vars(self).update(said)

    def score(self, x: Any) -> Any:
        return -x


class Refuses:
    """A right score; every other attribute raises."""

    def score(self, x: Any) -> Any:
        return -x

    def __getattr__(self, name: str) -> Any:
        raise DeliberateError(name)


def _nan_of(x: Any) -> Any:
    return -x * math.nan


# Models whose scores are right, whatever else they do.
RIGHT: dict[str, Callable[[], Any]] = {
    "mutates": lambda: _mutates,
    "views": lambda: lambda x: (-x)[::-1][::-1],
    "Fortran": lambda: lambda x: np.asfortranarray(-x) if isinstance(x, np.ndarray) else -x,
    "raises once": lambda: _Once(1, _raises),
    "declares NaN": lambda: Declares(location=[math.nan], covariance=[[math.nan]], growth=math.nan),
    "declares texts": lambda: Declares(location="here", covariance="wide", dimension="3", growth="fast"),
    "declares shapes": lambda: Declares(location=np.zeros((3, 3)), covariance=np.zeros(5), evaluable=None),
    "declares support": lambda: Declares(support=(None, None)),
    "samples NaN": lambda: Declares(sample=lambda n, rng: np.full((n, 1), math.nan)),
    "samples texts": lambda: Declares(sample=lambda n, rng: "no"),
    "samples too few": lambda: Declares(sample=lambda n, rng: rng.normal(size=(1, 1))),
    "sampler raises": lambda: Declares(sample=_raises),
    "density raises": lambda: Declares(log_density=_raises),
    "density of one number": lambda: Declares(log_density=lambda x: 1.0),
    "refuses attributes": Refuses,
}

# Models with no usable score at the samples.
WRONG: dict[str, Callable[[], Any]] = {
    "raises": lambda: _raises,
    "NaN": lambda: _nan_of,
    "one NaN": lambda: lambda x: np.where(np.arange(len(x))[:, None] == 0, math.nan, -x),
    "infinite": lambda: lambda x: -x * math.inf,
    "None": lambda: lambda x: None,
    "one number": lambda: lambda x: 1.0,
    "too wide": lambda: lambda x: np.ones((len(x), x.shape[1] + 1)),
    "too short": lambda: lambda x: -x[1:],
    "empty": lambda: lambda x: x[:0],
    "three axes": lambda: lambda x: -x[:, :, None, None],
    "texts": lambda: lambda x: np.full(x.shape, "a"),
    "complex": lambda: lambda x: np.full(x.shape, 1j),
    "masked": lambda: lambda x: np.ma.masked_array(np.zeros(x.shape), mask=np.ones(x.shape, dtype=bool)),
    "dates": lambda: lambda x: np.zeros(x.shape, dtype="datetime64[D]"),
    "no arguments": lambda: lambda: 0.0,
    "torch": lambda: _in_torch,
    "class": lambda: Declares,
    "score is no method": lambda: type("Odd", (), {"score": 3.0})(),
}

# Models that say something of themselves which may or may not be used.
ODD: dict[str, Callable[[], Any]] = {
    "growth of NaN": lambda: Declares(score_growth=lambda center: (math.nan, 1.0)),
    "growth of texts": lambda: Declares(score_growth=lambda center: ("a", "b")),
    "negative growth": lambda: Declares(score_growth=lambda center: (-1.0, 0.0)),
    "growth too small": lambda: Declares(score_growth=lambda center: (0.0, 1e-9)),
    "support of texts": lambda: Declares(support=("a", "b")),
    "support turned": lambda: Declares(support=(1.0, 0.0)),
    "support of NaN": lambda: Declares(support=(math.nan, 1.0)),
    "support of many": lambda: Declares(support=[(0, 1)] * 7),
    "NaN once": lambda: _Once(2, _nan_of),
    "another shape once": lambda: _Once(2, lambda x: x[:1]),
    "raises later": lambda: _Once(3, _raises),
    "bounds of NaN": lambda: Declares(score_bounds=lambda lo, hi: (lo * math.nan, hi * math.nan)),
}


def hostile_model(rng: Rng, x: Floats) -> Value:
    """Instead of a model of the samples ``x``."""
    kind = rng.random()
    if kind < 0.35:
        return _of(RIGHT, rng, plain=plain_score)
    if kind < 0.65:
        chosen = _of(WRONG, rng, bad=True)
        return _of(RIGHT, rng, plain=plain_score) if chosen.label == "torch" and not find_spec("torch") else chosen
    if kind < 0.85:
        return _of(ODD, rng, plain=plain_score)
    if kind < 0.92:
        return Value("scores", -x, plain=plain_score)
    return scalar(rng)


def _of(table: dict[str, Callable[[], Any]], rng: Rng, **meaning: Any) -> Value:
    label = str(rng.choice(list(table)))
    return Value(f"model: {label}", table[label](), **meaning)
