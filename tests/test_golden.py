"""Numbers of the paper's authors, reproduced digit for digit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import steinball as sb
from steinball.arrays import to_host
from steinball.gram.request import Request
from steinball.gram.whole import DenseGram
from steinball.kernels import Gaussian, InverseMultiquadric, Kernel
from steinball.kernels.base import median_distance
from steinball.problem import Problem, pose
from steinball.tilts import PolynomialTilt

pytestmark = pytest.mark.exact

CASES: dict[str, Any] = {
    case["name"]: case for case in json.loads((Path(__file__).parent / "golden" / "cases.json").read_text())["cases"]
}
RTOL = 1e-9  # the authors' code adds 1e-12 to the squared length scale
ATOL = 1e-11


def kernel_of(spec: dict[str, Any], x: NDArray[np.float64]) -> Kernel:
    """The kernel of a case; ``sigma_sq`` is ℓ² for IMQ and 2ℓ² for RBF."""
    if spec["type"] == "Sum":
        first, *others = (kernel_of(part, x) for part in spec["parts"])
        for other in others:
            first = first + other
        return first
    if spec["type"] == "Tilted":
        return kernel_of(spec["base"], x)
    square = median_distance(x) ** 2 if spec["sigma_sq"] == "median" else spec["sigma_sq"]
    return Gaussian((square / 2.0) ** 0.5) if spec["type"] == "RBF" else InverseMultiquadric(square**0.5, -spec["beta"])


def problem_of(case: dict[str, Any], xp: Any = np) -> Problem:
    x, spec = np.array(case["X"]), case["kernel"]
    tilt = PolynomialTilt(spec["b"], spec["loc"], spec["a"]) if spec["type"] == "Tilted" else None
    scores = xp.asarray(np.array(case["score"]))
    return pose(xp.asarray(x), sb.from_scores(scores), kernel_of(spec, x), tilt)


@pytest.mark.backend
@pytest.mark.parametrize("name", CASES)
def test_authors_numbers_are_reproduced_on_every_array_library(name: str, xp: Any) -> None:
    case = CASES[name]
    problem = problem_of(case, xp)
    gram = to_host(problem.stein.block(problem.points, problem.points))
    np.testing.assert_allclose(gram, case["gram"], rtol=RTOL, atol=ATOL)
    summary = DenseGram(problem).summarise(Request([np.array(case["W"]) - 1]))
    assert summary.mean == pytest.approx(case["vstat"], rel=RTOL)
    assert summary.unbiased_mean == pytest.approx(case["ustat"], rel=RTOL)
    assert to_host(summary.diagonal).max() == pytest.approx(case["tau_diag_max"], rel=RTOL)
    assert gram.max() == pytest.approx(case["tau_full_max"], rel=RTOL)
    np.testing.assert_allclose(summary.quadratic_forms, case["boot"], rtol=RTOL)
    assert np.linalg.eigvalsh(gram).min() == pytest.approx(case["min_eig"], rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["median_sigma_sq"]])
def test_median_heuristic_is_the_authors(name: str) -> None:
    assert median_distance(CASES[name]["X"]) ** 2 == pytest.approx(CASES[name]["median_sigma_sq"], rel=RTOL)


def model_score(case: dict[str, Any]) -> Any:
    """The score of each model, written out anew from its parameters."""
    p = {key: np.array(value) for key, value in case["model_params"].items()}

    def mixture(x: NDArray[np.float64]) -> NDArray[np.float64]:
        offsets = p["means"][None] - x[:, None]
        shares = p["weights"] * np.exp(-0.5 * (offsets**2).sum(axis=2) / p["var"])
        return np.asarray((shares[:, :, None] * offsets).sum(axis=1) / shares.sum(axis=1)[:, None] / p["var"])

    return {
        "std": lambda x: -x,
        "gauss": lambda x: -(x - p["mean"]) @ np.linalg.inv(p["cov"]),
        "rbm": lambda x: p["b"] - x + 0.5 * np.tanh(0.5 * x @ p["B"] + p["c"]) @ p["B"].T,
        "mixture": mixture,
    }[case["model"]]


@pytest.mark.parametrize("name", CASES)
def test_a_score_function_gives_what_its_scores_give(name: str) -> None:
    """From the model's formula, through the public function, to the square root of the authors' statistic."""
    case = CASES[name]
    problem = problem_of(case)
    options: Any = {"kernel": problem.stein.kernel, "tilt": problem.stein.tilt}
    assert sb.ksd(case["X"], model_score(case), **options) == pytest.approx(case["vstat"] ** 0.5, rel=RTOL)
    expected = max(0.0, case["ustat"]) ** 0.5
    assert sb.ksd(case["X"], sb.from_scores(case["score"]), estimator="u", **options) == pytest.approx(
        expected, rel=RTOL
    )


@pytest.fixture
def worked_example() -> NDArray[np.float64]:
    """500 normal points of which 50 are replaced by outliers near 10, from NumPy's legacy generator."""
    legacy = np.random.RandomState(2024)
    x = legacy.normal(size=(500, 1))
    outliers = legacy.multivariate_normal([10.0], [[0.01]], 50)
    x[legacy.choice(range(500), 50, replace=False)] = outliers
    return x


def test_worked_example_is_reproduced_digit_for_digit(worked_example: NDArray[np.float64]) -> None:
    x, tilt = worked_example, PolynomialTilt(0.5, 0.0, 1.0)
    assert median_distance(x) ** 2 == pytest.approx(1.60354668, rel=5e-9)
    summary = DenseGram(pose(x, lambda x: -x, tilt=tilt)).summarise(Request())
    tau = float(summary.diagonal.max())
    assert summary.mean == pytest.approx(0.0123315955, abs=6e-11)
    assert tau == pytest.approx(1.43842223, abs=6e-9)
    assert 0.15 * tau**0.5 == pytest.approx(0.17990136, abs=6e-9)


def test_worked_example_through_the_test_itself(worked_example: NDArray[np.float64]) -> None:
    result = sb.robust_ksd_test(
        worked_example, lambda x: -x, contamination=0.15, tilt=PolynomialTilt(0.5, 0.0, 1.0), tau="sample", rng=0
    )
    assert result.ksd**2 == pytest.approx(0.0123315955, abs=6e-11)
    assert result.tau == pytest.approx(1.43842223, abs=6e-9)
    assert result.radius == pytest.approx(0.17990136, abs=6e-9)
    assert result.statistic == 0.0
    assert not result.rejected
