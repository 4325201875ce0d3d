"""The benchmarks measure what they say: the references are right, the rows complete, the verdicts true."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steinball as sb
from benchmarks import __main__ as table
from benchmarks import growth, page, peers, plot
from benchmarks.cases import LARGE, SMALL, Case
from benchmarks.reference import four_terms, plain_test, product_seconds, shortest
from steinball.kernels import InverseMultiquadric
from steinball.stein import SteinKernel

pytestmark = pytest.mark.exact
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("d", [1, 3])
def test_the_plain_formula_is_the_stein_kernel(d: int) -> None:
    x = np.random.default_rng(d).normal(size=(20, d))
    scores = np.random.default_rng(d + 1).normal(size=(20, d))
    ours = SteinKernel(InverseMultiquadric(1.3), sb.PolynomialTilt())(x, scores, x, scores)
    np.testing.assert_allclose(four_terms(x, scores, 1.3), ours, rtol=1e-11, atol=1e-12)


def test_the_plain_test_is_the_robust_test() -> None:
    """Same D and θ; its quantile is from other draws, so within 10 %."""
    x = np.random.default_rng(0).normal(size=(150, 2))
    x[:15] = 10.0
    ksd, theta, quantile = plain_test(x, 0.05, 999)
    result = sb.robust_ksd_test(x, sb.models.Gaussian([0.0, 0.0]), 0.05, tilt=sb.PolynomialTilt(), rng=0)
    assert (ksd, theta) == pytest.approx((result.ksd, result.radius), rel=1e-10)
    assert result.draws is not None
    assert quantile == pytest.approx(np.quantile(result.draws, 0.95), rel=0.1)


def test_the_shortest_of_some_runs_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 3.0, 10.0, 11.0])
    monkeypatch.setattr("benchmarks.reference.time.perf_counter", lambda: next(times))
    assert shortest(lambda: "answer", 2) == (1.0, "answer")


@pytest.mark.parametrize(("n", "times"), [(300, 1.0), (8_000, 1.0), (20_000, 2.5), (100_000, 25.0)])
def test_a_large_matrix_product_is_scaled_up_from_some_of_its_columns(
    n: int, times: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 100,000 columns 4,000 are multiplied: what they take counts 25 times. Nothing is multiplied here."""

    class Zeros:
        def standard_normal(self, shape: tuple[int, int]) -> Any:
            return np.broadcast_to(0.0, shape)

    monkeypatch.setattr(np.random, "default_rng", lambda seed: Zeros())
    monkeypatch.setattr("benchmarks.reference.shortest", lambda function, repeats: (2.0, None))
    assert product_seconds(n, 500, 1) == 2.0 * times


def run_row(**fields: Any) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.row", json.dumps(fields)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    row: dict[str, Any] = json.loads(done.stdout)
    return row


def test_a_case_runs_in_a_process_of_its_own() -> None:
    row = run_row(n=300, d=2, outliers=0.15, jobs=1, engine="blocked", least_speedup=1.0)
    x = np.random.default_rng(0).standard_normal((300, 2))
    x[:45] = 10.0
    model, draws = sb.models.Gaussian(np.zeros(2), 1.0), sb.WeightedBootstrap(500)
    here = sb.robust_ksd_test(x, model, 0.05, tilt=sb.PolynomialTilt(), calibration=draws, rng=0)
    assert (row["pvalue"], row["rejected"]) == (here.pvalue, here.rejected)
    assert (row["n"], row["d"], row["outliers"], row["engine"], row["grade"]) == (300, 2, 0.15, "blocked", "exact")
    assert min(row["seconds"], row["products"], row["speedup"]) > 0.0
    assert row["memory"] < 10**8


def test_a_case_need_not_be_compared() -> None:
    row = run_row(n=220, d=1, outliers=0.0, jobs=1, engine="dense", compared=False)
    assert (row["products"], row["speedup"], row["engine"]) == (None, None, "dense")


def test_the_peak_of_memory_is_seen() -> None:
    """80 MB for a moment, in a process of its own."""
    code = "import benchmarks.row as r, numpy as np\nwith r.Peak() as p: np.ones(10**7)\nprint(p.value)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert 7e7 < int(done.stdout) < 1.2e8


ROW = {"n": 1000, "d": 2, "outliers": 0.0, "seconds": 11.0, "products": 1.2, "speedup": 30.0, "memory": 2e9}


