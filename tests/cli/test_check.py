"""``steinball check``: verdicts and exit codes, what is refused, what is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.cli import commands
from steinball.cli.commands import run
from steinball.cli.table import Table
from steinball_command.guard import parse

pytestmark = pytest.mark.exact


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "x.csv"
    np.savetxt(path, np.random.default_rng(0).normal(size=2000), header="height", comments="")
    return str(path)


def check(*words: str) -> int:
    return run(parse(["check", *words]))


@pytest.mark.parametrize(
    ("words", "code", "verdict"),
    [
        (["--model", "normal:mean=0,sd=1", "--tolerance", "10%"], 0, "GOOD ENOUGH"),
        (["--model", "normal:mean=0,sd=1", "--tolerance", "10%", "--require", "good-enough"], 0, "GOOD ENOUGH"),
        (["--model", "normal:mean=0,sd=1", "--tolerance", "1%", "--require", "good-enough"], 3, "UNDECIDED"),
        (["--model", "normal:mean=0,sd=1.5", "--contamination", "5%"], 1, "MISFIT"),
        (["--fit", "normal", "--contamination", "5%"], 0, "UNDECIDED"),
    ],
)
def test_the_exit_code_follows_the_verdict(
    words: list[str], code: int, verdict: str, data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(data, *words) == code
    lines = capsys.readouterr().out.splitlines()
    assert lines["--fit" in words].startswith(verdict)  # a fit says its closest member first


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give one of `--contamination 5%`"),
        (["--contamination", "5%", "--tolerance", "5%"], "give one of `--contamination 5%`"),
        (["--tolerance", "5%", "--max-rows", "-1"], "`--max-rows` must be at least 2, got -1"),
        (["--tolerance", "5%", "--require", "perfect"], "`--require` must be good-enough or close, got `perfect`"),
        (["--tolerance", "0", "--require", "good-enough"], "`--require` needs a tolerance above 0"),
        (["--tolerance", "5%", "--fit", "normal"], "give one of `--model`, `--log-density` and `--fit`"),
    ],
)
def test_what_does_not_go_together_is_refused(
    words: list[str], message: str, data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        check(data, "--model", "normal", *words)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_good_enough_is_not_required_of_a_score(data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "own.py").write_text("def score(x):\n    return -x\n", encoding="utf-8")
    words = [data, "--model", f"{tmp_path / 'own.py'}:score", "--contamination", "30%"]
    assert check(*words, "--require", "close") == 0
    assert capsys.readouterr().out.startswith("CLOSE IN KSD")
    with pytest.raises(SystemExit) as ended:
        check(*words, "--require", "good-enough")
    assert ended.value.code == 2


def test_json_and_a_page_name_the_column(data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "fit.html"
    check(data, "--model", "normal:mean=0,sd=1.5", "--tolerance", "5%", "--json", "--report", str(page))
    found: Any = json.loads(capsys.readouterr().out)
    assert found["schema"] == "steinball.check/1"
    assert found["verdict"] == "misfit"
    assert "Where height is" in page.read_text(encoding="utf-8")


def test_tolerance_level_and_seed_reach_the_library(data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Seen(Exception):
        pass

    def spy(x: Any, model: Any, **asked: Any) -> None:
        raise Seen(asked)

    monkeypatch.setattr(sb, "check", spy)
    table, words = Table(np.zeros((3, 1))), ["--model", "normal", "--tolerance", "5%", "--level", "1%", "--seed", "7"]
    with pytest.raises(Seen) as seen:
        commands._check(table, parse(["check", data, *words]))
    assert seen.value.args == ({"tolerance": 0.05, "level": 0.01, "rng": 7},)


@pytest.mark.parametrize(("share", "code"), [("10%", 0), ("1%", 3)])
def test_good_enough_may_be_required_of_a_family_by_either_command(share: str, code: int, data: str) -> None:
    """A family is compared in regions under a tolerance, which can show it: before, the only end was 3."""
    for command in ("check", "test"):
        words = [command, data, "--fit", "normal", "--contamination", share, "--require", "good-enough"]
        assert run(parse(words)) == code


def test_good_enough_is_not_required_without_a_tolerance(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(parse(["test", data, "--fit", "normal", "--require", "good-enough"]))
    assert "`--require good-enough` needs a tolerance above 0" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run(parse(["test", data, "--model", "normal", "--contamination", "5%", "--require", "good-enough"]))
    assert "`steinball check … --require good-enough` says that" in capsys.readouterr().err
