"""How a command ends: exit codes, one line on stderr, and text on any terminal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steinball.cli import commands, outcome

pytestmark = pytest.mark.exact

Command = Callable[..., Any]
GAUSSIAN = ["--model", "gaussian:mean=0,cov=1"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def score(x):\n    return 1 / 0\n", "mine.py, line 2: ZeroDivisionError: division by zero"),
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


@pytest.mark.parametrize("error", [MemoryError(), RecursionError("deep"), OSError("odd"), AssertionError()])
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
from steinball.cli import main
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
