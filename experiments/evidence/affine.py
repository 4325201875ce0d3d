"""Columns of different units, and correlated ones: the same rates (docs/theory/affine.md)."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from experiments.evidence.keys import LEVEL_LABEL, legend_of, level_line
from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import Expectation, Finding, level
from experiments.framework.figures import Style
from experiments.framework.table import Results
from steinball.arrays import Floats
from steinball.calibration import BoundaryBootstrap, WeightedBootstrap
from steinball.gof.ksd import robust_ksd_test
from steinball.models import Gaussian, from_score

__all__ = ["EXPERIMENT", "KNOWN", "MAPS", "STRATEGIES", "sample", "trial"]

SIZE, DRAWS, SHIFT = 100, 199, 0.35
TOLERANCES = (0.0, 0.05)
CALIBRATIONS = {0.0: WeightedBootstrap(DRAWS), 0.05: BoundaryBootstrap(DRAWS, "scaled")}
"""Those of `ksd_test`, and of `robust_ksd_test`, which reads the same draws."""

STRATEGIES = {"model": "data of the model", "shifted": "the last column shifted"}

MAPS: dict[str, Floats] = {
    "1 : 1 : 1": np.eye(3),
    "1 : 10 : 100": np.diag([1.0, 10.0, 100.0]),
    "1 : 1 : 10⁴": np.diag([1.0, 1.0, 1e4]),
    "ρ = .998": np.linalg.cholesky(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.998], [0.0, 0.998, 1.0]])),
}
"""The matrices U of x = U z: standard deviations of the columns, or a correlation of the last two."""

KNOWN = {
    "covariance": Style("by the covariance of the model", "#0072B2"),
    "draws": Style("by draws of the model", "#009E73", "^"),
    "data": Style("by the scatter of the data", "#CC79A7", "D"),
    "as it is": Style("as it is", "#D55E00", "s"),
}


@cache
def model_of(kind: str, known: str) -> Any:
    """N(0, U Uᵀ), by all that is known of it, by its score and sampler, or by its score alone."""
    full = Gaussian(np.zeros(3), MAPS[kind] @ MAPS[kind].T)
    if known == "draws":
        return from_score(full.score, sample=full.sample)
    return from_score(full.score) if known == "data" else full


def sample(cell: Cell, rng: np.random.Generator) -> Floats:
    """Rows U z, with the last column of z shifted where the model is wrong."""
    z = rng.normal(size=(SIZE, 3))
    z[:, 2] += SHIFT * (cell["strategy"] == "shifted")
    return np.asarray(z @ MAPS[cell["kind"]].T)


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One sample, all that may be known of the model, both tolerances."""
    x, seed = sample(cell, rng), int(rng.integers(2**31))
    rows: list[Row] = []
    for known in KNOWN:
        start = time.perf_counter()
        options: dict[str, Any] = {"rng": seed, "check_model": False, "progress": False}
        model, standardize = model_of(cell["kind"], known), known != "as it is"
        first = robust_ksd_test(x, model, 0.0, standardize=standardize, calibration=CALIBRATIONS[0.0], **options)
        for tolerance in TOLERANCES:
            result = first.at(contamination=tolerance, calibration=CALIBRATIONS[tolerance])
            told = {"ksd": result.ksd, "tau": result.tau, "radius": result.radius}
            told |= {"seconds": time.perf_counter() - start, "rejected": int(result.rejected)}
            rows.append({"test": known, "tolerance": tolerance, **told, **cell})
    return rows


def rate(results: Results, **where: Any) -> float:
    """The share of rejections of one cell."""
    return float(results.rates.one(**where).rate)


