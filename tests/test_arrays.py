"""Every check of what a user passes in: each error once, with its words."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from steinball.arrays import (
    as_number,
    as_samples,
    as_scores,
    as_second_samples,
    as_seed,
    check_level,
    check_resamples,
    check_share,
    chunks,
    dtype_name,
    generator_at,
    is_array,
    like,
    take_rows,
    to_host,
)

pytestmark = pytest.mark.exact


@pytest.mark.parametrize("x", [[1, 2, 3], [[1], [2], [3]], (1.0, 2.0, 3.0), np.array([1, 2, 3]), range(1, 4)])
def test_samples_become_rows_of_observations(x: Any) -> None:
    samples = as_samples(x)
    assert samples.dtype == np.float64
    np.testing.assert_array_equal(samples, [[1.0], [2.0], [3.0]])


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (
            [1.0, np.nan, np.inf],
            ValueError,
            r"`x` must be finite, but 2 of 3 rows hold NaN or infinity \(first: row 1\)",
        ),
        ([[1.0, -np.inf], [0.0, 0.0]], ValueError, r"1 of 2 rows hold NaN .*\(first: row 0\). Remove or impute"),
        (np.zeros((5, 2, 3)), ValueError, r"`x` must have shape \(n, d\), got \(5, 2, 3\)"),
        (3.0, ValueError, r"`x` must have shape \(n, d\), got \(\)"),
        ([[1.0, 2.0]], ValueError, "`x` must have at least 2 rows, got 1"),
        ([], ValueError, "`x` must have at least 2 rows, got 0"),
        (np.zeros((4, 0)), ValueError, r"`x` must have at least one column, got shape \(4, 0\)"),
        ([[1.0, 2.0], [3.0]], ValueError, "`x` must be a rectangular array of numbers; its rows differ in length"),
        (["a", "b"], TypeError, "`x` must hold real numbers, got dtype <U1"),
        (["1", "2"], TypeError, "`x` must hold real numbers, got dtype <U1"),
        ([1j, 2.0], TypeError, "`x` must hold real numbers, got dtype complex128"),
        ([None, 1.0], TypeError, "`x` must hold real numbers, got dtype object"),
        ([True, False], TypeError, "`x` must hold real numbers, got dtype bool"),
        (None, TypeError, "`x` must hold real numbers, got dtype object"),
        ({"a": [1.0, 2.0]}, TypeError, "`x` must hold real numbers, got dtype object"),
        (np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"), TypeError, "got dtype datetime64"),
        (np.zeros((3, 1), dtype=np.longdouble), TypeError, "`x` must be float32 or float64, got float128|longdouble"),
    ],
)
def test_samples_that_are_none_are_refused_with_a_reason(x: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        as_samples(x, "x")


def test_masked_entries_count_as_missing() -> None:
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
    with pytest.raises(ValueError, match=r"1 of 3 rows hold NaN or infinity \(first: row 1\)"):
        as_samples(masked)
    assert type(as_samples(np.ma.array([1, 2, 3]))) is np.ndarray


def test_foreign_byte_order_and_matrices_become_plain_arrays() -> None:
    swapped = as_samples(np.array([1.5, 2.5], dtype=">f8"))
    assert swapped.dtype == np.float64
    assert swapped.dtype.isnative
    np.testing.assert_array_equal(swapped, [[1.5], [2.5]])
    assert as_samples(np.array([1, 2], dtype=">i4")).dtype.isnative


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("int8", "float64"),
        ("uint64", "float64"),
        ("float16", "float32"),
        ("float32", "float32"),
        ("float64", "float64"),
    ],
)
def test_dtypes_are_kept_or_widened(given: str, kept: str) -> None:
    assert as_samples(np.array([1, 2, 3], dtype=given)).dtype == kept


@pytest.mark.backend
def test_samples_keep_their_library_and_dtype(xp: Any) -> None:
    for dtype in (xp.float32, xp.float64):
        x = as_samples(xp.asarray([1.0, 2.0, 3.0], dtype=dtype))
        assert is_array(x)
        assert not isinstance(x, np.ndarray) or xp.__name__.endswith("numpy")
        assert (x.dtype, tuple(x.shape)) == (dtype, (3, 1))
    assert as_samples(xp.asarray([1, 2, 3])).dtype == xp.float64
    for bad in ([True, False], [1j, 2.0]):
        with pytest.raises(TypeError, match=r"`samples` must hold real numbers, got dtype (bool|complex)"):
            as_samples(xp.asarray(bad))
    with pytest.raises(ValueError, match=r"1 of 2 rows hold NaN or infinity \(first: row 1\)"):
        as_samples(xp.asarray([[1.0, 2.0], [xp.nan, 3.0]]))


def test_half_precision_of_other_libraries_becomes_single() -> None:
    torch, jnp = pytest.importorskip("torch"), pytest.importorskip("jax.numpy")
    assert as_samples(torch.tensor([1.0, 2.0], dtype=torch.bfloat16)).dtype == torch.float32
    assert as_samples(torch.tensor([1.0, 2.0], dtype=torch.float16)).dtype == torch.float32
    assert as_samples(jnp.asarray([1.0, 2.0], dtype=jnp.bfloat16)).dtype == jnp.float32


def test_a_tensor_with_a_gradient_is_cut_from_its_graph() -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    assert not as_samples(x).requires_grad
    assert x.requires_grad


def test_jax_without_64_bit_numbers_is_no_error() -> None:
    """Whole numbers become the widest float there is; JAX's own warning would be an error in this suite."""
    pytest.importorskip("jax")
    code = "import jax.numpy as jnp; from steinball.arrays import as_samples; print(as_samples(jnp.arange(3)).dtype)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "JAX_ENABLE_X64": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "float32", done.stderr


