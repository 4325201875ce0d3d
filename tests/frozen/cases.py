"""Some three hundred public calls, each with a name: test × calibration × radius × engine × library × kind of model."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

import steinball as sb

Case = tuple[str, Callable[[], Any]]

CALIBRATIONS = {
    "weighted": sb.WeightedBootstrap(199),
    "boundary": sb.BoundaryBootstrap(199),
    "scaled": sb.BoundaryBootstrap(199, "scaled"),
    "wild": sb.WildBootstrap(199),
    "betting": sb.Betting(),
    "deviation": sb.DeviationBound(),
    "exact": sb.MonteCarlo(99),
}
RADII: dict[str, Any] = {
    "none": 0.0,
    "number": 0.05,
    "huber": sb.Huber(0.05),
    "variation": sb.TotalVariation(0.05),
    "band": sb.DensityBand(0.05),
    "hellinger": sb.Hellinger(0.05),
    "kl": sb.KullbackLeibler(0.01),
    "chi": sb.ChiSquared(0.01),
}


def line(n: int = 120, seed: int = 0, bad: int = 9) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.normal(0.1, 1.0, size=n)
    x[rng.choice(n, bad, replace=False)] = 3.0
    return x


def plane(n: int = 120, d: int = 3, seed: int = 1) -> Any:
    x = np.random.default_rng(seed).normal(size=(n, d))
    x[::11] += 2.0
    return np.random.default_rng(2).permutation(x)


class Named:
    """A user's model: a score, a sampler, and nothing else."""

    def score(self, x: Any) -> Any:
        return -x

    def sample(self, n: int, rng: Any) -> Any:
        return rng.normal(size=(n, 1))


@dataclass
class Plain:
    """A user's model that cannot be hashed."""

    scale: float = 1.0

    def score(self, x: Any) -> Any:
        return -x / self.scale**2

    def sample(self, n: int, rng: Any) -> Any:
        return self.scale * rng.normal(size=(n, 1))


def crossed() -> Iterator[Case]:
    model = sb.models.Gaussian(0.0, 1.0)
    fixed: dict[str, Any] = {"kernel": sb.InverseMultiquadric(1.1), "tilt": sb.PolynomialTilt()}
    for (c, calibration), (r, radius) in itertools.product(CALIBRATIONS.items(), RADII.items()):
        tau = "auto" if calibration.needs_upper_bound or r not in ("none", "number", "huber") else "sample"
        options: dict[str, Any] = {"calibration": calibration, "radius": radius, "tau": tau, "rng": 3, **fixed}
        yield f"crossed/{c}/{r}", partial(sb.ksd_test, line(), model, **options)
    for engine, estimator in itertools.product(("dense", "blocked", "lowrank"), "vu"):
        for r in ("none", "huber"):
            calibration = sb.WeightedBootstrap(199)
            options = {"calibration": calibration, "estimator": estimator, "engine": engine, "radius": RADII[r]}
            yield f"engine/{engine}/{estimator}/{r}", partial(sb.ksd_test, line(300), model, rng=4, **options, **fixed)


def defaults() -> Iterator[Case]:
    models: dict[str, Any] = {
        "gaussian": sb.models.Gaussian(0.0, 1.0),
        "student": sb.models.StudentT(5.0),
        "mixture": sb.models.GaussianMixture([0.3, 0.3, 0.4], [-1.0, 0.0, 1.5]),
        "separated": sb.models.GaussianMixture([0.5, 0.5], [-6.0, 6.0]),
        "score": lambda x: -x,
        "named": Named(),
        "plain": Plain(),
        "log density": sb.from_log_density(lambda x: -0.5 * (x**2).sum(axis=-1), backend="numerical"),
        "norm": stats.norm(0.1, 1.1),
        "t": stats.t(6, 0.1, 1.0),
        "laplace": stats.laplace(0.0, 0.8),
        "steep": sb.from_score(lambda x: -(x**3), sample=lambda n, rng: rng.normal(size=(n, 1))),
    }
    for (m, model), seed in itertools.product(models.items(), (0, 1)):
        x = line(150, seed)
        yield f"standard/{m}/{seed}", partial(sb.ksd_test, x, model, rng=seed)
        yield f"robust/{m}/{seed}", partial(sb.robust_ksd_test, x, model, 0.05, rng=seed)
        yield f"robust0/{m}/{seed}", partial(sb.robust_ksd_test, x, model, 0.0, rng=seed)
    for m in ("gaussian", "student", "named", "score"):
        x = line(100)
        yield f"agg/{m}", partial(sb.ksdagg_test, x, models[m], n_resamples=200, n_resamples_level=200, rng=1)
        yield f"ragg/{m}", partial(sb.robust_ksdagg_test, x, models[m], 0.05, rng=1)
        yield f"u/{m}", partial(sb.robust_ksd_test, x, models[m], 0.05, estimator="u", rng=1)
        for tau in ("sample", "best", "auto", "optimized"):
            yield f"tau/{tau}/{m}", partial(sb.robust_ksd_test, x, models[m], 0.05, tau=tau, rng=2)
    yield (
        "ragg/betting",
        partial(sb.robust_ksdagg_test, line(100), models["gaussian"], 0.05, calibration=sb.Betting(), rng=1),
    )
    yield (
        "ragg/variation",
        partial(sb.robust_ksdagg_test, line(100), models["gaussian"], radius=sb.TotalVariation(0.03), rng=1),
    )


