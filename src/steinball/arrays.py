"""Arrays of any library, and every check of what a user passes in.

Past this file the code contains mathematics only: samples and scores are finite, two-dimensional, of one array
library, one device and one floating dtype.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from steinball.frames import from_frame

Array: TypeAlias = Any
"""An array of NumPy, torch, JAX, CuPy or any other library of the array API standard."""

Floats: TypeAlias = NDArray[np.float64]
"""A NumPy array of float64, of any shape: what is computed on the host."""

LEAST_LEVEL = 1e-300
MOST_COUNTED = 10**9
"""Beyond it, whatever is counted takes more memory or time than there is."""

SMALL_JAX = 2000
"""Up to so many rows samples of JAX are computed in NumPy: its compiler takes seconds, whatever the size."""

PAGE_LOCKED_FROM = 2**18
"""From so many numbers on, page-locked memory pays for what a GPU sends to the host."""

_FLOATS = {np.dtype(name): name for name in ("float64", "float32")}  # NumPy takes long to say its names
_NUMPY_SUFFICES = hasattr(np, "astype")  # from 2.1 on it has every name of the standard that is used here


class OutOfRangeError(ValueError, FloatingPointError):
    """Finite numbers went in, and what they lead to is too large or too small for a float."""


class MemoryLimitError(ValueError, MemoryError):
    """What was asked for takes more memory than may be used."""


def namespace(*arrays: Array) -> Any:
    """The library of arrays, as a module with the names of the array API standard."""
    if _NUMPY_SUFFICES and set(map(type, arrays)) == {np.ndarray}:
        return np
    return array_api_compat.array_namespace(*arrays)


def is_array(value: object) -> bool:
    """Whether ``value`` is an array of a library of the array API standard."""
    return bool(array_api_compat.is_array_api_obj(value))


def is_array_like(value: object) -> bool:
    """Whether ``value`` is an array, a frame or a nested list."""
    return is_array(value) or isinstance(value, (list, tuple)) or hasattr(type(value), "__array__")


def dtype_name(x: Array) -> str:
    """Name of the dtype of ``x``, without the library's prefix: ``"float64"``."""
    usual = _FLOATS.get(x.dtype) if isinstance(x, np.ndarray) else None
    return usual or str(x.dtype).rpartition(".")[2]


def like(value: Any, x: Array) -> Array:
    """``value`` as an array of the library, dtype and device of ``x``, which must be floating."""
    if type(value) is type(x) is np.ndarray and value.dtype == x.dtype and x.dtype.kind == "f":
        return value
    xp = namespace(x)
    if not xp.isdtype(x.dtype, "real floating"):  # a parameter cast to whole numbers would be another one
        raise TypeError(f"arrays must be floating, got {dtype_name(x)}; convert them to float64.")
    if isinstance(value, np.ndarray) and not value.flags.writeable and not isinstance(x, np.ndarray):
        value = value.copy()  # torch warns when it is handed memory that must not be written to
    return xp.asarray(value, dtype=x.dtype, device=array_api_compat.device(x))


def private_copy(x: Array) -> Array:
    """A copy of ``x`` for code that is not ours, which may write into it."""
    if array_api_compat.is_torch_array(x):
        return x.detach().clone()
    return namespace(x).asarray(x, copy=True)


def to_host(x: Array) -> NDArray[np.float64]:
    """``x`` as a NumPy array of float64."""
    if isinstance(x, np.ndarray) or not is_array(x) or array_api_compat.is_numpy_array(x):
        return np.asarray(x, dtype=np.float64)
    if array_api_compat.is_torch_array(x):
        x = x.detach()
        if not x.is_cuda or x.numel() < PAGE_LOCKED_FROM:
            return np.asarray(x.cpu().numpy(), dtype=np.float64)
        import torch  # a large tensor on a GPU is widened there and comes through page-locked memory

        return np.asarray(torch.empty(x.shape, dtype=torch.float64, pin_memory=True).copy_(x.double()).numpy())
    if array_api_compat.is_cupy_array(x):
        return np.asarray(x.get(), dtype=np.float64)
    return np.asarray(x if array_api_compat.is_jax_array(x) else np.from_dlpack(x)).astype(np.float64)


def take_rows(x: Array, rows: NDArray[np.integer]) -> Array:
    """The given rows of ``x``, picked on its own device."""
    xp = namespace(x)
    return xp.take(x, xp.asarray(np.asarray(rows, dtype=np.int64), device=array_api_compat.device(x)), axis=0)


