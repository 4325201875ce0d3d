"""Every result has a picture, in axes of the user's own, light and dark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.results import Result
from steinball.show.pictures import save_picture
from steinball.show.scene import Scene
from steinball.show.theme import Theme

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
    assert [verdict for verdict, _, _ in zones.spans] == ["misfit", "undecided", "close in KSD"]
    for verdict, low, high in zones.spans:
        for share in np.linspace(low, high, 5)[1:-1]:
            assert result.at(contamination=float(share)).verdict == verdict
    assert zones.first == pytest.approx(result.contamination_bound, abs=1e-6)
    assert (np.diff(zones.curve.pvalues) >= 0).all()


def test_the_planted_points_are_the_blamed_ones() -> None:
    scene = Scene(RESULTS["robust"]())
    assert set(scene.blamed.tolist()) <= set(range(30))
    assert scene.view.blamed.sum() == len(scene.blamed) >= 10


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
    first, second = (save_picture(result, tmp_path / f"{name}.{suffix}") for name in "ab")
    assert first.read_bytes() == second.read_bytes()
    with pytest.raises(ValueError, match=r"must end in \.png, \.pdf or \.svg"):
        save_picture(result, tmp_path / "picture.doc")
