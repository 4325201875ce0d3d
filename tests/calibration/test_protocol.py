"""A new calibration is one class: every test, engine, reading and summary takes it without another line."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

import steinball as sb
import steinball.gram.lowrank
from steinball.calibration import Calibration
from steinball.calibration.base import BootstrapNull, BoundingNull, JointNull
from steinball.gram.base import GramSummary
from steinball.gram.request import Request
from steinball.tau.certificate import Supremum

pytestmark = pytest.mark.exact
Floats = NDArray[np.float64]

X = np.where(np.arange(250) % 5 == 0, 2.5, np.random.default_rng(0).normal(size=250))
MODEL = sb.models.Gaussian()
EXACT = ("auto", "dense", "blocked")
ENGINES = (*EXACT, "lowrank")


@pytest.fixture(autouse=True)
def few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer random pairs: the bounds are wider, and no less valid."""
    monkeypatch.setattr(steinball.gram.lowrank, "PAIRS", (2**13, 2**15))


@dataclass(frozen=True)
class Blocks(Calibration):
    """Signs that are shared by neighbors, as for chains: a calibration with draws."""

    n_resamples: int = 199
    length: int = 5
    label: ClassVar[str] = "signs of blocks"

    def request(self, n: int, seed: np.random.SeedSequence, start: int = 0) -> Request:
        rng = np.random.default_rng(seed)
        signs = rng.choice(np.array([-1, 1], dtype=np.int8), size=(self.n_resamples, -(-n // self.length)))
        return Request([np.repeat(signs, self.length, axis=1)[start:, :n]])

    def null(self, summary: GramSummary, tau: Supremum, estimator: str) -> BootstrapNull:
        return BootstrapNull.from_summary(summary, estimator)


@dataclass(frozen=True)
class MarkovNull(BoundingNull):
    """P(D − θ ≥ t) ≤ √(τ/n)/t: a bound without draws."""

    scale: float
    draws = None

    def pvalue(self, ksd: float, radius: float) -> float:
        return 1.0 if ksd <= radius else min(1.0, self.scale / (ksd - radius))

    def threshold(self, level: float, radius: float) -> float:
        return self.scale / level * (1.0 - 1e-12)

    def lower_bound(self, ksd: float, level: float) -> float:
        return max(0.0, ksd - self.threshold(level, 0.0))

    def upper_bound(self, ksd: float, level: float) -> float:
        return ksd + self.threshold(level, 0.0)


@dataclass(frozen=True)
class Markov(Calibration):
    """A calibration without draws, for V-statistics and an upper bound of u(x, x)."""

    label: ClassVar[str] = "Markov's inequality"
    estimators: ClassVar[tuple[str, ...]] = ("v",)
    needs_upper_bound: ClassVar[bool] = True

    def null(self, summary: GramSummary, tau: Supremum, estimator: str) -> MarkovNull:
        return MarkovNull(math.sqrt(tau.value / len(summary)))


@pytest.mark.parametrize("engine", ENGINES)
def test_one_with_draws_is_tested_read_again_extended_and_put_in_words(engine: str) -> None:
    result = sb.robust_ksd_test(X, MODEL, 0.01, calibration=Blocks(), engine=engine, rng=3)
    exact = sb.robust_ksd_test(X, MODEL, 0.01, calibration=Blocks(), engine="dense", rng=3)
    assert result.n_resamples == 199
    assert result.draws is not None
    assert result.draws.shape == (199,)
    assert result.pvalue == pytest.approx(exact.pvalue, abs=0.0 if engine in EXACT else 0.02)
    assert result.rejected == exact.rejected
    assert result.at(level=0.2).pvalue == result.pvalue
    assert result.at(contamination=0.9).pvalue == 1.0
    assert result.at(calibration=Blocks(199, 5)).pvalue == result.pvalue
    assert result.at(calibration=sb.DeviationBound(proven=False)).draws is None
    with pytest.raises(ValueError, match="other draws"):
        result.at(calibration=Blocks(199, 7))
    longer = result.extend(101)
    assert longer.n_resamples == 300
    assert longer.draws is not None
    np.testing.assert_array_equal(longer.draws[:199], result.draws)
    assert "199 draws" in result.summary(details=True)
    assert json.loads(json.dumps(result.to_dict()))["n_resamples"] == 199
    assert result.interval()[0] <= result.lower_bound <= result.upper_bound <= result.interval()[1]


@pytest.mark.parametrize("engine", ENGINES)
def test_one_without_draws_is_tested_read_again_and_put_in_words(engine: str) -> None:
    result = sb.robust_ksd_test(X, MODEL, 0.01, calibration=Markov(), engine=engine, rng=3)
    assert result.tau_kind == "closed form", "it needs an upper bound, and gets one by default"
    assert (result.n_resamples, result.draws) == (0, None)
    scale = math.sqrt(result.tau / 250)
    assert result.pvalue == pytest.approx(min(1.0, scale / (result.ksd - result.radius)), rel=1e-12)
    assert result.at(level=0.5).threshold == pytest.approx(2.0 * scale)
    assert result.at(radius=0.0).pvalue <= result.pvalue
    bootstrap = sb.robust_ksd_test(X, MODEL, 0.01, tau="auto", engine=engine, rng=3)
    assert bootstrap.at(calibration=Markov()).pvalue == pytest.approx(
        result.pvalue, rel=1e-9 if engine in EXACT else 1e-3
    )
    with pytest.raises(TypeError, match="nothing to extend"):
        result.extend(10)
    assert "p-value" in result.summary(details=True)
    assert "1 draws" not in result.summary(details=True)
    assert json.loads(json.dumps(result.to_dict()))["n_resamples"] == 0


def test_its_traits_are_obeyed() -> None:
    with pytest.raises(ValueError, match=r'Markov\(\) is for the V-statistic: use estimator="v"'):
        sb.ksd_test(X, MODEL, calibration=Markov(), estimator="u")
    with pytest.raises(TypeError, match=r"several kernels.*Markov\(\)"):
        sb.robust_ksdagg_test(X, MODEL, 0.05, calibration=Markov())
    with pytest.warns(sb.cautions.UnboundedSteinKernelWarning, match="`Markov`"):
        sb.ksd_test(X, MODEL, calibration=Markov())


@dataclass(frozen=True)
class Shares(JointNull):
    """Bonferroni over kernels: an own joint null."""

    ksds: Floats
    scale: float

    def ratios(self, radii: Floats) -> Floats:
        return (self.ksds - radii) / self.scale

    def statistic(self, radii: Floats) -> float:
        return float(self.ratios(radii).max())

    def threshold(self, radii: Floats, level: float) -> float:
        return len(self.ksds) / level

    def pvalue(self, radii: Floats) -> float:
        return min(1.0, len(self.ksds) / max(self.statistic(radii), 1e-300))


@dataclass(frozen=True)
class Bonferroni(Markov):
    aggregates: ClassVar[bool] = True

    def joint(self, summaries: Sequence[GramSummary], taus: Sequence[Supremum]) -> Shares:
        ksds = np.sqrt([summary.mean for summary in summaries])
        return Shares(ksds, math.sqrt(max(tau.value for tau in taus) / len(summaries[0])))


def test_one_that_decides_over_several_kernels_does_so() -> None:
    kernels = [sb.InverseMultiquadric(1.0), sb.InverseMultiquadric(2.0)]
    result = sb.robust_ksdagg_test(X, MODEL, 0.01, kernels=kernels, calibration=Bonferroni())
    excess = max(ksd - radius for ksd, radius in zip(result.ksds, result.radii, strict=True))
    assert result.pvalue == pytest.approx(min(1.0, 2.0 * math.sqrt(max(result.taus) / 250) / excess))
    assert result.at(contamination=1.0).pvalue == 1.0
    assert "p-value" in result.summary(details=True)


class Duck:
    """It has the methods and is no calibration."""

    n_resamples = 99

    def request(self, n: int, seed: Any, start: int = 0) -> Request:
        return Request()

    def null(self, summary: Any, tau: Any, estimator: str) -> Any:
        return None


@pytest.mark.parametrize(
    "calibration", [Duck(), "weighted", sb.WeightedBootstrap, 99, None], ids=["duck", "text", "class", "number", "none"]
)
def test_what_only_looks_like_a_calibration_is_refused_by_name(calibration: Any) -> None:
    result = sb.ksd_test(X, MODEL, calibration=sb.WeightedBootstrap(19), rng=0)
    robust: list[Any] = [sb.robust_ksdagg_test] + [sb.robust_ksd_test] * (calibration is not None)
    calls: list[Any] = [sb.ksd_test, *(partial(call, contamination=0.05) for call in robust)]
    for call in calls:
        with pytest.raises(TypeError, match="`calibration` must be a calibration such as WeightedBootstrap"):
            call(X, MODEL, calibration=calibration)
    if calibration is not None:
        with pytest.raises(TypeError, match="`calibration` must be a calibration such as WeightedBootstrap"):
            result.at(calibration=calibration)


def test_every_exported_calibration_declares_its_traits() -> None:
    for calibration in (
        sb.WeightedBootstrap(),
        sb.WildBootstrap(),
        sb.BoundaryBootstrap(),
        sb.DeviationBound(),
        sb.Betting(),
    ):
        assert isinstance(calibration, Calibration)
        assert calibration.label != Calibration.label
        assert set(calibration.estimators) <= {"v", "u"}
        assert calibration.default_tau == ("auto" if calibration.needs_upper_bound else "best")
        request = calibration.request(30, np.random.SeedSequence(0))
        assert sum(len(chunk) for chunk in request.weights) == calibration.n_resamples


def test_the_command_takes_one_by_its_file(command: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("from tests.calibration.test_protocol import Blocks\nblocks = Blocks()\n")
    np.savetxt(tmp_path / "x.csv", X, header="x", comments="")
    words = ["--model", "gaussian", "--contamination", "0.05", "--calibration", f"{tmp_path / 'own.py'}:blocks"]
    done = command("test", str(tmp_path / "x.csv"), *words, "--json")
    assert done.exit_code in (0, 1), done.stderr
    told = json.loads(done.stdout)
    assert told["n_resamples"] == 199
    assert told["pvalue"] == sb.robust_ksd_test(X, MODEL, 0.05, calibration=Blocks(), rng=0).pvalue
