"""Results of a predictive check: words, other tolerances, JSON, cards."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import steinball as sb

pytestmark = pytest.mark.exact

RNG = np.random.default_rng(0)
X = RNG.uniform(0.0, 4.0, size=300)
Y = RNG.normal(X, 0.5 + 0.5 * X)


@pytest.fixture(scope="module")
def misfit() -> Any:
    return sb.predictive_test(Y, (X, 1.5), {"dose": X}, contamination=0.05, n_resamples=99, rng=0)


def test_the_dictionary_is_json_with_every_field(misfit: Any) -> None:
    told = json.loads(json.dumps(misfit.to_dict(), allow_nan=False))
    assert told["schema"] == "steinball.predictive/1"
    assert told["verdict"] == "misfit"
    assert told["words"] == misfit.region
    assert set(told) >= {"contamination", "tolerance", "contamination_bound", "difference_interval", "rows_needed"}
    explained = json.loads(json.dumps(misfit.explain().to_dict(), allow_nan=False))
    assert explained["findings"][0]["feature"] == "dose"


def test_words_of_the_three_answers(misfit: Any) -> None:
    assert "even if up to 5 % of them may be contaminated" in str(misfit)
    assert "contaminated" in misfit.summary(details=True)
    changed = misfit.at(tolerance=0.01)
    assert "would have to be changed" in str(changed) or not changed.contamination_bound
    good = misfit.at(tolerance=0.3)
    assert good.verdict == "good enough"
    assert "in no region looked at do the shares of data and model differ by more than" in " ".join(str(good).split())
    assert str(misfit.at(contamination=0.0)).startswith("REJECTED at level 0.05. For dose")


def test_a_misfit_says_how_far_shares_can_differ_where_that_is_little_more_than_was_tolerated() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=4000)
    y = rng.normal(x + 0.5)
    predicted = sb.predictive_test(y, (x, 1.0), {"x": x}, tolerance=0.05, rng=0)
    for result in (predicted, sb.region_test(y - x, sb.models.Gaussian(), tolerance=0.05)):
        assert result.verdict == "misfit"
        assert "But in no region" not in result._finding()
        close = result.at(tolerance=0.55 * result.difference_bound)
        assert close.verdict == "misfit"
        assert close._finding().startswith(close.region)
        assert " But in no region looked at do the shares" in close._finding()
    assert "contradict the predictions, even if" in predicted._finding()


def test_a_tolerance_and_a_contamination_are_two_questions(misfit: Any) -> None:
    with pytest.raises(ValueError, match="not both"):
        misfit.at(tolerance=0.05, contamination=0.05)
    there_and_back = misfit.at(tolerance=0.05).at(contamination=0.05)
    assert there_and_back.to_dict() == misfit.to_dict()


def test_the_explanation_lists_features_with_the_one_that_decides_first(misfit: Any) -> None:
    found = misfit.explain()
    assert found.findings[0].feature == "dose"
    assert list(found.shortages) == sorted(found.shortages, reverse=True)
    assert len(misfit.explain(top=1).findings) == 1
    with pytest.raises(ValueError, match="`top`"):
        misfit.explain(top=-1)
    assert "dose" in found._repr_html_()
    assert found.findings[0].sentence == misfit.region


def test_cards_reprs_and_records_say_what_was_tested(misfit: Any) -> None:
    assert "MISFIT" in misfit._repr_html_()
    assert repr(misfit).startswith("PredictiveResult(rejected=True")
    assert misfit._record.call.startswith(
        "steinball.predictive_test(<300 numbers>, (<300 numbers>, 1.5), features={'dose'"
    )


def test_classes_are_called_by_their_names() -> None:
    chances = np.column_stack([np.full(300, 0.2), np.full(300, 0.3), np.full(300, 0.5)])
    y = np.zeros(300, dtype=int)
    result = sb.predictive_test(y, chances, {"dose": X}, contamination=0.05, n_resamples=39, rng=0)
    assert "class 0: predicted 0.2, observed 1" in result.region
    assert result.rejected
