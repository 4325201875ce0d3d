"""Is this score the gradient of that log density, and if not, what went wrong?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from steinball.arrays import Array, Floats, as_number, as_samples, as_scores, dtype_name, is_array_like, like, to_host
from steinball.models.autodiff import check_rows, numerical_gradient, one_per_row
from steinball.models.base import as_model, model_at, score_of
from steinball.models.knowledge import Knowledge
from steinball.models.registry import ScoreArray

# What to say, the score that the mistake would give, and how much it magnifies errors of the gradient.
Mistake = tuple[str, Floats, float]
Density = Callable[[Array], Array]

_REACH = 10.0 ** np.arange(-3, 5)
_NEAR = (1e-4, 1e-7)
_BISECTIONS = 80
_FACTORS = {
    -1.0: "The sign is flipped: the score is minus the gradient of the log density.",
    2.0: "The score is twice the gradient of the log density: a factor 1/2 is missing.",
    0.5: "The score is half the gradient of the log density: a factor 2 is missing.",
}


@dataclass(frozen=True)
class ScoreCheck:
    """What :func:`check_score` found; true where the score is right.

    Attributes
    ----------
    ok : bool
        Whether the score agrees with the log density everywhere, to the tolerance.
    worst_error : float
        The largest relative error beyond that of the numerical derivative; infinite for an unusable score.
    message : str
        The finding in words, with the place of the largest error or the likely mistake.
    """

    ok: bool
    worst_error: float
    message: str

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return f"ScoreCheck(ok={self.ok}, worst_error={self.worst_error:.2g})\n  {self.message}"


def check_score(model: Any, x: Array = None, *, log_density: Density | None = None, rtol: float = 1e-4) -> ScoreCheck:
    r"""Compare a score with numerical derivatives of the log density,

    .. math:: s_j(x) = \partial_j \log p(x),

    at every row and coordinate, and name the mistake where it is a common one: sign, factor, offset, the order of the
    coordinates; or an edge of the density that the model does not declare.

    Parameters
    ----------
    model : array, callable or Model
        What a test would be given.
    x : array, optional
        Points (n, d); a few dozen are plenty. Without it, 25 samples of the model, if it can sample.
    log_density : callable, optional
        (n, d) to (n,); the model's own by default.
    rtol : float
        The relative error allowed, measured against the derivative and its median size in that coordinate.

    Notes
    -----
    A wrong score is a result and not an exception. The error of the numerical derivative itself is allowed
    for; with float32 points it may hide relative errors up to about 1e-2.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(-2.0, 2.0, 9)[:, None]
    >>> check_score(lambda x: -x, x, log_density=lambda x: -0.5 * x[:, 0] ** 2).ok
    True
    >>> check_score(lambda x: x, x, log_density=lambda x: -0.5 * x[:, 0] ** 2)
    ScoreCheck(ok=False, worst_error=2)
      The sign is flipped: the score is minus the gradient of the log density.
    """
    rtol, model = as_number(rtol, "rtol", low=0.0), model.scores if isinstance(model, ScoreArray) else model
    model = model if is_array_like(model) else as_model(model)
    log_density = Knowledge(model).log_density if log_density is None else log_density
    if not callable(log_density):
        raise TypeError("`model` has no `log_density` to compare its score with; pass `log_density=`.")
    x = _find_points(model, x)
    claimed = model if is_array_like(model) else score_of(model_at(model, x), x)
    try:
        scores = as_scores(claimed, x, "model.score(x)")
    except (TypeError, ValueError) as error:
        return ScoreCheck(False, np.inf, str(error))
    gradient, uncertainty = _numerical_score(log_density, x)
    unknown = np.flatnonzero(~np.isfinite(gradient).all(axis=1))
    if unknown.size:
        text = f"The log density has no finite derivative in {unknown.size} rows (first: row {unknown[0]})."
        return ScoreCheck(False, np.inf, text)
    found = _compare(to_host(scores), gradient, uncertainty, rtol)
    return _with_endings(found, model, log_density, x)


def undeclared_edges(model: Any, log_density: Density, x: Array) -> list[Ending]:
    """Where the density ends beyond the points, unless the model declares where."""
    return [] if Knowledge(model).support is not None else find_endings(_on_host(log_density, x), to_host(x))


def _with_endings(found: ScoreCheck, model: Any, log_density: Density, x: Array) -> ScoreCheck:
    """A right score is not enough where the density ends and the model does not say so."""
    with suppress(Exception):  # a log density need not be defined beyond its points
        if found.ok and (endings := undeclared_edges(model, log_density, x)):
            remedy = "Say where it ends: `sb.from_score(score, support=...)`."
            return replace(found, ok=False, message=f"{found.message} But: {endings[0].finding} {remedy}")
    return found


def _on_host(log_density: Density, x: Array) -> Density:
    def values(points: NDArray[Any]) -> Floats:
        there = like(points.copy(), x)  # a user's function may work in place
        return to_host(one_per_row(log_density(there), there))

    return values


def _find_points(model: Any, x: Array) -> Array:
    if x is not None:
        return as_samples(x, "x", least=1)
    sampler = Knowledge(model).sampler
    if sampler is None:
        raise TypeError("`x` must be given: `model` has no `sample(n, rng)` to draw points with.")
    return as_samples(sampler(25, np.random.default_rng(0)), "x", least=1)


def _numerical_score(log_density: Density, x: Array) -> tuple[Floats, Floats]:
    """The gradient of the log density and the error of that, (n, d) each; points are of the library of ``x``."""
    host, values = to_host(x).astype(np.dtype(dtype_name(x))), _on_host(log_density, x)
    check_rows(log_density, x, like(values(host), x))
    return numerical_gradient(values, host)


def _compare(scores: Floats, gradient: Floats, slack: Floats, rtol: float) -> ScoreCheck:
    error = _relative_error(scores, gradient, slack)
    row, coordinate = (int(i) for i in np.unravel_index(error.argmax(), error.shape))
    worst = float(error[row, coordinate])
    if worst <= rtol:
        text = f"The score is the gradient of the log density in all {error.size} entries."
        return ScoreCheck(True, worst, text)
    got = f"{scores[row, coordinate]:.6g} where the log density has {gradient[row, coordinate]:.6g}"
    extent = f"{int((error > rtol).sum())} of {error.size} entries"
    text = f"The score is wrong in {extent}; most at row {row}, coordinate {coordinate}: {got}."
    for likely, expected, magnified in _mistakes(scores, gradient):
        if _relative_error(scores, expected, magnified * slack.max()).max() <= rtol:
            return ScoreCheck(False, worst, likely)
    return ScoreCheck(False, worst, text)


def _relative_error(scores: Floats, expected: Floats, uncertainty: Floats | float) -> Floats:
    """|s − g| beyond the error of g, relative to |g| or its median in that coordinate if that is larger."""
    excess = np.maximum(np.abs(scores - expected) - 4.0 * uncertainty, 0.0)
    size = np.maximum(np.abs(expected), np.median(np.abs(expected), axis=0))
    return np.asarray(np.divide(excess, size, out=np.where(excess > 0.0, np.inf, 0.0), where=size > 0.0))


def _mistakes(scores: Floats, gradient: Floats) -> Iterator[Mistake]:
    """Common mistakes, the score that each would give, and how much it magnifies errors of the gradient."""
    n, d = scores.shape
    for factor, text in _FACTORS.items():
        yield text, factor * gradient, abs(factor)
    if n < 3:  # a factor or an offset for each coordinate explains too much of two rows
        return
    if (weight := float((gradient**2).sum())) > 0.0:
        factor = float((scores * gradient).sum()) / weight
        yield f"The score is {factor:.6g} times the gradient of the log density.", factor * gradient, abs(factor)
    offset = np.median(scores - gradient, axis=0)
    shown = f" {np.array2string(offset, precision=4, suppress_small=True)}" if d <= 6 else ""
    text = f"The score is off by a constant vector{shown}: is a location, a linear term or a Jacobian wrong?"
    yield text, gradient + offset, 1.0
    cost = np.abs(scores[:, :, None] - gradient[:, None, :]).sum(axis=0)
    order = scipy.optimize.linear_sum_assignment(cost)[1]  # the nearest columns, each used once
    shown = f": they hold {order.tolist()}" if d <= 12 else ""
    yield f"The coordinates of the score are in another order{shown}.", gradient[:, order], 1.0


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


def find_endings(log_density: Density, x: Floats) -> list[Ending]:
    """Ends of the density beyond the points ``x`` at which it vanishes no faster than the distance from them."""
    found = (_ending(log_density, x, column, sign) for column in range(x.shape[1]) for sign in (-1.0, 1.0))
    return [ending for ending in found if ending is not None and ending.order <= 1.02]


def _ending(log_density: Density, x: Floats, column: int, sign: float) -> Ending | None:
    start = x[np.argmax(sign * x[:, column])]
    spread = float(np.subtract(*np.quantile(x[:, column], [0.75, 0.25]))) or 1.0

    def at(places: Floats) -> Floats:
        points = np.tile(start, (len(places), 1))
        points[:, column] = places
        with np.errstate(all="ignore"):
            return np.asarray(log_density(points))

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