@pytest.mark.parametrize(
    ("targets", "words", "met"),
    [
        ({}, [], []),
        ({"most_products": 1.2}, ["≤ 1.2 products"], [True]),
        ({"most_products": 1.1}, ["≤ 1.1 products"], [False]),
        ({"least_speedup": 30.0}, ["≥ 30 × plain"], [True]),
        ({"least_speedup": 31.0}, ["≥ 31 × plain"], [False]),
        ({"most_memory": 2e9}, ["≤ 2.0 GB"], [True]),
        ({"most_memory": 1e9, "most_products": 2.0}, ["≤ 2 products", "≤ 1.0 GB"], [True, False]),
        ({"most_growth": 11.0}, ["11.0 ≤ 11 × the time of a tenth"], [True]),
        ({"most_growth": 10.0}, ["11.0 ≤ 10 × the time of a tenth"], [False]),
    ],
)
def test_each_target_is_judged_by_its_own_number(targets: dict[str, Any], words: list[str], met: list[bool]) -> None:
    tenth = [{**ROW, "n": 100, "outliers": share, "seconds": 1.0 + share} for share in (0.15, 0.0)]
    found = table.verdicts(Case(n=1000, d=2, outliers=0.0, jobs=1, **targets), ROW, tenth)
    assert found == list(zip(words, met, strict=True))


def test_growth_without_the_smaller_case_is_not_met() -> None:
    found = table.verdicts(Case(n=1000, d=2, outliers=0.0, jobs=1, most_growth=12.0), ROW, [])
    assert [met for _, met in found] == [False]


def test_a_missed_target_is_printed_as_missed() -> None:
    case = Case(n=1000, d=2, outliers=0.0, jobs=1, most_products=1.0, least_speedup=1.0)
    row = {**ROW, "engine": "blocked", "grade": "exact"}
    text = table.line(case, row, table.verdicts(case, row, []))
    assert "≤ 1 products: MISSED; ≥ 1 × plain: met" in text
    assert text.startswith("n=1,000 d=2 outliers=0 ")


def test_every_target_of_growth_has_its_smaller_case_before_it() -> None:
    cases = SMALL + LARGE
    for k, case in enumerate(cases):
        if case.most_growth is not None:
            assert (case.n // 10, case.d, case.outliers) in [(c.n, c.d, c.outliers) for c in cases[:k]]


def fake_point(seconds: float) -> Any:
    """A measurement that takes ``seconds`` at n = 1,000 and grows as n²."""

    def point(n: int, d: int, engine: str) -> dict[str, Any] | None:
        if engine == "dense" and n > 4_000:
            return None
        return {
            "n": n,
            "d": d,
            "engine": engine,
            "grade": "exact",
            "seconds": seconds * (n / 1e3) ** 2,
            "memory": n * 1e3,
        }

    return point


def test_a_line_ends_where_time_or_memory_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "point", fake_point(1.0))
    sizes, later = (1_000, 2_000, 4_000, 8_000, 16_000), float("inf")
    assert [row["n"] for row in growth.line("blocked", 2, sizes, later)] == [1_000, 2_000, 4_000]
    assert [row["n"] for row in growth.line("dense", 2, sizes, later)] == [1_000, 2_000, 4_000]
    assert list(growth.line("blocked", 2, sizes, -1.0)) == []
    monkeypatch.setattr(growth, "point", fake_point(0.01))
    assert [row["n"] for row in growth.line("blocked", 2, sizes, later)] == list(sizes)
    assert [row["n"] for row in growth.line("dense", 2, sizes, later)] == [1_000, 2_000, 4_000]


def test_time_is_expected_to_grow_at_least_as_the_square_and_as_it_did() -> None:
    def rows(*seconds: float) -> list[dict[str, Any]]:
        return [{"n": 1_000 * 2**k, "seconds": value} for k, value in enumerate(seconds)]

    assert growth.next_seconds([], 1_000) == 0.0
    assert growth.next_seconds(rows(3.0), 2_000) == pytest.approx(12.0)
    assert growth.next_seconds(rows(1.0, 1.5), 4_000) == pytest.approx(6.0)
    assert growth.next_seconds(rows(1.0, 8.0), 4_000) == pytest.approx(64.0)


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(plot, "RESULTS", tmp_path)
    monkeypatch.setattr(plot, "FIGURE", tmp_path / "drawn" / "scaling")
    return tmp_path


