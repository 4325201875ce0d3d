from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.explain import Explanation
from steinball.explain.explanation import SteinWitness
from steinball.text import WIDTH

pytestmark = pytest.mark.exact

GROUP = 45


def planted(place: Any, n: int = 300, spread: float = 0.1, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, len(place)))
    x[:GROUP] = place + spread * x[:GROUP]
    return x


def robust(x: Any, **options: Any) -> Any:
    return sb.robust_ksd_test(x, sb.models.Gaussian(np.zeros(x.shape[1])), 0.02, rng=0, **options)


@pytest.mark.parametrize("place", [[3.0], [10.0], [4.0, 4.0], [0.0, 5.0], [2.0] * 10], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_a_planted_group_that_causes_a_rejection_comes_first(place: Any, seed: int) -> None:
    result = robust(planted(place, seed=seed))
    assert result.rejected
    found = result.explain(top=GROUP)
    assert (found.points[:10] < GROUP).mean() >= 0.9
    assert (found.points < GROUP).mean() >= 0.9
    assert not robust(planted(place, seed=seed)[GROUP:]).rejected


TESTS = {
    "standard": lambda x, m: sb.ksd_test(x, m, rng=0),
    "unbiased": lambda x, m: sb.ksd_test(x, m, estimator="u", rng=0),
    "robust": lambda x, m: sb.robust_ksd_test(x, m, 0.02, rng=0),
    "low rank": lambda x, m: sb.robust_ksd_test(x, m, 0.02, engine="lowrank", rng=0),
    "equivalence": lambda x, m: sb.robust_ksd_test(x, m, 0.5, rng=0),
    "bets": lambda x, m: sb.robust_ksd_test(x, m, 0.02, calibration=sb.Betting(), rng=0),
    "bound": lambda x, m: sb.robust_ksd_test(x, m, 0.02, calibration=sb.DeviationBound(), rng=0),
    "aggregated": lambda x, m: sb.ksdagg_test(x, m, n_resamples=200, n_resamples_level=200, rng=0),
    "robust aggregated": lambda x, m: sb.robust_ksdagg_test(x, m, 0.02, rng=0),
    "aggregated bets": lambda x, m: sb.robust_ksdagg_test(x, m, 0.02, calibration=sb.Betting(), rng=0),
}


@pytest.mark.parametrize("test", TESTS.values(), ids=list(TESTS))
def test_every_kernel_stein_test_explains_itself(test: Any) -> None:
    x = planted([4.0, 4.0])
    result = test(x, sb.models.Gaussian([0.0, 0.0]))
    found = result.explain(top=GROUP)
    assert isinstance(found, Explanation)
    assert (found.points < GROUP).mean() >= 0.9
    assert found.contributions.shape == (300,)
    assert found.contributions.sum() == pytest.approx(found.ksd**2, rel=1e-6)
    assert found.ksd == pytest.approx(result.ksd, rel=1e-3)  # the low-rank engine approximates both
    assert found.coordinates.sum() == pytest.approx(1.0)
    assert found.rejected == result.rejected
    told = found.to_dict()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert [point["row"] for point in told["points"]] == found.points.tolist()


@pytest.mark.parametrize("d", [1, 2, 12])
def test_the_table_is_readable(d: int) -> None:
    found = robust(planted([4.0] * d)).explain(top=4)
    text = str(found)
    assert text.startswith("Why the data were rejected\n  row ")
    assert max(map(len, text.split("\n"))) <= WIDTH
    points, _, _ = text.partition("\n\n")
    assert sum(line.startswith("  row ") for line in points.split("\n")) == 4
    assert ("by coordinate: " in text) == (d > 1)
    assert "Too many points near" in text


def test_points_outside_the_support_are_part_of_it() -> None:
    x = np.random.default_rng(0).exponential(size=200)
    x[:20] = -1.0
    model = sb.from_score(lambda x: -np.ones_like(x), support=(0, None))
    result = sb.robust_ksd_test(x, model, 0.05, outside="contaminated", rng=0)
    found = result.explain(top=20)
    assert sorted(found.points.tolist()) == list(range(20))
    assert "outside the support of the model" in str(found)
    assert "outside the support of the model" in found._repr_html_()
    assert found.to_dict()["points"][0]["values"] is None
    assert found.contributions.sum() == pytest.approx(result.squared_ksd)
    curve = result.tolerance_curve()
    assert curve.contamination[0] > 0.0


def test_a_result_on_another_library_is_explained_on_the_host() -> None:
    torch = pytest.importorskip("torch")
    x = planted([4.0, 4.0], n=100)
    result = sb.robust_ksd_test(torch.asarray(x), lambda x: -x, 0.02, rng=0)
    found = result.explain()
    wanted = sb.robust_ksd_test(x, lambda x: -x, 0.02, rng=0).explain()
    assert found.points.tolist() == wanted.points.tolist()
    np.testing.assert_allclose(found.coordinates, wanted.coordinates, rtol=1e-6)
    np.testing.assert_allclose(found.witness([[1.0, 1.0]]), wanted.witness([[1.0, 1.0]]), rtol=1e-6)


def test_jumps_and_float32_and_ten_points_are_explained() -> None:
    modes = sb.models.GaussianMixture([0.5, 0.5], [-6.0, 6.0])
    x = np.append(modes.sample(60, rng=0), np.full(40, 6.0))
    assert sb.ksd_test(x, modes, jumps="auto", rng=0).explain().points.size == 10
    narrow = planted([4.0, 4.0], n=100).astype(np.float32)
    assert (robust(narrow).explain().points < GROUP).all()
    few = robust(np.random.default_rng(0).normal(size=(5, 3))).explain(top=100)
    assert few.points.size == 5


@pytest.mark.parametrize("top", [0, -1, 1.5, True, "all"])
def test_a_number_of_points_that_is_none_is_refused(top: Any) -> None:
    result = robust(planted([4.0], n=50))
    with pytest.raises((TypeError, ValueError), match=r"`top` must be (a whole number|at least 1), got"):
        result.explain(top=top)


def test_a_two_sample_test_says_that_it_cannot() -> None:
    x = np.random.default_rng(0).normal(size=50)
    for result in (
        sb.dcmmd_test(x, sb.models.Gaussian(), contamination=0.01, n_resamples=99, rng=0),
        sb.mode_weights_test(x, sb.models.GaussianMixture([0.5, 0.5], [-6.0, 6.0]), 0.05),
    ):
        with pytest.raises(TypeError, match="keeps no sums over its points"):
            result.explain()
        with pytest.raises(TypeError, match="keeps no sums over its points"):
            result.smallest_detectable()


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
    assert abs(found.lack[0] - center) < 0.35
    assert "too few near" in str(found)


def test_a_planted_hole_in_the_plane_is_found() -> None:
    x = np.random.default_rng(0).normal(size=(3000, 2))
    x = x[np.hypot(x[:, 0] - 0.7, x[:, 1]) > 0.5]
    found = explained(x).explain()
    assert np.hypot(found.lack[0] - 0.7, found.lack[1]) < 0.5


def test_a_planted_surplus_is_found() -> None:
    x = np.random.default_rng(0).normal(size=(500, 2))
    x[:80] = [2.0, -1.0]
    assert np.abs(explained(x).explain().surplus - [2.0, -1.0]).max() < 0.5


def test_outside_the_support_there_is_no_value() -> None:
    x = np.random.default_rng(0).exponential(size=200)
    model = sb.from_score(lambda x: -np.ones_like(x), support=(0, None))
    f = SteinWitness(sb.robust_ksd_test(x, model, 0.05, rng=0)._sums()[0])(np.array([-1.0, 0.0, 1.0]))
    assert np.isnan(f).tolist() == [True, False, False]


def test_a_line_goes_through_the_median() -> None:
    x = np.random.default_rng(0).normal(size=(60, 3))
    found = explained(x).explain()
    grid, values = found.witness_along(1)
    places = np.tile(np.median(x, axis=0), (201, 1))
    places[:, 1] = grid
    np.testing.assert_allclose(values, found.witness(places))
    assert found.witness_along(-1)[0].shape == (201,)


def test_what_cannot_be_a_place_is_refused() -> None:
    found = explained(np.random.default_rng(0).normal(size=(60, 3))).explain()
    with pytest.raises(ValueError, match="`grid` must have 3 columns"):
        found.witness([[0.0, 1.0]])
    for j in (3, "pressure", -4):
        with pytest.raises(ValueError, match="`j` must be one of the 3 coordinates"):
            found.witness_along(j)


def test_scores_alone_give_everything_but_the_witness_elsewhere() -> None:
    x = np.random.default_rng(0).normal(0.5, size=(60, 1))
    found = sb.ksd_test(x, sb.from_scores(-x), rng=0).explain()
    assert np.isfinite(found.surplus).all()
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
