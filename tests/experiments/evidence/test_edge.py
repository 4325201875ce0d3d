"""The experiment at the edge of the ball: what one matrix says is what the tests say, and the edge is the edge."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steinball as sb
from experiments.evidence.contaminations import KINDS, lengthscale, supremum
from experiments.evidence.edge import ASKED, EXPERIMENT, LARGE, SIZES, problem_of, sample, trial
from experiments.framework.base import Cell
from experiments.framework.check import check
from experiments.framework.figures import render
from experiments.framework.run import run
from experiments.framework.table import Rate, Rates, Results, read_results
from steinball.calibration.betting import Betting

pytestmark = pytest.mark.paper


def cell(**changes: Any) -> Cell:
    return {"kind": "shifted", "dimension": 2, "contamination": 0.1, "n": 60, "variant": "published", **changes}


def public(x: Any, calibration: Any, radius: float, **options: Any) -> sb.GofResult:
    d = x.shape[1]
    kernel, tilt = sb.InverseMultiquadric(lengthscale(d)), sb.PolynomialTilt()
    model = sb.models.Gaussian(np.zeros(d), np.eye(d))
    settings = {"calibration": calibration, "tau": supremum(d)[0], "engine": "dense", **options}
    return sb.ksd_test(x, model, kernel=kernel, tilt=tilt, radius=radius, **settings)


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_is_what_the_public_test_says_of_the_same_sample(kind: str) -> None:
    here = cell(kind=kind, dimension=3)
    rows = {(r["test"], r["bootstrap"], r["strategy"]): r for r in trial(here, np.random.default_rng(5))}
    assert set(rows) == {(*method, where) for where, methods in ASKED.items() for method in methods}
    x = sample(here, rng := np.random.default_rng(5))
    for (test, scheme, where), row in rows.items():
        calibrations = {
            "r-ksd": sb.WeightedBootstrap(399),
            "r-ksd-boundary": sb.calibration.BoundaryBootstrap(399, scheme or "weighted"),
            "deviation": sb.DeviationBound(),
            "betting": Betting(order="arrival"),
        }
        result = public(x, calibrations[test], row["radius"], rng=copy.deepcopy(rng))
        assert row["pvalue"] == pytest.approx(result.pvalue), (test, scheme, where)
        assert row["ksd"] == pytest.approx(result.ksd)
        assert row["rejected"] == int(result.rejected)


def test_the_three_radii_are_the_edge_and_the_two_bounds() -> None:
    radii = {r["strategy"]: r["radius"] for r in trial(cell(), np.random.default_rng(0))}
    x = sample(cell(), np.random.default_rng(0))
    assert radii["edge"] == 0.1 * KINDS["shifted"].distance(2)
    assert radii["certified"] == pytest.approx(0.1 * np.sqrt(supremum(2)[0]))
    assert radii["sample"] == pytest.approx(0.1 * np.sqrt(float(problem_of(x).diagonal.max())))
    assert radii["edge"] < radii["sample"] <= radii["certified"]


@pytest.mark.parametrize("kind", ["far point", "shifted", "heavy tails"])
def test_the_distance_of_large_samples_is_the_radius(kind: str) -> None:
    """The unbiased D² of 3,000 draws from Q is θ², within four standard errors: nothing is off between R, ε₀ and θ."""
    x = sample(cell(kind=kind, n=3000, contamination=0.2), np.random.default_rng(2))
    problem = problem_of(x)
    u = problem.stein.block(problem.points, problem.points)
    rows = (u.sum(axis=1) - np.diag(u)) / (len(x) - 1)
    theta = 0.2 * KINDS[kind].distance(2)
    error = 2.0 * rows.std() / np.sqrt(len(x)) + np.sqrt(2.0 * np.mean(u * u)) / len(x)
    assert abs(rows.mean() - theta**2) < 4.0 * error


def test_the_number_of_contaminated_points_is_random() -> None:
    draws = [sample(cell(kind="far point", n=100), np.random.default_rng(k)) for k in range(200)]
    counts = np.array([np.sum((x == 10.0).all(axis=1)) for x in draws])
    assert counts.mean() == pytest.approx(10.0, abs=4.0 * 3.0 / 200**0.5)
    assert counts.std() == pytest.approx(3.0, abs=0.6)  # √(100 · .1 · .9), four standard errors


def test_the_boundary_bootstrap_rejects_whenever_the_papers_test_does() -> None:
    for seed in range(20):
        rows = trial(cell(n=50, contamination=0.2), np.random.default_rng(seed))
        for where in ("edge", "sample"):
            p = {r["test"]: r["pvalue"] for r in rows if r["strategy"] == where and r["bootstrap"] == "weighted"}
            assert p["r-ksd-boundary"] <= p["r-ksd"]


def test_the_grid_is_what_was_promised() -> None:
    whole = [c for c in EXPERIMENT.grid if c["n"] != LARGE]
    assert len(whole) == 4 * 4 * 4 * 6
    assert {c["n"] for c in whole} == {50, 100, 300, 1000}
    assert {c["dimension"] for c in whole} == {1, 2, 10, 50}
    assert {c["contamination"] for c in whole} == {0.01, 0.05, 0.1, 0.2}
    assert len({c["kind"] for c in whole}) == 6
    assert {c["n"] for c in EXPERIMENT.grid} - {c["n"] for c in whole} == {3000}
    assert (EXPERIMENT.repeats, EXPERIMENT.again) == (400, 2000)


def planted(rate_of: Any, repeats: int = 400) -> Results:
    """A whole table whose rates we choose."""
    empty = dict.fromkeys(next(iter(_small_results().rates)).where, "")
    rows = []
    for place in EXPERIMENT.grid:
        for where, methods in ASKED.items():
            for test, scheme in methods:
                at = {**empty, **{k: format(v, "g") if not isinstance(v, str) else v for k, v in place.items()}}
                at |= {"variant": "published", "test": test, "bootstrap": scheme, "strategy": where}
                hits = round(repeats * rate_of(test, scheme, where, place))
                rows.append(Rate(at, repeats, hits, 0.1, 0.01, 0.1, 1.0, 0.0, 0.0))
    return Results(Rates(tuple(rows)))


_KEPT: dict[str, Results] = {}


def _small_results() -> Results:
    return _KEPT["small"]


@pytest.fixture(scope="module", autouse=True)
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One repeat of the cells with 50 points."""
    grid = tuple(c for c in EXPERIMENT.grid if c["n"] == 50)
    path = run(dataclasses.replace(EXPERIMENT, grid=grid), tmp_path_factory.mktemp("edge"), repeats=1, jobs=1)
    _KEPT["small"] = read_results(path)
    return path


