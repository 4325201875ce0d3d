"""The command: output, exit codes, and what it says when it cannot decide."""

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

import numpy as np
import pytest

import steinball as sb
from steinball.cli import commands, outcome

pytestmark = pytest.mark.exact

Command = Callable[..., Any]
GAUSSIAN = ["--model", "gaussian:mean=0,cov=1"]


@pytest.fixture
def data(tmp_path: Path) -> str:
    """300 standard normal points, 15 of them (5 %) moved to 10."""
    x = np.random.default_rng(1).normal(size=300)
    x[:15] = 10.0
    np.savetxt(tmp_path / "points.csv", x, header="x", comments="")
    return str(tmp_path / "points.csv")


def test_not_rejected_is_0_and_rejected_is_1(command: Command, data: str) -> None:
    tolerant = command("test", data, *GAUSSIAN, "--contamination", "0.1")
    strict = command("test", data, *GAUSSIAN, "--radius", "0")
    assert (tolerant.exit_code, strict.exit_code) == (0, 1)
    assert "NOT REJECTED at level 0.05" in tolerant.stdout
    assert "\n  REJECTED at level 0.05" in strict.stdout
    assert tolerant.stderr == strict.stderr == ""


def test_json_is_the_result_and_nothing_else(command: Command, data: str) -> None:
    options = ["--contamination", "0.02", "--seed", "7", "--resamples", "199", "--level", "0.1", "--tau", "optimized"]
    done = command("test", data, *GAUSSIAN, *options, "--json")
    expected = sb.robust_ksd_test(
        np.loadtxt(data, skiprows=1),
        sb.models.Gaussian(),
        contamination=0.02,
        rng=7,
        calibration=sb.BoundaryBootstrap(199),
        level=0.1,
        tau="optimized",
    )
    assert json.loads(done.stdout) == json.loads(json.dumps(expected.to_dict()))
    assert done.exit_code == int(expected.rejected)


@pytest.mark.parametrize(
    ("name", "calibration"),
    [
        ("weighted", sb.WeightedBootstrap(199)),
        ("wild", sb.WildBootstrap(199)),
        ("betting", sb.Betting()),
        ("deviation", sb.DeviationBound()),
    ],
)
def test_every_calibration_has_a_name(command: Command, data: str, name: str, calibration: Any) -> None:
    options = ["--contamination", "0.02", "--resamples", "199", "--calibration", name, "--json"]
    done = command("test", data, *GAUSSIAN, *options)
    x = np.loadtxt(data, skiprows=1)
    expected = sb.robust_ksd_test(x, sb.models.Gaussian(), contamination=0.02, rng=0, calibration=calibration)
    assert json.loads(done.stdout) == json.loads(json.dumps(expected.to_dict()))


@pytest.mark.parametrize("calibration", ["boundary", "betting"])
def test_no_bandwidth_has_to_be_chosen(command: Command, data: str, calibration: str) -> None:
    done = command(
        "test", data, *GAUSSIAN, "--contamination", "0.02", "--aggregate", "--calibration", calibration, "--json"
    )
    found = json.loads(done.stdout)
    assert found["schema"] == "steinball.robust-ksdagg/2"
    assert len(found["kernels"]) == 5
    assert done.exit_code == int(found["rejected"])


def test_jumps_see_the_weights_of_modes(command: Command, tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=300) + np.where(np.arange(300) < 270, -6.0, 6.0)
    path = tmp_path / "x.csv"
    np.savetxt(path, x)
    model = tmp_path / "modes.py"
    model.write_text("import steinball as sb\nmodel = sb.models.GaussianMixture([0.5, 0.5], [-6.0, 6.0])\n")
    done = command("test", str(path), "--model", f"{model}:model", "--radius", "0", "--jumps")
    assert done.exit_code == 1, done.stderr


def test_the_same_command_gives_the_same_answer(command: Command, data: str) -> None:
    words = ["test", data, *GAUSSIAN, "--contamination", "0", "--json"]
    assert command(*words).stdout == command(*words).stdout
    assert json.loads(command(*words).stdout)["pvalue"] != json.loads(command(*words, "--seed", "3").stdout)["pvalue"]


def test_a_number_for_tau_is_a_bound_that_was_given(command: Command, data: str) -> None:
    done = command("test", data, *GAUSSIAN, "--contamination", "0", "--tau", "3.5", "--json")
    result = json.loads(done.stdout)
    assert (result["tau"], result["tau_kind"]) == (3.5, "given")


def test_a_radius_is_a_distance_with_the_untilted_kernel(command: Command, data: str) -> None:
    result = json.loads(command("test", data, *GAUSSIAN, "--radius", "0.125", "--json").stdout)
    assert (result["radius"], result["contamination"], result["tilt"]) == (0.125, None, None)


def test_a_kernel_may_be_chosen(command: Command, data: str) -> None:
    done = command("test", data, *GAUSSIAN, "--radius", "0.1", "--kernel", "gaussian:lengthscale=1.5")
    assert "Gaussian(lengthscale=1.5)" in done.stdout


@pytest.mark.parametrize("engine", ["dense", "blocked", "lowrank"])
def test_an_engine_may_be_chosen(command: Command, data: str, engine: str) -> None:
    words = ["test", data, *GAUSSIAN, "--contamination", "0", "--json", "--jobs", "1", "--memory-limit", "1 GB"]
    chosen, automatic = (json.loads(command(*words, *more).stdout) for more in (["--engine", engine], []))
    assert chosen["engine"] == engine
    assert (chosen["pvalue"], chosen["rejected"]) == (automatic["pvalue"], automatic["rejected"])


