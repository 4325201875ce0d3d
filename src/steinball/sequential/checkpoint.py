"""A stream's test in a plain file: arrays, and one text of JSON. Nothing in it can be run."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from steinball import kernels
from steinball.arrays import check_kind
from steinball.files import whole_file
from steinball.kernels.base import Kernel, Product, Scaled, Sum
from steinball.tilts import EdgeTilt, PolynomialTilt, Tilt
from steinball.tilts.base import Product as TiltProduct

SCHEMA = "steinball.sequential/2"

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
    """A built-in kernel or tilt as plain values; ``OWN`` for any other, which the user must bring again."""
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
    """The file, whole or not at all, with a digest of all that it holds."""
    content = {**arrays, "facts": np.array(json.dumps({"schema": SCHEMA, **facts}))}
    with whole_file(path) as file:
        np.savez(file, digest=np.array(_digest(content)), **content)


def read(path: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The facts and arrays of a file, if they are those that were written; anything pickled in it is refused."""
    check_kind(path, (str, os.PathLike), "path", "the name of a file")
    with Path(path).open("rb") as file:
        try:
            arrays = _arrays(file)
            facts = json.loads(str(arrays.get("facts", "{}")))
        except Exception as error:  # an archive that is broken ends in errors of many kinds
            raise _not_saved(path, str(error)) from error
    if not isinstance(facts, dict) or facts.get("schema") != SCHEMA:
        raise _not_saved(path, f"its schema is not `{SCHEMA}`")
    if str(arrays.pop("digest", None)) != _digest(arrays):
        raise _not_saved(path, "its content is not the one that was saved")
    return facts, arrays


def _not_saved(path: Any, why: str) -> ValueError:
    return ValueError(f"`{path}` is not a saved SequentialTest, or is truncated: {why}.")


def _arrays(handle: BinaryIO) -> dict[str, Any]:
    file = np.load(handle, allow_pickle=False)
    if not isinstance(file, np.lib.npyio.NpzFile):
        raise ValueError("it holds a bare array")
    return {name: file[name] for name in file.files}


def _digest(arrays: Mapping[str, Any]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        value = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {value.dtype.str} {np.shape(arrays[name])} ".encode())
        digest.update(value.tobytes())
    return digest.hexdigest()