def draw(results: Results, figure: Any) -> None:
    """Left the level, right the power, one dot for each map and tolerance."""
    panels = figure.subplots(1, 2)
    for ax, (strategy, title) in zip(panels, STRATEGIES.items(), strict=True):
        for shift, (known, style) in zip(np.linspace(-0.24, 0.24, len(KNOWN)), KNOWN.items(), strict=True):
            for tolerance, filled in zip(TOLERANCES, (True, False), strict=True):
                y = [rate(results, test=known, strategy=strategy, kind=kind, tolerance=tolerance) for kind in MAPS]
                look = {"edgecolor": style.color, "facecolor": style.color if filled else "none", "s": 24}
                label = rf"{style.label}, $\varepsilon_0 = {tolerance:g}$"
                ax.scatter(shift + np.arange(len(MAPS)), y, label=label, marker=style.marker, **look)
        ax.set_xticks(range(len(MAPS)), list(MAPS))
        ax.set(ylabel="rejection rate", title=title, ylim=(0.0, 0.11) if strategy == "model" else (0.0, 1.03))
        level_line(ax)
    legend_of(figure, panels[1], LEVEL_LABEL, loc="outside lower center", ncols=3)


def table(results: Results) -> str:
    """Every rate."""
    kinds = [(strategy, tolerance) for strategy in STRATEGIES for tolerance in TOLERANCES]
    head = ["columns", "L", *(f"{strategy}, ε₀ = {tolerance:g}" for strategy, tolerance in kinds)]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for kind in MAPS:
        for known, style in KNOWN.items():
            cells = (f"{rate(results, test=known, kind=kind, strategy=s, tolerance=t):.3f}" for s, t in kinds)
            lines.append(f"| {kind} | {style.label} | {' | '.join(cells)} |")
    return "Rejections:\n\n" + "\n".join(lines)


def _equal(results: Results) -> Iterator[Finding]:
    """Each rate beside that of round data, within three standard errors of their difference."""
    first, *others = MAPS
    for known in KNOWN:
        for strategy in STRATEGIES if known != "as it is" else ():
            for tolerance in TOLERANCES:
                where = {"test": known, "strategy": strategy, "tolerance": tolerance}
                usual = results.rates.one(kind=first, **where)
                for kind in others:
                    found = rate(results, kind=kind, **where)
                    share = (usual.rate + found) / 2.0
                    band = 3.0 * math.sqrt(2.0 * max(share * (1.0 - share), 0.01) / usual.repeats)
                    label = f"{kind}, {KNOWN[known].label}, {strategy}, ε₀={tolerance:g}"
                    yield Finding(label, f"{usual.rate:.3f} ± {band:.3f}", found, abs(found - usual.rate) <= band)


EXPERIMENT = Experiment(
    name="affine",
    title="units and correlations of columns",
    reference="docs/theory/affine.md",
    setup=(
        f"n = {SIZE}, d = 3, x = U z with z normal; kernel, tilt and τ are the defaults of `robust_ksd_test`; {DRAWS} "
        f"draws, read by the weighted bootstrap at ε₀ = 0 and by the boundary bootstrap, scaled, with a tolerance; "
        f"shifted: the last column of z by {SHIFT:g}"
    ),
    says=(
        "Standard deviations of the columns as 1 : 1 : 1, 1 : 10 : 100 and 1 : 1 : 10⁴, and two columns of correlation "
        ".998. In standardized coordinates the rates are those of round data, whether the model knows its covariance, "
        "can only be drawn from, or is a bare score. As it is, the widest column sets the length scale and the "
        "narrowest one the weight: a wrong wide column is not seen."
    ),
    grid=tuple({"kind": kind, "strategy": strategy} for kind in MAPS for strategy in STRATEGIES),
    trial=trial,
    repeats=400,
    expectations=(
        level("data of the model are rejected no more than they may", strategy="model",
              axes={"kind": list(MAPS), "test": list(KNOWN), "tolerance": TOLERANCES}),
        Expectation("units and correlations change no rate", _equal),
    ),
    differences=(
        "A first run read ε₀ = 0 by the boundary bootstrap, scaled. Its cell 1 : 1 : 10⁴ was looked at again with more "
        "repeats and missed the level in three of four readings. The calibration was changed to that of `ksd_test` "
        "after this was seen, and the cell was not looked at again. So at n = 100 and ε₀ = 0 the level is rather .06 "
        "than .05, as it is no less than in standardized coordinates: these are not the reason. The shift was .6 in a "
        "run before that, where every rate was near 1."
    ),
    draw=draw,
    extra=table,
    size=(9.0, 4.6),
    again=1600,
)  # fmt: skip
