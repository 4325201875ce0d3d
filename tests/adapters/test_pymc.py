"""PyMC: eight schools, sampled by the library itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.adapters.samplers import PyMCPosterior
from steinball.arrays import Floats

pm = pytest.importorskip("pymc")


def eight_schools(spread: float, schools: tuple[Floats, Floats]) -> Any:
    """The model, non-centered, with the standard deviation of the prior of mu."""
    effects, errors = schools
    with pm.Model() as model:
        mu = pm.Normal("mu", 0.0, spread)
        tau = pm.HalfCauchy("tau", 5.0)
        z = pm.Normal("z", 0.0, 1.0, shape=8)
        theta = pm.Deterministic("theta", mu + tau * z)
        pm.Normal("y", theta, errors, observed=effects)
    return model


@pytest.fixture(scope="module")
def model(schools: tuple[Floats, Floats]) -> Any:
    return eight_schools(5.0, schools)


@pytest.fixture(scope="module")
def draws(model: Any) -> Any:
    with model:
        return pm.sample(400, tune=400, chains=4, cores=1, target_accept=0.9, random_seed=1, progressbar=False)


@pytest.mark.calibration
def test_the_posterior_passes_and_a_wrong_prior_is_rejected(
    draws: Any, model: Any, schools: tuple[Floats, Floats]
) -> None:
    result = sb.mcmc_test(draws, model, rng=0)
    assert not result.rejected
    assert result.parameters[:3] == ("mu", "tau", "z[0]")
    assert sb.mcmc_test(draws, eight_schools(10.0, schools), rng=0).rejected


@pytest.mark.exact
def test_a_frozen_chain_is_refused(draws: Any, model: Any) -> None:
    frozen = draws.posterior.copy(deep=True)
    for variable in frozen.data_vars.values():
        variable.values[2] = variable.values[2, :1]
    with pytest.raises(ValueError, match=r"1 of 4 chains stand still .*chain 2"):
        sb.mcmc_test(frozen, model)
    with pytest.raises(ValueError, match="`draws` lacks z of the model"):
        sb.mcmc_test(draws.posterior[["mu", "tau"]], model)


@pytest.mark.exact
def test_ends_that_depend_on_other_parameters_and_simplices_are_transformed() -> None:
    with pm.Model() as model:
        low = pm.Uniform("low", 0.0, 1.0)
        pm.Uniform("high", low, 2.0)
        pm.Dirichlet("share", np.ones(3))
    rng = np.random.default_rng(0)
    low_draws = rng.uniform(size=(2, 20))
    values = {"low": low_draws, "high": rng.uniform(low_draws, 2.0), "share": rng.dirichlet(np.ones(3), size=(2, 20))}
    posterior = PyMCPosterior(model)
    rows = posterior.unconstrain(values)
    assert posterior.parameters == ("low", "high", "share[0]", "share[1]")
    at = (values["high"] - low_draws) / (2.0 - low_draws)
    np.testing.assert_allclose(rows[..., 1], np.log(at / (1.0 - at)))
    # Uniform on an interval is standard logistic there: its score is 1 − 2p.
    np.testing.assert_allclose(posterior.score(rows[0])[:, 1], 1.0 - 2.0 * at[0], atol=1e-8)


@pytest.mark.exact
def test_discrete_parameters_are_refused_by_name() -> None:
    with pm.Model() as model:
        pm.Poisson("k", 3.0)
    with pytest.raises(TypeError, match=r"discrete parameters \(k\)"):
        sb.mcmc_test({"k": np.ones((1, 100))}, model)
