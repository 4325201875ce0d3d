"""What is remembered of a call, so that somebody else can repeat it: its text, its seed, its warnings, the versions."""

from __future__ import annotations

import functools
import inspect
import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module, metadata
from typing import Any, ParamSpec, TypeVar

import numpy as np

from steinball.frames import column_names
from steinball.text import describe

P = ParamSpec("P")
R = TypeVar("R")

_LONGEST = 200


@dataclass(frozen=True)
class Record:
    """One call of a test.

    Attributes
    ----------
    call : str
        As one would write it; arrays by their shape, defaults left out.
    warnings : tuple of str
        What was said without stopping.
    names : tuple of str
        What the tested frame or file calls its columns; empty for an array.

    Examples
    --------
    >>> Record("ksd_test(x, model)").warnings
    ()
    """

    call: str = ""
    warnings: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def columns(self, dimension: int) -> dict[str, list[str]]:
        """What the details of a result say of its columns: their names, where all of them have one."""
        return {"columns": list(self.names)} if len(self.names) == dimension else {}

    def warned(self, texts: Iterable[str]) -> Record:
        """The same record with further warnings, each once."""
        return replace(self, warnings=tuple(dict.fromkeys((*self.warnings, *texts))))


def recorded(test: Callable[P, R]) -> Callable[P, R]:
    """A test whose results remember how it was called and what the tested frame calls its columns.

    Where no ``rng`` was given the test gets a fresh number, so that it can be said which.
    """
    names = list(inspect.signature(test).parameters)

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        if "rng" in names and kwargs.get("rng") is None:
            kwargs["rng"] = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
        result: Any = test(*args, **kwargs)
        given = dict(zip(names, args, strict=False)) | {name: kwargs[name] for name in names if name in kwargs}
        words = [_value(v) if name in names[:2] else f"{name}={_value(v)}" for name, v in given.items()]
        called: R = result._called(f"steinball.{test.__name__}({', '.join(words)})", _names(given[names[0]]))
        return called

    return run


def _names(data: Any) -> tuple[str, ...]:
    """What the columns of the tested frame are called."""
    try:
        return tuple(column_names(data) or ())
    except Exception:  # columns that were not tested may hold anything
        return ()


def _value(value: Any) -> str:
    """An argument as one would write it; an array by its shape."""
    if isinstance(value, str | int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name!r}: {_value(own)}' for name, own in value.items())}}}"
    if isinstance(value, tuple) and len(value) == 2:
        return f"({_value(value[0])}, {_value(value[1])})"
    try:
        shape = np.shape(value)
        text = f"<{' × '.join(map(str, shape))} numbers>" if shape else describe(value)
    except Exception:  # a user's object may refuse to have a shape, and to be described
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def versions() -> dict[str, str]:
    """The versions of Python, of this library and of the libraries that it computes with.

    Examples
    --------
    >>> list(versions())
    ['steinball', 'Python', 'numpy', 'scipy']
    """
    ours = import_module(__name__.partition(".")[0]).__version__
    found = {name: metadata.version(name) for name in ("numpy", "scipy")}
    return {"steinball": ours, "Python": platform.python_version(), **found}
