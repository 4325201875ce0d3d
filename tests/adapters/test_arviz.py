"""Draws in ArviZ's and xarray's containers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.adapters.arviz import ADAPTER
from steinball.adapters.posterior import Reading
from steinball.arrays import Floats

X = np.random.default_rng(1).normal(size=(4, 200, 3))


def dataset() -> Any:
    xarray = pytest.importorskip("xarray")
    dims = ("chain", "draw")
    return xarray.Dataset({"mu": (dims, X[..., 0]), "theta": (("school", *dims), np.moveaxis(X[..., 1:], 2, 0))})


def read(draws: Any) -> dict[str, Floats]:
    found = ADAPTER.draws(draws, Reading())
    assert found is not None
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
