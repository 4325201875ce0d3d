"""How a command ends: its answer on a terminal and in files, one-line errors, and a standard output that is ours."""

from __future__ import annotations

import json
import os
import shlex
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from steinball.cli.specs import USER_MODULE
from steinball.cli.table import Table
from steinball.results.comparison import ComparisonResult
from steinball.show.pictures import check_picture
from steinball_command.guard import INTERRUPTED, NOT_A_DECISION, NobodyReads, message_of, say
from steinball_command.guard import write as write
from steinball_command.options import Output

_PACKAGE = Path(__file__).parents[1]


@contextmanager
def ending(*, debug: bool = False, own: Path = _PACKAGE) -> Iterator[None]:
    """Turn whatever happens inside into one line on stderr and the right exit code.

    Parameters
    ----------
    debug : bool
        Let errors through with their traceback, still ending with code 2.
    own : Path
        The folder of a program that uses this; the errors that it raises speak for themselves, as ours do.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.simplefilter("ignore", DeprecationWarning)  # meant for us, not for users
        warnings.showwarning = lambda message, *_, **__: say("warning: " + " ".join(str(message).split()))
        try:
            yield
        except NobodyReads:
            raise
        except KeyboardInterrupt:
            say("interrupted")
            raise SystemExit(INTERRUPTED) from None
        except BaseException as error:  # the user's own file may raise anything
            if debug:
                traceback.print_exc()
            say("error: " + one_line(error, own))
            raise SystemExit(NOT_A_DECISION) from None


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


def one_line(error: BaseException, own: Path = _PACKAGE) -> str:
    """What went wrong, in one line; an error of the user's own file with its type and its line there.

    Examples
    --------
    >>> one_line(ValueError("`level` must be\\n   below 1."))
    '`level` must be below 1.'
    """
    message = message_of(error)
    frames = [(frame.f_globals, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    for module, line in (pair for pair in reversed(frames) if pair[0].get("__name__", "").startswith(USER_MODULE)):
        return f"{os.path.relpath(module['__file__'])}, line {line}: {message}"
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}."
    # Errors that we raise on purpose speak for themselves; any other is named by its type.
    where = Path(frames[-1][0].get("__file__", "")) if frames else own
    raised_here = any(where.is_relative_to(folder) for folder in (_PACKAGE, own))
    ours = type(error) in (ValueError, TypeError) or type(error).__module__.startswith("steinball.")
    return message.partition(": ")[2] or message if ours and raised_here else message


def show(text: str) -> None:
    """Print a report."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal without θ shows a question mark instead of failing
    write(text + "\n")


# What a test gives: an answer, and the files that were asked for.


def check_files(output: Output) -> None:
    """Refuse files that could not be written, before anything is computed."""
    for path in (Path(name) for name in (output.report, output.plot) if name is not None):
        if not path.absolute().parent.is_dir():
            raise ValueError(f"`{path}`: the folder {path.absolute().parent} does not exist; make it first.")
    if output.report is not None and Path(output.report).suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"`--report {output.report}` is a page and must end in .html.")
    if output.plot is not None:
        check_picture(output.plot)


def command_line(table: Table) -> str:
    """The command as it was typed, and which rows of the file it tested where these are not all."""
    return "\n".join(filter(None, [shlex.join(["steinball", *sys.argv[1:]]), table.sentence().strip()]))


def write_files(output: Output, result: Any, table: Table, title: str) -> None:
    """Write the report and the picture; those of a comparison name no rows."""
    named = {} if isinstance(result, ComparisonResult) else {"data": table.labels}
    if output.report is not None:
        result.report(output.report, title=title, **named)
    if output.plot is not None:
        result.plot(output.plot, **named)


def print_result(output: Output, result: Any, table: Table) -> None:
    """Print the answer, as JSON or for people."""
    if output.json:
        told = {**result.to_dict(), **table.to_dict()}
        write(json.dumps(told, allow_nan=False, indent=2) + "\n")
    else:
        show("\n".join(filter(None, [result.summary(output.details), table.sentence()])))
