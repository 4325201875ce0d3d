"""Progress: on a terminal, after a while, on stderr, and gone afterwards."""

from __future__ import annotations

import io
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.gram.tiles import tile_sums
from steinball.progress import Progress

pytestmark = pytest.mark.exact
pty: Any = pytest.importorskip("pty", reason="there are no pseudo-terminals here")

HIDDEN, SHOWN = "\x1b[?25l", "\x1b[?25h"
"""What a terminal is told to hide its cursor and to show it again."""


class Terminal(io.TextIOWrapper):
    """A real pseudo-terminal to put in the place of stderr; ``text`` is what it was told since one last asked."""

    def __init__(self) -> None:
        self._reader, writer = pty.openpty()
        os.set_blocking(self._reader, False)
        super().__init__(os.fdopen(writer, "wb", buffering=0), write_through=True)

    @property
    def text(self) -> str:
        parts = []
        try:
            while part := os.read(self._reader, 65536):
                parts.append(part)
        except BlockingIOError:
            pass
        return b"".join(parts).decode()

    def close(self) -> None:
        super().close()
        os.close(self._reader)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    monkeypatch.setenv("TERM", "xterm")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    screen = Terminal()
    assert screen.isatty()
    yield screen
    screen.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steinball.progress.PATIENCE", 0.0)


def work(show: bool | str, steps: int = 4) -> None:
    with Progress("some work", steps, show) as progress:
        for _ in range(steps):
            time.sleep(0.02)
            progress.advance(1)


@pytest.mark.usefixtures("impatient")
def test_nothing_is_shown_off_a_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    work("auto")
    assert capfd.readouterr() == ("", "")


def test_nothing_is_shown_before_patience_ends(terminal: Terminal) -> None:
    with redirect_stderr(terminal):
        work("auto")
    assert terminal.text == ""


@pytest.mark.usefixtures("impatient")
def test_nothing_is_shown_where_it_is_not_wanted(terminal: Terminal) -> None:
    with redirect_stderr(terminal):
        work(False)
    assert terminal.text == ""


@pytest.mark.usefixtures("impatient")
def test_a_bar_with_the_time_left_is_shown_on_a_terminal_and_cleared(
    terminal: Terminal, capfd: pytest.CaptureFixture[str]
) -> None:
    with redirect_stderr(terminal):
        work("auto", steps=10)
    text = terminal.text
    assert "some work" in text
    assert "left" in text
    assert re.search(r"\d:\d\d:\d\d", text)
    assert text.index(HIDDEN) < text.rindex(SHOWN)
    assert text.rindex("\x1b[2K") > text.rindex("some work")  # the last thing that happens to the line
    assert capfd.readouterr().out == ""


def test_a_bar_appears_once_patience_ends(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("steinball.progress.time.monotonic", lambda: now)
    with redirect_stderr(terminal), Progress("some work", 3, "auto") as progress:
        now = 1.9
        progress.advance(1)
        assert terminal.text == ""
        now = 2.1
        progress.advance(1)
        assert "some work" in terminal.text
        assert progress._bar.tasks[0].completed == 2  # what was done in silence counts


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("error", [ValueError("odd"), KeyboardInterrupt()])
def test_the_terminal_is_as_before_after_an_error(terminal: Terminal, error: BaseException) -> None:
    def fail() -> None:
        with Progress("some work", 4, "auto") as progress:
            progress.advance(1)
            raise error

    with redirect_stderr(terminal), pytest.raises(type(error)):
        fail()
    text = terminal.text
    assert text.count(HIDDEN) == text.count(SHOWN) == 1
    assert text.index(HIDDEN) < text.index(SHOWN)


def test_asking_for_a_bar_shows_one_at_once(terminal: Terminal) -> None:
    with redirect_stderr(terminal):
        work(True)
    assert "some work" in terminal.text


def test_asking_for_a_bar_off_a_terminal_keeps_stdout_clean(capfd: pytest.CaptureFixture[str]) -> None:
    work(True)
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("show", ["yes", None, 2, "True"])
def test_other_wishes_are_refused(show: Any) -> None:
    with pytest.raises(ValueError, match='`progress` must be True, False or "auto", got'):
        Progress("some work", 1, show)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(("engine", "title"), [("blocked", "Stein kernel"), ("lowrank", "low rank")])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_engines_show_their_progress(
    engine: str, title: str, n_jobs: int, terminal: Terminal, capfd: pytest.CaptureFixture[str]
) -> None:
    x = np.random.default_rng(0).normal(size=(600, 1))
    options: dict[str, Any] = {"engine": engine, "n_jobs": n_jobs, "rng": 0}
    with redirect_stderr(terminal):
        quiet = sb.ksd_test(x, lambda x: -x, progress=False, **options)
        assert terminal.text == ""
        shown = sb.ksd_test(x, lambda x: -x, **options)
    text = terminal.text
    assert title in text
    bars = 1 if engine == "blocked" else 2  # low rank: the factor, then the draws
    assert text.count(HIDDEN) == text.count(SHOWN) == bars
    assert capfd.readouterr().out == ""
    assert shown.pvalue == quiet.pvalue


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_engine_that_fails_leaves_a_clean_terminal(
    n_jobs: int, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tiles that break in the middle of the work."""
    calls: list[int] = []

    def breaks(*args: Any) -> Any:
        calls.append(1)
        if len(calls) > 76:  # of 78
            raise RuntimeError("broken tile")
        return tile_sums(*args)

    monkeypatch.setattr("steinball.gram.blocked.tile_sums", breaks)
    x = np.random.default_rng(0).normal(size=(2900, 1))
    with redirect_stderr(terminal), pytest.raises(RuntimeError, match="broken tile"):
        sb.ksd_test(x, lambda x: -x, engine="blocked", n_jobs=n_jobs, rng=0)
    text = terminal.text
    assert text.count(HIDDEN) == text.count(SHOWN) == 1


@pytest.mark.parametrize(("n", "n_jobs"), [(1000, 1), (1001, 2)])
def test_the_total_is_all_of_the_work(n: int, n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts that an engine reports add up to the total that it announced."""
    seen: list[tuple[float, float]] = []
    original: Callable[..., None] = Progress.__exit__

    def record(self: Progress, *args: Any) -> None:
        seen.append((self._done, self._total))
        original(self, *args)

    monkeypatch.setattr(Progress, "__exit__", record)
    x = np.random.default_rng(0).normal(size=(n, 1))
    sb.ksd_test(x, lambda x: -x, engine="blocked", n_jobs=n_jobs, rng=0)
    assert len(seen) == 1
    assert seen[0][0] == seen[0][1] > 0


@pytest.mark.usefixtures("impatient")
def test_planning_counts_the_samples_that_are_drawn(terminal: Terminal) -> None:
    with redirect_stderr(terminal):
        sb.power(sb.models.Gaussian(), sb.models.Gaussian(), 30, 0.05, repeats=5)
    assert "samples of 30 points" in terminal.text
    with redirect_stderr(terminal):
        sb.power(sb.models.Gaussian(), sb.models.Gaussian(), 30, 0.05, repeats=5, progress=False)
    assert terminal.text == ""
