"""NumPyro on the real library: distributions, and eight schools, sampled by the library itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.arrays import Floats
from steinball.models.knowledge import Knowledge

numpyro = pytest.importorskip("numpyro", reason="NumPyro is not installed")
nd, infer = numpyro.distributions, pytest.importorskip("numpyro.infer")
jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy
adapter = pytest.importorskip("steinball.adapters.numpyro")


@pytest.mark.parametrize(
    ("distribution", "twin"),
    [
        (nd.Normal(1.0, 2.0), stats.norm(1.0, 2.0)),
        (nd.StudentT(4.0, 1.0, 2.0), stats.t(4.0, 1.0, 2.0)),
        (nd.Gamma(2.0, 0.5), stats.gamma(2.0, scale=2.0)),
        (nd.Beta(2.0, 3.0), stats.beta(2.0, 3.0)),
        (nd.Exponential(0.5), stats.expon(scale=2.0)),
        (nd.Uniform(1.0, 3.0), stats.uniform(1.0, 2.0)),
        (nd.Laplace(1.0, 2.0), stats.laplace(1.0, 2.0)),
        (nd.LogNormal(0.0, 1.0), stats.lognorm(1.0)),
        (nd.HalfNormal(2.0), stats.halfnorm(scale=2.0)),
        (nd.Gumbel(0.0, 1.0), stats.gumbel_r()),
        (nd.Logistic(0.0, 1.0), stats.logistic()),
    ],
    ids=["Normal", "StudentT", "Gamma", "Beta", "Exponential", "Uniform", "Laplace", "LogNormal", "HalfNormal",
         "Gumbel", "Logistic"],
)  # fmt: skip
def test_scores_supports_and_draws_are_those_of_scipy(distribution: Any, twin: Any) -> None:
    model, other = sb.as_model(distribution), sb.as_model(twin)
    x = twin.ppf(np.linspace(0.03, 0.97, 30))[:, None]
    np.testing.assert_allclose(model.score(x), other.score(x), rtol=1e-6, atol=1e-6)
    assert Knowledge(model).support == Knowledge(other).support
    draws = Knowledge(model).needed_draws(1000, 3)
    assert stats.kstest(draws[:, 0], twin.cdf).pvalue > 1e-3
    assert not sb.robust_ksd_test(draws[:200], distribution, contamination=0.05, rng=0).rejected


def test_gaussians_and_their_mixtures_are_our_own() -> None:
    joint = nd.MultivariateNormal(jnp.zeros(2), jnp.array([[2.0, 0.5], [0.5, 1.0]]))
    gaussian: Any = sb.as_model(joint)
    np.testing.assert_allclose(gaussian.covariance, [[2.0, 0.5], [0.5, 1.0]], rtol=1e-6)
    assert isinstance(sb.as_model(nd.Normal(jnp.zeros(3), 1.0).to_event(1)), sb.models.Gaussian)
    low_rank: Any = sb.as_model(nd.LowRankMultivariateNormal(jnp.zeros(2), jnp.ones((2, 1)), jnp.ones(2)))
    np.testing.assert_allclose(low_rank.covariance, [[2.0, 1.0], [1.0, 2.0]], rtol=1e-6)
    assert repr(sb.as_model(nd.Cauchy(1.0, 2.0))) == "StudentT(df=1, location=1, scale=2)"
    mixture = nd.MixtureSameFamily(nd.Categorical(jnp.array([0.3, 0.7])), nd.Normal(jnp.array([0.0, 3.0]), jnp.ones(2)))
    model: Any = sb.as_model(mixture)
    assert isinstance(model, sb.models.GaussianMixture)
    x = np.linspace(-2.0, 5.0, 9)[:, None]
    np.testing.assert_allclose(model.log_density(x), mixture.log_prob(jnp.asarray(x[:, 0])), rtol=1e-5)


def test_independent_columns_and_base_space() -> None:
    columns = nd.Gamma(jnp.array([2.0, 3.0]), 1.0).to_event(1)
    model: Any = sb.as_model(columns)
    x = Knowledge(model).needed_draws(200, 0)
    assert str(Knowledge(model).support) == "[(0, ∞), (0, ∞)]"
    assert not sb.robust_ksd_test(x, columns, contamination=0.05, rng=0).rejected
    assert not sb.robust_ksd_test(x, sb.in_base_space(columns), contamination=0.05, rng=0).rejected
    assert sb.robust_ksd_test(2.0 * x, sb.in_base_space(columns), contamination=0.05, rng=0).rejected


@pytest.mark.parametrize(
    ("distribution", "message"),
    [
        (nd.Poisson(3.0), "type Poisson, a discrete distribution"),
        (nd.Normal(jnp.zeros(3), 1.0), r"a batch of 3 distributions Normal.*to_event\(1\)"),
        (nd.Dirichlet(jnp.ones(3)), "a distribution on the set"),
        (nd.VonMises(0.0, 1.0), "VonMises of an angle"),
    ],
    ids=["discrete", "batch", "simplex", "angle"],
)
def test_what_cannot_be_tested_or_told_apart_is_refused(distribution: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        sb.as_model(distribution)
    with pytest.raises(ValueError, match=r"of one number.*expand\(\[2\]\)\.to_event\(1\)"):
        sb.as_model(nd.Gamma(2.0, 1.0), np.zeros((3, 2)))


# Draws and posteriors


def eight_schools(spread: float) -> Any:
    """The model, non-centered, with the standard deviation of the prior of mu."""

    def model(errors: Floats, effects: Floats) -> None:
        mu = numpyro.sample("mu", nd.Normal(0.0, spread))
        tau = numpyro.sample("tau", nd.HalfCauchy(5.0))
        with numpyro.plate("school", 8):
            z = numpyro.sample("z", nd.Normal(0.0, 1.0))
        numpyro.deterministic("theta", mu + tau * z)
        numpyro.sample("y", nd.Normal(mu + tau * z, errors), obs=effects)

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
    posterior = adapter.NumPyroPosterior(run.sampler, run)
    rows = posterior.unconstrain(adapter.read_mcmc(run))[0, :5]
    mu, log_tau, z = rows[:, 0], rows[:, 1], rows[:, 2:]
    tau = np.exp(log_tau)
    residual = (effects - mu[:, None] - tau[:, None] * z) / errors**2
    by_tau = tau * (residual * z).sum(axis=1) + 1.0 - 2.0 * tau**2 / (25.0 + tau**2)
    expected = np.column_stack([residual.sum(axis=1) - mu / 25.0, by_tau, tau[:, None] * residual - z])
    np.testing.assert_allclose(posterior.score(rows), expected, atol=1e-6)


@pytest.mark.exact
def test_a_frozen_chain_is_refused(run: Any) -> None:
    draws = adapter.read_mcmc(run)
    frozen = {name: np.concatenate([value[:3], np.repeat(value[3:, :1], 400, axis=1)]) for name, value in draws.items()}
    with pytest.raises(ValueError, match=r"1 of 4 chains stand still .*chain 3"):
        sb.mcmc_test(frozen, run)


@pytest.mark.calibration
def test_ends_that_depend_on_other_parameters_and_simplices_are_transformed() -> None:
    def model() -> None:
        low = numpyro.sample("low", nd.Uniform(0.0, 1.0))
        numpyro.sample("high", nd.Uniform(low, 2.0))
        numpyro.sample("share", nd.Dirichlet(np.ones(3)))

    run = run_of(infer.NUTS(model), 300)
    result = sb.mcmc_test(run, rng=0)
    assert result.parameters == ("low", "high", "share[0]", "share[1]")
    assert not result.rejected


@pytest.mark.exact
def test_a_potential_function_is_refused() -> None:
    kernel = infer.NUTS(potential_fn=lambda z: 0.5 * (z["a"] ** 2 + z["b"] ** 2 / 4.0))
    run = infer.MCMC(kernel, num_warmup=2, num_samples=3, progress_bar=False)
    run.run(jax.random.key(1), init_params={"a": np.float64(0.0), "b": np.float64(0.0)})
    with pytest.raises(TypeError, match="kernel of a potential function"):
        sb.mcmc_test(run, rng=0)


@pytest.mark.exact
def test_what_cannot_be_told_apart_or_tested_is_refused(run: Any) -> None:
    with pytest.raises(TypeError, match="may be a NumPyro model or a score"):
        sb.mcmc_test(run, eight_schools(5.0))
    with pytest.raises(TypeError, match="without its run"):
        sb.mcmc_test({"mu": np.zeros((2, 9))}, infer.NUTS(eight_schools(5.0)))
    with pytest.raises(ValueError, match="has not been run"):
        sb.mcmc_test(infer.MCMC(infer.NUTS(eight_schools(5.0)), num_warmup=1, num_samples=1))
    with pytest.raises(ValueError, match="`parameters` is for models"):
        sb.mcmc_test(run, parameters=["mu"])
    with pytest.raises(ValueError, match="which knows its chains"):
        sb.mcmc_test(run, chains=4)

    def counts(*_: Any) -> None:
        numpyro.sample("k", nd.Poisson(3.0))

    with pytest.raises(TypeError, match=r"discrete parameters \(k\)"):
        sb.mcmc_test(run, infer.NUTS(counts))
