"""Tiles in one kernel on CUDA: geometry, Stein kernel, tilt and sums in one pass, written in Triton for any kernel."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from steinball.arrays import Array
from steinball.gram.tiles import Asked
from steinball.stein import SteinKernel, SteinPoints

try:  # it comes with torch for CUDA
    import triton  # type: ignore[import-not-found, unused-ignore]
    import triton.language as tl  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    triton = tl = None

DEPTH = 32
"""Columns of factors that a matrix unit takes at once."""

# Rows and columns of a block, and warps: within a tenth of the fastest of those that were tried on an H200, at d = 10
# (35 of them, with ten coordinates in one round of the loop) and at d = 256 (5).
_BY_DIFFERENCES = {"ROWS": 32, "COLUMNS": 128, "num_warps": 4}
_BY_PRODUCTS = {"ROWS": 128, "COLUMNS": 64, "num_warps": 8, "num_stages": 3}


@cache
def _combine(source: str) -> Any:
    """The function of that source, in a file that exists for Python's inspection alone."""
    name = f"<steinball kernel {hash(source):x}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    found: dict[str, Any] = {"tl": tl}
    exec(compile(source, name, "exec"), found)
    return triton.jit(found["combine"])


def _jit(function: Any) -> Any:
    return function if triton is None else triton.jit(function)


@_jit
def _by_differences(left, right, i, j, m, zero, D: tl.constexpr, METRIC: tl.constexpr):  # type: ignore[no-untyped-def]
    """r², s(x)ᵀs(y), (x − y)ᵀC(s(y) − s(x)) and |C(x − y)|² from rows of ``left`` and ``right``: z, s, and t, a."""
    r2, inner, cross, stretch = zero, zero, zero, zero
    for k in tl.range(0, D, loop_unroll_factor=10):
        apart = tl.load(left + k * m + i)[:, None] - tl.load(right + k * m + j)[None, :]
        s, s_there = tl.load(left + (D + k) * m + i)[:, None], tl.load(right + (D + k) * m + j)[None, :]
        r2 += apart * apart
        inner += s * s_there
        if METRIC:
            t, t_there = tl.load(left + (2 * D + k) * m + i), tl.load(right + (2 * D + k) * m + j)
            bent = tl.load(left + (3 * D + k) * m + i)[:, None] - tl.load(right + (3 * D + k) * m + j)[None, :]
            cross += apart * (t_there[None, :] - t[:, None])
            stretch += bent * bent
        else:
            cross += apart * (s_there - s)
    return r2, inner, cross, stretch


@_jit
def _product(left, right, i, j, width, one, zero, START: tl.constexpr, STOP: tl.constexpr, DEPTH: tl.constexpr):  # type: ignore[no-untyped-def]
    """Columns START:STOP of ``left`` times those of ``right``, both (m, width), as exact as float32 is.

    Every number is a sum of two of TF32. ``one`` = 1, which the compiler does not know, keeps it from leaving the sum
    over the rounds to the matrix units, which seem to cut sums off: with factors split by hand, row sums at d = 256 had
    relative errors of 3e-6 without it and 5e-7 with it.
    """
    product = zero
    for k in range(START, STOP, DEPTH):
        here = k + tl.arange(0, DEPTH)
        a = tl.load(left + i[:, None] * width + here[None, :])
        b = tl.load(right + j[None, :] * width + here[:, None])
        product += one * tl.dot(a, b, input_precision="tf32x3")
    return product


