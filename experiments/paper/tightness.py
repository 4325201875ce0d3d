"""The radius ε₀√τ∞ is tight: contamination where u(x, x) is largest reaches it (paper, Proposition 5)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import Expectation, Finding, above, level, theorem
from experiments.framework.figures import Series, Style, key, mark, nest, rate_panel, shades, value_panel
from experiments.framework.rows import bandwidth_kernel, robust_rows, tilted_result
from experiments.framework.table import Curve, Rate, Results
from experiments.paper.data import gaussian_cell, point_mass
from experiments.paper.weights import stein_diagonal
from steinball.models import Gaussian

SHARES = (0.1, 0.2, 0.4)
WORST = 1.10896
"""Where u(x, x) is largest, for λ² = 1 and b = ½."""
OUTLIERS = (0, 0.25, 0.5, WORST, 2, 3, 10, 100)
FACTORS = (0.5, 0.75, 1.0)
"""Tolerances as multiples of the contamination."""


@cache
def supremum() -> float:
    """τ∞ = max u(x, x)."""
    found = minimize_scalar(lambda x: -float(stein_diagonal(0.5, x)[0]), bounds=(0.5, 2.0), options={"xatol": 1e-10})
    return float(-found.fun) * (1.0 + 1e-12)


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One sample with a share ε at z, R-KSD at tolerances ε/2, ¾ε and ε."""
    model = Gaussian()
    x = point_mass(model, cell, rng)
    result, seconds = tilted_result(x, model, rng, bandwidth_kernel(1.0), tau=supremum())
    shares = [round(factor * cell["contamination"], 6) for factor in FACTORS]
    moved = [(share, result.at(contamination=share)) for share in shares]
    return [row for e0, here in moved for row in robust_rows(here, seconds, cell, exponent=0.5, tolerance=e0)]


def curves(variant: str) -> list[Curve]:
    """√(u(z, z)/τ∞): how much of the radius contamination at z uses."""
    z = np.concatenate([np.linspace(0.02, 2.0, 100), np.geomspace(2.0, 100.0, 60)])
    return [Curve("share", "exact", z, value=np.sqrt(stein_diagonal(0.5, z) / supremum()))]


def used(row: Rate) -> tuple[float, float]:
    """The unbiased D over ε√τ∞: the V-statistic less what n points add of themselves (E u(X, X)/n)."""
    n, share = row.number("n"), row.number("contamination")
    own = float(stein_diagonal(0.5, row.number("outlier"))[0]) * share + model_mean() * (1.0 - share)
    squared = max(0.0, row.ksd**2 + row.ksd_sd**2 - own / n) * n / (n - 1)
    scale = share * row.tau**0.5
    return squared**0.5 / scale, 1.96 * row.ksd_sd / row.repeats**0.5 / scale


@cache
def model_mean() -> float:
    """E u(X, X) under N(0, 1), by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    return float(weights @ stein_diagonal(0.5, nodes) / weights.sum())


def draw(results: Results, figure: Any) -> None:
    """Left the share of the radius that is used, right rejection at tolerances below ε."""
    left, right = figure.subplots(1, 2)
    both = results.rates.select(variant="published")
    rates = both.select(test="r-ksd")
    curve = results.panel("share")["exact"]
    left.plot(
        curve.x, curve.value, color="black", linestyle="--", linewidth=1.0, label=r"$\sqrt{u_p(z, z)/\tau_\infty}$"
    )
    styles = shades([format(share, "g") for share in SHARES], r"$\varepsilon = {}$")
    lines = [Series(rates.select(contamination=s, tolerance=s), style) for s, style in styles.items()]
    value_panel(
        left, "outlier", lines, used, xlabel="contamination at z", ylabel=r"$D\,/\,(\varepsilon\sqrt{\tau_\infty})$"
    )
    mark(left, WORST)
    left.set(xscale="symlog", title="what contamination at z uses of the radius", xlim=(0, 130))
    _plain_ticks(left)
    key(left, r"largest $u_p(z, z)$", loc="lower right", bbox_to_anchor=(1.0, 0.0))
    share = SHARES[-1]
    beyond = [
        Series(rates.select(contamination=share, tolerance=round(factor * share, 6)), style)
        for factor, style in zip(FACTORS, _factor_styles().values(), strict=True)
    ]
    rate_panel(right, "outlier", beyond, xlabel="contamination at z", title=rf"R-KSD, $\varepsilon = {share:g}$")
    right.set(xscale="symlog", xlim=(0, 130))
    _plain_ticks(right)
    nest(right)
    mark(right, WORST)
    key(right, r"largest $u_p(z, z)$")


def _factor_styles() -> dict[str, Style]:
    """Tolerances in words of ε: ½ε, ¾ε, ε."""
    return shades([r"\varepsilon/2", r"3\varepsilon/4", r"\varepsilon"], r"$\varepsilon_0 = {}$")


def _plain_ticks(ax: Any) -> None:
    ax.set_xticks([0, 1, 10, 100], ["0", "1", "10", "100"])


def _tight(results: Results) -> Iterator[Finding]:
    for share in SHARES:
        rates = results.rates.select(test="r-ksd", contamination=share, tolerance=share)
        rows = {z: used(rates.one(outlier=z)) for z in OUTLIERS}
        worst, error = rows[WORST]
        yield Finding(f"D / (ε√τ∞) at z={WORST}, ε={share:g}", "1 ± .03", worst, abs(worst - 1.0) <= 0.03)
        largest = max(value for value, _ in rows.values())
        yield Finding(f"largest D / (ε√τ∞) over z, ε={share:g}", "≤ 1 + 3 s.e.", largest, largest <= 1.0 + 1.53 * error)


EXPERIMENT = Experiment(
    name="tightness",
    title="the radius is as small as it can be",
    reference="Proposition 5",
    setup="tilted IMQ kernel with λ² = 1 (length scale² = 2), 500 draws, exact τ∞",
    says=(
        "All distributions with a share ε₀ of contamination lie within θ = ε₀√τ∞ of the model, and no smaller "
        "radius holds them: contamination at the maximum of u(x, x) reaches it."
    ),
    grid=tuple(gaussian_cell(contamination=share, outlier=z, bandwidth=1) for share in SHARES for z in OUTLIERS),
    trial=trial,
    repeats=100,
    expectations=(
        theorem(Expectation("contamination at the maximum reaches the radius, and none exceeds it", _tight)),
        *(
            level(
                "R-KSD keeps the level at ε = ε₀ for every z",
                test="r-ksd",
                contamination=share,
                tolerance=share,
                axes={"outlier": OUTLIERS},
            )
            for share in SHARES
        ),
        above(
            "a radius a quarter smaller does not",
            0.5,
            test="r-ksd",
            contamination=0.4,
            tolerance=0.3,
            axes={"outlier": (WORST,)},
        ),
    ),
    draw=draw,
    curves=curves,
    size=(9.4, 3.3),
    differences=(
        "Not a figure of the paper but its Proposition 5. τ∞ is the exact maximum here, not that of the sample."
    ),
)
