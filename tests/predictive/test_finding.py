"""Words and numbers of a finding, and what the pictures are drawn from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr

from steinball.predictive.finding import BAND_LEVELS, bands, box_picture, describe_block
from steinball.predictive.null import Null
from steinball.predictive.table import BLOCKS, WIDTHS, Features, tabulate
from tests.predictive.laws import from_cdf_values, from_class_probabilities, from_distribution

pytestmark = pytest.mark.exact

RNG = np.random.default_rng(0)
N = 800
X = RNG.uniform(0.0, 100.0, size=N)
Z = RNG.normal(size=N)
UPPER = BLOCKS.index((4, 8))


@pytest.mark.parametrize(
    ("z", "word", "expected"),
    [(Z + 1.0, "too low", 0.5), (Z - 1.0, "too high", 0.5), (2.0 * Z, "too narrow", 0.1), (0.4 * Z, "too wide", 0.5)],
)
def test_the_word_says_which_way_a_prediction_is_wrong(z: np.ndarray, word: str, expected: float) -> None:
    u, features = ndtr(z), Features.of({"income": X})
    found = describe_block(from_cdf_values(u), features, 0, UPPER)
    rows = features.bins[0] >= 4
    share = {
        "too low": (u > 0.5), "too high": (u < 0.5), "too narrow": (u < 0.05) | (u > 0.95),
        "too wide": (u > 0.25) & (u < 0.75),
    }[word][rows].mean()  # fmt: skip
    assert (found.word, found.expected, found.rows, found.everywhere) == (word, expected, 400, False)
    assert found.share == pytest.approx(share)
    assert found.values == (X[rows].min(), X[rows].max())
    said = {"too low": "above its median", "too high": "below its median", "too narrow": "outside", "too wide": "half"}
    assert found.sentence.startswith(f"For income between {X[rows].min():.4g} and {X[rows].max():.4g} (400 rows)")
    assert said[word] in found.sentence
    assert f"{100 * found.share:.3g} % of the rows" in found.sentence


def test_all_rows_and_categories_are_named() -> None:
    group = np.where(X > 50.0, "old", "new")
    pit, features = from_cdf_values(ndtr(Z + 1.0)), Features.of({"x": X, "group": group})
    assert describe_block(pit, features, 0, 0).sentence.startswith("Over all 800 rows the prediction is too low: ")
    common = int((group == "old").sum() > N / 2)
    one = describe_block(pit, features, 1, BLOCKS.index((1 - common, 2 - common)))
    assert one.values == ("old",)
    assert one.sentence.startswith(f"For group old ({(group == 'old').sum()} rows) the prediction")


def test_one_value_is_named_alone_and_of_many_categories_the_first() -> None:
    pit = from_cdf_values(np.full(60, 0.9))
    one = describe_block(pit, Features.of({"x": np.repeat([1.0, 2.0], 30), "w": np.arange(60)}), 0, UPPER)
    assert one.sentence.startswith("For x 2 (30 rows) the prediction is too low")
    many = describe_block(pit, Features.of({"g": [f"level {k}" for k in range(60)]}), 0, BLOCKS.index((7, 8)))
    assert many.rows == 53
    assert " …" in many.sentence
    assert len(many.sentence) < 200


def test_classes_say_predicted_and_observed() -> None:
    chance = ndtr(X / 100.0)
    y = (RNG.random(N) < 0.5 * chance).astype(int)
    found = describe_block(
        from_class_probabilities(y, np.column_stack([1.0 - chance, chance])), Features.of({"x": X}), 0, 0
    )
    assert (found.predicted, found.observed) == pytest.approx((chance.mean(), y.mean()))
    assert found.sentence == f"Over all 800 rows: predicted {chance.mean():.2g}, observed {y.mean():.2g}."
    shares = np.column_stack([chance, 0.4 * (1.0 - chance), 0.6 * (1.0 - chance)])
    nominal = describe_block(from_class_probabilities(2 * y, shares), Features.of({"x": X, "w": -X}), 5, UPPER)
    rows = np.median(X) >= X
    assert (nominal.output, nominal.feature) == (2, "w")
    assert (nominal.predicted, nominal.observed) == pytest.approx((shares[rows, 2].mean(), y[rows].mean()))


def test_the_named_feature_and_range_are_where_the_fault_is() -> None:
    z = Z * np.where(X > 75.0, 0.3, 1.0)
    features = Features.of({"noise": RNG.normal(size=N), "income": X})
    pit = from_cdf_values(ndtr(z))
    null, table = Null(pit, features, rng=0), tabulate(pit.low, pit.high, features)
    named, block, *_ = null.worst(table, 0.05)[0]
    found = describe_block(pit, features, named, block)
    assert (found.feature, found.word) == ("income", "too wide")
    assert found.values[0] > 70.0


@pytest.mark.calibration
def test_the_right_one_of_ten_covariates_is_named() -> None:
    rng, n = np.random.default_rng(5), 400
    x = rng.uniform(-2.0, 2.0, size=(n, 10))
    features = Features.of({f"x{j}": column for j, column in enumerate(x.T)})
    null = Null(from_cdf_values(np.full(n, 0.5)), features, n_resamples=19, rng=0)
    faults: tuple[Any, ...] = (lambda z: z + 0.35 * (x[:, 3] ** 2 - 4.0 / 3.0), lambda z: z * np.exp(0.35 * x[:, 3]))
    samples = [ndtr(fault(rng.normal(size=n)))[None] for fault in faults for _ in range(20)]
    named = [null.worst(tabulate(u, u, features), 0.05)[0][0] == 3 for u in samples]
    assert np.mean(named) >= 0.9


def test_the_picture_compares_rows_with_expected_rows() -> None:
    u = ndtr(0.5 * Z)
    features = Features.of({"x": X})
    pit = from_cdf_values(u)
    table, null = tabulate(pit.low, pit.high, features)[0], Null(pit, features, rng=0)
    found = box_picture(table, null.tables[:, 0], UPPER)
    np.testing.assert_allclose(found.ratio, table / (100 * WIDTHS))
    np.testing.assert_allclose(found.histogram, table[4:].sum(axis=0) / (400 * WIDTHS))
    assert (found.envelope[0] <= 1.0).all()
    assert (found.envelope[1] >= 1.0).all()
    assert found.histogram[8] > found.envelope[1, 8]
    assert found.histogram[1] < found.envelope[0, 1]
    middle = stats.binom.ppf([0.025, 0.975], 400, WIDTHS[8]) / (400 * WIDTHS[8])
    np.testing.assert_allclose(found.envelope[:, 8], middle, atol=0.12)
    half = box_picture(np.where(np.arange(8)[:, None] < 4, table, 0.0), null.tables[:, 0], 0)
    assert np.isnan(half.ratio[4:]).all()


def test_bands_are_predicted_and_observed_quantiles_of_every_bin() -> None:
    y = X + 2.0 * Z
    features = Features.of({"x": X, "group": np.where(X > 50.0, "b", "a")})
    found = bands(y, from_distribution(y, stats.norm(X, 1.0)), features, 0)
    assert found is not None
    rows = features.bins[0] == 3
    assert found.centers[3] == pytest.approx(X[rows].mean())
    np.testing.assert_allclose(found.predicted[:, 3], X[rows].mean() + stats.norm.ppf(BAND_LEVELS))
    np.testing.assert_allclose(found.observed[:, 3], np.quantile(y[rows], BAND_LEVELS))
    group = bands(y, from_distribution(y, stats.norm(50.0, 30.0)), features, 1)
    assert group is not None
    assert group.centers[:2].tolist() == [0.0, 1.0]
    assert np.isnan(group.centers[2:]).all()
    np.testing.assert_allclose(group.predicted[:, 0], stats.norm(50.0, 30.0).ppf(BAND_LEVELS))
    assert bands(y, from_cdf_values(ndtr(Z)), features, 0) is None
