"""A model, a family and an adapter that are defined here, in every place where built-in ones work."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

import steinball as sb
from steinball.adapters.samplers import NamedDraws, Posterior, Reading
from steinball.arrays import Floats
from steinball.models import registry

pytestmark = pytest.mark.exact


class Logistic:
    """A model of one's own: nothing of the library is above it."""

    dimension = 1

    def __init__(self, center: float = 0.0, scale: float = 1.0) -> None:
        self.center, self.scale = center, scale

    def score(self, x: Any) -> Any:
        return -np.tanh((x - self.center) / (2.0 * self.scale)) / self.scale

    def log_density(self, x: Any) -> Any:
        z = (x[:, 0] - self.center) / (2.0 * self.scale)
        return -2.0 * np.logaddexp(z, -z) - np.log(self.scale)

    def sample(self, n: int, rng: Any = None) -> Any:
        return np.random.default_rng(rng).logistic(self.center, self.scale, size=(n, 1))

    def to_base(self, x: Any) -> Any:
        return ndtri(1.0 / (1.0 + np.exp(-(x - self.center) / self.scale)))


class LogisticFamily(sb.fitting.Family):
    """A family of one's own: names, model, start and parameter scores; distribution functions, for a tolerance."""

    label, names, positive = "logistic", ("center", "scale"), (False, True)

    def model(self, params: Floats) -> Logistic:
        return Logistic(*params)

    def start(self, x: Floats) -> Floats:
        low, center, high = np.quantile(x, [0.25, 0.5, 0.75])
        return np.array([center, (high - low) / (2.0 * np.log(3.0))])

    def parameter_scores(self, params: Floats, x: Floats) -> Floats:
        z = (x[:, 0] - params[0]) / params[1]
        turn = np.tanh(z / 2.0)
        return np.asarray(np.stack([turn, z * turn - 1.0], axis=1) / params[1])

    def margins(self, params: Floats, x: Floats) -> Floats:
        return np.asarray(0.5 + 0.5 * np.tanh((x - params[0]) / params[1] / 2.0))


# What a library of one's own might have, and the adapter that reads it.

Bell: Any = type("Bell", (SimpleNamespace,), {"__module__": "bells.core"})
Bells: Any = type("Bells", (), {"__module__": "bells.core"})
Run: Any = type("Run", (SimpleNamespace,), {"__module__": "bells.sampling"})
Target: Any = type("Target", (SimpleNamespace,), {"__module__": "bells.sampling"})


class LogPosterior(Posterior):
    """A positive parameter on the scale of its logarithm: x = log y of y ~ exponential has the score 1 − eˣ."""

    names = parameters = ("rate",)

    def free_rows(self, rows: Mapping[str, Floats]) -> Floats:
        return np.log(rows["rate"])[:, None]

    def score(self, x: Floats, /) -> Floats:
        return 1.0 - np.exp(x)


class BellAdapter(sb.adapters.Adapter):
    posteriors = ("Target",)

    def model(self, thing: Any, dimension: int | None) -> Any:
        return Logistic(thing.center) if isinstance(thing, Bell) else None

    def family(self, thing: Any, dimension: int, known: Mapping[str, float]) -> Any:
        return LogisticFamily() if isinstance(thing, Bells) else None

    def draws(self, thing: Any, reading: Reading) -> NamedDraws | None:
        return NamedDraws({"rate": thing.rate}, model=Target()) if isinstance(thing, Run) else None

    def posterior(self, thing: Any, run: Any) -> LogPosterior | None:
        return LogPosterior() if isinstance(thing, Target) else None


@pytest.fixture(autouse=True)
def bells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_ADAPTERS", dict(registry._ADAPTERS))
    sb.adapters.register("bells", BellAdapter())


X = Logistic().sample(120, rng=1)
CHAINS = np.random.default_rng(2).logistic(size=(2, 100, 1))
USES: dict[str, Callable[[Any, Any], Any]] = {
    "standard": lambda x, model: sb.ksd_test(x, model, rng=0),
    "robust": lambda x, model: sb.robust_ksd_test(x, model, 0.02, rng=0),
    "aggregated": lambda x, model: sb.ksdagg_test(x, model, n_resamples=99, n_resamples_level=99, rng=0),
    "robust aggregated": lambda x, model: sb.robust_ksdagg_test(x, model, 0.02, rng=0),
    "exact": lambda x, model: sb.robust_ksd_test(x, model, 0.02, calibration=sb.MonteCarlo(99), tau=3.0, rng=0),
    "bets": lambda x, model: sb.robust_ksd_test(x, model, 0.0, calibration=sb.Betting(), tau=3.0, rng=0),
    "stream": lambda x, model: sb.SequentialTest(model, tau=3.0, contamination=0.0).update(x),
    "two samples": lambda x, model: sb.dcmmd_test(x, model, contamination=0.0, rng=0),
    "base space": lambda x, model: sb.ksd_test(x, sb.in_base_space(model), rng=0),
    "columns": lambda x, model: sb.ksd_test(np.hstack([x, x[::-1]]), sb.models.Independent([model, model]), rng=0),
    "chains": lambda x, model: sb.mcmc_test(CHAINS + x.mean() - X.mean(), model, rng=0),
    "named chains": lambda x, model: sb.mcmc_test({"a": CHAINS + x.mean() - X.mean()}, model, rng=0),
    "fitted function": lambda x, model: sb.fit_test(x, lambda _: model, calibration=sb.RefitBootstrap(49), rng=0),
}


