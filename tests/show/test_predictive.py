"""Pictures and page of a predictive check."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.predictive.table import EDGES
from steinball.show.panels import Box

pytestmark = pytest.mark.exact

RNG = np.random.default_rng(0)
X = RNG.uniform(0.0, 4.0, size=300)
PLACE = np.array(["north", "south & $east$", "west"])[RNG.integers(0, 3, 300)]
Y = RNG.poisson(np.exp(0.3 * X) * np.where(PLACE == "west", 3.0, 1.0)).astype(float)


@pytest.fixture(scope="module")
def result() -> Any:
    law = stats.poisson(np.exp(0.3 * X))
    return sb.predictive_test(Y, law, {"dose": X, "place": PLACE}, contamination=0.02, n_resamples=99, rng=0)


def test_the_box_is_where_rows_are_short(result: Any) -> None:
    box = Box.of(result)
    inside = np.zeros(EDGES.size - 1, dtype=bool)
    for low, high in box.spans:
        inside |= (EDGES[:-1] >= low) & (EDGES[1:] <= high)
    assert inside.any()
    assert not inside.all()
    assert box.picture.histogram[inside].mean() < 1.0 < box.picture.histogram[~inside].max()
    assert box.finding.feature == result.feature == "place"


def test_marks_of_numbers_are_ends_of_bins_and_those_of_categories_their_names(result: Any) -> None:
    features = result._evidence.features
    pairs = zip(features.columns.values(), features.bins, strict=True)
    numbers, names, *_ = (dataclasses.replace(Box.of(result), column=column, bins=bins).marks for column, bins in pairs)
    assert len(numbers) == 9
    assert float(numbers[0][1]) == pytest.approx(X.min(), rel=0.01)
    assert {words for _, words in names} == set(PLACE)


def test_every_picture_is_drawn(result: Any) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    assert result.pictures == ("overview", "table", "pit", "bands", "tolerance")
    for kind in result.pictures:
        result.plot(kind)
        plt.close("all")
    left, right = result.plot()
    assert left.get_xlabel() == "place"
    assert right.get_xlabel() == "PIT, F(y | x)"
    plt.close("all")


def test_the_page_holds_both_panels_and_decides_as_the_library_does(result: Any, tmp_path: Path) -> None:
    page = result.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.count("<svg ") >= 3
    assert "Rows over expected rows" in page
    assert "south &amp; $eas" in page
    assert 'class="outline"' in page
