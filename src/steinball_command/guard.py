"""The way into the command and out of it: words become options, and exit code 1 means *rejected* and nothing else.

Nothing large is imported above the guard: a dependency that is broken, or memory that does not suffice to load it, ends
with one line and code 2, too.
"""

from __future__ import annotations

import argparse
import atexit
import inspect
import math
import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields
from difflib import get_close_matches
from functools import partial
from typing import Any, NoReturn

from steinball_command.options import COMMANDS

NOT_REJECTED, REJECTED, NOT_A_DECISION, NOT_SHOWN, INTERRUPTED = 0, 1, 2, 3, 130

# Measured: what the numerical libraries map when they are loaded, and what each further thread of their two copies of
# OpenBLAS does. Where OpenBLAS gets less, it ends the process with code 1 or waits for ever.
_ADDRESS_SPACE, _PER_THREAD = 500 * 10**6, 90 * 10**6


class NobodyReads(SystemExit):
    """The reader of our output has left: there is nothing more to say, and no decision."""


def main() -> None:
    """Run the command line; the entry point of ``steinball``."""
    if sys.stderr is None:  # libraries write to it, some while they are loaded
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    libc = _take_over_exit() if sys._getframe(1).f_globals.get("__name__") == "__main__" else None
    code = _finish(_run())
    sys.stdout = sys.stderr  # what others print at the end of the process is not our output
    if libc is None:
        sys.exit(code)
    atexit._run_exitfuncs()
    _finish(code)
    libc.fflush(None)
    os._exit(code)


def _take_over_exit() -> Any:
    """Make ``exit`` of C end this process with 2, and return the library of C, where there is one that can.

    Libraries call it with 1 when they get no memory (OpenBLAS) or no thread (OpenMP). Only ``os._exit`` passes it by.
    """
    try:
        import ctypes

        libc = ctypes.CDLL(None)
        libc.__cxa_atexit(libc._exit, ctypes.c_void_p(NOT_A_DECISION), None)
    except (AttributeError, ImportError, OSError, TypeError):
        return None
    return libc


def _run() -> int:
    """The exit code of the command: what its function returns, if it gets that far."""
    expected = 0  # after help
    try:
        options = parse(sys.argv[1:])
        expected = INTERRUPTED  # from here on only a return is a decision
        _fit_into_address_space()
        return _load()(options)
    except SystemExit as end:
        return expected if end.code == expected else NOT_A_DECISION
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    except BaseException as error:
        say(f"error: {message_of(error)}")
    return NOT_A_DECISION


def _fit_into_address_space() -> None:
    """Where it is limited, start no more threads than it has room for."""
    try:
        import resource
    except ImportError:  # Windows
        return
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    room = min((limit for limit in limits if limit != resource.RLIM_INFINITY), default=None)
    if room is None:
        return
    if room < _ADDRESS_SPACE:
        raise MemoryError(
            f"the address space is limited to {room / 1e6:.0f} MB (ulimit -v), but the numerical libraries take "
            f"{_ADDRESS_SPACE / 1e6:.0f} MB; raise the limit."
        )
    most = 1 + (room - _ADDRESS_SPACE) // _PER_THREAD
    if _blas_threads() > most:
        os.environ["OPENBLAS_NUM_THREADS"] = str(most)


def _blas_threads() -> int:
    """How many threads OpenBLAS will start."""
    given = (os.environ.get(name, "") for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"))
    return next((int(text) for text in given if text.isdecimal()), os.cpu_count() or 1)


def _load() -> Callable[[Any], int]:
    """What runs a command. Ctrl-C ends the loading at once: an import in C may turn its exception into another."""
    import signal

    listening = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if listening:
        signal.signal(signal.SIGINT, _leave)
    try:
        from steinball.cli.commands import run
    except SystemExit as end:
        raise ImportError(f"a library ended the process while it was loaded, with {end.code!r}.") from end
    finally:
        if listening:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    return run


def _leave(*_: object) -> None:
    say("interrupted")
    os._exit(INTERRUPTED)


def _finish(code: int) -> int:
    """Write out what is still waiting; what cannot be written was not said, so there is no decision."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            _discard(stream)
            code = NOT_A_DECISION if stream is sys.stdout else code
    return code


def message_of(error: BaseException) -> str:
    """The type and the text of an error in one line; the text may be the user's own code, and fail."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # the text of an error may be made by the user's own code
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def say(line: str) -> None:
    """One line on stderr, if there is one; what would steer the terminal, as text of a file may, is spelled out."""
    line = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in line)
    try:
        if sys.stderr is not None:
            sys.stderr.write(f"steinball: {line}\n")
            sys.stderr.flush()
    except (OSError, ValueError):
        _discard(sys.stderr)


