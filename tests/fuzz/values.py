"""Hostile values of every kind, each with what it means in plain float64 where it means anything."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rng = np.random.Generator


@dataclass(frozen=True, eq=False)
class Value:
    """Something to pass, ``plain`` what it means as float64, and whether every sensible library must refuse it."""

    label: str
    value: Any
    plain: Any = None
    bad: bool = False


class DeliberateError(Exception):
    """Raised by objects and models of ours: it may pass through the library as it is."""


class Awkward:
    """An object that fails wherever it is asked something."""

    def __repr__(self) -> str:
        return "Awkward()"

    def __bool__(self) -> bool:
        raise DeliberateError("the truth of an awkward object is not known")

    def __eq__(self, other: object) -> bool:
        raise DeliberateError("awkward objects do not compare")

    def __hash__(self) -> int:
        return 0


SCALARS: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    "False": lambda: False,
    "zero": lambda: 0,
    "minus one": lambda: -1,
    "one": lambda: 1,
    "half": lambda: 0.5,
    "minus half": lambda: -0.5,
    "seven": lambda: 7,
    "2**31": lambda: 2**31,
    "10**12": lambda: 10**12,
    "10**30": lambda: 10**30,
    "10**400": lambda: 10**400,
    "NaN": lambda: math.nan,
    "infinity": lambda: math.inf,
    "minus infinity": lambda: -math.inf,
    "subnormal": lambda: 5e-324,
    "1e-155": lambda: 1e-155,
    "1e-30": lambda: 1e-30,
    "1e155": lambda: 1e155,
    "1e308": lambda: 1e308,
    "minus zero": lambda: -0.0,
    "complex": lambda: 1j,
    "fraction": lambda: Fraction(1, 3),
    "decimal": lambda: Decimal("0.1"),
    "float32": lambda: np.float32(0.25),
    "int8": lambda: np.int8(3),
    "bool_": lambda: np.bool_(True),
    "longdouble": lambda: np.longdouble("0.3"),
    "0-d": lambda: np.array(0.5),
    "date": lambda: np.datetime64("2020-01-01"),
    "text": lambda: "auto ",
    "empty text": lambda: "",
    "number as text": lambda: "0.5",
    "bytes": lambda: b"0.5",
    "list": lambda: [1.0, 2.0],
    "empty list": lambda: [],
    "ragged": lambda: [[1.0], [1.0, 2.0]],
    "tuple": lambda: (0.0, 1.0),
    "dict": lambda: {"a": 1.0},
    "set": lambda: {1.0},
    "object": object,
    "awkward": Awkward,
    "class": lambda: dict,
    "function": lambda: lambda *a, **k: None,
    "module": lambda: math,
    "generator": lambda: (k for k in range(3)),
    "Ellipsis": lambda: ...,
}


def scalar(rng: Rng) -> Value:
    """One of the things that are no array."""
    label = str(rng.choice(list(SCALARS)))
    return Value(label, SCALARS[label]())


def _with_first(x: Floats, value: float) -> Floats:
    y = x.copy()
    y.flat[0] = value
    return y


def _masked(x: Floats) -> Any:
    mask = np.zeros(x.shape, dtype=bool)
    mask.flat[1] = True
    return np.ma.masked_array(x, mask=mask)


def _structured(x: Floats) -> Any:
    return np.array([(row[0],) for row in x], dtype=[("a", float)])


def _matrix(x: Floats) -> Any:
    with warnings.catch_warnings():  # NumPy would rather have no matrices, but users have them
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.asmatrix(x)


# Arrays that mean something: a function of x, and what it means (x itself unless said).
GOOD_ARRAYS: dict[str, Callable[[Floats], tuple[Any, Floats]]] = {
    "plain": lambda x: (x.copy(), x),
    "read-only": lambda x: (_frozen(x), x),
    "Fortran": lambda x: (np.asfortranarray(x), x),
    "strided": lambda x: (np.repeat(x, 2, axis=0)[::2], x),
    "reversed": lambda x: (x[::-1], x[::-1]),
    "big-endian": lambda x: (x.astype(">f8"), x),
    "float32": lambda x: (x.astype(np.float32), x.astype(np.float32).astype(float)),
    "float16": lambda x: (x.astype(np.float16), x.astype(np.float16).astype(float)),
    "integers": lambda x: (np.round(10 * x).astype(np.int32), np.round(10 * x)),
    "uint8": lambda x: (np.round(10 * np.abs(x)).astype(np.uint8), np.round(10 * np.abs(x))),
    "nested list": lambda x: (x.tolist(), x),
    "unmasked": lambda x: (np.ma.masked_array(x), x),
    "matrix": lambda x: (_matrix(x), x),
    "one column flat": lambda x: (x[:, 0].copy(), x[:, :1]),
    "shifted": lambda x: (x + 1e6, x + 1e6),
    "small": lambda x: (1e-6 * x, 1e-6 * x),
    "subnormal": lambda x: (x * 1e-310, x * 1e-310),
    "large": lambda x: (1e20 * x, 1e20 * x),
    "huge": lambda x: (1e160 * x, 1e160 * x),
    "one huge": lambda x: (_with_first(x, 1e200), _with_first(x, 1e200)),
    "constant": lambda x: (np.ones_like(x), np.ones_like(x)),
    "doubled": lambda x: (np.concatenate([x, x]), np.concatenate([x, x])),
    "two rows": lambda x: (x[:2], x[:2]),
    "sorted": lambda x: (np.sort(x, axis=0), np.sort(x, axis=0)),
}

BAD_ARRAYS: dict[str, Callable[[Floats], Any]] = {
    "NaN inside": lambda x: _with_first(x, math.nan),
    "infinity inside": lambda x: _with_first(x, math.inf),
    "masked": _masked,
    "complex": lambda x: x + 1j,
    "dates": lambda x: np.zeros(x.shape, dtype="datetime64[D]"),
    "spans": lambda x: np.zeros(x.shape, dtype="timedelta64[s]"),
    "booleans": lambda x: x > 0,
    "texts": lambda x: x.astype(str),
    "objects": lambda x: x.astype(object),
    "structured": _structured,
    "no rows": lambda x: x[:0],
    "no columns": lambda x: x[:, :0],
    "three axes": lambda x: x[:, :, None],
    "longdouble": lambda x: x.astype(np.longdouble),
    "ragged": lambda x: [[1.0, 2.0], [1.0]],
    "with None": lambda x: [[None], *x[1:, :1].tolist()],
}


def _frozen(x: Floats) -> Floats:
    y = x.copy()
    y.flags.writeable = False
    return y


def _library(name: str) -> Any:
    return import_module(name)


FRAMES: dict[str, tuple[str, Callable[[Any, Floats], Any], bool]] = {
    "torch": ("torch", lambda torch, x: torch.tensor(x), False),
    "torch with graph": ("torch", lambda torch, x: torch.tensor(x, requires_grad=True), False),
    "torch of booleans": ("torch", lambda torch, x: torch.tensor(x > 0), True),
    "torch sparse": ("torch", lambda torch, x: torch.tensor(x).to_sparse(), True),
    "jax": ("jax", lambda jax, x: jax.numpy.asarray(x), False),
    "strict": ("array_api_strict", lambda strict, x: strict.asarray(x), False),
    "pandas": ("pandas", lambda pd, x: pd.DataFrame(x), False),
    "pandas with nulls": ("pandas", lambda pd, x: pd.DataFrame(_with_first(x, math.nan)), True),
    "pandas Int64 with NA": (
        "pandas",
        lambda pd, x: pd.DataFrame({"a": pd.array([None, *range(1, len(x))], dtype="Int64")}),
        True,
    ),
    "pandas of texts": ("pandas", lambda pd, x: pd.DataFrame({"a": ["b"] * len(x)}), True),
    "pandas categories": ("pandas", lambda pd, x: pd.DataFrame({"a": pd.Categorical(["b"] * len(x))}), True),
    "pandas of no columns": ("pandas", lambda pd, x: pd.DataFrame(index=range(len(x))), True),
    "polars": ("polars", lambda pl, x: pl.DataFrame(x), False),
    "polars with nulls": ("polars", lambda pl, x: pl.DataFrame({"a": [None, *x[1:, 0].tolist()]}), True),
    "polars lazy": ("polars", lambda pl, x: pl.DataFrame(x).lazy(), True),
    "polars of dates": ("polars", lambda pl, x: pl.DataFrame({"a": [None] * len(x)}), True),
    "pyarrow": ("pyarrow", lambda pa, x: pa.table({"a": x[:, 0]}), False),
    "pyarrow with nulls": ("pyarrow", lambda pa, x: pa.table({"a": [None, *x[1:, 0].tolist()]}), True),
}


def good_array(rng: Rng, x: Floats) -> Value:
    """An array in an unusual dress that means something."""
    label = str(rng.choice(list(GOOD_ARRAYS)))
    value, plain = GOOD_ARRAYS[label](x)
    return Value(label, value, np.array(plain, dtype=float))


def framed(rng: Rng, x: Floats) -> Value:
    """A tensor or frame of another library, where that is installed."""
    label = str(rng.choice([key for key, (library, *_) in FRAMES.items() if find_spec(library)]))
    library, make, bad = FRAMES[label]
    if library == "jax":
        _library("jax").config.update("jax_enable_x64", True)
    value = make(_library(library), x)
    plain = x[:, :1] if library == "pyarrow" else x
    return Value(label, value, None if bad else plain.copy(), bad)


def hostile_array(rng: Rng, x: Floats) -> Value:
    """Instead of the samples ``x``."""
    kind = rng.random()
    if kind < 0.35:
        return good_array(rng, x)
    if kind < 0.6:
        return framed(rng, x)
    if kind < 0.9:
        label = str(rng.choice(list(BAD_ARRAYS)))
        return Value(label, BAD_ARRAYS[label](x), bad=True)
    return scalar(rng)