def dimensions() -> Iterator[Case]:
    for d in (2, 5, 20):
        x, eye = plane(150, d), np.eye(d) + 0.3
        for m, model in {
            "gaussian": sb.models.Gaussian(np.zeros(d), eye),
            "isotropic": sb.models.Gaussian(np.zeros(d), 1.0),
            "student": sb.models.StudentT(5.0, np.zeros(d)),
            "score": lambda x: -x,
        }.items():
            yield f"d/{d}/{m}/robust", partial(sb.robust_ksd_test, x, model, 0.05, rng=1)
            yield f"d/{d}/{m}/standard", partial(sb.ksd_test, x, model, rng=1)
        yield f"d/{d}/agg", partial(sb.robust_ksdagg_test, x, sb.models.Gaussian(np.zeros(d), eye), 0.05, rng=1)
        yield (
            f"d/{d}/exact",
            partial(
                sb.robust_ksd_test, x, sb.models.Gaussian(np.zeros(d), 1.0), 0.05, calibration=sb.MonteCarlo(99), rng=1
            ),
        )


def edges() -> Iterator[Case]:
    rng = np.random.default_rng(5)
    positive = rng.exponential(size=150)
    models: dict[str, Any] = {
        "expon": stats.expon(),
        "gamma": stats.gamma(2.0, scale=0.5),
        "half": sb.from_score(lambda x: -1.0 + 0.0 * x, support=(0, None)),
        "half with draws": sb.from_score(
            lambda x: -1.0 + 0.0 * x, support=(0, None), sample=lambda n, rng: rng.exponential(size=(n, 1))
        ),
        "as model": sb.as_model(stats.gamma(2.0, scale=0.5)),
        "base": sb.in_base_space(sb.models.StudentT(4.0, 1.0)),
    }
    for m, model in models.items():
        yield f"edge/{m}/standard", partial(sb.ksd_test, positive, model, rng=1)
        yield f"edge/{m}/robust", partial(sb.robust_ksd_test, positive, model, 0.05, rng=1)
        yield f"edge/{m}/agg", partial(sb.robust_ksdagg_test, positive, model, 0.05, rng=1)
    outside = np.append(positive, [-1.0, -2.0])
    for m in ("expon", "half", "half with draws"):
        yield f"outside/{m}", partial(sb.robust_ksd_test, outside, models[m], 0.05, outside="contaminated", rng=1)
        yield (
            f"outside/agg/{m}",
            partial(sb.robust_ksdagg_test, outside, models[m], 0.05, outside="contaminated", rng=1),
        )
    mixture = sb.models.GaussianMixture([0.5, 0.5], [-5.0, 5.0])
    x = sb.models.GaussianMixture([0.75, 0.25], [-5.0, 5.0]).sample(150, rng=3)
    for share in (0.0, 0.05):
        yield f"jumps/{share}", partial(sb.robust_ksd_test, x, mixture, share, jumps="auto", rng=1)
        for method in ("betting", "asymptotic"):
            yield f"weights/{method}/{share}", partial(sb.mode_weights_test, x, mixture, share, method=method)
    yield "jumps/standard", partial(sb.ksd_test, x, mixture, jumps="auto", rng=1)
    far = line(150)
    far[7] = 1e160
    yield "far", partial(sb.robust_ksd_test, far, sb.models.Gaussian(0.0, 1.0), 0.05, rng=1)
    yield (
        "tails",
        partial(sb.ksd_test, line(150), sb.models.Gaussian(0.0, 1.0), radius=sb.StudentTails(5.0), tilt="auto", rng=1),
    )
    yield "like", partial(
        sb.ksd_test, line(150), sb.models.Gaussian(0.0, 1.0), tilt="auto", rng=1,
        radius=sb.LikeModel(sb.models.Gaussian(0.3, 1.0)),
    )  # fmt: skip


