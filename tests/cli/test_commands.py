"""The command: output, exit codes, and what it says when it cannot decide."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.cli import commands, outcome
from steinball.cli.datafiles import read_table
from steinball_command.options import COMMANDS, DataFile

pytestmark = pytest.mark.exact

Command = Callable[..., Any]
GAUSSIAN = ["--model", "gaussian:mean=0,cov=1"]


def test_not_rejected_is_0_and_rejected_is_1(command: Command, data: str) -> None:
    tolerant = command("test", data, *GAUSSIAN, "--contamination", "0.1")
    strict = command("test", data, *GAUSSIAN, "--radius", "0")
    assert (tolerant.exit_code, strict.exit_code) == (0, 1)
    assert tolerant.stdout.startswith("UNDECIDED at level 0.05")
    assert strict.stdout.startswith("REJECTED at level 0.05")
    assert tolerant.stderr == strict.stderr == ""


def as_json(result: Any) -> dict[str, Any]:
    """What the command prints of the result for its file, whose column has a name."""
    told: dict[str, Any] = json.loads(json.dumps(result.to_dict()))
    return {**told, "details": {**told["details"], "columns": ["x"]}}


def test_json_is_the_result_and_nothing_else(command: Command, data: str) -> None:
    options = ["--contamination", "0.02", "--seed", "7", "--resamples", "199", "--level", "0.1", "--tau", "optimized"]
    done = command("test", data, *GAUSSIAN, *options, "--json")
    expected = sb.robust_ksd_test(
        np.loadtxt(data, skiprows=1),
        sb.models.Gaussian(),
        contamination=0.02,
        rng=7,
        calibration=sb.BoundaryBootstrap(199, "scaled"),
        level=0.1,
        tau="optimized",
    )
    assert json.loads(done.stdout) == as_json(expected)
    assert done.exit_code == int(expected.rejected)


def test_a_family_is_fitted_and_tested(command: Command, data: str) -> None:
    """Outliers among the data: no normal distribution fits, and some does under a tolerance."""
    x = np.loadtxt(data, skiprows=1)
    for options, share in (([], 0.0), (["--contamination", "10%"], 0.1)):
        done = command("test", data, "--fit", "normal", *options, "--json")
        expected = sb.fit_test(x, "normal", contamination=share, rng=0)
        assert json.loads(done.stdout) | {"details": {}} == as_json(expected) | {"details": {}}
        assert done.exit_code == int(expected.rejected)
    done = command("test", data, "--fit", "normal", "--calibration", "refit", "--resamples", "39")
    assert "parametric" not in done.stderr
    assert "39 draws" in done.stdout


def test_a_file_with_decimal_commas_is_read(command: Command, tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=60).round(3)
    rows = "".join(f"{i};{value}\n".replace(".", ",") for i, value in enumerate(x))
    path = tmp_path / "excel.csv"
    path.write_text("number;height\n" + rows)
    options = ["test", str(path), "--columns", "height", *GAUSSIAN, "--contamination", "5%"]
    assert "`--decimal ,`" in command(*options).stderr
    done = command(*options, "--decimal", ",", "--json")
    expected = sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, rng=0)
    assert json.loads(done.stdout)["ksd"] == pytest.approx(expected.ksd)
    assert "must be a point or a comma" in command(*options, "--decimal", ";").stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--model", "normal"], "goes without `--model`"),
        (["--radius", "0"], "goes without `--radius`"),
        (["--jumps"], "goes without `--jumps`"),
        (["--calibration", "weighted"], "must be one of projected, refit or FILE.py:NAME with `--fit`"),
    ],
    ids=["model", "radius", "jumps", "calibration"],
)
def test_what_describes_a_known_model_does_not_go_with_a_family(
    command: Command, data: str, options: list[str], words: str
) -> None:
    done = command("test", data, "--fit", "normal", *options)
    assert done.exit_code == 2
    assert words in done.stderr


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
    assert json.loads(done.stdout) == as_json(expected)


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


OWN = """
from dataclasses import dataclass
import steinball as sb

@dataclass(frozen=True)
class Rational(sb.kernels.Kernel):
    \"\"\"1 / (1 + r²/4), by its own profile.\"\"\"

    metric: None = None

    def profile(self, r2):
        base = 1 / (1 + r2 / 4)
        return base, -(base**2) / 4, r2 * base**3 / 8