@pytest.mark.filterwarnings("ignore::steinball.SteinballWarning")
@pytest.mark.parametrize("model", [Logistic(), Bell(center=0.0)], ids=["a model", "an object of an adapter"])
@pytest.mark.parametrize("use", USES)
def test_a_model_of_ones_own_is_tested_like_a_built_in_one(use: str, model: Any) -> None:
    assert not USES[use](X, model).rejected
    assert USES[use](X + 3.0, model).rejected


def test_a_model_of_ones_own_is_checked_shown_and_likened() -> None:
    for model in (Logistic(), Bell(center=0.0)):
        assert sb.check_score(model, X[:20]).ok
        assert isinstance(sb.as_model(model, X), Logistic)
        assert sb.ksd(X, model) < sb.ksd(X + 1.0, model)
    with pytest.raises(ValueError, match="dimension 1 but `samples` has 2 columns"):
        sb.ksd_test(np.zeros((5, 2)), Bell(center=0.0))


@pytest.mark.filterwarnings("ignore::steinball.SteinballWarning")
@pytest.mark.parametrize("family", [LogisticFamily(), Bells()], ids=["a family", "an object of an adapter"])
def test_a_family_of_ones_own_is_fitted_and_tested_like_a_built_in_one(family: Any) -> None:
    x, skewed = 2.0 + 3.0 * X, np.exp(X[:, 0] / 2.0)
    for options in (
        {}, {"calibration": sb.RefitBootstrap(49)}, {"fit": sb.fitting.MinimumKSD()}, {"contamination": 0.05},
    ):  # fmt: skip
        result = sb.fit_test(x, family, rng=0, **options)
        assert not result.rejected, options
        assert abs(result.params["scale"] - 3.0) < 0.6
    assert sb.fit_test(skewed, family, rng=0).rejected
    fit = sb.fitting.fit_minimum_ksd(family, np.append(x, 1e4))
    assert abs(fit.params["center"] - 2.0) < 1.0
    np.testing.assert_allclose(fit.model.score(x), LogisticFamily().score(np.array(list(fit.params.values())), x))


def test_draws_and_posteriors_of_an_adapter_are_tested_where_they_have_no_constraint() -> None:
    rate = np.random.default_rng(0).exponential(size=(2, 200))
    result = sb.mcmc_test(Run(rate=rate), rng=0)
    assert result.parameters == ("rate",)
    assert result.chains == (200, 200)
    assert not result.rejected
    assert sb.mcmc_test({"rate": rate, "other": rate}, Target(), rng=0).pvalue == result.pvalue
    assert sb.mcmc_test(Run(rate=2.0 * rate), rng=0).rejected
    assert sb.mcmc_test(Run(rate=rate), lambda x: -x, rng=0).rejected  # another model, on the constrained space
    with pytest.raises(TypeError, match="`model` is a Target, which knows its parameters by name"):
        sb.mcmc_test(rate[..., None], Target())
    with pytest.raises(TypeError, match="`draws` is a Target, a model"):
        sb.mcmc_test(Target(), rate)


FILE = """
import numpy as np
import steinball as sb

class Logistic:
    def __init__(self, center):
        self.center = center
    def score(self, x):
        return -np.tanh((x - self.center) / 2.0)

class Bell:
    center = 0.0

class Bells(sb.adapters.Adapter):
    def model(self, thing, dimension):
        return Logistic(thing.center) if isinstance(thing, Bell) else None

Bell.__module__ = "bells.core"
sb.adapters.register("bells", Bells())
model, bell = Logistic(0.0), Bell()
"""


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    before, modules = list(sys.path), set(sys.modules)
    (tmp_path / "mine.py").write_text(FILE)
    yield tmp_path / "mine.py"
    sys.path[:] = before
    for name in set(sys.modules) - modules:
        del sys.modules[name]


@pytest.mark.parametrize("name", ["model", "bell"])
def test_the_command_takes_a_model_and_an_object_of_an_adapter_by_its_file(file: Path, name: str) -> None:
    np.savetxt(file.parent / "good.csv", X, header="x", comments="")
    np.savetxt(file.parent / "bad.csv", X + 3.0, header="x", comments="")
    for data, code in (("good", 0), ("bad", 1)):
        arguments = [str(file.parent / f"{data}.csv"), "--model", f"{file}:{name}", "--contamination", "0.02"]
        done = subprocess.run(
            [sys.executable, "-m", "steinball", "test", *arguments], capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr


FAMILY = """
from tests.test_own_objects import LogisticFamily
family = LogisticFamily()
"""


def test_the_command_takes_a_family_by_its_file(command: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FAMILY)
    for data, x, code in (("good", 2.0 + 3.0 * X, 0), ("bad", np.exp(X / 2.0), 1)):
        np.savetxt(tmp_path / f"{data}.csv", x, header="x", comments="")
        done = command("test", str(tmp_path / f"{data}.csv"), "--fit", f"{tmp_path / 'mine.py'}:family", "--json")
        assert done.exit_code == code, done.stderr
        told = json.loads(done.stdout)
        assert told["family"] == "logistic"
        assert told["params"]["scale"] == pytest.approx(sb.fit_test(x, LogisticFamily(), rng=0).params["scale"])
