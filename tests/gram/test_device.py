"""Tiles on the device of the samples: nothing large leaves it, nothing compiles twice."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Event
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.arrays import Array, to_host
from steinball.gram import device
from steinball.gram.base import linear_forms, mean_squares
from steinball.gram.blocked import BlockedGram
from steinball.gram.device import DeviceTiles, compilable, fill_up
from steinball.gram.request import Request
from steinball.gram.weights import WeightStream, gather
from steinball.gram.whole import DenseGram
from steinball.problem import pose

pytestmark = pytest.mark.backend

N, TILE, DRAWS = 300, 64, 40


def samples(n: int = N, d: int = 3) -> np.ndarray[Any, Any]:
    x = np.random.default_rng(0).normal(size=(n, d))
    x[: n // 10] += 4.0
    return x


def largest_square(shapes: list[tuple[int, ...]]) -> int:
    """The smaller side of the most square array seen: a block has two long sides, sums and strips have one."""
    return max((min(shape) for shape in shapes if len(shape) == 2), default=0)


def test_no_block_of_a_torch_gram_matrix_becomes_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="torch is an extra")
    seen: list[tuple[int, ...]] = []
    for name in ("numpy", "__array__"):
        original = getattr(torch.Tensor, name)

        def spy(self: Any, *args: Any, _original: Any = original, **options: Any) -> Any:
            seen.append(tuple(self.shape))
            return _original(self, *args, **options)

        monkeypatch.setattr(torch.Tensor, name, spy)
    x = torch.asarray(samples())
    for engine in ("dense", "blocked", "lowrank"):
        sb.robust_ksd_test(x, lambda x: -x, 0.05, engine=engine, rng=0, calibration=sb.WeightedBootstrap(DRAWS))
    assert len(seen) > 3, "the spy saw nothing at all"
    assert largest_square(seen) <= 64, f"a block of shape {max(seen)} left the device"


def test_no_block_of_a_jax_gram_matrix_becomes_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    jax = pytest.importorskip("jax", reason="jax is an extra")
    seen: list[tuple[int, ...]] = []
    for name in ("asarray", "array", "from_dlpack"):  # the ways out: NumPy reads JAX's memory directly
        original = getattr(np, name)

        def spy(value: Any, *args: Any, _original: Any = original, **options: Any) -> Any:
            if isinstance(value, jax.Array):
                seen.append(tuple(value.shape))
            return _original(value, *args, **options)

        monkeypatch.setattr(np, name, spy)
    x = jax.numpy.asarray(samples())
    for engine in ("dense", "blocked", "lowrank"):
        sb.robust_ksd_test(x, lambda x: -x, 0.05, engine=engine, rng=0, calibration=sb.WeightedBootstrap(DRAWS))
    assert len(seen) > 3, "the spy saw nothing at all"
    assert largest_square(seen) <= 64, f"a block of shape {max(seen)} left the device"


@dataclass(frozen=True, eq=False)
class Counting(sb.InverseMultiquadric):
    """A kernel that counts how often Python runs through it: once per compilation under a compiler."""

    def combine(self, r2: Array, inner: Array, cross: Array, stretch: Array | None = None) -> Array:
        CALLS.append(tuple(r2.shape))
        return super().combine(r2, inner, cross, stretch)


CALLS: list[tuple[int, ...]] = []


def jax_tiles(n: int, lengthscale: float) -> tuple[Any, Any]:
    jax = pytest.importorskip("jax", reason="jax is an extra")
    x = samples(n)
    request = sb.WeightedBootstrap(DRAWS).request(n, np.random.SeedSequence(1))
    kernel = Counting(lengthscale)
    problem = pose(jax.numpy.asarray(x), lambda x: -x, kernel, "auto")
    whole = DenseGram(pose(x, lambda x: -x, kernel, "auto"))
    return BlockedGram(problem, TILE).summarise(request), whole.summarise(request)


def test_neither_a_new_n_nor_a_new_lengthscale_compiles_again() -> None:
    CALLS.clear()
    jax_tiles(N, 1.0)
    traced = [shape for shape in CALLS if shape == (TILE, TILE)]
    assert len(traced) == 1, "one compilation serves every tile"
    CALLS.clear()
    for n, lengthscale in ((N + 17, 1.0), (N, 2.5), (5 * TILE, 0.3)):
        blocked, dense = jax_tiles(n, lengthscale)
        assert blocked.details["compiled"]
        assert blocked.mean == pytest.approx(dense.mean, rel=1e-12)
        np.testing.assert_allclose(blocked.quadratic_forms, dense.quadratic_forms, rtol=1e-11)
        np.testing.assert_allclose(to_host(blocked.row_means), dense.row_means, rtol=1e-9, atol=1e-15)
    assert (TILE, TILE) not in CALLS


@pytest.mark.parametrize(
    ("d", "metric", "tilt"),
    [(1, False, "auto"), (3, True, None), (3, True, "auto"), (40, False, "auto"), (40, True, None)],
)
def test_compiled_tiles_equal_the_whole_matrix(d: int, metric: bool, tilt: str | None) -> None:
    """d = 40 is past the dimension up to which blocks are formed from differences."""
    jax = pytest.importorskip("jax", reason="jax is an extra")
    x = samples(200, d)
    kernel = sb.InverseMultiquadric(1.7, metric=np.diag(1.0 + np.arange(d) / d) if metric else None)
    request = sb.WildBootstrap(DRAWS).request(200, np.random.SeedSequence(1))
    whole = DenseGram(pose(x, lambda x: -x, kernel, tilt)).summarise(request)
    tiles = BlockedGram(pose(jax.numpy.asarray(x), lambda x: -x, kernel, tilt), TILE).summarise(request)
    assert tiles.details["compiled"]
    assert tiles.mean == pytest.approx(whole.mean, rel=1e-11)
    np.testing.assert_allclose(tiles.quadratic_forms, whole.quadratic_forms, rtol=1e-10)


def test_sums_of_kernels_are_compiled_at_their_own_lengthscales() -> None:
    jax = pytest.importorskip("jax", reason="jax is an extra")
    x, kernel = samples(150), sb.kernels.Gaussian(0.7) + sb.Matern(2.0, 3.5)
    request = sb.WildBootstrap(DRAWS).request(150, np.random.SeedSequence(1))
    whole = DenseGram(pose(x, lambda x: -x, kernel)).summarise(request)
    tiles = BlockedGram(pose(jax.numpy.asarray(x), lambda x: -x, kernel), TILE).summarise(request)
    assert tiles.mean == pytest.approx(whole.mean, rel=1e-11)


def test_single_precision_is_added_in_double() -> None:
    """Row sums of float32 tiles agree with float64 to the rounding of a tile, not of the total."""
    torch = pytest.importorskip("torch", reason="torch is an extra")
    x = samples(2_000, 2)
    exact = sb.ksd(x, lambda x: -x, kernel=sb.InverseMultiquadric(1.0), tilt="auto")
    problem = pose(torch.asarray(x, dtype=torch.float32), lambda x: -x, sb.InverseMultiquadric(1.0), "auto")
    single = BlockedGram(problem, 128).summarise(Request())
    assert np.sqrt(single.mean) == pytest.approx(exact, rel=1e-5)


def test_points_that_fill_a_strip_up_weigh_nothing() -> None:
    problem = pose(samples(10), lambda x: -x, sb.InverseMultiquadric(1.0), "auto")
    filled = fill_up(problem.points, 16)
    assert len(filled) == 16
    assert filled.weight is not None
    np.testing.assert_array_equal(filled.weight[10:], 0.0)
    np.testing.assert_array_equal(filled.z[:10], problem.points.z)
    assert fill_up(problem.points, 10) is problem.points


def test_what_is_compiled_and_where_tf32_is_used() -> None:
    torch = pytest.importorskip("torch", reason="torch is an extra")
    on_host = torch.zeros((2, 1), dtype=torch.float32)
    assert not compilable(on_host), "on a CPU torch's compiler takes longer than it saves"
    problem = pose(torch.asarray(samples()), lambda x: -x, sb.InverseMultiquadric(1.0))
    details = DeviceTiles(problem, Request([np.zeros((1, N), dtype=np.int8)]), TILE).details
    assert details == {"tile": TILE, "device": "cpu", "compiled": False, "draw_precision": "float64"}


def test_tf32_never_touches_the_stein_kernel_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tile made of matrix products, because no one kernel makes it, would lose its digits (a relative 4e-4 of D was
    seen): TF32 is for the draws of fused tiles alone."""
    torch = pytest.importorskip("torch", reason="torch is an extra")
    monkeypatch.setattr(device, "on_cuda", lambda samples: True)
    problem = pose(torch.asarray(samples(), dtype=torch.float32), lambda x: -x, sb.InverseMultiquadric(1.0))
    tiles = DeviceTiles(problem, Request([np.zeros((1, N), dtype=np.int8)]), TILE)
    tiles.compiled = False
    monkeypatch.setattr(device, "draw_precision", lambda: pytest.fail("TF32 outside of compiled tiles"))
    assert len(list(tiles)) > 1
    assert tiles.details["draw_precision"] == "float32"


