"""What the rows of a problem look like: too few, rounded, or those on which the model was fitted."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Array, Floats
from steinball.cautions import DependentRowsWarning, FewRowsWarning, FittedOnDataWarning, RoundedDataWarning
from steinball.problem import Problem
from steinball.regions.source import LOOKED_AT, find_grid
from steinball.remarks import Remark

FEWEST = 4
"""The fewest rows at which clean data of a normal model were rejected as rarely as the level says, to .03.

At level .05 three rows are rejected .15 of the time, four to twenty .03 to .08 (400 samples each, d = 1 and 5)."""

COARSE, COARSE_AT_EDGE = 0.25, 0.1
"""A step of the data this large beside their spread can be seen by a test, sooner where the model ends.

At level .05 and n = 2,000 (120 samples each, standard error .02) steps of .15, .3 and .75 median absolute deviations of
a normal model were rejected .07, .07 and .13 of the time (n = 500: .045 of 400, .08, .08), of .2 and .4 of an
exponential one, as it is, .14 and 1.00 (.04, .23). In base space rows are spread over their cells."""

EQUAL = 1e-9
"""In standard deviations: a mean that agrees so well with that of the data was computed from them."""

_CHAINS_AT_MOST = 16
_DRAWS_AT_LEAST = 4  # times the number of chains
_LEAST_ROUNDED, _LEAST_FITTED = 30, 10
_COLUMNS_LOOKED_AT = 64
_LEAST_COPIES, _COPIED = 3, 0.02  # copied rows, and their share, below which nothing is said
_FAVORITES, _HEAP, _HEAPED = 3, 10, 2.5  # favorite values, and how often each occurs: copies occur about equally often
_BY_ROUNDING = 5.0  # times as many ties as rounding lets expect
_QUARTILES = 2.6  # 1/∫p² of a normal density in quartile ranges
_LUMPS = (
    "the model is a density, which no rounded numbers come from: with enough data the test rejects whatever they were "
    "before they were rounded."
)
_SPREAD = (
    "they are tested evenly over the cells that rounding to the nearest value takes to them. Counts, and numbers that "
    "were cut off, such as ages in whole years, come from other cells."
)
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


def rounded_rows(problem: Problem, displacement: float) -> Iterator[Remark]:
    """A remark that rounded numbers have no density, where their step is not tiny beside their spread.

    None where a ``displacement`` as large as that of rounding is tolerated. The rows are looked at as they came.
    """
    x = problem.rows.original[:, :_COLUMNS_LOOKED_AT]
    grid = find_grid(x) if len(x) >= _LEAST_ROUNDED and _may_be_coarse(x) else None
    if grid is None or displacement >= 0.499 * math.hypot(*grid.step):
        return
    spread = problem.rows.in_base_space and x.shape[1] == 1  # over the cells of the grid, which keeps the level
    coarse = _coarse(x, grid.step, COARSE if spread or problem.rows.original_support is None else COARSE_AT_EDGE)
    if not coarse.any():
        return
    column, step = int(np.argmax(coarse)), float(grid.step.max())
    what = f"most samples lie on a grid (column {column}: step {grid.step[column]:.6g})"
    tolerated = f"radius=sb.Wasserstein.rounding({step:.6g}, dimension={problem.rows.original.shape[1]})"
    yield Remark(
        RoundedDataWarning,
        f"{'all samples are whole numbers' if (x == np.round(x)).all() else what}, and {_SPREAD if spread else _LUMPS}",
        f"Tolerate the rounding: `ksd_test(..., {tolerated})` with a tilt"
        f"{_OUT_OF_BASE * problem.rows.in_base_space}; or use a test for counts.",
    )


def _coarse(x: Floats, step: Floats, share: float) -> NDArray[np.bool_]:
    """The columns whose step is not tiny beside their spread, and that hold a value twice, as rounded ones do.

    Where most points coincide, rounding is not the reason.
    """
    spread = np.median(np.abs(x - np.median(x, axis=0)), axis=0)
    return np.asarray((spread > 0.0) & (step > share * spread) & (_ties(x) > 0))


def _ties(x: Floats) -> NDArray[np.intp]:
    """How often a value of each column is one that the column holds already."""
    ordered = np.sort(np.ascontiguousarray(x.T), axis=1)
    return np.asarray((ordered[:, 1:] == ordered[:, :-1]).sum(axis=1))


def _may_be_coarse(x: Floats) -> bool:
    """Whether some column has as many ties as a coarse grid makes, among the rows that are enough to see a grid.

    A quarter of the rows at least lie on the grid and within one median absolute deviation of the median, where a
    coarse grid has no more than 21 values; of many rows a tenth also where the most frequent value, which lies on every
    grid, is left out, if at most a fifth of the rows have it. Ties by the precision of float32 are far fewer.
    """
    rows = x[:: len(x) // LOOKED_AT + 1]
    least = max(0, len(rows) // 10 - 100)
    ties = _ties(rows)
    for j in np.flatnonzero(ties > least):
        most = np.unique(rows[:, j], return_counts=True)[1].max()
        if not least or most > len(rows) // 5 or ties[j] - (most - 1) > least:
            return True
    return False


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
    if center is None or len(x) < _LEAST_FITTED or center.shape != x.shape[1:]:
        return False
    first = _is_the_mean(center[:1], x[:, :1])  # the first column mostly says no, at a small part of the cost
    return first and _is_the_mean(center, x) and not _symmetric(x, center)


def _is_the_mean(center: Floats, x: Floats) -> bool:
    """Whether ``center`` is the mean of the columns of ``x``, to a billionth of their standard deviations."""
    with np.errstate(over="ignore", invalid="ignore"):  # nothing is known of means that are no floats
        spread, apart = x.std(axis=0), np.abs(x.mean(axis=0) - center)
    return bool((np.isfinite(spread) & (apart <= EQUAL * spread)).all())


def _symmetric(x: Floats, center: Floats) -> bool:
    """Whether the samples are mirror images of each other, as those of a grid are: then nothing was fitted."""
    near = np.sort(x - center, axis=0)
    return bool(np.allclose(near, -near[::-1], atol=1e-9 * max(float(np.abs(near).max()), 1e-300)))


def repeated_rows(x: Floats) -> Iterator[Remark]:
    """A remark where many rows (n, d) occur more than once, which has probability 0 under a density.

    One or two values that many rows share are contamination and no copies; rounding makes ties, as many as the smallest
    gap between the values of each column lets expect; favorite values, which very many rows name, are heaps.
    """
    least = max(_LEAST_COPIES, _COPIED * len(x))
    first = np.sort(x[:, 0])  # rows that occur twice share their first value, which is quick to see
    again = first[1:][first[1:] == first[:-1]]
    alike = x[np.isin(x[:, 0], np.unique(again))] if 2 * len(again) >= least else x[:0]
    if len(alike) < least or np.sum(_counts(alike) > 1) < least:
        return
    different, counts = np.unique(x, axis=0, return_counts=True)
    copied, frequent = int(np.sum(counts > 1)), np.sort(counts)[-_FAVORITES:]
    if copied <= _BY_ROUNDING * _expected_ties(different):
        return
    if frequent[0] > max(_HEAP, _HEAPED * counts[counts > 1].mean()):
        return
    yield Remark(
        DependentRowsWarning,
        f"{copied} of {len(counts)} different rows occur more than once, which independent rows of a density do not: "
        "rows were copied, joined or drawn with replacement. This test takes each row as a new one, and rejects too "
        "often where it is not.",
        "Leave out the copies: `np.unique(x, axis=0)`. Rows that are alike without being equal, such as those of one "
        "patient or batch, cannot be seen; keep one of each.",
    )


def _counts(x: Floats) -> NDArray[np.intp]:
    """How often each different row occurs: bytes are compared, which is faster than number by number."""
    rows = np.ascontiguousarray(x + 0.0)  # −0 is 0
    return np.unique(rows.view(np.dtype((np.void, rows.strides[0]))), return_counts=True)[1]


def _expected_ties(x: Floats) -> float:
    """Pairs of equal rows among n that were rounded to the smallest gap between the values of each column."""
    gaps, spread = np.diff(np.sort(x, axis=0), axis=0), np.subtract(*np.quantile(x, [0.75, 0.25], axis=0))
    smallest = gaps.min(axis=0, initial=np.inf, where=gaps > 0.0)
    with np.errstate(divide="ignore", over="ignore"):
        shares = np.minimum(1.0, smallest / (_QUARTILES * spread))
    return float(0.5 * len(x) ** 2 * shares.prod())
