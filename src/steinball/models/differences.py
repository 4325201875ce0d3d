"""Derivatives by finite differences: of log densities, with their error, and of functions of parameters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Floats

Points = NDArray[np.floating]
Values = Callable[[Points], Floats]

# From max(|x|, 1)/8 down by factors of 8 to 2e-13 of it: whatever length a density varies over, some
# consecutive steps are neither too long for the truncation error nor too short for rounding.
_RATIO, _LEVELS = 8.0, 14
_MARGIN = 4.0  # two slopes agree within this many of their errors
_STEP = 6e-6  # the cube root of the rounding error: the best single step of a central difference


def difference_jacobian(function: Callable[[Floats], Floats], at: Floats, units: Floats | None = None) -> Floats:
    """Derivatives of an array-valued function in each of a few parameters (p,), along a last axis.

    One step for each parameter, and two calls: for functions of our own, which vary over lengths of about ``units``
    (p,); by default these are the larger of 1 and the parameter itself.
    """
    columns = []
    for k, unit in enumerate(np.maximum(1.0, np.abs(at)) if units is None else units):
        step = np.zeros_like(at)
        step[k] = _STEP * unit
        columns.append((function(at + step) - function(at - step)) / (2.0 * step[k]))
    return np.stack(columns, axis=-1)


def numerical_gradient(function: Values, x: Points, room: Floats | None = None) -> tuple[Floats, Floats]:
    r"""Gradient of ``function`` at every row of ``x``, and an estimate of its error, both (n, d).

    Central differences

    .. math:: D(h) = \frac{f(x + h e_j) - f(x - h e_j)}{2h}

    at a ladder of steps are extrapolated, two by two, to an error of order :math:`h^4` (Richardson). Every row and
    coordinate takes the pair of steps of smallest estimated error; points are perturbed in the dtype of ``x``. Smooth
    functions that are accurate to rounding give ten correct digits or more. A row whose function value is not finite
    gets NaN. It takes 28·d calls of ``function``, (n, d) to (n,). ``room``, (n, d), says how far each
    coordinate may move before the function ends; steps are shorter than that.
    """
    steps = np.maximum(np.abs(x), 1.0) / _RATIO
    steps = steps if room is None else np.minimum(steps, room / 2.0).astype(x.dtype)
    columns = [_partial_derivative(function, x, j, steps[:, j]) for j in range(x.shape[1])]
    return np.stack([c[0] for c in columns], axis=1), np.stack([c[1] for c in columns], axis=1)


def _partial_derivative(function: Values, x: Points, j: int, first: Points) -> tuple[Floats, Floats]:
    with np.errstate(all="ignore"):  # long steps may leave the support; their NaN is never chosen
        ladder = [_central_difference(function, x, j, first * _RATIO**-k) for k in range(_LEVELS)]
        rise, width, noise = (np.stack(part) for part in zip(*ladder, strict=True))  # (levels, n) each
        noise = np.maximum(noise, _quantum(rise))
        return _best_extrapolation(rise / width, noise / width)


def _central_difference(function: Values, x: Points, j: int, step: Points) -> tuple[Floats, Floats, Floats]:
    """f(x + h) − f(x − h) of every row, what rounding left of 2h, and the rounding error of the former."""
    up, down = x.copy(), x.copy()
    up[:, j] += step
    down[:, j] -= step
    above, below = function(up), function(down)
    noise = float(np.finfo(x.dtype).eps) * np.maximum(np.abs(above), np.abs(below))
    return above - below, up[:, j].astype(np.float64) - down[:, j], noise


def _quantum(rise: Floats) -> Floats:
    """The smallest difference that a function of lower precision than float64 can return, (n,).

    Where the shortest steps change nothing at all, the first change is about one unit of its own rounding.
    """
    changed = np.flip(rise != 0.0, axis=0)
    last = rise.shape[0] - 1 - changed.argmax(axis=0)
    quantum = np.abs(np.take_along_axis(rise, last[None], axis=0)[0])
    return np.where(changed.any(axis=0) & ~changed[0] & np.isfinite(quantum), quantum, 0.0)


def _best_extrapolation(slopes: Floats, rounding: Floats) -> tuple[Floats, Floats]:
    """The extrapolated slope of smallest error for every row, and that error, from (levels, n) slopes."""
    better = slopes[1:] + (slopes[1:] - slopes[:-1]) / (_RATIO**2 - 1.0)
    # The change from one pair of steps to the next bounds the error of the shorter pair from above.
    error = np.abs(better[1:] - better[:-1]) + rounding[2:]
    better = better[1:]
    error = _monotone_noise(np.where(np.isfinite(error), error, np.inf))
    error[~_agrees_with_shorter_steps(better, error)] = np.inf
    best = error.argmin(axis=0)[None]
    chosen = np.take_along_axis(error, best, axis=0)[0]
    return np.where(np.isfinite(chosen), np.take_along_axis(better, best, axis=0)[0], np.nan), chosen


def _monotone_noise(error: Floats) -> Floats:
    """Rounding errors grow as 1/h, so an error found at a short step bounds those of longer ones from below.

    An error may be small by chance; the shortest step, which has no shorter one to bound it, is held to two
    longer ones.
    """
    error = error.copy()
    error[-1] = np.maximum(error[-1], np.maximum(_RATIO * error[-2], _RATIO**2 * error[-3]))
    for k in range(error.shape[0] - 2, -1, -1):
        shorter = np.where(np.isfinite(error[k + 1]), error[k + 1], 0.0) / _RATIO
        error[k] = np.maximum(error[k], shorter)
    return error


def _agrees_with_shorter_steps(slopes: Floats, error: Floats) -> NDArray[np.bool_]:
    """Whether each slope lies within the errors of all at shorter steps that do.

    Steps longer than the density is wide can agree among themselves on a wrong slope, on a plateau for
    example. Short steps are noisy but not wrong.
    """
    agrees = np.isfinite(error)
    low, high = np.full(slopes.shape[1], -np.inf), np.full(slopes.shape[1], np.inf)
    for k in range(slopes.shape[0] - 1, -1, -1):
        bottom, top = slopes[k] - _MARGIN * error[k], slopes[k] + _MARGIN * error[k]
        agrees[k] &= (bottom <= high) & (top >= low)
        low = np.where(agrees[k], np.maximum(low, bottom), low)
        high = np.where(agrees[k], np.minimum(high, top), high)
    return agrees
