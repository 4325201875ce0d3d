"""Features, cells, views and tables against sums written out."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import rankdata

from steinball.arrays import Floats, chunks
from steinball.predictive.table import (
    ARC_WIDTHS,
    ARCS,
    BINS,
    BLOCKS,
    BOXES,
    CELLS,
    EDGES,
    TOGETHER,
    VIEW_MEANS,
    WIDTHS,
    Features,
    cells_of,
    cosine,
    spread,
    tabulate,
    views_of,
)

pytestmark = pytest.mark.exact


def integral(low: float, high: float) -> list[float]:
    """Share of [low, high] in each cell, cell by cell."""
    if high == low:
        return [float(a <= low < b or (b == 1.0 and low == 1.0)) for a, b in pairwise(EDGES)]
    overlaps = [max(0.0, min(b, high) - max(a, low)) for a, b in pairwise(EDGES)]
    return [overlap / (high - low) for overlap in overlaps]


def test_edges_are_sixteenths_and_the_outer_hundredths() -> None:
    assert CELLS == 18
    assert EDGES.tolist() == [0.0, 0.01, *(k / 16 for k in range(1, 16)), 0.99, 1.0]


def test_cells_are_found_at_and_beside_every_edge() -> None:
    u = np.concatenate([EDGES, np.nextafter(EDGES[1:], 0.0), np.nextafter(EDGES[:-1], 1.0), np.linspace(0, 1, 999)])
    assert cells_of(u).tolist() == [integral(v, v).index(1.0) for v in u]


def test_intervals_are_spread_in_proportion_to_their_overlap_with_cells() -> None:
    rng = np.random.default_rng(0)
    ends = np.sort(rng.random((200, 2)), axis=1)
    ends[:19, 0] = ends[:19, 1] = EDGES
    ends[20], ends[21], ends[22] = (0.0, 1.0), (0.5, 0.5625), (0.2, 0.2 + 1e-14)
    expected = [integral(a, b) for a, b in ends]
    expected[22] = integral(0.2, 0.2)
    np.testing.assert_allclose(spread(ends[:, 0], ends[:, 1]), expected, atol=1e-12)


def test_rows_are_binned_by_their_mean_rank() -> None:
    rng = np.random.default_rng(1)
    for values in (rng.normal(size=101), rng.integers(0, 5, size=200), np.zeros(7), rng.integers(0, 2, size=50) > 0):
        expected = np.floor(BINS * (rankdata(values) - 0.5) / values.size)
        assert Features.of({"x": values}).bins[0].tolist() == expected.tolist()


def test_bins_of_distinct_values_are_equally_large() -> None:
    assert Features.of({"x": np.random.default_rng(0).normal(size=400)}).counts.tolist() == [[50] * 8]


def test_dates_are_ranked() -> None:
    days = np.arange("2024-01-01", "2024-01-17", dtype="datetime64[D]")
    assert Features.of({"day": days}).bins[0].tolist() == [k for k in range(8) for _ in (0, 1)]


def test_categories_keep_their_levels_and_the_rarer_ones_share_a_bin() -> None:
    few = Features.of({"g": ["b", "a", "c", "a"]})
    assert few.bins.tolist() == [[1, 0, 2, 0]]
    names = [f"level {k}" for k in range(12) for _ in range(20 - k)]
    many = Features.of({"g": names})
    assert many.counts[0].tolist() == [20, 19, 18, 17, 16, 15, 14, sum(20 - k for k in range(7, 12))]


def test_numbers_of_dtype_object_are_ranked_and_texts_of_digits_are_categories() -> None:
    numbers = np.array([3, 1.5, 2, 10], dtype=object)
    assert Features.of({"x": numbers}).bins.tolist() == Features.of({"x": numbers.astype(float)}).bins.tolist()
    assert Features.of({"x": np.array(["10", "9", "9"], dtype=object)}).columns["x"].tolist() == ["10", "9", "9"]


def test_the_design_holds_ones_and_standardized_numbers_alone() -> None:
    design = Features.of({"x": [1.0, 2.0, 6.0], "constant": [3, 3, 3], "g": ["a", "b", "a"]}).design
    assert design.shape == (3, 2)
    np.testing.assert_allclose(design.mean(axis=0), [1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(design.std(axis=0), [0.0, 1.0], atol=1e-12)


def test_the_design_is_orthogonal_and_leaves_out_what_depends_on_the_columns_before() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 60))
    design = Features.of({"a": a, "b": a + 0.1 * b, "sum": 2.0 * a + 0.1 * b}).design
    assert design.shape == (60, 3)
    np.testing.assert_allclose(design.T @ design / 60, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(design[:, 1], (a - a.mean()) / a.std())
    assert np.corrcoef(design[:, 2], b)[0, 1] > 0.9


def test_covariates_stay_in_the_design_if_a_feature_of_another_name_has_their_bins() -> None:
    x = np.arange(16.0)
    features = Features.of({"age": np.exp(x), "x1": x, "row": x[::-1]}, ("x1",)).distinct()
    assert list(features.columns) == ["age"]
    np.testing.assert_allclose(features.design[:, 1], (x - x.mean()) / x.std())


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({}, "one length"),
        ({"x": []}, "one length"),
        ({"x": [1, 2], "z": [1]}, r"lengths \[1, 2\]"),
        ({"x": [[1, 2]]}, "Feature `x` must have shape"),
        ({"x": [1.0, np.nan]}, "Feature `x` must be finite, got nan in row 1"),
        ({"x": [np.inf, 1.0]}, "row 0"),
    ],
)
def test_what_is_no_column_is_refused(columns: dict[str, list[float]], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Features.of(columns)


def some_tables(shape: tuple[int, ...] = (2, 3)) -> Floats:
    return np.random.default_rng(2).gamma(1.0, size=(*shape, BINS, CELLS))


def test_boxes_are_sums_over_blocks_of_bins_and_circular_arcs_of_cells() -> None:
    tables = some_tables()
    views = views_of(tables)[..., :BOXES].reshape(2, 3, len(BLOCKS), len(ARCS))
    rng = np.random.default_rng(3)
    for b, a in zip(rng.integers(0, 16, 60), rng.integers(0, 306, 60), strict=True):
        (low, high), (start, length) = BLOCKS[b], ARCS[a]
        cells = [(start + step) % CELLS for step in range(length)]
        np.testing.assert_allclose(views[..., b, a], tables[..., low:high, :][..., cells].sum(axis=(-1, -2)))
        assert ARC_WIDTHS[a] == pytest.approx(WIDTHS[cells].sum())


def test_arcs_are_all_proper_arcs_and_hold_their_complements() -> None:
    sets = {frozenset((start + step) % CELLS for step in range(length)) for start, length in ARCS}
    assert len(sets) == len(ARCS) == 306
    assert all(frozenset(range(CELLS)) - one in sets for one in sets)


def test_scores_are_capped_products_of_cosines() -> None:
    tables = some_tables(())
    found = views_of(tables)[BOXES:]
    middle, j = (np.arange(BINS) + 0.5) / BINS, 3
    score = -np.outer(np.sqrt(2) * np.cos(2 * np.pi * middle), cosine(j))
    expected = ((0.6 - np.minimum(score, 0.6)) * tables).sum()
    assert np.isclose(found, expected).sum() == 1
    fine = np.linspace(EDGES[4], EDGES[5], 100_001)
    assert cosine(j)[4] == pytest.approx((np.sqrt(2) * np.cos(np.pi * j * fine)).mean(), abs=1e-5)


def test_views_are_never_negative_and_their_means_are_those_of_a_uniform_row() -> None:
    corners = np.zeros((BINS * CELLS, BINS, CELLS))
    corners.reshape(BINS * CELLS, -1)[np.diag_indices(BINS * CELLS)] = 1.0
    values = views_of(corners).reshape(BINS, CELLS, -1)
    assert values.min() >= 0.0
    np.testing.assert_allclose(np.einsum("kcv,c->vk", values, WIDTHS), VIEW_MEANS, atol=1e-12)


def brute_table(low: Floats, high: Floats, bins: Floats) -> Floats:
    found = np.zeros((BINS, CELLS))
    for a, b, k in zip(low, high, bins, strict=True):
        found[k] += integral(a, b)
    return found


def test_tables_are_sums_of_rows_for_points_and_intervals() -> None:
    rng = np.random.default_rng(4)
    low, features = rng.random((2, 90)), Features.of({"x": rng.normal(size=90), "g": rng.choice(["a", "b"], size=90)})
    for high in (low, np.minimum(1.0, low + rng.random((2, 90)) * rng.integers(0, 2, size=(2, 90)))):
        found = tabulate(low, high, features)
        expected = [brute_table(low[q], high[q], features.bins[f]) for q in (0, 1) for f in (0, 1)]
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_large_tables_are_made_in_chunks() -> None:
    found = chunks(1_000_000, 7, TOGETHER)
    assert [chunk.start for chunk in found[1:]] == [chunk.stop for chunk in found[:-1]]
    assert (found[0].start, found[-1].stop) == (0, 1_000_000)
    assert max(chunk.stop - chunk.start for chunk in found) * 7 <= TOGETHER
    low = np.tile([0.1, 0.3], 200_000)[None]
    features = Features.of({"x": np.arange(400_000)})
    assert len(chunks(400_000, BINS, TOGETHER)) > 1
    once = tabulate(low[:, :16], low[:, :16] + 0.3, Features.of({"x": np.arange(16)}))
    np.testing.assert_allclose(tabulate(low, low + 0.3, features), 25_000 * once, rtol=1e-9)
