"""Every radius against an optimizer that looks for the farthest member of its set (docs/theory/radii.md)."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from experiments.evidence.adversaries import RESPONSES, Grid, farthest
from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import Expectation, Finding, below, theorem
from experiments.framework.figures import Series, shades, value_panel
from experiments.framework.table import Rate, Results
from steinball.kernels.radial import InverseMultiquadric
from steinball.models import Gaussian
from steinball.radius import (
    ChiSquared,
    DensityBand,
    Hellinger,
    Huber,
    KullbackLeibler,
    Radius,
    TotalVariation,
    Wasserstein,
)
from steinball.tau.certificate import Supremum
from steinball.tilts import PolynomialTilt

RADII: dict[str, Any] = {
    "huber": Huber,
    "total variation": TotalVariation,
    "density band": DensityBand,
    "hellinger": Hellinger,
    "kullback-leibler": KullbackLeibler,
    "chi-squared": ChiSquared,
    "wasserstein": Wasserstein,
}
_LABELS = {
    "huber": "Huber", "total variation": "total variation", "density band": "density band", "hellinger": "Hellinger",
    "kullback-leibler": "Kullback–Leibler", "chi-squared": r"$\chi^2$", "wasserstein": "Wasserstein",
}  # fmt: skip
SIZES = (0.01, 0.03, 0.1, 0.3)
DIMENSIONS = (1, 2)
LEAST = {1: 0.6, 2: 0.4}
"""What share of its radius the optimizer reaches at the two smallest sizes, at least."""
_AXIS = {1: (8.0, 321), 2: (4.5, 25)}
SUPREMUM = 1.3813809881135617
"""max u(x, x) for N(0, I), ℓ² = 2d, exponent ½: 1 + 1.5v − v² − v³ at v = (√5.5 − 1)/3, in every dimension; rounded
up."""


@cache
def grid(dimension: int) -> Grid:
    """The standard Gaussian on a grid, with the kernel at ℓ² = 2d."""
    reach, per_axis = _AXIS[dimension]
    kernel = InverseMultiquadric(math.sqrt(2.0 * dimension))
    model = Gaussian(dimension=dimension)
    return Grid.of(model, kernel, PolynomialTilt(), reach=reach, per_axis=per_axis, dimension=dimension)


@cache
def theta(kind: str, size: float, dimension: int) -> float:
    """The radius, with the exact supremum."""
    radius: Radius = RADII[kind](size)
    return radius(grid(dimension).problem, Supremum(SUPREMUM, "closed form"))


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One search from random directions; ``rejected`` where it leaves the ball, of the radius or of half of it."""
    kind, size, dimension = cell["kind"], cell["tolerance"], cell["dimension"]
    radius, here, start = theta(kind, size, dimension), grid(dimension), time.perf_counter()
    found = farthest(here, RESPONSES[kind], size, rng)
    measured = {"ksd": found, "tau": SUPREMUM, "seconds": time.perf_counter() - start, **cell}
    return [
        {"test": test, "rejected": int(found > share * radius + here.slack), "radius": share * radius, **measured}
        for test, share in (("radius", 1.0), ("half", 0.5))
    ]


def used(row: Rate) -> tuple[float, float]:
    """The share of the radius that was reached, and its spread over searches."""
    return row.ksd / row.radius, row.ksd_sd / row.radius


def draw(results: Results, figure: Any) -> None:
    """One panel per dimension: D/θ against the size of the set."""
    panels = figure.subplots(1, len(DIMENSIONS), sharey=True)
    rates = results.rates.select(variant="published", test="radius")
    for ax, dimension in zip(panels, DIMENSIONS, strict=True):
        styles = {kind: replace(style, label=_LABELS[kind]) for kind, style in shades(list(RADII)).items()}
        styles["kullback-leibler"] = replace(styles["kullback-leibler"], line="--")  # on the line of Hellinger's sets
        lines = [Series(rates.select(kind=kind, dimension=dimension), style) for kind, style in styles.items()]
        value_panel(ax, "tolerance", lines, used, xlabel="size of the set", ylabel=r"farthest member, $D/\theta$")
        ax.axhline(1.0, color="black", linestyle="-.", linewidth=0.9, label=r"the radius $\theta$")
        ax.set(xscale="log", ylim=(0.0, 1.08), title=f"$d = {dimension}$")
        ax.set_xticks(SIZES, [format(size, "g") for size in SIZES])
        ax.minorticks_off()
    panels[1].set_ylabel("")
    panels[1].legend(loc="lower left", ncols=2)


def _tight(results: Results) -> Iterator[Finding]:
    for dimension in DIMENSIONS:
        for kind in RADII:
            for size in SIZES[:2]:
                where = {"kind": kind, "dimension": dimension, "tolerance": size}
                share = used(results.rates.one(test="radius", **where))[0]
                label = f"D/θ of {kind}, size {size:g}, d={dimension}"
                yield Finding(label, f"≥ {LEAST[dimension]:g}", share, share >= LEAST[dimension])


def _broken(results: Results) -> Iterator[Finding]:
    for kind in RADII:
        row = results.rates.one(test="half", kind=kind, dimension=1, tolerance=SIZES[0])
        yield Finding(f"searches that leave half the ball of {kind}, d=1", "all", row.rate, row.rate == 1.0)


_EVERYWHERE = {"kind": list(RADII), "dimension": DIMENSIONS, "tolerance": SIZES}

EXPERIMENT = Experiment(
    name="radius-adversaries",
    title="radii against an optimizer",
    reference="docs/theory/radii.md",
    setup="inverse multiquadric with ℓ² = 2d, weight (1+|x|²)^(−½), τ in closed form; 8 random directions a search",
    says=(
        "Each radius promises that every distribution of a stated set lies within θ of the model. Here an optimizer "
        "looks for the member of the set that is farthest away, on a grid of 321 points on the line and of 25 × 25 in"
        " the plane: conditional gradients from random directions, each step exact. None leaves the ball, and how "
        "close they come says how little could be gained. The sets of total variation and of Wasserstein use nearly "
        "all of their radius; a χ² set misses it by what is added for the Monte Carlo error of ‖C_P‖; the density "
        "band is one fixed shape here, and the worst one would be a total variation."
    ),
    grid=tuple(
        {"kind": kind, "tolerance": size, "dimension": dimension}
        for dimension in DIMENSIONS
        for kind in RADII
        for size in SIZES
    ),
    trial=trial,
    repeats=5,
    expectations=(
        theorem(below("no member of a set leaves its ball", 0.0, test="radius", axes=_EVERYWHERE)),
        Expectation("the radii are not much larger than they must be", _tight),
        Expectation("half of each radius is too small, and the optimizer says so", _broken),
    ),
    draw=draw,
    size=(9.0, 3.6),
    differences=(
        "Masses are rounded to a grid, whose own D from the model is 3·10⁻⁹ (d = 1) and 2·10⁻⁶ (d = 2); a member "
        "counts as outside beyond that."
    ),
)
