"""What a user may mean by a family: names, known parameters, and anything that fits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import steinball as sb
from steinball import fitting

as_family: Any = fitting.as_family
pytestmark = pytest.mark.exact


@pytest.mark.parametrize(
    ("family", "words"),
    [
        ("cauchy", "must be one of"), ("mixture", "must be one of"), ("mixture:0", "must be one of"),
        (st.norm(0.0, 1.0), "frozen distribution"), (3.0, "must be one of"),
        (sb.models.StudentT, "must be an instance"),
        (sb.models.KernelExponentialFamily([1.0]), "is one model"),
    ],
    ids=["unknown", "no number", "no components", "frozen", "number", "class", "member"],
)  # fmt: skip
def test_what_is_no_family_is_refused_by_name(family: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        as_family(family, 1)


@pytest.mark.parametrize(
    ("family", "known", "words"),
    [
        ("normal", {"mean": 1.0}, "for families of SciPy and cannot be given for normal"),
        (st.norm, {"a": 1.0}, "names `a`"), (lambda x: None, {"a": 1.0}, "for families of SciPy"),
    ],
    ids=["named", "scipy", "function"],
)  # fmt: skip
def test_known_parameters_must_be_parameters(family: Any, known: dict[str, float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        as_family(family, 1, known)


@pytest.mark.parametrize("name", ["student-t", "gamma", st.norm], ids=["student-t", "gamma", "scipy"])
def test_families_on_the_line_want_one_column(name: Any) -> None:
    with pytest.raises(ValueError, match="is on the line, but `x` has 2 columns"):
        as_family(name, 2)


def test_a_fit_that_gives_no_model_is_refused() -> None:
    class Nothing:
        def fit(self, x: Any) -> float:
            return 3.0

    with pytest.raises(TypeError, match="must return a model with `score"):
        as_family(Nothing(), 1).fit(np.zeros((3, 1)))
