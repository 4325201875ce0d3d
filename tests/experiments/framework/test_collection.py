"""A collection finds its experiments, and its folders wherever one stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.evidence import EVIDENCE
from experiments.framework.collection import Collection
from experiments.paper.registry import PAPER

pytestmark = pytest.mark.exact

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("collection", [PAPER, EVIDENCE], ids=lambda c: c.command)
def test_tables_and_page_have_folders_of_their_own_in_the_repository(
    collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert collection.out == ROOT / "out" / collection.command
    assert collection.page == ROOT / "docs" / collection.command


def test_a_missing_table_names_the_command_that_makes_it(tmp_path: Path) -> None:
    for collection, name in ((EVIDENCE, "edge"), (PAPER, "weights")):
        command = f"python -m experiments {collection.command} run {name}"
        with pytest.raises(FileNotFoundError, match=command):
            collection.results(collection.experiment(name), tmp_path)


def test_an_unknown_name_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(ValueError, match="did you mean `edge`"):
        EVIDENCE.experiment("egde")
    with pytest.raises(ValueError, match="python -m experiments evidence list"):
        EVIDENCE.experiment("zzz")


def test_all_is_every_experiment_in_the_order_of_the_page() -> None:
    assert [found.name for found in EVIDENCE.named(["all"])] == list(EVIDENCE.experiments)
    assert [found.name for found in EVIDENCE.named(["equivalence", "edge"])] == ["equivalence", "edge"]
