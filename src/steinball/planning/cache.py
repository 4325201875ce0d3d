"""p-values that were simulated before: in memory, and in a file where one is named."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from steinball.arrays import check_kind
from steinball.files import write_whole

__all__ = ["Cache"]

SCHEMA = "steinball.planning/1"
_MOST = 2_000

_memory: dict[str, list[float]] = {}


class Cache:
    """The p-values of simulated samples by the fingerprint of what was simulated; the longest run is kept.

    Parameters
    ----------
    path : path, optional
        A JSON file that outlives the process. It is read once, and written as a whole.

    Examples
    --------
    >>> cache = Cache()
    >>> cache.keep("a test of this page", [0.2, 0.5])
    >>> cache.known("a test of this page"), cache.known(None)
    ([0.2, 0.5], [])
    """

    def __init__(self, path: Any = None) -> None:
        self._path = None if path is None else Path(check_kind(path, (str, os.PathLike), "cache", "a path"))
        self._stored = self._read()

    def known(self, key: str | None) -> list[float]:
        """What is known of ``key``; nothing of ``None``."""
        return [] if key is None else max(_memory.get(key, []), self._stored.get(key, []), key=len).copy()

    def keep(self, key: str | None, pvalues: list[float]) -> None:
        """Keep p-values, unless more of them are known."""
        if key is None or len(pvalues) <= len(self.known(key)):
            return
        _memory.pop(key, None)
        _memory[key] = list(pvalues)
        if len(_memory) > _MOST:
            del _memory[next(iter(_memory))]
        if self._path is not None:
            self._stored = self._read() | {key: list(pvalues)}  # another process may have written meanwhile
            write_whole(self._path, json.dumps({"schema": SCHEMA, "pvalues": self._stored}).encode())

    def _read(self) -> dict[str, list[float]]:
        if self._path is None or not self._path.exists():
            return {}
        try:
            told = json.loads(self._path.read_text(encoding="utf-8"))
            if told["schema"] != SCHEMA:
                raise ValueError
            return {str(key): [float(p) for p in values] for key, values in told["pvalues"].items()}
        except (ValueError, TypeError, KeyError, AttributeError):
            raise ValueError(
                f"`cache`: {str(self._path)!r} is not a cache of simulated p-values. Name another file, or delete it."
            ) from None
