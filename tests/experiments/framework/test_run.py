"""Runs: the table is the same whatever the number of workers, and after any kill."""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import below
from experiments.framework.run import run, run_again
from experiments.framework.table import COLUMNS, Curve, read_results, write_records
from experiments.paper import experiment

pytestmark = pytest.mark.exact

Records = list[dict[str, str]]


def toy_trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """Two tests, one of them at two tolerances; what they measure is drawn from the seed alone."""
    value = float(rng.random())
    shared = {"n": cell["n"], "contamination": cell["contamination"], "ksd": value, "seconds": 0.0}
    first = {"test": "imq-ksd", "rejected": int(value > 0.5), "pvalue": 1.0 - value, **shared}
    return [first, *({"test": "r-ksd", "tolerance": e0, "rejected": 0, "pvalue": 1.0, **shared} for e0 in (0.05, 0.1))]


def toy(**changes: Any) -> Experiment:
    settings: dict[str, Any] = {
        "name": "toy",
        "title": "a toy",
        "reference": "nowhere",
        "says": "nothing",
        "grid": tuple({"n": n, "contamination": share} for n in (50, 100) for share in (0, 0.05, 0.1)),
        "trial": toy_trial,
        "repeats": 5,
        "expectations": (),
        "draw": lambda results, figure: None,
        "variants": {"published": "as it is", "text": "as it says"},
    }
    return Experiment(**{**settings, **changes})


def records_of(path: Path) -> Records:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_a_cell_that_takes_long_has_no_more_repeats_than_it_may(tmp_path: Path) -> None:
    path = run(toy(most=lambda cell: 2 if cell["n"] == 100 else 9), tmp_path, jobs=1)
    assert {(rate.where["n"], rate.repeats) for rate in read_results(path).rates} == {("50", 5), ("100", 2)}


def test_the_table_has_the_columns_of_the_contract_in_their_order(tmp_path: Path) -> None:
    path = run(toy(), tmp_path, jobs=1)
    assert path == tmp_path / "toy.csv"
    header = path.read_text(encoding="utf-8").splitlines()[0].split(",")
    assert header == [
        "test", "repeat", "rejected", "pvalue", "ksd", "radius", "tau", "seconds", "variant",
        "contamination", "tolerance", "outlier", "bandwidth", "exponent", "df", "df0", "shift", "reference_shift",
        "dimension", "separation", "offset", "n", "rate", "noise", "bootstrap", "kind", "strategy",
    ]  # fmt: skip
    assert tuple(header) == COLUMNS


def test_there_is_one_row_per_cell_repeat_and_test(tmp_path: Path) -> None:
    records = records_of(run(toy(), tmp_path, repeats=4, jobs=1))
    keys = [(r["n"], r["contamination"], r["repeat"], r["test"], r["tolerance"]) for r in records]
    assert len(keys) == len(set(keys)) == 6 * 4 * 3
    assert {r["rejected"] for r in records} <= {"0", "1"}
    assert {r["outlier"] for r in records} == {""}
    assert {r["variant"] for r in records} == {"published"}


def test_a_trial_is_seeded_by_its_cell_and_repeat(tmp_path: Path) -> None:
    records = records_of(run(toy(), tmp_path, seed=7, jobs=1))
    [row] = [
        r for r in records if (r["n"], r["contamination"], r["repeat"], r["test"]) == ("100", "0.05", "3", "imq-ksd")
    ]
    seed = np.random.SeedSequence(7, spawn_key=(4, 3))
    assert float(row["ksd"]) == pytest.approx(np.random.default_rng(seed).random(), abs=1e-12)


def small_tails() -> Experiment:
    """An experiment of the package itself, whose trial other processes can import."""
    tails = experiment("tails")
    return dataclasses.replace(tails, grid=tuple({**cell, "n": 40} for cell in tails.grid[:3]))


def without_seconds(path: Path) -> Records:
    return [{name: text for name, text in record.items() if name != "seconds"} for record in records_of(path)]


def test_the_table_is_the_same_whatever_the_number_of_processes(tmp_path: Path) -> None:
    serial = without_seconds(run(small_tails(), tmp_path / "serial", jobs=1, repeats=5))
    assert len(serial) == 3 * 5 * 8
    assert without_seconds(run(small_tails(), tmp_path / "parallel", jobs=2, repeats=5)) == serial