@_jit
def _tile_kernel(  # type: ignore[no-untyped-def]
    left,
    right,
    weight,
    other,
    tile,
    across,
    down,
    m,
    twice_trace,
    one,
    combine: tl.constexpr,
    D: tl.constexpr,
    METRIC: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """One block of a tile (m, m), and the sums of the block over its columns and over its rows."""
    row, column = tl.program_id(1), tl.program_id(0)
    i, j = row * ROWS + tl.arange(0, ROWS), column * COLUMNS + tl.arange(0, COLUMNS)
    zero = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    if WIDTH == 0:
        r2, inner, cross, stretch = _by_differences(left, right, i, j, m, zero, D, METRIC)
        cross = 2.0 * cross - twice_trace
        stretch = stretch / tl.where(r2 > 0.0, r2, 1.0)
    else:
        r2 = tl.abs(_product(left, right, i, j, 4 * WIDTH, one, zero, 0, WIDTH, DEPTH))
        inner = _product(left, right, i, j, 4 * WIDTH, one, zero, WIDTH, 2 * WIDTH, DEPTH)
        cross = _product(left, right, i, j, 4 * WIDTH, one, zero, 2 * WIDTH, 4 * WIDTH, DEPTH)
        stretch = zero
    u = combine(r2, inner, cross, stretch) * tl.load(weight + i)[:, None] * tl.load(other + j)[None, :]
    tl.store(tile + i[:, None] * m + j[None, :], u)
    tl.store(across + column * m + i, tl.sum(u, axis=1))
    tl.store(down + row * m + j, tl.sum(u, axis=0))


@dataclass(frozen=True, eq=False)
class FusedStrip:
    """A strip of points as the two sides of a tile, their tilt weights (m,), and their bootstrap weights (B, m).

    ``width`` is 0 where tiles are formed from differences: then both sides are the same, with a row for every
    coordinate of z and s (and of t and a with a metric). Otherwise they are factors of products with a row for every
    point.
    """

    left: Array
    right: Array
    weight: Array
    bootstrap: Array
    dimension: int
    width: int


def cut_strip(points: SteinPoints, asked: Asked, by_products: bool) -> FusedStrip:
    """A strip of ``points`` for the step of :func:`make_step`; ``by_products`` where all strips have factors of r²."""
    import torch

    bootstrap = asked.weights.to(points.z.dtype)
    if by_products:
        left, right = _factors(points)
        return FusedStrip(left, right, points.weight, bootstrap, points.dimension, left.shape[1] // 4)
    parts = (points.z, points.s) if points.a is None else (points.z, points.s, points.t, points.a)
    both = torch.cat([part.T for part in parts]).contiguous()
    return FusedStrip(both, both, points.weight, bootstrap, points.dimension, 0)


def _factors(points: SteinPoints) -> tuple[Array, Array]:
    """Factors of r², of s(x)ᵀs(y) and of the cross term side by side, filled up to whole rounds of the matrix units."""
    import torch

    assert points.sides is not None
    first, second, third, fourth = points.sides
    width = -(-first.shape[1] // DEPTH) * DEPTH

    def side_by_side(*parts: Array) -> Array:
        rooms = zip(parts, (width, width, 2 * width), strict=True)
        return torch.cat([torch.nn.functional.pad(part, (0, room - part.shape[1])) for part, room in rooms], dim=1)

    return side_by_side(first, points.s, third), side_by_side(second, points.s, fourth)


def make_step(stein: SteinKernel, source: str) -> Callable[[FusedStrip, FusedStrip], tuple[Array, Array, Array]]:
    """What :func:`steinball.gram.tiles.tile_sums` gives without orders and directions, for strips of one length."""
    import torch

    combine, metric = _combine(source), stein.kernel.metric

    def step(rows: FusedStrip, columns: FusedStrip) -> tuple[Array, Array, Array]:
        m, d = rows.weight.shape[0], rows.dimension
        how = _BY_PRODUCTS if rows.width else _BY_DIFFERENCES
        grid = m // how["COLUMNS"], m // how["ROWS"]
        tile, across, down = (rows.weight.new_empty((length, m)) for length in (m, *grid))
        arrays = rows.left, columns.right, rows.weight, columns.weight, tile, across, down
        twice_trace = 2.0 * (d if metric is None else float(np.trace(metric)))
        sizes = d, metric is not None, rows.width
        with torch.cuda.device_of(tile):  # Triton launches on the current device
            _tile_kernel[grid](*arrays, m, twice_trace, 1.0, combine, *sizes, DEPTH=DEPTH, **how)
        forms = torch.sum(torch.matmul(rows.bootstrap, tile) * columns.bootstrap, dim=1)
        return forms, torch.sum(across, dim=0)[None, :], torch.sum(down, dim=0)[None, :]

    return step