def test_one_compilation_serves_every_tile_of_a_torch_gram_matrix_and_every_n(monkeypatch: pytest.MonkeyPatch) -> None:
    """With all that can be asked; traced by torch's compiler and run as it is, for want of a GPU."""
    torch = pytest.importorskip("torch", reason="torch is an extra")
    graphs, compiler = [], torch.compile

    def traced(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    monkeypatch.setattr(device, "compilable", lambda samples: True)
    monkeypatch.setattr(torch, "compile", lambda f, **how: compiler(f, backend=traced, fullgraph=True, **how))
    for n, lengthscale in ((3 * TILE, 1.0), (3 * TILE + 17, 2.5)):
        rng = np.random.default_rng(0)
        orders = np.stack([np.arange(n), rng.permutation(n)])
        request = Request([rng.integers(-1, 3, size=(DRAWS, n))], orders, rng.normal(size=(n, 2)))
        kernel = sb.InverseMultiquadric(lengthscale, exponent=0.4)  # which no other test has compiled
        tiles = BlockedGram(pose(torch.asarray(samples(n)), lambda x: -x, kernel, "auto"), TILE).summarise(request)
        whole = DenseGram(pose(samples(n), lambda x: -x, kernel, "auto")).summarise(request)
        assert tiles.details["compiled"]
        assert tiles.prefix_sums is not None
        assert whole.prefix_sums is not None
        np.testing.assert_allclose(tiles.prefix_sums.sums, whole.prefix_sums.sums, rtol=0, atol=1e-9)
        np.testing.assert_allclose(to_host(tiles.direction_products), to_host(whole.direction_products), atol=1e-9)
        np.testing.assert_allclose(tiles.quadratic_forms, whole.quadratic_forms, rtol=1e-10)
    assert len(graphs) == 1


def test_products_with_directions_are_never_rounded_to_tf32(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="torch is an extra")
    monkeypatch.setattr(device, "on_cuda", lambda samples: True)
    monkeypatch.setattr(device, "has_triton", lambda samples: True)
    problem = pose(torch.asarray(samples(), dtype=torch.float32), lambda x: -x, sb.InverseMultiquadric(1.0))
    for directions, precision in ((None, "TF32"), (np.ones((N, 1)), "float32")):
        tiles = DeviceTiles(problem, Request(directions=directions), device.LARGEST_BLOCK)
        assert tiles.compiled
        assert tiles.details["draw_precision"] == precision


def torch_tiles(request: Request, n: int = N, d: int = 3, tile: int = TILE, dtype: str = "float64") -> DeviceTiles:
    torch = pytest.importorskip("torch", reason="torch is an extra")
    x = torch.asarray(samples(n, d), dtype=getattr(torch, dtype))
    return DeviceTiles(pose(x, lambda x: -x, sb.InverseMultiquadric(1.0), "auto"), request, tile)


def test_threads_give_the_device_the_weights_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "THREADS_FROM", 0)
    monkeypatch.setattr(device, "available_jobs", lambda jobs: 3)
    request = sb.WeightedBootstrap(200).request(N, np.random.SeedSequence(5))
    tiles, drawn = torch_tiles(request), gather(request.weights, N)
    tiles.padding = 20
    list(tiles)
    found = np.asarray(tiles._asked.weights)
    assert found.dtype == drawn.dtype
    np.testing.assert_array_equal(found[:, :N], drawn)
    np.testing.assert_array_equal(found[:, N:], np.zeros((200, 20)))


