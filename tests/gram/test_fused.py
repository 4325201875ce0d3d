"""Tiles from one Triton kernel: the Stein kernel in float64, block by block. Needs a GPU, or Triton's interpreter."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.gram import fused
from steinball.gram.device import combine_source
from steinball.gram.tiles import Asked
from steinball.kernels.base import Kernel
from steinball.stein import SteinKernel

pytestmark = pytest.mark.backend

M, DRAWS = 128, 7
KERNELS = (sb.InverseMultiquadric(1.0), sb.kernels.Gaussian(1.0), sb.Matern(1.0, 2.5))


def torch_with_triton() -> tuple[Any, str]:
    """torch, and the device on which Triton works: a GPU, or the CPU under its interpreter."""
    torch = pytest.importorskip("torch", reason="torch is an extra")
    pytest.importorskip("triton", reason="Triton comes with torch for CUDA")
    if not torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("no GPU, and TRITON_INTERPRET is not 1")
    return torch, "cuda" if torch.cuda.is_available() else "cpu"


def relative(found: Any, expected: Any) -> float:
    return float((found.double() - expected).abs().max() / expected.abs().max())


def with_metric(kernel: Kernel, d: int, rng: np.random.Generator) -> Kernel:
    a = rng.normal(size=(d, d))
    return replace(kernel, metric=np.eye(d) + 0.1 * a @ a.T / d)  # type: ignore[type-var]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
@pytest.mark.parametrize(
    ("d", "metric", "by_products"), [(1, False, False), (3, True, False), (12, False, False), (40, False, True)]
)
def test_a_fused_tile_has_the_digits_of_float32(kernel: Kernel, d: int, metric: bool, by_products: bool) -> None:
    torch, device = torch_with_triton()
    on_device = partial(torch.asarray, device=device)
    rng = np.random.default_rng(d)
    stein = SteinKernel(with_metric(kernel, d, rng) if metric else kernel)
    x, s = rng.normal(size=(2 * M, d)) / np.sqrt(d), rng.normal(size=(2 * M, d))
    x[M:] *= 2.0
    weight, draws = rng.uniform(0.5, 1.0, 2 * M), rng.integers(-1, 4, size=(DRAWS, 2 * M)).astype(np.int8)
    strips: list[Any] = []
    exact: list[Any] = []
    for part in (slice(0, M), slice(M, 2 * M)):
        for dtype, points in ((torch.float32, strips), (torch.float64, exact)):
            prepared = stein.prepare(
                on_device(x[part], dtype=dtype), on_device(s[part], dtype=dtype), on_device(np.zeros(d), dtype=dtype)
            )
            points.append(replace(prepared, weight=on_device(weight[part], dtype=dtype)))
    cut = [
        fused.cut_strip(points, Asked(on_device(draws[:, k * M :][:, :M]), None, None), by_products)
        for k, points in enumerate(strips)
    ]
    source = combine_source(stein.kernel)
    assert source is not None
    block, (v, w) = (
        stein.block(*exact),
        (on_device(draws[:, part], dtype=torch.float64) for part in (slice(M), slice(M, None))),
    )
    forms, across, down = fused.make_step(stein, source)(*cut)
    assert relative(across[0], block.sum(dim=1)) < 2e-6
    assert relative(down[0], block.sum(dim=0)) < 2e-6
    assert relative(forms, ((v @ block) * w).sum(dim=1)) < 5e-6
