"""Short texts to models and kernels."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steinball import kernels, models
from steinball.cli import specs
from steinball.cli.specs import kernel_from, parse_spec, python_file
from steinball_command.options import Model

pytestmark = pytest.mark.exact

POINTS = np.random.default_rng(0).normal(size=(7, 2))


def model_from(text: str | None, log_density: str | None = None, *, dimension: int = 1) -> Any:
    return specs.model_from(Model(text, log_density), dimension)


def test_texts_are_split_outside_of_brackets() -> None:
    assert parse_spec("a") == ("a", {})
    assert parse_spec("a:x=1,y=-2.5e-3") == ("a", {"x": 1, "y": -2.5e-3})
    assert parse_spec("a: x = [[1, 2], [3, 4]], y=0") == ("a", {"x": [[1, 2], [3, 4]], "y": 0})
    assert parse_spec("a:x=.5,y=[-.5,10.5]") == ("a", {"x": 0.5, "y": [-0.5, 10.5]})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a:1", "`1` must have the form key=value"),
        ("a:x=1,x=2", "gives a parameter twice"),
        ("a:x=__import__('os')", "must be a number or a list"),
        ("a:x=NaN", "`x` must hold finite numbers"),
        ("a:x=[1,Infinity]", "`x` must hold finite numbers"),
        ("a:x=1e999", "`x` must hold finite numbers"),
        ("a:x=true", "`x` must hold finite numbers"),
        ('a:x="1"', "`x` must hold finite numbers"),
        ("a:x=[[1],[2,3]]", "rows differ in length"),
        ("a:x=[]", "`x` must hold finite numbers"),
        ("a:x=", "must be a number or a list"),
        ("a:x=[1", "must be a number or a list"),
        ("a:@p.pkl", "must end in .json or .npz"),
    ],
)
def test_anything_but_numbers_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_spec(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gaussian", models.Gaussian(0.0, 1.0, dimension=2)),
        ("gaussian:mean=[1,2],cov=3", models.Gaussian([1.0, 2.0], 3 * np.eye(2))),
        ("gaussian:mean=1,cov=[[2,0.5],[0.5,1]]", models.Gaussian([1.0, 1.0], [[2.0, 0.5], [0.5, 1.0]])),
        ("normal:mean=[1,2],sd=3", models.Gaussian([1.0, 2.0], 9 * np.eye(2))),
        ("normal:loc=1,scale=[2,3]", models.Gaussian([1.0, 1.0], [4.0, 9.0])),
        ("t:df=5,loc=1,scale=2", models.StudentT(5.0, [1.0, 1.0], 2.0)),
        ("student-t:df=5,location=0,scale=2", models.StudentT(5.0, [0.0, 0.0], 2.0)),
        ("mixture:weights=[.3,.7],means=[[0,0],[1,1]]", models.GaussianMixture([0.3, 0.7], [[0.0, 0.0], [1.0, 1.0]])),
    ],
)
def test_built_in_models_have_the_score_of_their_class(text: str, expected: Any) -> None:
    np.testing.assert_array_equal(model_from(text, dimension=2).score(POINTS), expected.score(POINTS))


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_parameters_come_from_a_file(tmp_path: Path, suffix: str) -> None:
    parameters = {"weights": np.eye(2).tolist(), "visible_bias": [0.5, 0.0], "hidden_bias": [0.0, 1.0]}
    path = tmp_path / f"rbm{suffix}"
    if suffix == ".json":
        path.write_text(json.dumps(parameters))
    else:
        np.savez(path, weights=np.eye(2), visible_bias=[0.5, 0.0], hidden_bias=[0.0, 1.0])
    expected = models.GaussianBernoulliRBM(*parameters.values()).score(POINTS)
    np.testing.assert_array_equal(model_from(f"rbm:@{path}", dimension=2).score(POINTS), expected)


def test_a_bad_file_of_parameters_is_refused(tmp_path: Path) -> None:
    for content, message in [
        ("[1]", "must hold a JSON object"),
        ("{", "must be JSON"),
        ('{"mean": NaN}', "`mean` must hold finite numbers"),
    ]:
        (tmp_path / "p.json").write_text(content)
        with pytest.raises(ValueError, match=message):
            model_from(f"gaussian:@{tmp_path / 'p.json'}", dimension=1)
    np.savez(tmp_path / "p.npz", mean=np.array([object()]))
    with pytest.raises(ValueError, match="never unpickles"):
        model_from(f"gaussian:@{tmp_path / 'p.npz'}", dimension=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "cauchy:mean=0",
            r"`--model` must be one of gaussian, .*kef, scipy:NAME or FILE.py:NAME, got `cauchy`",
        ),
        ("gaussian:mu=0", "model `gaussian` has no parameter `mu`; it has mean, cov"),
        ("gaussian:dimension=2", "has no parameter `dimension`"),
        ("student-t:location=0", "model `student-t` needs `df`, as in student-t:df="),
        ("gaussian:mean=[0,1,2]", "must agree on the dimension"),
        ("gaussian:cov=-1", "positive variances"),
    ],
)
def test_a_model_that_does_not_exist_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model_from(text, dimension=2)


def test_exactly_one_of_model_and_log_density_is_given() -> None:
    for pair in [(None, None), ("gaussian", "f.py:g")]:
        with pytest.raises(ValueError, match="give one of `--model`, `--log-density` and `--fit`"):
            model_from(*pair, dimension=1)


def test_a_backend_beside_a_family_is_refused_and_not_left_aside() -> None:
    with pytest.raises(ValueError, match="`--backend torch` differentiates a log density"):
        specs.model_from(Model(fit="normal", backend="torch"), dimension=1)


def test_kernels_take_the_median_distance_unless_told_otherwise() -> None:
    assert kernel_from("imq", POINTS) == kernels.InverseMultiquadric(kernels.median_distance(POINTS))
    assert kernel_from("imq:lengthscale=2,exponent=1", POINTS) == kernels.InverseMultiquadric(2.0, 1.0)
    assert kernel_from("gaussian:lengthscale=3", POINTS) == kernels.Gaussian(3.0)
    assert kernel_from("matern:smoothness=3.5,lengthscale=1", POINTS) == kernels.Matern(1.0, 3.5)
    assert kernel_from("inversemultiquadric:lengthscale=2", POINTS) == kernels.InverseMultiquadric(2.0)
    same = np.zeros((5, 1))
    assert kernel_from("imq:lengthscale=2", same) == kernels.InverseMultiquadric(2.0)
    with pytest.raises(ValueError, match=r"`--kernel` must be one of imq, gaussian, .*, or FILE\.py:NAME, got `rbf`"):
        kernel_from("rbf", same)


def test_one_parameter_by_two_names_is_refused() -> None:
    with pytest.raises(ValueError, match="by two names"):
        model_from("normal:loc=1,mean=2", dimension=1)
    with pytest.raises(ValueError, match="not both"):
        model_from("normal:cov=1,sd=2", dimension=1)


def test_a_distribution_of_scipy_is_named_with_its_own_parameters() -> None:
    gamma = model_from("scipy:gamma:a=2,scale=3", dimension=1)
    assert gamma.mean() == 6.0
    assert model_from("scipy:norm", dimension=1).std() == 1.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("scipy:gama:a=2", "scipy.stats has no distribution `gama`"),
        ("scipy:kstest", "scipy.stats has no distribution `kstest`"),
        ("scipy:gamma:a=2,b=3", "scipy.stats.gamma has no parameter `b`; it has a, loc, scale"),
        ("scipy:gamma:scale=3", "scipy.stats.gamma needs `a`"),
        ("scipy:gamma:a=-2", "scipy.stats.gamma does not allow these parameters"),
    ],
    ids=["name", "no distribution", "parameter", "missing", "value"],
)
def test_a_distribution_of_scipy_that_does_not_exist_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model_from(text, dimension=1)


# Models in a user's own file

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
PAIR = np.array([[1.0], [-2.0]])


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
    np.testing.assert_array_equal(model_from(f"{file}:score")(PAIR), -2 * PAIR)
    np.testing.assert_array_equal(model_from(f"{file}:model").score(PAIR), -2 * PAIR)
    differentiated = model_from(None, f"{file}:log_density", dimension=1)
    np.testing.assert_allclose(differentiated.score(PAIR), -2 * PAIR, rtol=1e-7)
    assert model_from(f"{file}:scores") == [[1.0], [2.0]]


def test_what_may_be_a_log_density_is_not_taken_for_a_score(file: str) -> None:
    with pytest.raises(ValueError, match="sounds like a log density; pass it with `--log-density`"):
        model_from(f"{file}:log_density")
    with pytest.raises(ValueError, match=r"must return scores of the shape of its argument, \(2, 1\), got \(2,\)"):
        model_from(f"{file}:flat")(PAIR)


def test_what_is_neither_is_refused(file: str) -> None:
    with pytest.raises(TypeError, match=r"is a class; name an instance of it, such as `model = Model\(...\)`"):
        model_from(f"{file}:Model")
    with pytest.raises(TypeError, match="`log_density` must be a function"):
        model_from(None, f"{file}:model")
    with pytest.raises(ValueError, match=r"has no `nothing`; it has dataclass, neighbor, score"):
        model_from(f"{file}:nothing")
    with pytest.raises(ValueError, match=r"must have the form FILE\.py:NAME"):
        model_from(file)
    with pytest.raises(ValueError, match="there is no file"):
        model_from("not_there.py:score")


def test_python_files_are_told_from_built_in_models() -> None:
    assert python_file("a/b.py:c") == "a/b.py"
    assert python_file("C:\\models\\b.py:c") == "C:\\models\\b.py"
    assert python_file("b.py") == "b.py"
    assert python_file("gaussian:mean=0") is None
    assert python_file(None) is None
