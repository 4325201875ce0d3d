"""The blocked engine against the paper's formula and the dense engine: any tile, shape, kernel, library, thread."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any
from unittest import mock

import joblib
import numpy as np
import pytest
from numpy.typing import NDArray

import steinball.gram.blocked
import steinball.gram.tiles
from steinball.arrays import to_host
from steinball.calibration import DeviationBound, WeightedBootstrap, WildBootstrap
from steinball.gram.base import GramSummary
from steinball.gram.blocked import BlockedGram
from steinball.gram.request import Request
from steinball.gram.tiles import symmetric_forms
from steinball.gram.whole import DenseGram
from steinball.kernels import InverseMultiquadric
from steinball.models import from_scores
from steinball.problem import Problem, pose
from steinball.stein import center_of
from steinball.tilts import PolynomialTilt

pytestmark = pytest.mark.exact
Floats = NDArray[np.float64]
FourTerm = Callable[..., Floats]

METRIC = {d: np.diag(np.linspace(0.5, 1.5, d)) + 0.2 * np.ones((d, d)) for d in (1, 2, 3, 10)}


def score(x: Any) -> Any:
    """Not linear, so that no term of the Stein kernel is another one in disguise."""
    return -x - 0.3 * x**3


def problem_of(x: Any, tilted: bool = True, metric: Floats | None = None) -> Problem:
    return pose(x, score, InverseMultiquadric(1.3, metric=metric), PolynomialTilt() if tilted else None)


def draws(n: int, n_resamples: int = 70, seed: int = 0) -> Any:
    """More draws than one chunk."""
    return asked(n, n_resamples, seed).weights


def asked(n: int, n_resamples: int = 70, seed: int = 0) -> Request:
    return WeightedBootstrap(n_resamples).request(n, np.random.SeedSequence(seed))


def check_against(summary: GramSummary, u: Floats, weights: Any, rtol: float = 1e-10) -> None:
    """Every answer, from the full matrix ``u``; errors are measured by the size of what is summed."""
    n = len(u)
    size = float(np.abs(u).mean())
    np.testing.assert_allclose(to_host(summary.diagonal), np.diag(u), rtol=rtol)
    np.testing.assert_allclose(to_host(summary.row_means), u.mean(axis=1), rtol=0, atol=rtol * size * 10)
    assert summary.mean == pytest.approx(u.mean(), rel=0, abs=rtol * size)
    w = np.concatenate([np.asarray(chunk, dtype=float) for chunk in weights]) if weights else np.empty((0, n))
    forms = np.einsum("bi,ij,bj->b", w, u, w, optimize=True) / n**2
    atol = rtol * float((np.abs(w) @ np.abs(u) * np.abs(w)).sum(axis=1).max(initial=1.0)) / n**2
    np.testing.assert_allclose(summary.quadratic_forms, forms, rtol=0, atol=atol)
    own = np.square(w) @ np.diag(u) / n**2
    np.testing.assert_allclose(summary.diagonal_forms, own, rtol=rtol)


def equal(a: GramSummary, b: GramSummary, rtol: float = 1e-12) -> None:
    """The four answers of two engines agree, relative to the size of what is summed."""
    diagonal = to_host(b.diagonal)
    np.testing.assert_allclose(to_host(a.diagonal), diagonal, rtol=rtol)
    np.testing.assert_allclose(to_host(a.row_means), to_host(b.row_means), rtol=rtol, atol=rtol * diagonal.mean())
    np.testing.assert_allclose(a.quadratic_forms, b.quadratic_forms, rtol=rtol * 10)
    assert a.mean == pytest.approx(b.mean, rel=rtol * 10)


def identical(a: GramSummary, b: GramSummary) -> None:
    """Bit for bit."""
    np.testing.assert_array_equal(a.quadratic_forms, b.quadratic_forms)
    np.testing.assert_array_equal(to_host(a.row_means), to_host(b.row_means))
    assert a.mean == b.mean


@pytest.mark.parametrize(
    ("n", "tile"),
    [(101, 25), (101, 50), (101, 100), (64, 64), (64, 32), (65, 64), (5, 64), (2, 1), (17, 1), (40, 39)],
)
def test_every_way_to_cut_into_tiles_gives_the_full_matrix(n: int, tile: int, four_term: FourTerm) -> None:
    x = np.random.default_rng(n).normal(size=(n, 3))
    weights = list(draws(n))
    summary = BlockedGram(problem_of(x), tile, n_jobs=1).summarise(Request(weights))
    check_against(summary, four_term(x, score(x), 1.3, tilted=True), weights)
    assert (summary.engine, summary.grade, len(summary)) == ("blocked", "exact", n)


@pytest.mark.parametrize("tilted", [False, True])
@pytest.mark.parametrize("with_metric", [False, True])
@pytest.mark.parametrize("d", [1, 2, 3, 10])
def test_every_dimension_with_and_without_tilt_and_metric(
    d: int, with_metric: bool, tilted: bool, four_term: FourTerm
) -> None:
    x = np.random.default_rng(d).normal(size=(90, d)) * 0.8 + 0.3
    metric = METRIC[d] if with_metric else None
    weights = list(draws(90))
    summary = BlockedGram(problem_of(x, tilted, metric), 32, n_jobs=1).summarise(Request(weights))
    check_against(summary, four_term(x, score(x), 1.3, metric, tilted), weights)


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64])
def test_weights_of_any_integer_width_and_mixed_chunks_are_taken_as_they_are(kind: Any, four_term: FourTerm) -> None:
    """300 does not fit eight bits; a stream may hold chunks of both widths."""
    x = np.random.default_rng(1).normal(size=(70, 2))
    rng = np.random.default_rng(2)
    top = 120 if kind is np.int8 else 300
    weights = [rng.integers(-1, top, size=(6, 70)).astype(kind), rng.integers(-1, 5, size=(3, 70)).astype(np.int8)]
    before = [chunk.copy() for chunk in weights]
    summary = BlockedGram(problem_of(x), 16, n_jobs=1).summarise(Request(weights))
    check_against(summary, four_term(x, score(x), 1.3, tilted=True), weights)
    for chunk, copy in zip(weights, before, strict=True):
        np.testing.assert_array_equal(chunk, copy)


def test_no_weights_give_a_statistic_without_draws(four_term: FourTerm) -> None:
    x = np.random.default_rng(1).normal(size=(70, 2))
    request = DeviationBound().request(70, np.random.SeedSequence(0))
    summary = BlockedGram(problem_of(x), 16, n_jobs=2).summarise(request)
    check_against(summary, four_term(x, score(x), 1.3, tilted=True), [])
    assert summary.quadratic_forms.shape == summary.diagonal_forms.shape == (0,)


@pytest.mark.parametrize("bootstrap", [WeightedBootstrap, WildBootstrap])
@pytest.mark.parametrize("tile", [7, 32, 256])
def test_equals_the_dense_engine(bootstrap: Any, tile: int) -> None:
    x = np.random.default_rng(3).normal(size=(150, 4))
    request = bootstrap(130).request(150, np.random.SeedSequence(5))
    problem = problem_of(x)
    equal(BlockedGram(problem, tile, n_jobs=1).summarise(request), DenseGram(problem).summarise(request))


@pytest.mark.parametrize("far", [30.0, 1e6, 1e9])
def test_far_outliers_in_one_strip_cost_the_others_no_digit(far: float, four_term: FourTerm) -> None:
    """Strips without outliers expand distances, the one with them does not; each pair of strips must still agree."""
    x = np.random.default_rng(4).normal(size=(128, 3)) + 5.0
    x[40:44] = far * np.array([1.0, -1.0, 0.5])
    x[41] += 1e-3  # two outliers that are close together
    problem = pose(x, from_scores(-x), InverseMultiquadric(1.3), PolynomialTilt())
    strips = [problem.stein.prepare(x[k : k + 32], problem.scores[k : k + 32], center_of(x)) for k in range(0, 128, 32)]
    assert [points.sides is None for points in strips] == [False, far > 100.0, False, False]
    weights = list(draws(128))
    summary = BlockedGram(problem, 32, n_jobs=1).summarise(Request(weights))
    u = four_term(x, -x, 1.3, tilted=True)
    bulk = np.setdiff1d(np.arange(128), np.arange(40, 44))
    np.testing.assert_allclose(to_host(summary.row_means)[bulk], u.mean(axis=1)[bulk], rtol=1e-8)
    equal(summary, DenseGram(problem).summarise(Request(weights)), rtol=1e-10)


def test_an_offset_of_a_million_changes_nothing(four_term: FourTerm) -> None:
    """Points are centered before distances are expanded, by one center for all strips."""
    x = np.random.default_rng(5).normal(size=(96, 3))
    shifted = x + 2.0**20
    near = BlockedGram(pose(x, from_scores(-x), InverseMultiquadric(1.3)), 32, n_jobs=1).summarise(asked(96))
    far = BlockedGram(pose(shifted, from_scores(-x), InverseMultiquadric(1.3)), 32, n_jobs=1).summarise(asked(96))
    equal(far, near, rtol=1e-9)
    check_against(near, four_term(x, -x, 1.3), list(draws(96)))


@pytest.mark.parametrize("d", [1, 3, 10])
def test_single_precision_keeps_four_digits(d: int) -> None:
    x = np.random.default_rng(6).normal(size=(1500, d)).astype(np.float32)
    weights = draws(1500)
    single = BlockedGram(problem_of(x), 64, n_jobs=1).summarise(Request(weights))
    double = DenseGram(problem_of(x.astype(np.float64))).summarise(Request(weights))
    assert to_host(single.row_means).dtype == np.float64
    assert single.row_means.dtype == np.float32
    assert single.mean == pytest.approx(double.mean, rel=1e-4)
    np.testing.assert_allclose(single.quadratic_forms, double.quadratic_forms, rtol=1e-4)


@pytest.mark.backend
@pytest.mark.parametrize("d", [2, 3])
def test_every_array_library_gives_the_full_matrix_and_keeps_its_arrays(xp: Any, d: int, four_term: FourTerm) -> None:
    x = np.random.default_rng(7).normal(size=(75, d))
    weights = list(draws(75))
    problem = problem_of(xp.asarray(x))
    summary = BlockedGram(problem, 32).summarise(Request(weights))
    check_against(summary, four_term(x, score(x), 1.3, tilted=True), weights)
    assert type(summary.row_means) is type(summary.diagonal) is type(problem.samples)
    none = BlockedGram(problem, 32).summarise(Request())
    assert none.mean == pytest.approx(summary.mean, rel=1e-12)
    assert none.quadratic_forms.shape == (0,)


@pytest.mark.parametrize("tile", [16, 50])
@pytest.mark.parametrize("n_resamples", [0, 70])
def test_neither_threads_nor_processes_change_a_bit(tile: int, n_resamples: int) -> None:
    x = np.random.default_rng(8).normal(size=(180, 3))
    weights: Any = list(draws(180, n_resamples)) if n_resamples else ()
    problem = problem_of(x)
    serial = BlockedGram(problem, tile, n_jobs=1).summarise(Request(weights))
    for jobs in (2, 3, -1, None):
        identical(BlockedGram(problem, tile, n_jobs=jobs).summarise(Request(weights)), serial)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        identical(BlockedGram(problem, tile).summarise(Request(weights)), serial)


def test_strips_that_are_kept_are_those_that_are_cut_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of(np.random.default_rng(9).normal(size=(150, 3)))
    kept = BlockedGram(problem, 32, n_jobs=1).summarise(asked(150))
    monkeypatch.setattr(steinball.gram.blocked, "KEPT_WEIGHTS", 0)
    identical(BlockedGram(problem, 32, n_jobs=1).summarise(asked(150)), kept)


def test_a_stream_of_weights_may_be_read_again() -> None:
    problem = problem_of(np.random.default_rng(10).normal(size=(60, 2)))
    gram, request = BlockedGram(problem, 16, n_jobs=2), asked(60)
    identical(gram.summarise(request), gram.summarise(request))


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_tile_of_the_upper_triangle_is_computed_once(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half the work of the full matrix: ten tiles of a 4 by 4 grid."""
    seen = []
    original: Any = getattr(steinball.gram.blocked, "tile_sums")  # noqa: B009 - not exported

    @functools.wraps(original)
    def counted(stein: Any, rows: Any, columns: Any) -> Any:
        seen.append((float(rows.points.z[0, 0]), float(columns.points.z[0, 0])))
        return original(stein, rows, columns)

    monkeypatch.setattr(steinball.gram.blocked, "tile_sums", counted)
    BlockedGram(problem_of(np.random.default_rng(11).normal(size=(100, 2))), 25, n_jobs=jobs).summarise(asked(100))
    assert len(seen) == len(set(seen)) == 10
    assert not {(b, a) for a, b in seen if a != b} & set(seen)


