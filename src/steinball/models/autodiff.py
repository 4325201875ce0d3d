"""A log density in, a model with a score out: automatic or numerical differentiation."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import array_api_compat
import numpy as np

from steinball.arrays import Array, as_samples, check_resamples, dtype_name, is_array, namespace, private_copy, to_host
from steinball.models.base import as_extras
from steinball.models.differences import numerical_gradient
from steinball.models.knowledge import LOG_DENSITIES, Knowledge
from steinball.models.support import Support

Function = Callable[[Array], Array]
Task = Callable[[Any, Array], Any]


def from_log_density(
    log_density: Function,
    *,
    backend: str,
    dimension: int | None = None,
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
    dimension : int, optional
        The number of columns that ``x`` must have.
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
    if not isinstance(backend, str) or backend not in _BACKENDS:
        raise ValueError(f'`backend` must be "jax", "torch" or "numerical", got {backend!r}.')
    if backend != "numerical":
        _library(backend)
    if dimension is not None:
        dimension = check_resamples(dimension, "dimension")
    support, sample, _, growth = as_extras(support, sample, None, growth)
    return DifferentiatedDensity(log_density, backend, dimension, support, sample, growth)


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
        values, gradient = _BACKENDS[self.backend].gradient(library, self.function, z, room)
        check_rows(self.function, z, values)
        return gradient

    def _run(self, task: Task, x: Array) -> Array:
        x = as_samples(x, "x", least=1)
        if self.dimension is not None and x.shape[1] != self.dimension:
            raise ValueError(f"`x` must have `dimension={self.dimension}` columns, got {x.shape[1]}.")
        _refuse_foreign(x, self.backend)
        return _BACKENDS[self.backend].run(task, x)


@dataclass(frozen=True)
class _Backend:
    """``run(task, x)`` calls ``task(library, z)``, z being x in that library, and brings the result back."""

    run: Callable[[Task, Array], Array]
    gradient: Callable[[Any, Function, Array, Any], tuple[Array, Array]]


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
    if dtype_name(x) != "float64":
        return nullcontext()
    # Older releases of JAX keep it under `experimental`.
    module = jax if hasattr(jax, "enable_x64") else import_module("jax.experimental")
    return module.enable_x64(True)  # type: ignore[no-any-return]


def _jax_gradient(jax: Any, function: Function, z: Array, _: Any) -> tuple[Array, Array]:
    def total(points: Array) -> tuple[Array, Array]:
        values = one_per_row(function(points), points)
        return values.sum(), values

    (_, values), gradient = jax.value_and_grad(total, has_aux=True)(z)
    return values, gradient


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


_BACKENDS = {
    "jax": _Backend(_run_in_jax, _jax_gradient),
    "torch": _Backend(_run_in_torch, _torch_gradient),
    "numerical": _Backend(_run_in_numpy, _numerical_gradient),
}


def one_per_row(values: Any, x: Array) -> Array:
    """The values of a log density at the rows of ``x`` as (n,), or an error that says what went wrong."""
    n, d = x.shape
    shape = tuple(values.shape) if is_array(values) else None
    if shape in ((n,), (n, 1)) or (n == 1 and shape == ()):  # scipy drops the axis of a single row
        return namespace(values).reshape(values, (n,))
    got = f"got shape {shape}" if shape is not None else f"got a {type(values).__name__}"
    advice = ""
    if shape == ():
        got = "got one number for all"
        advice = " Sum over the last axis only, or `vmap` a function of one point."
    elif shape == (n, d):
        advice = " Sum over the last axis; if it is the score, pass the function itself as the model."
    raise ValueError(f"`log_density` must return one number for each of the {n} rows, {got}.{advice}")


def check_rows(function: Function, x: Array, values: Array) -> None:
    """Refuse a log density that mixes rows, as the gradient of its sum is no score."""
    n = x.shape[0]
    if n == 1:
        return
    few = 2 if n > 2 else 1  # two where possible: some functions do not take a single row
    alone = to_host(one_per_row(function(private_copy(x[:few, :])), x[:few, :]))
    rtol = 1e-6 if dtype_name(values) == "float64" else 1e-3
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
