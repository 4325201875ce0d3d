"""A model that was fitted on the data that it is tested on."""

from __future__ import annotations

import numpy as np

from steinball.cautions import FittedOnDataWarning, caution
from steinball.models.knowledge import Knowledge
from steinball.stein import SteinProblem

__all__ = ["warn_if_fitted"]

LEAST = 10
EQUAL = 1e-9
"""In standard deviations: a mean that agrees so well with that of the data was computed from them."""


def warn_if_fitted(problem: SteinProblem) -> None:
    """Say that the test is of no use where the center of the model is the mean of these very samples.

    Maximum likelihood gives normal distributions and mixtures of them the mean of the data, and so does a kernel
    density estimate. Data that were standardized by their own mean show it as well.
    """
    center, x = Knowledge(problem.model).location, problem.host_samples
    if center is None or len(x) < LEAST or center.shape != x.shape[1:] or _symmetric(x, center):
        return
    with np.errstate(over="ignore", invalid="ignore"):  # nothing is known of means that are no floats
        spread, apart = x.std(axis=0), np.abs(x.mean(axis=0) - center)
    if not (np.isfinite(spread) & (apart <= EQUAL * spread)).all():
        return
    caution(
        FittedOnDataWarning,
        "the model has its center at the mean of these very samples, so that it was fitted on them, or they were "
        "centered by it. Tested as if it were known, such a model is hardly ever rejected; with outliers, under a "
        "tolerance, nearly always.",
        'Test the family: `sb.fit_test(x, "normal")`; or fit on one part of the data and test on the other '
        "(`sb.split`). `check_model=False` turns this off.",
    )


def _symmetric(x: np.ndarray, center: np.ndarray) -> bool:
    """Whether the samples are mirror images of each other, as those of a grid are: then nothing was fitted."""
    near = np.sort(x - center, axis=0)
    return bool(np.allclose(near, -near[::-1], atol=1e-9 * max(float(np.abs(near).max()), 1e-300)))