def _library(x: Array) -> str:
    return str(type(x).__module__.partition(".")[0]).replace("jaxlib", "jax")


def _as_float_array(x: Any, name: str) -> Array:
    x = from_frame(x, name)
    if not is_array(x):
        try:
            x = np.asarray(x)
        except ValueError:
            raise ValueError(f"`{name}` must be a rectangular array of numbers; its rows differ in length.") from None
    _refuse_without_numbers(x, name)
    xp = namespace(x)
    if array_api_compat.is_torch_array(x) and "strided" not in str(x.layout):
        raise TypeError(f"`{name}` must be a dense array, got a tensor of layout {x.layout}; use its `to_dense()`.")
    if not xp.isdtype(x.dtype, ("real floating", "integral")):
        raise TypeError(f"`{name}` must hold real numbers, got dtype {dtype_name(x)}.")
    x = x.detach() if array_api_compat.is_torch_array(x) else x  # no test differentiates through what it is given
    return _standard_float(_plain_numpy(x) if isinstance(x, np.ndarray) else x, xp, name)


def _refuse_without_numbers(x: Array, name: str) -> None:
    """Refuse arrays that stand for numbers which are not there: of Dask, inside `jax.jit`, on torch's meta device."""
    if _library(x) == "dask":
        raise TypeError(f"`{name}` is a Dask array, whose numbers are not in memory yet. Pass `{name}.compute()`.")
    if "Tracer" in type(x).__name__:
        raise TypeError(
            f"`{name}` is traced by JAX and holds no numbers. Call this outside of `jax.jit`, `vmap` and `grad`."
        )
    if array_api_compat.is_torch_array(x) and x.device.type == "meta":
        raise TypeError(f"`{name}` is on torch's meta device, which holds no numbers. Put it on a CPU or GPU.")


def _plain_numpy(x: NDArray[Any]) -> NDArray[Any]:
    """Numbers in this machine's byte order; masked entries become NaN, to be found by the check that follows."""
    if np.ma.is_masked(x):
        x = x.astype(np.float64).filled(np.nan)  # type: ignore[attr-defined]
    return np.asarray(x, dtype=x.dtype if x.dtype.isnative else x.dtype.newbyteorder("="))


def _standard_float(x: Array, xp: Any, name: str) -> Array:
    """float64 and float32 stay, half precision becomes float32, integers float64."""
    kind = dtype_name(x)
    if kind in _FLOATS.values():
        return x
    if xp.isdtype(x.dtype, "real floating"):
        if "16" not in kind:  # an 80-bit float has no counterpart elsewhere
            raise TypeError(f"`{name}` must be float32 or float64, got {kind}.")
        return xp.astype(x, xp.float32)
    # JAX has float64 only where its 64-bit mode is on.
    return xp.astype(x, xp.asarray(0.0).dtype if array_api_compat.is_jax_array(x) else xp.float64)


def as_numbers(value: Any, name: str) -> Floats:
    """A parameter as NumPy float64 of its own shape: text, dates and the like are refused, masked entries are NaN."""
    return np.array(to_host(_as_float_array(value, name)))


def _as_matrix(x: Array, name: str) -> Array:
    if x.ndim == 1:
        x = namespace(x).reshape(x, (-1, 1))
    if x.ndim == 3:
        chains, _, d = x.shape
        raise ValueError(
            f"`{name}` must have shape (n, d), got {tuple(x.shape)}. If that is (chain, draw, d), use "
            "`sb.mcmc_test`, which tests draws against a posterior; or pass "
            f'`x.reshape(-1, {d})`, chain behind chain, and `WildBootstrap(dependence="auto", chains={chains})` as '
            "calibration: draws of a chain are not independent."
        )
    if x.ndim != 2:
        raise ValueError(f"`{name}` must have shape (n, d), got {tuple(x.shape)}.")
    return x


def _check_finite(x: Array, name: str) -> None:
    xp = namespace(x)
    if bool(xp.all(xp.isfinite(x))):
        return
    bad = np.flatnonzero(~np.isfinite(to_host(x)).all(axis=1))
    raise ValueError(
        f"`{name}` must be finite, but {bad.size} of {x.shape[0]} rows hold NaN or infinity (first: row {bad[0]}). "
        "Remove or impute them before testing."
    )