kernel = Rational()
calibration = sb.WeightedBootstrap(199)
ball = sb.FixedRadius(0.02)
"""


def test_kernels_calibrations_and_tolerated_sets_come_from_a_file(command: Command, data: str, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    own = f"{tmp_path / 'own.py'}:"
    words = ["--radius", f"{own}ball", "--calibration", f"{own}calibration", "--kernel", f"{own}kernel"]
    done = command("test", data, *GAUSSIAN, *words, "--json")
    kernel = sb.kernels.InverseMultiquadric(2.0, 1.0)
    expected = sb.ksd_test(
        np.loadtxt(data, skiprows=1), sb.models.Gaussian(), radius=sb.FixedRadius(0.02), kernel=kernel,
        calibration=sb.WeightedBootstrap(199), rng=0,
    )  # fmt: skip
    told = json.loads(done.stdout)
    assert told["ksd"] == pytest.approx(expected.ksd, rel=1e-12)
    assert (told["pvalue"], told["radius"]) == (expected.pvalue, pytest.approx(expected.radius, rel=1e-6))


def test_a_family_comes_from_a_file(command: Command, data: str, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("from scipy import stats\nfamily = stats.norm\n")
    done = command("test", data, "--fit", f"{tmp_path / 'own.py'}:family", "--json")
    expected = sb.fit_test(np.loadtxt(data, skiprows=1), "normal", rng=0)
    assert json.loads(done.stdout)["rejected"] == expected.rejected


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
    done = command("test", data, *GAUSSIAN, "--radius", "0.1", "--kernel", "gaussian:lengthscale=1.5", "--details")
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
        (["DATA", "--contamination", "0.1"], "give one of `--model`, `--log-density` and `--fit`"),
        (
            ["DATA", *GAUSSIAN, "--contamination", "5"],
            "must be a share such as 0.05 or 5%, got `5`; see",
        ),
        (["DATA", *GAUSSIAN, "--contamination", "nan"], "`contamination` must be a finite number"),
        (
            ["DATA", *GAUSSIAN, "--contamination", "0.1", "--tau", "big"],
            '`tau` must be "best", "auto", "sample", "optimized", a number',
        ),
        (["DATA", *GAUSSIAN, "--radius", "a"], "`--radius` must be a number or FILE.py:NAME, got `a`."),
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
        (
            ["DATA", *GAUSSIAN, "--contamination", "0.1", "--memory-limit", "1kB"],
            "raise `--memory-limit`, or save them",
        ),
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


def test_what_the_users_file_prints_does_not_reach_the_json(command: Command, data: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("print('loading')\ndef score(x):\n    print('scoring')\n    return -x\n")
    done = command("test", data, "--model", f"{tmp_path / 'mine.py'}:score", "--contamination", "0.1", "--json")
    assert json.loads(done.stdout)["n"] == 300
    assert "loading" in done.stderr


@dataclass(frozen=True)
class Count(DataFile):
    """Count the rows of DATA.

    times : N
        count every row so often; once by default
    """

    times: int = 1


def run_count(options: Count) -> int:
    outcome.write(f"{options.times * len(read_table(options).samples)}\n")
    return 0


def test_a_new_command_is_a_dataclass_and_a_function(
    command: Command, data: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(COMMANDS, "count", Count)
    monkeypatch.setitem(commands._COMMANDS, Count, run_count)
    assert command("count", data, "--times", "2", "--columns", "x").stdout == "600\n"
    assert "there is no column `y`" in command("count", data, "--columns", "y").stderr
    assert "--times N" in command("count", "--help").stdout
    assert "Count the rows of DATA." in command("--help").stdout


def test_what_a_file_of_a_tolerated_set_prints_does_not_reach_the_json(
    command: Command, data: str, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text("import steinball as sb\nprint('loading')\nball = sb.FixedRadius(0.5)\n")
    words = ["--radius", f"{tmp_path / 'own.py'}:ball", "--require", "close", "--json"]
    done = command("test", data, *GAUSSIAN, *words)
    assert json.loads(done.stdout)["radius"] == 0.5
    assert done.stderr == "loading\n"


def test_the_version(command: Command) -> None:
    done = command("--version")
    assert (done.exit_code, done.stdout) == (0, f"steinball {sb.__version__}\n")


def test_models_are_compared_on_a_file(data: str, command: Command, tmp_path: Path) -> None:
    page, picture = tmp_path / "models.html", tmp_path / "models.svg"
    words = ["--model", "near=normal", "--model", "wide=normal:sd=3", "--fit", "t=student-t", "--contamination", "5%"]
    done = command("compare", data, *words, "--report", str(page), "--plot", str(picture))
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("DIFFERENCE SHOWN at level 0.05. The 150 rows are closer to near and t than to wide")
    assert "steinball compare" in page.read_text("utf-8")
    assert picture.stat().st_size > 5000
    told = json.loads(command("compare", data, *words, "--json", "--max-rows", "200", "--level", "1%").stdout)
    assert (told["schema"], told["n"], told["level"], told["columns"]) == ("steinball.comparison/1", 100, 0.01, ["x"])
    assert told["subsample"]["rows"] == 200
    x = np.loadtxt(data, skiprows=1)
    models = {"near": sb.models.Gaussian(), "wide": sb.models.Gaussian(sd=3.0), "t": "student-t"}
    assert sb.compare(x, models, contamination=0.05, rng=0).summary().split() == done.stdout.split()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--model", "normal", "--model", "b=normal"), "`--model normal` must begin with a name"),
        (("--model", "normal:mean=1", "--model", "b=normal"), "must begin with a name"),
        (("--model", "a=", "--model", "b=normal"), "must begin with a name"),
        (("--model", "a=normal"), "give two models or more"),
        (("--model", "a=normal", "--fit", "a=normal"), "the name `a` is given twice"),
        (("--model", "a=normal", "--model", "b=nothing"), "`--model` must be one of"),
        (("--model", "a=normal", "--fit", "b=nothing"), "`models['b']`: `family` must be one of"),
        (("--model", "a=normal", "--model", "b=normal:sd=2", "--contamination", "100%"), "must be below 1"),
    ],
)
def test_models_that_cannot_be_compared_are_refused(
    data: str, command: Command, words: tuple[str, ...], message: str
) -> None:
    done = command("compare", data, *words)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert message in done.stderr
