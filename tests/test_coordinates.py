"""Explanations, pictures and pages of tests in base space speak of the coordinates of the data."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.explain.explanation import SteinWitness
from steinball.results.base import Result
from steinball.show.view import Scene
from steinball.text import number

pytestmark = pytest.mark.exact

MODELS = {"expon": stats.expon(), "gamma": stats.gamma(3.0, scale=0.5)}
PLACE = {"expon": 3.0, "gamma": 4.0}


def planted(name: str, n: int = 300) -> Any:
    """Data of the model, a seventh of them moved to one place."""
    rng = np.random.default_rng(1)
    x = MODELS[name].rvs(size=n, random_state=rng)
    x[rng.permutation(n)[: n // 7]] = PLACE[name] + 0.02 * rng.normal(size=n // 7)
    return x


def outcome(name: str) -> tuple[Any, Result]:
    x = planted(name)
    return x, sb.robust_ksd_test(x, MODELS[name], 0.02, rng=0)


@pytest.fixture(params=list(MODELS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_values_and_places_are_those_of_the_data(name: str) -> None:
    x, result = outcome(name)
    found = result.explain(top=20)
    assert result.details["tested in"] == "base space"  # type: ignore[attr-defined]
    np.testing.assert_array_equal(found.samples[:, 0], x)
    assert np.abs(x[found.points] - PLACE[name]).max() < 0.5
    assert abs(found.surplus[0] - PLACE[name]) < 0.5
    assert 0.0 < found.lack[0] < PLACE[name] - 0.5
    assert f"x1={number(x[found.points[0]])}" in found.summary()
    assert found.to_dict()["points"][0]["values"] == [x[found.points[0]]]


def test_the_witness_is_that_of_base_space_at_the_mapped_places(name: str) -> None:
    x, result = outcome(name)
    found, model = result.explain(), MODELS[name]
    grid, values = found.witness_along(0)
    assert abs(grid[np.nanargmax(values)] - PLACE[name]) < 0.5
    assert np.isnan(values[grid < 0.0]).all()
    direct = sb.robust_ksd_test(-stats.norm.ppf(model.sf(x)), sb.models.Gaussian(), 0.02, rng=0)
    inside = grid > 0.0
    expected = SteinWitness(direct._sums()[0])(-stats.norm.ppf(model.sf(grid[inside])))
    np.testing.assert_allclose(values[inside], expected, rtol=1e-6, atol=1e-9)


def test_pictures_hold_the_data_and_the_density_of_the_model(name: str) -> None:
    x, result = outcome(name)
    view = Scene(result).view
    np.testing.assert_array_equal(view.points[:, 0], x[view.rows])
    assert view.model is not None
    axis = view.model.axes[0]
    inside = axis > 0.1
    np.testing.assert_allclose(view.model.values[inside], MODELS[name].pdf(axis[inside]), atol=0.01)
    assert (view.model.values[axis < 0.0] == 0.0).all()
    pytest.importorskip("matplotlib")
    left, right = result.plot("diagonal").get_xlim()
    assert left < x.min() < x.max() < right
    drawn = result.plot("witness")
    assert drawn.get_xlim()[1] > PLACE[name]


def test_a_report_shows_the_values_of_the_data(tmp_path: Path) -> None:
    x, result = outcome("expon")
    text = result.report(tmp_path / "page.html").read_text("utf-8")
    for row in result.explain().points.tolist():
        assert f"<td>row {row}</td>" in text
        assert f"<td>{number(x[row])}</td>" in text


def test_every_test_in_base_space_keeps_the_data() -> None:
    x, model = planted("gamma"), MODELS["gamma"]
    plain = sb.ksdagg_test(x, model, n_resamples=200, n_resamples_level=200, rng=0)
    for result in (plain, sb.robust_ksdagg_test(x, model, 0.02, rng=0)):
        found = result.explain()
        np.testing.assert_array_equal(found.samples[:, 0], x)
        assert abs(found.surplus[0] - 4.0) < 0.5


def test_two_correlated_columns_keep_their_points_and_contours() -> None:
    rng = np.random.default_rng(0)
    cov = np.array([[4.0, 1.5], [1.5, 1.0]])
    x = rng.multivariate_normal([10.0, -5.0], cov, size=300)
    x[rng.permutation(300)[:40]] = [16.0, -8.0] + 0.1 * rng.normal(size=(40, 2))
    model = sb.models.Gaussian([10.0, -5.0], cov)
    result = sb.robust_ksd_test(x, sb.in_base_space(model), 0.02, rng=0)
    found, view = result.explain(), Scene(result).view
    np.testing.assert_array_equal(found.samples, x)
    assert np.linalg.norm(found.surplus - [16.0, -8.0]) < 1.0
    assert "by coordinate in base space" in found.summary()
    np.testing.assert_array_equal(view.points, x[view.rows])
    assert view.model is not None
    places = np.stack(np.meshgrid(*view.model.axes, indexing="ij"), axis=-1)
    np.testing.assert_allclose(view.model.values, stats.multivariate_normal([10.0, -5.0], cov).pdf(places), atol=2e-3)


def test_contamination_at_a_place_is_asked_for_in_the_coordinates_of_the_data() -> None:
    x, result = outcome("expon")
    z = -stats.norm.ppf(MODELS["expon"].sf([[3.0]]))
    direct = sb.robust_ksd_test(-stats.norm.ppf(MODELS["expon"].sf(x)), sb.models.Gaussian(), 0.02, rng=0)
    mine, theirs = (r.smallest_detectable(at).share for r, at in ((result, [[3.0]]), (direct, z)))
    assert mine == pytest.approx(theirs, rel=0.05)  # both over draws of their model


def test_points_outside_and_on_the_edge_are_shown_as_they_came() -> None:
    x = planted("expon")
    x[:3], x[7] = -1.0, 0.0
    result = sb.robust_ksd_test(x, MODELS["expon"], 0.05, outside="contaminated", rng=0)
    samples = result.explain().samples[:, 0]
    assert np.isnan(samples[:3]).all()
    np.testing.assert_array_equal(samples[3:], x[3:])
    assert len(Scene(result).view.x) == len(x) - 3


def test_a_frame_is_recognized_by_its_values() -> None:
    pandas = pytest.importorskip("pandas")
    x = planted("expon")
    frame = pandas.DataFrame({"other": np.ones(len(x)), "wait": x})
    found = sb.robust_ksd_test(frame["wait"], MODELS["expon"], 0.02, rng=0).explain(frame)
    assert found.names == ("wait",)


def test_results_that_were_pickled_still_know_the_data() -> None:
    x, result = outcome("gamma")
    found = pickle.loads(pickle.dumps(result)).explain()
    np.testing.assert_array_equal(found.samples[:, 0], x)
    assert found.summary() == result.explain().summary()


def test_tests_in_their_own_coordinates_hold_the_data_once() -> None:
    result = sb.ksd_test(np.linspace(-1.0, 1.0, 20), sb.models.Gaussian(), rng=0)
    problem = result._evidence.problem
    assert not problem.rows.in_base_space
    assert np.shares_memory(problem.rows.original, problem.host_samples)
    assert problem.rows.original_model is problem.model


def test_draws_of_chains_are_explained_in_the_units_of_the_parameters() -> None:
    rng = np.random.default_rng(0)
    draws = 20.0 + 5.0 * rng.normal(size=(4, 200, 2))
    draws[:, ::6, 1] = 40.0
    result = sb.mcmc_test(draws, sb.models.Gaussian([20.0, 20.0], 25.0), rng=0)
    found, view = result.explain(), Scene(result).view
    np.testing.assert_array_equal(found.samples, draws.reshape(-1, 2))
    assert found.names == result.parameters
    assert abs(found.surplus[1] - 40.0) < 1.0
    grid, values = found.witness_along(1)
    assert abs(grid[values.argmax()] - 40.0) < 2.0
    assert found.witness(found.surplus[None, :])[0] >= found.witness(found.samples).max() * (1.0 - 1e-6)
    assert view.model is not None
    middle = np.unravel_index(view.model.values.argmax(), view.model.values.shape)
    assert [axis[k] for axis, k in zip(view.model.axes, middle, strict=True)] == pytest.approx([20.0, 20.0], abs=1.0)