def rates(test: str, scheme: str, where: str, place: Cell) -> float:
    """A table on which everything holds."""
    return {"r-ksd": 0.01, "r-ksd-boundary": 0.0475}.get(test, 0.0)


def words(results: Results) -> set[str]:
    return {verdict.word for verdict in check(EXPERIMENT, results)}


def test_every_claim_is_checked_in_every_cell_and_can_hold() -> None:
    verdicts = check(EXPERIMENT, planted(rates))
    assert {v.word for v in verdicts} == {"holds"}
    cells = 384 + 6
    assert len(verdicts) == 6 * cells + 2 + 384  # six bounds everywhere, two means, one comparison


@pytest.mark.parametrize(
    ("test", "scheme", "where", "n", "rate"),
    [
        ("r-ksd-boundary", "weighted", "edge", 300, 0.09),
        ("r-ksd-boundary", "weighted", "edge", 50, 0.105),
        ("r-ksd-boundary", "weighted", "edge", LARGE, 0.09),
        ("r-ksd-boundary", "wild", "edge", 100, 0.09),
        ("betting", "", "edge", 1000, 0.055),
        ("deviation", "", "edge", 50, 0.055),
        ("r-ksd-boundary", "weighted", "certified", 50, 0.085),
        ("r-ksd-boundary", "weighted", "sample", 100, 0.09),
        ("r-ksd-boundary", "weighted", "edge", 100, 0.0),
    ],
)
def test_one_rate_out_of_bounds_is_found(test: str, scheme: str, where: str, n: int, rate: float) -> None:
    """In the last case the paper's test rejects more often than the boundary bootstrap."""

    def wrong(*at: Any) -> float:
        here = (*at[:3], at[3]["n"], at[3]["kind"], at[3]["dimension"], at[3]["contamination"])
        return rate if here == (test, scheme, where, n, "shifted", 10, 0.05) else rates(*at)

    verdicts = [v for v in check(EXPERIMENT, planted(wrong)) if v.word != "holds"]
    assert len(verdicts) == 1
    found = verdicts[0].finding.where
    assert found is not None
    assert (found["n"], found["kind"], found["dimension"], found["contamination"]) == (n, "shifted", 10, 0.05)


@pytest.mark.parametrize(("rate", "found"), [(0.07, {"holds"}), (0.0725, {"holds", "MISSES"})])
def test_the_level_and_two_standard_errors_are_allowed_at_every_size(rate: float, found: set[str]) -> None:
    """.0718 for 400 repeats, at n = 50 as elsewhere."""
    at_edge = ("r-ksd-boundary", "weighted", "edge")

    def high(*at: Any) -> float:
        return rate if at[:3] == at_edge and at[3]["kind"] == "wide" and at[3]["dimension"] == 1 else rates(*at)

    assert words(planted(high)) == found


@pytest.mark.parametrize("mean", [0.0325, 0.0625])
def test_a_mean_out_of_bounds_is_found(mean: float) -> None:
    table = planted(lambda *at: mean if at[:2] == ("r-ksd-boundary", "weighted") else rates(*at))
    assert words(table) == {"holds", "MISSES"}


def test_the_figure_and_the_table_of_means_come_from_any_part_of_the_grid(small: Path, tmp_path: Path) -> None:
    for name, results in (("whole", planted(rates)), ("part", read_results(small))):
        assert [path.suffix for path in render(EXPERIMENT, results, tmp_path / name)] == [".png", ".svg"]
    text = EXPERIMENT.extra(planted(rates))
    assert "| the paper's test | the edge, ε₀ D(R, P) | 0.010 (0.010) |" in text
    assert text.count("\n| ") == 1 + sum(len(methods) for methods in ASKED.values())
    assert str(SIZES[0]) in text