SAMPLES = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize(
    ("scores", "error", "message"),
    [
        (np.zeros((3, 1)), ValueError, r"`scores` must have the shape of `samples`, \(3, 2\), got \(3, 1\)"),
        (np.zeros((2, 3)), ValueError, r"must have the shape of `samples`, \(3, 2\), got \(2, 3\)"),
        (np.zeros(3), ValueError, "One number per row looks like a log density: pass it through `from_log_density`"),
        (SAMPLES * np.nan, ValueError, "`scores` must be finite, but 3 of 3 rows"),
        ("score", TypeError, "`scores` must hold real numbers"),
    ],
)
def test_scores_that_do_not_fit_are_refused(scores: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        as_scores(scores, SAMPLES)


def test_scores_of_one_column_may_be_flat() -> None:
    assert as_scores([1.0, 2.0, 3.0], SAMPLES[:, :1]).shape == (3, 1)


def test_scores_are_widened_and_never_narrowed() -> None:
    assert as_scores(SAMPLES.astype(np.float32), SAMPLES).dtype == np.float64
    with pytest.raises(
        TypeError, match=r"`samples` is float32 but `scores` is float64; convert the samples to float64"
    ):
        as_scores(SAMPLES, SAMPLES.astype(np.float32))


def test_libraries_do_not_mix() -> None:
    torch, jnp = pytest.importorskip("torch"), pytest.importorskip("jax.numpy")
    with pytest.raises(TypeError, match=r"`samples` is a torch array but `model` is a numpy array; return scores from"):
        as_scores(SAMPLES, torch.tensor(SAMPLES), "model")
    with pytest.raises(TypeError, match="`samples` is a numpy array but `scores` is a jax array"):
        as_scores(jnp.asarray(SAMPLES), SAMPLES)
    with pytest.raises(TypeError, match="`samples` is a numpy array but `y` is a torch array; pass both from one"):
        as_second_samples(torch.tensor(SAMPLES), SAMPLES)


def test_devices_do_not_mix() -> None:
    torch = pytest.importorskip("torch")
    here, there = torch.zeros((3, 2)), torch.zeros((3, 2), device="meta")
    with pytest.raises(TypeError, match="`scores` is on torch's meta device, which holds no numbers"):
        as_scores(there, here)


def test_a_second_sample_has_the_columns_of_the_first() -> None:
    assert as_second_samples([[1, 2]], SAMPLES).shape == (1, 2)
    assert as_second_samples(SAMPLES.astype(np.float32), SAMPLES).dtype == np.float64
    with pytest.raises(ValueError, match=r"`y` must have the 2 columns of `samples`, got shape \(3, 1\)"):
        as_second_samples([1.0, 2.0, 3.0], SAMPLES)
    with pytest.raises(TypeError, match="`samples` is float32 but `y` is float64"):
        as_second_samples(SAMPLES, SAMPLES.astype(np.float32))


@pytest.mark.parametrize("value", [0, 1, 0.25, np.float32(0.25), np.int64(1), np.array(0.25)])
def test_numbers_of_all_kinds_are_floats(value: Any) -> None:
    number = check_share(value, "contamination")
    assert type(number) is float
    assert number == float(value)


@pytest.mark.parametrize("value", [-0.1, 1.1, np.nan, np.inf])
def test_contamination_outside_zero_and_one_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match=r"`contamination` must be a finite number in \[0, 1\], got"):
        check_share(value, "contamination")


