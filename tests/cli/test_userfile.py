"""Models in a user's own file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from steinball.cli.specs import model_from
from steinball.cli.userfile import load_log_density, load_model, python_file

pytestmark = pytest.mark.exact

SOURCE = """
from dataclasses import dataclass
import neighbor

def score(x):
    return neighbor.FACTOR * x

def flat(x):
    return -x[:, 0]

def log_density(x):
    return -(x**2).sum(axis=1)

@dataclass
class Model:
    factor: float = -2.0
    def score(self, x):
        return self.factor * x

model = Model()
scores = [[1.0], [2.0]]
"""
POINTS = np.array([[1.0], [-2.0]])


@pytest.fixture
def file(tmp_path: Path) -> Iterator[str]:
    before, modules = list(sys.path), set(sys.modules)
    (tmp_path / "neighbor.py").write_text("FACTOR = -2.0\n")
    (tmp_path / "mine.py").write_text(SOURCE)
    yield str(tmp_path / "mine.py")
    sys.path[:] = before
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def test_a_score_a_model_and_a_log_density_agree(file: str) -> None:
    np.testing.assert_array_equal(load_model(f"{file}:score")(POINTS), -2 * POINTS)
    np.testing.assert_array_equal(load_model(f"{file}:model").score(POINTS), -2 * POINTS)
    differentiated = model_from(None, f"{file}:log_density", dimension=1)
    np.testing.assert_allclose(differentiated.score(POINTS), -2 * POINTS, rtol=1e-7)
    assert load_model(f"{file}:scores") == [[1.0], [2.0]]


def test_what_may_be_a_log_density_is_not_taken_for_a_score(file: str) -> None:
    with pytest.raises(ValueError, match="sounds like a log density; pass it with `--log-density`"):
        load_model(f"{file}:log_density")
    with pytest.raises(ValueError, match=r"must return scores of the shape of its argument, \(2, 1\), got \(2,\)"):
        load_model(f"{file}:flat")(POINTS)


def test_what_is_neither_is_refused(file: str) -> None:
    with pytest.raises(TypeError, match=r"is a class; name an instance of it, such as `model = Model\(...\)`"):
        load_model(f"{file}:Model")
    with pytest.raises(TypeError, match="must be a function from points"):
        load_log_density(f"{file}:model")
    with pytest.raises(ValueError, match=r"has no `nothing`; it has dataclass, neighbor, score"):
        load_model(f"{file}:nothing")
    with pytest.raises(ValueError, match=r"must have the form FILE\.py:NAME"):
        load_model(file)
    with pytest.raises(ValueError, match="there is no file"):
        load_model("not_there.py:score")


def test_python_files_are_told_from_built_in_models() -> None:
    assert python_file("a/b.py:c") == "a/b.py"
    assert python_file("C:\\models\\b.py:c") == "C:\\models\\b.py"
    assert python_file("b.py") == "b.py"
    assert python_file("gaussian:mean=0") is None
    assert python_file(None) is None
