"""Distributions and modules of torch as models."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.models.knowledge import Knowledge

torch = pytest.importorskip("torch")
td = torch.distributions

DOUBLE = torch.float64


def number(value: float) -> Any:
    return torch.tensor(value, dtype=DOUBLE)


TWINS = [
    (td.Normal(number(1.0), number(2.0)), stats.norm(1.0, 2.0)),
    (td.StudentT(number(4.0), number(1.0), number(2.0)), stats.t(4.0, 1.0, 2.0)),
    (td.Cauchy(number(1.0), number(2.0)), stats.cauchy(1.0, 2.0)),
    (td.Gamma(number(2.0), number(0.5)), stats.gamma(2.0, scale=2.0)),
    (td.Beta(number(2.0), number(3.0)), stats.beta(2.0, 3.0)),
    (td.Exponential(number(0.5)), stats.expon(scale=2.0)),
    (td.Uniform(number(1.0), number(3.0)), stats.uniform(1.0, 2.0)),
    (td.Laplace(number(1.0), number(2.0)), stats.laplace(1.0, 2.0)),
    (td.LogNormal(number(0.0), number(1.0)), stats.lognorm(1.0)),
    (td.Gumbel(number(0.0), number(1.0)), stats.gumbel_r()),
    (td.HalfNormal(number(2.0)), stats.halfnorm(scale=2.0)),
    (td.Weibull(number(2.0), number(1.5)), stats.weibull_min(1.5, scale=2.0)),
    (td.Pareto(number(1.0), number(2.0)), stats.pareto(2.0)),
]
of_twins = pytest.mark.parametrize(
    ("distribution", "twin"),
    TWINS,
    ids=lambda value: type(value).__name__ if isinstance(value, td.Distribution) else "",
)


@pytest.mark.exact
@of_twins
def test_scores_supports_and_draws_are_those_of_scipy(distribution: Any, twin: Any) -> None:
    model, other = sb.as_model(distribution), sb.as_model(twin)
    x = twin.ppf(np.linspace(0.03, 0.97, 30))[:, None]
    np.testing.assert_allclose(model.score(x), other.score(x), rtol=1e-8, atol=1e-8)
    assert Knowledge(model).support == Knowledge(other).support
    draws = Knowledge(model).needed_draws(1000, 3)
    assert stats.kstest(draws[:, 0], twin.cdf).pvalue > 1e-3
    np.testing.assert_array_equal(draws, Knowledge(model).needed_draws(1000, 3))


@of_twins
def test_the_front_door_gives_the_answers_that_it_gives_for_scipy(distribution: Any, twin: Any) -> None:
    """Rows beside the support included, where torch refuses to give probabilities."""
    x = twin.rvs(size=60, random_state=0)
    for share in (0.0, 0.05):
        ours, other = (sb.check(x, model, contamination=share, rng=0) for model in (distribution, twin))
        assert ours.verdict == other.verdict
    known = Knowledge(sb.as_model(distribution))
    if known.to_base is None:
        return  # by draws, and not by probabilities
    low, high = (-np.inf, np.inf) if known.support is None else known.support.along(1)
    beside, sides = np.array([low - 1.0, high + 1.0]).reshape(2, 1), np.array([[-1.0], [1.0]])
    assert (sides * known.to_base(beside) > 5.0)[np.isfinite(beside)].all()
    there, truth = (sb.region_test(x, model, contamination=0.05, rng=0) for model in (distribution, twin))
    assert there.pvalue == truth.pvalue
    np.testing.assert_allclose(there.statistic, truth.statistic, rtol=1e-6)


@pytest.mark.exact
def test_gaussians_and_their_mixtures_are_our_own() -> None:
    eye = torch.eye(2, dtype=DOUBLE)
    mean = torch.tensor([0.0, 1.0], dtype=DOUBLE)
    assert isinstance(sb.as_model(td.MultivariateNormal(mean, 2.0 * eye)), sb.models.Gaussian)
    low_rank = td.LowRankMultivariateNormal(mean, torch.ones(2, 1, dtype=DOUBLE), torch.ones(2, dtype=DOUBLE))
    ranked: Any = sb.as_model(low_rank)
    np.testing.assert_allclose(ranked.covariance, [[2.0, 1.0], [1.0, 2.0]])
    assert isinstance(sb.as_model(td.Independent(td.Normal(mean, 1.0 + 0.0 * mean), 1)), sb.models.Gaussian)
    weights = td.Categorical(torch.tensor([0.3, 0.7], dtype=DOUBLE))
    for parts in (
        td.MultivariateNormal(torch.stack([mean, mean + 3.0]), torch.stack([eye, 2.0 * eye])),
        td.Independent(td.Normal(torch.stack([mean, mean + 3.0]), torch.ones(2, 2, dtype=DOUBLE)), 1),
    ):
        mixture = td.MixtureSameFamily(weights, parts)
        model: Any = sb.as_model(mixture)
        assert isinstance(model, sb.models.GaussianMixture)
        x = np.random.default_rng(0).normal(size=(10, 2))
        np.testing.assert_allclose(model.log_density(x), mixture.log_prob(torch.tensor(x)), rtol=1e-10)


@pytest.mark.exact
@pytest.mark.parametrize("n", [1, 2, 30])
def test_a_batch_of_one_is_a_distribution_of_one_number(n: int) -> None:
    model: Any = sb.as_model(td.Gamma(torch.tensor([2.0], dtype=DOUBLE), torch.tensor([0.5], dtype=DOUBLE)))
    x, twin = np.linspace(0.5, 9.0, n)[:, None], stats.gamma(2.0, scale=2.0)
    np.testing.assert_allclose(model.score(x), sb.as_model(twin).score(x), rtol=1e-8)
    np.testing.assert_allclose(model.log_density(x), twin.logpdf(x[:, 0]), rtol=1e-8)
    assert Knowledge(model).needed_draws(n).shape == (n, 1)


@pytest.mark.exact
def test_a_class_below_the_normal_one_is_differentiated_for_its_density_may_be_another() -> None:
    """It was read as the normal distribution whose parameters it has."""

    class Skewed(td.Normal):  # type: ignore[misc, name-defined]
        def log_prob(self, x: Any) -> Any:
            return super().log_prob(x) + torch.log(2.0 * td.Normal(self.loc, self.scale).cdf(3.0 * x))

    x = np.linspace(-1.0, 2.0, 7)[:, None]
    model: Any = sb.as_model(Skewed(number(0.0), number(1.0)))
    np.testing.assert_allclose(model.score(x), sb.as_model(stats.skewnorm(3.0)).score(x), rtol=1e-8)


@pytest.mark.exact
def test_a_mixture_of_others_is_differentiated() -> None:
    mixture = td.MixtureSameFamily(
        td.Categorical(torch.tensor([0.3, 0.7], dtype=DOUBLE)),
        td.Laplace(torch.tensor([0.0, 3.0], dtype=DOUBLE), torch.ones(2, dtype=DOUBLE)),
    )
    model: Any = sb.as_model(mixture)
    assert sb.check_score(model, np.linspace(-1.9, 4.9, 20)[:, None]).ok
    assert "automatic derivative by torch" in repr(model)


@pytest.mark.parametrize(
    ("distribution", "message"),
    [
        (td.Poisson(3.0), "type Poisson, a discrete distribution"),
        (td.Normal(torch.zeros(3), torch.ones(3)), r"a batch of 3 distributions Normal.*Independent\(model, 1\)"),
        (td.MultivariateNormal(torch.zeros(2, 3), torch.eye(3)), "a batch of 2 distributions"),
        (td.Dirichlet(torch.ones(3)), "a distribution on the set"),
        (td.VonMises(0.0, 1.0), "VonMises of an angle"),
    ],
    ids=["discrete", "batch", "batch of vectors", "simplex", "angle"],
)
def test_what_cannot_be_tested_or_told_apart_is_refused(distribution: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        sb.as_model(distribution)


def test_one_number_for_several_columns_has_two_readings() -> None:
    with pytest.raises(ValueError, match=r"of one number.*Independent\(model\.expand\(\[2\]\), 1\)"):
        sb.ksd_test(torch.zeros(5, 2), td.Normal(0.0, 1.0))


def test_random_numbers_of_torch_are_left_as_they_were() -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    Knowledge(sb.as_model(td.Gamma(2.0, 1.0))).needed_draws(5, 0)
    assert torch.equal(torch.rand(3), expected)


class Flow(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A flow of single precision: x = exp(a) z + b with z normal."""

    def __init__(self, takes_shape: bool = True, several: bool = False) -> None:
        super().__init__()
        self.a, self.b = torch.nn.Parameter(torch.tensor([0.5, 0.0])), torch.nn.Parameter(torch.tensor([1.0, -1.0]))
        self.takes_shape, self.several = takes_shape, several

    def log_prob(self, x: Any) -> Any:
        z = (x - self.b) * torch.exp(-self.a)
        weights = torch.nn.functional.linear(z, torch.eye(2))  # refuses double precision
        return -0.5 * (weights**2).sum(dim=1) - self.a.sum()

    def sample(self, shape: Any) -> Any:
        if isinstance(shape, tuple) != self.takes_shape:
            raise TypeError("another convention")
        draws = torch.randn(*(shape if self.takes_shape else (shape,)), 2) * torch.exp(self.a) + self.b
        return (draws, draws.sum(dim=1)) if self.several else draws