def write(text: str) -> None:
    """Text on stdout, at once: a reader that has left, or a full disk, is noticed here and not at exit."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        _discard(sys.stdout)
        if isinstance(error, BrokenPipeError):
            raise NobodyReads(NOT_A_DECISION) from None
        raise


def _discard(stream: Any) -> None:
    """Nobody reads this stream any more: keep Python from trying once more at its end, with a code of its own."""
    with suppress(AttributeError, OSError, ValueError):  # it may be closed, or not be a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


# From words of a command line to an instance of a dataclass of ``options.py``, and from its docstring to help.


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, as all others are, and which does not hide that its help was not written."""

    def __init__(self, **options: Any) -> None:
        form = partial(argparse.HelpFormatter, max_help_position=27)
        super().__init__(formatter_class=form, allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        say(f"error: {message}; see {self.prog} --help.")
        raise SystemExit(NOT_A_DECISION)

    def print_help(self, file: Any = None) -> None:
        write(self.format_help())


def parse(words: Sequence[str]) -> Any:
    """The command that the words of a command line name, an instance of one of ``COMMANDS``.

    Examples
    --------
    >>> parse(["test", "x.csv", "--model", "normal", "--max-rows", "100"]).max_rows
    100
    """
    about = "Robust kernel Stein goodness-of-fit tests: is the data inside a ball around your model?"
    parser = _Parser(prog="steinball", usage="%(prog)s COMMAND ...", description=about)
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    known = {name: _add_command(commands, name, kind) for name, kind in COMMANDS.items()}
    given, unknown = parser.parse_known_args(words)
    if given.version:
        from steinball import __version__

        write(f"steinball {__version__}\n")
        raise SystemExit(0)
    if unknown:
        chosen = known.get(given.command, parser)
        meant = get_close_matches(unknown[0].partition("=")[0], chosen._option_string_actions, 1)
        chosen.error(f"there is no `{unknown[0]}`" + "".join(f"; did you mean `{name}`?" for name in meant))
    if given.command is None:
        parser.print_help()
        raise SystemExit(NOT_A_DECISION)
    kind, values = COMMANDS[given.command], vars(given)
    return kind(**{part.name: values[part.name] for part in fields(kind) if part.name in values})


def _add_command(commands: Any, name: str, kind: type) -> _Parser:
    """A parser whose options are what the docstrings of a command and its groups tell of."""
    text, _ = _documented(kind)
    about = text.partition("\n\n")[0]
    parser: _Parser = commands.add_parser(name, prog=f"steinball {name}", help=about, description=text)
    known = {part.name: part for part in fields(kind)}
    for group in (*reversed(kind.__bases__), kind):
        title, told = _documented(group)
        place = parser if group is kind else parser.add_argument_group(title)
        for option, words in told.items():
            _add_option(place, known[option], words)
    arguments = [str(action.metavar) for action in parser._actions if not action.option_strings]
    parser.usage = " ".join(["%(prog)s", *arguments, "[options]"])
    return parser


def _add_option(place: Any, part: Any, words: dict[str, str]) -> None:
    """A field is an option; without a default it is an argument."""
    if part.default is MISSING:
        place.add_argument(part.name, **words)
    else:
        how = _ARGUMENTS_BY_TYPE.get(part.type) or _ARGUMENTS_BY_TYPE.get(part.type.removesuffix(" | None"), {})
        place.add_argument(f"--{part.name.replace('_', '-')}", default=part.default, **words, **how)


def as_share(text: str) -> float:
    """A share as people write it.

    Examples
    --------
    >>> as_share("5%"), as_share(".05")
    (0.05, 0.05)
    """
    number, percent, rest = text.strip().partition("%")
    try:
        share = float(number) / (100.0 if percent else 1.0)
    except ValueError:
        share = math.inf
    if rest or share > 1.0:
        raise argparse.ArgumentTypeError(f"must be a share such as 0.05 or 5%, got `{text}`")
    return share


_FIELD = re.compile(r"(?m)^(\w+)(?: : (.+))?\n((?: {4}.+\n?)+)")
_ARGUMENTS_BY_TYPE: dict[str, dict[str, Any]] = {
    "bool": {"action": "store_true"},
    "bool | None": {"action": argparse.BooleanOptionalAction},
    "list[str]": {"action": "append"},
    "int": {"type": int},
    "float": {"type": float},
    "Share": {"type": as_share},
}


def _documented(kind: type) -> tuple[str, dict[str, dict[str, str]]]:
    """The docstring of a dataclass without its fields, and what it says of them."""
    text = inspect.getdoc(kind) or ""
    told = {
        name: {"help": " ".join(words.replace("%", "%%").split())} | ({"metavar": value} if value else {})
        for name, value, words in _FIELD.findall(text)
    }
    return _FIELD.sub("", text).strip(), told
