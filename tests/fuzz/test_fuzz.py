"""A small series of hostile calls; ``make fuzz`` runs a large one."""

from __future__ import annotations

import pytest

from tests.fuzz.cases import run_case

pytestmark = pytest.mark.exact

SEED, BLOCKS, SIZE = 11, 10, 50


@pytest.mark.parametrize("block", range(BLOCKS))
def test_hostile_calls_end_with_a_right_answer_or_a_refusal_by_name(block: int) -> None:
    outcomes = {number: run_case(SEED, number) for number in range(block * SIZE, (block + 1) * SIZE)}
    failed = [f"--seed {SEED} --case {n}: {outcome}" for n, outcome in outcomes.items() if outcome.kind == "failed"]
    assert not failed, "\n".join(failed)