@pytest.mark.parametrize("jobs", [1, 2])
def test_overflow_is_an_error_that_names_the_remedy(jobs: int) -> None:
    x = np.random.default_rng(12).normal(size=(100, 1))
    x[60] = 1e200
    with pytest.raises(FloatingPointError, match=r"overflows at 100 of 100 points.*use a tilt"):
        BlockedGram(pose(x, from_scores(-x), InverseMultiquadric(1.0)), 16, n_jobs=jobs).summarise(asked(100))


@pytest.mark.parametrize("jobs", [1, 2])
def test_draws_that_overflow_are_an_error_where_the_statistic_does_not(jobs: int) -> None:
    x = np.random.default_rng(13).normal(size=(100, 1))
    scores = -x
    scores[60] = 1e154
    with pytest.raises(FloatingPointError, match="bootstrap draws of the Stein kernel overflow"):
        BlockedGram(pose(x, from_scores(scores), InverseMultiquadric(1.0)), 16, n_jobs=jobs).summarise(asked(100, 500))


@pytest.mark.parametrize("m", [1, 63, 64, 65, 128, 200])
def test_forms_of_a_symmetric_matrix_need_its_blocks_below_the_diagonal_alone(m: int) -> None:
    rng = np.random.default_rng(m)
    rows, half = rng.integers(-1, 4, size=(7, m)).astype(float), rng.normal(size=(m, m))
    matrix = half + half.T
    expected = np.einsum("bi,ij,bj->b", rows, matrix, rows)
    above = np.triu(np.ones((m, m), dtype=bool)) & (np.arange(m)[:, None] // 64 < np.arange(m) // 64)
    np.testing.assert_allclose(symmetric_forms(rows, np.where(above, np.nan, matrix)), expected, rtol=1e-12, atol=1e-9)


def test_a_tile_on_the_diagonal_is_taken_for_symmetric_and_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    forms = mock.Mock(wraps=symmetric_forms)
    monkeypatch.setattr(steinball.gram.tiles, "symmetric_forms", forms)
    x = np.random.default_rng(0).normal(size=(50, 2))
    BlockedGram(problem_of(x), 16, 1).summarise(WeightedBootstrap(9).request(50, np.random.SeedSequence(0)))
    assert forms.call_count == 4
