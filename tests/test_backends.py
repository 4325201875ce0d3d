"""One code path for every array library: same seed, same decision, same numbers, and arrays of the caller's kind."""

from __future__ import annotations

import math
from typing import Any

import array_api_compat
import numpy as np
import pytest
from numpy.typing import NDArray

import steinball as sb
from steinball.arrays import to_host

pytestmark = pytest.mark.backend

RNG = np.random.default_rng(17)
X = np.concatenate([RNG.normal(size=(50, 3)), np.full((6, 3), 3.0)])
B = sb.WeightedBootstrap(99)
METRIC = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.1], [0.0, 0.1, 0.5]])
MODEL = sb.models.Gaussian(dimension=3)

CASES: dict[str, dict[str, Any]] = {
    "standard": {},
    "as it is": {"standardize": False},
    "robust": {"tilt": "auto", "radius": sb.Huber(0.02)},
    "u-statistic": {"tilt": "auto", "estimator": "u", "level": 0.1},
    "wild": {"tilt": sb.PolynomialTilt(), "calibration": sb.WildBootstrap(99)},
    "metric": {"kernel": sb.InverseMultiquadric(1.5, metric=METRIC), "tilt": sb.PolynomialTilt(precision=METRIC)},
    "sum": {"kernel": sb.Matern(1.5, 2.5) + 0.5 * sb.kernels.Gaussian(2.0)},
    "deviation": {"tilt": "auto", "calibration": sb.DeviationBound(proven=False), "tau": 4.0},
}
EACH_CASE = pytest.mark.parametrize("case", list(CASES))
DTYPES = pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 1e-4)])


def run(x: Any, case: str, model: Any = MODEL) -> sb.GofResult:
    return sb.ksd_test(x, model, **{"calibration": B, "rng": 3, **CASES[case]})


def own(xp: Any, values: NDArray[Any], dtype: str = "float64") -> Any:
    return xp.asarray(values.tolist(), dtype=getattr(xp, dtype))


@DTYPES
@EACH_CASE
def test_every_library_decides_alike_and_agrees_in_every_number(
    xp: Any, case: str, dtype: str, tolerance: float
) -> None:
    wanted, found = run(X, case), run(own(xp, X, dtype), case)
    assert found.rejected == wanted.rejected
    assert found.pvalue == pytest.approx(wanted.pvalue, rel=tolerance)
    for name in ("ksd", "statistic", "threshold", "radius", "tau"):
        assert getattr(found, name) == pytest.approx(getattr(wanted, name), rel=tolerance, abs=tolerance)
    if wanted.draws is not None:
        assert found.draws == pytest.approx(wanted.draws, rel=20 * tolerance, abs=tolerance)


@DTYPES
@pytest.mark.parametrize("case", ["standard", "u-statistic"])
def test_contributions_come_back_in_the_callers_library(xp: Any, case: str, dtype: str, tolerance: float) -> None:
    x = own(xp, X, dtype)
    contributions = run(x, case).contributions
    assert type(contributions) is type(x)
    assert contributions.dtype == xp.float64, "on a CPU all is computed in double precision"
    assert array_api_compat.device(contributions) == array_api_compat.device(x)
    assert tuple(contributions.shape) == (56,)
    assert to_host(contributions) == pytest.approx(run(X, case).contributions, rel=10 * tolerance, abs=tolerance)


@pytest.mark.parametrize("tau", ["optimized", sb.tau.Ball(3.0), sb.tau.Box(-1.0, 2.0)], ids=repr)
def test_tau_is_found_in_every_library(xp: Any, tau: Any) -> None:
    kernel, tilt = sb.InverseMultiquadric(math.sqrt(6.0)), sb.PolynomialTilt()
    options: dict[str, Any] = {"kernel": kernel, "tilt": tilt, "tau": tau, "calibration": B}
    assert sb.ksd_test(own(xp, X), MODEL, **options).tau == pytest.approx(
        sb.ksd_test(X, MODEL, **options).tau, rel=1e-8
    )


def test_scores_may_be_an_array_a_function_or_a_model(xp: Any) -> None:
    x = own(xp, X)
    for model in (sb.from_scores(-x), lambda x: -x, MODEL):
        assert run(x, "as it is", model).ksd == pytest.approx(run(X, "as it is").ksd, rel=1e-10)


@DTYPES
def test_every_library_standardizes_alike(xp: Any, dtype: str, tolerance: float) -> None:
    cov = np.array([[4.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 100.0]])
    for model in (sb.models.Gaussian([0.0, 1.0, 2.0], cov), lambda x: -x):
        wanted, found = run(X, "robust", model), run(own(xp, X, dtype), "robust", model)
        assert found.details["tested in"] == wanted.details["tested in"] == "standardized coordinates"
        assert found.ksd == pytest.approx(wanted.ksd, rel=10 * tolerance)
        assert found.pvalue == wanted.pvalue


