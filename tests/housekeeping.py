"""Memory of a long series of tests: what it would keep is given back, and its peaks are measured on request."""

from __future__ import annotations

import ctypes
import gc
import os
import re
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

FROM, STEP = 1_200_000_000, 200_000_000
"""Resident bytes from which on memory is given back, and the growth after which it is again: each program that JAX
compiles takes some 60 MB, which neither JAX nor malloc returns by itself, and dropping them costs half a second."""

WORTH_A_LINE = 100_000_000
"""Bytes by which a module must raise the peak of its worker to be named."""


class Housekeeper:
    """Gives memory back when a process has become larger than it was after the last time.

    Examples
    --------
    >>> Housekeeper(10**15).tidy()
    False
    """

    def __init__(self, threshold: int = FROM) -> None:
        self.threshold = threshold

    def tidy(self) -> bool:
        """Give memory back where more than the threshold is resident; the next one lies above what is left."""
        if resident() <= self.threshold:
            return False
        give_back()
        self.threshold = max(self.threshold, resident() + STEP)
        return True


def give_back() -> None:
    """Drop what JAX has compiled, and return free pages to the system."""
    if (jax := sys.modules.get("jax")) is not None:
        jax.clear_caches()
    gc.collect()
    with suppress(AttributeError, OSError):  # the library of C of other systems
        ctypes.CDLL(None).malloc_trim(0)


def resident() -> int:
    """Bytes of this process in memory; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096
    except OSError:
        return 0


def peak() -> int:
    """The largest number of bytes of this process that have been in memory; 0 where the system does not tell."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    except OSError:
        return 0
    return 0 if found is None else 1024 * int(found[1])


class Meter:
    """A plugin that appends to a file the peak of each worker, and which modules raised it by more than 100 MB.

    Installed by ``tests/conftest.py`` where the variable ``STEINBALL_MEMORY`` names a file.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._worker = path, os.environ.get("PYTEST_XDIST_WORKER", "main")
        self._before, self._raised = peak(), Counter[str]()

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """Count by how much a test has raised the peak."""
        now = peak()
        self._raised[item.nodeid.partition("::")[0]] += now - self._before
        self._before = now

    def pytest_sessionfinish(self) -> None:
        """Write what was found."""
        lines = [f"{self._worker} peak {peak() / 1e6:.0f} MB"]
        for module, growth in self._raised.most_common():
            if growth > WORTH_A_LINE:
                lines.append(f"{self._worker} {module} +{growth / 1e6:.0f} MB")
        with self._path.open("a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
