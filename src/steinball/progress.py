"""Progress on long work, on the terminal only."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

PATIENCE = 2.0
"""Seconds of silence before a bar appears."""


def check_show(show: bool | str) -> None:
    """What a user may say of progress."""
    if show not in (True, False, "auto"):
        raise ValueError(f'`progress` must be True, False or "auto", got {show!r}.')


class Progress:
    """A bar with the time left, on stderr; with ``"auto"`` only on a terminal and after two seconds.

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
            self._bar = self._make_bar()
        self._bar.update(self._task, completed=self._done)

    def _make_bar(self) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        bar = Bar(*columns, console=Console(stderr=True), transient=True)
        bar.start()
        self._task = bar.add_task(self._title, total=self._total, completed=0)
        return bar

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
