"""The command for predictions in the columns of a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steinball as sb

pytestmark = pytest.mark.exact

Command = Callable[..., Any]
RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, size=200)
Y = X + RNG.normal(size=200) * np.where(X > 0.0, 2.0, 0.5)
DRAWS = X[:, None] + RNG.normal(size=(200, 25))
QUICK = ["--resamples", "99"]
COLUMNS = ["--y", "y", "--mean", "yhat", "--sd", "s"]


@pytest.fixture
def file(tmp_path: Path) -> str:
    names = ["y", "yhat", "s", "x1", "x2", "limit", *(f"draw_{k}" for k in range(25))]
    values = np.column_stack([Y, X, np.ones(200), X, RNG.normal(size=200), np.full(200, 9.0), DRAWS])
    path = tmp_path / "data.csv"
    np.savetxt(path, values, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
    return str(path)


def test_columns_are_the_call_of_the_library(command: Command, file: str) -> None:
    done = command("predictive", file, "--y", "y", "--mean", "yhat", "--sd", "s", "--features", "x1", "--contamination",
                   "5%", "--json", *QUICK)  # fmt: skip
    expected = sb.predictive_test(Y, (X, 1.0), {"x1": X}, contamination=0.05, n_resamples=99, rng=0)
    assert json.loads(done.stdout) == json.loads(json.dumps(expected.to_dict()))
    assert done.exit_code == int(expected.rejected)


def test_draws_features_and_limits_are_found_by_pattern_and_position(command: Command, file: str) -> None:
    done = command("predictive", file, "--y", "1", "--draws", "draw_*", "--features", "x*", "--censoring", "limit",
                   "--tolerance", "0.1", "--json", *QUICK)  # fmt: skip
    told = json.loads(done.stdout)
    assert told["features"] == ["x1", "x2", "prediction", "row"]
    assert told["tolerance"] == 0.1
    number = command("predictive", file, "--y", "y", "--mean", "yhat", "--sd", "1.0", "--contamination", "0", *QUICK)
    assert number.stdout.startswith("REJECTED")
    assert number.exit_code == 1


def test_a_page_and_a_picture_are_written(command: Command, file: str, tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    command("predictive", file, "--y", "y", "--mean", "yhat", "--sd", "s", "--contamination", "5%", "--report",
            str(page), *QUICK)  # fmt: skip
    assert "steinball predictive" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--contamination", "5%"], "give `--y`"),
        (["--y", "y", "--contamination", "5%"], "give `--mean` and `--sd`"),
        (["--y", "y", "--mean", "yhat", "--draws", "draw_*", "--contamination", "5%"], "not both"),
        (["--y", "y", "--mean", "yhat", "--sd", "s"], "give one of `--contamination 5%`"),
        ([*COLUMNS, "--contamination", "0", "--require", "good-enough"], "above 0"),
        ([*COLUMNS, "--contamination", "0", "--require", "best"], "must be good-enough"),
        (["--y", "z", "--mean", "yhat", "--sd", "s", "--contamination", "0"], "there is no column `z`"),
        ([*COLUMNS, "--columns", "y", "--contamination", "0"], "`--columns` is not read"),
    ],
)  # fmt: skip
def test_what_is_missing_or_too_much_is_said_in_one_line(
    command: Command, file: str, options: list[str], words: str
) -> None:
    done = command("predictive", file, *options)
    assert done.exit_code == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_good_enough_can_be_required(command: Command, file: str) -> None:
    for share, code, word in (("50%", 0, "GOOD ENOUGH"), ("20%", 3, "UNDECIDED")):
        done = command("predictive", file, *COLUMNS, "--tolerance", share, "--require", "good-enough", *QUICK)
        assert done.stdout.startswith(word)
        assert done.exit_code == code