@pytest.mark.parametrize("value", ["0.1", None, [0.1], 1j, True, np.True_, np.array([0.1])])
def test_what_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="`contamination` must be a number, got"):
        check_share(value, "contamination")


def test_open_and_unbounded_intervals_are_written_as_such() -> None:
    with pytest.raises(ValueError, match=r"`scale` must be a finite number in \(0, inf\), got 0"):
        as_number(0, "scale", low=0.0, open_low=True)
    with pytest.raises(ValueError, match=r"`shift` must be a finite number in \(-inf, inf\), got nan"):
        as_number(np.nan, "shift")
    assert as_number(0, "radius", low=0.0) == 0.0


@pytest.mark.parametrize(("level", "least"), [(0.05, 19), (0.01, 99), (0.1, 9), (0.5, 1), (0.001, 999), (0.3, 3)])
def test_a_level_needs_enough_resamples(level: float, least: int) -> None:
    """The smallest p-value is 1/(B + 1): the message names the smallest B that reaches the level, and it does."""
    assert check_level(level, least) == level
    if least > 1:
        with pytest.raises(ValueError, match=rf"cannot reach `level={level:g}`.* Use at least {least}\."):
            check_level(level, least - 1)


def test_the_message_about_resamples_shows_the_smallest_pvalue() -> None:
    expected = r"`n_resamples=10` cannot reach `level=0.05`: the smallest p-value is 1/11 = 0.091. Use at least 19."
    with pytest.raises(ValueError, match=expected):
        check_level(0.05, 10)
    assert check_level(1e-9) == 1e-9


@pytest.mark.parametrize("level", [0.0, -0.1, 1.5, np.nan])
def test_a_level_lies_between_zero_and_a_half(level: float) -> None:
    with pytest.raises(ValueError, match=r"`level` must be a finite number in \(0, 1\]"):
        check_level(level)
    with pytest.raises(ValueError, match=r"at most 0.5, got 0.95. For a confidence of 0.95 use `level=0.05`"):
        check_level(0.95)


def test_resamples_are_a_positive_whole_number() -> None:
    assert check_resamples(np.int32(7)) == 7
    for bad in (9.0, "9", True, None):
        with pytest.raises(TypeError, match="`n_resamples` must be a whole number, got"):
            check_resamples(bad)
    with pytest.raises(ValueError, match="`n_resamples` must be at least 1, got 0"):
        check_resamples(0)


def entropy(rng: Any) -> list[int]:
    return list(as_seed(rng).generate_state(4))


