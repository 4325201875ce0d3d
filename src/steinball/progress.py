"""Progress on long work, on a terminal and in a notebook, and gone when the work ends."""

from __future__ import annotations

import html
import sys
import time
from types import TracebackType
from typing import Any, Protocol

PATIENCE = 2.0
"""Seconds of silence before a bar appears."""

_PAUSE = 0.2
"""Seconds between two pictures of a bar in a notebook: each is a message to the browser."""


def check_show(show: bool | str) -> None:
    """What a user may say of progress."""
    if show not in (True, False, "auto"):
        raise ValueError(f'`progress` must be True, False or "auto", got {show!r}.')


def in_notebook() -> bool:
    """Whether this is a kernel that a notebook talks to."""
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    return shell is not None and "IPKernelApp" in shell.config


class Bar(Protocol):
    """What shows progress somewhere."""

    def show(self, done: float) -> None:
        """So much of the total is done."""

    def stop(self) -> None:
        """Leave nothing behind."""


class TerminalBar:
    """A bar with the time left, on stderr, that the terminal forgets."""

    def __init__(self, title: str, total: float, start: float) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        # Rich would put a widget of its own into a notebook, and leave it there.
        console = Console(stderr=True, force_jupyter=False)
        self.bar = Progress(*columns, console=console, transient=True)
        self.bar.start()
        self._task = self.bar.add_task(title, total=total, completed=0)

    def show(self, done: float) -> None:
        """So much of the total is done."""
        self.bar.update(self._task, completed=done)

    def stop(self) -> None:
        """The line is cleared, and the cursor back."""
        self.bar.stop()


class NotebookBar:
    """A bar in the output of a cell, which is empty again when the work ends."""

    def __init__(self, title: str, total: float, start: float) -> None:
        self._title, self._total, self._start, self._last = title, total, start, 0.0
        self._handle: Any = None

    def show(self, done: float) -> None:
        """So much of the total is done."""
        from IPython.display import display

        if self._handle is None:
            self._handle = display(self._picture(done), raw=True, display_id=True)
        elif time.monotonic() - self._last >= _PAUSE:
            self._handle.update(self._picture(done), raw=True)
        else:
            return
        self._last = time.monotonic()

    def stop(self) -> None:
        """An output without content takes no room."""
        if self._handle is not None:
            self._handle.update({}, raw=True)

    def _picture(self, done: float) -> dict[str, str]:
        share = min(1.0, done / self._total) if self._total > 0 else 1.0
        passed = time.monotonic() - self._start
        left = f", about {passed * (1 - share) / share:.0f} s left" if share > 0.01 else ""
        words = f"{self._title}: {share:.0%}{left}"
        bar = f'<progress value="{share:.3f}" max="1" style="width: 16em"></progress>'
        return {"text/plain": words, "text/html": f"{bar} {html.escape(words)}"}


class Progress:
    """A bar with the time left; with ``"auto"`` only on a terminal or in a notebook, and after two seconds.

    Examples
    --------
    >>> with Progress("work", 10, show=False) as progress:
    ...     progress.advance(10)
    """

    def __init__(self, title: str, total: float, show: bool | str = "auto") -> None:
        check_show(show)
        self._title, self._total = title, total
        self._notebook = in_notebook()
        self._wanted = self._notebook or sys.stderr.isatty() if show == "auto" else bool(show)
        self._patience = PATIENCE if show == "auto" else 0.0
        self._start, self._done = time.monotonic(), 0.0
        self._bar: Bar | None = None

    def __enter__(self) -> Progress:
        return self

    def advance(self, amount: float) -> None:
        """Note that ``amount`` of the total is done."""
        self._done += amount
        if not self._wanted or time.monotonic() - self._start < self._patience:
            return
        if self._bar is None:
            self._bar = (NotebookBar if self._notebook else TerminalBar)(self._title, self._total, self._start)
        self._bar.show(self._done)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
