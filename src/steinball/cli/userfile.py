"""Models in a user's own Python file, named ``file.py:name``."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from steinball.models.knowledge import Knowledge


def python_file(text: str | None) -> str | None:
    """The file part of ``file.py:name``, or None where ``text`` names no Python file.

    Examples
    --------
    >>> python_file("models/mine.py:score"), python_file("gaussian:mean=0")
    ('models/mine.py', None)
    """
    path, _, name = (text or "").rpartition(":")
    if path.endswith(".py"):
        return path
    return name if name.endswith(".py") else None


def load_model(text: str) -> Any:
    """The score function, model or array of scores that ``file.py:name`` is.

    A function counts as a score. One whose name starts with ``log`` is refused, and one that does not return the shape
    of its argument too: it may be a log density, and that has its own option.
    """
    thing = _load(text)
    if isinstance(thing, type):
        raise TypeError(f"`{text}` is a class; name an instance of it, such as `model = {thing.__name__}(...)`.")
    if Knowledge(thing).has_score or not callable(thing):
        return thing
    if text.rpartition(":")[2].startswith("log"):
        raise ValueError(
            f"`{text}` sounds like a log density; pass it with `--log-density`, or rename it if it is a score."
        )
    return _with_checked_shape(thing, text)


def load_log_density(text: str) -> Callable[[Any], Any]:
    """The function that ``file.py:name`` is, to be differentiated."""
    thing = _load(text)
    if isinstance(thing, type) or not callable(thing):
        raise TypeError(
            f"`{text}` must be a function from points (n, d) to log densities (n,), got {type(thing).__name__}."
        )
    return thing  # type: ignore[no-any-return]


def _load(text: str) -> Any:
    path, _, name = text.rpartition(":")
    if not path.endswith(".py"):
        raise ValueError(f"`{text}` must have the form FILE.py:NAME.")
    module = _import(Path(path))
    if not hasattr(module, name):
        there = ", ".join(key for key in vars(module) if not key.startswith("_"))
        raise ValueError(f"`{path}` has no `{name}`; it has {there or 'nothing'}.")
    return getattr(module, name)


def _import(path: Path) -> ModuleType:
    if not path.is_file():
        raise ValueError(f"there is no file `{path}`.")
    spec = importlib.util.spec_from_file_location(f"_steinball_user_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)  # it may import its neighbors, as a script does
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
        sys.path.append(folder)  # a neighbor called random.py must not take the place of Python's own in what we import
    return module


def _with_checked_shape(score: Callable[[Any], Any], text: str) -> Callable[[Any], Any]:
    """In one dimension scores (n,) and log densities (n,) look alike: only (n, d) is beyond doubt."""

    def checked(x: Any) -> Any:
        scores = score(x)
        if np.shape(scores) != x.shape:
            raise ValueError(
                f"`{text}` must return scores of the shape of its argument, {x.shape}, got {np.shape(scores)}; "
                "a log density is passed with `--log-density`."
            )
        return scores

    return checked
