"""Regions in words, and the rows that are named."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.explain.regions import deciding_region, place_words, profile

pytestmark = pytest.mark.exact
NORMAL = sb.models.Gaussian()


def words(x: Any, model: Any, low: float, high: float, inside: bool = True) -> str:
    result: Any = sb.region_test(x, model, tolerance=0.01)
    region = dataclasses.replace(
        deciding_region(result._evidence, result._tolerated), family=0, view=0, low=low, high=high, inside=inside
    )
    return place_words(result._evidence, region)


def test_places_are_said_as_people_say_them() -> None:
    rng = np.random.default_rng(0)
    x, counts, end = rng.normal(size=200), rng.poisson(3.0, size=300), np.inf
    assert words(x, NORMAL, -end, -0.5) == "Up to -0.5"
    assert words(x, NORMAL, 0.25, end) == "Above 0.25"
    assert words(x, NORMAL, -0.5, 0.25) == "Between -0.5 and 0.25"
    assert words(x, NORMAL, -0.5, 0.25, inside=False) == "Outside of -0.5 to 0.25"
    assert words(counts, stats.poisson(3.0), -end, 0.5) == "Up to 0"
    assert words(counts, stats.poisson(3.0), 2.5, 3.5) == "At 3"
    assert words(counts, stats.poisson(3.0), 4.5, end) == "From 5 on"
    assert words(counts, stats.poisson(3.0), 2.5, 4.5) == "Between 3 and 4"
    assert words(counts, stats.poisson(3.0), 2.5, 4.5, inside=False) == "Outside of 3 to 4"
    pairs, model = rng.normal(size=(200, 2)), sb.models.Gaussian(np.zeros(2))
    assert words(pairs, model, -0.5, 0.25) == "Where x1 is between -0.5 and 0.25"
    assert words(pairs, model, 0.25, end) == "Where x1 is above 0.25"


def test_a_complement_of_categories_names_those_inside() -> None:
    die = dict.fromkeys("abcdef", 1 / 6)
    assert words(list("bcde") * 20, die, 0.5, 4.5, inside=False) == "In a, f"
    assert words(list("bcde") * 20, die, 0.5, 2.5) == "In b, c"


def test_a_profile_holds_the_shares_that_the_words_say() -> None:
    x = np.random.default_rng(0).normal(scale=1.4, size=1000)
    result: Any = sb.region_test(x, NORMAL, tolerance=0.02)
    region = deciding_region(result._evidence, result._tolerated)
    found = profile(result._evidence, result._tolerated, ())
    inside = (x > region.low) & (x <= region.high)
    assert region.observed == np.mean(inside if region.inside else ~inside)
    probability = float(np.diff(stats.norm.cdf([region.low, region.high]))[0])
    assert region.expected == pytest.approx(probability if region.inside else 1.0 - probability)
    edges, data, model = found.bars
    assert data.sum() == pytest.approx(np.mean((x >= edges[0]) & (x <= edges[-1])))
    assert model.sum() == pytest.approx(1.0, abs=0.02)
    assert place_words(result._evidence, region, ("height",)).startswith("Where height is")


def test_an_explanation_is_text_html_and_json() -> None:
    x = np.random.default_rng(0).normal(size=300)
    x[:9] = 6.0
    found = sb.region_test(x, NORMAL, contamination=0.0).explain(top=4)
    assert found.points.tolist() == [0, 1, 2, 3]
    assert found.blamed[0].rows.tolist() == list(range(9))
    assert "row 0" in str(found)
    assert "row 0" in found._repr_html_()
    assert json.loads(json.dumps(found.to_dict()))["blamed"][0] == list(range(9))
    clean = sb.region_test(x[9:], NORMAL, contamination=0.0).explain()
    assert "No rows stand out." in str(clean)


@pytest.mark.parametrize("top", [0, -1, 1.5, True, "all"])
def test_a_number_of_rows_that_is_none_is_refused(top: Any) -> None:
    result = sb.region_test(np.random.default_rng(0).normal(size=100), NORMAL, contamination=0.0)
    with pytest.raises((TypeError, ValueError), match=r"`top` must be (a whole number|at least 1), got"):
        result.explain(top=top)