def test_how_the_work_is_done_reaches_the_library(command: Command, data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every option arrives under its own name, and its absence as the library's default."""
    seen: list[dict[str, Any]] = []
    real = sb.robust_ksd_test

    def spy(*args: Any, **options: Any) -> Any:
        seen.append({name: options[name] for name in ("engine", "n_jobs", "memory_limit", "progress")})
        return real(*args, **options)

    monkeypatch.setattr(sb, "robust_ksd_test", spy)
    words = ["test", data, *GAUSSIAN, "--contamination", "0.1"]
    command(*words)
    command(*words, "--engine", "blocked", "--jobs", "2", "--memory-limit", "2GB", "--no-progress")
    assert seen == [
        {"engine": "auto", "n_jobs": None, "memory_limit": None, "progress": "auto"},
        {"engine": "blocked", "n_jobs": 2, "memory_limit": "2GB", "progress": False},
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.csv", *GAUSSIAN, "--contamination", "0.1"], "nowhere.csv: No such file or directory."),
        (["DATA", *GAUSSIAN], "give one of `--contamination` (a share) and `--radius`"),
        (["DATA", *GAUSSIAN, "--contamination", "0.1", "--radius", "1"], "give one of `--contamination`"),
        (["DATA", "--contamination", "0.1"], "give one of `--model` and `--log-density`"),
        (["DATA", *GAUSSIAN, "--contamination", "1.5"], "`contamination` must be a finite number in [0, 1], got 1.5."),
        (["DATA", *GAUSSIAN, "--contamination", "nan"], "`contamination` must be a finite number"),
        (
            ["DATA", *GAUSSIAN, "--contamination", "0.1", "--tau", "big"],
            "`--tau` must be sample, auto, optimized or a number",
        ),
        (["DATA", *GAUSSIAN, "--radius", "0", "--aggregate"], "`--aggregate` goes with `--contamination`"),
        (
            ["DATA", *GAUSSIAN, "--contamination", "0", "--aggregate", "--calibration", "wild"],
            "BoundaryBootstrap or Betting",
        ),
        (["DATA", *GAUSSIAN, "--radius", "0", "--calibration", "jackknife"], "`--calibration` must be one of boundary"),
        (["DATA", *GAUSSIAN, "--contamination", "0.1", "--resamples", "10"], "Use at least 19."),
        (["DATA", *GAUSSIAN, "--contamination", "0.1", "--level", "0"], "`level` must be"),
        (["DATA", *GAUSSIAN, "--contamination", "0.1", "--seed", "-1"], "`rng` must be"),
        (["DATA", *GAUSSIAN, "--contamination", "0.1", "--engine", "steam"], "`engine` must be one of 'auto', 'dense'"),
        (["DATA", *GAUSSIAN, "--contamination", "0.1", "--jobs", "0"], "`n_jobs` must be None or a non-zero whole"),
        (["DATA", *GAUSSIAN, "--contamination", "0.1", "--memory-limit", "lots"], "`memory_limit` must be a positive"),
        (["DATA", *GAUSSIAN, "--contamination", "0.1", "--memory-limit", "9kB"], "or raise `memory_limit`."),
        (["DATA", "--model", "nothing", "--contamination", "0.1"], "`--model` must be one of"),
        (["DATA", *GAUSSIAN, "--contamination", "0.1", "--columns", "y"], "there is no column `y`"),
        (["DATA", "--model", "mine.py:score", "--contamination", "0.1"], "there is no file `mine.py`"),
    ],
)
def test_what_is_not_a_decision_is_2_and_one_line(
    command: Command, data: str, arguments: list[str], message: str
) -> None:
    done = command("test", *(data if word == "DATA" else word for word in arguments))
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("steinball: error: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr


@pytest.mark.parametrize(
    "arguments", [["test"], ["test", "x.csv", "--color"], ["nothing"], ["test", "x.csv", "--level", "a"]]
)
def test_wrong_usage_is_2(command: Command, arguments: list[str]) -> None:
    assert command(*arguments).exit_code == 2


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


def test_what_the_users_file_prints_does_not_reach_the_json(command: Command, data: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("print('loading')\ndef score(x):\n    print('scoring')\n    return -x\n")
    done = command("test", data, "--model", f"{tmp_path / 'mine.py'}:score", "--contamination", "0.1", "--json")
    assert json.loads(done.stdout)["n"] == 300
    assert "loading" in done.stderr


def test_warnings_are_one_line_on_stderr(command: Command, data: str, tmp_path: Path) -> None:
    source = "import warnings\ndef score(x):\n    warnings.warn('careful,\\n  please')\n    return -x\n"
    (tmp_path / "mine.py").write_text(source)
    done = command("test", data, "--model", f"{tmp_path / 'mine.py'}:score", "--contamination", "0.1", "--json")
    assert done.stderr == "steinball: warning: careful, please\n"
    assert json.loads(done.stdout)["rejected"] in (True, False)


def test_an_interrupt_is_130(command: Command, data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "read_samples", interrupted)
    done = command("test", data, *GAUSSIAN, "--contamination", "0.1")
    assert (done.exit_code, done.stdout, done.stderr) == (130, "", "steinball: interrupted\n")


@pytest.mark.parametrize("error", [MemoryError(), RecursionError("deep"), OSError("odd"), AssertionError()])
def test_no_error_of_any_kind_looks_like_a_rejection(
    command: Command, data: str, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(commands, "read_samples", fail)
    done = command("test", data, *GAUSSIAN, "--contamination", "0.1")
    assert done.exit_code == 2
    assert type(error).__name__ in done.stderr


def test_the_version(command: Command) -> None:
    done = command("--version")
    assert (done.exit_code, done.stdout) == (0, f"steinball {sb.__version__}\n")


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
    process = start("test", data, *GAUSSIAN, "--contamination", "0.1", env={**os.environ, "PYTHONIOENCODING": "ascii"})
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
