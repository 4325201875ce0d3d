"""Views: what they compute, what they are called, and what they may have seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from steinball.regions.source import Rows, Source, from_sampler
from steinball.regions.views import (
    MOST_PAIRS,
    classifier_family,
    column_families,
    learned_family,
    user_family,
)

pytestmark = pytest.mark.exact

Floats = NDArray[np.float64]
RNG = np.random.default_rng(0)


def rows_of(x: Floats) -> Rows:
    return Rows(x, x.T.copy())


def test_the_families_are_columns_whole_rows_and_pairs() -> None:
    x = RNG.normal(size=(6, 3))
    columns, whole, pairs = (f.values(rows_of(x), slice(None)) for f in column_families(Source(3)))
    assert columns.tolist() == x.T.tolist()
    assert whole == pytest.approx(np.stack([(x**2).sum(axis=1), x.sum(axis=1), np.abs(x).max(axis=1)]))
    assert pairs == pytest.approx(np.stack([x[:, 0] * x[:, 1], x[:, 0] * x[:, 2], x[:, 1] * x[:, 2]]))


def test_one_column_has_one_view() -> None:
    assert [family.size for family in column_families(Source(1))] == [1]


def test_a_part_of_the_views_is_that_part() -> None:
    rows = rows_of(RNG.normal(size=(5, 4)))
    for family in [*column_families(Source(4)), learned_family(RNG.normal(size=(4, 30)))]:
        everything = family.values(rows, slice(None))
        assert everything.shape == (family.size, 5)
        assert family.values(rows, slice(1, 3)).tolist() == everything[1:3].tolist()


def test_views_are_named_in_words() -> None:
    columns, whole, pairs = column_families(Source(2), ["height", "weight"])
    assert [columns.words[0], columns.words[1]] == ["height", "weight"]
    assert whole.words[1] == "the sum of all columns"
    assert pairs.words[0] == "product of height and weight"
    assert column_families(Source(2))[0].words[1] == "column 2"
    assert columns.columns == 2


def test_correlated_columns_are_looked_at_alone_and_given_those_before() -> None:
    source = from_sampler(lambda n, rng: rng.normal(size=(n, 2)), 2, [0, 0], [[1.0, 0.6], [0.6, 1.0]])
    columns, _, pairs = column_families(source, ["height", "weight"])
    rows = source.rows(RNG.normal(size=(5, 2)))
    assert columns.size == 3
    assert columns.words[2] == "weight given the columns before it"
    assert columns.values(rows, slice(None))[2].tolist() == rows.z[1].tolist()
    assert pairs.words[0] == "product of height and weight given the columns before it"
    assert columns.columns == 2


def test_the_log_density_is_a_view_where_it_is_known() -> None:
    source = Source(2, log_density=lambda x: -(x**2).sum(axis=1))
    whole = column_families(source)[1]
    x = RNG.normal(size=(4, 2))
    assert whole.words[3] == "the log density of the model"
    assert whole.values(rows_of(x), slice(None))[3] == pytest.approx(-(x**2).sum(axis=1))


def test_of_many_pairs_some_are_chosen_always_the_same() -> None:
    first, second = (column_families(Source(150))[2] for _ in range(2))
    assert first.size == MOST_PAIRS
    words = [first.words[t] for t in range(MOST_PAIRS)]
    assert words == [second.words[t] for t in range(MOST_PAIRS)]
    assert len(set(words)) == MOST_PAIRS
    rows = rows_of(RNG.normal(size=(3, 150)))
    named = [tuple(int(part) - 1 for part in word.split() if part.isdigit()) for word in words]
    expected = [(rows.z[i] * rows.z[j]).tolist() for i, j in named]
    assert first.values(rows, slice(None)).tolist() == expected


def test_users_views_get_the_users_columns_and_their_names() -> None:
    rows = Rows(np.array([[1.0, 2.0], [3.0, 4.0]]), np.full((2, 2), np.nan))
    single = user_family(lambda x: x[:, 0])
    several = user_family([lambda x: x[:, 0], lambda x: x.sum(axis=1, keepdims=True)])
    assert single.values(rows, slice(None)).tolist() == [[1.0, 3.0]]
    assert several.values(rows, slice(None)).tolist() == [[1.0, 3.0], [3.0, 7.0]]
    assert [several.words[0], several.words[1]] == ["view 1", "view 2"]
    assert user_family({"total": lambda x: x.sum(axis=1)}).words[0] == "total"


def test_a_users_view_cannot_change_the_rows() -> None:
    x = np.ones((3, 2))

    def greedy(rows: Floats) -> Floats:
        rows *= 0.0
        return rows[:, 0]

    user_family(greedy).values(rows_of(x), slice(None))
    assert x.tolist() == np.ones((3, 2)).tolist()


@pytest.mark.parametrize("views", [[], {}, 3, ["height"], {"a": 1}])
def test_views_that_are_no_functions_are_refused(views: Any) -> None:
    with pytest.raises(TypeError, match="views"):
        user_family(views)


@pytest.mark.parametrize("view", [lambda x: x, lambda x: 1.0, lambda x: np.full(len(x), np.nan)])
def test_a_view_that_gives_no_number_a_row_is_named(view: Any) -> None:
    with pytest.raises(ValueError, match="`ratio` must give one number a row"):
        user_family({"ratio": view}).values(rows_of(np.ones((3, 2))), slice(None))


def test_learned_views_follow_the_shift_and_the_spread_of_the_pilot_rows() -> None:
    rng = np.random.default_rng(1)
    direction = np.ones(8) / np.sqrt(8.0)
    z = rng.normal(size=(8, 400)) + 0.8 * direction[:, None] + 1.5 * np.outer(direction, rng.normal(size=400))
    family = learned_family(z)
    values = family.values(Rows(np.eye(8), np.eye(8)), slice(None))  # linear views at unit vectors are their directions
    mean, last = values[0] / np.linalg.norm(values[0]), values[4]
    assert abs(mean @ direction) > 0.95
    assert abs(last @ direction) > 0.95
    words = [family.words[t] for t in range(family.size)]
    assert len(words) == len(values)
    assert words[0].startswith("a direction in which the other half of the rows is shifted (mostly columns ")


def test_a_pilot_row_far_out_does_not_steer() -> None:
    z = np.random.default_rng(2).normal(size=(5, 200))
    z[:, 0] = 1e9
    values = learned_family(z).values(Rows(np.eye(5), np.eye(5)), slice(0, 1))
    assert np.abs(values).max() < 0.5


class Nearest:
    """A classifier by the distance from the mean of the first class, which counts how often it was fitted."""

    fits = 0

    def fit(self, x: Floats, y: Floats) -> None:
        self.fits += 1
        self.center = x[y == 1].mean(axis=0)

    def predict_proba(self, x: Floats) -> Floats:
        p = np.exp(-((x - self.center) ** 2).sum(axis=1))
        return np.stack([1.0 - p, p], axis=1)


class Linear(Nearest):
    def decision_function(self, x: Floats) -> Floats:
        return np.asarray(x @ self.center)


@pytest.mark.parametrize("kind", [Nearest, Linear])
def test_the_value_of_a_classifier_is_a_view_and_the_users_object_stays_unfitted(kind: type[Nearest]) -> None:
    source = from_sampler(lambda n, rng: rng.normal(size=(n, 2)), 2, [0, 0], np.eye(2))
    classifier = kind()
    pilot = np.random.default_rng(3).normal(size=(2, 50)) + 2.0
    family = classifier_family(pilot, source, classifier)
    at = family.values(Rows(np.zeros((2, 2)), np.array([[0.0, 2.0], [0.0, 2.0]])), slice(None))
    assert at.shape == (1, 2)
    assert at[0, 1] > at[0, 0]
    assert classifier.fits == 0


class Strict(Linear):
    """A classifier that takes finite numbers of single precision alone, as many do."""

    def fit(self, x: Floats, y: Floats) -> None:
        assert np.abs(x).max() < 1e38
        super().fit(x, y)

    def decision_function(self, x: Floats) -> Floats:
        assert np.abs(x).max() < 1e38
        return super().decision_function(x)


def test_a_classifier_is_told_finite_numbers() -> None:
    source = from_sampler(lambda n, rng: rng.normal(size=(n, 2)), 2, [0, 0], np.eye(2))
    pilot = np.random.default_rng(3).normal(size=(2, 50))
    pilot[:, 0] = [1e300, np.nan]
    family = classifier_family(pilot, source, Strict())
    rows = Rows(np.zeros((2, 2)), np.array([[np.inf, 1.0], [-np.inf, 1.0]]))
    assert np.isfinite(family.values(rows, slice(None))).all()


def test_what_is_no_classifier_is_refused() -> None:
    with pytest.raises(TypeError, match=r"`classifier` must have `fit\(x, y\)`.* got 0"):
        classifier_family(RNG.normal(size=(2, 30)), Source(2), 0)
