"""The measurements of small calls are beside the right computation, and say whether they suffice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steinball as sb
from benchmarks import small
from benchmarks.peers import Peer

pytestmark = pytest.mark.exact

PLANE = sb.models.Gaussian(dimension=2)


def test_the_bare_computation_is_the_test_itself() -> None:
    x = np.random.default_rng(0).normal(size=(40, 3))
    draws, ksd = small.bare(x, -x, 0)
    kernel, tilt = sb.InverseMultiquadric(sb.kernels.median_distance(x)), sb.PolynomialTilt(scale=np.sqrt(3.0))
    found = sb.ksd_test(x, sb.models.Gaussian(dimension=3), kernel=kernel, tilt=tilt, standardize=False, rng=0)
    np.testing.assert_allclose(ksd, found.ksd, rtol=1e-12)
    assert draws.shape == (small.DRAWS,)
    assert found.draws is not None
    assert abs(np.median(draws) / np.median(found.draws) - 1.0) < 0.05  # other random numbers


@pytest.mark.parametrize("case", small.CASES, ids=lambda case: str(case.name))
def test_every_case_draws_rows_that_its_score_and_model_take(case: small.Case) -> None:
    x = case.draw(20, np.random.default_rng(0))
    assert case.score(x).shape == x.shape
    assert small.tested(case, 20, 1e9, 1)["met"]


@pytest.mark.parametrize(
    "found",
    [
        lambda: small.checked(small.CASES[0], 20, 1),
        lambda: small.regions(small.CASES[0], 20, 1),
        lambda: small.fitted(200, 1, 1),
        lambda: small.predicted(50, 1),
    ],
    ids=["check", "regions", "fit", "predictions"],
)
def test_every_measurement_says_its_ratio_and_target(found: Any) -> None:
    row = found()
    assert row["ratio"] == row["seconds"] / row["unit seconds"]
    assert row["target"].startswith("≤ ")
    assert ("MISSED" in small.line(row)) == (not row["met"])


def test_tasks_take_turns_and_the_first_turn_does_not_count() -> None:
    seen: list[tuple[str, int]] = []
    times = small.least([lambda k: seen.append(("a", k)), lambda k: seen.append(("b", k))], 2)
    assert seen == [("a", 0), ("b", 0), ("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    assert len(times) == 2


def test_first_calls_are_measured_in_processes_of_their_own() -> None:
    test, helped = small.first_calls()
    assert test["seconds"] > 0.0
    assert helped["seconds"] > 0.0


def test_another_library_is_beside_our_default_test() -> None:
    peer = Peer("the same test", "ksdagg", "", lambda x, seed: sb.robust_ksd_test(x, PLANE, 0.05, rng=seed).rejected)
    few, many = (small.beside(peer, n, 1) for n in (50, 200))
    assert (few["target"], many["target"]) == ("", "≥ 1")
    assert few["met"]
    assert many["met"] == (many["ratio"] >= 1.0)
    assert small.line(few).endswith("; ")
