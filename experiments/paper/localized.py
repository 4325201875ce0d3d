"""Outliers that are known to be bounded: τ over |x| ≤ B, with a tilt and without one (§4.2, §6)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

import steinball as sb
from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import Expectation, Finding, above, below, level, theorem
from experiments.framework.figures import Series, Style, mark, rate_panel
from experiments.framework.rows import PAPER, TOLERANCE, bandwidth_kernel
from experiments.framework.table import Curve, Results
from experiments.paper.data import gaussian_cell, point_mass
from experiments.paper.draws import drawn
from experiments.paper.lines import widened
from experiments.paper.tightness import supremum
from experiments.paper.weights import stein_diagonal
from steinball.models import Gaussian
from steinball.problem import pose
from steinball.tau.supremum import find_supremum
from steinball.tilts import PolynomialTilt

BOUNDS = (0.5, 3)
"""B; outliers that keep to it lie at z = B."""
SHARES = (0, 0.05, 0.1, 0.15, 0.2, 0.3)
BEYOND = 10
GLOBAL, LOCAL = "global", "localized"
WITHIN, OUTSIDE = "within B", "beyond B = 3"

_STYLES = {
    (0.5, GLOBAL): Style(r"R-KSD, tilted, $\tau_\infty$", "#0072B2", "o"),
    (0.5, LOCAL): Style(r"R-KSD, tilted, $\tau_B$", "#009E73", "s", "--"),
    (0.0, LOCAL): Style(r"R-KSD, untilted, $\tau_B$", "#D55E00", "^"),
}


@cache
def localized(exponent: float, bound: float) -> float:
    """The largest u(x, x) over |x| ≤ B, as ``tau=sb.tau.Ball(B)`` finds it."""
    tilt = PolynomialTilt(exponent) if exponent else None
    problem = pose(np.linspace(-0.1, 0.1, 5), Gaussian(), bandwidth_kernel(1.0), tilt)
    return float(find_supremum(sb.tau.Ball(bound), problem).value)


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One sample with outliers at z; R-KSD with the global and the localized radius."""
    model, kernel = Gaussian(), bandwidth_kernel(1.0)
    x = point_mass(model, cell, rng)
    bound = 3 if cell["kind"] == OUTSIDE else cell["outlier"]
    rows = []
    for exponent in (0.5, 0.0):
        found = drawn(x, model, rng, kernel, PolynomialTilt(exponent) if exponent else None)
        radii = {LOCAL: localized(exponent, bound), **({GLOBAL: supremum()} if exponent else {})}
        for strategy, tau in radii.items():
            rows.append(found.robust(cell, TOLERANCE, tau, exponent=exponent, strategy=strategy))
    return rows


def curves(variant: str) -> list[Curve]:
    """√τ over |x| ≤ B, which the radius is a share of."""
    x = np.linspace(0.0, 4.0, 201)
    largest = {b: np.sqrt(np.maximum.accumulate(stein_diagonal(b, x))) for b in (0.5, 0.0)}
    whole = np.full_like(x, supremum() ** 0.5)
    return [Curve("radius", "tilted", x, value=largest[0.5]), Curve("radius", "untilted", x, value=largest[0.0]),
            Curve("radius", "whole", x, value=whole)]  # fmt: skip


def draw(results: Results, figure: Any) -> None:
    """The radius against B; rejection for outliers at B; what happens beyond it."""
    first, *panels = figure.subplots(1, 4)
    drawn_as = {"whole": (0.5, GLOBAL), "tilted": (0.5, LOCAL), "untilted": (0.0, LOCAL)}
    for series, key in drawn_as.items():
        curve, style = results.panel("radius")[series], _STYLES[key]
        first.plot(curve.x, curve.value, color=style.color, linestyle=style.line, label=style.label)
    first.set(xlabel="bound B of the outliers", ylabel=r"$\theta / \varepsilon_0 = \sqrt{\tau}$", title="radius")
    rates = results.rates.select(variant="published", test=PAPER)
    shown = [(WITHIN, z, f"outliers at z = B = {z:g}") for z in BOUNDS] + [(OUTSIDE, BEYOND, "outliers at 10, B = 3")]
    for ax, (kind, z, title) in zip(panels, shown, strict=True):
        here = rates.select(kind=kind, outlier=z)
        lines = [Series(here.select(exponent=b, strategy=s), style) for (b, s), style in _STYLES.items()]
        rate_panel(ax, "contamination", lines, xlabel=r"contamination $\varepsilon$", title=title)
        mark(ax, TOLERANCE)
    for ax in panels[1:]:
        ax.set_ylabel("")
    for ax in (first, *panels):
        widened(ax, _STYLES[0.5, GLOBAL].color)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)


