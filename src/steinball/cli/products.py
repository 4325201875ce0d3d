"""What a command tests, and what it writes besides its answer: rows of a table, a page, a picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.cli.datafiles import Table
from steinball.frames import Labels
from steinball.results import Result
from steinball.show.page import write_report
from steinball.show.pictures import check_picture, save_picture
from steinball.text import count, wrap


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows that are tested: all of a table, or some of them, drawn at random by a seed.

    Examples
    --------
    >>> Rows.of(Table(np.zeros((100, 1))), 10, seed=0).sentence()
    '  A random 10 of the 100 rows were tested (--max-rows 10 --seed 0).'
    """

    samples: NDArray[Any]
    names: tuple[str, ...]
    chosen: NDArray[np.intp] | None
    of_all: int
    seed: int
    rows: NDArray[np.intp] | None = None
    dropped: int = 0

    @classmethod
    def of(cls, table: Table, most: int | None, seed: int) -> Rows:
        """At most so many rows of a table, in their order."""
        n = len(table.samples)
        if most is None or n <= most:
            return cls(table.samples, table.names, None, n, seed, table.rows, table.dropped)
        chosen = np.sort(np.random.default_rng(seed).choice(n, most, replace=False))
        rows = chosen if table.rows is None else table.rows[chosen]
        return cls(table.samples[chosen], table.names, chosen, n, seed, rows, table.dropped)

    @property
    def labels(self) -> Labels:
        """The names of the columns, and the numbers of the rows in the file, from 1."""
        names = self.names or tuple(f"x{j + 1}" for j in range(self.samples.shape[1]))
        rows = range(self.of_all) if self.rows is None else self.rows.tolist()
        return Labels(names, tuple(f"row {i + 1}" for i in rows))

    def sentence(self) -> str:
        """That not all of the file was tested; empty where all was."""
        told = []
        if self.dropped:
            told.append(f"{count(self.dropped, 'row')} with a missing value left out (--missing drop).")
        if self.chosen is not None:
            part = f"A random {count(len(self.chosen))} of the {count(self.of_all)} rows were tested"
            told.append(f"{part} (--max-rows {len(self.chosen)} --seed {self.seed}).")
        return wrap(" ".join(told)) if told else ""

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON; nothing where all rows were tested."""
        told: dict[str, Any] = {"dropped": self.dropped} if self.dropped else {}
        if self.chosen is not None:
            told["subsample"] = {"rows": len(self.chosen), "of": self.of_all, "seed": self.seed}
        return told


@dataclass(frozen=True)
class Products:
    """The files that a command was asked for, and how many rows it may test."""

    report: Path | None = None
    plot: Path | None = None
    max_rows: int | None = None

    def check(self) -> None:
        """Refuse what could not be done, before anything is computed."""
        if self.max_rows is not None and self.max_rows < 2:
            raise ValueError(f"`--max-rows` must be at least 2, got {self.max_rows}.")
        for path in (self.report, self.plot):
            if path is not None and not path.absolute().parent.is_dir():
                raise ValueError(f"`{path}`: the folder {path.absolute().parent} does not exist; make it first.")
        if self.report is not None and self.report.suffix.lower() not in (".html", ".htm"):
            raise ValueError(f"`--report {self.report}` is a page and must end in .html.")
        if self.plot is not None:
            check_picture(self.plot)

    def write(self, result: Result, rows: Rows, title: str) -> None:
        """Write them."""
        labels = rows.labels if self.report is not None or self.plot is not None else None
        if self.report is not None:
            write_report(result, self.report, data=labels, title=title)
        if self.plot is not None:
            save_picture(result, self.plot, data=labels)
