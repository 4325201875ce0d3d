"""A stream's test in a plain file: arrays, and one text of JSON. Nothing in it can be run."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from steinball import kernels
from steinball.kernels.base import Kernel, Product, Scaled, Sum
from steinball.tilts import EdgeTilt, PolynomialTilt, Tilt
from steinball.tilts.base import Product as TiltProduct

__all__ = ["describe", "read", "rebuild", "recall", "write"]

SCHEMA = "steinball.sequential/1"

OWN: dict[str, Any] = {"type": None}
"""A kernel or tilt that is not of this library."""

_BUILT_IN: dict[str, Any] = {
    "InverseMultiquadric": kernels.InverseMultiquadric,
    "Gaussian": kernels.Gaussian,
    "Matern": kernels.Matern,
    "Sum": Sum,
    "Product": Product,
    "Scaled": Scaled,
    "PolynomialTilt": PolynomialTilt,
    "EdgeTilt": EdgeTilt,
    "TiltProduct": TiltProduct,
}
_NAMES = {kind: name for name, kind in _BUILT_IN.items()}


def describe(part: Any) -> Any:
    """A built-in kernel or tilt as plain values; ``OWN`` for any other, which the user must bring again.

    Examples
    --------
    >>> describe(kernels.Gaussian(2.0))
    {'type': 'Gaussian', 'lengthscale': 2.0, 'metric': None}
    """
    if type(part) not in _NAMES:
        return OWN
    plain = {name: _plain(value) for name, value in vars(part).items()}
    return OWN if OWN in plain.values() else {"type": _NAMES[type(part)], **plain}


def _plain(value: Any) -> Any:
    if isinstance(value, Kernel | Tilt):
        return describe(value)
    return value.tolist() if isinstance(value, np.ndarray) else value


def rebuild(plain: Any) -> Kernel | Tilt:
    """The kernel or tilt that :func:`describe` described; its type is looked up among the built-in ones."""
    if not isinstance(plain, dict) or plain.get("type") not in _BUILT_IN:
        raise ValueError(f"the file describes no built-in kernel or tilt: {plain!r}.")
    values = {name: rebuild(v) if isinstance(v, dict) else v for name, v in plain.items() if name != "type"}
    return _BUILT_IN[plain["type"]](**values)  # type: ignore[no-any-return]


def recall(described: Any, given: Any, name: str) -> Any:
    """What a test was saved with: rebuilt, or given again where it was the user's own."""
    parts = described if isinstance(described, list) else [described]
    if described is None or isinstance(described, str):
        return described
    if OWN not in parts:
        built = [rebuild(part) for part in parts]
        return built if isinstance(described, list) else built[0]
    if given is None:
        raise ValueError(f"the test was saved with a `{name}` that is not of this library: pass it to `restore` again.")
    return given


def write(path: Any, facts: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """The file, whole or not at all."""
    path = Path(path)
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        np.savez(file, facts=np.array(json.dumps({"schema": SCHEMA, **facts})), **arrays)
    os.replace(part, path)


def read(path: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The facts and arrays of a file; anything pickled in it is refused."""
    try:
        arrays = _arrays(Path(path))
        facts = json.loads(str(arrays.pop("facts", "{}")))
    except (BadZipFile, EOFError, KeyError, ValueError) as error:  # cut off, not an NPZ file, pickled, or no JSON
        raise ValueError(f"`{path}` is not a saved SequentialTest, or is truncated: {error}.") from error
    if not isinstance(facts, dict) or facts.get("schema") != SCHEMA:
        raise ValueError(f"`{path}` is not a saved SequentialTest of this version: its schema is not `{SCHEMA}`.")
    return facts, arrays


def _arrays(path: Path) -> dict[str, Any]:
    with path.open("rb") as handle:  # opened here, so that it is closed whatever NumPy makes of it
        file = np.load(handle, allow_pickle=False)
        if not isinstance(file, np.lib.npyio.NpzFile):
            raise ValueError("it holds a bare array")
        return {name: file[name] for name in file.files}