def others() -> Iterator[Case]:
    normal = sb.models.Gaussian(0.0, 1.0)
    for share in (0.0, 0.05):
        yield f"dcmmd/{share}", partial(sb.dcmmd_test, line(100), normal, contamination=share, rng=1)
        yield f"mmd-dev/{share}", partial(sb.mmd_dev_test, line(100), normal, contamination=share, rng=1)
    rng = np.random.default_rng(8)
    chains = rng.normal(size=(2, 200, 2))
    chains[:, 1:] = 0.5 * chains[:, :-1] + 0.8 * chains[:, 1:]
    for share in (0.0, 0.05):
        yield f"mcmc/{share}", partial(sb.mcmc_test, chains, sb.models.Gaussian([0.0, 0.0]), contamination=share, rng=1)
    yield "mcmc/scores", partial(sb.mcmc_test, chains, scores=-chains, rng=1)
    yield "chain/wild", partial(
        sb.ksd_test, chains[0], sb.models.Gaussian([0.0, 0.0]), rng=1,
        calibration=sb.WildBootstrap(199, dependence="auto"),
    )  # fmt: skip
    data = {
        "normal": rng.normal(3.0, 2.0, size=150),
        "gamma": rng.gamma(3.0, size=150),
        "lognormal": rng.lognormal(size=150),
        "weibull": rng.weibull(1.5, size=150),
        "student-t": rng.standard_t(4, size=150),
        "mixture:2": np.concatenate([rng.normal(-2, size=75), rng.normal(2, size=75)]),
    }
    for family, x in data.items():
        x = rng.permutation(x)
        yield f"fit/{family}", partial(sb.fit_test, x, family, rng=1)
        yield f"fit/{family}/normal", partial(sb.fit_test, x, "normal", rng=1)
        yield f"fit/{family}/refit", partial(sb.fit_test, x, family, calibration=sb.RefitBootstrap(49), rng=1)
    yield "fit/plane", partial(sb.fit_test, plane(), "normal", rng=1)
    yield "fit/scipy/norm", partial(sb.fit_test, data["normal"], stats.norm, rng=1)
    yield "fit/scipy/t", partial(sb.fit_test, data["student-t"], stats.t, rng=1)
    yield "fit/scipy/known", partial(sb.fit_test, data["gamma"], stats.gamma, known_params={"loc": 0.0}, rng=1)
    yield "fit/tolerance", partial(sb.fit_test, data["normal"], "normal", contamination=0.05, rng=1)


def libraries() -> Iterator[Case]:
    import jax.numpy as jnp
    import torch

    for name, convert in {"torch": torch.asarray, "jax": jnp.asarray}.items():
        for d in (1, 3):
            x = plane(100, d)
            model = sb.models.Gaussian(np.zeros(d), 1.0)
            yield f"{name}/{d}/robust", partial(sb.robust_ksd_test, convert(x), model, 0.05, rng=1)
            yield f"{name}/{d}/standard", partial(sb.ksd_test, convert(x), lambda x: -x, rng=1)
            yield (
                f"{name}/{d}/float32",
                partial(sb.robust_ksd_test, convert(x.astype("float32")), lambda x: -x, 0.05, rng=1),
            )
    normal = torch.distributions.Normal(torch.tensor(0.0).double(), torch.tensor(1.0).double())
    yield "torch/distribution", partial(sb.robust_ksd_test, line(100), normal, 0.05, rng=1)


def sizes() -> Iterator[Case]:
    model = sb.models.Gaussian(0.0, 1.0)
    for n in (10, 50, 1000, 6000):
        yield f"n/{n}", partial(sb.robust_ksd_test, line(n, bad=n // 20), model, 0.05, rng=1)
        yield f"n/{n}/score", partial(sb.robust_ksd_test, line(n, bad=n // 20), lambda x: -x, 0.02, rng=1)
    rng = np.random.default_rng(0)
    stream = sb.SequentialTest(model, contamination=0.05)
    rows = np.array_split(rng.normal(0.7, 1.0, size=300), 10)
    yield "stream", lambda: [stream.update(part) for part in rows] and stream
    yield "ksd", lambda: sb.ksd(line(), model)
    yield "targeted", lambda: sb.targeted_ksd(line(), plane(100, 1)[:, 0], model)
    fit = sb.fitting.fit_kernel_exponential_family
    yield "kef", lambda: fit(sb.datasets.load_galaxies()).coefficients.tolist()


def all_cases() -> dict[str, Callable[[], Any]]:
    parts = (crossed(), defaults(), dimensions(), edges(), others(), libraries(), sizes())
    return dict(itertools.chain(*parts))
