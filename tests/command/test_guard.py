"""Exit code 1 is a decision and nothing else, whatever happens before, during and after the run."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steinball_command import guard

pytestmark = pytest.mark.exact

Command = Callable[..., Any]

# The ways in: the module, what the installed command does, which does not look into the working folder, and the
# library as a program, which Python loads before anything can be guarded.
MODULE, SCRIPT = ["-m", "steinball_command"], ["-P", "-c", "from steinball_command import main; main()"]
LIBRARY = ["-m", "steinball"]


@pytest.fixture
def data(tmp_path: Path) -> str:
    """50 standard normal points."""
    np.savetxt(tmp_path / "points.csv", np.random.default_rng(1).normal(size=50), header="x", comments="")
    return str(tmp_path / "points.csv")


def arguments(data: str, model: str = "gaussian") -> list[str]:
    return ["test", data, "--model", model, "--contamination", "0.1", "--resamples", "19"]


def ended(way: list[str], words: list[str], first: str = "", **options: Any) -> subprocess.CompletedProcess[str]:
    """How a process of its own ended, after ``first`` in its shell."""
    shell = ["sh", "-c", first + '; exec "$@"', "sh"] if first else []
    settings = {"capture_output": True, "text": True, "timeout": 120, "check": False} | options
    done: subprocess.CompletedProcess[str] = subprocess.run([*shell, sys.executable, *way, *words], **settings)
    return done


def path_with(folder: Path) -> dict[str, str]:
    """An environment in which modules of ``folder`` come first."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("class Stop(BaseException): pass\nraise Stop('here')\n", "line 2: Stop: here"),
        ("def score(x):\n    raise GeneratorExit\n", "line 2: GeneratorExit"),
        ("raise SystemExit(1)\n", "line 1: SystemExit: 1"),
        ("raise BrokenPipeError(32, 'Broken pipe')\n", "line 1: BrokenPipeError: [Errno 32] Broken pipe"),
        ("class Odd(Exception):\n    def __str__(self): return 1 / 0\nraise Odd\n", "line 3: Odd"),
        ("raise BaseExceptionGroup('two', [KeyError('a'), SystemExit(1)])\n", "line 1: BaseExceptionGroup: two"),
    ],
)
def test_whatever_the_users_file_raises_is_2_and_one_line(
    command: Command, data: str, tmp_path: Path, source: str, message: str
) -> None:
    (tmp_path / "mine.py").write_text(source)
    done = command(*arguments(data, f"{tmp_path / 'mine.py'}:score"))
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("steinball: error: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr


@pytest.mark.parametrize("way", [MODULE, SCRIPT], ids=["module", "script"])
def test_a_library_that_ends_the_process_by_itself_is_2(data: str, tmp_path: Path, way: list[str]) -> None:
    """As OpenBLAS does where it gets no memory, and OpenMP where it gets no thread: by `exit` of C."""
    (tmp_path / "mine.py").write_text("import ctypes\ndef score(x):\n    ctypes.CDLL(None).exit(1)\n")
    assert ended(way, arguments(data, f"{tmp_path / 'mine.py'}:score")).returncode == 2
    (tmp_path / "scipy.py").write_text("import ctypes\nctypes.CDLL(None).exit(1)\n")
    assert ended(way, arguments(data), env=path_with(tmp_path)).returncode == 2


@pytest.mark.parametrize("way", [MODULE, SCRIPT, LIBRARY], ids=["module", "script", "library"])
@pytest.mark.parametrize("rejected", [False, True])
def test_a_decision_is_what_the_process_ends_with(data: str, way: list[str], rejected: bool) -> None:
    mean = "gaussian:mean=5" if rejected else "gaussian"
    done = ended(way, [*arguments(data, mean), "--json"])
    assert (done.returncode, done.stderr) == (int(rejected), "")
    assert json.loads(done.stdout)["rejected"] is rejected


@pytest.mark.parametrize("way", [MODULE, SCRIPT], ids=["module", "script"])
@pytest.mark.parametrize(
    ("library", "source", "message"),
    [
        ("scipy", "raise ImportError('no\\nlibrary')", "ImportError: no library"),
        ("numpy", "raise SystemExit(1)", "ImportError: a library ended the process while it was loaded, with 1."),
        ("scipy", "raise SystemExit(0)", "ImportError: a library ended the process while it was loaded, with 0."),
        ("threadpoolctl", "raise MemoryError", "MemoryError"),
        ("array_api_compat", "class Stop(BaseException): pass\nraise Stop", "Stop"),
    ],
)
def test_a_broken_dependency_is_2_and_one_line(
    data: str, tmp_path: Path, way: list[str], library: str, source: str, message: str
) -> None:
    (tmp_path / f"{library}.py").write_text(source)
    exact = [*arguments(data), "--calibration", "exact"]  # asks how fast this machine is, by threadpoolctl
    done = ended(way, exact, env=path_with(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"steinball: error: {message}\n"


@pytest.mark.parametrize("code", [None, 0, 1, 3, "why"])
def test_only_what_a_command_returns_is_a_decision(
    command: Command, monkeypatch: pytest.MonkeyPatch, code: Any
) -> None:
    def leave(options: object) -> int:
        raise SystemExit(code)

    monkeypatch.setattr("steinball.cli.commands.run", leave)
    assert command("demo").exit_code == 2
    monkeypatch.setattr("steinball.cli.commands.run", lambda options: 3)
    assert command("demo").exit_code == 3


def test_a_file_called_like_a_module_of_python_changes_nothing(data: str, tmp_path: Path) -> None:
    """Beside the data, in the working folder, and beside the user's own file."""
    (tmp_path / "random.py").write_text("raise SystemExit(1)\n")
    (tmp_path / "mine.py").write_text("def log_density(x):\n    return -(x**2).sum(axis=1) / 2\n")
    log_density = ["test", data, "--log-density", "mine.py:log_density", "--contamination", "0.1", "--json"]
    for way in (MODULE, SCRIPT):
        done = ended(way, log_density, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout)["rejected"] is False


def test_a_neighbor_of_the_users_file_comes_first_for_it_and_last_for_us(
    command: Command, data: str, tmp_path: Path
) -> None:
    (tmp_path / "this.py").write_text("FACTOR = -1.0\n")  # Python has a module of this name, which prints a poem
    (tmp_path / "mine.py").write_text("import this\ndef score(x):\n    return this.FACTOR * x\n")
    before = list(sys.path)
    try:
        assert command(*arguments(data, f"{tmp_path / 'mine.py'}:score")).exit_code == 0
        assert sys.path == [*before, str(tmp_path)]
    finally:
        sys.path[:] = before
        sys.modules.pop("this", None)


@pytest.mark.parametrize("way", [MODULE, SCRIPT], ids=["module", "script"])
def test_too_little_address_space_is_2_and_one_line(data: str, way: list[str]) -> None:
    """At 200 MB OpenBLAS would wait for ever, at 100 MB it would end the process with 1."""
    for size in (100, 200, 400):
        done = ended(way, arguments(data), f"ulimit -v {size * 10**6 // 1024}")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"steinball: error: MemoryError: the address space is limited to {size} MB")
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("room", "given", "threads"),
    [
        (None, {}, None),
        (700 * 10**6, {}, "3"),
        (700 * 10**6, {"OPENBLAS_NUM_THREADS": "2"}, "2"),
        (700 * 10**6, {"OPENBLAS_NUM_THREADS": "16"}, "3"),
        (700 * 10**6, {"OMP_NUM_THREADS": "1"}, None),
        (10**12, {}, None),
    ],
)
def test_in_little_address_space_there_are_fewer_threads(
    monkeypatch: pytest.MonkeyPatch, room: int | None, given: dict[str, str], threads: str | None
) -> None:
    resource = pytest.importorskip("resource")
    soft = resource.RLIM_INFINITY if room is None else room
    monkeypatch.setattr(resource, "getrlimit", lambda which: (soft, resource.RLIM_INFINITY))
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    guard._fit_into_address_space()
    assert os.environ.get("OPENBLAS_NUM_THREADS") == threads
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")  # so that what was set here is put back


def closed_pipe() -> int:
    """The end of a pipe that nobody reads."""
    read, write = os.pipe()
    os.close(read)
    return write


@pytest.mark.parametrize("words", [["--help"], ["test", "--help"], ["--version"], []])
def test_help_that_nobody_reads_is_no_rejection(words: list[str]) -> None:
    descriptor = closed_pipe()
    done = ended(MODULE, words, capture_output=False, stdout=descriptor, stderr=subprocess.PIPE)
    os.close(descriptor)
    assert (done.returncode, done.stderr) == (2, "")


def test_a_result_that_nobody_reads_is_no_decision(data: str) -> None:
    for more in ([], ["--json"]):
        descriptor = closed_pipe()
        done = ended(MODULE, [*arguments(data), *more], capture_output=False, stdout=descriptor, stderr=subprocess.PIPE)
        os.close(descriptor)
        assert (done.returncode, done.stderr) == (2, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_no_decision(data: str) -> None:
    with open("/dev/full", "w") as full:
        for words in (arguments(data), ["--help"]):
            done = ended(MODULE, words, capture_output=False, stdout=full, stderr=subprocess.PIPE)
            assert done.returncode == 2
            assert done.stderr == "steinball: error: OSError: [Errno 28] No space left on device\n"


def test_what_waits_to_be_written_and_cannot_be_is_no_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.StringIO):
        def flush(self) -> None:
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Full())
        assert guard._finish(guard.NOT_REJECTED) == guard.NOT_A_DECISION
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", Full())
        assert guard._finish(guard.REJECTED) == guard.REJECTED


