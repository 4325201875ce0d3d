"""The dense engine against double loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from steinball.arrays import to_host
from steinball.gram.base import GramSummary
from steinball.gram.request import Request
from steinball.gram.whole import DenseGram
from steinball.kernels import Gaussian, InverseMultiquadric
from steinball.models import from_scores
from steinball.problem import pose
from steinball.tilts import PolynomialTilt

pytestmark = pytest.mark.exact
Floats = NDArray[np.float64]


def imq(x: Floats, y: Floats) -> float:
    """u for φ = (1 + r²)^(−1/2) and the score −x − x³, one pair at a time."""
    s, t, e = -x - x**3, -y - y**3, x - y
    q = 1.0 + e @ e
    return float(q**-0.5 * s @ t - q**-1.5 * e @ (t - s) - 3.0 * q**-2.5 * e @ e + len(x) * q**-1.5)


def summary_of(x: Any, weights: Any = (), tilt: Any = None) -> GramSummary:
    return DenseGram(pose(x, lambda x: -x - x**3, InverseMultiquadric(1.0), tilt)).summarise(Request(weights))


@pytest.mark.backend
@pytest.mark.parametrize("d", [1, 3])
def test_every_answer_is_its_double_loop(xp: Any, d: int) -> None:
    rng = np.random.default_rng(d)
    n, x = 7, rng.normal(size=(7, d))
    weights = rng.integers(-2, 6, size=(5, n)).astype(np.int8)
    u = [[imq(a, b) for b in x] for a in x]
    summary = summary_of(xp.asarray(x), [weights[:2], weights[2:]])
    loops = range(n)
    np.testing.assert_allclose(to_host(summary.diagonal), [u[i][i] for i in loops], rtol=1e-12)
    np.testing.assert_allclose(to_host(summary.row_means), [sum(u[i]) / n for i in loops], rtol=1e-11)
    assert summary.mean == pytest.approx(sum(u[i][j] for i in loops for j in loops) / n**2, rel=1e-11)
    pairs = sum(u[i][j] for i in loops for j in loops if i != j)
    assert summary.unbiased_mean == pytest.approx(pairs / (n * (n - 1)), rel=1e-10)
    for b, w in enumerate(weights.astype(float)):
        form = sum(w[i] * u[i][j] * w[j] for i in loops for j in loops)
        own = sum(w[i] ** 2 * u[i][i] for i in loops)
        assert summary.quadratic_forms[b] == pytest.approx(form / n**2, rel=1e-10)
        assert summary.diagonal_forms[b] == pytest.approx(own / n**2, rel=1e-12)
        assert summary.unbiased_forms[b] == pytest.approx((form - own) / (n * (n - 1)), rel=1e-9, abs=1e-12)
    assert len(summary) == n
    assert type(summary.mean) is float
    assert type(summary.diagonal) is type(summary.row_means) is type(xp.asarray(x))
    assert type(summary.quadratic_forms) is type(summary.diagonal_forms) is np.ndarray
    assert (summary.engine, summary.grade) == ("dense", "exact")


def test_without_weights_there_are_no_draws() -> None:
    summary = summary_of(np.arange(4.0))
    for draws in (summary.quadratic_forms, summary.diagonal_forms, summary.unbiased_forms):
        assert draws.shape == (0,)


@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_chunks_of_weights_only_follow_one_another(sizes: list[int]) -> None:
    x = np.random.default_rng(0).normal(size=(6, 2))
    weights = np.random.default_rng(1).integers(0, 4, size=(sum(sizes), 6))
    chunks = np.split(weights, np.cumsum(sizes)[:-1])
    whole, parts = summary_of(x, [weights]), summary_of(x, chunks)
    np.testing.assert_allclose(parts.quadratic_forms, whole.quadratic_forms, rtol=1e-12)
    np.testing.assert_allclose(parts.diagonal_forms, whole.diagonal_forms, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int64])
def test_small_integer_weights_do_not_wrap_around(dtype: type) -> None:
    """100² does not fit into eight bits, and neither does −100 into an unsigned one (where 0 … 100 is used)."""
    x, weights = np.random.default_rng(2).normal(size=(5, 1)), np.array([[100, 0, 90, 1, 120]])
    exact, got = summary_of(x, [weights.astype(float)]), summary_of(x, [weights.astype(dtype)])
    np.testing.assert_allclose(got.quadratic_forms, exact.quadratic_forms, rtol=1e-13)
    np.testing.assert_allclose(got.diagonal_forms, exact.diagonal_forms, rtol=1e-13)


def test_uniform_weights_give_the_statistic_itself() -> None:
    x = np.random.default_rng(3).normal(size=(8, 2))
    summary = summary_of(x, [np.ones((1, 8), dtype=np.int8)], PolynomialTilt())
    assert summary.quadratic_forms[0] == pytest.approx(summary.mean, rel=1e-12)
    assert summary.unbiased_forms[0] == pytest.approx(summary.unbiased_mean, rel=1e-12)
    assert float(summary.row_means.mean()) == pytest.approx(summary.mean, rel=1e-12)
    assert summary.mean >= 0.0


def test_joined_summaries_are_one_of_all_their_draws() -> None:
    x, weights = np.random.default_rng(6).normal(size=(6, 2)), np.random.default_rng(7).integers(0, 4, size=(7, 6))
    joined, whole = summary_of(x, [weights[:3]]).join(summary_of(x, [weights[3:]])), summary_of(x, [weights])
    np.testing.assert_allclose(joined.quadratic_forms, whole.quadratic_forms, rtol=1e-13)
    np.testing.assert_allclose(joined.unbiased_forms, whole.unbiased_forms, rtol=1e-11)
    assert (joined.mean, joined.grade, joined.ends()) == (whole.mean, "exact", None)


def test_single_precision_is_summed_within_its_own_error() -> None:
    x = np.random.default_rng(4).normal(size=(300, 3))
    weights = np.random.default_rng(5).multinomial(300, np.full(300, 1 / 300), size=20) - 1
    problem = [
        pose(x.astype(dtype), lambda x: -x, Gaussian(1.5), PolynomialTilt()) for dtype in (np.float32, np.float64)
    ]
    single, double = (DenseGram(p).summarise(Request([weights])) for p in problem)
    assert single.diagonal.dtype == single.row_means.dtype == np.float32
    assert single.mean == pytest.approx(double.mean, rel=1e-4)
    np.testing.assert_allclose(single.quadratic_forms, double.quadratic_forms, rtol=1e-3, atol=1e-4 * double.mean)


@pytest.mark.parametrize("tilt", [None, PolynomialTilt()])
def test_overflow_is_an_error_that_names_the_row(tilt: PolynomialTilt | None) -> None:
    """Scores that are known at the samples alone cannot be moved within reach by a tilt."""
    x = np.array([[0.0], [1.0], [1e200]])
    with pytest.raises(FloatingPointError, match=r"the Stein kernel overflows at . of 3 points .*use a tilt"):
        DenseGram(pose(x, from_scores(-x), InverseMultiquadric(1.0), tilt)).summarise(Request())


def test_draws_that_overflow_are_an_error_too() -> None:
    """The statistic still fits single precision; a weight of 9 times it does not."""
    x = np.array([[0.0], [1.0], [1e19]], dtype=np.float32)
    gram = DenseGram(pose(x, lambda x: -x, InverseMultiquadric(1.0)))
    assert np.isfinite(gram.summarise(Request()).mean)
    with pytest.raises(FloatingPointError, match="2 of 3 bootstrap draws of the Stein kernel overflow"):
        gram.summarise(Request([np.array([[1, 1, 9], [1, 1, 1], [0, 0, 12]])]))
