"""How a command ends: one-line errors and warnings, text on a terminal, and a standard output that is ours alone."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from steinball.arrays import MemoryLimitError, OutOfRangeError
from steinball.cli.guard import INTERRUPTED, NOT_A_DECISION, discard, message_of, say

_PACKAGE = Path(__file__).parents[1]


class _NobodyReads(Exception):
    """The reader of our output has left: there is nothing more to say."""


@contextmanager
def ending(*, user_file: str | None = None, debug: bool = False, own: Path = _PACKAGE) -> Iterator[None]:
    """Turn whatever happens inside into one line on stderr and the right exit code.

    Parameters
    ----------
    user_file : str, optional
        The user's own Python file; an error that passed through it is reported with its line there.
    debug : bool
        Let errors through with their traceback, still ending with code 2.
    own : Path
        The folder of a program that uses this; the errors that it raises speak for themselves, as ours do.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.simplefilter("ignore", DeprecationWarning)  # meant for us, not for users
        warnings.showwarning = _show_warning
        try:
            yield
        except (KeyboardInterrupt, typer.Abort):
            say("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except _NobodyReads:
            raise typer.Exit(NOT_A_DECISION) from None
        except BaseException as error:  # the user's own file may raise anything
            if debug:
                traceback.print_exc()
            say("error: " + one_line(error, user_file, own))
            raise typer.Exit(NOT_A_DECISION) from None


@contextmanager
def foreign_code() -> Iterator[None]:
    """Code that is not ours: what it prints, or writes to file descriptor 1, goes to stderr.

    A standard output that is a file moves to another descriptor for good: libraries in C may write what they have kept
    until the process ends.
    """
    _move_stdout()
    with redirect_stdout(sys.stderr):
        yield


def _move_stdout() -> None:
    try:
        if sys.stdout.fileno() != 1:
            return
    except (AttributeError, OSError, ValueError):  # there is none, or it is not a file
        return
    sys.stdout.flush()
    moved = os.fdopen(os.dup(1), "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)
    os.dup2(sys.stderr.fileno(), 1)
    sys.stdout = moved


def one_line(error: BaseException, user_file: str | None = None, own: Path = _PACKAGE) -> str:
    """What went wrong, in one line; an error of the user's own file with its type and its line there.

    Examples
    --------
    >>> one_line(ValueError("`level` must be\\n   below 1."))
    '`level` must be below 1.'
    """
    message = message_of(error)
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if user_file and frame.filename == os.path.abspath(user_file)]
    if theirs:
        return f"{user_file}, line {theirs[-1].lineno}: {message}"
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}."
    # Errors that we raise on purpose speak for themselves; any other is named by its type.
    raised_here = not frames or any(Path(frames[-1].filename).is_relative_to(folder) for folder in (_PACKAGE, own))
    on_purpose = type(error) in (ValueError, TypeError, OutOfRangeError, MemoryLimitError) and raised_here
    return message.partition(": ")[2] or message if on_purpose else message


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    say("warning: " + " ".join(str(message).split()))


def show(text: str) -> None:
    """Print a report: color for the decisions on a terminal, plain text elsewhere."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal without θ shows a question mark instead of failing
    styled = Text(text)
    styled.highlight_regex(r"(?<!NOT )\bREJECTED\b|^MISFIT\b", "bold red")
    styled.highlight_regex(r"^GOOD ENOUGH\b", "bold green")
    styled.highlight_regex(r"^UNDECIDED\b", "bold yellow")
    styled.highlight_regex(r"\bNOT REJECTED\b", "bold green")
    styled.highlight_regex(r"(?m)^\S.*$", "bold")
    console = Console(highlight=False, soft_wrap=True)
    with console.capture() as captured:  # rich itself would end a broken pipe with 1, which means rejected
        console.print(styled)
    write(captured.get())


def write(text: str) -> None:
    """Text on stdout, at once: a reader that has left, or a full disk, is noticed here and not at exit."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout)
        raise _NobodyReads from None
    except OSError:
        discard(sys.stdout)
        raise
