"""NumPyro: distributions, the draws of an ``MCMC``, and the posterior of its model on the unconstrained space."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import numpy as np
from numpyro.distributions import Distribution
from numpyro.handlers import seed, trace
from numpyro.infer.util import potential_energy, unconstrain_fn

from steinball.adapters.density import Conventions, read_distribution
from steinball.adapters.samplers import Layout, NamedDraws, Posterior, Reading
from steinball.arrays import Floats, to_host
from steinball.models.registry import Adapter, class_names
from steinball.predictive.law import DRAWS, Draws, Prediction

#: Rows that are evaluated at a time: one shape, so that one compilation serves every number of rows.
_ROWS = 256


def _log_prob(target: Any, x: Any) -> Any:
    return target.log_prob(x if target.event_shape else x[:, 0])


def _sample(target: Any, n: int, rng: Any = None) -> Floats:
    key = jax.random.PRNGKey(int(np.random.default_rng(rng).integers(2**31)))
    return to_host(target.sample(key, (n,))).reshape(n, -1)


NUMPYRO = Conventions(
    backend="jax",
    log_prob=_log_prob,
    sample=_sample,
    array=jax.numpy.asarray,
    as_columns="model.to_event(1)",
    repeated="model.expand([{}]).to_event(1)",
)


def read_mcmc(mcmc: Any) -> dict[str, Floats]:
    """The draws of a run by name, each (chain, draw, ...), those of deterministic sites among them."""
    if mcmc._states is None:
        raise ValueError("`draws` is a NumPyro MCMC that has not been run; call its `run(key, ...)` first.")
    samples = mcmc.get_samples(group_by_chain=True)
    if not isinstance(samples, dict):
        raise TypeError(
            "`draws` is a NumPyro MCMC of a potential function whose draws have no names; give it positions in a "
            "dictionary, or pass arrays: `sb.mcmc_test(mcmc.get_samples(group_by_chain=True), scores=...)`."
        )
    return {str(name): np.asarray(value, dtype=np.float64) for name, value in samples.items()}


class NumPyroPosterior(Posterior):
    """The posterior that a kernel of NumPyro samples from, given what the run was given.

    Parameters
    ----------
    kernel : MCMCKernel
        Of a model; one of a bare ``potential_fn`` is refused.
    mcmc : MCMC
        The run whose arguments the model is called with.
    """

    def __init__(self, kernel: Any, mcmc: Any) -> None:
        self._args, self._kwargs = mcmc._args, mcmc._kwargs
        self._model, draws = kernel.model, read_mcmc(mcmc)
        if self._model is None:
            raise TypeError("`model` is a NumPyro kernel of a potential function; pass the kernel of a model.")
        self.names = self._latent()
        self._layout = Layout.of(self._free({name: value[0, :1] for name, value in self.sampled(draws).items()}), 1)
        self.parameters = self._layout.parameters
        self._gradient = jax.jit(jax.vmap(jax.grad(self._log_density)))

    @property
    def _seeded(self) -> Any:
        return seed(self._model, jax.random.key(0))  # anew for each call: it counts its random numbers

    def _latent(self) -> tuple[str, ...]:
        """The sites that are sampled and not observed, in the order of the model."""
        sites = trace(self._seeded).get_trace(*self._args, **self._kwargs)
        latent = [name for name, site in sites.items() if site["type"] == "sample" and not site["is_observed"]]
        if discrete := [name for name in latent if sites[name]["fn"].support.is_discrete]:
            raise TypeError(f"the model has discrete parameters ({', '.join(discrete)}), which have no score ∇log p.")
        return tuple(latent)

    def _free(self, rows: Mapping[str, Floats]) -> dict[str, Floats]:
        """Unconstrained values by the transforms of the priors' supports."""
        transform = partial(unconstrain_fn, self._seeded, self._args, self._kwargs)
        free = jax.vmap(transform)({name: jax.numpy.asarray(value) for name, value in rows.items()})
        return {name: np.asarray(free[name], dtype=np.float64) for name in rows}

    def free_rows(self, rows: Mapping[str, Floats]) -> Floats:
        return self._layout.pack(self._free(rows))

    def score(self, x: Floats, /) -> Floats:
        """∇log p by automatic differentiation, some rows at a time."""
        return np.concatenate([self._part(x[start : start + _ROWS]) for start in range(0, len(x), _ROWS)])

    def _part(self, x: Floats) -> Floats:
        padded = np.concatenate([x, np.repeat(x[-1:], _ROWS - len(x), axis=0)])
        gradient = self._gradient(self._layout.unpack(padded))
        return self._layout.pack({name: np.asarray(value) for name, value in gradient.items()})[: len(x)]

    def _log_density(self, position: Mapping[str, Any]) -> Any:
        return -potential_energy(self._seeded, self._args, self._kwargs, position)


class NumPyro(Adapter):
    """Models, draws and posteriors of NumPyro."""

    posteriors = ("MCMC", "MCMCKernel")

    def model(self, thing: Any, dimension: int | None) -> Any:
        return read_distribution(thing, dimension, NUMPYRO) if isinstance(thing, Distribution) else None

    def prediction(self, thing: Any, y: Any, features: Any) -> Prediction | None:
        """Draws of a distribution with one entry a row."""
        if not isinstance(thing, Distribution):
            return None
        return Prediction(Draws(to_host(thing.sample(jax.random.PRNGKey(0), (DRAWS,))).T))

    def draws(self, thing: Any, reading: Reading) -> NamedDraws | None:
        """The draws of a run, which is itself the model that they are tested against."""
        if "MCMC" not in class_names(thing):
            return None
        reading.refuse_axes("a NumPyro MCMC")
        return NamedDraws(read_mcmc(thing), model=thing)

    def posterior(self, thing: Any, run: Any) -> NumPyroPosterior | None:
        """The posterior of a run, or of a kernel with the arguments of the run that the draws came from."""
        if "MCMC" in class_names(thing):
            return NumPyroPosterior(thing.sampler, thing)
        if "MCMCKernel" in class_names(thing):
            if "MCMC" not in class_names(run):
                raise TypeError(
                    "`model` is a NumPyro kernel, and without its run the arguments of its model are unknown. Pass the "
                    "`MCMC` as `draws` or as `model`."
                )
            return NumPyroPosterior(thing, run)
        if type(thing).__name__ == "function":
            raise TypeError(
                "`model` is a function, which may be a NumPyro model or a score. For a model pass its kernel, "
                "`NUTS(model)`; for a score on the constrained space `sb.from_score(f)` with `parameters=[...]`."
            )
        return None


ADAPTERS = {"numpyro": NumPyro()}
