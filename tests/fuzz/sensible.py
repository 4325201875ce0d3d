"""Sensible values for parameters by their names, so that one hostile value stands among them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import steinball as sb
from tests.fuzz.hostile_models import plain_score
from tests.fuzz.values import Floats, Rng, Value


@dataclass(frozen=True, eq=False)
class Scene:
    """The samples of one case, and a source of chance."""

    rng: Rng
    x: Floats

    @property
    def dimension(self) -> int:
        return int(self.x.shape[1])

    def pick(self, *choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]


Maker = Callable[[Scene], Any]


def _model(scene: Scene) -> Any:
    return scene.pick(sb.models.Gaussian(dimension=scene.dimension), plain_score, sb.from_score(plain_score))


def _kernel(scene: Scene) -> Any:
    return scene.pick(sb.InverseMultiquadric(1.5), sb.kernels.Gaussian(1.0), sb.Matern(2.0))


def _result(scene: Scene) -> Any:
    return sb.ksd_test(scene.x, sb.models.Gaussian(0.5, dimension=scene.dimension), rng=0, tilt="auto", tau="auto")


def _problem(scene: Scene) -> Any:
    from steinball.problem import pose

    return pose(scene.x, sb.models.Gaussian(dimension=scene.dimension), sb.InverseMultiquadric(1.0), "auto")


SENSIBLE: dict[str, Maker] = {
    "x": lambda s: s.x.copy(),
    "y": lambda s: s.x + 0.1,
    "samples": lambda s: s.x.copy(),
    "batch": lambda s: s.x[:, :1].copy(),
    "model": _model,
    "score": lambda s: plain_score,
    "log_density": lambda s: lambda x: -0.5 * (x * x).sum(axis=1),
    "kernel": _kernel,
    "kernels": lambda s: (sb.InverseMultiquadric(1.0), sb.InverseMultiquadric(3.0)),
    "tilt": lambda s: s.pick(sb.PolynomialTilt(), "auto"),
    "radius": lambda s: 0.1,
    "contamination": lambda s: 0.05,
    "level": lambda s: s.pick(0.05, 0.1),
    "rng": lambda s: int(s.rng.integers(1000)),
    "calibration": lambda s: s.pick(sb.WeightedBootstrap(39), sb.BoundaryBootstrap(39)),
    "n_resamples": lambda s: 99,
    "n_resamples_level": lambda s: 99,
    "n_draws": lambda s: 50,
    "n_basis": lambda s: 4,
    "n_more": lambda s: 20,
    "budget": lambda s: 2000,
    "backend": lambda s: "numerical",
    "lengthscale": lambda s: 1.0,
    "mass": lambda s: 0.1,
    "value": lambda s: 0.1,
    "distance": lambda s: 0.1,
    "nats": lambda s: 0.1,
    "delta": lambda s: 0.1,
    "df": lambda s: 4.0,
    "n": lambda s: 100,
    "d": lambda s: 2,
    "first": lambda s: _kernel(s),
    "second": lambda s: _kernel(s),
    "factor": lambda s: 2.0,
    "share": lambda s: 0.1,
    "problem": _result,
    "result": lambda s: sb.ksd_test(
        s.x,
        sb.models.Gaussian(dimension=s.dimension),
        rng=0,
        tilt="auto",
        tau="auto",
        kernel=sb.InverseMultiquadric(1.0),
    ),
    "threshold": lambda s: 0.05,
    "weights": lambda s: [0.5, 0.5],
    "means": lambda s: [-1.0, 1.0],
    "coefficients": lambda s: [1.0, -2.0],
    "visible_bias": lambda s: [0.0, 0.0],
    "hidden_bias": lambda s: [0.0, 0.0],
    "modes": lambda s: [-3.0, 3.0],
    "locations": lambda s: [-3.0, 3.0],
    "lower": lambda s: -5.0,
    "upper": lambda s: 5.0,
    "low": lambda s: -50.0,
    "base_scores": lambda s: -s.x,
    "basis_jacobians": lambda s: np.ones((*s.x.shape, 1)),
    "ridge": lambda s: 0.01,
    "tau": lambda s: "sample",
    "dimension": lambda s: None,
    "path": lambda s: "no such file.npz",
    "family": lambda s: "normal",
    "alternative": lambda s: sb.models.Gaussian(0.5, dimension=s.dimension),
    "repeats": lambda s: 2,
    "marginals": lambda s: [sb.models.Gaussian(), sb.models.StudentT(4.0)],
    "fraction": lambda s: 0.5,
}

# Where one name means something else.
SPECIAL: dict[str, Maker] = {
    "SequentialTest.tau": lambda s: 50.0,
    "SequentialTest.kernel": lambda s: sb.InverseMultiquadric(1.0),
    "GofResult.at.radius": lambda s: None,
    "RobustAggregatedResult.at.radius": lambda s: None,
    "GofResult.at.calibration": lambda s: None,
    "features.Ball.radius": lambda s: 3.0,
    "radius.diameter.problem": _problem,
    "radius.diameter.tau": lambda s: sb.tau.Supremum(2.0, "given"),
    "radius.lipschitz_constant.problem": _problem,
    "models.GaussianBernoulliRBM.weights": lambda s: np.ones((2, 2)),
    "models.StudentT.standardized.dimension": lambda s: 2,
    "DensityBand.between.first": lambda s: _normal_density,
    "DensityBand.between.second": lambda s: _normal_density,
    "radius.Sum.first": lambda s: sb.Huber(0.1),
    "radius.Sum.second": lambda s: sb.Huber(0.1),
    "tilts.PowerTilt.power": lambda s: 0.5,
    "dcmmd_test.y": lambda s: s.x + 0.1,
    "robust_ksdagg_test.tau": lambda s: "auto",
    "robust_ksdagg_test.calibration": lambda s: sb.BoundaryBootstrap(99),
    "kernels.Product.second": lambda s: _kernel(s),
    "jumps.find_modes.model": lambda s: sb.models.GaussianMixture([0.5, 0.5], [-4.0, 4.0]),
    "jumps.count_groups.model": lambda s: sb.models.GaussianMixture([0.5, 0.5], [-4.0, 4.0]),
    "jumps.ModeJumps.from_model.model": lambda s: sb.models.GaussianMixture([0.5, 0.5], [-4.0, 4.0]),
    "LikeModel.model": lambda s: sb.models.Gaussian(0.2),
    "fitting.fit_kernel_exponential_family.samples": lambda s: s.x[:, :1],
    "fitting.fit_kernel_exponential_family.tilt": lambda s: sb.PolynomialTilt(),
    "SteinKernel.tilt": lambda s: sb.PolynomialTilt(),
    "mode_weights_test.model": lambda s: _mixture(s.dimension),
    "fit_test.calibration": lambda s: s.pick(sb.ProjectedBootstrap(39), sb.RefitBootstrap(39)),
    "fitting.as_family.dimension": lambda s: s.dimension,
    "mcmc_test.draws": lambda s: chains(s),
    "mcmc_test.model": lambda s: sb.models.Gaussian(dimension=s.dimension),
    "mcmc_test.calibration": lambda s: sb.WildBootstrap(39, dependence="auto", chains=2),
    "in_base_space.model": lambda s: sb.models.Gaussian(dimension=s.dimension),
    "planning.power.model": lambda s: sb.models.Gaussian(dimension=s.dimension),
    "planning.power.n": lambda s: 20,
    "planning.sample_size.model": lambda s: sb.models.Gaussian(dimension=s.dimension),
    "planning.sample_size.largest": lambda s: 40,
}
ALWAYS = {
    "n_draws", "n_basis", "budget", "n_resamples", "n_resamples_level", "rng", "tau", "level", "calibration",
    "repeats",
}  # fmt: skip
"""Parameters that are always given: their defaults cost time, or luck."""


def chains(scene: Scene) -> Floats:
    """Two chains of 60 independent draws each."""
    return scene.rng.normal(size=(2, 60, scene.dimension))


def _mixture(d: int) -> Any:
    return sb.models.GaussianMixture([0.5, 0.5], [[-4.0] * d, [4.0] * d])


def _normal_density(x: float) -> float:
    return float(np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi))


def sensible(entry: str, parameter: inspect.Parameter, scene: Scene) -> Value | None:
    """A sensible value, or ``None`` for the default of the parameter."""
    special = SPECIAL.get(f"{entry}.{parameter.name}")
    maker = SENSIBLE.get(parameter.name) if special is None else special
    optional = parameter.default is not inspect.Parameter.empty
    if maker is None:
        return None if optional else Value("nothing is known", object())
    if optional and special is None and parameter.name not in ALWAYS and scene.rng.random() < 0.6:
        return None
    value = maker(scene)
    plain = value if isinstance(value, np.ndarray) else plain_score if parameter.name == "model" else None
    return Value("sensible", value, plain)
