"""How a command ends: exit codes, one-line errors and warnings, and text on a terminal.

An exit code of 1 means *rejected* and nothing else, so that a script can rely on it: whatever goes wrong ends with 2.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

__all__ = [
    "INTERRUPTED", "NOT_A_DECISION", "NOT_REJECTED", "REJECTED", "ending", "one_line", "run", "say", "show", "write",
]  # fmt: skip

_PACKAGE = Path(__file__).parents[1]

NOT_REJECTED, REJECTED, NOT_A_DECISION, INTERRUPTED = 0, 1, 2, 130


def run(app: Callable[[], None]) -> None:
    """Run a whole command line; nothing leaves it with a code of its own choosing."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:
        say("error: " + one_line(error))
        sys.exit(NOT_A_DECISION)


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
        except typer.Exit:
            raise
        except (KeyboardInterrupt, typer.Abort):
            say("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # Python flushes stdout once more at exit; there is nobody left to read it.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(NOT_A_DECISION) from None
        except (Exception, SystemExit) as error:
            if debug:
                traceback.print_exc()
            say("error: " + one_line(error, user_file, own))
            raise typer.Exit(NOT_A_DECISION) from None


def one_line(error: BaseException, user_file: str | None = None, own: Path = _PACKAGE) -> str:
    """What went wrong, in one line; an error of the user's own file with its type and its line there.

    Examples
    --------
    >>> one_line(ValueError("`level` must be\\n   below 1."))
    '`level` must be below 1.'
    """
    message = " ".join(str(error).split())
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if user_file and frame.filename == os.path.abspath(user_file)]
    if theirs:
        return f"{user_file}, line {theirs[-1].lineno}: {type(error).__name__}: {message}"
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}."
    # Errors that we raise on purpose speak for themselves; any other is named by its type.
    raised_here = not frames or any(Path(frames[-1].filename).is_relative_to(folder) for folder in (_PACKAGE, own))
    on_purpose = type(error) in (ValueError, TypeError) and raised_here
    return message if on_purpose and message else f"{type(error).__name__}: {message}"


def say(line: str) -> None:
    """One line on stderr."""
    print(f"steinball: {line}", file=sys.stderr)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    say("warning: " + " ".join(str(message).split()))


def show(text: str) -> None:
    """Print a report: color for the decisions on a terminal, plain text elsewhere."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal without θ shows a question mark instead of failing
    styled = Text(text)
    styled.highlight_regex(r"(?<!NOT )\bREJECTED\b", "bold red")
    styled.highlight_regex(r"\bNOT REJECTED\b", "bold green")
    styled.highlight_regex(r"(?m)^\S.*$", "bold")
    console = Console(highlight=False, soft_wrap=True)
    with console.capture() as captured:  # rich itself would end a broken pipe with 1, which means rejected
        console.print(styled)
    write(captured.get())


def write(text: str) -> None:
    """Text on stdout, at once: a reader that has left is noticed here and not at exit."""
    sys.stdout.write(text)
    sys.stdout.flush()
