"""Run an experiment: cells × repeats over processes, rows to disk as they finish, on from where it stopped."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import warnings
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from joblib.parallel import get_active_backend

from experiments.framework.base import Cell, Experiment, Trial
from experiments.framework.check import missed_cells
from experiments.framework.table import (
    COLUMNS,
    Record,
    as_record,
    as_text,
    header_of,
    read_results,
    records_in,
    single_records,
    sort_records,
    write_curves,
    write_records,
)
from steinball.cautions import RemovalWarning
from steinball.files import only_writer, write_whole
from steinball.gram.workers import single_threaded_algebra, workers_configured
from steinball.progress import Progress

__all__ = ["run", "run_again"]

_TASKS_PER_CELL = 20

Group = tuple[str, int, int]
"""Variant, cell and repeat: what one trial is identified by."""


def run(
    experiment: Experiment,
    out: Path,
    *,
    repeats: int | None = None,
    jobs: int | None = None,
    seed: int = 0,
    variant: str | None = None,
    cells: Collection[int] | None = None,
    progress: bool | str = "auto",
) -> Path:
    """Fill ``out/NAME.csv`` with every trial that it does not have yet, and sort it.

    Parameters
    ----------
    experiment : Experiment
        What to run.
    out : Path
        The folder of tables; made if need be.
    repeats : int, optional
        Repeats of every cell; the number that the experiment states by default.
    jobs : int, optional
        Processes; by default what ``joblib.parallel_config`` says, or all cores.
    seed : int
        Trial (cell, repeat) is seeded by ``SeedSequence(seed, spawn_key=(cell, repeat))``.
    variant : str, optional
        One variant; by default those that the experiment always runs.
    cells : collection of int, optional
        Positions in the grid; the others are left as they are.
    progress : bool or "auto"
        A bar with the time left, on a terminal.

    Returns
    -------
    Path
        The table. But for the column ``seconds`` it is the same whatever the number of processes, and whether or not
        the run was interrupted. A second run of the same table at the same time is refused.
    """
    variants = experiment.always if variant is None else (experiment.check_variant(variant),)
    table = _Table(experiment, out / f"{experiment.name}.csv", seed)
    wanted = experiment.repeats if repeats is None else _positive(repeats)
    chosen = range(len(experiment.grid)) if cells is None else sorted(cells)
    out.mkdir(parents=True, exist_ok=True)
    with only_writer(table.path):
        table.open()
        _fill(table, _tasks(experiment, chosen, variants, wanted, table.done), jobs, progress)
        table.close()
    return table.path


def _fill(table: _Table, tasks: list[_Task], jobs: int | None, progress: bool | str) -> None:
    """Append the rows of every task as it finishes."""
    total = sum(len(task.repeats) for task in tasks)
    bar = Progress(table.experiment.name, total, progress)
    with bar, table.path.open("a", encoding="utf-8", newline="") as file:
        for records, count in _spread(table.experiment, tasks, table.seed, jobs):
            file.write(_as_csv(records))
            file.flush()
            bar.advance(count)


def run_again(experiment: Experiment, out: Path, *, variant: str | None = None, **options: Any) -> Path:
    """Extend the cells whose rates miss a claim to ``experiment.again`` repeats, their first ones among them.

    A cell of many may miss by chance. Its earlier repeats are kept although they are why it was chosen: that biases
    the longer run towards a miss, so what then holds, holds. ``options`` are those of :func:`run`.
    """
    path = out / f"{experiment.name}.csv"
    variants = experiment.always if variant is None else (experiment.check_variant(variant),)
    for name in variants if experiment.again > experiment.repeats else ():
        cells = missed_cells(experiment, read_results(path), name)
        if cells:
            run(experiment, out, repeats=experiment.again, variant=name, cells=cells, **options)
    return path


def _positive(repeats: int) -> int:
    if repeats < 1:
        raise ValueError(f"`repeats` must be at least 1, got {repeats}.")
    return repeats


@dataclass(frozen=True)
class _Task:
    """Some repeats of one cell: enough that handing them out costs nothing beside them."""

    variant: str
    cell: int
    repeats: tuple[int, ...]


def _tasks(
    experiment: Experiment, cells: Collection[int], variants: tuple[str, ...], repeats: int, done: set[Group]
) -> list[_Task]:
    """What is left to do, all cells side by side, so that the time left can be told from the time taken."""
    size = -(-repeats // _TASKS_PER_CELL)
    tasks = []
    for start in range(0, repeats, size):
        for variant in variants:
            for cell in cells:
                stop = int(min(start + size, repeats, experiment.most(experiment.grid[cell])))
                left = [k for k in range(start, stop) if (variant, cell, k) not in done]
                tasks.append(_Task(variant, cell, tuple(left)))
    return [task for task in tasks if task.repeats]


def _work(trial: Trial, cell: Cell, task: _Task, seed: int) -> tuple[list[Record], int]:
    """The records of one task, and how many trials they are."""
    records = []
    for repeat in task.repeats:
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(task.cell, repeat)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RemovalWarning)  # the paper takes the maximum over the sample for τ
            rows = trial(cell, rng)
        records += [as_record({**row, "repeat": repeat, "variant": task.variant}) for row in rows]
    return records, len(task.repeats)


def _spread(
    experiment: Experiment, tasks: list[_Task], seed: int, jobs: int | None
) -> Iterator[tuple[list[Record], int]]:
    """The records of every task, as they finish."""
    calls = [(experiment.trial, experiment.cell(task.cell, task.variant), task, seed) for task in tasks]
    if jobs == 1 or not tasks:
        with single_threaded_algebra():
            yield from (_work(*call) for call in calls)
        return
    with _workers(jobs):
        backend, _ = get_active_backend()
        return_as = "generator_unordered" if backend.supports_return_generator else "list"
        parallel = joblib.Parallel(n_jobs=jobs, return_as=return_as)
        yield from parallel(joblib.delayed(_work)(*call) for call in calls)


def _workers(jobs: int | None) -> AbstractContextManager[Any]:
    """Processes on this machine with one thread each, unless joblib is configured for something else."""
    if workers_configured():
        return nullcontext()
    config: AbstractContextManager[Any] = joblib.parallel_config("loky", n_jobs=jobs or -1, inner_max_num_threads=1)
    return config


def _as_csv(records: list[Record]) -> str:
    text = io.StringIO()
    csv.DictWriter(text, COLUMNS, lineterminator="\n").writerows(records)
    return text.getvalue()


class _Table:
    """The rows on disk, and which trials they are."""

    def __init__(self, experiment: Experiment, path: Path, seed: int) -> None:
        self.experiment, self.path, self.seed = experiment, path, seed
        self._axes = experiment.axes  # found once: tables have a million rows
        self.done: set[Group] = set()
        self._cells = {self._key(cell): index for index, cell in enumerate(experiment.grid)}
        if len(self._cells) != len(experiment.grid):
            raise ValueError(f"the cells of {experiment.name} cannot be told apart by their grid columns.")

    def _key(self, record: Any) -> tuple[str, ...]:
        return tuple(as_text(record.get(name)) for name in self._axes)

    def _group(self, record: Record) -> Group:
        return record["variant"], self._cells[self._key(record)], int(record["repeat"])

    def open(self) -> None:
        """Check that what is there belongs to this run, drop what a kill left unfinished, and note the rest."""
        self._check_stamp()
        if not self.path.exists():
            write_records(self.path, COLUMNS, ())
        _drop_torn_line(self.path)
        groups = [self._group(record) for record in single_records(self.path)]
        unfinished = _unfinished(groups)
        if unfinished is not None or header_of(self.path) != COLUMNS:  # or the table is older than a column
            kept = (record for record in records_in(self.path) if self._group(record) != unfinished)
            write_records(self.path, COLUMNS, kept)
        self.done = set(groups) - {unfinished}

    def close(self) -> None:
        """Sort the rows by variant, cell and repeat, and write what the figure shows beside them."""
        order = {name: place for place, name in enumerate(self.experiment.variants)}

        def place(record: Record) -> tuple[int, int, int]:
            variant, cell, repeat = self._group(record)
            return order[variant], cell, repeat

        sort_records(self.path, place)
        curves = self.experiment.curves("published")
        if curves:
            write_curves(self.path, curves)

    def _check_stamp(self) -> None:
        """Rows of another seed or another grid do not mix with these."""
        path = self.path.with_suffix(".run.json")
        cells = json.dumps([{k: as_text(v) for k, v in cell.items()} for cell in self.experiment.grid])
        stamp = {"seed": self.seed, "grid": hashlib.sha256(cells.encode()).hexdigest()}
        if path.exists() and self.path.exists() and _stamp_in(path) != stamp:
            raise ValueError(
                f"`{self.path}` holds rows of another seed or another grid. Use another `--out`, or remove the file."
            )
        write_whole(path, (json.dumps(stamp) + "\n").encode())


def _stamp_in(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise ValueError(
            f"`{path}` must say which seed and grid the rows beside it have, but is truncated. Use another `--out`, or "
            "remove it and the rows."
        ) from None


def _drop_torn_line(path: Path) -> None:
    """Cut what follows the last end of a line: a kill may leave half a row."""
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if not whole:
        write_records(path, COLUMNS, ())
    elif len(whole) < len(content):
        os.truncate(path, len(whole))


def _unfinished(groups: list[Group]) -> Group | None:
    """The trial that was being written last, unless it has as many rows as another trial of its cell."""
    if not groups:
        return None
    sizes = Counter(groups)
    last = groups[-1]
    peers = [size for group, size in sizes.items() if group[:2] == last[:2] and group != last]
    return None if peers and sizes[last] == peers[0] else last
