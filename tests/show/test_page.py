"""The page that is handed over: what it says, that it is whole, and that it decides as the library does."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.results.base import Result
from steinball.show.page import numbers_of
from steinball.show.view import Scene
from tests.show.browser import Browser

HOSTILE = "<script>document.title='taken'</script>"


def mixed(n: int = 200, bad: int = 30) -> Any:
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    x[rng.permutation(n)[:bad]] = 3.0
    return x


MODEL = sb.models.Gaussian()
RESULTS: dict[str, Callable[[], Result]] = {
    "boundary": lambda: sb.robust_ksd_test(mixed(), MODEL, 0.05, rng=0),
    "close in KSD": lambda: sb.robust_ksd_test(mixed(2000, 20), MODEL, 0.2, rng=0),
    "weighted": lambda: sb.robust_ksd_test(mixed(), MODEL, 0.05, calibration=sb.WeightedBootstrap(199), rng=0),
    "u-statistic": lambda: sb.robust_ksd_test(mixed(), MODEL, 0.05, estimator="u", rng=0),
    "low rank": lambda: sb.robust_ksd_test(mixed(), MODEL, 0.05, engine="lowrank", rng=0),
    "distance": lambda: sb.ksd_test(mixed(), MODEL, radius=0.1, tilt="auto", rng=0),
    "bets": lambda: sb.robust_ksd_test(mixed(), MODEL, 0.05, calibration=sb.Betting(), rng=0),
    "bound": lambda: sb.robust_ksd_test(mixed(), MODEL, 0.05, calibration=sb.DeviationBound(), rng=0),
    "exact": lambda: sb.robust_ksd_test(mixed(60, 8), MODEL, 0.05, calibration=sb.MonteCarlo(199), rng=0),
    "exact, total variation": lambda: sb.ksd_test(
        mixed(60, 8),
        MODEL,
        radius=sb.TotalVariation(0.05),
        calibration=sb.MonteCarlo(199),
        tau="auto",
        tilt="auto",
        rng=0,
    ),
    "hellinger": lambda: sb.ksd_test(mixed(), MODEL, radius=sb.Hellinger(0.05), tau="auto", tilt="auto", rng=0),
    "chains": lambda: sb.mcmc_test(mixed(200).reshape(2, 100, 1), MODEL, contamination=0.05, rng=0),
    "several kernels": lambda: sb.robust_ksdagg_test(mixed(), MODEL, 0.05, rng=0),
    "two samples": lambda: sb.dcmmd_test(mixed(), MODEL, contamination=0.01, n_resamples=199, rng=0),
    "regions": lambda: sb.region_test(mixed(), MODEL, contamination=0.05),
    "shares": lambda: sb.region_test(mixed(800, 60), MODEL, tolerance=0.05),
    "check": lambda: sb.check(mixed(), MODEL, contamination=0.05, rng=0),
    "check of a score": lambda: sb.check(mixed(), lambda x: -x, contamination=0.05, rng=0),
    "bounded functions": lambda: sb.mode_weights_test(
        sb.models.GaussianMixture([0.7, 0.3], [-6.0, 6.0]).sample(200, rng=0),
        sb.models.GaussianMixture([0.5, 0.5], [-6.0, 6.0]),
        contamination=0.1,
    ),
}
NO_TOLERANCE = sb.ksdagg_test(mixed(80), MODEL, n_resamples=200, n_resamples_level=200, rng=0)


class Balanced(HTMLParser):
    """Every element that is opened is closed, in the right order."""

    VOID = frozenset({"meta", "input", "br", "path", "rect", "circle", "polyline"})

    LOADING = frozenset({"src", "href", "xlink:href", "srcset", "action"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loaded: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loaded += [
            str(value) for name, value in attrs if name in ("src", "href", "xlink:href", "srcset", "action")
        ]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


@pytest.mark.exact
@pytest.mark.parametrize("name", [*RESULTS, "no tolerance"])
def test_a_page_is_whole_and_loads_nothing(name: str, tmp_path: Path) -> None:
    result = NO_TOLERANCE if name == "no tolerance" else RESULTS[name]()
    page = result.report(tmp_path / "fit.html").read_text(encoding="utf-8")
    checked = Balanced(page)
    assert checked.open == []
    assert checked.loaded == []
    assert not re.search(r"url\(|@import|https?://", page)
    assert len(page.encode()) < 10**6
    assert page.index('class="lead"') < page.index("<svg") if "<svg" in page else True
    assert result.summary().partition(" at level")[0] in page
    for section in ("What could have been detected", "Warnings", "How it was computed", "numpy"):
        assert section in page


@pytest.mark.exact
def test_a_test_without_draws_is_asked_at_fewer_positions_of_a_slider() -> None:
    many, few = (numbers_of(Scene(RESULTS[name]()))["slider"] for name in ("weighted", "bound"))
    assert (len(many["pvalues"]), len(many["limits"])) == (501, 501)
    assert (many["step"], many["most"]) == (0.001, 0.5)
    assert len(few["pvalues"]) == len(few["limits"]) == 101


@pytest.mark.exact
def test_many_points_in_many_columns_stay_a_small_page(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(20_000, 3))
    result = sb.robust_ksd_test(x, sb.models.Gaussian(np.zeros(3)), 0.05, engine="lowrank", rng=0)
    page = result.report(tmp_path / "fit.html").read_text(encoding="utf-8")
    assert len(page.encode()) < 10**6
    assert page.count("<circle") <= 2_000 + 1
    assert "2,000 of 20,000 points are drawn" in page


@pytest.mark.exact
def test_the_call_the_seed_and_the_warnings_are_on_the_page(tmp_path: Path) -> None:
    with pytest.warns(sb.SteinballWarning):
        result = sb.ksd_test(mixed(), lambda x: -x, radius=sb.TotalVariation(0.05), tilt="auto", rng=12345)
    page = result.report(str(tmp_path / "fit.html"), title="Fit & more").read_text(encoding="utf-8")
    assert "rng=12345" in page
    assert "allows mass of the model to be missing" in page
    assert "<title>Fit &amp; more</title>" in page


@pytest.mark.exact
def test_a_report_replaces_a_file_and_needs_a_folder(tmp_path: Path) -> None:
    result = RESULTS["boundary"]()
    path = tmp_path / "fit.html"
    path.write_text("old")
    assert result.report(path) == path
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    with pytest.raises(FileNotFoundError):
        result.report(tmp_path / "nowhere" / "fit.html")


# In a browser.


SET = """((name, value) => {
  const slider = document.getElementById(name);
  slider.value = value;
  slider.dispatchEvent(new Event("input", {bubbles: true}));
})"""


def read(tab: Browser) -> tuple[str, str]:
    verdict, pvalue = tab.run("['verdict','pvalue'].map(i => document.getElementById(i).textContent)")
    return verdict, pvalue


def opened(tab: Browser, result: Result, path: Path, **options: Any) -> Result:
    tab.open(result.report(path / "fit.html"), **options)
    assert tab.complaints == []
    assert len(tab.asked_for) == 1  # the page itself
    chips = "[...document.querySelectorAll('.chip')].map(chip => getComputedStyle(chip).backgroundColor)"
    assert len(set(tab.run(chips))) == 1  # one color
    return result


def shown(result: Result) -> tuple[str, str]:
    verdict = result.summary().partition(" at level")[0].splitlines()[-1]  # a fit says its parameters first
    return verdict, f"{result.pvalue:.4g}"


@pytest.mark.browser
@pytest.mark.parametrize("name", RESULTS)
def test_sliders_decide_as_the_library_does(name: str, tab: Browser, tmp_path: Path) -> None:
    """Fifty settings: ten tolerances, as positions of the slider, times five levels; page, picture, card and `at`."""
    result: Any = opened(tab, RESULTS[name](), tmp_path)
    assert read(tab)[0] == shown(result)[0]
    kind, evidence = result._evidence.sliding(result._tolerated), result._evidence
    ends = tab.run("['min','max','step'].map(a => Number(document.getElementById('tolerance')[a]))")
    seen = set()
    for position in np.linspace(0.0, 1.0, 10) ** 2:
        tolerance = float(f"{round(position * (ends[1] - ends[0]) / ends[2]) * ends[2]:.12g}")
        tab.run(f"{SET}('tolerance', {tolerance!r})")
        for level in (0.006, 0.02, 0.05, 0.1, 0.25):
            tab.run(f"{SET}('level', {level})")
            verdict, pvalue = read(tab)
            theirs = result.at(radius=kind.resized(tolerance), level=level)
            assert verdict == shown(theirs)[0], (tolerance, level)
            assert float(pvalue) == pytest.approx(theirs.pvalue, rel=1e-3)
            drawn = evidence.curve(kind, np.array([tolerance]), level)
            assert (drawn.pvalues[0], drawn.verdicts[0]) == (theirs.pvalue, theirs.verdict)
            assert f">{verdict}</span>" in theirs._repr_html_()
            seen.add(verdict)
    assert len(seen) >= 2
    assert tab.complaints == []


FITS: dict[str, Callable[[], Result]] = {
    "a family": lambda: sb.fit_test(mixed(120, 6), "normal", rng=0),
    "a family with a tolerance": lambda: sb.fit_test(mixed(120, 6), "normal", contamination=0.05, rng=0),
}


@pytest.mark.browser
@pytest.mark.parametrize("name", FITS)
def test_a_family_has_a_slider_for_the_level_alone(name: str, tab: Browser, tmp_path: Path) -> None:
    """Another tolerance needs another fit."""
    result = opened(tab, FITS[name](), tmp_path)
    assert "tolerance" not in result.pictures
    assert tab.run("document.getElementById('tolerance')") is None
    for level in (0.01, 0.05, 0.1, 0.2):
        tab.run(f"{SET}('level', {level})")
        assert read(tab) == shown(result.at(level=level))
    assert result.at(level=result.level).to_dict() == result.to_dict()


@pytest.mark.browser
def test_without_a_tolerance_the_level_alone_decides(tab: Browser, tmp_path: Path) -> None:
    result = opened(tab, NO_TOLERANCE, tmp_path)
    assert tab.run("document.getElementById('tolerance')") is None
    for level in (0.01, 0.05, 0.1, 0.2):
        tab.run(f"{SET}('level', {level})")
        assert read(tab)[0] == shown(result.at(level=level))[0]


@pytest.mark.browser
def test_a_tolerance_between_two_positions_is_shown_as_it_was_tested(tab: Browser, tmp_path: Path) -> None:
    result = sb.robust_ksd_test(mixed(), MODEL, 0.01234567, level=0.0123, rng=0)
    opened(tab, result, tmp_path)
    assert read(tab) == shown(result)
    tab.run(f"{SET}('tolerance', 0.3)")
    assert tab.run("document.getElementById('back').hidden") is False
    tab.run("document.getElementById('back').click()")
    assert read(tab) == shown(result)


@pytest.mark.browser
def test_names_stay_text(tab: Browser, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        np.random.default_rng(0).normal(size=(60, 2)),
        columns=[HOSTILE, "a & b"],
        index=[f"{HOSTILE}{i}" for i in range(60)],
    )
    result = sb.robust_ksd_test(frame, lambda x: -x, 0.05, rng=0)
    tab.open(result.report(tmp_path / "fit.html", data=frame, title=HOSTILE))
    assert tab.complaints == []
    assert tab.run("document.title") == HOSTILE
    assert HOSTILE in tab.run("document.querySelector('#points table').textContent")
    assert tab.run("[...document.scripts].length") == 2


@pytest.mark.browser
@pytest.mark.parametrize("width", [1200, 768, 390, 320])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_page_fits_its_window_and_can_be_read(width: int, dark: bool, tab: Browser, tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(100, 12))
    result = sb.robust_ksd_test(x, sb.models.Gaussian(np.zeros(12)), 0.05, rng=0)
    opened(tab, result, tmp_path, width=width, dark=dark)
    assert tab.run("document.documentElement.scrollWidth") <= width
    colors = "(e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor])(document.body)"
    ink, ground = (np.array([int(part) for part in re.findall(r"\d+", color)[:3]]) for color in tab.run(colors))
    assert contrast(ink, ground) > 7.0
    assert (ground.mean() < 128) == dark
    smallest = tab.run(
        "Math.min(...[...document.querySelectorAll('svg text')].map(t => t.getBoundingClientRect())"
        ".filter(box => box.width).map(box => box.height))"
    )
    assert smallest > 8.0


def predictive() -> Result:
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 10.0, 600)
    law = stats.norm(2.0 * x, 1.5)
    return sb.predictive_test(2.0 * x + rng.normal(size=600) * (1 + x / 6), law, features=x, contamination=0.02, rng=0)


def compared() -> Any:
    models = {name: sb.models.Gaussian(mean) for name, mean in (("first", 0.0), ("second", 0.5), ("third", 1.0))}
    return sb.compare(mixed(), models, rng=0)


def watched() -> Any:
    monitor = sb.Monitor(MODEL, 0.05, 1000)
    monitor.update(np.sort(mixed(300, 100)))
    return monitor


def counted() -> Result:
    counts = np.random.default_rng(0).poisson(4.0, 300)
    return sb.region_test(counts, stats.poisson(3), contamination=0.05)


SHOWN: dict[str, Callable[[], Any]] = {
    **{name: RESULTS[name] for name in ("boundary", "distance", "several kernels", "shares", "two samples")},
    "a family": lambda: sb.fit_test(mixed(120, 6), "normal", rng=0),
    "two columns": lambda: sb.robust_ksd_test(mixed().reshape(-1, 2) / 4000, lambda x: -x, 0.05, rng=0),
    **{"predictions": predictive, "models": compared, "a feed": watched, "counts": counted},
}

OVERLAPS = """[...document.querySelectorAll('figure > svg')].flatMap(svg => {
  const texts = [...svg.querySelectorAll('text')].filter(t => t.textContent);
  const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top + 2 || b.bottom <= a.top + 2;
  const edge = svg.getBoundingClientRect(), box = t => t.getBoundingClientRect();
  const out = texts.filter(t => box(t).left < edge.left - 1 || box(t).right > edge.right + 1);
  return out.map(t => t.textContent).concat(texts.flatMap((one, k) => texts.slice(k + 1)
    .filter(other => !apart(box(one), box(other))).map(other => `${one.textContent} | ${other.textContent}`)));
})"""
BROKEN = """[...document.querySelectorAll('.scroll td:first-child')]
  .filter(cell => cell.getBoundingClientRect().height > 45).map(cell => cell.textContent)"""


@pytest.mark.browser
@pytest.mark.parametrize("name", SHOWN)
def test_no_label_lies_over_another_or_breaks_on_a_telephone(name: str, tab: Browser, tmp_path: Path) -> None:
    path = SHOWN[name]().report(tmp_path / "fit.html")
    for width in (390, 1280):
        tab.open(path, width=width)
        assert tab.complaints == []
        assert tab.run(OVERLAPS) == []
        assert tab.run(BROKEN) == []
        assert tab.run("document.documentElement.scrollWidth") <= width


def contrast(one: Any, other: Any) -> float:
    """WCAG's: 4.5 is enough for text, 7 is good."""
    light = [
        np.where(c <= 10, c / 3294.6, ((c / 255 + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]
        for c in (one, other)
    ]
    return float((max(light) + 0.05) / (min(light) + 0.05))


@pytest.mark.browser
def test_a_page_is_printed_on_two_sheets_without_sliders(tab: Browser, tmp_path: Path) -> None:
    opened(tab, RESULTS["boundary"](), tmp_path, dark=True)
    tab.paper(tmp_path / "fit.pdf")
    pages = (tmp_path / "fit.pdf").read_bytes().count(b"/Type /Page\n")
    assert 1 <= pages <= 2
    tab.call("Emulation.setEmulatedMedia", media="print")
    shown = "[...document.querySelectorAll('.sliders input')].map(input => getComputedStyle(input).display)"
    assert tab.run(shown) == ["none", "none"]
    # The verdict is that of this tolerance, which a reader may have moved before printing.
    assert "Tolerated contamination" in tab.run("document.querySelector('.sliders').innerText")
    assert tab.run("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"


@pytest.mark.browser
def test_a_verdict_has_the_color_of_what_it_means(tab: Browser, tmp_path: Path) -> None:
    opened(tab, RESULTS["boundary"](), tmp_path)
    color = """(word => {
      const chip = document.querySelector('header .chip');
      chip.dataset.verdict = word;
      return getComputedStyle(chip).backgroundColor;
    })"""
    kinds = (
        ("MISFIT", "REJECTED", "ALARM"),
        ("GOOD ENOUGH", "CLOSE IN KSD", "DIFFERENCE SHOWN"),
        ("NOT REJECTED", "NO ALARM", "NO DIFFERENCE SHOWN"),
        ("UNDECIDED",),
    )
    colors = [{tab.run(f"{color}({word!r})") for word in words} for words in kinds]
    assert [len(alike) for alike in colors] == [1, 1, 1, 1]
    assert len(set.union(*colors)) == 4
    assert tab.run("document.querySelector('header .chip').textContent") == "MISFIT"


@pytest.mark.browser
def test_a_card_has_nothing_to_complain_of(tab: Browser, tmp_path: Path) -> None:
    path = tmp_path / "card.html"
    path.write_text(
        f"<!doctype html><meta charset='utf-8'><body>{RESULTS['boundary']()._repr_html_()}", encoding="utf-8"
    )
    tab.open(path)
    assert tab.complaints == []
    assert tab.run("document.querySelector('.steinball-card span').textContent") == "MISFIT"
