"""NumPyro: the draws of an ``MCMC``, and the posterior of its model on the unconstrained space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.posterior.base import Posterior, check_names, over_draws
from steinball.posterior.layout import Layout

_ROWS = 256
"""Rows that are evaluated at a time: one shape, so that one compilation serves every number of rows."""


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
        Of a model, or of a ``potential_fn`` of named positions.
    mcmc : MCMC
        The run whose arguments the model is called with.
    """

    def __init__(self, kernel: Any, mcmc: Any) -> None:
        self._args, self._kwargs = mcmc._args, mcmc._kwargs
        self._model = kernel.model
        self._potential = kernel._potential_fn
        draws = read_mcmc(mcmc)
        names = tuple(draws) if self._model is None else _latent(self._model, self._args, self._kwargs)
        self._gradient: Any = None
        self._layout = Layout.of(self._by_name(draws, names, 1), 1)
        self.parameters = self._layout.parameters

    def unconstrain(self, values: Mapping[str, Floats]) -> Floats:
        """By the transforms of the priors' supports; the positions of a potential function are taken as they are."""
        found = self._by_name(values, self._layout.names)
        return self._layout.pack(found).reshape(*next(iter(values.values())).shape[:2], -1)

    def _by_name(
        self, values: Mapping[str, Floats], names: tuple[str, ...], most: int | None = None
    ) -> dict[str, Floats]:
        """The first rows of the draws, unconstrained."""
        import jax

        check_names(names, values)
        rows = {name: value[:most] for name, value in over_draws({name: values[name] for name in names}).items()}
        free = rows if self._model is None else jax.vmap(self._free)({k: jax.numpy.asarray(v) for k, v in rows.items()})
        return {name: np.asarray(free[name], dtype=np.float64) for name in names}

    def _free(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        import jax
        from numpyro.handlers import seed
        from numpyro.infer.util import unconstrain_fn

        found: Mapping[str, Any] = unconstrain_fn(
            seed(self._model, jax.random.key(0)), self._args, self._kwargs, values
        )
        return found

    def score(self, x: Floats, /) -> Floats:
        """By automatic differentiation, some rows at a time."""
        import jax

        if self._gradient is None:
            self._gradient = jax.jit(jax.vmap(jax.grad(self._log_density)))
        parts = [self._part(x[start : start + _ROWS]) for start in range(0, len(x), _ROWS)]
        return np.concatenate(parts)

    def _part(self, x: Floats) -> Floats:
        padded = np.concatenate([x, np.repeat(x[-1:], _ROWS - len(x), axis=0)])
        gradient = self._gradient(self._layout.unpack(padded))
        return self._layout.pack({name: np.asarray(value) for name, value in gradient.items()})[: len(x)]

    def _log_density(self, position: Mapping[str, Any]) -> Any:
        if self._model is None:
            return -self._potential(position)
        import jax
        from numpyro.handlers import seed
        from numpyro.infer.util import potential_energy

        return -potential_energy(seed(self._model, jax.random.key(0)), self._args, self._kwargs, position)


def _latent(model: Any, args: Any, kwargs: Any) -> tuple[str, ...]:
    """The sites that are sampled and not observed, in the order of the model."""
    import jax
    from numpyro.handlers import seed, trace

    sites = trace(seed(model, jax.random.key(0))).get_trace(*args, **kwargs)
    latent = [name for name, site in sites.items() if site["type"] == "sample" and not site["is_observed"]]
    if discrete := [name for name in latent if sites[name]["fn"].support.is_discrete]:
        raise TypeError(f"the model has discrete parameters ({', '.join(discrete)}), which have no score ∇log p.")
    return tuple(latent)
