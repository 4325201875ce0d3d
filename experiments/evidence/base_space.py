"""Ten distributions of SciPy, tested as they are and in base space (docs/edges.md)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from scipy import stats

from experiments.evidence.keys import LEVEL_LABEL, legend_of, level_line
from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import Expectation, Finding, above, level
from experiments.framework.figures import Style
from experiments.framework.table import Results
from steinball.calibration import BoundaryBootstrap
from steinball.gof.ksd import robust_ksd_test
from steinball.models import as_model, in_base_space

SIZE, DRAWS = 200, 299
TOLERANCES = (0.0, 0.05)
FAR = 1e-6
"""How far out contamination lies: at the quantile 1 − FAR of the model."""

EDGES = ("expon", "uniform", "halfnorm", "gamma", "weibull_min", "lognorm")
LUMP = 0.15
"""A share of the data in the middle of the model, where it does not stand out."""

MODELS: dict[str, tuple[Any, Any]] = {
    "expon": (stats.expon(), stats.expon(scale=1.4)),
    "uniform": (stats.uniform(), stats.beta(1.35, 1.0)),
    "halfnorm": (stats.halfnorm(), stats.halfnorm(scale=1.3)),
    "gamma": (stats.gamma(1.5), stats.gamma(1.9)),
    "weibull_min": (stats.weibull_min(0.7), stats.weibull_min(0.9)),
    "lognorm": (stats.lognorm(1.0), stats.lognorm(1.4)),
    "t": (stats.t(5.0), stats.t(5.0, 0.3)),
    "logistic": (stats.logistic(), stats.logistic(0.5)),
    "gumbel_r": (stats.gumbel_r(), stats.gumbel_r(0.35)),
    "skewnorm": (stats.skewnorm(4.0), stats.skewnorm(1.0)),
}
"""What is tested, and where the data come from when the model is wrong."""

STRATEGIES = ("own", "contaminated", "wrong", "lump")
SPACES = {"as it is": Style("as it is (edge tilt)", "#0072B2"), "base space": Style("base space", "#D55E00", "s")}


@cache
def model_of(name: str, space: str) -> Any:
    """The model in one of the two spaces."""
    return as_model(MODELS[name][0]) if space == "as it is" else in_base_space(MODELS[name][0])


def sample(cell: Cell, rng: np.random.Generator) -> Any:
    """Data of the model, with 5 % far out or 15 % at its median, or of the other distribution."""
    model, other = MODELS[cell["kind"]]
    x = (other if cell["strategy"] == "wrong" else model).rvs(size=SIZE, random_state=rng)
    if cell["strategy"] == "contaminated":
        x[rng.uniform(size=SIZE) < TOLERANCES[1]] = model.ppf(1.0 - FAR)
    if cell["strategy"] == "lump":
        x[rng.uniform(size=SIZE) < LUMP] = model.median()
    return x


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One sample, both spaces, both tolerances."""
    x, seed = sample(cell, rng), int(rng.integers(2**31))
    rows: list[Row] = []
    for space in SPACES:
        start = time.perf_counter()
        model = model_of(cell["kind"], space)
        calibration = BoundaryBootstrap(DRAWS)
        first = robust_ksd_test(x, model, 0.0, calibration=calibration, rng=seed, standardize=False, progress=False)
        seconds = time.perf_counter() - start
        for tolerance in TOLERANCES:
            result = first.at(contamination=tolerance)
            told = {"ksd": result.ksd, "tau": result.tau, "radius": result.radius, "seconds": seconds}
            rows.append({"test": space, "tolerance": tolerance, "rejected": int(result.rejected), **told, **cell})
    return rows


def rate(results: Results, **where: Any) -> float:
    """The share of rejections of one cell."""
    return float(results.rates.one(**where).rate)