def test_a_configured_joblib_backend_is_honored(tmp_path: Path) -> None:
    serial = run(toy(), tmp_path / "serial", jobs=1).read_bytes()
    with joblib.parallel_config("threading", n_jobs=2):
        assert run(toy(), tmp_path / "threads").read_bytes() == serial


@pytest.mark.parametrize("kept", [0.0, 0.1, 0.31, 0.5, 0.77, 0.99, 0.9999])
def test_a_killed_run_goes_on_without_losing_or_repeating_a_row(tmp_path: Path, kept: float) -> None:
    """Cut the file anywhere, as a kill would: in the middle of a line, of a trial, of the header."""
    whole = run(toy(), tmp_path / "whole", jobs=1).read_bytes()
    path = run(toy(), tmp_path / "cut", jobs=1)
    path.write_bytes(whole[: int(kept * len(whole))])
    assert run(toy(), tmp_path / "cut", jobs=1).read_bytes() == whole


def test_a_run_stopped_in_the_middle_keeps_what_was_done(tmp_path: Path) -> None:
    """Trials that are on disk are not run again."""
    calls: list[int] = []

    def stopping(cell: Cell, rng: np.random.Generator) -> list[Row]:
        calls.append(1)
        if len(calls) == 12:
            raise KeyboardInterrupt
        return toy_trial(cell, rng)

    with pytest.raises(KeyboardInterrupt):
        run(toy(trial=stopping), tmp_path, jobs=1)
    before = {tuple(r.values()) for r in records_of(tmp_path / "toy.csv")}
    assert len(before) == 11 * 3
    calls.clear()

    def counting(cell: Cell, rng: np.random.Generator) -> list[Row]:
        calls.append(1)
        return toy_trial(cell, rng)

    after = {tuple(r.values()) for r in records_of(run(toy(trial=counting), tmp_path, jobs=1))}
    assert before < after
    # Only the trial written last, which may have been cut, is allowed to run again.
    assert len(calls) in (19, 20)


def test_more_repeats_extend_a_table(tmp_path: Path) -> None:
    few = records_of(run(toy(), tmp_path, repeats=2, jobs=1))
    more = records_of(run(toy(), tmp_path, repeats=5, jobs=1))
    assert {tuple(r.values()) for r in few} < {tuple(r.values()) for r in more}
    assert more == records_of(run(toy(), tmp_path / "at once", repeats=5, jobs=1))


def test_variants_share_a_table_and_are_told_apart(tmp_path: Path) -> None:
    run(toy(), tmp_path, variant="text", jobs=1)
    records = records_of(run(toy(), tmp_path, jobs=1))
    assert [r["variant"] for r in records] == 90 * ["published"] + 90 * ["text"]
    with pytest.raises(ValueError, match="published, text"):
        run(toy(), tmp_path, variant="txet")


def test_rows_of_another_seed_or_grid_are_not_mixed(tmp_path: Path) -> None:
    run(toy(), tmp_path, jobs=1)
    with pytest.raises(ValueError, match="another seed"):
        run(toy(), tmp_path, seed=1, jobs=1)
    with pytest.raises(ValueError, match="another grid"):
        run(toy(grid=({"n": 50, "contamination": 0},)), tmp_path, jobs=1)
    assert json.loads((tmp_path / "toy.run.json").read_text(encoding="utf-8"))["seed"] == 0


def test_cells_that_cannot_be_told_apart_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="told apart"):
        run(toy(grid=({"n": 50}, {"n": 50})), tmp_path)


def test_a_column_that_the_table_does_not_have_is_an_error(tmp_path: Path) -> None:
    def wrong(cell: Cell, rng: np.random.Generator) -> list[Row]:
        return [{**row, "color": "red"} for row in toy_trial(cell, rng)]

    with pytest.raises(ValueError, match="color"):
        run(toy(trial=wrong), tmp_path, jobs=1)


