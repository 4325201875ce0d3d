"""How much memory there is, and what a limit on it means."""

from __future__ import annotations

import math
import os
import re
from typing import Any

from array_api_compat import is_cupy_array, is_torch_array

from steinball.arrays import Array

SHARE_OF_FREE = 0.5
"""Of the memory that is free, how much is used unless a limit is given."""

_UNITS = {"": 1, "b": 1} | {f"{letter}b": 10 ** (3 * k) for k, letter in enumerate("kmgt", 1)}
_UNITS |= {f"{letter}ib": 2 ** (10 * k) for k, letter in enumerate("kmgt", 1)}


def as_bytes(limit: Any) -> int:
    """A number of bytes from a number or a text such as ``"2 GB"``.

    Examples
    --------
    >>> as_bytes("1.5 GB")
    1500000000
    """
    if isinstance(limit, (int, float)) and not isinstance(limit, bool) and 1 <= limit < math.inf:
        return int(limit)
    match = re.fullmatch(r"\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*([kmgt]?i?b?)\s*", str(limit).lower())
    size = int(float(match[1]) * _UNITS[match[2]]) if match is not None and match[2] in _UNITS else 0
    if size < 1:
        raise ValueError(f"`memory_limit` must be a positive number of bytes or a text such as '2 GB', got {limit!r}.")
    return size


def free_memory(samples: Array) -> int:
    """Bytes that are free where ``samples`` live: on the device, or on the host."""
    if is_torch_array(samples) and samples.device.type == "cuda":
        import torch

        return int(torch.cuda.mem_get_info(samples.device)[0])
    if is_cupy_array(samples):
        return int(samples.device.mem_info[0])
    return _free_on_host()


def _free_on_host() -> int:
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    pages = os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    return int(pages * os.sysconf("SC_PAGE_SIZE") // 2) if pages > 0 else 4 * 10**9


def in_words(size: float) -> str:
    """A number of bytes for people.

    Examples
    --------
    >>> in_words(2.5e9)
    '2.5 GB'
    """
    if size < 1000:
        return f"{size:.0f} bytes"
    power = min(4, int(math.log10(size)) // 3)
    return f"{size / 1000.0**power:.1f} {('kB', 'MB', 'GB', 'TB')[power - 1]}"
