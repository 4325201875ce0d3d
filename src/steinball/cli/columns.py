"""Which columns of a file are read."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase


def choose_columns(columns: str, names: Sequence[str] | None, width: int) -> list[int]:
    """Positions (from 0) of the columns that the text ``columns`` names: names, positions from 1, ranges, patterns.

    A range ``2-4``, or ``x-z`` of names, holds both ends; a pattern ``emb_*`` all names that it fits. A column of
    exactly that name comes first.

    Examples
    --------
    >>> choose_columns("y,1", ["x", "y"], 2)
    [1, 0]
    >>> choose_columns("id,emb_*", ["id", "emb_0", "emb_1"], 3)
    [0, 1, 2]
    >>> choose_columns("2-4", None, 9)
    [1, 2, 3]
    """
    chosen = [k for wanted in columns.split(",") for k in _columns(wanted.strip(), names, width)]
    for position in (k for k in chosen if chosen.count(k) > 1):
        raise ValueError(f"`--columns {columns}` names column {position + 1} twice.")
    return chosen


def _columns(wanted: str, names: Sequence[str] | None, width: int) -> list[int]:
    """The columns of one part of the text."""
    if names is not None and wanted in names:
        return [_column(wanted, names, width)]
    for cut in (k for k, character in enumerate(wanted) if character == "-" and 0 < k < len(wanted) - 1):
        ends = wanted[:cut].strip(), wanted[cut + 1 :].strip()
        if all(_is_column(end, names, width) for end in ends):
            first, last = (_column(end, names, width) for end in ends)
            if first > last:
                raise ValueError(f"`--columns`: `{wanted}` runs backward; write the earlier column first.")
            return list(range(first, last + 1))
    if names is not None and set(wanted) & set("*?["):
        if found := [k for k, name in enumerate(names) if fnmatchcase(name, wanted)]:
            return found
        raise ValueError(f"`--columns`: no column fits `{wanted}`; the columns {_called(names)}.")
    return [_column(wanted, names, width)]


def _is_column(wanted: str, names: Sequence[str] | None, width: int) -> bool:
    return (names is not None and wanted in names) or (wanted.isdecimal() and 1 <= int(wanted) <= width)


def _column(wanted: str, names: Sequence[str] | None, width: int) -> int:
    if names is not None and wanted in names:
        if list(names).count(wanted) > 1:
            raise ValueError(f"`--columns`: several columns are called `{wanted}`; give its position, counted from 1.")
        return list(names).index(wanted)
    if wanted.isdecimal() and 1 <= int(wanted) <= width:
        return int(wanted) - 1
    there = f"are numbered 1 to {width}" if names is None else _called(names)
    meant = "".join(f" Did you mean `{name}`?" for name in get_close_matches(wanted, names or (), 1))
    raise ValueError(f"`--columns`: there is no column `{wanted}`; the columns {there}.{meant}")


def _called(names: Sequence[str]) -> str:
    return "are called " + ", ".join(filter(None, names))