def _radii(results: Results) -> Iterator[Finding]:
    rates = results.rates.select(test=PAPER, kind=WITHIN, contamination=0)
    for bound in BOUNDS:
        row = rates.one(outlier=bound, exponent=0.0, strategy=LOCAL)
        expected = bound**2 + 0.5  # x² − 2φ′(0) with length scale² = 2
        holds = abs(row.tau - expected) < 1e-6
        yield Finding(f"untilted τ at B={bound:g}", f"B² + ½ = {expected:g} ± 1e-6", row.tau, holds)
    row = rates.one(outlier=3, exponent=0.5, strategy=LOCAL)
    yield Finding("tilted τ at B=3", f"τ∞ = {supremum():.6g} ± 1e-6", row.tau, abs(row.tau - supremum()) < 1e-6)


EXPERIMENT = Experiment(
    name="localized",
    title="outliers that are known to be bounded",
    reference="§4.2, remark after Proposition 5; §6",
    says=(
        "Where contamination is known to lie in |x| ≤ B, τ∞ may be replaced by the maximum of u(x, x) over that ball, "
        "and the ball holds all contamination of interest even where u is unbounded; the paper asks whether an "
        "untilted kernel is then more powerful. Localizing pays where u is largest outside of the ball: for N(0, 1) "
        "and the tilted kernel that is B < 1.109. Without a tilt τ = B² + ½ grows with B."
    ),
    setup="IMQ with λ² = 1 (length scale² = 2), tilted and untilted, 500 draws, ε₀ = .05",
    grid=(
        *(gaussian_cell(kind=WITHIN, outlier=z, contamination=share, bandwidth=1) for z in BOUNDS for share in SHARES),
        *(gaussian_cell(kind=OUTSIDE, outlier=BEYOND, contamination=share, bandwidth=1) for share in SHARES),
    ),
    trial=trial,
    repeats=100,
    expectations=(
        theorem(Expectation("τ over the ball", _radii)),
        *(
            level(
                "R-KSD keeps the level up to ε₀ where outliers keep to B",
                test=PAPER,
                kind=WITHIN,
                exponent=b,
                strategy=strategy,
                axes={"outlier": BOUNDS, "contamination": SHARES[:2]},
            )
            for b, strategy in _STYLES
        ),
        below(
            "outliers at B = 3, ε = .1: the tilted test sees few of them",
            0.3,
            test=PAPER,
            kind=WITHIN,
            outlier=3,
            exponent=0.5,
            contamination=0.1,
            axes={"strategy": (GLOBAL, LOCAL)},
        ),
        above(
            "and the untilted one nearly all: an unbounded u is more powerful where outliers are bounded",
            test=PAPER,
            kind=WITHIN,
            outlier=3,
            exponent=0.0,
            strategy=LOCAL,
            axes={"contamination": SHARES[2:]},
        ),
        level(
            "outliers at 10 do not keep to B = 3: the tilted test does not mind",
            test=PAPER,
            kind=OUTSIDE,
            exponent=0.5,
            contamination=0.05,
            axes={"strategy": (GLOBAL, LOCAL)},
        ),
        above(
            "and the untilted one loses the level",
            test=PAPER,
            kind=OUTSIDE,
            exponent=0.0,
            strategy=LOCAL,
            axes={"contamination": (0.05,)},
        ),
    ),
    draw=draw,
    curves=curves,
    size=(12.5, 3.5),
    differences=(
        "A smaller radius rejects no less from the same draws, so that localizing never costs power; at B = ½, where θ "
        "falls by 13 %, it gains little ({rate: test=r-ksd, kind=within B, contamination=0.1, outlier=0.5, "
        "exponent=0.5, strategy=localized} for {rate: test=r-ksd, kind=within B, contamination=0.1, outlier=0.5, "
        "exponent=0.5, strategy=global} at ε = .1). The paper's question whether an unbounded Stein kernel can be more "
        "powerful where outliers are bounded: yes at B = 3 ({rate: test=r-ksd, kind=within B, contamination=0.1, "
        "outlier=3, exponent=0} for {rate: test=r-ksd, kind=within B, contamination=0.1, outlier=3, exponent=0.5, "
        "strategy=global} at ε = .1), no at B = ½ ({rate: test=r-ksd, kind=within B, contamination=0.15, outlier=0.5, "
        "exponent=0} for {rate: test=r-ksd, kind=within B, contamination=0.15, outlier=0.5, exponent=0.5, "
        "strategy=global} at ε = .15), where outliers lie among the data and have small scores. Beyond B nothing is "
        "promised, and without a tilt nothing is kept. τ over the ball is that of `tau=sb.tau.Ball(B)`."
    ),
)
