"""The weighted norm in the weight of the kernel: which matrix (§5)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import toeplitz

import steinball as sb
from experiments.framework.base import Cell, Experiment, Row
from experiments.framework.expectations import Expectation, Finding, above, agree, below, level
from experiments.framework.figures import Series, Style, rate_panel, value_panel
from experiments.framework.rows import PAPER, TOLERANCE
from experiments.framework.table import Rate, Results
from experiments.paper.draws import drawn
from steinball.arrays import Floats
from steinball.datasets.contamination import contaminate
from steinball.tilts import PolynomialTilt, robust_scatter
from steinball.tilts.scatter import median_and_scales

DIMENSION, CORRELATION = 5, 0.9
SHIFTS = (0, 0.3, 0.6)
FAR = 1000
SHARES = (0, 0.05)
IDENTITY, MAD, SAMPLE, ROBUST, TRUE = "identity", "MAD", "sample covariance", "robust scatter", "model"

_STYLES = {
    IDENTITY: Style("R-KSD, identity", "#7F7F7F", "X", ":"),
    MAD: Style("R-KSD, MAD of each coordinate", "#E69F00", "^"),
    SAMPLE: Style("R-KSD, sample covariance", "#D55E00", "s", "--"),
    ROBUST: Style("R-KSD, robust scatter", "#009E73", "o"),
    TRUE: Style("R-KSD, covariance of the model", "#0072B2", "D", "-."),
}


def covariance() -> Floats:
    """Neighboring coordinates correlated by .9, those k apart by .9^k."""
    return np.asarray(toeplitz(CORRELATION ** np.arange(DIMENSION)))


@cache
def model() -> Any:
    """N(0, Σ), known by its score alone."""
    precision = np.linalg.inv(covariance())
    return sb.from_score(lambda x: -x @ precision, growth=1.0)


def tilt(strategy: str, x: Floats) -> PolynomialTilt:
    """The weight (1 + (x − a)ᵀC(x − a))^(−½) with a and C from the data, or from the model."""
    if strategy == IDENTITY:
        return PolynomialTilt()
    if strategy == MAD:
        center, scales = median_and_scales(x)
        return PolynomialTilt(center=center, precision=scales**-2)
    if strategy == SAMPLE:
        return PolynomialTilt(center=x.mean(axis=0), precision=np.linalg.inv(np.cov(x.T)))
    if strategy == ROBUST:
        found = robust_scatter(x)
        return PolynomialTilt(center=found.center, precision=found.precision)
    return PolynomialTilt(precision=np.linalg.inv(covariance()))


def trial(cell: Cell, rng: np.random.Generator) -> list[Row]:
    """One sample, shifted along its first coordinate, with outliers at z e₁; R-KSD with every weight."""
    x = rng.multivariate_normal(np.zeros(DIMENSION), covariance(), size=cell["n"], method="cholesky")
    x[:, 0] += cell["shift"]
    x = np.asarray(contaminate(x, cell["contamination"], np.eye(DIMENSION)[0] * cell["outlier"], rng))
    rows = []
    for strategy in _STYLES:
        rows += drawn(x, model(), rng, tilt=tilt(strategy, x)).robust(cell, TOLERANCE, exponent=0.5, strategy=strategy)
    return rows


def draw(results: Results, figure: Any) -> None:
    """Rejection against the shift, without and with outliers."""
    panels = figure.subplots(1, 2, sharey=True)
    rates = results.rates.select(variant="published", test=PAPER)
    titles = ("no outliers", rf"$\varepsilon = \varepsilon_0 = .05$ at {FAR:,} $e_1$")
    for ax, share, title in zip(panels, SHARES, titles, strict=True):
        lines = [Series(rates.select(strategy=s, contamination=share), style) for s, style in _STYLES.items()]
        rate_panel(ax, "shift", lines, xlabel="shift of the first coordinate", title=title)
    panels[1].set_ylabel("")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)


EXPERIMENT = Experiment(
    name="weighted-norm",
    title="the weighted norm of the weight",
    reference="§5, of the matrix C",
    says="",
    grid=tuple(
        {"shift": shift, "contamination": share, "outlier": FAR, "n": 500, "dimension": DIMENSION, "bandwidth": "median"}
        for share in SHARES
        for shift in SHIFTS
    ),
    trial=trial,
    repeats=100,
    expectations=(),
    draw=draw,
    size=(8.5, 3.6),
)
