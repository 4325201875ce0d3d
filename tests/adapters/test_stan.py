"""BridgeStan's interface, in an object that has the same methods: nothing is compiled here."""

from __future__ import annotations

import numpy as np
import pytest

import steinball as sb
from steinball.adapters.samplers import StanPosterior
from steinball.arrays import Floats


class StanModel:
    """mu ~ N(1, 2²), sigma ~ Exponential(1), A a 2 × 3 matrix of N(0, 1): the columns of A vary slowest."""

    def param_names(self) -> list[str]:
        return ["mu", "sigma", *(f"A.{i}.{j}" for j in (1, 2, 3) for i in (1, 2))]

    def param_unc_names(self) -> list[str]:
        return self.param_names()

    def param_unconstrain(self, theta: Floats) -> Floats:
        assert theta.flags.c_contiguous
        return np.concatenate([theta[:1], np.log(theta[1:2]), theta[2:]])

    def log_density_gradient(
        self, theta_unc: Floats, *, propto: bool = True, jacobian: bool = True
    ) -> tuple[float, Floats]:
        assert theta_unc.flags.c_contiguous
        gradient = -theta_unc
        gradient[0] = -(theta_unc[0] - 1.0) / 4.0
        gradient[1] = jacobian - np.exp(theta_unc[1])
        return 0.0, gradient


StanModel.__module__ = "bridgestan.model"


def draws_of(seed: int) -> dict[str, Floats]:
    rng = np.random.default_rng(seed)
    shape = (4, 150)
    return {
        "y_new": rng.normal(size=shape),  # a generated quantity
        "A": rng.normal(size=(*shape, 2, 3)),
        "sigma": rng.exponential(size=shape),
        "mu": rng.normal(1.0, 2.0, size=shape),
    }


@pytest.mark.exact
def test_parameters_are_found_by_name_and_in_the_order_of_stan() -> None:
    draws, posterior = draws_of(0), StanPosterior(StanModel())
    rows = posterior.unconstrain(draws)
    assert posterior.parameters[:4] == ("mu", "sigma", "A[1,1]", "A[2,1]")
    np.testing.assert_array_equal(rows[..., 1], np.log(draws["sigma"]))
    np.testing.assert_array_equal(rows[..., 3], draws["A"][..., 1, 0])
    np.testing.assert_allclose(posterior.score(rows[0])[:, 1], 1.0 - draws["sigma"][0])


@pytest.mark.calibration
def test_draws_of_the_posterior_pass_and_others_are_rejected() -> None:
    draws = draws_of(1)
    result = sb.mcmc_test(draws, StanModel(), rng=0)
    assert not result.rejected
    assert result.parameters[1] == "sigma"
    assert sb.mcmc_test({**draws, "sigma": 1.5 * draws["sigma"]}, StanModel(), rng=0).rejected


@pytest.mark.exact
def test_a_parameter_that_cannot_be_read_is_refused_by_name() -> None:
    class Complex(StanModel):
        def param_names(self) -> list[str]:
            return ["z.real", "z.imag"]

    with pytest.raises(TypeError, match=r"z\.real of the Stan model is complex"):
        StanPosterior(Complex())