def test_sums_of_weights_are_those_of_the_host() -> None:
    request = sb.WeightedBootstrap(DRAWS).request(N, np.random.SeedSequence(5))
    tiles, drawn, means = torch_tiles(request), gather(request.weights, N), np.random.default_rng(0).normal(size=N)
    list(tiles)
    linear, squares = tiles.weight_forms(means)
    np.testing.assert_array_equal(squares, mean_squares(drawn))
    np.testing.assert_allclose(linear, linear_forms(drawn, means), rtol=1e-12, atol=1e-15)


def test_points_are_prepared_while_weights_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The draw waits for the points: drawn first, it would wait in vain."""
    prepared, original = Event(), DeviceTiles._points

    def draw(generator: np.random.Generator, rows: int, n: int) -> np.ndarray[Any, Any]:
        assert prepared.wait(20.0), "the points were not prepared meanwhile"
        return generator.integers(-1, 3, size=(rows, n), dtype=np.int8)

    def points(tiles: DeviceTiles) -> Any:
        found = original(tiles)
        prepared.set()
        return found

    monkeypatch.setattr(DeviceTiles, "_points", points)
    tiles = torch_tiles(Request(WeightStream(draw, N, np.random.SeedSequence(0), 0, DRAWS)))
    assert len(list(tiles)) == -(-N // TILE)


def test_an_error_of_a_draw_is_raised() -> None:
    def draw(generator: np.random.Generator, rows: int, n: int) -> np.ndarray[Any, Any]:
        raise RuntimeError("no weights today")

    with pytest.raises(RuntimeError, match="no weights today"):
        list(torch_tiles(Request(WeightStream(draw, N, np.random.SeedSequence(0), 0, DRAWS))))


def test_one_kernel_makes_the_tiles_of_float32_on_cuda_where_draws_alone_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(device, "on_cuda", lambda samples: True)
    monkeypatch.setattr(device, "has_triton", lambda samples: True)
    draws, tile = Request([np.zeros((1, N), dtype=np.int8)]), device.LARGEST_BLOCK
    for d in (3, device.FUSED_DIMENSIONS + 1):
        tiles = torch_tiles(draws, d=d, tile=tile, dtype="float32")
        assert tiles._source is not None
        assert tiles.details["draw_precision"] == "TF32"
    others = (
        torch_tiles(draws, tile=tile),
        torch_tiles(draws, tile=tile - 1, dtype="float32"),
        torch_tiles(draws, n=tile, tile=tile, dtype="float32"),
        torch_tiles(Request(orders=np.arange(N)[None, :]), tile=tile, dtype="float32"),
        torch_tiles(Request(directions=np.ones((N, 1))), tile=tile, dtype="float32"),
    )
    assert [tiles._source for tiles in others] == [None] * len(others)
    monkeypatch.setattr(device, "has_triton", lambda samples: False)
    wide = torch_tiles(draws, d=device.FUSED_DIMENSIONS + 1, tile=tile, dtype="float32")
    assert wide.details["draw_precision"] == "float32"


@pytest.mark.parametrize("d", [3, 48])
@pytest.mark.parametrize("metric", [False, True])
def test_a_gpu_gives_the_numbers_of_the_cpu(d: int, metric: bool) -> None:
    torch = pytest.importorskip("torch", reason="torch is an extra")
    if not torch.cuda.is_available():
        pytest.skip("no GPU here")
    x, n = samples(N, d), N
    kernel = sb.InverseMultiquadric(np.sqrt(d), metric=np.diag(1.0 + np.arange(d) / d) if metric else None)
    request = sb.WeightedBootstrap(DRAWS).request(n, np.random.SeedSequence(1))
    on_gpu = pose(torch.asarray(x, dtype=torch.float32, device="cuda"), lambda x: -x, kernel, "auto")
    tiles = BlockedGram(on_gpu, device.LARGEST_BLOCK).summarise(request)
    whole = DenseGram(pose(x, lambda x: -x, kernel, "auto")).summarise(request)
    assert tiles.details["draw_precision"] == "TF32"
    assert tiles.mean == pytest.approx(whole.mean, rel=1e-5)
    np.testing.assert_array_equal(tiles.mean_squares, whole.mean_squares)
    np.testing.assert_allclose(tiles.quadratic_forms, whole.quadratic_forms, rtol=2e-3)
    np.testing.assert_allclose(tiles.linear_forms, whole.linear_forms, rtol=0, atol=1e-5 * whole.mean)
    np.testing.assert_allclose(
        to_host(tiles.row_means), whole.row_means, rtol=0, atol=1e-5 * abs(whole.row_means).max()
    )
