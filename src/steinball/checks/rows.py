"""What the rows of a problem look like: too few, rounded, or those on which the model was fitted."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from steinball.arrays import Array, Floats
from steinball.cautions import FewRowsWarning, FittedOnDataWarning, RoundedDataWarning
from steinball.problem import Problem
from steinball.remarks import Remark

FEWEST = 4
"""The fewest rows at which clean data of a normal model were rejected as rarely as the level says, to .03.

At level .05 three rows are rejected .15 of the time, four to twenty .03 to .08 (400 samples each, d = 1 and 5)."""

COARSE = 0.1
"""A step of the data this large beside their spread can be seen by a test."""

EQUAL = 1e-9
"""In standard deviations: a mean that agrees so well with that of the data was computed from them."""

_CHAINS_AT_MOST = 16
_DRAWS_AT_LEAST = 4  # times the number of chains
_LEAST_ROUNDED, _LEAST_FITTED = 30, 10
_OFF_EDGE = 1e-11  # points on an edge have been moved by less
_OUT_OF_BASE = " and `sb.as_model(model)`, since distances are about the coordinates of the data"


def few_rows(samples: Array) -> Iterator[Remark]:
    """A remark where n < d, which transposed data and (chain, draw) arrays look like, or n < 4."""
    n, d = (int(size) for size in samples.shape)
    if n < d and n <= _CHAINS_AT_MOST and _DRAWS_AT_LEAST * n <= d:
        yield Remark(
            FewRowsWarning,
            f"`samples` has shape ({n}, {d}), which is read as {n} observations in {d} dimensions. It looks like "
            f"(chain, draw), {n} chains of one quantity.",
            f'If so, pass `x.reshape(-1, 1)`, and `WildBootstrap(dependence="auto", chains={n})` as calibration.',
        )
    elif n < d:
        yield Remark(
            FewRowsWarning,
            f"`samples` has shape ({n}, {d}): fewer observations than dimensions.",
            "Rows are observations: if yours are columns, pass the transpose. Otherwise expect little power.",
        )
    elif n < FEWEST:
        yield Remark(
            FewRowsWarning,
            f"{n} observations are too few for a bootstrap: a true model is rejected about three times as often as "
            "the level says.",
            f"Use at least {FEWEST} observations.",
        )


def rounded_rows(problem: Problem, displacement: float = 0.0) -> Iterator[Remark]:
    """A remark that whole numbers have no density, where their step is not tiny beside their spread.

    None where a ``displacement`` as large as that of rounding is tolerated. The rows are looked at as they came.
    """
    x = problem.rows.original
    if len(x) < _LEAST_ROUNDED or displacement >= 0.499 * math.sqrt(x.shape[1]) or not _whole(x):
        return
    x = np.round(x)
    spread = np.median(np.abs(x - np.median(x, axis=0)), axis=0)
    if not ((spread > 0.0) & (COARSE * spread < 1.0)).any():  # where most points coincide, rounding is not the reason
        return
    tolerated = f"radius=sb.Wasserstein.rounding(1.0, dimension={x.shape[1]})"
    yield Remark(
        RoundedDataWarning,
        "all samples are whole numbers, and the model is a density, which no whole numbers come from: with enough data "
        "the test rejects whatever they were before they were rounded.",
        f"Tolerate the rounding: `ksd_test(..., {tolerated})` with a tilt"
        f"{_OUT_OF_BASE * problem.rows.in_base_space}; or use a test for counts.",
    )


def _whole(x: Floats) -> bool:
    """Whether all numbers are whole, those that were moved off an edge among them."""
    return bool(np.allclose(x, np.round(x), rtol=_OFF_EDGE, atol=_OFF_EDGE))


def rows_of_the_fit(problem: Problem) -> Iterator[Remark]:
    """A remark that the test is of no use where the center of the model is the mean of these very samples.

    Maximum likelihood gives normal distributions and mixtures of them the mean of the data, and so does a kernel
    density estimate. Data that were standardized by their own mean show it as well.
    """
    if is_mean_of(problem.known.location, problem.host_samples):
        yield Remark(
            FittedOnDataWarning,
            "the model has its center at the mean of these very samples, so that it was fitted on them, or they were "
            "centered by it. Tested as if it were known, such a model is hardly ever rejected; with outliers, under a "
            "tolerance, nearly always.",
            'Test the family: `sb.fit_test(x, "normal")`; or fit on one part of the data and test on the other '
            "(`sb.split`). `check_model=False` turns this off.",
        )


def is_mean_of(center: Floats | None, x: Floats) -> bool:
    """Whether the center (d,) of a model is the mean of rows ``x`` (n, d), as that of a model fitted on them is."""
    if center is None or len(x) < _LEAST_FITTED or center.shape != x.shape[1:] or _symmetric(x, center):
        return False
    with np.errstate(over="ignore", invalid="ignore"):  # nothing is known of means that are no floats
        spread, apart = x.std(axis=0), np.abs(x.mean(axis=0) - center)
    return bool((np.isfinite(spread) & (apart <= EQUAL * spread)).all())


def _symmetric(x: Floats, center: Floats) -> bool:
    """Whether the samples are mirror images of each other, as those of a grid are: then nothing was fitted."""
    near = np.sort(x - center, axis=0)
    return bool(np.allclose(near, -near[::-1], atol=1e-9 * max(float(np.abs(near).max()), 1e-300)))