def as_samples(x: Any, name: str = "samples", *, least: int = 2) -> Array:
    """Samples as a finite (n, d) floating array of the user's own library.

    Parameters
    ----------
    x : array, frame or nested list
        Shape (n, d), rows are observations; (n,) means d = 1.
    name : str
        What errors call it.
    least : int
        The smallest number of rows allowed.

    Examples
    --------
    >>> as_samples([1, 2, 3]).shape
    (3, 1)
    """
    x = _as_matrix(_as_float_array(x, name), name)
    n, d = x.shape
    if n < least:
        raise ValueError(f"`{name}` must have at least {least} rows, got {n}.")
    if d < 1:
        raise ValueError(f"`{name}` must have at least one column, got shape {tuple(x.shape)}.")
    _check_finite(x, name)
    return x


def computed(x: Array) -> Array:
    """Checked samples in the precision to compute in: float32 becomes float64 on a CPU, where it saves no time.

    A GPU keeps what it is given, and JAX outside of its 64-bit mode has nothing wider.
    """
    xp = namespace(x)
    host = array_api_compat.is_numpy_array(x) or "cpu" in str(array_api_compat.device(x)).lower()
    narrow = array_api_compat.is_jax_array(x) and xp.asarray(0.0).dtype != xp.float64
    return xp.astype(x, xp.float64) if host and dtype_name(x) == "float32" and not narrow else x


def is_small_jax(x: Array) -> bool:
    """Whether ``x`` is of JAX and has so few rows that compiling for it would take longer than NumPy takes."""
    return bool(array_api_compat.is_jax_array(x)) and x.shape[0] <= SMALL_JAX


def as_scores(scores: Any, samples: Array, name: str = "scores") -> Array:
    """Scores as a finite array of the shape, library, device and dtype of ``samples``."""
    scores = _matched(_as_float_array(scores, name), samples, name, "return scores from the same array library")
    scores = _match_shape(scores, samples, name)
    _check_finite(scores, name)
    return scores


def as_second_samples(y: Any, samples: Array, name: str = "y") -> Array:
    """Another sample, with the columns, library, device and dtype of ``samples``."""
    y = _matched(as_samples(y, name, least=1), samples, name, "pass both from one array library")
    if y.shape[1] != samples.shape[1]:
        raise ValueError(f"`{name}` must have the {samples.shape[1]} columns of `samples`, got shape {tuple(y.shape)}.")
    return y


def _matched(y: Array, samples: Array, name: str, remedy: str) -> Array:
    """``y`` of the library, on the device and in the precision of ``samples``: widening loses nothing and is done, all
    else is refused."""
    ours, theirs = _library(samples), _library(y)
    if ours != theirs:
        raise TypeError(f"`samples` is a {ours} array but `{name}` is a {theirs} array; {remedy}.")
    here, there = array_api_compat.device(samples), array_api_compat.device(y)
    if here != there:
        raise ValueError(f"`samples` is on device {here} but `{name}` on {there}; put both on one device.")
    if y.dtype == samples.dtype:
        return y
    if dtype_name(samples) == "float64":
        return namespace(samples).astype(y, samples.dtype)
    raise TypeError(
        f"`samples` is {dtype_name(samples)} but `{name}` is {dtype_name(y)}; "
        f"convert the samples to float64, or give `{name}` their precision."
    )


def _match_shape(scores: Array, samples: Array, name: str) -> Array:
    if tuple(scores.shape) == tuple(samples.shape):
        return scores
    one_per_row = tuple(scores.shape) == (samples.shape[0],)
    if one_per_row and samples.shape[1] == 1:
        return _as_matrix(scores, name)
    hint = " One number per row looks like a log density: pass it through `from_log_density`." if one_per_row else ""
    raise ValueError(
        f"`{name}` must have the shape of `samples`, {tuple(samples.shape)}, got {tuple(scores.shape)}.{hint}"
    )


def as_number(
    value: Any, name: str, *, low: float = -math.inf, high: float = math.inf, open_low: bool = False
) -> float:
    """A finite float within [low, high], or (low, high] when ``open_low``."""
    try:
        if isinstance(value, (str, bytes, bool, np.bool)) or np.ndim(value):  # float() would read them
            raise TypeError
        number = float(value)
    except OverflowError:  # a whole number beyond all floats
        number = math.inf
    except (TypeError, ValueError):
        raise TypeError(f"`{name}` must be a number, got {value!r}.") from None
    inside = (low < number if open_low else low <= number) and number <= high
    if not (math.isfinite(number) and inside):
        interval = f"{'(' if open_low or low == -math.inf else '['}{low:g}, {high:g}{')' if high == math.inf else ']'}"
        raise ValueError(f"`{name}` must be a finite number in {interval}, got {number!r}.")
    return number


