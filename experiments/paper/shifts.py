"""The Gaussian mean shift that two experiments share (paper App. B)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from experiments.framework.base import Cell, Row
from experiments.framework.rows import PAPER, radius_rows, result_row, standard_row, tilted_result
from experiments.framework.table import Rate, Results
from experiments.paper.generators import mean_shift
from steinball.models import Gaussian

__all__ = ["SETUP", "SHIFTS", "reference_radius", "sensitivity", "shift_rows"]

SHIFTS = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 1, 2)
SETUP = (
    "inverse multiquadric at the median distance of the sample, B = 1000 draws for IMQ-KSD, 500 for the others; θ by "
    "quadrature"
)
_NODES = 24

Floats = NDArray[np.float64]


@cache
def reference_radius(shift: float, dimension: int) -> float:
    r"""The tilted KSD of :math:`\mathcal N(\mu e_1, I)` from :math:`\mathcal N(0, I)`, exactly; 0 for no shift.

    The scores of the two differ by μe₁ everywhere, so that :math:`D^2 = \mu^2\, E[w(X) h(X - Y) w(Y)]` over independent
    X and Y of the data. The length scale is the median distance of their distribution, :math:`|X - Y|^2 = 2\chi^2_d`.

    Examples
    --------
    >>> reference_radius(0.0, 1), round(reference_radius(0.2, 50), 6)
    (0.0, 0.02395)
    """
    return shift * math.sqrt(_mean_kernel(shift, dimension, _NODES))


def _mean_kernel(shift: float, dimension: int, nodes: int) -> float:
    r"""E[w(X) h(X − Y) w(Y)] by quadrature.

    Each factor is :math:`(1 + a)^{-1/2} = E\,e^{-ta}` over t ~ Gamma(½, 1). Given the three t the expectation over X
    and Y is a Gaussian integral, :math:`\det(M)^{-d/2} \exp(-\tfrac12\mu^2(2 - 1^\top M^{-1}1))`, where M is I plus
    twice the matrix of the quadratic form in one coordinate of X and Y.
    """
    square = 4.0 * float(gammaincinv(dimension / 2.0, 0.5))  # twice the median of χ²
    t, p = _gamma_rule(nodes, 1.0 + dimension)
    r, q = _gamma_rule(nodes, 2.0)
    apart = 2.0 * r / square
    first, second = 1.0 + 2.0 * t[:, None, None] + apart, 1.0 + 2.0 * t[None, :, None] + apart
    determinant = first * second - apart**2
    ones = (first + second + 2.0 * apart) / determinant
    values = determinant ** (-dimension / 2.0) * np.exp(-0.5 * shift**2 * (2.0 - ones))
    return float(np.einsum("ijk,i,j,k", values, p, p, q))


def _gamma_rule(nodes: int, rate: float) -> tuple[Floats, Floats]:
    """Nodes t and weights of E f(t) over t ~ Gamma(½, 1), for an f that decays like exp(−(rate − 1) t)."""
    y, weights = np.polynomial.hermite.hermgauss(2 * nodes)
    y, weights = y[nodes:], 2.0 * weights[nodes:]
    return y**2 / rate, weights * np.exp(y**2 - y**2 / rate) / math.sqrt(math.pi * rate)


def shift_rows(cell: Cell, rng: np.random.Generator, references: Iterable[float]) -> list[Row]:
    """One sample of N(μ e₁, I), every test; R-KSD at each reference radius from the same pass."""
    n, dimension = cell["n"], cell["dimension"]
    model = Gaussian(dimension=dimension)
    x = mean_shift(n, dimension, cell["shift"], rng)
    result, seconds = tilted_result(x, model, rng)
    rows = [standard_row(x, model, rng, cell), result_row("tilted-ksd", result, seconds, cell, exponent=0.5)]
    for reference in references:
        radius = reference_radius(float(reference), dimension)
        rows += radius_rows(result, radius, seconds, cell, reference_shift=reference)
    return rows


def sensitivity(results: Results) -> str:
    """How far an error of θ moves the steepest rate of each radius, as Markdown.

    D is nearly normal, so that raising θ by δ lowers a rate p by φ(Φ⁻¹(p))·δ/sd(D).
    """
    errors = (0.05, 0.01, 0.001)
    head = ["θ at", "d", "θ", "steepest at", "rate", *(f"moved by {100.0 * error:g} % of θ" for error in errors)]
    rates = results.rates.select(variant="published", test=PAPER)
    radii = {(r.where["reference_shift"], r.where["dimension"]): r.radius for r in rates if r.radius > 0.0}
    rows = []
    for (reference, dimension), radius in radii.items():
        steepest = max(rates.select(reference_shift=reference, dimension=dimension), key=_slope)
        moved = " | ".join(f"± {_slope(steepest) * radius * error:.3f}" for error in errors)
        place = f"μ = {reference} | {dimension} | {radius:.5f} | μ = {steepest.where['shift']} | {steepest.rate:.2f}"
        rows.append(f"| {place} | {moved} |")
    return "\n".join([f"| {' | '.join(head)} |", "|---" * len(head) + "|", *rows])


def _slope(rate: Rate) -> float:
    """φ(Φ⁻¹(p))/sd(D), with half a count added so that a rate of 0 or 1 has one too; 0 for a single repeat."""
    if rate.ksd_sd == 0.0:
        return 0.0
    normal, share = NormalDist(), (rate.rejections + 0.5) / (rate.repeats + 1.0)
    return normal.pdf(normal.inv_cdf(share)) / rate.ksd_sd
