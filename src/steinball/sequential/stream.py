"""What a test and a monitor of a stream share: rows that come in, the path of the wealth, and the file of a state.

The file holds arrays and one text of JSON. Nothing in it can be run.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import steinball.kernels as kernels
import steinball.kernels.base as algebra
import steinball.tilts as tilts
from steinball.arrays import Array, Floats, as_samples, check_kind, is_array
from steinball.files import whole_file
from steinball.kernels.base import Kernel
from steinball.text import Row, card, render
from steinball.tilts.base import Product

SCHEMA = "steinball.sequential/4"

KEPT = 512
"""Points of a path that are kept at most."""

_OWN = {"type": None}  # a kernel or tilt that is not of this library
_BUILT_IN: dict[str, Any] = {
    f"{base.__name__} {name}": kind
    for base, found in ((Kernel, vars(kernels) | vars(algebra)), (tilts.Tilt, {**vars(tilts), "Product": Product}))
    for name, kind in found.items()
    if isinstance(kind, type) and issubclass(kind, base)
}
_NAMES = {kind: name for name, kind in _BUILT_IN.items()}


def as_rows(batch: Any, name: str, dimension: int | None) -> Array:
    """Rows (m, d) of a stream: numbers (m,) are m rows of one column, or one row where ``dimension`` is larger."""
    one = np.isscalar(batch) or (is_array(batch) and batch.ndim == 0)
    rows, shape = as_samples([batch] if one else batch, name, least=0), tuple(np.shape(batch))
    rows = rows.reshape((1, dimension)) if shape == (dimension,) else rows
    if dimension is not None and rows.shape[1] != dimension:
        raise ValueError(f"`{name}` must have {dimension} columns, got shape {shape}.")
    return rows


@dataclass(eq=False)
class WealthPath:
    """A path of log W in bounded memory: at every k-th point, k doubling when too many are held."""

    n: Any = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    log_wealth: Floats = field(default_factory=lambda: np.empty(0))
    state: ClassVar = ("n", "log_wealth")

    def add(self, first: int, path: Floats) -> None:
        """log W after the points ``first``, ``first`` + 1, …"""
        n, log_wealth = np.append(self.n, first + np.arange(path.size)), np.append(self.log_wealth, path)
        every = int(n[0]) if n.size else 1  # the first point that is held is the k-th
        while np.count_nonzero(n % every == 0) > KEPT:
            every *= 2
        self.n, self.log_wealth = n[n % every == 0], log_wealth[n % every == 0]


class Stream:
    """What is shown of a stream: a title, a table and a sentence, and the path of the wealth."""

    title: ClassVar[str]
    _path: WealthPath

    def _summarized(self) -> tuple[str, list[Row], str]:
        """The decision in a word, the table, and a sentence that begins with the word."""
        raise NotImplementedError

    @property
    def history(self) -> tuple[Any, Floats]:
        """Numbers of rows and the logarithm of the wealth there, at most 512 of them, evenly spaced."""
        return self._path.n.copy(), self._path.log_wealth.copy()

    def summary(self) -> str:
        """The state for people: a table, and the decision in words."""
        _, rows, sentence = self._summarized()
        return render(self.title, rows, sentence)

    def _repr_html_(self) -> str:
        word, rows, sentence = self._summarized()
        return card(word, self.title, sentence.removeprefix(word).strip(), rows)


def _described(part: Any) -> Any:
    """What JSON does not know: built-in kernels and tilts by name and fields; those of a user are left open."""
    if type(part) in _NAMES:
        return {"type": _NAMES[type(part)], **{f.name: vars(part)[f.name] for f in fields(part)}}
    return part.tolist() if isinstance(part, np.ndarray) else _OWN


def recall(described: Any, given: Any, name: str) -> Any:
    """A kernel, tilt or number of a file: built again, or ``given`` again where it was the user's own."""
    text = json.dumps(described)
    if json.dumps(_OWN) not in text:
        return json.loads(text, object_hook=_built)
    if given is None:
        raise ValueError(f"the test was saved with a `{name}` that is not of this library: pass it to `load` again.")
    return given


def _built(described: dict[str, Any]) -> Any:
    """The kernel or tilt that :func:`_described` described."""
    if described.get("type") not in _BUILT_IN:
        raise ValueError(f"the file describes no built-in kernel or tilt: {described!r}.")
    return _BUILT_IN[described.pop("type")](**described)


def write(path: Any, kind: str, facts: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """The file of a ``kind`` of state, whole or not at all, with a digest of all that it holds."""
    content = {**arrays, "facts": np.array(json.dumps({"schema": SCHEMA, "kind": kind, **facts}, default=_described))}
    with whole_file(path) as file:
        np.savez(file, digest=np.array(_digest(content)), **content)


def read(path: Any, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The facts and arrays of a file, if they are those that were written; anything pickled in it is refused."""
    check_kind(path, (str, os.PathLike), "path", "the name of a file")
    with Path(path).open("rb") as file:
        try:
            arrays = dict(np.load(file, allow_pickle=False))
            facts = json.loads(str(arrays.get("facts", "{}")))
            saved = (facts.get("schema"), facts.get("kind"), str(arrays.pop("digest", None)))
            if saved != (SCHEMA, kind, _digest(arrays)):
                raise ValueError(f"its schema is not `{SCHEMA}`, its kind is another, or it was changed")
        except Exception as error:  # an archive that is broken ends in errors of many kinds
            raise ValueError(f"`{path}` is not a saved {kind}, or is truncated: {error}.") from error
    return facts, arrays


def _digest(arrays: Mapping[str, Any]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        value = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {value.dtype.str} {np.shape(arrays[name])} ".encode() + value.tobytes())
    return digest.hexdigest()


def collect(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes that each part names in its ``state``, as arrays by name."""
    return {f"{prefix}.{name}": np.asarray(vars(part)[name]) for prefix, part in parts.items() for name in part.state}


def fill(parts: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Give each part back what :func:`collect` took from it."""
    for prefix, part in parts.items():
        found = {name: arrays[f"{prefix}.{name}"] for name in part.state}
        vars(part).update({name: value if value.ndim else value.item() for name, value in found.items()})


def compare(found: Floats, saved: Floats, what: str, close: float = 1e-6) -> None:
    """Refuse what gives other values than the saved ones."""
    size = float(np.abs(saved).max(initial=0.0))
    if found.shape != saved.shape or not np.allclose(found, saved, rtol=1e-5, atol=close * size):
        raise ValueError(f"{what} is not the one that the file was saved with: values at saved rows differ.")
