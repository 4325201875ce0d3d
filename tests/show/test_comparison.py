"""The pictures and the page of a comparison."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.show.panels import MOST_PAIRS, drawn_pairs, preference_frame
from steinball.show.svg import Frame

pytestmark = pytest.mark.exact


def compared(models: int = 2, d: int = 1, n: int = 150, bad: float = 0.0) -> sb.ComparisonResult:
    x = np.random.default_rng(0).normal(size=(n, d))
    x[: int(bad * n)] = 50.0
    means = [np.append(np.zeros(d - 1), 0.6 * k) for k in range(models)]
    return sb.compare(x, {f"m{k} $<b>": sb.models.Gaussian(mean) for k, mean in enumerate(means)}, rng=0)


def shown(frame: Frame) -> Any:
    """Values of the column and of the preference, row by row."""
    return np.concatenate([element.places for element in frame.elements if element.form == "dots"])


def test_the_preference_is_shown_along_the_column_that_tells_the_models_apart() -> None:
    found = preference_frame(compared(d=3))
    assert found.names[0] == "x3"  # and no row outside
    assert np.corrcoef(shown(found).T)[0, 1] < -0.8


def test_far_rows_are_left_out_of_the_picture_and_counted() -> None:
    found = preference_frame(compared(n=1000, bad=0.003))
    assert found.names[0] == "x1 (3 rows outside)"
    assert shown(found)[:, 0].max() < 10.0
    assert len(shown(preference_frame(compared(n=3000)))) == 2000


def test_the_most_decided_pair_is_shown_and_the_most_decided_intervals() -> None:
    result = compared(models=6)
    first, second = (element.label for element in preference_frame(result).elements if element.form == "dots")
    most = min(result.pairs, key=lambda pair: pair.pvalue)
    assert (most.first in first, most.second in second) == (True, True)
    drawn = drawn_pairs(result)
    assert len(drawn) == MOST_PAIRS
    assert max(p.pvalue for p in drawn) <= min(p.pvalue for p in result.pairs if p not in drawn)
    assert [result.pairs.index(pair) for pair in drawn] == sorted(result.pairs.index(pair) for pair in drawn)


def test_pictures_by_name_and_in_axes_of_ones_own(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    result = compared(models=3)
    left, right = result.plot(ax=Figure().subplots(1, 2))
    assert left.get_xlabel() == "x1"
    assert next(text.get_text() for text in right.get_yticklabels()) == r"m0 \$<b>, m1 \$<b>"
    for kind, words in (("preference", "which rows"), ("intervals", "right of 0")):
        assert words in result.plot(kind, Figure().subplots()).get_title(loc="left")
    with pytest.raises(ValueError, match="`kind` must be"):
        result.plot("wealth")
    result.plot(tmp_path / "a.png")
    result.plot(tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_the_page_stands_alone_and_holds_every_pair(tmp_path: Path) -> None:
    result = compared(models=4)
    page = result.report(tmp_path / "page.html", title="Which <one>").read_text("utf-8")
    assert page.count("</html>") == 1
    assert "<h1>Which &lt;one&gt;</h1>" in page
    assert "DIFFERENCE SHOWN" in page
    assert "<b>" not in page
    assert "<script" not in page
    assert not re.findall(r"(?:src|href)=", page)
    assert page.count("<tr>") > 2 * len(result.pairs)
    assert "steinball.compare(" in page
    assert not re.findall(r"\bnan\b|\{[a-z]+\}", page.partition("</style>")[2])


@pytest.mark.parametrize("d", [1, 4])
def test_models_without_a_difference_have_pictures_too(tmp_path: Path, d: int) -> None:
    same: Any = sb.models.Gaussian(np.zeros(d))
    result = sb.compare(np.zeros((40, d)), {"a": same, "b": same}, rng=0)
    assert "NO DIFFERENCE SHOWN" in result.report(tmp_path / "page.html").read_text("utf-8")