def check_choice(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """One of several words."""
    if not isinstance(value, str) or value not in choices:
        words = [f'"{choice}"' for choice in choices]
        raise ValueError(f"`{name}` must be {', '.join(words[:-1])} or {words[-1]}, got {value!r}.")
    return value


@contextmanager
def naming(what: str) -> Iterator[None]:
    """Errors about one of several things say which."""
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{what}: {error}") from error


def check_kind(value: Any, kind: type | tuple[type, ...], name: str, wanted: str) -> Any:
    """``value``, if it is an instance of ``kind``, which users know as ``wanted``."""
    if not isinstance(value, kind):
        raise TypeError(f"`{name}` must be {wanted}, got {value!r}.")
    return value


def check_share(value: Any, name: str) -> float:
    """A share: a number in [0, 1]."""
    return as_number(value, name, low=0.0, high=1.0)


def check_level(level: float, n_resamples: int = 0, kernels: int = 1, *, name: str = "level") -> float:
    """A level in (0, ½] that ``n_resamples`` bootstrap draws can reach (0 draws: any), shared by so many kernels."""
    level = as_number(level, name, low=0.0, high=1.0, open_low=True)
    if level < LEAST_LEVEL:
        raise ValueError(f"`{name}` must be at least {LEAST_LEVEL:g}, got {level:g}: its inverse is no float.")
    if level > 0.5:
        raise ValueError(
            f"`{name}` is the share of true models that are rejected, at most 0.5, got {level:g}. For a confidence of "
            f"{level:g} use `{name}={1.0 - level:.4g}`."
        )
    if n_resamples and level * (n_resamples + 1) < kernels * (1.0 - 1e-12):
        least = math.ceil(kernels / level - 1e-9) - 1
        each = "" if kernels == 1 else f" over {kernels} kernels"
        raise ValueError(
            f"`n_resamples={n_resamples}` cannot reach `{name}={level:g}`{each}: the smallest p-value is "
            f"{kernels}/{n_resamples + 1} = {kernels / (n_resamples + 1):.3f}. Use at least "
            f"{least if least < MOST_COUNTED else f'{least:.3g}'}."
        )
    return level


def check_resamples(n_resamples: Any, name: str = "n_resamples", least: int = 1) -> int:
    """A positive whole number of bootstrap draws, or of anything else that is counted."""
    if isinstance(n_resamples, bool) or not isinstance(n_resamples, (int, np.integer)):
        raise TypeError(f"`{name}` must be a whole number, got {n_resamples!r}.")
    if n_resamples < least:
        raise ValueError(f"`{name}` must be at least {least}, got {n_resamples}.")
    if n_resamples > MOST_COUNTED:
        raise ValueError(f"`{name}` must be at most {MOST_COUNTED:,}, got more.")
    return int(n_resamples)


def chunks(n: int, each: int, most: int) -> list[slice]:
    """Slices of n rows with ``each`` so many values, such that a slice has at most ``most`` values, or one row.

    Examples
    --------
    >>> chunks(5, 3, 6)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    size = max(1, most // max(each, 1))
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def as_seed(rng: Any) -> np.random.SeedSequence:
    """The root of all randomness of one test, from anything that SPEC 7 allows.

    A ``Generator`` is advanced by a few numbers, so that two tests with one generator differ.
    """
    if isinstance(rng, np.random.RandomState):
        raise TypeError(
            "`rng` must be None, an int, a SeedSequence or a Generator; the legacy RandomState is not read."
        )
    numbers: list[int] = as_generator(rng).integers(0, 2**63, size=4).tolist()
    # In the words that NumPy makes of them: generators below this seed are many, and need not split numbers again.
    words = [number >> shift & 0xFFFFFFFF for number in numbers for shift in ((0, 32) if number >> 32 else (0,))]
    return np.random.SeedSequence(np.array(words, dtype=np.uint32))


def as_generator(rng: Any) -> np.random.Generator:
    """The generator that SPEC 7 makes of ``rng``."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"`rng` must be None, a non-negative int, a SeedSequence or a Generator, got {rng!r}."
        ) from error


def generator_at(seed: np.random.SeedSequence, k: int) -> np.random.Generator:
    """The k-th generator below ``seed``, the same in whatever order they are asked for."""
    child = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, k))
    return np.random.Generator(np.random.PCG64(child))
