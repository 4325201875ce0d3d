"""Progress on long work, on a terminal, and gone when the work ends."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

PATIENCE = 2.0
"""Seconds of silence before a bar appears."""


def check_show(show: bool | str) -> None:
    """Refuse what is no wish for a bar: it is shown, not shown, or shown where it helps."""
    if show not in (True, False, "auto"):
        raise ValueError(f'`progress` must be True, False or "auto", got {show!r}.')


class Progress:
    """A bar with the time left, on stderr; with ``"auto"`` only on a terminal, and after two seconds.

    Examples
    --------
    >>> with Progress("work", 10, show=False) as progress:
    ...     progress.advance(10)
    """

    def __init__(self, title: str, total: float, show: bool | str = "auto") -> None:
        check_show(show)
        self._title, self._total = title, total
        self._wanted = sys.stderr.isatty() if show == "auto" else bool(show)
        self._patience = PATIENCE if show == "auto" else 0.0
        self._start, self._done = time.monotonic(), 0.0
        self._bar: Any = None

    def __enter__(self) -> Progress:
        return self

    def advance(self, amount: float) -> None:
        """Note that ``amount`` of the total is done."""
        self._done += amount
        if not self._wanted or time.monotonic() - self._start < self._patience:
            return
        if self._bar is None:
            self._bar = _started_bar(self._title, self._total)
        self._bar.update(self._bar.task_ids[0], completed=self._done)

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()  # the line is cleared, and the cursor back


def counted(items: Iterable[T], title: str, total: int, show: bool | str) -> Iterator[T]:
    """The items one after the other, with a bar that counts them."""
    with Progress(title, total, show) as progress:
        for item in items:
            yield item
            progress.advance(1)


def _started_bar(title: str, total: float) -> Any:
    """A bar of Rich that the terminal forgets."""
    from rich import progress
    from rich.console import Console

    times = progress.TimeElapsedColumn(), progress.TextColumn("left"), progress.TimeRemainingColumn()
    columns = progress.TextColumn("{task.description}"), progress.BarColumn(), *times
    # Rich would put a widget of its own into a notebook, and leave it there.
    bar = progress.Progress(*columns, console=Console(stderr=True, force_jupyter=False), transient=True)
    bar.start()
    bar.add_task(title, total=total)
    return bar
