"""How fast the weight decays: the Stein kernel, and the power of the standard test (paper §5.1, first figure)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import agree, below, number, published
from experiments.framework.figures import Series, draw_curves, key, nest, rate_panel, shades
from experiments.framework.rows import bandwidth_kernel, result_row, standard_row, tilted_result
from experiments.framework.table import Curve, Results
from experiments.paper.data import gaussian_cell, point_mass
from steinball.models import Gaussian
from steinball.stein import SteinKernel
from steinball.tilts import PolynomialTilt

SHARES = (0, 0.01, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.3, 0.4, 0.5)
EXPONENTS = (0.0, 0.25, 0.5, 1.0)


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One sample, the standard test with each weight."""
    model = Gaussian()
    x = point_mass(model, cell, rng)
    rows = [standard_row(x, model, rng, cell)]
    for exponent in EXPONENTS[1:]:
        result, seconds = tilted_result(x, model, rng, exponent=exponent)
        rows.append(result_row("tilted-ksd", result, seconds, cell, exponent=exponent))
    return rows


def stein_diagonal(exponent: float, x: Any, variant: str = "published") -> Any:
    """u(x, x) for N(0, 1), λ² = 1 and the weight (1 + x²)^(−b)."""
    kernel = bandwidth_kernel(1.0, variant)
    assert kernel is not None
    points = np.asarray(x, dtype=float).reshape(-1, 1)
    return SteinKernel(kernel, PolynomialTilt(exponent) if exponent else None).diagonal(points, -points)


def curves(variant: str) -> list[Curve]:
    """u(x, x) on [−3, 3], and finely around its maximum."""
    x, near = np.linspace(-3.0, 3.0, 241), np.linspace(1.0, 1.2, 201)
    lines = [Curve("stein", format(b, "g"), x, value=stein_diagonal(b, x)) for b in EXPONENTS]
    return [*lines, Curve("maximum", "0.5", near, value=stein_diagonal(0.5, near))]


def _at_three(exponent: str) -> Callable[[Results], float]:
    return lambda results: float(results.panel("stein")[exponent].value[-1])  # type: ignore[index]


def _maximum(results: Results) -> Any:
    curve = results.panel("maximum")["0.5"]
    assert curve.value is not None
    return curve.x[int(np.argmax(curve.value))], float(np.max(curve.value))


def draw(results: Results, figure: Any) -> None:
    """Left the Stein kernel, right rejection against ε."""
    left, right = figure.subplots(1, 2)
    styles = shades([format(b, "g") for b in EXPONENTS], "$b = {}$")
    draw_curves(left, results.panel("stein"), styles)
    left.set(xlabel="$x$", ylabel="$u_p(x, x)$", title="Stein kernel")
    rates = results.rates.select(variant="published")
    lines = [Series(rates.select(exponent=b), style) for b, style in styles.items()]
    rate_panel(right, "contamination", lines, xlabel="contamination ε", title="standard test, outlier $z = 10$")
    nest(right)
    key(right)


EXPERIMENT = Experiment(
    name="weights",
    title="how fast the weight decays",
    reference="§5.1.1",
    figure="Figure 1",
    setup=(
        "IMQ kernel at the median distance, weight (1+x²)^(−b), 1,000 draws for b = 0 and 500 for the others; left "
        "panel λ² = 1"
    ),
    says=(
        "The faster the weight (1+x²)^(−b) falls, the smaller the Stein kernel far out, and the less the standard "
        "test sees of outliers at z = 10. The exponent b = ½ is the smallest that keeps u(x, x) bounded for a "
        "Gaussian model."
    ),
    grid=tuple(gaussian_cell(contamination=share) for share in SHARES),
    trial=trial,
    repeats=200,
    expectations=(
        *(
            number("u(3, 3) for b = 0, ¼, ½, 1", f"u(3, 3) at b={b}", value, _at_three(b), 5e-4)
            for b, value in (("0", 9.5), ("0.25", 3.296), ("0.5", 1.139), ("1", 0.135))
        ),
        number("the maximum for b = ½", "max of u(x, x) at b=0.5", 1.38138, lambda r: _maximum(r)[1], 5e-6),
        number("the maximum for b = ½", "argmax of u(x, x) at b=0.5", 1.109, lambda r: _maximum(r)[0], 1e-3),
        published("b = ¼ and b = ½ at ε = .05", "exponent", {0.25: 1.0, 0.5: 0.15}, repeats=200, contamination=0.05),
        *(
            agree(
                "power falls as b grows",
                {"exponent": slower},
                {"exponent": faster},
                axes={"contamination": SHARES[1:]},
                least=True,
                errors=2.0,
            )
            for faster, slower in ((0.0, 0.25), (0.25, 0.5), (0.5, 1.0))
        ),
        below("b = 1 does not see 10 % of outliers", 0.5, axes={"contamination": (0.05, 0.1)}, exponent=1.0),
    ),
    draw=draw,
    curves=curves,
    size=(7.8, 3.2),
    differences=(
        "The published left panel has the kernel (1 + r²/(2λ²))^(−½) with λ² = 1, length scale² = 2; the text "
        "writes r²/λ², with which u(3, 3) would be 10 at b = 0."
    ),
)
