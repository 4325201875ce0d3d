"""NumPyro: eight schools, sampled by the library itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.arrays import Floats
from steinball.posterior.numpyro import NumPyroPosterior, read_mcmc

numpyro = pytest.importorskip("numpyro")
dist = numpyro.distributions
infer = pytest.importorskip("numpyro.infer")
jax = pytest.importorskip("jax")


def eight_schools(spread: float) -> Any:
    """The model, non-centered, with the standard deviation of the prior of mu."""

    def model(errors: Floats, effects: Floats) -> None:
        mu = numpyro.sample("mu", dist.Normal(0.0, spread))
        tau = numpyro.sample("tau", dist.HalfCauchy(5.0))
        with numpyro.plate("school", 8):
            z = numpyro.sample("z", dist.Normal(0.0, 1.0))
        numpyro.deterministic("theta", mu + tau * z)
        numpyro.sample("y", dist.Normal(mu + tau * z, errors), obs=effects)

    return model


def run_of(kernel: Any, draws: int, *args: Any, **options: Any) -> Any:
    run = infer.MCMC(
        kernel,
        num_warmup=300,
        num_samples=draws,
        num_chains=4,
        chain_method="vectorized",
        progress_bar=False,
        **options,
    )
    run.run(jax.random.key(0), *args)
    return run


@pytest.fixture(scope="module")
def run(schools: tuple[Floats, Floats]) -> Any:
    effects, errors = schools
    return run_of(infer.NUTS(eight_schools(5.0)), 400, errors, effects)


@pytest.mark.calibration
def test_the_posterior_passes_and_a_wrong_prior_is_rejected(run: Any) -> None:
    result = sb.mcmc_test(run, rng=0)
    assert not result.rejected
    assert result.parameters[:3] == ("mu", "tau", "z[0]")
    assert sb.mcmc_test(run, infer.NUTS(eight_schools(10.0)), rng=0).rejected


@pytest.mark.exact
def test_the_score_is_the_derivative_on_the_unconstrained_space(run: Any, schools: tuple[Floats, Floats]) -> None:
    effects, errors = schools
    posterior = NumPyroPosterior(run.sampler, run)
    rows = posterior.unconstrain(read_mcmc(run))[0, :5]
    mu, log_tau, z = rows[:, 0], rows[:, 1], rows[:, 2:]
    tau = np.exp(log_tau)
    residual = (effects - mu[:, None] - tau[:, None] * z) / errors**2
    by_tau = tau * (residual * z).sum(axis=1) + 1.0 - 2.0 * tau**2 / (25.0 + tau**2)
    expected = np.column_stack([residual.sum(axis=1) - mu / 25.0, by_tau, tau[:, None] * residual - z])
    np.testing.assert_allclose(posterior.score(rows), expected, atol=1e-6)


@pytest.mark.exact
def test_a_frozen_chain_is_refused(run: Any) -> None:
    draws = read_mcmc(run)
    frozen = {name: np.concatenate([value[:3], np.repeat(value[3:, :1], 400, axis=1)]) for name, value in draws.items()}
    with pytest.raises(ValueError, match=r"1 of 4 chains stand still .*chain 3"):
        sb.mcmc_test(frozen, run)


@pytest.mark.calibration
def test_ends_that_depend_on_other_parameters_and_simplices_are_transformed() -> None:
    def model() -> None:
        low = numpyro.sample("low", dist.Uniform(0.0, 1.0))
        numpyro.sample("high", dist.Uniform(low, 2.0))
        numpyro.sample("share", dist.Dirichlet(np.ones(3)))

    run = run_of(infer.NUTS(model), 300)
    result = sb.mcmc_test(run, rng=0)
    assert result.parameters == ("low", "high", "share[0]", "share[1]")
    assert not result.rejected


@pytest.mark.calibration
def test_a_potential_function_of_named_positions_is_a_model() -> None:
    kernel = infer.NUTS(potential_fn=lambda z: 0.5 * (z["a"] ** 2 + z["b"] ** 2 / 4.0))
    run = infer.MCMC(kernel, num_warmup=200, num_samples=600, progress_bar=False)
    run.run(jax.random.key(1), init_params={"a": np.float64(0.0), "b": np.float64(0.0)})
    result = sb.mcmc_test(run, rng=0)
    assert result.parameters == ("a", "b")
    assert not result.rejected


@pytest.mark.exact
def test_what_cannot_be_told_apart_or_tested_is_refused(run: Any) -> None:
    with pytest.raises(TypeError, match="may be a NumPyro model or a score"):
        sb.mcmc_test(run, eight_schools(5.0))
    with pytest.raises(ValueError, match="has not been run"):
        sb.mcmc_test(infer.MCMC(infer.NUTS(eight_schools(5.0)), num_warmup=1, num_samples=1))
    with pytest.raises(ValueError, match="`parameters` is for models"):
        sb.mcmc_test(run, parameters=["mu"])
    with pytest.raises(ValueError, match="which knows its chains"):
        sb.mcmc_test(run, chains=4)

    def counts(*_: Any) -> None:
        numpyro.sample("k", dist.Poisson(3.0))

    with pytest.raises(TypeError, match=r"discrete parameters \(k\)"):
        sb.mcmc_test(run, infer.NUTS(counts))
