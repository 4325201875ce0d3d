"""Tiles on the device of the samples: torch, JAX, CuPy, other array libraries, and kernels as source of Triton."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import array_api_compat
import numpy as np
from array_api_compat import device, is_cupy_array, is_jax_array, is_torch_array

from steinball.arrays import Array, Floats, dtype_name, like, namespace, to_host
from steinball.gram.base import linear_forms
from steinball.gram.request import Request
from steinball.gram.tiles import Asked, Strip, cut_strip, tile_sums
from steinball.gram.weights import Chunk, chunk_makers
from steinball.gram.workers import available_jobs
from steinball.kernels.base import Kernel, unit_kernel
from steinball.stein import SteinKernel, SteinPoints, center_of

if TYPE_CHECKING:
    from steinball.problem import Problem


def has_triton(samples: Array) -> bool:
    """Whether Triton is installed, and the GPU of ``samples`` (a torch tensor on CUDA) has matrix units for TF32."""
    import torch

    ours = find_spec("triton") is not None and torch.version.cuda is not None
    return ours and torch.cuda.get_device_capability(samples.device) >= (8, 0)


def _operation(form: str) -> Callable[..., Traced]:
    """An operator of :class:`Traced`, whose source has its operands in the places of ``form``."""
    return lambda left, right=None: left._new(form.format(left, right))


class Traced:
    """A number of one pair of points, as the name of a variable in ``lines`` of Triton that compute it.

    Kernels are written for any array library; this is one whose arrays are lines of source.

    Examples
    --------
    >>> lines = []
    >>> r2 = Traced("r2", lines)
    >>> namespace = r2.__array_namespace__()
    >>> (2.0 * namespace.exp(-r2)).name, lines
    ('v2', ['v0 = -r2', 'v1 = tl.exp(v0)', 'v2 = v1 * 2.0'])
    """

    def __init__(self, name: str, lines: list[str]) -> None:
        self.name, self.lines = name, lines

    def __repr__(self) -> str:
        return self.name

    def __array_namespace__(self, api_version: str | None = None) -> type[Functions]:
        return Functions

    def _new(self, source: str) -> Traced:
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {source}")
        return Traced(name, self.lines)

    __add__ = __radd__ = _operation("{0} + {1}")
    __mul__ = __rmul__ = _operation("{0} * {1}")
    __sub__, __rsub__ = _operation("{0} - {1}"), _operation("{1} - {0}")
    __truediv__, __rtruediv__ = _operation("{0} / {1}"), _operation("{1} / {0}")
    __neg__, __pow__ = _operation("-{0}"), _operation("tl.exp2({1} * tl.log2({0}))")


class Functions:
    """The functions of the array API that kernels are made of."""

    sqrt, exp = staticmethod(_operation("tl.sqrt({0})")), staticmethod(_operation("tl.exp({0})"))


def combine_source(kernel: Kernel) -> str | None:
    """:meth:`Kernel.combine` as a function of Triton; ``None`` where the kernel does more than :class:`Traced` knows.

    Examples
    --------
    >>> from steinball.kernels import Gaussian
    >>> print(combine_source(Gaussian(1.0)).splitlines()[1])
        v0 = r2 * -0.5
    """
    lines: list[str] = []
    r2, inner, cross, stretch = (Traced(name, lines) for name in ("r2", "inner", "cross", "stretch"))
    try:
        found = kernel.combine(r2, inner, cross, None if kernel.metric is None else stretch)
    except (AttributeError, TypeError, ValueError):
        return None
    return "\n    ".join(["def combine(r2, inner, cross, stretch):", *lines, f"return {found}"]) + "\n"


FUSED_DIMENSIONS = 32
"""Up to this dimension a compiler forms a whole block from differences, in one pass over it."""

LARGEST_BLOCK = 128
"""Tiles that one kernel makes are whole multiples of this."""

THREADS_FROM = 2**13
"""From so many points on, threads draw the bootstrap weights."""

KEPT_ON_DEVICE = 2**28
"""Up to this many weights they are converted to floating point once and kept."""

Step = Callable[[Strip, Strip], tuple[Array, Array, Array]]


def is_accelerated(samples: Array) -> bool:
    """Whether ``samples`` live on a GPU or the like."""
    name = str(device(samples)).lower()
    return is_cupy_array(samples) or any(kind in name for kind in ("cuda", "gpu", "tpu", "mps", "xpu"))


def on_cuda(samples: Array) -> bool:
    """Whether ``samples`` is a torch tensor on a CUDA device."""
    return bool(is_torch_array(samples) and samples.device.type == "cuda")


def compilable(samples: Array) -> bool:
    """Whether compiling pays: JAX anywhere; torch on CUDA (on a CPU its compiler takes longer than it saves)."""
    return is_jax_array(samples) or on_cuda(samples)


@contextmanager
def draw_precision() -> Iterator[None]:
    """Within it, matrix products of float32 on CUDA may round their factors to TF32.

    For tiles that one kernel of Triton makes, where the bootstrap products are the only matrix products that are left.
    Bootstrap weights are small integers, exact in TF32, and rounding the tile changes a draw by about 10⁻⁴/n of itself.
    A tile that is itself made of matrix products would lose its digits, and so would products with directions.
    """
    import torch

    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def compiled_step(stein: SteinKernel, samples: Array) -> Step:
    """:func:`steinball.gram.tiles.tile_sums` for this kernel, compiled once per kernel and shape."""
    compiled = _jax_step if is_jax_array(samples) else _torch_step
    flat = compiled(stein, int(samples.shape[1]))
    return lambda rows, columns: flat(_flatten(rows), _flatten(columns))


def _flatten(strip: Strip) -> tuple[Any, ...]:
    """Arrays only, and none of them twice: compilers look at which arguments coincide."""
    points = strip.points
    t = None if points.a is None else points.t  # without a metric, t = s
    vectors = (strip.weight, strip.bootstrap, strip.directions)
    return (points.z, points.s, t, points.a, points.sides, *vectors, *strip.places)


def _restore(z: Array, s: Array, t: Array | None, a: Array | None, sides: Any, *vectors: Array) -> Strip:
    weight, bootstrap, directions, *places = vectors
    points = SteinPoints(z, s, s if t is None else t, a, None, sides)
    return Strip(points, weight, bootstrap, directions, tuple(places))


def _flat_step(stein: SteinKernel, dimension: int) -> Callable[..., tuple[Array, Array, Array]]:
    fused = dimension <= FUSED_DIMENSIONS

    def step(rows: tuple[Any, ...], columns: tuple[Any, ...]) -> tuple[Array, Array, Array]:
        return tile_sums(stein, _restore(*rows), _restore(*columns), fused)

    return step


@cache
def _jax_step(stein: SteinKernel, dimension: int) -> Callable[..., tuple[Array, Array, Array]]:
    import jax

    compiled = jax.jit(_flat_step(stein, dimension))

    def step(rows: tuple[Any, ...], columns: tuple[Any, ...]) -> tuple[Array, Array, Array]:
        with jax.default_matmul_precision("highest"):  # a GPU would round float32 to TF32 by default
            return compiled(rows, columns)  # type: ignore[no-any-return]

    return step


@cache
def _torch_step(stein: SteinKernel, dimension: int) -> Callable[..., tuple[Array, Array, Array]]:
    import torch

    plain = _flat_step(stein, dimension)
    # torch keeps at most eight compiled versions per code object; each kernel and dimension gets one of its own.
    plain.__code__ = plain.__code__.replace(co_name=f"tile_{dimension}")
    compiled = torch.compile(plain, dynamic=False)

    def step(rows: tuple[Any, ...], columns: tuple[Any, ...]) -> tuple[Array, Array, Array]:
        if rows[-1] is columns[-1]:  # a tile on the diagonal: arguments that are one and the same compile anew
            columns = tuple(x.clone() if isinstance(x, torch.Tensor) else x for x in columns)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's compiler warns of its own deprecated parts
            return compiled(rows, columns)  # type: ignore[no-any-return]

    return step


Sums = tuple[Floats, Floats]


@dataclass(eq=False)
class DeviceTiles:
    """The sums of every strip of tiles, computed on the device of the samples.

    The weights travel to the device once, as small integers. Of each tile only its sums are kept; they leave the
    device a strip at a time and are added on the host in float64: single precision costs a tile its digits, never
    the total.

    Where the library has a compiler, every tile gets the same shape (the last strip is filled up with points of weight
    0) and the kernel unit length scale, so that neither a new n nor a new length scale compiles anything.
    """

    problem: Problem
    request: Request
    tile: int

    def __post_init__(self) -> None:
        samples, n = self.problem.samples, len(self.problem)
        self.center = center_of(samples)
        apart = self.problem.stein.weighs_apart(samples)  # compiled tiles know one weight for all coordinates
        self.compiled = n >= 2 * self.tile and compilable(samples) and not apart
        self.stein, self.lengthscale = self.problem.stein, 1.0
        if self.compiled:
            kernel, self.lengthscale = unit_kernel(self.stein.kernel)
            self.stein = SteinKernel(kernel)
        self.padding = -n % self.tile if self.compiled else 0

    @property
    def details(self) -> dict[str, Any]:
        """What the result says of this work."""
        samples = self.problem.samples
        return {
            "tile": self.tile,
            "device": str(array_api_compat.device(samples)),
            "compiled": self.compiled,
            "draw_precision": "TF32" if self._source else dtype_name(samples),
        }

    def __iter__(self) -> Iterator[Sums]:
        n, starts = len(self.problem), range(0, len(self.problem), self.tile)
        points, self._asked = self._prepared()
        asked = self._asked
        cut, step = self._steps(points)

        @lru_cache(len(starts) if math.prod(asked.weights.shape) <= KEPT_ON_DEVICE else 1)
        def strip(k: int) -> Any:
            return cut(points[k], asked.part(slice(starts[k], starts[k] + len(points[k]))))

        with draw_precision() if self._source else nullcontext():
            for k, start in enumerate(starts):
                here = strip(k)
                parts = [step(here, here), *(step(here, strip(j)) for j in range(k + 1, len(starts)))]
                forms, sums = _add_strip(parts)
                yield forms, sums[:, : n - start]

    @cached_property
    def _source(self) -> str | None:
        """The Stein kernel in Triton, where one kernel makes a tile: float32 on CUDA, and draws alone asked for."""
        samples, asked = self.problem.samples, self.request
        single = self.compiled and on_cuda(samples) and dtype_name(samples) == "float32"
        alone = asked.orders is None and asked.directions is None and self.tile % LARGEST_BLOCK == 0
        return combine_source(self.stein.kernel) if single and alone and has_triton(samples) else None

    def _steps(self, points: list[SteinPoints]) -> tuple[Callable[[SteinPoints, Asked], Any], Callable[..., Any]]:
        """How strips are cut, and what a tile of two of them is made by."""
        samples, metric = self.problem.samples, self.stein.kernel.metric
        if self._source is None:
            return cut_strip, compiled_step(self.stein, samples) if self.compiled else partial(tile_sums, self.stein)
        from steinball.gram import fused  # which takes a while to be imported

        wide = int(samples.shape[1]) > FUSED_DIMENSIONS and metric is None
        by_products = wide and all(strip.sides is not None for strip in points)
        return partial(fused.cut_strip, by_products=by_products), fused.make_step(self.stein, self._source)

    def weight_forms(self, row_means: Floats) -> tuple[Floats, Floats]:
        """(1/n) Σ wᵢ rᵢ and (1/n) Σ wᵢ² for every row w of the weights, tile by tile."""
        weights, samples = self._asked.weights, self.problem.samples
        xp, squares = namespace(samples), np.zeros(weights.shape[0])
        for start in range(0, len(self.problem), self.tile):
            stop = min(start + self.tile, len(self.problem))
            part = xp.astype(weights[:, start:stop], samples.dtype)
            squares += to_host(xp.sum(part * part, axis=1))
        return linear_forms(weights, like(row_means, samples), self.tile), squares / len(self.problem)

    def _prepared(self) -> tuple[list[SteinPoints], Asked]:
        """The points, and the request in arrays on the device, with zeros for the points that fill up the last strip.

        Threads draw some chunks of weights, while others travel as small integers and the device prepares the points.
        """
        samples, n = self.problem.samples, len(self.problem)
        xp, place, makers = namespace(samples), array_api_compat.device(samples), chunk_makers(self.request.weights)

        def draw(make: Callable[[], Chunk]) -> Array:
            return xp.asarray(np.pad(make(), ((0, 0), (0, self.padding))), device=place)

        jobs = available_jobs(None) if n >= THREADS_FROM else 1
        with ThreadPoolExecutor(max(1, min(jobs, len(makers)))) as pool:
            drawn = [pool.submit(draw, make) for make in makers]
            points = self._points()
            asked = Asked.of(replace(self.request, weights=()), n).on_device_of(samples, self.padding)
            chunks = [chunk.result() for chunk in drawn]
        return points, asked._replace(weights=xp.concat(chunks, axis=0)) if chunks else asked

    def _points(self) -> list[SteinPoints]:
        """The points of each strip; those for compiled tiles have a weight, unit length scale, and full length."""
        n, tile = len(self.problem), self.tile
        parts = [(start, min(start + tile, n)) for start in range(0, n, tile)]
        if not self.compiled:
            samples, scores, stein = self.problem.samples, self.problem.scores, self.problem.stein
            return [stein.prepare(samples[a:b, :], scores[a:b, :], self.center) for a, b in parts]
        if self._source is None:  # each strip for itself: far points in one of them cost the others no digits
            return [fill_up(self._in_unit_scale(*part), tile) for part in parts]
        whole = self._in_unit_scale(0, n)
        return [fill_up(whole.rows(*part), tile) for part in parts]

    def _in_unit_scale(self, start: int, stop: int) -> SteinPoints:
        """Points with a weight and unit length scale.

        In coordinates x/ℓ the score is ℓ·s and the Stein kernel ℓ² times itself, which the weights take back.
        """
        problem = self.problem
        samples, scores = problem.samples[start:stop, :], problem.scores[start:stop, :]
        xp = namespace(samples)
        weight, scores = problem.stein.tilted(samples, scores)
        weight = (xp.ones_like(samples[:, 0]) if weight is None else weight) / self.lengthscale
        z = (samples - self.center) / self.lengthscale
        points = self.stein.prepare(z, scores * self.lengthscale, xp.zeros_like(self.center))
        return replace(points, weight=weight)


def fill_up(points: SteinPoints, length: int) -> SteinPoints:
    """The points, followed by copies of the first with weight 0 up to ``length``."""
    if len(points) == length:
        return points
    places = np.arange(length)
    inside = places < len(points)
    filled = points.take(np.where(inside, places, 0))
    return replace(filled, weight=filled.weight * like(inside, points.z))


def _add_strip(parts: list[tuple[Array, Array, Array]]) -> Sums:
    """Sums of one strip: the diagonal tile counts once, every other for itself and its mirror image."""
    xp = namespace(parts[0][0])
    forms, rows = (to_host(xp.stack([part[k] for part in parts])) for k in (0, 1))
    sums = to_host(xp.concat([parts[0][1], *(columns for _, _, columns in parts[1:])], axis=1))
    sums[:, : rows.shape[2]] += rows[1:].sum(axis=0)
    return 2.0 * forms.sum(axis=0) - forms[0], sums
