"""Whole numbers against a density: a remark on rounding."""

from __future__ import annotations

import numpy as np

from steinball.cautions import RoundedDataWarning, caution
from steinball.stein import SteinProblem

__all__ = ["warn_if_rounded"]

LEAST = 30
COARSE = 0.1
"""A step of the data this large beside their spread can be seen by a test."""


def warn_if_rounded(problem: SteinProblem) -> None:
    """Say that whole numbers have no density, where their step is not tiny beside their spread."""
    x = problem.host_samples
    if len(x) < LEAST or not np.array_equal(x, np.round(x)):
        return
    spread = np.median(np.abs(x - np.median(x, axis=0)), axis=0)
    if not ((spread > 0.0) & (COARSE * spread < 1.0)).any():  # where most points coincide, rounding is not the reason
        return
    caution(
        RoundedDataWarning,
        "all samples are whole numbers, and the model is a density, which no whole numbers come from: with enough data "
        "the test rejects whatever they were before they were rounded.",
        f"Tolerate the rounding: `ksd_test(..., radius=sb.Wasserstein.rounding(1.0, dimension={x.shape[1]}))` with a "
        "tilt; or use a test for counts.",
    )
