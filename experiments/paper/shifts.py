"""The Gaussian mean shift that two experiments share (paper App. B)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache

import numpy as np

from experiments.framework.base import Cell, Row
from experiments.framework.rows import radius_rows, result_row, standard_row, tilted_result
from experiments.paper.generators import mean_shift
from steinball.gram.dense import DenseGram
from steinball.gram.request import Request
from steinball.models import Gaussian
from steinball.problem import pose
from steinball.tilts import PolynomialTilt

__all__ = ["SHIFTS", "reference_radius", "shift_rows"]

SHIFTS = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 1, 2)
_SAMPLES = 50


@cache
def reference_radius(shift: float, n: int, dimension: int) -> float:
    """The tilted KSD at a mean shift: the root of the U-statistic averaged over 50 samples; 0 for no shift.

    Examples
    --------
    >>> reference_radius(0.0, 100, 1), 0.2 < reference_radius(0.5, 100, 1) < 0.5
    (0.0, True)
    """
    if shift == 0.0:
        return 0.0
    squares = []
    for k in range(_SAMPLES):  # a stream of its own: the radius is stated before any data are seen
        rng = np.random.default_rng(np.random.SeedSequence(2025, spawn_key=(k,)))
        problem = pose(mean_shift(n, dimension, shift, rng), Gaussian(dimension=dimension), None, PolynomialTilt())
        squares.append(DenseGram(problem).summarise(Request()).unbiased_mean)
    return math.sqrt(max(0.0, float(np.mean(squares))))


def shift_rows(cell: Cell, rng: np.random.Generator, references: Iterable[float]) -> list[Row]:
    """One sample of N(μ e₁, I), every test; R-KSD at each reference radius from the same pass."""
    n, dimension = cell["n"], cell["dimension"]
    model = Gaussian(dimension=dimension)
    x = mean_shift(n, dimension, cell["shift"], rng)
    result, seconds = tilted_result(x, model, rng)
    rows = [standard_row(x, model, rng, cell), result_row("tilted-ksd", result, seconds, cell, exponent=0.5)]
    for reference in references:
        radius = reference_radius(float(reference), n, dimension)
        rows += radius_rows(result, radius, seconds, cell, reference_shift=reference)
    return rows
