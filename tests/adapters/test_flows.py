"""Normalizing flows of zuko, nflows and normflows as models, on the real libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.models.knowledge import Knowledge

torch = pytest.importorskip("torch", reason="torch is not installed")


def zuko_flow() -> Any:
    return pytest.importorskip("zuko", reason="zuko is not installed").flows.MAF(2, transforms=2, hidden_features=[16])


def nflows_flow() -> Any:
    base = pytest.importorskip("nflows.flows.base", reason="nflows is not installed")
    from nflows.distributions.normal import StandardNormal
    from nflows.transforms.autoregressive import MaskedAffineAutoregressiveTransform
    from nflows.transforms.base import CompositeTransform

    made = [MaskedAffineAutoregressiveTransform(features=2, hidden_features=16) for _ in range(2)]
    return base.Flow(CompositeTransform(made), StandardNormal([2]))


def normflows_flow() -> Any:
    nf = pytest.importorskip("normflows", reason="normflows is not installed")
    coupling = [nf.flows.AffineCouplingBlock(nf.nets.MLP([1, 16, 2], init_zeros=False)) for _ in range(2)]
    flows = [flow for block in coupling for flow in (block, nf.flows.Permute(2, mode="swap"))]
    return nf.NormalizingFlow(nf.distributions.DiagGaussian(2), flows)


FLOWS = {"zuko": zuko_flow, "nflows": nflows_flow, "normflows": normflows_flow}


@pytest.fixture(params=list(FLOWS))
def flow(request: pytest.FixtureRequest) -> Any:
    torch.manual_seed(0)
    return FLOWS[request.param]()


def log_prob(flow: Any, x: Any) -> Any:
    return (flow() if "zuko" in type(flow).__module__ else flow).log_prob(x)


def test_the_score_is_the_gradient_of_log_prob(flow: Any) -> None:
    flow.double()
    model: Any = sb.as_model(flow)
    x = np.random.default_rng(0).normal(size=(20, 2))
    z = torch.tensor(x, requires_grad=True)
    gradient = torch.autograd.grad(log_prob(flow, z).sum(), z)[0]
    np.testing.assert_allclose(model.score(x), gradient, rtol=1e-8, atol=1e-10)
    assert sb.check_score(model, x).ok


def test_draws_become_normal_in_base_space(flow: Any) -> None:
    model: Any = sb.as_model(flow)
    assert Knowledge(model).dimension == 2
    x = Knowledge(model).needed_draws(1500, 1)
    z = model.to_base(x)
    assert all(stats.kstest(column, "norm").pvalue > 1e-3 for column in z.T)
    assert abs(np.corrcoef(z.T)[0, 1]) < 0.11


@pytest.mark.filterwarnings("ignore::steinball.cautions.UnboundedSteinKernelWarning")  # the score of some grows fast
def test_a_flow_in_single_precision_is_tested_by_its_own_draws(flow: Any) -> None:
    x = Knowledge(sb.as_model(flow)).needed_draws(300, 2)
    for model in (flow, sb.in_base_space(flow)):
        assert not sb.robust_ksd_test(x, model, contamination=0.05, rng=0).rejected
        assert sb.robust_ksd_test(x + 1.5, model, contamination=0.05, rng=0).rejected


def test_a_conditional_flow_needs_its_context() -> None:
    zuko = pytest.importorskip("zuko", reason="zuko is not installed")
    flow = zuko.flows.MAF(2, context=3, transforms=1)
    with pytest.raises(TypeError, match=r"depends on a context.*`flow\(context\)`"):
        sb.as_model(flow)
    at = flow(torch.zeros(3))
    assert sb.as_model(at).score(np.zeros((4, 2), dtype=np.float32)).shape == (4, 2)


class StandIn(torch.nn.Module):  # type: ignore[misc, name-defined]
    """Noise of a base with the attributes that a flow of each library has: rows are twice their noise."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._distribution, self.q0 = base(name), base(name)
        self.__dict__["base"] = base(name)  # a plain attribute, as that of a distribution

    def transform(self, x: Any) -> Any:
        return x / 2.0

    transform_to_noise = inverse = transform

    def log_prob(self, x: Any) -> Any:
        return self.base.log_prob(x / 2.0).sum(1)

    def sample(self, shape: Any) -> Any:
        return 2.0 * self.base.sample((*shape, 2))


class Lazy(torch.nn.Module):  # type: ignore[misc, name-defined]
    """What gives a flow when it is called, as modules of zuko do."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.flow = StandIn(name)

    def forward(self) -> Any:
        return self.flow


class Base(torch.nn.Module):  # type: ignore[misc, name-defined]
    """Independent numbers, with the words of each library for their place and scale."""

    def __init__(self) -> None:
        super().__init__()
        law = torch.distributions.Uniform if type(self).__name__ == "BoxUniform" else torch.distributions.Normal
        made = law(torch.tensor(0.0), torch.tensor(1.0))
        self.log_prob, self.sample, self.mean, self.stddev = made.log_prob, made.sample, made.mean, made.stddev
        self.loc, self.log_scale = made.mean, torch.log(made.stddev)


def base(name: str) -> Any:
    return type(name, (Base,), {})()


@pytest.mark.exact
@pytest.mark.parametrize(
    ("library", "normal"), [("zuko", "DiagNormal"), ("nflows", "StandardNormal"), ("normflows", "DiagGaussian")]
)
def test_only_a_flow_with_a_normal_base_has_a_base_space(library: str, normal: str) -> None:
    """Uniform noise (a circular spline of zuko) was centered and scaled, and taken for normal."""
    kind = type("Flow", (Lazy if library == "zuko" else StandIn,), {"__module__": f"{library}.flows"})
    x = np.random.default_rng(0).normal(size=(5, 2))
    model: Any = sb.as_model(kind(normal))
    np.testing.assert_allclose(model.to_base(x), x / 2.0)
    np.testing.assert_allclose(model.score(x), -x / 4.0)
    assert repr(model) == "ForeignDensity(Flow, score: automatic derivative by torch)"
    assert Knowledge(model).needed_draws(400).std() == pytest.approx(2.0, rel=0.1)
    assert Knowledge(sb.as_model(kind("BoxUniform"))).to_base is None
    with pytest.raises(TypeError, match="must know its distribution function or the inverse of a flow"):
        sb.in_base_space(kind("BoxUniform"))