def test_results_answer_further_questions_in_every_library(xp: Any) -> None:
    wanted, found = run(X, "robust"), run(own(xp, X), "robust")
    assert found.at(contamination=0.2).pvalue == wanted.at(contamination=0.2).pvalue
    assert found.extend(100).pvalue == wanted.extend(100).pvalue
    assert found.summary() == wanted.summary()
    assert found.contamination_bound == pytest.approx(wanted.contamination_bound, rel=1e-9)


def test_an_alternative_may_be_of_another_library(xp: Any) -> None:
    radius = sb.ksd_test(X, MODEL, radius=sb.Alternative(X + 1.0), calibration=B).radius
    for alternative in (X + 1.0, own(xp, X + 1.0)):
        found = sb.ksd_test(own(xp, X), MODEL, radius=sb.Alternative(alternative), calibration=B)
        assert found.radius == pytest.approx(radius, rel=1e-10)


def test_what_is_not_finite_is_refused_in_every_library(xp: Any) -> None:
    bad = X.copy()
    bad[5, 1] = math.nan
    with pytest.raises(ValueError, match=r"`samples` must be finite, but 1 of 56 rows.*row 5"):
        run(own(xp, bad), "standard")
    with pytest.raises(ValueError, match=r"must be finite, but 1 of 56 rows.*row 5"):
        run(own(xp, X), "standard", sb.from_scores(own(xp, bad)))


def test_an_overflow_is_named_in_every_library(xp: Any) -> None:
    far = X.copy()
    far[7, 0] = 1e200
    with pytest.raises(FloatingPointError, match=r"overflows at 1 of 56 points \(first: row 7\)"):
        sb.ksd_test(own(xp, far), lambda x: -x, kernel=sb.InverseMultiquadric(1.0), calibration=B)


def test_the_users_arrays_are_not_written_to(xp: Any) -> None:
    x, scores = own(xp, X), own(xp, -X)
    sb.robust_ksd_test(x, sb.from_scores(scores), 0.05, calibration=B, tilt=sb.PolynomialTilt())
    assert np.array_equal(to_host(x), X)
    assert np.array_equal(to_host(scores), -X)


def test_a_numpy_score_of_another_library_is_refused(xp: Any) -> None:
    x = own(xp, X)
    if isinstance(x, np.ndarray):
        return
    with pytest.raises(TypeError, match="return scores from the same array library"):
        run(x, "standard", sb.from_scores(-X))


# torch


def test_torch_tensors_with_a_graph_are_tested_without_it() -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor(X, requires_grad=True)
    weight = torch.nn.Parameter(torch.ones(3, dtype=torch.float64))
    result = run(x, "robust", lambda x: -x * weight)
    assert result.pvalue == run(X, "robust", lambda x: -x).pvalue
    assert not result.contributions.requires_grad
    assert weight.grad is None


def test_torch_scores_by_autograd_work() -> None:
    torch = pytest.importorskip("torch")

    def score(x: Any) -> Any:
        x = x.detach().requires_grad_(True)
        return torch.autograd.grad(-(x**2).sum() / 2, x)[0]

    assert run(torch.tensor(X), "as it is", score).ksd == pytest.approx(run(X, "as it is").ksd, rel=1e-12)


# Frames


def frames() -> list[Any]:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    arrow = pytest.importorskip("pyarrow")
    columns = {name: X[:, k] for k, name in enumerate("abc")}
    return [pandas.DataFrame(columns), polars.DataFrame(columns), arrow.table(columns)]


@pytest.mark.parametrize("kind", range(3), ids=["pandas", "polars", "pyarrow"])
def test_frames_are_accepted_as_samples_and_as_scores(kind: int) -> None:
    frame = frames()[kind]
    wanted, found = run(X, "robust").to_dict(), run(frame, "robust").to_dict()
    names = found["details"].pop("columns", None)  # the one thing that a frame adds
    assert found == wanted
    assert names is None or len(names) == X.shape[1]
    result = run(frame, "as it is", sb.from_scores(-X))
    assert isinstance(result.contributions, np.ndarray)
    assert result.ksd == run(X, "as it is").ksd


def test_scores_may_be_a_frame() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for scores in (pandas.DataFrame(-X), polars.DataFrame(-X)):
        assert run(X, "standard", sb.from_scores(scores)).ksd == run(X, "standard", sb.from_scores(-X)).ksd


def test_a_series_is_one_column() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    wanted = sb.ksd_test(X[:, 0], lambda x: -x, calibration=B, rng=0).to_dict()
    for series in (pandas.Series(X[:, 0]), polars.Series(X[:, 0])):
        assert sb.ksd_test(series, lambda x: -x, calibration=B, rng=0).to_dict() == wanted


def test_frames_with_text_or_missing_values_are_refused() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for library in (pandas, polars):
        with pytest.raises(TypeError, match="`samples` must hold numbers only"):
            run(library.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), "standard")
        with pytest.raises(ValueError, match="`samples` must be finite, but 1 of 3 rows"):
            run(library.DataFrame({"a": [1.0, None, 2.0]}), "standard", lambda x: -x)


def test_nullable_columns_of_pandas_are_numbers() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X).astype("Float64")
    assert run(frame, "standard").ksd == run(X, "standard").ksd
