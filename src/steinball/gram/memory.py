"""How much memory there is, and what a limit on it means."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from array_api_compat import is_cupy_array, is_torch_array

from steinball.arrays import Array, MemoryLimitError

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
    return free_on_host()


def free_on_host(root: Path = Path("/")) -> int:
    """Bytes that this process may still take: the least of what the machine, its control groups and its limits leave.

    ``root`` is where the system's files are looked for.
    """
    return max(0, min([_free_on_machine(root), *_free_in_groups(root), *_free_by_limits(root)]))


def _free_on_machine(root: Path) -> int:
    for line in _lines(root / "proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    pages = os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    return int(pages * os.sysconf("SC_PAGE_SIZE") // 2) if pages > 0 else 4 * 10**9


# Where the files of control groups lie, and what they call the limits, what is used, and what of it are files that can
# be dropped: version 1, whose line has a name, and version 2.
_GROUPS = {
    "memory": ("memory", ("memory.limit_in_bytes",), "memory.usage_in_bytes", "total_inactive_file"),
    "": ("", ("memory.max", "memory.high"), "memory.current", "inactive_file"),
}


def _free_in_groups(root: Path) -> Iterator[int]:
    """What every control group with a limit leaves, from that of this process up to the root."""
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        for controller in set(controllers.split(",")) & set(_GROUPS):
            place, limits, used, droppable = _GROUPS[controller]
            top = root / "sys/fs/cgroup" / place
            group = top / path.strip("/")  # in a container the path may be the host's, which is not there
            for folder in (group, *group.parents[: len(group.parts) - len(top.parts)]):
                taken = _number(folder / used) - _number(folder / "memory.stat", droppable)
                yield from (int(limit - taken) for limit in (_number(folder / name) for name in limits) if limit)


def _free_by_limits(root: Path) -> Iterator[int]:
    """What the limits of this process on its address space and its data leave."""
    try:
        import resource
    except ImportError:  # Windows
        return
    pages = (_lines(root / "proc/self/statm") or ["0 0 0 0 0 0"])[0].split()
    for limit, used in ((resource.RLIMIT_AS, pages[0]), (resource.RLIMIT_DATA, pages[5])):
        soft, _ = resource.getrlimit(limit)
        if soft != resource.RLIM_INFINITY:
            yield soft - int(used) * resource.getpagesize()


def _lines(path: Path) -> list[str]:
    """The lines of a file of the system; none where it is not there or not for us."""
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _number(path: Path, name: str = "") -> int:
    """The number in a file, or beside ``name`` in it; 0 where there is none, as in ``max``."""
    words = (line.split() for line in _lines(path))
    found = (line[-1] for line in words if line[:-1] == name.split())
    return next((int(text) for text in found if text.isdecimal()), 0)


def check_room(size: int, name: str) -> None:
    """Refuse what takes more bytes than are free on the host."""
    free = free_on_host()
    if size > free:
        raise MemoryLimitError(f"`{name}` needs {in_words(size)}, but {in_words(free)} are free. Ask for fewer.")


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
