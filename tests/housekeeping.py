"""Memory that a long series of tests would keep: programs that JAX has compiled, and pages that malloc holds back."""

from __future__ import annotations

import ctypes
import gc
import sys
from contextlib import suppress
from pathlib import Path

FROM = 1_200_000_000
"""Resident bytes from which on memory is given back: each program that JAX compiles takes some 60 MB."""


def give_back(threshold: float = FROM) -> bool:
    """Drop what JAX has compiled and return free pages to the system, where more than ``threshold`` bytes are resident.

    Examples
    --------
    >>> give_back(1e15)
    False
    """
    if resident() <= threshold:
        return False
    if (jax := sys.modules.get("jax")) is not None:
        jax.clear_caches()
    gc.collect()
    with suppress(AttributeError, OSError):  # the library of C of other systems
        ctypes.CDLL(None).malloc_trim(0)
    return True


def resident() -> int:
    """Bytes of this process in memory; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096
    except OSError:
        return 0