@pytest.mark.parametrize(("takes_shape", "several"), [(True, False), (False, False), (False, True)])
def test_a_module_with_log_prob_is_a_model_whatever_its_conventions(takes_shape: bool, several: bool) -> None:
    flow = Flow(takes_shape, several)
    model: Any = sb.as_model(flow)
    assert Knowledge(model).dimension == 2
    x = Knowledge(model).needed_draws(300, 1)
    truth = sb.models.Gaussian([1.0, -1.0], sd=[np.exp(0.5), 1.0])
    np.testing.assert_allclose(model.score(x), truth.score(x), rtol=2e-5, atol=2e-5)
    for data in (x, torch.tensor(x), torch.tensor(x, dtype=torch.float32)):
        assert not sb.robust_ksd_test(data, flow, contamination=0.05, rng=0).rejected
    assert sb.robust_ksd_test(x + 1.0, flow, contamination=0.05, rng=0).rejected
    assert not sb.SequentialTest(flow, tau=9.0, contamination=0.05).update(x.astype(np.float32)).rejected


def test_a_module_without_log_prob_is_a_score() -> None:
    layer = torch.nn.Linear(2, 2, dtype=DOUBLE)
    x = np.zeros((3, 2))
    assert sb.as_model(layer, x).score(torch.tensor(x)).shape == (3, 2)


