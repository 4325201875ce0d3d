"""Draws in ArviZ's and xarray's containers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.adapters.samplers import ADAPTERS, NamedDraws, Reading
from steinball.arrays import Floats

X = np.random.default_rng(1).normal(size=(4, 200, 3))


def dataset() -> Any:
    xarray = pytest.importorskip("xarray")
    dims = ("chain", "draw")
    return xarray.Dataset({"mu": (dims, X[..., 0]), "theta": (("school", *dims), np.moveaxis(X[..., 1:], 2, 0))})


def read(draws: Any) -> dict[str, Floats]:
    found = ADAPTERS["arviz"].draws(draws, Reading())
    assert isinstance(found, NamedDraws)
    return found.values


@pytest.mark.exact
def test_variables_are_read_with_chain_and_draw_first() -> None:
    tree = pytest.importorskip("xarray").DataTree.from_dict({"posterior": dataset()})
    for draws in (dataset(), tree):
        np.testing.assert_array_equal(read(draws)["theta"], X[..., 1:])
    np.testing.assert_array_equal(read(dataset()["mu"])["mu"], X[..., 0])


@pytest.mark.exact
def test_a_tree_without_a_posterior_and_stacked_draws_are_refused() -> None:
    tree = pytest.importorskip("xarray").DataTree.from_dict({"prior": dataset()})
    with pytest.raises(ValueError, match="must have a group `posterior`, got the groups prior"):
        read(tree)
    with pytest.raises(ValueError, match="no chain and no draw"):
        read(dataset().stack(sample=("chain", "draw")))


@pytest.mark.calibration
def test_a_model_without_names_is_told_which_variables_are_its_columns() -> None:
    idata = pytest.importorskip("arviz").convert_to_inference_data(dataset())
    model = sb.models.Gaussian([0.0, 0.0, 0.0])
    result = sb.mcmc_test(idata, model, parameters=["mu", "theta"], rng=0)
    assert not result.rejected
    assert result.parameters == ("mu", "theta[0]", "theta[1]")
    assert result.chains == (200,) * 4
    with pytest.raises(ValueError, match="has the variables mu, theta"):
        sb.mcmc_test(idata, model)
    assert sb.mcmc_test(idata.posterior["mu"], sb.models.Gaussian(0.5), rng=0).rejected


def predictive_tree(groups: tuple[str, ...]) -> tuple[Any, Any]:
    """A normal mean with a flat prior, 60 rows: predictive draws, and log-likelihoods."""
    xarray = pytest.importorskip("xarray")
    rng = np.random.default_rng(0)
    y, dims = rng.normal(size=60), ("chain", "draw", "row")
    center = y.mean() + rng.normal(size=(2, 300, 1)) / np.sqrt(60)
    values = {
        "posterior_predictive": center + rng.normal(size=(2, 300, 60)),
        "log_likelihood": -0.5 * (y - center) ** 2,
        "posterior": center + np.zeros((2, 300, 60)),
    }
    tree = {group: xarray.Dataset({"y": (dims, values[group])}) for group in groups}
    return xarray.DataTree.from_dict(tree), y


@pytest.mark.exact
def test_predictive_draws_are_left_one_out_where_there_is_a_likelihood() -> None:
    tree, y = predictive_tree(("posterior_predictive", "log_likelihood"))
    arviz = pytest.importorskip("arviz")
    groups = {name: {"y": tree[name]["y"].values} for name in ("posterior_predictive", "log_likelihood")}
    found = [
        sb.predictive_test(y, thing, contamination=0.0, n_resamples=39, rng=0)
        for thing in (tree, arviz.from_dict(**groups))
    ]
    assert [result.fitted for result in found] == ["loo", "loo"]
    assert found[0].pvalue == found[1].pvalue > 0.05
    assert found[0].difference_bound == np.inf


@pytest.mark.exact
def test_predictive_draws_of_fitted_rows_are_warned_of_and_other_trees_refused() -> None:
    tree, y = predictive_tree(("posterior_predictive",))
    with pytest.warns(sb.cautions.FittedOnDataWarning, match="log_likelihood"):
        sb.predictive_test(y, tree, contamination=0.0, n_resamples=39, rng=0)
    with pytest.raises(ValueError, match="a group `posterior_predictive`, got the groups posterior"):
        sb.predictive_test(y, predictive_tree(("posterior",))[0], contamination=0.0)
    with pytest.raises(ValueError, match=r"has the shape \(60,\) a draw, and `y` \(59,\)"):
        sb.predictive_test(y[:59], tree, contamination=0.0)