def test_seeds_are_repeatable_and_generators_advance() -> None:
    assert entropy(3) == entropy(3) == entropy(np.int64(3))
    assert entropy(3) != entropy(4)
    sequence = np.random.SeedSequence(5)
    assert entropy(sequence) == entropy(sequence) == entropy(np.random.SeedSequence(5))
    generator = np.random.default_rng(3)
    first, second = entropy(generator), entropy(generator)
    assert first != second
    assert first == entropy(np.random.default_rng(3))
    assert entropy(None) != entropy(None)


@pytest.mark.parametrize("rng", ["seed", -1, 1.5, object()])
def test_what_is_no_seed_is_refused(rng: Any) -> None:
    with pytest.raises(TypeError, match="`rng` must be None, a non-negative int, a SeedSequence or a Generator, got"):
        as_seed(rng)


def test_the_legacy_generator_is_refused() -> None:
    with pytest.raises(TypeError, match=r"`rng` must be None, an int, .*the legacy RandomState is not read"):
        as_seed(np.random.RandomState(0))


@pytest.mark.parametrize(("n", "each", "most"), [(10, 3, 7), (9, 3, 9), (4, 100, 7), (5, 0, 2), (0, 3, 7)])
def test_slices_hold_all_rows_once_and_few_values(n: int, each: int, most: int) -> None:
    found = chunks(n, each, most)
    assert [row for part in found for row in range(part.start, part.stop)] == list(range(n))
    sizes = [part.stop - part.start for part in found]
    assert all(size * each <= most or size == 1 for size in sizes)
    assert all((size + 1) * max(each, 1) > most for size in sizes[:-1])


def test_generators_are_the_same_in_whatever_order_they_are_asked_for() -> None:
    seed = as_seed(0)
    draws = [generator_at(seed, k).random() for k in range(4)]
    assert draws[::-1] == [generator_at(seed, k).random() for k in reversed(range(4))]
    assert len(set(draws)) == 4


@pytest.mark.backend
def test_values_move_to_the_library_dtype_and_device_and_back(xp: Any) -> None:
    for dtype in (xp.float32, xp.float64):
        x = xp.asarray([1.0, 2.0], dtype=dtype)
        moved = like(np.array([[0.5, 1.5]]), x)
        assert type(moved) is type(x)
        assert moved.dtype == dtype
        assert dtype_name(moved) == ("float32" if dtype == xp.float32 else "float64")
        host = to_host(moved)
        assert type(host) is np.ndarray
        assert host.dtype == np.float64
        np.testing.assert_array_equal(host, [[0.5, 1.5]])
    with pytest.raises(TypeError, match="must be floating, got int"):
        like(0.5, xp.asarray([1, 2]))


@pytest.mark.backend
def test_rows_are_picked_in_the_order_asked_for(xp: Any) -> None:
    x = xp.asarray(SAMPLES)
    picked = take_rows(x, np.array([2, 0, 2], dtype=np.int32))
    assert type(picked) is type(x)
    np.testing.assert_array_equal(to_host(picked), SAMPLES[[2, 0, 2]])


def test_plain_values_come_to_the_host_as_float64() -> None:
    np.testing.assert_array_equal(to_host([1, 2]), [1.0, 2.0])
    torch = pytest.importorskip("torch")
    np.testing.assert_array_equal(to_host(torch.tensor([1.0], requires_grad=True)), [1.0])


@pytest.mark.parametrize("value", [1.0, [1.0], None, "text"])
def test_only_arrays_are_arrays(value: Any) -> None:
    assert not is_array(value)
    assert is_array(np.zeros(1))


def test_chains_and_draws_are_not_flattened_in_silence() -> None:
    with pytest.raises(
        ValueError, match=r"\(chain, draw, d\), use `sb.mcmc_test`.*pass `x.reshape\(-1, 3\)`.*chains=4\)"
    ):
        as_samples(np.zeros((4, 100, 3)))
    with pytest.raises(ValueError, match=r"shape \(n, d\), got \(2, 2, 2, 2\)\.$"):
        as_samples(np.zeros((2, 2, 2, 2)))
