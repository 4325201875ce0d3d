"""What a wrong score looks like: a log density, a forgotten Jacobian, a wrong matrix, an edge that was not declared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from steinball.arrays import Floats

Mistake = tuple[str, Floats, float]
"""What to say, the score that the mistake would give, and how much it magnifies errors of the gradient."""

Values = Callable[[Floats], Floats]

_AFFINE = 1e-5
_REACH = 10.0 ** np.arange(-3, 5)
_NEAR = (1e-4, 1e-7)
_BISECTIONS = 80


def missing_jacobian(x: Floats, scores: Floats, gradient: Floats) -> Iterator[Mistake]:
    """The derivative of the log Jacobian of a usual change of variables, in some of the coordinates."""
    with np.errstate(all="ignore"):
        forms = {
            "y = log x": 1.0 / x,
            "y = logit x": 1.0 / x - 1.0 / (1.0 - x),
            "x = exp y": np.ones_like(x),
            "x = sigmoid y": np.tanh(x / 2.0),
        }
    for name, form in forms.items():
        if not np.isfinite(form).all() or len(x) < 3:
            continue
        choices = np.stack([np.zeros_like(form), form, -form])
        misfit = np.median(np.abs(scores - gradient - choices), axis=1)
        best = misfit.argmin(axis=0)
        where = np.flatnonzero(best).tolist()
        if where:
            text = f"The Jacobian of {name} is missing, or counted twice, in coordinates {where}."
            yield text, gradient + np.take_along_axis(choices, best[None, None, :], axis=0)[0], 1.0


def wrong_matrix(x: Floats, scores: Floats, gradient: Floats) -> Iterator[Mistake]:
    """A covariance that is transposed, not inverted, or applied once where a Gaussian needs it twice."""
    n, d = x.shape
    if d < 2 or n < 2 * d + 2:
        return
    found = _affine(x, gradient)
    if found is not None:
        yield from _wrong_covariance(x, *found)
    if (np.abs(scores - gradient).max(axis=0) <= _AFFINE * np.abs(gradient).max()).any():
        return  # a coordinate that is right speaks against a matrix
    matrix = np.linalg.lstsq(gradient, scores, rcond=None)[0]
    text = "The score is the gradient times a constant matrix: is a covariance transposed, or applied once too often?"
    yield text, gradient @ matrix, float(np.linalg.norm(matrix, 2))


def _affine(x: Floats, gradient: Floats) -> tuple[Floats, Floats] | None:
    """Mean and precision where the gradient is that of a Gaussian."""
    design = np.column_stack([x, np.ones(len(x))])
    fitted = np.linalg.lstsq(design, gradient, rcond=None)[0]
    residual = np.abs(design @ fitted - gradient).max()
    precision = -(fitted[:-1] + fitted[:-1].T) / 2.0
    if residual > _AFFINE * np.abs(gradient).max() or np.linalg.eigvalsh(precision)[0] <= 0.0:
        return None
    return np.linalg.solve(precision, fitted[-1]), precision


def _wrong_covariance(x: Floats, mean: Floats, precision: Floats) -> Iterator[Mistake]:
    covariance = np.linalg.inv(precision)
    whitener = np.linalg.inv(np.linalg.cholesky((covariance + covariance.T) / 2.0))
    once = "The score has one factor of the inverse covariance where it needs both: the data are whitened once."
    wrong = {
        "The score has the covariance in place of its inverse.": covariance,
        "A factor of the covariance is transposed: L⁻¹L⁻ᵀ in place of L⁻ᵀL⁻¹.": whitener @ whitener.T,
        once: whitener.T,
        f"{once} ": whitener,
    }
    for text, matrix in wrong.items():
        yield text.strip(), -(x - mean) @ matrix, float(np.linalg.norm(matrix @ covariance, 2))


class Ending(NamedTuple):
    """Where a density ends along one column, and k with which it is like r^k in the distance r from there."""

    column: int
    edge: float
    order: float

    @property
    def finding(self) -> str:
        """The ending and what it does to the test, in words."""
        place = f"The density ends at {self.edge:.4g} in coordinate {self.column}"
        if self.order <= 0.02:
            return f"{place} and does not vanish there: Stein's identity fails, and a true model would be rejected."
        return f"{place}, where it is like r^{self.order:.2g} in the distance r: E u(x, x) is infinite without a tilt."


def find_endings(log_density: Values, x: Floats) -> list[Ending]:
    """Ends of the density beyond the points ``x`` at which it vanishes no faster than the distance from them."""
    found = []
    for column in range(x.shape[1]):
        for sign in (-1.0, 1.0):
            ending = _ending(log_density, x, column, sign)
            if ending is not None and ending.order <= 1.02:
                found.append(ending)
    return found


def _ending(log_density: Values, x: Floats, column: int, sign: float) -> Ending | None:
    start = x[np.argmax(sign * x[:, column])]
    spread = float(np.subtract(*np.quantile(x[:, column], [0.75, 0.25]))) or 1.0

    def at(places: Floats) -> Floats:
        points = np.tile(start, (len(places), 1))
        points[:, column] = places
        with np.errstate(all="ignore"):
            return log_density(points)

    outer = start[column] + sign * spread * _REACH
    ended = ~np.isfinite(at(outer))
    if not ended.any():
        return None
    inside, outside = start[column], outer[np.argmax(ended)]
    for _ in range(_BISECTIONS):
        middle = (inside + outside) / 2.0
        inside, outside = (middle, outside) if np.isfinite(at(np.array([middle])))[0] else (inside, middle)
    near = inside - sign * spread * np.array(_NEAR)
    far, close = at(near)
    order = float((far - close) / np.log(_NEAR[0] / _NEAR[1]))
    return Ending(column, float(outside) + 0.0, order) if np.isfinite(order) else None
