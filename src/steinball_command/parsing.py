"""From words of a command line to an instance of a dataclass of ``options.py``, and from its docstring to help."""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any, NoReturn, get_type_hints

from steinball_command.guard import NOT_A_DECISION, say, write
from steinball_command.options import COMMANDS

__all__ = ["parse"]


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
    >>> parse(["test", "x.csv", "--model", "normal", "--max-rows", "100"]).file.max_rows
    100
    """
    about = "Robust kernel Stein goodness-of-fit tests: is the data inside a ball around your model?"
    parser = _Parser(prog="steinball", usage="%(prog)s COMMAND ...", description=about)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    known = {name: _add_command(commands, name, kind) for name, kind in COMMANDS.items()}
    given, unknown = parser.parse_known_args(words)
    if unknown:
        chosen = known.get(given.command, parser)
        meant = get_close_matches(unknown[0].partition("=")[0], chosen._option_string_actions, 1)
        chosen.error(f"there is no `{unknown[0]}`" + "".join(f"; did you mean `{name}`?" for name in meant))
    if given.command is None:
        parser.print_help()
        raise SystemExit(NOT_A_DECISION)
    return _made(COMMANDS[given.command], vars(given))


class _Version(argparse.Action):
    def __call__(self, *_: Any) -> None:
        from steinball import __version__

        write(f"steinball {__version__}\n")
        raise SystemExit(0)


def _add_command(commands: Any, name: str, kind: type) -> _Parser:
    text, _ = _documented(kind)
    about = text.partition("\n\n")[0]
    parser: _Parser = commands.add_parser(name, prog=f"steinball {name}", help=about, description=text)
    _add_options(parser, kind)
    arguments = [str(action.metavar) for action in parser._actions if not action.option_strings]
    parser.usage = " ".join(["%(prog)s", *arguments, "[options]"])
    return parser


def _add_options(parser: Any, kind: type) -> None:
    """Every field is an option, or a group of them with a title of its own; without a default it is an argument."""
    _, told = _documented(kind)
    for part, group in _parts(kind):
        words = told.get(part.name, {})
        if group is not None:
            _add_options(parser.add_argument_group(_documented(group)[0]), group)
        elif part.default is MISSING:
            parser.add_argument(part.name, **words)
        else:
            how = _WAYS.get(part.type) or _WAYS.get(part.type.removesuffix(" | None"), {})
            flag = f"--{part.name.replace('_', '-')}"
            parser.add_argument(flag, default=part.default, dest=part.name, **words, **how)


_FIELD = re.compile(r"(?m)^(\w+)(?: : (.+))?\n((?: {4}.+\n?)+)")
_WAYS: dict[str, dict[str, Any]] = {
    "bool": {"action": "store_true"},
    "bool | None": {"action": argparse.BooleanOptionalAction},
    "list[str]": {"action": "append"},
    "int": {"type": int},
}


def _documented(kind: type) -> tuple[str, dict[str, dict[str, str]]]:
    """The docstring of a dataclass without its fields, and what it says of them."""
    text = inspect.getdoc(kind) or ""
    told = {
        name: {"help": " ".join(words.replace("%", "%%").split())} | ({"metavar": value} if value else {})
        for name, value, words in _FIELD.findall(text)
    }
    return _FIELD.sub("", text).strip(), told


def _parts(kind: type) -> Iterator[tuple[Any, Any]]:
    """The fields of a dataclass, each with the dataclass that it is, if it is one."""
    types = get_type_hints(kind)
    for part in fields(kind):
        yield part, types[part.name] if is_dataclass(types[part.name]) else None


def _made(kind: type, values: dict[str, Any]) -> Any:
    """An instance of the dataclass, and of those in it, with the values that were given."""
    return kind(**{part.name: _made(group, values) if group else values[part.name] for part, group in _parts(kind)})
