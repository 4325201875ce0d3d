"""How a command ends: one-line errors with their exit codes, and a standard output that is ours."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path

from steinball.cli.specs import USER_MODULE
from steinball_command.guard import INTERRUPTED, NOT_A_DECISION, NobodyReads, message_of, say
from steinball_command.guard import write as write

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
    descriptor = None
    with suppress(AttributeError, OSError, ValueError):  # there is no standard output, or it is not a file
        descriptor = sys.stdout.fileno()
    if descriptor != 1:
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
