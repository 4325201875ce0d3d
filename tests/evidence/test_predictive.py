"""Evidence of a predictive check: p-values along shares, bounds, and both kinds of tolerated sets from one object."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.predictive.null import SHARES

pytestmark = pytest.mark.exact

X = np.random.default_rng(0).uniform(-2.0, 2.0, size=300)
Y = X + np.random.default_rng(1).normal(size=300) * np.where(X > 0.0, 1.8, 0.6)


@pytest.fixture(scope="module")
def result() -> Any:
    return sb.predictive_test(Y, (X, 1.0), {"x": X}, contamination=0.05, n_resamples=99, rng=0)


@pytest.mark.parametrize("kind", [sb.Huber(0.1), sb.TotalVariation(0.1)])
def test_p_values_do_not_fall_and_are_one_where_everything_is_tolerated(result: Any, kind: Any) -> None:
    amounts = np.linspace(0.0, 1.0, 201)
    found = result._evidence.pvalues(kind, amounts)
    assert (np.diff(found) >= 0.0).all()
    assert found[-1] == 1.0


def test_p_values_are_the_largest_of_the_null_up_to_the_share(result: Any) -> None:
    evidence = result._evidence
    shares = SHARES[SHARES <= 0.05]
    plain = evidence.null("any").pvalues(evidence.tables, shares)
    np.testing.assert_allclose(evidence.pvalues(sb.Huber(0.0), shares), np.maximum.accumulate(plain))
    found = evidence.pvalues(sb.Huber(0.0), evidence.grid)
    rises = int(np.flatnonzero(np.diff(found) > 0.0)[0])
    middle = evidence.grid[rises : rises + 2].mean()
    assert evidence.pvalues(sb.Huber(0.0), np.array([middle]))[0] == found[rises + 1]  # the next share of the grid


def test_a_p_value_that_falls_is_replaced_by_the_largest_before(result: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = dataclasses.replace(result._evidence)
    monkeypatch.setattr(type(evidence), "_pvalues", lambda self, rows, shares: 0.5 - 0.3 * shares)
    np.testing.assert_array_equal(evidence.pvalues(sb.Huber(0.0), np.array([0.0, 0.3, 1.0])), 0.5)


def test_the_share_bound_is_the_last_rejected_share(result: Any) -> None:
    bound, evidence = result.contamination_bound, result._evidence
    at = int(np.flatnonzero(np.isclose(evidence.grid, bound))[0])
    before, after = evidence.pvalues(sb.Huber(0.0), evidence.grid[[at, at + 1]])
    assert before <= result.level < after
    first = int(np.argmax(evidence.null("any").pvalues(evidence.tables) > result.level))
    assert bound == SHARES[first - 1]


@pytest.mark.parametrize("fitted", ["same-rows", "loo"])
def test_nothing_is_proved_of_differences_where_the_model_was_fitted_to_the_rows(result: Any, fitted: str) -> None:
    evidence = result._evidence
    assert evidence.difference is not None
    fitted_here = dataclasses.replace(evidence.prediction, fitted=fitted)
    assert dataclasses.replace(evidence, prediction=fitted_here).difference is None


def test_a_tolerance_has_two_tests_and_pays_for_both(result: Any) -> None:
    evidence = result._evidence
    changed = evidence.null("changed").pvalue(evidence.tables, 0.05)
    boxes = evidence.difference.pvalue(0.05)
    path = [evidence._pvalues("changed", np.array([s]))[0] for s in evidence.grid[evidence.grid <= 0.05]]
    assert path[-1] == min(1.0, 2.0 * min(changed, boxes))
    assert result.at(tolerance=0.05).pvalue == max(path)


def test_the_curve_decides_as_results_do(result: Any) -> None:
    for kind in (sb.Huber(0.05), sb.TotalVariation(0.05)):
        amounts = np.array([0.0, 0.05, 0.2, 0.5])
        curve = result._evidence.curve(kind, amounts, 0.05)
        found = [result.at(radius=kind.resized(amount)) for amount in amounts]
        assert list(curve.pvalues) == [one.pvalue for one in found]
        assert list(curve.verdicts) == [one.verdict for one in found]


def test_the_lower_end_of_the_interval_is_at_half_of_the_level(result: Any) -> None:
    low, high = result.difference_interval
    found = result._evidence.difference
    assert low == found.lower_bound(0.025)
    assert high == found.upper_bound(0.05)


def test_misfit_by_tolerance_includes_every_tolerance_below_the_interval(result: Any) -> None:
    low = result.difference_interval[0]
    assert low > 0.01
    assert result.at(tolerance=0.01).verdict == "misfit"


def test_sets_that_are_no_share_are_refused(result: Any) -> None:
    for other in (sb.FixedRadius(0.1), sb.Hellinger(0.1), sb.Wasserstein(0.1)):
        with pytest.raises(TypeError, match="`contamination` or `tolerance`"):
            result.at(radius=other)


def test_nulls_of_other_rows_share_their_simulated_tables(result: Any) -> None:
    evidence = result._evidence
    assert evidence.null("changed").tables is evidence.null("any").tables
    other = evidence.null("independent").pvalue(evidence.tables, 0.05)
    fresh = sb.predictive_test(Y, (X, 1.0), {"x": X}, contamination=0.05, rows="independent", n_resamples=99, rng=0)
    assert fresh.pvalue >= other
