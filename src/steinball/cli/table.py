"""The table of numbers in a file: which of its columns and rows are tested, and which columns are predictions."""

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
from steinball.text import count, wrap
from steinball_command.options import Predicted, PredictionCheck

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
        """Which rows of the file were not tested; empty where all were."""
        left_out = f"{count(self.dropped, 'row')} with a missing value left out (--missing drop)."
        told = [left_out] if self.dropped else []
        if part := self.subsample:
            told.append(
                f"A random {count(part['rows'])} of the {count(part['of'])} rows were tested "
                f"(--max-rows {part['rows']} --seed {part['seed']})."
            )
        return wrap(" ".join(told), indent=2) if told else ""

    def to_dict(self) -> dict[str, Any]:
        """How many rows were left out, and how many were drawn, for JSON; empty where all rows were tested."""
        told = {"dropped": self.dropped, "subsample": self.subsample}
        return {name: value for name, value in told.items() if value}


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
    """The columns of one part of the text: a name, a range, a pattern or a position."""
    if (position := _position(wanted, names, width)) is not None:
        return [position]
    for cut in (k for k, character in enumerate(wanted) if character == "-" and 0 < k < len(wanted) - 1):
        first, last = (_position(end.strip(), names, width) for end in (wanted[:cut], wanted[cut + 1 :]))
        if first is not None and last is not None:
            if first > last:
                raise ValueError(f"`--columns`: `{wanted}` runs backward; write the earlier column first.")
            return list(range(first, last + 1))
    there = f"are numbered 1 to {width}" if names is None else "are called " + ", ".join(filter(None, names))
    if names is not None and set(wanted) & set("*?["):
        if found := [k for k, name in enumerate(names) if fnmatchcase(name, wanted)]:
            return found
        raise ValueError(f"`--columns`: no column fits `{wanted}`; the columns {there}.")
    meant = "".join(f" Did you mean `{name}`?" for name in get_close_matches(wanted, names or (), 1))
    raise ValueError(f"`--columns`: there is no column `{wanted}`; the columns {there}.{meant}")


def _position(wanted: str, names: Sequence[str] | None, width: int) -> int | None:
    """The column of this name, or else at this position, counted from 1; None where there is none."""
    if names is not None and wanted in names:
        if list(names).count(wanted) > 1:
            raise ValueError(f"`--columns`: several columns are called `{wanted}`; give its position, counted from 1.")
        return list(names).index(wanted)
    return int(wanted) - 1 if wanted.isdecimal() and 1 <= int(wanted) <= width else None


# Predictions: which column is y, which are the law, and which are features.


def prediction_columns(predicted: PredictionCheck) -> list[str]:
    """The texts that name columns: of single values (y, mean, sd, censoring), of features and of draws."""
    if predicted.columns is not None:
        raise ValueError("`--columns` is not read here: name the columns by `--y`, `--mean`, `--sd` and `--features`.")
    if predicted.y is None:
        raise ValueError("give `--y`, the column of observed values.")
    pair = predicted.mean is not None, predicted.sd is not None
    if predicted.draws is None and not all(pair):
        raise ValueError("give `--mean` and `--sd`, the columns of normal predictions, or `--draws 'draw_*'`.")
    if predicted.draws is not None and any(pair):
        raise ValueError("give `--draws`, or `--mean` and `--sd`, not both.")
    return [*_singles(predicted).values(), *filter(None, (predicted.features, predicted.draws))]


def predictions_of(table: Table, predicted: Predicted) -> dict[str, Any]:
    """What :func:`steinball.predictive_test` takes, of a table of the columns of :func:`prediction_columns`.

    Examples
    --------
    >>> table = Table(np.eye(3), ("y", "m", "x"))
    >>> given = predictions_of(table, Predicted(y="y", mean="m", sd="2.0", features="x"))
    >>> given["y"].tolist(), given["predictive"][0].tolist(), given["predictive"][1], list(given["features"])
    ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], 2.0, ['x'])
    """
    singles = _singles(predicted)
    columns, start = dict(zip(singles, table.samples.T, strict=False)), len(singles)
    many = len(choose_columns(predicted.features, table.names or None, 10**9)) if predicted.features else 0
    names = table.names or tuple(f"column {j + 1}" for j in range(table.samples.shape[1]))
    features = {names[j]: table.samples[:, j] for j in range(start, start + many)}
    normal = None if predicted.draws else (columns["mean"], columns.get("sd", _constant(predicted.sd)))
    law = table.samples[:, start + many :] if normal is None else normal
    return {"y": columns["y"], "predictive": law, "features": features, "censoring": columns.get("censoring")}


def _singles(predicted: Predicted) -> dict[str, str]:
    """The columns of which there is one, without a standard deviation that is a number."""
    given = {name: vars(predicted)[name] for name in ("y", "mean", "sd", "censoring")}
    if _constant(predicted.sd) is not None:
        given["sd"] = None
    return {name: text for name, text in given.items() if text is not None}


def _constant(text: str | None) -> float | None:
    """A standard deviation that is written as a number; a whole number is the position of a column."""
    try:
        return None if text is None or text.isdecimal() else float(text)
    except ValueError:
        return None
