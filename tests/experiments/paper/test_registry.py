"""Every experiment small, through the same code, against what survives at that size."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.framework.check import check
from experiments.framework.figures import render
from experiments.framework.run import run
from experiments.framework.table import GRID, Rates, Results, read_records, read_results
from experiments.paper import EXPERIMENTS, Experiment, experiment

pytestmark = pytest.mark.paper

NAMES = (
    "weights", "bandwidth-robust", "outliers", "tails", "rbm", "kef-level", "kef-power", "mixture",
    "contamination-rate", "supremum", "bandwidth-standard", "mean-shift", "dimension", "noise", "bootstraps",
    "deviation",
)  # fmt: skip
THEOREMS = ("non-robustness", "tightness", "oracle")
TEXTS = ("dependence", "growing-score", "bounded-score", "localized", "u-statistic", "weighted-norm")

# Smaller samples where the cell says how many points there are; the galaxies are 82 for everybody.
SIZES = {"mixture": 200, "rbm": 100, "oracle": 20}


def small(name: str) -> Experiment:
    """The experiment with fewer points: n is divided by ten where it is an axis, 60 elsewhere."""
    found = experiment(name)
    many = len({cell.get("n") for cell in found.grid}) > 1

    def shrunk(cell: Any) -> dict[str, Any]:
        if "n" not in cell:
            return dict(cell)
        return {**cell, "n": max(10, cell["n"] // 10) if many else SIZES.get(name, 60)}

    cells = [shrunk(cell) for cell in found.grid]
    unique = list({str(sorted(cell.items())): cell for cell in cells}.values())
    always = ("exact",) if name == "rbm" else found.always  # chains of 2,000 sweeps take a second each
    return dataclasses.replace(found, grid=tuple(unique), always=always)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One repeat of every experiment."""
    out = tmp_path_factory.mktemp("paper")
    return {name: run(small(name), out, repeats=1, jobs=1) for name in EXPERIMENTS}


def test_all_sixteen_experiments_the_theorems_and_what_the_text_says_are_there() -> None:
    assert tuple(EXPERIMENTS) == (*NAMES, *THEOREMS, *TEXTS)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_row_is_complete(name: str, tables: dict[str, Path]) -> None:
    records = read_records(tables[name])
    assert records
    for record in records:
        assert record["rejected"] in ("0", "1")
        assert 0.0 < float(record["pvalue"]) <= 1.0
        assert (float(record["pvalue"]) <= 0.05) == (record["rejected"] == "1")
        assert float(record["ksd"]) >= 0.0
        assert float(record["radius"]) >= 0.0
        assert float(record["seconds"]) >= 0.0
        assert record["n"]
        assert record["dimension"]
        robust = record["test"] in ("r-ksd", "r-ksd-dev", "dcmmd", "mmd-dev")
        if robust and name not in ("tails", "mean-shift", "dimension"):
            assert record["tolerance"]
        if record["test"] in ("imq-ksd", "tilted-ksd", "ksdagg"):
            assert record["tolerance"] == ""
            assert float(record["radius"]) == 0.0


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_axes_of_the_grid_are_columns_of_the_table(name: str) -> None:
    cells = experiment(name).grid
    assert {column for cell in cells for column in cell} <= set(GRID)
    assert len({str(sorted(cell.items())) for cell in cells}) == len(cells)


