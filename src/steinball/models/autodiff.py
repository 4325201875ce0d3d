"""A log density in, a model with a score out: automatic differentiation, or finite differences with their error."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from steinball import arrays
from steinball.arrays import Array, Floats, namespace, private_copy, to_host
from steinball.models.base import as_extras
from steinball.models.knowledge import LOG_DENSITIES, Knowledge
from steinball.models.support import Support

Function = Callable[[Array], Array]
Task = Callable[[Any, Array], Any]

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
    sizes = _STEP * (np.maximum(1.0, np.abs(at)) if units is None else units)
    steps = zip(np.diag(sizes), sizes, strict=True)
    return np.stack([(function(at + step) - function(at - step)) / (2.0 * size) for step, size in steps], axis=-1)


def numerical_gradient(function: Function, x: Array, room: Floats | None = None) -> tuple[Floats, Floats]:
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
    slopes, errors = (np.stack(part, axis=1) for part in zip(*columns, strict=True))
    return slopes, errors


def _partial_derivative(function: Function, x: Array, j: int, first: Array) -> tuple[Floats, Floats]:
    with np.errstate(all="ignore"):  # long steps may leave the support; their NaN is never chosen
        ladder = [_central_difference(function, x, j, first * _RATIO**-k) for k in range(_LEVELS)]
        rise, width, noise = (np.stack(part) for part in zip(*ladder, strict=True))  # (levels, n) each
        noise = np.maximum(noise, _quantum(rise))
        return _best_extrapolation(rise / width, noise / width)


def _central_difference(function: Function, x: Array, j: int, step: Array) -> tuple[Floats, Floats, Floats]:
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
    """Errors of each step h, raised in place to at least that of the next shorter step over the ratio of the steps.

    Rounding errors grow as 1/h. An error may be small by chance; the shortest step, which has no shorter one to bound
    it, is held to two longer ones.
    """
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


def from_log_density(
    log_density: Function,
    *,
    backend: str,
    support: Any = None,
    sample: Callable[..., Any] | None = None,
    growth: float | None = None,
) -> DifferentiatedDensity:
    r"""The model of a log density, with its score by differentiation,

    .. math:: s(x) = \nabla_x \log p(x)

    (Liu and Briol 2025, §2.1). Additive constants of :math:`\log p` do not matter.

    Parameters
    ----------
    log_density : callable
        Maps (n, d) to (n,), each row by itself; a column (n, 1) is taken as well. It is called with arrays of
        the backend's library. A function of one point becomes one of rows by ``jax.vmap`` or ``torch.vmap``.
    backend : {"jax", "torch", "numerical"}
        What differentiates. There is no default, since a function does not tell what it is written in.
    support, sample, growth : optional
        Where the density ends, draws of it, and how its score grows: as in :func:`steinball.from_score`.

    Notes
    -----
    NumPy samples go into JAX and torch and come back as NumPy, float64 in float64 (JAX computes in 64 bits
    for the call, whatever its global setting).

    ``"numerical"`` calls a NumPy function in float64 28·d times and extrapolates central differences, with
    steps found for every row and coordinate. Where the function is smooth and accurate to rounding, and
    varies over a length L of at least 1e-8·max(1, \|x\|), the error is below 1e-8 of the larger of the score
    and 1/L.

    Examples
    --------
    >>> import numpy as np
    >>> model = from_log_density(lambda x: -(x**4).sum(axis=1), backend="numerical")
    >>> model.score(np.array([[1.0, 2.0]])).round(6)
    array([[ -4., -32.]])
    """
    if not callable(log_density):
        method, got = Knowledge(log_density).density_method, type(log_density).__name__
        hint = f"; pass its method `{method}`" if method in LOG_DENSITIES else ""
        raise TypeError(f"`log_density` must be a function (n, d) -> (n,), got an object of type {got}{hint}.")
    if arrays.check_choice(backend, "backend", tuple(_BACKENDS)) != "numerical":
        _library(backend)
    return DifferentiatedDensity(log_density, backend, **as_extras(support, growth, sample=sample))


@dataclass(frozen=True)
class DifferentiatedDensity:
    """A log density and what differentiates it; made by :func:`from_log_density`."""

    function: Function
    backend: str
    dimension: int | None = None
    support: Support | None = None
    sample: Callable[..., Any] | None = None
    growth: float | None = None
    takes_numpy: ClassVar[bool] = True
    derived: ClassVar[bool] = True

    def log_density(self, x: Array, /) -> Array:
        """The log density at every row of ``x``, shape (n,)."""
        return self._run(lambda library, z: one_per_row(self.function(private_copy(z)), z), x)

    def score(self, x: Array, /) -> Array:
        """The gradient of the log density at every row of ``x``, shape (n, d)."""
        return self._run(self._checked_gradient, x)

    def _checked_gradient(self, library: Any, z: Array) -> Array:
        room = None if self.support is None else self.support.distance(to_host(z))
        values, gradient = _BACKENDS[self.backend][1](library, self.function, z, room)
        check_rows(self.function, z, values)
        return gradient

    def _run(self, task: Task, x: Array) -> Array:
        x = arrays.as_samples(x, "x", least=1)
        if self.dimension is not None and x.shape[1] != self.dimension:
            raise ValueError(f"`x` must have `dimension={self.dimension}` columns, got {x.shape[1]}.")
        _refuse_foreign(x, self.backend)
        return _BACKENDS[self.backend][0](task, x)


def _run_in_jax(task: Task, x: Array) -> Array:
    jax = _library("jax")
    with _precision(jax, x):
        try:
            result = task(jax, jax.numpy.asarray(x))
        except jax.errors.TracerArrayConversionError as error:
            raise TypeError(_not_differentiable("jax", "jax.numpy")) from error
        return result if array_api_compat.is_jax_array(x) else np.array(result)


def _precision(jax: Any, x: Array) -> AbstractContextManager[Any]:
    """64 bits for float64 points: without them JAX would turn them into float32 in silence."""
    if arrays.dtype_name(x) != "float64":
        return nullcontext()
    # Older releases of JAX keep it under `experimental`.
    module = jax if hasattr(jax, "enable_x64") else import_module("jax.experimental")
    return module.enable_x64(True)  # type: ignore[no-any-return]


def _jax_gradient(jax: Any, function: Function, z: Array, _: Any) -> tuple[Array, Array]:
    values, pulled_back = jax.vjp(lambda points: one_per_row(function(points), points), z)
    return values, pulled_back(jax.numpy.ones_like(values))[0]


def _run_in_torch(task: Task, x: Array) -> Array:
    torch = _library("torch")
    # Leaving inference mode comes first: a tensor that is made inside it cannot be differentiated.
    with torch.inference_mode(False), torch.enable_grad():
        if array_api_compat.is_torch_array(x):
            return torch.as_tensor(task(torch, x.detach().clone())).detach()
        return torch.as_tensor(task(torch, torch.tensor(np.ascontiguousarray(x)))).detach().numpy()


def _torch_gradient(torch: Any, function: Function, z: Array, _: Any) -> tuple[Array, Array]:
    z = z.requires_grad_(True)
    try:
        values = one_per_row(function(z), z)
    except RuntimeError as error:
        # NumPy functions ask a tensor for its memory; to detach it, as torch advises, would lose the score.
        if "numpy()" in str(error):
            raise TypeError(_not_differentiable("torch", "torch")) from error
        raise
    attached = getattr(values, "requires_grad", False)
    gradient = torch.autograd.grad(values.sum(), z, allow_unused=True)[0] if attached else None
    if gradient is None:
        raise TypeError(_not_differentiable("torch", "torch"))
    return values.detach(), gradient


def _run_in_numpy(task: Task, x: Array) -> Array:
    return task(np, x.astype(np.float64)).astype(x.dtype)


def _numerical_gradient(_: Any, function: Function, z: Array, room: Any) -> tuple[Array, Array]:
    def values(points: Array) -> Array:
        return to_host(one_per_row(function(private_copy(points)), points))

    return values(z), numerical_gradient(values, z, room)[0]


#: How a task (library, z) is run on points x, z being x in that library; and values and gradients of a function there.
_BACKENDS: dict[str, tuple[Callable[[Task, Array], Array], Callable[..., tuple[Array, Array]]]] = {
    "jax": (_run_in_jax, _jax_gradient),
    "torch": (_run_in_torch, _torch_gradient),
    "numerical": (_run_in_numpy, _numerical_gradient),
}


def one_per_row(values: Any, x: Array) -> Array:
    """The values of a log density at the rows of ``x`` as (n,), or an error that says what went wrong."""
    n, d = x.shape
    shape = tuple(values.shape) if arrays.is_array(values) else None
    if shape in ((n,), (n, 1)) or (n == 1 and shape == ()):  # scipy drops the axis of a single row
        return namespace(values).reshape(values, (n,))
    got = f"a {type(values).__name__}" if shape is None else "one number for all" if shape == () else f"shape {shape}"
    advice: dict[Any, str] = {
        (): " Sum over the last axis only, or `vmap` a function of one point.",
        (n, d): " Sum over the last axis; if it is the score, pass the function itself as the model.",
    }
    raise ValueError(
        f"`log_density` must return one number for each of the {n} rows, got {got}.{advice.get(shape, '')}"
    )


def check_rows(function: Function, x: Array, values: Array) -> None:
    """Refuse a log density that mixes rows, as the gradient of its sum is no score."""
    few = min(2, x.shape[0] - 1)  # two where possible: some functions do not take a single row
    if few == 0:
        return
    alone = to_host(one_per_row(function(private_copy(x[:few, :])), x[:few, :]))
    rtol = 1e-6 if arrays.dtype_name(values) == "float64" else 1e-3
    together = to_host(values[:few])
    size = np.abs(together[np.isfinite(together)]).max(initial=1.0)
    if not np.allclose(alone, together, rtol=0.0, atol=rtol * size, equal_nan=True):
        raise ValueError(
            "`log_density` must treat each row by itself, but its value at the first rows changes with the "
            "others; reduce over the last axis only."
        )


def _library(backend: str) -> Any:
    try:
        return import_module(backend)
    except ImportError as error:
        text = f'`backend="{backend}"` needs {backend}, which is not installed: pip install steinball[{backend}]'
        raise ImportError(text) from error


def _refuse_foreign(x: Array, backend: str) -> None:
    own = {"jax": array_api_compat.is_jax_array, "torch": array_api_compat.is_torch_array}
    if array_api_compat.is_numpy_array(x) or (backend in own and own[backend](x)):
        return
    library = type(x).__module__.partition(".")[0].replace("jaxlib", "jax")
    accepted = f"{backend} or NumPy" if backend in own else "NumPy"
    raise TypeError(
        f'`x` is a {library} array but the log density is differentiated by backend="{backend}", which takes '
        f"{accepted} arrays; convert the samples, or choose the backend of their library."
    )


def _not_differentiable(backend: str, module: str) -> str:
    return (
        f'backend="{backend}" cannot differentiate `log_density`: its value does not follow from `x` by '
        f'{backend} operations. Write it with `{module}`, or use backend="numerical" for a NumPy function.'
    )
