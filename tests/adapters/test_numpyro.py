"""Distributions of NumPyro as models, on the real library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.models.knowledge import Knowledge

pytest.importorskip("numpyro", reason="NumPyro is not installed")
nd = pytest.importorskip("numpyro.distributions", reason="NumPyro is not installed")
jnp = pytest.importorskip("jax.numpy", reason="JAX is not installed")


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
        (nd.VonMises(0.0, 1.0), "a distribution on a circle"),
    ],
    ids=["discrete", "batch", "simplex", "angle"],
)
def test_what_cannot_be_tested_or_told_apart_is_refused(distribution: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        sb.as_model(distribution)
    with pytest.raises(ValueError, match=r"of one number.*expand\(\[2\]\)\.to_event\(1\)"):
        sb.as_model(nd.Gamma(2.0, 1.0), np.zeros((3, 2)))
