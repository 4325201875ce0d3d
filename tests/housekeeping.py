"""Memory that a long series of tests would keep: programs that JAX has compiled, and pages that malloc holds back."""

from __future__ import annotations

import ctypes
import gc
import sys
from contextlib import suppress
from pathlib import Path

FROM, STEP = 1_200_000_000, 200_000_000
"""Resident bytes from which on memory is given back, and the growth after which it is again: each program that JAX
compiles takes some 60 MB, and dropping them costs half a second."""


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
