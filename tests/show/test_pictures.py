"""Every result has a picture, in axes of the user's own, light and dark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.explain.regions import deciding_region
from steinball.results.base import Result
from steinball.show.axes import Theme
from steinball.show.panels import BLAMED, region_frame, sample_frame
from steinball.show.pictures import Panels
from steinball.show.view import MOST, Scene, _chosen

pytestmark = pytest.mark.exact
matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

MODEL = sb.models.Gaussian()


def mixed(n: int = 120, bad: int = 30) -> Any:
    x = np.random.default_rng(0).normal(size=n)
    x[:bad] = 3.0
    return x


RESULTS: dict[str, Callable[[], Result]] = {
    "robust": lambda: sb.robust_ksd_test(mixed(), MODEL, 0.05, rng=0),
    "standard": lambda: sb.ksd_test(mixed(), lambda x: -x, rng=0),
    "scores alone": lambda: sb.ksd_test(mixed(), sb.from_scores(-mixed()), rng=0),
    "u-statistic": lambda: sb.robust_ksd_test(mixed(), MODEL, 0.05, estimator="u", rng=0),
    "bets": lambda: sb.robust_ksd_test(mixed(), MODEL, 0.05, calibration=sb.Betting(), rng=0),
    "bound": lambda: sb.robust_ksd_test(mixed(), MODEL, 0.05, calibration=sb.DeviationBound(), rng=0),
    "two columns": lambda: sb.robust_ksd_test(mixed().reshape(-1, 2), lambda x: -x, 0.05, rng=0),
    "five columns": lambda: sb.robust_ksd_test(mixed(150).reshape(-1, 5), sb.models.Gaussian(np.zeros(5)), 0.05, rng=0),
    "ten points": lambda: sb.robust_ksd_test(mixed(10, 1), MODEL, 0.05, rng=0),
    "all the same": lambda: sb.robust_ksd_test(np.full(20, 1.5), MODEL, 0.05, kernel=sb.Matern(1.0), rng=0),
    "far out": lambda: sb.robust_ksd_test(np.append(mixed(50, 0), 1e12), MODEL, 0.05, rng=0),
    "an edge": lambda: sb.robust_ksd_test(
        np.append(np.random.default_rng(0).exponential(size=60), -1.0),
        sb.from_score(lambda x: -np.ones_like(x), support=(0, None)), 0.1, outside="contaminated", rng=0,
    ),
    "ksdagg": lambda: sb.ksdagg_test(mixed(), MODEL, n_resamples=200, n_resamples_level=200, rng=0),
    "robust ksdagg": lambda: sb.robust_ksdagg_test(mixed(), MODEL, 0.05, rng=0),
    "two samples": lambda: sb.dcmmd_test(mixed(), MODEL, contamination=0.01, rng=0),
    "two samples, bound": lambda: sb.mmd_dev_test(mixed(), MODEL, contamination=0.01, rng=0),
    "bounded functions": lambda: sb.mode_weights_test(mixed(), sb.models.GaussianMixture([0.5, 0.5], [-6, 6]), 0.01),
}  # fmt: skip


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    from matplotlib import pyplot as plt

    yield
    plt.close("all")


@pytest.mark.parametrize("name", RESULTS)
def test_every_picture_that_is_named_can_be_drawn(name: str) -> None:
    from matplotlib.figure import Figure

    result = RESULTS[name]()
    assert result.pictures[0] == "overview"
    for kind in result.pictures[1:]:
        figure = Figure()
        ax = figure.subplots()
        assert result.plot(kind, ax) is ax
        figure.canvas.draw()
    drawn = result.plot()
    drawn[0].figure.canvas.draw()
    assert len(drawn) == len({ax.get_title(loc="left") for ax in drawn})
    with pytest.raises(ValueError, match="`kind` must be one of overview"):
        result.plot("nothing")


def test_the_zones_are_where_the_library_changes_its_verdict() -> None:
    result: Any = RESULTS["robust"]()
    zones = Scene(result).zones
    assert zones.verdicts == ("misfit", "undecided", "close in KSD")
    for verdict, low, high in zip(zones.verdicts, zones.ends, zones.ends[1:], strict=False):
        assert low < high
        for share in np.linspace(low, high, 5)[1:-1]:
            assert result.at(contamination=float(share)).verdict == verdict
    assert zones.first == pytest.approx(result.contamination_bound, abs=1e-6)
    assert (np.diff(zones.curve.pvalues) >= 0).all()


def test_the_planted_points_are_the_blamed_ones() -> None:
    scene = Scene(RESULTS["robust"]())
    assert set(scene.blamed.tolist()) <= set(range(30))
    assert scene.view.blamed.sum() == len(scene.blamed) >= 10


def test_bars_and_model_reach_nearly_to_the_top() -> None:
    for name in ("robust", "scores alone", "ten points"):
        frame = sample_frame(Scene(RESULTS[name]()))
        highest = max(element.places[..., 1].max() for element in frame.elements if element.form == "paths")
        assert 0.9 * frame.y[1] < highest < frame.y[1]
        assert min(element.places[..., 1].min() for element in frame.elements) >= frame.y[0]


@pytest.mark.parametrize("hole", [False, True])
def test_what_is_shaded_is_the_region_that_is_short_of_rows(hole: bool) -> None:
    x = np.random.default_rng(0).normal(size=1000)
    result: Any = sb.region_test(x[abs(x) > 0.5] if hole else x[abs(x) < 1.0], MODEL, contamination=0.0)
    region = deciding_region(result._evidence, result._tolerated)
    shaded = [element.places for element in region_frame(Scene(result)).elements if element.kind == "zone misfit"]
    assert len(shaded) == (1 if region.inside else 2)
    for (low, _), (high, _) in shaded:
        assert low < high
        assert (region.low < (low + high) / 2.0 <= region.high) == region.inside
    assert region.inside == hole


def test_names_are_no_mathematics() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(mixed().reshape(-1, 2), columns=["$\\frac", "<script>"])
    axes = sb.robust_ksd_test(frame, lambda x: -x, 0.05, rng=0).plot()
    axes[0].figure.canvas.draw()
    assert axes[0].get_ylabel() == "<script>"


def test_colors_follow_the_ground() -> None:
    from matplotlib import pyplot as plt

    with plt.style.context("dark_background"):
        ax = RESULTS["robust"]().plot("tolerance")
        assert Theme.of(ax) == Theme.on(dark=True)
    assert Theme.of(plt.figure().subplots()) == Theme.on(dark=False)


def test_a_stream_shows_its_wealth() -> None:
    test = sb.SequentialTest(MODEL, kernel=sb.InverseMultiquadric(1.0), contamination=0.05)
    test.plot().figure.canvas.draw()
    ax = test.update(np.full(60, 4.0)).plot()
    assert any("rejected at point" in text.get_text() for text in ax.get_legend().get_texts())


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_the_same_result_gives_the_same_file(suffix: str, tmp_path: Path) -> None:
    result = RESULTS["robust"]()
    first, second = (result.plot(tmp_path / f"{name}.{suffix}") for name in "ab")
    assert first.read_bytes() == second.read_bytes()
    with pytest.raises(ValueError, match=r"must end in \.png, \.pdf or \.svg"):
        result.plot("overview", tmp_path / "picture.doc")


def test_a_file_name_writes_the_picture(tmp_path: Path) -> None:
    result = RESULTS["robust"]()
    assert result.plot(tmp_path / "overview.png") == tmp_path / "overview.png"
    assert result.plot(str(tmp_path / "data.svg")) == tmp_path / "data.svg"
    assert result.plot("draws", tmp_path / "draws.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "overview.png").read_bytes() == result.plot(tmp_path / "b.png").read_bytes()
    assert "null distribution" not in (tmp_path / "data.svg").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match=r"or a file that ends in \.png, \.pdf or \.svg, got 'picture\.doc'"):
        result.plot("picture.doc")
    test = sb.SequentialTest(MODEL, kernel=sb.InverseMultiquadric(1.0), contamination=0.05).update(np.zeros(5))
    assert test.plot(tmp_path / "wealth.png").stat().st_size > 1000
    assert sb.Monitor(MODEL, 0.05, 100).plot(tmp_path / "alarms.png").stat().st_size > 1000


def test_a_notebook_prints_nothing_beside_the_picture(capsys: pytest.CaptureFixture[str]) -> None:
    axes = RESULTS["robust"]().plot()
    assert isinstance(axes, Panels)
    axes._ipython_display_()
    assert capsys.readouterr().out == ""
    left, right = axes
    assert left.figure is right.figure


def test_notes_stand_below_the_name_of_the_column_and_cover_nothing() -> None:
    ax = RESULTS["scores alone"]().plot("data")
    ax.figure.canvas.draw()
    name, *note = ax.get_xlabel().splitlines()
    assert (name, " ".join(note)) == ("x1", "".join(Scene(RESULTS["scores alone"]()).view.notes))
    assert note
    label, ticks = ax.xaxis.label.get_window_extent(), [tick.get_window_extent() for tick in ax.get_xticklabels()]
    assert not any(label.overlaps(tick) for tick in ticks)
    assert 0.0 <= label.y0 < label.y1 < min(tick.y0 for tick in ticks)


def test_many_blamed_points_leave_room_for_the_data() -> None:
    inside, guilty = np.ones(10**6, dtype=bool), np.arange(10**6) % 3 > 0
    chosen = _chosen(inside, guilty)
    assert len(chosen) == MOST
    assert guilty[chosen].sum() == MOST // 4
    assert (np.diff(chosen) > 0).all()
    few = np.isin(np.arange(10**6), [5, 77])
    assert few[_chosen(inside, few)].sum() == 2
    assert _chosen(inside[:100], guilty[:100]).tolist() == list(range(100))


def test_a_picture_of_many_rows_shows_the_data_in_gray_and_blamed_points_in_color() -> None:
    x = np.random.default_rng(0).normal(size=(20_000, 2))
    x[:8_000, 0] += 3.0
    result = sb.robust_ksd_test(x, sb.models.Gaussian(np.zeros(2)), 0.05, engine="lowrank", rng=0)
    ax = result.plot("data")
    data, blamed = (next(c for c in ax.collections if c.get_label() == name) for name in ("data", BLAMED))
    assert len(data.get_offsets()) >= 3 * len(blamed.get_offsets()) > 1_000
    assert matplotlib.colors.to_hex(data.get_facecolor()[0]).upper() == Theme.of(ax).data
    assert matplotlib.colors.to_hex(blamed.get_facecolor()[0]).upper() == Theme.of(ax).blamed
    assert "2,000 of 20,000 points are drawn." in ax.get_xlabel()
    assert sum(len(c.get_offsets()) for c in result.plot("diagonal").collections) <= MOST
