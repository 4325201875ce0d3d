"""Predictions in the columns of a file: which column is y, which are the law, and which are features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from steinball.cli.datafiles import read_table
from steinball.cli.table import Table, choose_columns
from steinball_command.options import DataFile, Predicted

_SINGLE = ("y", "mean", "sd", "censoring")


@dataclass(frozen=True)
class PredictionColumns:
    """Positions in a table that was read: one for each single column, and how many are features or draws.

    Examples
    --------
    >>> import numpy as np
    >>> columns = PredictionColumns(("y", "mean"), 1, 0, 2.0)
    >>> given = columns.read(Table(np.eye(3), ("y", "m", "x")))
    >>> given["y"].tolist(), given["predictive"][0].tolist(), given["predictive"][1], list(given["features"])
    ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], 2.0, ['x'])
    """

    singles: tuple[str, ...]
    features: int
    draws: int
    sd: float | None = None

    def read(self, table: Table) -> dict[str, Any]:
        """What :func:`steinball.predictive_test` takes."""
        columns, start = dict(zip(self.singles, table.samples.T, strict=False)), len(self.singles)
        names = table.names or tuple(f"column {j + 1}" for j in range(table.samples.shape[1]))
        features = {names[j]: table.samples[:, j] for j in range(start, start + self.features)}
        drawn = table.samples[:, start + self.features :]
        law = drawn if self.draws else (columns["mean"], columns.get("sd", self.sd))
        return {"y": columns["y"], "predictive": law, "features": features, "censoring": columns.get("censoring")}


def read_predictions(file: DataFile, predicted: Predicted) -> tuple[Table, PredictionColumns]:
    """The table of the columns that are named, and which of them is what."""
    _check(file, predicted)
    sd = _number(predicted.sd)
    given = {name: vars(predicted)[name] for name in _SINGLE if vars(predicted)[name] is not None}
    singles = {name: text for name, text in given.items() if name != "sd" or sd is None}
    wanted = [*singles.values(), *filter(None, (predicted.features, predicted.draws))]
    try:
        table = read_table(replace(file, columns=",".join(wanted)))
    except ValueError as error:  # the columns were named by other options
        raise ValueError(str(error).replace("`--columns`: ", "").replace("`--columns ", "`")) from None
    width, names = table.samples.shape[1], table.names or None
    features = len(choose_columns(predicted.features, names, 10**9)) if predicted.features else 0
    return table, PredictionColumns(tuple(singles), features, width - len(singles) - features, sd)


def _check(file: DataFile, predicted: Predicted) -> None:
    if file.columns is not None:
        raise ValueError("`--columns` is not read here: name the columns by `--y`, `--mean`, `--sd` and `--features`.")
    if predicted.y is None:
        raise ValueError("give `--y`, the column of observed values.")
    pair = predicted.mean is not None, predicted.sd is not None
    if predicted.draws is None and not all(pair):
        raise ValueError("give `--mean` and `--sd`, the columns of normal predictions, or `--draws 'draw_*'`.")
    if predicted.draws is not None and any(pair):
        raise ValueError("give `--draws`, or `--mean` and `--sd`, not both.")


def _number(text: str | None) -> float | None:
    """A standard deviation that is written as a number; a whole number is the position of a column."""
    try:
        return None if text is None or text.isdecimal() else float(text)
    except ValueError:
        return None
