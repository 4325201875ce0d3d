"""What the command writes besides its answer, and how it ends where a verdict is required."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.exact

Command = Callable[..., Any]
GAUSSIAN = ["--model", "gaussian:mean=0,cov=1"]


def test_a_report_and_a_picture_are_written(command: Command, data: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    page, picture = tmp_path / "fit.html", tmp_path / "fit.png"
    done = command("test", data, *GAUSSIAN, "--contamination", "0.1", "--report", str(page), "--plot", str(picture))
    assert (done.exit_code, done.stderr) == (0, "")
    assert picture.read_bytes().startswith(b"\x89PNG")
    text = page.read_text(encoding="utf-8")
    assert "<title>points.csv</title>" in text
    assert f"steinball test {data} --model gaussian:mean=0,cov=1 --contamination 0.1" in text
    assert re.search(r">row [1-9]\d*</td>", text)


def test_names_of_columns_reach_the_report_as_text(command: Command, tmp_path: Path) -> None:
    path, page = tmp_path / "points.csv", tmp_path / "fit.html"
    np.savetxt(
        path, np.random.default_rng(0).normal(size=(50, 2)), delimiter=";", header="<script>;height", comments=""
    )
    assert command("test", str(path), *GAUSSIAN, "--contamination", "0.1", "--report", str(page)).exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert "&lt;script&gt;</th>" in text
    assert text.count("<script") == 2


@pytest.mark.parametrize("more", [[], ["--aggregate"], ["--calibration", "betting"]], ids=["one", "many", "bets"])
def test_names_of_columns_reach_the_json(command: Command, tmp_path: Path, more: list[str]) -> None:
    path = tmp_path / "points.csv"
    np.savetxt(path, np.random.default_rng(0).normal(size=(50, 2)), delimiter=",", header="height,width", comments="")
    model = ["--model", "gaussian:mean=0", "--contamination", "0.1", "--json", *more]
    assert json.loads(command("test", str(path), *model).stdout)["details"]["columns"] == ["height", "width"]
    turned = command("test", str(path), *model, "--columns", "width,height")
    assert json.loads(turned.stdout)["details"]["columns"] == ["width", "height"]


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--report", "nowhere/fit.html", "does not exist; make it first"),
        ("--report", "fit.pdf", "must end in .html"),
        ("--plot", "fit.doc", "must end in .png, .pdf or .svg"),
        ("--require", "perfect", "`--require` must be good-enough, got `perfect`"),
        ("--max-rows", "1", "`--max-rows` must be at least 2, got 1"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_read(
    command: Command, option: str, value: str, words: str
) -> None:
    done = command("test", "missing.csv", *GAUSSIAN, "--contamination", "0.1", option, value)
    assert done.exit_code == 2
    assert words in " ".join(done.stderr.replace("│", "").split())


@pytest.mark.parametrize(
    ("share", "code", "verdict"), [("0.001", 1, "MISFIT"), ("0.1", 3, "UNDECIDED"), ("0.6", 0, "GOOD ENOUGH")]
)
def test_a_required_verdict_decides_the_exit_code(
    command: Command, data: str, share: str, code: int, verdict: str
) -> None:
    done = command(
        "test", data, *GAUSSIAN, "--contamination", share, "--calibration", "weighted", "--require", "good-enough"
    )
    assert done.stdout.startswith(verdict)
    assert done.exit_code == code


@pytest.mark.parametrize(
    "options", [["--contamination", "0"], ["--radius", "0"], ["--contamination", "5%", "--aggregate"]]
)
def test_what_can_never_be_shown_cannot_be_required(command: Command, data: str, options: list[str]) -> None:
    done = command("test", data, *GAUSSIAN, *options, "--require", "good-enough")
    assert done.exit_code == 2
    assert "needs a tolerance above 0" in done.stderr


def test_a_part_of_the_rows_is_drawn_by_the_seed_and_said(command: Command, data: str) -> None:
    words = ["test", data, *GAUSSIAN, "--contamination", "0.1", "--max-rows", "100"]
    assert "A random 100 of the 300 rows were tested (--max-rows 100 --seed 0)." in command(*words).stdout
    first, again, other = (json.loads(command(*words, "--json", "--seed", seed).stdout) for seed in ("0", "0", "1"))
    assert first == again
    assert first["subsample"] == {"rows": 100, "of": 300, "seed": 0}
    assert (first["n"], first["ksd"] == other["ksd"]) == (100, False)
    whole = command("test", data, *GAUSSIAN, "--contamination", "0.1", "--max-rows", "300")
    assert "A random" not in whole.stdout


def test_the_help_says_nothing_of_flags(command: Command) -> None:
    assert "bool" not in command("test", "--help").stdout.lower()
    assert "bool" not in command("--help").stdout.lower()
