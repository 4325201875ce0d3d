"""The result of a comparison: fields, words, JSON, and other tolerances."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import steinball as sb
from steinball.results.comparison import ComparisonResult

pytestmark = pytest.mark.exact

MODELS = {"near": sb.models.Gaussian(0.1), "far": sb.models.Gaussian(1.2), "also <near>": sb.models.Gaussian(-0.1)}


@pytest.fixture(scope="module")
def result() -> ComparisonResult:
    x = np.random.default_rng(0).normal(size=200)
    return sb.compare(x, MODELS, contamination=0.05, rng=0)


def test_at_decides_as_a_new_comparison_would(result: ComparisonResult) -> None:
    x = np.random.default_rng(0).normal(size=200)
    for share, level in ((0.0, 0.05), (0.2, 0.01), (0.9, 0.5)):
        again, fresh = result.at(contamination=share, level=level), sb.compare(
            x, MODELS, contamination=share, level=level, rng=0
        )  # fmt: skip
        assert again.to_dict() == {**fresh.to_dict()}
    assert result.at(level=0.01).contamination == 0.05
    for wrong in ({"contamination": 1.0}, {"contamination": float("nan")}, {"level": 0.0}):
        with pytest.raises(ValueError, match="must be"):
            result.at(**wrong)


def test_the_interval_excludes_zero_exactly_where_a_model_is_closer(result: ComparisonResult) -> None:
    for share in (0.0, 0.05, 0.15, 0.3, 0.5):
        for pair in result.at(contamination=share).pairs:
            low, high = pair.interval
            assert (pair.closer == pair.first) == (low > 0.0)
            assert (pair.closer == pair.second) == (high < 0.0)


def test_more_tolerance_shows_less(result: ComparisonResult) -> None:
    widths = [np.ptp(result.at(contamination=share).pairs[0].interval) for share in (0.0, 0.05, 0.2, 0.4)]
    assert np.all(np.diff(widths) > 0.0)
    assert "do not show which of" in result.at(contamination=0.6).summary()
    assert result.at(contamination=0.6).summary().startswith("NO DIFFERENCE SHOWN")


def test_the_closest_model_beats_every_other_one(result: ComparisonResult) -> None:
    assert result.closest is None  # two of them are alike
    assert "closer to near and also <near> than to far, even if up to 5 %" in " ".join(result.summary().split())
    two = sb.compare(np.random.default_rng(0).normal(size=200), {k: MODELS[k] for k in ("far", "near")}, rng=0)
    assert two.closest == "near"
    assert "may be anything" not in two.summary()


def test_the_dictionary_is_json_and_says_all(result: ComparisonResult) -> None:
    told = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert told["schema"] == "steinball.comparison/1"
    assert [pair["closer"] for pair in told["pairs"]] == ["near", None, "also <near>"]
    assert told["pairs"][0]["range_by"] == "search"
    assert [model["name"] for model in told["models"]] == list(MODELS)
    assert told["closest"] is None


def test_it_shows_itself(result: ComparisonResult) -> None:
    assert str(result) == result.summary()
    assert "far/also <near>: also <near>" in repr(result)
    assert "also &lt;near&gt;" in result._repr_html_()
    assert "also <near>" not in result._repr_html_()
    assert result._record.call.startswith("steinball.compare(<200 numbers>, {'near': Gaussian(mean=0.1, cov=1")
    assert "rng=0" in result._record.call
    table = result.summary(details=True)
    assert all(words in table for words in ("Comparison of 3 models", "closed form", "no difference shown, p-value"))
    with pytest.raises(TypeError, match="closest"):
        bool(result)


def test_many_pairs_are_not_all_told_in_the_brief_summary() -> None:
    x = np.random.default_rng(0).normal(size=50)
    result = sb.compare(x, {f"m{k}": sb.models.Gaussian(0.2 * k) for k in range(5)}, rng=0)
    assert "7 further pairs" in result.summary()
    assert len(result.rows()) == 2 + 5 + 10


def test_it_can_be_pickled(result: ComparisonResult) -> None:
    assert pickle.loads(pickle.dumps(result)).to_dict() == result.to_dict()