def test_base_space_by_cdf_and_by_the_inverse_of_transforms() -> None:
    gamma = td.Gamma(number(2.0), number(1.0))
    x = stats.gamma(2.0).rvs(size=(50, 1), random_state=0)
    model: Any = sb.as_model(gamma)
    np.testing.assert_allclose(model.to_base(x), stats.norm.ppf(stats.gamma(2.0).cdf(x)), atol=1e-8)
    base = td.Independent(td.Normal(torch.zeros(2, dtype=DOUBLE), torch.ones(2, dtype=DOUBLE)), 1)
    flow = td.TransformedDistribution(base, [td.AffineTransform(1.0, 2.0), td.TanhTransform()])
    z = np.random.default_rng(0).normal(size=(20, 2)) * 0.3
    mapped: Any = sb.as_model(flow)
    np.testing.assert_allclose(mapped.to_base(np.tanh(2.0 * z + 1.0)), z, atol=1e-8)
    with pytest.raises(TypeError, match="must know its distribution function"):
        sb.in_base_space(td.Beta(2.0, 3.0))


def test_a_model_of_torch_can_be_pickled() -> None:
    model = pickle.loads(pickle.dumps(sb.as_model(td.Gamma(number(2.0), number(1.0)))))
    np.testing.assert_allclose(model.score(np.array([[2.0]])), [[-0.5]])
