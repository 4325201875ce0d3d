"""The words of a command line to a dataclass of options; help, and what is said of words that nobody knows."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import steinball_command.options as known
from steinball.cli import commands
from steinball_command import guard
from steinball_command.guard import parse

pytestmark = pytest.mark.exact

Command = Callable[..., Any]


def test_options_are_found_in_their_groups() -> None:
    words = "test x.csv --columns a,b --no-header --max-rows 7 --fit normal --contamination 5% --radius -1 --jumps"
    options = parse([*words.split(), "--seed=3", "--jobs", "-1", "--json", "--decimal", ","])
    file: dict[str, Any] = {"data": "x.csv", "columns": "a,b", "header": False, "decimal": ",", "max_rows": 7}
    question: dict[str, Any] = {"fit": "normal", "contamination": 0.05, "radius": "-1"}
    assert options == known.GoodnessOfFit(**file, **question, seed=3, jumps=True, jobs=-1, json=True)
    assert parse(["test", "x.csv", "--na", "k.A.", "--na", "-99", "--na=-x"]).na == ["k.A.", "-99", "-x"]


def documented(kind: type) -> list[tuple[str, str]]:
    """The options of a command and of its groups, and what docstrings say of them."""
    told = [guard._documented(one)[1] for one in (*reversed(kind.__bases__), kind)]
    return [(name, words["help"]) for group in told for name, words in group.items()]


def test_every_command_has_a_function_and_every_option_one_meaning() -> None:
    assert set(commands._COMMANDS) == set(known.COMMANDS.values())
    for kind in known.COMMANDS.values():
        names = [name for name, _ in documented(kind)]
        assert len(set(names)) == len(names)
        assert all(told for _, told in documented(kind))
        fields = [name for group in kind.__mro__[:-1] for name in vars(group).get("__annotations__", {})]
        assert len(set(fields)) == len(fields) - (kind is known.Watch)  # the file of a feed may be standard input
        hidden = {"na", "key", "max_rows", "log_density", "backend", "fit"} if kind is known.Watch else set()
        assert set(names) == set(fields) - hidden


def test_what_a_group_inherits_and_does_not_document_is_no_option(command: Command) -> None:
    assert parse(["monitor", "--decimal", ",", "--missing", "drop"]) == known.Watch(decimal=",", missing="drop")
    for name in ("--na", "--key", "--max-rows", "--log-density", "--backend", "--fit"):
        assert f"there is no `{name}`" in command("monitor", name, "7").stderr
        assert f" {name} " not in command("monitor", "--help").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["test", "x.csv", "--colums", "a"], "there is no `--colums`; did you mean `--columns`?; see steinball test"),
        (["test", "x.csv", "--model=normal", "--modle=t"], "there is no `--modle=t`; did you mean `--model`?"),
        (["test", "x.csv", "y.csv"], "there is no `y.csv`; see steinball test --help."),
        (["test", "x.csv", "--col", "a"], "there is no `--col`"),
        (["test"], "the following arguments are required: DATA; see steinball test --help."),
        (["test", "x.csv", "--seed", "a"], "argument --seed: invalid int value: 'a'; see steinball test"),
        (["test", "x.csv", "--level"], "argument --level: expected one argument; see steinball test --help."),
        (["nothing"], "invalid choice: 'nothing'"),
        (["--color"], "there is no `--color`; see steinball --help."),
    ],
)
def test_wrong_usage_is_2_and_one_line(command: Command, words: list[str], message: str) -> None:
    done = command(*words)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("steinball: error: ")
    assert message in done.stderr


@pytest.mark.parametrize(("text", "share"), [("5%", 0.05), (" 2.5 %", 0.025), ("0.1", 0.1), ("0.05", 0.05)])
def test_a_share_may_be_a_percentage(text: str, share: float) -> None:
    assert parse(["test", "x.csv", "--level", text]).level == pytest.approx(share)


@pytest.mark.parametrize("text", ["%5", "5%%", "five", "", "5", "101%", "inf"])
def test_a_share_is_a_number_up_to_one(command: Command, text: str) -> None:
    done = command("test", "x.csv", "--level", text)
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"argument --level: must be a share such as 0.05 or 5%, got `{text}`; see steinball test" in done.stderr


@pytest.mark.parametrize("words", [["--help"], ["test", "-h"], ["demo", "--help"]])
def test_help_is_written_and_loads_nothing(words: list[str]) -> None:
    code = "from steinball_command import main; main()"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code, *words], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("usage: steinball")
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "argparse" in imported
    assert imported & {"steinball", "numpy", "scipy"} == set()


def test_help_names_every_option_once_and_fits_the_terminal(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = command("test", "--help").stdout
    for name in (name.replace("_", "-") for name, _ in documented(known.GoodnessOfFit)):
        assert len(re.findall(rf"(?m)^  --{name}\b(?!-)", text)) == (name != "data")
    assert max(map(len, text.splitlines())) <= 80
    assert "such as 0.05 or 5%\n" in text.replace("\n" + " " * 27, " ")


def test_without_a_command_there_is_help_and_no_decision(command: Command) -> None:
    done = command()
    assert done.exit_code == 2
    assert "demo" in done.stdout
    assert "test" in done.stdout