def test_repeats_must_be_positive(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        run(toy(), tmp_path, repeats=0)


def test_curves_are_written_beside_the_table_and_read_back(tmp_path: Path) -> None:
    curve = Curve("panel", "line", [0.0, 1.0], value=[2.0, 3.5])
    path = run(toy(curves=lambda variant: [curve]), tmp_path, jobs=1, repeats=1)
    found = read_results(path).panel("panel")["line"]
    assert list(found.x) == [0.0, 1.0]
    assert found.y is None
    assert found.value is not None
    assert list(found.value) == [2.0, 3.5]


def test_a_table_that_is_older_than_a_column_is_gone_on_with(tmp_path: Path) -> None:
    """As a run left it before the table had `kind` and `strategy`."""
    whole = run(toy(), tmp_path / "whole", jobs=1).read_bytes()
    path = run(toy(), tmp_path / "old", repeats=3, jobs=1)
    old = [{name: text for name, text in r.items() if name not in ("kind", "strategy")} for r in records_of(path)]
    write_records(path, COLUMNS[:-2], old)
    assert run(toy(), tmp_path / "old", jobs=1).read_bytes() == whole
    write_records(path, COLUMNS[:-2], old)
    assert [r.where["kind"] for r in read_results(path).rates] == 18 * [""]


def test_some_cells_may_be_repeated_more_often_than_others(tmp_path: Path) -> None:
    run(toy(), tmp_path, repeats=2, jobs=1)
    records = records_of(run(toy(), tmp_path, repeats=4, cells={1, 5}, jobs=1))
    counts: dict[tuple[str, str], int] = {}
    for r in records:
        counts[r["n"], r["contamination"]] = counts.get((r["n"], r["contamination"]), 0) + 1
    assert counts == {(n, share): 6 for n in ("50", "100") for share in ("0", "0.05", "0.1")} | {
        ("50", "0.05"): 12,
        ("100", "0.1"): 12,
    }
    assert records_of(run(toy(), tmp_path, repeats=4, jobs=1)) == records_of(
        run(toy(), tmp_path / "b", repeats=4, jobs=1)
    )


def claims(bound: float) -> Any:
    """At most so many rejections of the first test, in the cells with 100 points."""
    return below("few", bound, test="imq-ksd", n=100, axes={"contamination": (0, 0.05, 0.1)})


def test_cells_that_miss_are_run_again_and_the_others_are_not(tmp_path: Path) -> None:
    found = toy(repeats=5, again=9, expectations=(claims(0.0),))
    rates = {
        r.where["contamination"]: r
        for r in read_results(run(found, tmp_path, jobs=1)).rates.select(n=100, test="imq-ksd")
    }
    missed = {share for share, rate in rates.items() if rate.rate > 0.0}
    assert len(missed) > 0
    extended = read_results(run_again(found, tmp_path, jobs=1))
    for row in extended.rates:
        longer = row.where["n"] == "100" and row.where["contamination"] in missed
        assert row.repeats == (9 if longer else 5)
    assert records_of(tmp_path / "toy.csv")[0]["repeat"] == "0"


def test_nothing_is_run_again_where_everything_holds_or_the_experiment_does_not_ask(tmp_path: Path) -> None:
    for name, found in (
        ("holds", toy(again=9, expectations=(claims(1.0),))),
        ("never", toy(expectations=(claims(0.0),))),
    ):
        before = run(found, tmp_path / name, jobs=1).read_bytes()
        assert run_again(found, tmp_path / name, jobs=1).read_bytes() == before


def test_running_again_goes_by_variant(tmp_path: Path) -> None:
    text = below("few", 0.0, "text", test="imq-ksd", n=100, axes={"contamination": (0, 0.05, 0.1)})
    found = toy(again=9, expectations=(text,))
    run(found, tmp_path, variant="text", jobs=1)
    run(found, tmp_path, jobs=1)
    run_again(found, tmp_path, jobs=1)
    assert {r.repeats for r in read_results(tmp_path / "toy.csv").rates} == {5}
    run_again(found, tmp_path, variant="text", jobs=1)
    rates = read_results(tmp_path / "toy.csv").rates
    assert {r.repeats for r in rates.select(variant="published")} == {5}
    assert {r.repeats for r in rates.select(variant="text", n=100, test="imq-ksd")} & {9}
