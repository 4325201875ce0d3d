"""The cases can be judged."""

from __future__ import annotations

import pytest

from benchmarks.cases import LARGE, SMALL

pytestmark = pytest.mark.exact


def test_every_target_of_growth_has_its_smaller_case_before_it() -> None:
    cases = SMALL + LARGE
    for k, case in enumerate(cases):
        if case.most_growth is not None:
            assert (case.n // 10, case.d, case.outliers) in [(c.n, c.d, c.outliers) for c in cases[:k]]
