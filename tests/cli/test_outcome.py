"""How a command ends: exit codes, one line on stderr, text on any terminal, a page and a picture."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steinball.cli import commands, outcome

pytestmark = pytest.mark.exact

Command = Callable[..., Any]
GAUSSIAN = ["--model", "gaussian:mean=0,cov=1"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def score(x):\n    return 1 / 0\n", "mine.py, line 2: ZeroDivisionError: division by zero"),
        ("def half(x):\n    return x / None\ndef score(x):\n    return half(1)\n", "mine.py, line 2: TypeError: unsup"),
        ("import nothing_like_this\n", "mine.py, line 1: ModuleNotFoundError: No module named 'nothing_like_this'"),
        ("import sys\nsys.exit(0)\n", "mine.py, line 2: SystemExit: 0"),
        ("raise ValueError('two\\nlines')\n", "mine.py, line 1: ValueError: two lines"),
        ("def score(x:\n", "SyntaxError: "),
        ("def score(x):\n    return 0 * x + float('nan')\n", "must be finite"),
    ],
)
@pytest.mark.parametrize("folder", ["", "ABSOLUTE"])
def test_an_error_in_the_users_file_is_2_with_its_line(
    command: Command, data: str, tmp_path: Path, source: str, message: str, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(source)
    file = Path(folder.replace("ABSOLUTE", str(tmp_path)), "mine.py")
    done = command("test", data, "--model", f"{file}:score", "--contamination", "0.1")
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert message in done.stderr


def test_debug_adds_the_traceback(command: Command, data: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def score(x):\n    return 1 / 0\n")
    done = command("test", data, "--model", f"{tmp_path / 'mine.py'}:score", "--contamination", "0.1", "--debug")
    assert done.exit_code == 2
    assert "Traceback" in done.stderr


def test_warnings_are_one_line_on_stderr(command: Command, data: str, tmp_path: Path) -> None:
    source = "import warnings\ndef score(x):\n    warnings.warn('careful,\\n  please')\n    return -x\n"
    (tmp_path / "mine.py").write_text(source)
    done = command("test", data, "--model", f"{tmp_path / 'mine.py'}:score", "--contamination", "0.1", "--json")
    assert done.stderr == "steinball: warning: careful, please\n"
    assert json.loads(done.stdout)["rejected"] in (True, False)


def test_an_interrupt_is_130(command: Command, data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "read_table", interrupted)
    done = command("test", data, *GAUSSIAN, "--contamination", "0.1")
    assert (done.exit_code, done.stdout, done.stderr) == (130, "", "steinball: interrupted\n")


@pytest.mark.parametrize(
    "error", [MemoryError(), RecursionError("deep"), OSError("odd"), AssertionError(), ValueError("odd")]
)
def test_no_error_of_any_kind_looks_like_a_rejection(
    command: Command, data: str, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(commands, "read_table", fail)
    done = command("test", data, *GAUSSIAN, "--contamination", "0.1")
    assert done.exit_code == 2
    assert type(error).__name__ in done.stderr


def test_the_handling_of_warnings_is_put_back() -> None:
    before = warnings.showwarning
    with outcome.ending():
        assert warnings.showwarning is not before
    assert warnings.showwarning is before


def start(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    return launch(["-m", "steinball", *arguments], **options)


def launch(arguments: list[str], **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


# A shell that runs the suite in the background makes everything below it deaf to Ctrl-C, until Python hears otherwise.
LISTENING = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from steinball_command import main
main()
"""


def test_a_real_interrupt_of_a_real_process_is_130(data: str, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    source = f"import pathlib, time\ndef score(x):\n    pathlib.Path({str(ready)!r}).touch()\n    time.sleep(60)\n"
    (tmp_path / "mine.py").write_text(source)
    arguments = ["test", data, "--model", f"{tmp_path / 'mine.py'}:score", "--contamination", "0.1"]
    process = launch(["-c", LISTENING, *arguments])
    deadline = time.monotonic() + 60
    while not ready.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "steinball: interrupted\n")


def test_a_terminal_without_greek_letters_gets_a_report_too(data: str) -> None:
    process = start(
        "test", data, *GAUSSIAN, "--contamination", "0.1", "--details", env={**os.environ, "PYTHONIOENCODING": "ascii"}
    )
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert "NOT REJECTED" in out


def test_a_reader_that_leaves_early_is_no_rejection(data: str) -> None:
    process = start("test", data, *GAUSSIAN, "--contamination", "0.1")
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(timeout=60) == 2


def test_what_a_file_says_cannot_steer_the_terminal(command: Command, tmp_path: Path) -> None:
    (tmp_path / "points.csv").write_text("y\x1b[31m\n1\n\x1b[2J\u202eabc\n")
    done = command("test", str(tmp_path / "points.csv"), "--model", "gaussian", "--contamination", "0.1")
    assert done.exit_code == 2
    assert r"column 1 (`y\x1b[31m`): `\x1b[2J\u202eabc` is not a number" in done.stderr
    assert done.stderr.removesuffix("\n").isprintable()


# Files, and verdicts that are required


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
        ("--require", "perfect", "`--require` must be close, got `perfect`"),
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
    ("share", "code", "verdict"), [("0.001", 1, "MISFIT"), ("0.1", 3, "UNDECIDED"), ("0.6", 0, "CLOSE IN KSD")]
)
def test_a_required_verdict_decides_the_exit_code(
    command: Command, data: str, share: str, code: int, verdict: str
) -> None:
    done = command("test", data, *GAUSSIAN, "--contamination", share, "--calibration", "weighted", "--require", "close")
    assert done.stdout.startswith(verdict)
    assert done.exit_code == code


@pytest.mark.parametrize(
    "options", [["--contamination", "0"], ["--radius", "0"], ["--contamination", "5%", "--aggregate"]]
)
def test_what_can_never_be_shown_cannot_be_required(command: Command, data: str, options: list[str]) -> None:
    done = command("test", data, *GAUSSIAN, *options, "--require", "close")
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
