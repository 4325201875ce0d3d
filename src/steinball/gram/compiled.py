"""Tiles compiled by torch (on CUDA) or JAX, and the precision of their products."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from array_api_compat import device, is_cupy_array, is_jax_array, is_torch_array

from steinball.arrays import Array, dtype_name
from steinball.gram.tiles import Strip, tile_sums
from steinball.stein import SteinKernel, SteinPoints

FUSED_DIMENSIONS = 32
"""Up to this dimension a compiler forms a whole block from differences, in one pass over it."""

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


def fuses(samples: Array) -> bool:
    """Whether a compiled tile is formed from differences, so that its only matrix products are those of the draws."""
    return int(samples.shape[1]) <= FUSED_DIMENSIONS


def uses_tf32(samples: Array) -> bool:
    """Whether bootstrap products of compiled tiles run in TF32: single precision on CUDA, where they stand alone."""
    return on_cuda(samples) and dtype_name(samples) == "float32" and fuses(samples)


@contextmanager
def draw_precision() -> Iterator[None]:
    """Within it, matrix products of float32 on CUDA may round their factors to TF32.

    For compiled tiles that are fused (:func:`uses_tf32`), where the bootstrap products are the only matrix products.
    Bootstrap weights are small integers, exact in TF32, and rounding the tile changes a draw by about 10⁻⁴/n of itself.
    Statistic and diagonal are elementwise sums. A tile that is itself made of matrix products would lose its digits,
    and so would products with directions.
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
    fused = fuses(samples)
    dimension = int(samples.shape[1])
    flat = _jax_step(stein, fused) if is_jax_array(samples) else _torch_step(stein, fused, dimension)
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


def _flat_step(stein: SteinKernel, fused: bool) -> Callable[..., tuple[Array, Array, Array]]:
    def step(rows: tuple[Any, ...], columns: tuple[Any, ...]) -> tuple[Array, Array, Array]:
        return tile_sums(stein, _restore(*rows), _restore(*columns), fused)

    return step


@cache
def _jax_step(stein: SteinKernel, fused: bool) -> Callable[..., tuple[Array, Array, Array]]:
    import jax

    compiled = jax.jit(_flat_step(stein, fused))

    def step(rows: tuple[Any, ...], columns: tuple[Any, ...]) -> tuple[Array, Array, Array]:
        with jax.default_matmul_precision("highest"):  # a GPU would round float32 to TF32 by default
            return compiled(rows, columns)  # type: ignore[no-any-return]

    return step


@cache
def _torch_step(stein: SteinKernel, fused: bool, dimension: int) -> Callable[..., tuple[Array, Array, Array]]:
    import torch

    plain = _flat_step(stein, fused)
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