def test_without_a_standard_error_the_decision_is_the_same(data: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("print('loading')\ndef score(x):\n    return -x\n")
    words = [*arguments(data, f"{tmp_path / 'mine.py'}:score"), "--json"]
    done = ended(MODULE, words, "exec 2>&-")
    assert done.returncode == 0
    assert json.loads(done.stdout)["rejected"] is False
    words[1] = "nowhere.csv"
    done = ended(MODULE, words, "exec 2>&-")
    assert (done.returncode, done.stdout) == (2, "")


# A shell that runs the suite in the background makes everything below it deaf to Ctrl-C, until Python hears otherwise.
LISTENING = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from steinball_command import main
main()
"""

# A library that is interrupted while it is loaded, and makes another error of it, as extensions in C may.
SLOW = """
import pathlib, time
pathlib.Path(READY).touch()
try:
    time.sleep(60)
except BaseException:
    raise ImportError("could not be loaded") from None
"""


def test_an_interrupt_while_libraries_are_loaded_is_130(data: str, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    (tmp_path / "scipy.py").write_text(SLOW.replace("READY", repr(str(ready))))
    command = [sys.executable, "-c", LISTENING, *arguments(data)]
    options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, env=path_with(tmp_path), **options)
    deadline = time.monotonic() + 60
    while not ready.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "steinball: interrupted\n")


# Python's own print, its original stream, the descriptor, another process, and C, which keeps what it prints.
NOISY = """
import atexit, ctypes, os, subprocess, sys, threading
def shout(when):
    print("print", when)
    sys.__stdout__.write("stream " + when)
    sys.__stdout__.flush()
    os.write(1, b"descriptor " + when.encode())
    subprocess.run([sys.executable, "-c", "print('process')"])
    ctypes.CDLL(None).printf(b"C %s", when.encode())
shout("loading")
atexit.register(shout, "leaving")
def score(x):
    shout("scoring")
    return -x
"""


@pytest.mark.parametrize("to_file", [False, True])
def test_nothing_that_a_users_file_writes_reaches_our_output(data: str, tmp_path: Path, to_file: bool) -> None:
    (tmp_path / "mine.py").write_text(NOISY)
    words = [*arguments(data, f"{tmp_path / 'mine.py'}:score"), "--json"]
    if to_file:
        with open(tmp_path / "out.json", "w+") as out:
            done = ended(MODULE, words, capture_output=False, stdout=out, stderr=subprocess.PIPE)
            out.seek(0)
            text = out.read()
    else:
        done = ended(MODULE, words)
        text = done.stdout
    assert done.returncode == 0
    assert json.loads(text)["n"] == 50
    for word in ("print", "stream", "descriptor", "C"):
        for when in ("loading", "scoring", "leaving"):
            assert f"{word} {when}" in done.stderr
    assert "process" in done.stderr


def test_a_backend_that_is_not_used_is_refused(command: Command, data: str, tmp_path: Path) -> None:
    for backend in ("foo", "numerical", "torch"):
        done = command(*arguments(data), "--backend", backend)
        assert done.exit_code == 2
        assert f"`--backend {backend}` differentiates a log density; it goes with `--log-density`." in done.stderr
    (tmp_path / "mine.py").write_text("def log_density(x):\n    return -(x**2).sum(axis=1) / 2\n")
    words = ["test", data, "--log-density", f"{tmp_path / 'mine.py'}:log_density", "--contamination", "0.1"]
    assert command(*words).exit_code == 0
    done = command(*words, "--backend", "foo")
    assert done.exit_code == 2
    assert '`backend` must be "jax", "torch" or "numerical", got \'foo\'.' in done.stderr
