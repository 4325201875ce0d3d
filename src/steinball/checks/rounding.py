"""Whole numbers against a density: a remark on rounding."""

from __future__ import annotations

import math

import numpy as np

from steinball.arrays import Floats
from steinball.cautions import RoundedDataWarning, caution
from steinball.stein import SteinProblem

__all__ = ["warn_if_rounded"]

LEAST = 30
COARSE = 0.1
"""A step of the data this large beside their spread can be seen by a test."""

_OFF_EDGE = 1e-11  # points on an edge have been moved by less
_OUT_OF_BASE = " and `sb.as_model(model)`, since distances are about the coordinates of the data"


def warn_if_rounded(problem: SteinProblem, displacement: float = 0.0) -> None:
    """Say that whole numbers have no density, where their step is not tiny beside their spread, and no ``displacement``
    as large as that of rounding is tolerated.

    In base space, where no number is whole, the rows are looked at as they came.
    """
    mapped = problem.original is not None
    x = problem.host_samples if problem.original is None else problem.original
    if len(x) < LEAST or displacement >= 0.499 * math.sqrt(x.shape[1]) or not _whole(x):
        return
    x = np.round(x)
    spread = np.median(np.abs(x - np.median(x, axis=0)), axis=0)
    if not ((spread > 0.0) & (COARSE * spread < 1.0)).any():  # where most points coincide, rounding is not the reason
        return
    tolerated = f"radius=sb.Wasserstein.rounding(1.0, dimension={x.shape[1]})"
    caution(
        RoundedDataWarning,
        "all samples are whole numbers, and the model is a density, which no whole numbers come from: with enough data "
        "the test rejects whatever they were before they were rounded.",
        f"Tolerate the rounding: `ksd_test(..., {tolerated})` with a tilt{_OUT_OF_BASE * mapped}; or use a test for "
        "counts.",
    )


def _whole(x: Floats) -> bool:
    """Whether all numbers are whole, those that were moved off an edge among them."""
    return bool(np.allclose(x, np.round(x), rtol=_OFF_EDGE, atol=_OFF_EDGE))
