"""A kernel, a tilt, a radius, a picture and a warning that are defined here, in every place where built-in ones work.

Each of the first three is a copy of a built-in one that shares no code with it, so that the numbers must be equal.
Calibrations have such a file of their own, ``tests/calibration/test_protocol.py``; models, families and adapters
``tests/test_own_objects.py``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.arrays import namespace
from steinball.checks import rows as checks_of_rows
from steinball.gof import assess
from steinball.remarks import Remark
from steinball.show import pictures
from steinball.show.axes import canvas, finish

pytestmark = pytest.mark.exact

RNG = np.random.default_rng(3)
X = RNG.permutation(np.append(RNG.normal(size=110), np.full(10, 4.0)))
XY = np.stack([X, RNG.normal(size=120)], axis=1)
GAUSSIAN = sb.models.Gaussian()
CHAINS = np.random.default_rng(5).normal(size=(2, 100, 1))
PLANE = sb.models.Gaussian(dimension=2)


@dataclass(frozen=True)
class OwnKernel(sb.kernels.Kernel):
    """1 / (1 + r²/4), by its own profile."""

    metric: Any = None

    def profile(self, r2: Any) -> Any:
        base = 1.0 / (1.0 + r2 / 4.0)
        return base, -(base**2) / 4.0, r2 * base**3 / 8.0


class OwnTilt(sb.tilts.Tilt):
    """1 / √(1 + |x|²), by its own logarithm."""

    def log_weight(self, x: Any) -> Any:
        return -0.5 * namespace(x).log1p(namespace(x).sum(x * x, axis=1))

    def log_weight_gradient(self, x: Any) -> Any:
        return -x / (1.0 + namespace(x).sum(x * x, axis=1)[:, None])


@dataclass(frozen=True)
class OwnRadius(sb.radius.Radius):
    """ε√τ, as for contamination, with the traits that this set has."""

    share: float
    closed_under_moves = True
    invariant = True
    allows_removal = False
    sized_by = "share"
    axis = "my share"
    in_percent = True

    def __call__(self, problem: Any, tau: Any) -> float:
        return float(self.share * math.sqrt(tau.value))


KERNELS = OwnKernel(), sb.InverseMultiquadric(2.0, 1.0)
TILTS = OwnTilt(), sb.PolynomialTilt()
RADII = OwnRadius(0.05), sb.Huber(0.05)

Part = dict[str, Any]
CALIBRATIONS: dict[str, Any] = {
    "weighted": sb.WeightedBootstrap(199),
    "boundary": sb.BoundaryBootstrap(199),
    "wild": sb.WildBootstrap(199),
    "bound": sb.DeviationBound(),
    "bets": sb.Betting(2),
}


def by_option(x: Any = X, model: Any = GAUSSIAN, **options: Any) -> Callable[[Part], Any]:
    """The test with built-in parts and some options, as a function of the part that is not built in."""
    built_in: Part = {"kernel": KERNELS[1], "tilt": TILTS[1], "radius": RADII[1]}
    return lambda part: sb.ksd_test(x, model, **{**built_in, **options, **part}, rng=0)


ANYWHERE: dict[str, Callable[[Part], Any]] = {
    **{name: by_option(calibration=calibration, tau=3.0) for name, calibration in CALIBRATIONS.items()},
    **{engine: by_option(engine=engine) for engine in ("dense", "blocked", "lowrank")},
    "two columns": by_option(x=XY, model=PLANE),
    "a bare score": by_option(model=lambda x: -x),
    "scores at the rows": by_option(model=sb.from_scores(-X[:, None])),
    "a search for τ": by_option(tau="optimized"),
    "the paper's coordinates": by_option(standardize=False),
    "a supremum over a region": by_option(tau=sb.tau.Ball(4.0)),
}


@pytest.mark.filterwarnings("ignore::steinball.SteinballWarning")
@pytest.mark.parametrize("use", ANYWHERE)
@pytest.mark.parametrize("part", ["kernel", "tilt", "radius"])
def test_a_part_of_ones_own_gives_the_numbers_of_its_twin(part: str, use: str) -> None:
    own, twin = {"kernel": KERNELS, "tilt": TILTS, "radius": RADII}[part]
    ours, theirs = (ANYWHERE[use]({part: one}) for one in (own, twin))
    assert ours.pvalue == theirs.pvalue
    for name in ("ksd", "tau", "radius", "lower_bound", "upper_bound"):
        # a search for τ ends within its tolerance
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=1e-5 if "search" in use else 1e-9)


def test_the_exact_test_takes_kernels_and_tilts_but_no_set_that_it_does_not_know() -> None:
    exact = by_option(calibration=sb.MonteCarlo(99), tau=3.0)
    assert exact({"kernel": KERNELS[0], "tilt": TILTS[0]}).pvalue == exact({}).pvalue
    with pytest.raises(ValueError, match="does not hold over the set behind OwnRadius"):
        exact({"radius": RADII[0]})


WITH_A_KERNEL: dict[str, Callable[[Any], Any]] = {
    "robust": lambda k: sb.robust_ksd_test(X, GAUSSIAN, 0.05, kernel=k, tau=3.0, rng=0),
    "U-statistic": lambda k: sb.ksd_test(X, GAUSSIAN, kernel=k, estimator="u", rng=0),
    "aggregated": lambda k: sb.ksdagg_test(X, GAUSSIAN, kernels=[k, sb.kernels.Gaussian(1.0)], n_resamples=99, rng=0),
    "robust aggregated": lambda k: sb.robust_ksdagg_test(X, GAUSSIAN, 0.05, kernels=[k], tau=3.0, rng=0),
    "chains": lambda k: sb.mcmc_test(CHAINS, GAUSSIAN, kernel=k, rng=0),
    "fit": lambda k: sb.fit_test(X, "normal", kernel=k, rng=0),
    "stream": lambda k: sb.SequentialTest(GAUSSIAN, kernel=k, tau=3.0, contamination=0.05).update(X),
}


@pytest.mark.filterwarnings("ignore::steinball.SteinballWarning")
@pytest.mark.parametrize("use", WITH_A_KERNEL)
def test_a_kernel_of_ones_own_gives_the_numbers_of_its_twin_in_every_test(use: str) -> None:
    ours, theirs = (WITH_A_KERNEL[use](kernel) for kernel in KERNELS)
    name = "pvalue" if hasattr(ours, "pvalue") else "log_evalue"
    assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=1e-9)


def test_kernels_and_tilts_of_ones_own_combine_like_built_in_ones() -> None:
    a, b = KERNELS
    other = sb.kernels.Gaussian(1.5)
    for ours, theirs in ((a + other, b + other), (2.0 * a, 2.0 * b), (a * other, b * other)):
        assert sb.ksd(X, GAUSSIAN, kernel=ours) == pytest.approx(sb.ksd(X, GAUSSIAN, kernel=theirs), rel=1e-12)
    edge = sb.tilts.EdgeTilt(low=-10.0)
    own, twin = (sb.ksd(X, GAUSSIAN, kernel=b, tilt=edge * tilt) for tilt in TILTS)
    assert own == pytest.approx(twin, rel=1e-12)


def test_all_that_a_result_tells_is_told_with_own_parts(tmp_path: Path) -> None:
    results = [
        sb.ksd_test(X, GAUSSIAN, kernel=kernel, tilt=tilt, radius=radius, rng=0)
        for kernel, tilt, radius in zip(KERNELS, TILTS, RADII, strict=True)
    ]
    ours, theirs = results
    assert ours.extend(300).pvalue == theirs.extend(300).pvalue
    for share in (0.0, 0.02, 0.2):
        assert ours.at(radius=OwnRadius(share)).pvalue == theirs.at(contamination=share).pvalue
    np.testing.assert_allclose(ours.contributions, theirs.contributions, rtol=1e-9, atol=1e-15)
    assert ours.explain().points.tolist() == theirs.explain().points.tolist()
    assert "OwnKernel" in ours.summary(details=True)
    json.dumps(ours.to_dict())
    assert ours.pictures == theirs.pictures
    ours.report(tmp_path / "own.html")
    page = (tmp_path / "own.html").read_text()
    assert "my share" in page
    ours.plot(tmp_path / "own.png")
    assert (tmp_path / "own.png").stat().st_size > 10_000


OWN = """
import steinball as sb
from tests.test_own_parts import OwnKernel, OwnRadius
kernel, ball = OwnKernel(), OwnRadius(0.05)
"""


def test_the_command_takes_them_by_their_file(command: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    np.savetxt(tmp_path / "x.csv", X, header="x", comments="")
    own = f"{tmp_path / 'own.py'}:"
    words = ["--kernel", f"{own}kernel", "--radius", f"{own}ball"]
    done = command("test", str(tmp_path / "x.csv"), "--model", "gaussian", *words, "--json")
    assert done.exit_code in (0, 1), done.stderr
    told = json.loads(done.stdout)
    assert (told["radius"], told["rejected"]) == (pytest.approx(0.05 * math.sqrt(told["tau"])), done.exit_code == 1)
    assert "OwnKernel" in json.dumps(told["kernel"])


def test_a_picture_of_ones_own_is_drawn_by_its_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def draw(scene: Any, ax: Any) -> Any:
        ax, theme = canvas(ax)
        ax.hist(np.ravel(scene.view.points), color=theme.data)
        return finish(ax, "a histogram of one's own", legend=False)

    mine = pictures.Picture(draw, lambda result: result.n > 100)
    monkeypatch.setitem(pictures.PICTURES, "mine", mine)
    result, small = (sb.ksd_test(x, GAUSSIAN, rng=0) for x in (X, X[:60]))
    assert "mine" in result.pictures
    assert "mine" not in small.pictures
    assert result.plot("mine").get_title(loc="left") == "a histogram of one's own"
    result.plot("mine", ax=tmp_path / "mine.svg")
    assert (tmp_path / "mine.svg").read_text().count("<path") > 10
    with pytest.raises(ValueError, match="`kind` must be one of"):
        small.plot("mine")


class OwnWarning(sb.SteinballWarning):
    """Said by a check that is defined here."""


def test_a_warning_of_ones_own_is_given_silenced_and_recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = checks_of_rows.few_rows

    def few_rows(samples: Any) -> Any:
        yield from real(samples)
        yield Remark(OwnWarning, "These rows are mine.", "Leave them alone.")

    monkeypatch.setattr(assess, "few_rows", few_rows)
    with pytest.warns(OwnWarning, match="These rows are mine. Leave them alone."):
        result = sb.robust_ksd_test(X, GAUSSIAN, 0.05, rng=0)
    result.report(tmp_path / "own.html")
    assert "These rows are mine" in (tmp_path / "own.html").read_text()
    with pytest.warns(OwnWarning) as given:
        sb.robust_ksdagg_test(X, GAUSSIAN, 0.05, rng=0)
    assert [warning.filename for warning in given if warning.category is OwnWarning] == [__file__]