def draw(results: Results, figure: Any) -> None:
    """Left the level, right the power, one dot for each distribution and tolerance."""
    panels = figure.subplots(1, 2)
    for ax, kind in zip(panels, ("own", "wrong"), strict=True):
        for shift, (space, style) in zip((-0.13, 0.13), SPACES.items(), strict=True):
            for tolerance, filled in zip(TOLERANCES, (True, False), strict=True):
                y = [rate(results, test=space, strategy=kind, kind=name, tolerance=tolerance) for name in MODELS]
                face = style.color if filled else "none"
                look = {"edgecolor": style.color, "facecolor": face, "marker": style.marker, "s": 24}
                label = rf"{style.label}, $\varepsilon_0 = {tolerance:g}$"
                ax.scatter(shift + np.arange(len(MODELS)), y, label=label, **look)
        ax.set_xticks(range(len(MODELS)), list(MODELS), rotation=60)
        ax.set(ylabel="rejection rate", title={"own": "data of the model", "wrong": "a wrong parameter"}[kind])
    level_line(panels[0])
    panels[0].set_ylim(-0.004, 0.11)
    panels[1].set_ylim(0.0, 1.03)
    level_line(panels[1])
    legend_of(figure, panels[1], LEVEL_LABEL, loc="outside lower center", ncols=5)


def table(results: Results) -> str:
    """Every rate."""
    kinds = (("own", 0.0), ("own", 0.05), ("contaminated", 0.05), ("wrong", 0.0), ("wrong", 0.05), ("lump", 0.05))
    head = ["distribution", *(f"{kind}, ε₀ = {tolerance:g}" for kind, tolerance in kinds)]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for name in MODELS:
        cells = (
            " / ".join(f"{rate(results, test=s, kind=name, strategy=kind, tolerance=t):.3f}" for s in SPACES)
            for kind, t in kinds
        )
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "Rejections, as it is / in base space:\n\n" + "\n".join(lines)


def _power(results: Results) -> Iterator[Finding]:
    for kind, tolerance, least in (("wrong", 0.0, -0.1), ("wrong", 0.05, 0.05), ("lump", 0.05, 0.1)):
        means = [
            float(np.mean([rate(results, test=s, kind=m, strategy=kind, tolerance=tolerance) for m in EDGES]))
            for s in SPACES
        ]
        gain = means[1] - means[0]
        label = f"mean power in base space less that as it is, {kind}, ε₀={tolerance:g}, with an edge"
        yield Finding(label, f"≥ {least:g}", gain, gain >= least)


_ALL = {"kind": list(MODELS), "test": list(SPACES)}

EXPERIMENT = Experiment(
    name="base-space",
    title="ten distributions of SciPy, as they are and in base space",
    reference="docs/edges.md",
    setup=(
        f"n = {SIZE}; kernel, tilt and τ are the defaults of `robust_ksd_test`; {DRAWS} draws of the boundary bootstrap"
    ),
    says=(
        "A distribution of SciPy is tested with its own score and, where its support ends, a weight that vanishes "
        "there; or its data are mapped by Φ⁻¹∘F and N(0, 1) is tested. Data of the model, without "
        "contamination and with 5 % at its quantile 1 − 10⁻⁶; data of another distribution on the same support "
        "(wrong); and data of the model of which 15 % are put at its median (lump). Both keep the level. Without a "
        "tolerance neither is better throughout; with one, base space has more power where the support ends, so that "
        "it is the default there."
    ),
    grid=tuple({"kind": name, "strategy": kind} for name in MODELS for kind in STRATEGIES),
    trial=trial,
    repeats=400,
    expectations=(
        level("data of the model are rejected no more than they may", strategy="own",
              axes={**_ALL, "tolerance": TOLERANCES}),
        level("nor with as much contamination as is tolerated", strategy="contaminated", tolerance=0.05,
              axes=_ALL),
        above("a wrong parameter is rejected", 0.5, strategy="wrong", tolerance=0.0, axes=_ALL),
        Expectation("with a tolerance base space has more power, on average", _power),
    ),
    draw=draw,
    extra=table,
    size=(9.0, 4.6),
    again=1600,
)  # fmt: skip
