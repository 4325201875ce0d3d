"""The state of a test or monitor in a plain file: arrays, and one text of JSON. Nothing in it can be run."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from steinball import kernels, tilts
from steinball.arrays import Floats, check_kind
from steinball.files import whole_file
from steinball.kernels.base import Kernel
from steinball.tilts.base import Product, Tilt

SCHEMA = "steinball.sequential/3"

OWN: dict[str, Any] = {"type": None}
"""A kernel or tilt that is not of this library."""

_BUILT_IN: dict[str, Any] = {
    f"{base.__name__} {name}": kind
    for base, found in ((Kernel, vars(kernels)), (Tilt, {**vars(tilts), "Product": Product}))
    for name, kind in found.items()
    if isinstance(kind, type) and issubclass(kind, base)
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
    return value.tolist() if isinstance(value, np.ndarray) else OWN if callable(value) else value


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
        raise ValueError(f"the test was saved with a `{name}` that is not of this library: pass it to `load` again.")
    return given


def write(path: Any, kind: str, facts: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """The file of a ``kind`` of state, whole or not at all, with a digest of all that it holds."""
    content = {**arrays, "facts": np.array(json.dumps({"schema": SCHEMA, "kind": kind, **facts}))}
    with whole_file(path) as file:
        np.savez(file, digest=np.array(_digest(content)), **content)


def read(path: Any, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The facts and arrays of a file, if they are those that were written; anything pickled in it is refused."""
    check_kind(path, (str, os.PathLike), "path", "the name of a file")
    with Path(path).open("rb") as file:
        try:
            arrays = _arrays(file)
            facts = json.loads(str(arrays.get("facts", "{}")))
            if facts.get("schema") != SCHEMA or facts.get("kind") != kind:
                raise ValueError(f"its schema is not `{SCHEMA}` or its kind is not `{kind}`")
            if str(arrays.pop("digest", None)) != _digest(arrays):
                raise ValueError("its content is not the one that was saved")
        except Exception as error:  # an archive that is broken ends in errors of many kinds
            raise ValueError(f"`{path}` is not a saved {kind}, or is truncated: {error}.") from error
    return facts, arrays


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


def collect(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes that each part names in its ``state``, as arrays by name."""
    return {f"{prefix}.{name}": np.asarray(vars(part)[name]) for prefix, part in parts.items() for name in part.state}


def fill(parts: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Give each part back what :func:`collect` took from it."""
    for prefix, part in parts.items():
        for name in part.state:
            value = arrays[f"{prefix}.{name}"]
            vars(part)[name] = value.item() if value.ndim == 0 else value


def compare(found: Floats, saved: Floats, what: str) -> None:
    """Refuse what gives other values than the saved ones."""
    size = float(np.abs(saved).max(initial=0.0))
    if found.shape != saved.shape or not np.allclose(found, saved, rtol=1e-5, atol=1e-6 * size):
        raise ValueError(f"{what} is not the one that the file was saved with: values at saved rows differ.")
