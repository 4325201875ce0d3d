"""The table of numbers in a file: which of its columns and rows are tested, and how much memory they may take."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.frames import Labels
from steinball.gram.choose import Settings
from steinball.gram.cost import in_words
from steinball.text import count, wrap

_INDEX = re.compile(r"Unnamed: 0(\.\d+)?|__index_level_\d+__")  # what pandas calls an index without a name


@dataclass(frozen=True, eq=False)
class Table:
    """Samples (n, d), the names of their columns where the file has any, and which of its rows they are.

    Examples
    --------
    >>> Table(np.zeros((100, 1))).drawn(10, seed=0).sentence()
    '  A random 10 of the 100 rows were tested (--max-rows 10 --seed 0).'
    """

    samples: NDArray[Any]
    names: tuple[str, ...] = ()
    rows: NDArray[np.intp] | None = None
    dropped: int = 0
    subsample: dict[str, int] | None = None

    def complete(self) -> Table:
        """Without the rows that have a missing value."""
        if self.samples.dtype.kind != "f":
            return self
        kept = ~np.isnan(self.samples).any(axis=1)
        if not kept.any():
            raise ValueError("no row is left: every one has a missing value in the columns that are read.")
        if kept.all():
            return self
        return replace(self, samples=self.samples[kept], rows=np.flatnonzero(kept), dropped=int(np.sum(~kept)))

    def drawn(self, most: int | None, seed: int) -> Table:
        """At most so many rows, drawn at random by a seed, in their order."""
        n = len(self.samples)
        if most is None or n <= most:
            return self
        chosen = np.sort(np.random.default_rng(seed).choice(n, most, replace=False))
        rows = chosen if self.rows is None else self.rows[chosen]
        return replace(self, samples=self.samples[chosen], rows=rows, subsample={"rows": most, "of": n, "seed": seed})

    @property
    def labels(self) -> Labels:
        """The names of the columns, and the numbers of the rows in the file, from 1."""
        names = self.names or tuple(f"x{j + 1}" for j in range(self.samples.shape[1]))
        rows = range(len(self.samples)) if self.rows is None else self.rows.tolist()
        return Labels(names, tuple(f"row {i + 1}" for i in rows))

    def sentence(self) -> str:
        """That not all of the file was tested; empty where all was."""
        told = []
        if self.dropped:
            told.append(f"{count(self.dropped, 'row')} with a missing value left out (--missing drop).")
        if part := self.subsample:
            told.append(
                f"A random {count(part['rows'])} of the {count(part['of'])} rows were tested "
                f"(--max-rows {part['rows']} --seed {part['seed']})."
            )
        return wrap(" ".join(told)) if told else ""

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON; nothing where all rows were tested."""
        told = {"dropped": self.dropped, "subsample": self.subsample}
        return {name: value for name, value in told.items() if value}


@dataclass(frozen=True)
class Budget:
    """How much memory the numbers of a file may take."""

    source: str
    limit: int

    @classmethod
    def of(cls, source: str, memory_limit: int | str | None) -> Budget:
        """By a limit as users give it."""
        return cls(source, Settings(memory_limit=memory_limit).limit(np.empty(0), 2**62))

    def check(self, size: int, share: float = 1.0) -> None:
        """Refuse a file of which the first ``share`` takes ``size`` bytes."""
        if size > share * self.limit:
            raise ValueError(
                f"the numbers of `{self.source}` take about {in_words(size / share)}, but {in_words(self.limit)} of "
                "memory may be used. Read fewer columns with `--columns`, raise `--memory-limit`, or save them as an "
                "NPY file, which is not loaded as a whole."
            )


def choose_columns(
    columns: str | None, names: Sequence[str] | None, width: int, index: Collection[str] = ()
) -> Sequence[int]:
    """Positions (from 0) of the columns that the text ``columns`` names: names, positions from 1, ranges, patterns.

    A range ``2-4``, or ``x-z`` of names, holds both ends; a pattern ``emb_*`` all names that it fits. A column of
    exactly that name comes first. Without a text all columns are chosen, if none is an index of a pandas frame.

    Examples
    --------
    >>> choose_columns("y,1", ["x", "y"], 2)
    [1, 0]
    >>> choose_columns("id,emb_*", ["id", "emb_0", "emb_1"], 3)
    [0, 1, 2]
    >>> choose_columns("2-4", None, 9)
    [1, 2, 3]
    """
    if columns is None:
        _refuse_index(names or (), index)
        return range(width)
    chosen = [k for wanted in columns.split(",") for k in _columns(wanted.strip(), names, width)]
    for position in (k for k, times in Counter(chosen).items() if times > 1):
        raise ValueError(f"`--columns {columns}` names column {position + 1} twice.")
    return chosen


def _refuse_index(names: Sequence[str], index: Collection[str] = ()) -> None:
    """Refuse columns that are the index of a pandas frame: those of ``index``, and those that look like it."""
    unnamed = next((k for k, name in enumerate(names) if name), 0)
    found = [k for k, name in enumerate(names) if k < unnamed or name in index or _INDEX.fullmatch(name)]
    if found:
        label = f"column {found[0] + 1} " + (f"(`{names[found[0]]}`)" if names[found[0]] else "has no name and")
        others = ",".join(str(k + 1) for k in range(len(names)) if k not in found)
        called = ", ".join(name for k, name in enumerate(names) if k not in found)
        choice = f"`--columns {others}` or some of them by name ({called})" if others else "`--columns 1`"
        raise ValueError(
            f"{label} looks like the index of a pandas frame, which is no coordinate. Choose columns with {choice}, or "
            "write the file with `index=False`."
        )


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