def test_the_figure_is_drawn_from_the_tables_alone(tables: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = [fake_point(0.01)(n, d, "blocked") for n in (1_000, 2_000) for d in (2, 10)]
    (tables / "growth.json").write_text(json.dumps({"rows": rows}))
    plot.main()
    files = [tables / "drawn" / f"scaling.{kind}" for kind in ("png", "svg")]
    first = [file.read_bytes() for file in files]
    plot.main()
    assert [file.read_bytes() for file in files] == first
    assert all(len(content) > 5_000 for content in first)


def test_sizes_beyond_the_growth_table_come_from_the_table_of_targets() -> None:
    near = fake_point(0.01)(1_000, 2, "lowrank")
    far = {**fake_point(0.01)(1_000_000, 2, "lowrank"), "outliers": 0.0, "grade": "certified"}
    other = {**far, "outliers": 0.15, "seconds": 1.0}
    (line,) = plot.cpu_lines({"rows": [near]}, [far, other])
    assert [n for n, _, _ in line.points] == [1_000, 1_000_000]
    assert line.points[1][1] == far["seconds"]
    (unsure,) = plot.cpu_lines({"rows": [{**near, "grade": "approximate"}]}, None)
    assert unsure.filled == (False,)


def test_the_recorded_gpu_rows_make_one_line() -> None:
    rows = [
        {"n": n, "d": 10, "outliers": o, "seconds": n / 1e5, "memory_gb": 2.0}
        for n in (10**6, 10**5)
        for o in (0, 0.15)
    ]
    (line,) = plot.gpu_line({"scaling": rows})
    assert line.points == ((10**5, 1.0, 2e9), (10**6, 10.0, 2e9))
    assert plot.gpu_line(None) == []


def test_without_tables_there_is_no_figure(tables: Path) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(SystemExit, match=r"run `python -m benchmarks.growth` first"):
        plot.main()


def test_the_page_shows_what_was_recorded() -> None:
    """After a new measurement, ``python -m benchmarks.page`` brings it up to date."""
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.fill(text) == text
    for name in page.TABLES:
        assert f"<!-- {name} -->" in text


def test_a_table_of_the_page_says_what_was_missed(tables: Path) -> None:
    row = {**ROW, "jobs": 2, "engine": "lowrank", "grade": "certified", "when": "2026-01-02", "speedup": None}
    target = [{"target": "≤ 1 products", "met": False}, {"target": "≤ 4.0 GB", "met": True}]
    (tables / "cpu.json").write_text(json.dumps([{**row, "targets": target}]))
    filled = page.fill("before\n<!-- cpu -->\nold\n<!-- end -->\nafter\n<!-- peers -->\nkept\n<!-- end -->\n")
    assert "old" not in filled
    assert "<!-- peers -->\nkept\n<!-- end -->" in filled
    assert "Measured on 2026-01-02." in filled
    assert "| 1,000 | 2 | 0 % | 2 | lowrank, certified | 11 s | 1.2 |  | 2.0 GB | ≤ 1 products: **missed**; " in filled
    assert page.fill(filled) == filled


@pytest.mark.parametrize(
    ("value", "words"), [(0.0123, "12.3 ms"), (1.234, "1.23 s"), (99.5, "99.5 s"), (1234.5, "1234 s")]
)
def test_times_have_three_digits(value: float, words: str) -> None:
    assert page.seconds(value) == words


def test_peers_that_are_not_installed_are_skipped_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["peers", "--small"])
    monkeypatch.setattr(peers, "measure", lambda peer, sizes: {"power": 0.5, "times": [{"seconds": 1.0}]})
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: real(name) if name == "steinball" else None)
    peers.main()
    printed = capsys.readouterr().out
    assert "hyppo FSSD           skipped: hyppo is not installed (pip install hyppo)" in printed
    assert "goodpoints CTT       skipped: goodpoints is not installed (pip install goodpoints)" in printed
    assert "steinball ksd_test     0.50" in printed


def test_our_own_side_of_the_comparison_decides() -> None:
    x = np.random.default_rng(0).standard_normal((300, 2))
    (ours,) = (peer for peer in peers.PEERS if peer.module == "steinball")
    assert (ours.rejects(x, 0), ours.rejects(x + 1.0, 0)) == (False, True)
