"""The generated pages."""

from __future__ import annotations

import dataclasses
import errno
import os
import re
from pathlib import Path

import pytest

from experiments.evidence.registry import EVIDENCE
from experiments.framework.collection import Collection
from experiments.framework.expectations import below
from experiments.framework.page import write_page
from experiments.framework.run import run, run_again
from experiments.framework.table import read_results
from experiments.paper.registry import PAPER, experiment

pytestmark = pytest.mark.paper


def test_the_page_shows_figure_claims_and_misses_and_keeps_the_tables(tmp_path: Path) -> None:
    out, to = tmp_path / "out", tmp_path / "docs"
    run(experiment("kef-power"), out, repeats=2, jobs=1)
    collection = Collection("paper", "about", "# Head\n", {"kef-power": experiment("kef-power")})
    index = write_page(collection, out, to).read_text(encoding="utf-8")
    assert index.startswith("# Head\n\n| experiment |")
    assert index.endswith("```{toctree}\n:hidden:\n\nkef-power\n```\n")
    page = (to / "kef-power.md").read_text(encoding="utf-8")
    assert page.startswith("# A density fitted to the galaxies: power\n\nExperiment `kef-power`: Figure 6(b), §5.3.")
    assert experiment("kef-power").says in page
    assert "| R-KSD rejects mostly at δ = 2 |" in page
    for target in re.findall(r"\]\(([^)#]+)\)", index + page):
        assert (to / target).exists()
    # The aggregated table is enough to draw and to check again.
    again = read_results(to / "tables" / "kef-power.csv")
    assert [r.rejections for r in again.rates] == [r.rejections for r in read_results(out / "kef-power.csv").rates]
    assert len(again.curves) == len(read_results(out / "kef-power.csv").curves) > 0


def test_the_page_says_which_cells_were_run_again(tmp_path: Path) -> None:
    """The toy rejects always, so every cell misses, and is extended."""
    found = dataclasses.replace(
        experiment("kef-power"),
        expectations=(below("never", 0.0, test="imq-ksd", axes={"offset": (2,)}),),
        repeats=1,
        again=3,
    )
    collection = Collection("paper", "about", "# Head\n", {"kef-power": found})
    run(found, tmp_path / "out", jobs=1)
    path = write_page(collection, tmp_path / "out", tmp_path / "docs").with_name("kef-power.md")
    assert "extended" not in path.read_text(encoding="utf-8")
    run_again(found, tmp_path / "out", jobs=1)
    write_page(collection, tmp_path / "out", tmp_path / "docs")
    page = path.read_text(encoding="utf-8")
    assert f"1 of {len(found.grid)} cells missed a claim at 1 repeats and were extended to 3" in page


def test_another_page_is_made_from_the_same_tables(tmp_path: Path) -> None:
    found = experiment("kef-power")
    run(found, tmp_path, repeats=1, jobs=1)
    pages = {"names.md": lambda results: ", ".join(results)}
    write_page(Collection("paper", "about", "# Head\n", {"kef-power": found}, pages), tmp_path, tmp_path / "docs")
    assert (tmp_path / "docs" / "names.md").read_text(encoding="utf-8") == "kef-power"


def test_on_a_full_disk_the_old_page_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    page = write_page(Collection("paper", "about", "# Old\n", {}), tmp_path, tmp_path)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        write_page(Collection("paper", "about", "# New\n", {}), tmp_path, tmp_path)
    assert page.read_text(encoding="utf-8").startswith("# Old")


def test_a_reason_of_many_misses_is_given_once_and_numbers_in_words_are_those_of_the_table(tmp_path: Path) -> None:
    never = below("never", 0.0, test="imq-ksd", axes={"offset": (1, 2)})
    labels = [f"imq-ksd at offset={offset}" for offset in (1, 2)]
    found = dataclasses.replace(
        experiment("kef-power"),
        expectations=(never,),
        explanations=dict.fromkeys(labels, "It rejects {rate: test=imq-ksd, offset=2}."),
        differences="D is {ksd: test=imq-ksd, offset=2}.",
    )
    path = run(found, tmp_path / "out", repeats=1, jobs=1)
    write_page(Collection("paper", "about", "# Head\n", {"kef-power": found}), tmp_path / "out", tmp_path / "docs")
    row = read_results(path).rates.one(test="imq-ksd", offset=2)
    page = (tmp_path / "docs" / "kef-power.md").read_text(encoding="utf-8")
    assert page.count(f"Missed: It rejects {row.rate:.3f}.") == 1
    assert all(f"- {label}: " in page for label in labels)
    assert f"**Differences.** D is {row.ksd:.3f}." in page


def test_a_reference_to_a_page_is_a_link() -> None:
    assert EVIDENCE.experiment("exact").where == "MonteCarlo, [exact](../theory/exact.md)"
    assert EVIDENCE.experiment("base-space").where == "[edges](../edges.md)"


def words_and_numbers(path: Path) -> tuple[list[str], list[float]]:
    parts = re.split(r"(\d+\.\d+)", path.read_text(encoding="utf-8"))
    return parts[::2], [float(part) for part in parts[1::2]]


@pytest.mark.parametrize("collection", [PAPER, EVIDENCE], ids=lambda c: c.command)
def test_the_committed_pages_are_what_their_committed_tables_say(
    collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to the last digits of a page, which were computed from the rows and not from their aggregate."""
    monkeypatch.setattr("experiments.framework.page.render", lambda *_: [])
    write_page(collection, collection.page / "tables", tmp_path)
    for path in (tmp_path / "tables").iterdir():
        assert path.read_bytes() == (collection.page / "tables" / path.name).read_bytes(), path.name
    pages = {path.name for path in tmp_path.glob("*.md")}
    assert pages == {path.name for path in collection.page.glob("*.md")}
    for name in pages:
        words, numbers = words_and_numbers(tmp_path / name)
        committed = words_and_numbers(collection.page / name)
        assert words == committed[0]
        assert numbers == pytest.approx(committed[1], rel=1e-4)
