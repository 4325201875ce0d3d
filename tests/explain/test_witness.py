from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.explain.witness import SteinWitness

pytestmark = pytest.mark.exact


def explained(x: Any, contamination: float = 0.0) -> Any:
    d = 1 if np.ndim(x) == 1 else np.shape(x)[1]
    return sb.robust_ksd_test(x, sb.models.Gaussian(np.zeros(d)), contamination, rng=0)


def test_at_the_data_it_is_their_contribution_and_its_mean_is_d() -> None:
    x = np.random.default_rng(0).normal(0.3, size=(80, 2))
    result = explained(x)
    f = SteinWitness(result._sums()[0])(x)
    assert f.mean() == pytest.approx(result.ksd)
    np.testing.assert_allclose(f, 80 * np.asarray(result.contributions) / result.ksd)


def test_its_mean_under_the_model_is_zero() -> None:
    x = np.random.default_rng(0).normal(0.5, size=200)
    witness = SteinWitness(explained(x)._sums()[0])
    f = witness(np.random.default_rng(1).normal(size=20_000))
    assert abs(f.mean()) < 5.0 * f.std() / np.sqrt(len(f))


@pytest.mark.parametrize("center", [-0.8, 0.0, 0.8])
def test_a_planted_hole_is_found(center: float) -> None:
    x = np.random.default_rng(0).normal(size=1500)
    x = x[abs(x - center) > 0.35]
    result = explained(x)
    assert result.rejected
    found = result.explain()
    grid, values = found.witness_along(0)
    inner = abs(grid) < 2.0
    assert abs(grid[inner][values[inner].argmin()] - center) < 0.35
    assert abs(found.places.lack[0] - center) < 0.35
    assert "too few near" in str(found)


def test_a_planted_hole_in_the_plane_is_found() -> None:
    x = np.random.default_rng(0).normal(size=(3000, 2))
    x = x[np.hypot(x[:, 0] - 0.7, x[:, 1]) > 0.5]
    found = explained(x).explain()
    assert np.hypot(found.places.lack[0] - 0.7, found.places.lack[1]) < 0.5


def test_a_planted_surplus_is_found() -> None:
    x = np.random.default_rng(0).normal(size=(500, 2))
    x[:80] = [2.0, -1.0]
    assert np.abs(explained(x).explain().places.surplus - [2.0, -1.0]).max() < 0.5


def test_outside_the_support_there_is_no_value() -> None:
    x = np.random.default_rng(0).exponential(size=200)
    model = sb.from_score(lambda x: -np.ones_like(x), support=(0, None))
    f = SteinWitness(sb.robust_ksd_test(x, model, 0.05, rng=0)._sums()[0])(np.array([-1.0, 0.0, 1.0]))
    assert np.isnan(f).tolist() == [True, False, False]


def test_a_line_may_go_through_any_point() -> None:
    x = np.random.default_rng(0).normal(size=(60, 3))
    found = explained(x).explain()
    grid, values = found.witness_along(1, grid=[0.0, 1.0], at=[0.5, 9.0, -0.5])
    np.testing.assert_allclose(values, found.witness([[0.5, 0.0, -0.5], [0.5, 1.0, -0.5]]))
    assert grid.tolist() == [0.0, 1.0]
    assert found.witness_along(-1)[0].shape == (201,)


def test_what_cannot_be_a_place_is_refused() -> None:
    found = explained(np.random.default_rng(0).normal(size=(60, 3))).explain()
    with pytest.raises(ValueError, match="`grid` must have 3 columns"):
        found.witness([[0.0, 1.0]])
    with pytest.raises(ValueError, match="`at` must be a point of 3 numbers, got 2"):
        found.witness_along(0, at=[0.0, 1.0])
    for j in (3, "pressure", -4):
        with pytest.raises(ValueError, match="`j` must be one of the 3 coordinates"):
            found.witness_along(j)


def test_scores_alone_give_everything_but_the_witness_elsewhere() -> None:
    x = np.random.default_rng(0).normal(0.5, size=(60, 1))
    found = sb.ksd_test(x, sb.from_scores(-x), rng=0).explain()
    assert np.isfinite(found.places.surplus).all()
    with pytest.raises(TypeError, match="the witness function needs the score away from the samples"):
        found.witness([0.0])


def test_a_result_that_lost_its_model_still_explains_itself() -> None:
    x = np.random.default_rng(0).normal(0.5, size=60)
    kept = pickle.loads(pickle.dumps(sb.robust_ksd_test(x, lambda x: -x, 0.05, rng=0)))
    assert kept.explain().points.size == 10


def test_a_result_that_lost_its_model_shows_every_picture_that_it_lists() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    x = np.random.default_rng(0).normal(0.5, size=60)
    tests = (
        sb.robust_ksd_test(x, lambda x: -x, 0.05, rng=0),
        sb.robust_ksdagg_test(x, lambda x: -x, 0.05, rng=0),
        sb.ksdagg_test(x, lambda x: -x, rng=0),
    )
    for result in tests:
        kept = pickle.loads(pickle.dumps(result))
        assert set(result.pictures) - set(kept.pictures) == {"witness"}
        for name in kept.pictures:
            kept.plot(name)
            pyplot.close("all")
        assert kept.summary(details=True) == result.summary(details=True)
        with pytest.raises(TypeError, match="was not pickled along"):
            kept.explain().witness([0.0])