EXPECTED_TESTS = {
    "weights": {"imq-ksd", "tilted-ksd"},
    "bandwidth-robust": {"r-ksd", "ksdagg"},
    "outliers": {"imq-ksd", "tilted-ksd", "r-ksd", "dcmmd", "mmd-dev"},
    "contamination-rate": {"tilted-ksd", "r-ksd"},
    "supremum": {"tilted-ksd", "r-ksd"},
    "bandwidth-standard": {"imq-ksd", "ksdagg"},
    "bootstraps": {"r-ksd"},
    "deviation": {"imq-ksd", "tilted-ksd", "r-ksd", "r-ksd-dev", "dcmmd", "mmd-dev"},
    "tightness": {"r-ksd"},
    "oracle": {"r-ksd", "r-ksd-oracle", "s-oracle"},
    "dependence": {"tilted-ksd"},
    "growing-score": {"tilted-ksd", "r-ksd"},
    "bounded-score": {"r-ksd"},
    "localized": {"r-ksd"},
    "u-statistic": {"tilted-ksd", "r-ksd"},
    "weighted-norm": {"r-ksd"},
}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_has_the_tests_it_must_have(name: str, tables: dict[str, Path]) -> None:
    found = {record["test"] for record in read_records(tables[name])}
    expected = EXPECTED_TESTS.get(name, {"imq-ksd", "tilted-ksd", "r-ksd"})
    assert found == expected | ({"r-ksd-boundary"} if "r-ksd" in expected and name not in TEXTS else set())


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_boundary_bootstrap_rejects_whenever_the_papers_test_does(name: str, tables: dict[str, Path]) -> None:
    records = read_records(tables[name])
    pvalues = {
        test: {
            tuple(r[k] for k in (*GRID, "repeat", "variant")): float(r["pvalue"]) for r in records if r["test"] == test
        }
        for test in ("r-ksd", "r-ksd-boundary")
    }
    assert pvalues["r-ksd-boundary"].keys() <= pvalues["r-ksd"].keys()
    assert all(pvalue <= pvalues["r-ksd"][key] for key, pvalue in pvalues["r-ksd-boundary"].items())


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_robust_test_never_rejects_where_the_tilted_one_does_not(name: str, tables: dict[str, Path]) -> None:
    """They share their draws, so this holds row by row; it fails if they are computed from different evidence."""
    records = read_records(tables[name])
    keys = [column for column in GRID if column not in ("tolerance", "df0", "reference_shift")]
    tilted = {
        tuple(r[k] for k in (*keys, "repeat", "variant")): float(r["pvalue"])
        for r in records
        if r["test"] == "tilted-ksd"
    }
    robust = [r for r in records if r["test"] == "r-ksd"] if tilted else []
    for r in robust:
        assert float(r["pvalue"]) >= tilted[tuple(r[k] for k in (*keys, "repeat", "variant"))]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_figure_is_drawn_from_the_table_alone_and_twice_the_same(
    name: str, tables: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second time as pixels alone but for one experiment: names and dates in an SVG have one style for all."""
    results, both = _as_full(name, read_results(tables[name])), name == NAMES[0]
    first = render(small(name), results, tmp_path / "a")
    assert [path.suffix for path in first] == [".png", ".svg"] * len(small(name).drawings)
    assert first[0].read_bytes()[:4] == b"\x89PNG"
    figure = pytest.importorskip("matplotlib.figure").Figure
    write = figure.savefig
    monkeypatch.setattr(
        figure, "savefig", lambda self, to, **o: write(self, to, **o) if both or to.suffix == ".png" else None
    )
    second = [path for path in render(small(name), results, tmp_path / "b") if path.exists()]
    assert [path.name for path in second] == [path.name for path in first if both or path.suffix == ".png"]
    assert all(path.read_bytes() == (tmp_path / "a" / path.name).read_bytes() for path in second)
    svg = first[1].read_text(encoding="utf-8")
    assert "rejection rate" in svg


def _as_full(name: str, results: Results) -> Results:
    """The small table with the sample sizes of the full one, which the figures of some experiments select by."""
    sizes = dict(zip((str(c.get("n")) for c in small(name).grid), (str(c.get("n")) for c in experiment(name).grid)))  # noqa: B905
    rows = [
        dataclasses.replace(r, where={**r.where, "n": sizes.get(r.where["n"], r.where["n"])}) for r in results.rates
    ]
    return Results(Rates(tuple(rows)), results.curves)


def test_numbers_that_are_no_rates_hold_at_any_size(tables: dict[str, Path]) -> None:
    """u(3, 3), its maximum, δ₀ and the fits do not depend on the repeats."""
    for name, count in (("weights", 6), ("tails", 3), ("kef-level", 4)):
        verdicts = [v for v in check(experiment(name), read_results(tables[name])) if v.finding.interval is None]
        assert len(verdicts) == count
        assert {v.word for v in verdicts} == {"holds"}


def test_the_robust_test_keeps_the_level_and_has_power_at_small_size(tables: dict[str, Path]) -> None:
    """One sample of 60 points: no rejection at ε = ε₀, none of the tilted test missed at ε = .5."""
    rates = read_results(tables["deviation"]).rates
    assert rates.one(test="r-ksd", tolerance=0.05, contamination=0.05).rejections == 0
    assert rates.one(test="tilted-ksd", contamination=0.5).rate == 1.0
    assert rates.one(test="r-ksd", tolerance=0.05, contamination=0.5).rate == 1.0


def test_the_text_variant_changes_what_it_says() -> None:
    """λ² = 1 is length scale² = 2 as published and 1 in the text, so u(x, x) is larger there."""
    taus = {}
    for variant in ("published", "text"):
        found = experiment("supremum")
        [row] = [
            r
            for r in found.trial({**found.cell(0, variant), "n": 200}, np.random.default_rng(0))
            if r["test"] == "r-ksd"
        ]
        taus[variant] = row["tau"]
    assert taus["published"] == pytest.approx(1.38138, abs=1e-3)
    assert taus["text"] > 1.5


@pytest.mark.parametrize(
    ("name", "variant"), [(name, variant) for name, e in EXPERIMENTS.items() for variant in e.variants]
)
def test_every_variant_runs(name: str, variant: str, tmp_path: Path) -> None:
    if (name, variant) == ("rbm", "published"):
        pytest.skip("the same code as the others, and 2,000 sweeps")
    found = small(name)
    path = run(dataclasses.replace(found, grid=found.grid[:1]), tmp_path, repeats=1, jobs=1, variant=variant)
    assert {record["variant"] for record in read_records(path)} == {variant}
