"""Torch: distributions, modules with a ``log_prob``, and the normalizing flows of zuko, nflows and normflows."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.distributions import Distribution

from steinball.adapters.density import Conventions, ForeignDensity, Map, differentiated, read_distribution
from steinball.arrays import Floats, to_host
from steinball.models.knowledge import Knowledge
from steinball.models.registry import Adapter
from steinball.predictive.law import DRAWS, Draws, Prediction


def log_prob(target: Any, x: Any) -> Any:
    """``target.log_prob`` of rows, in the precision and on the device of its parameters."""
    if isinstance(target, torch.nn.Module):
        return _called(target).log_prob(in_precision_of(target, x)).to(x.device, x.dtype)
    z = x if target.event_shape else x[:, 0]  # of single numbers, without an axis for columns
    # A constant density does not depend on x, and its score is 0.
    return target.log_prob(z).to(x.device, x.dtype).reshape(-1) + 0.0 * x[:, 0]


def _called(target: Any) -> Any:
    """What has ``log_prob`` and ``sample``: of a lazy flow of zuko the distribution that it gives without a context."""
    return target if "log_prob" in dir(target) else target()


def in_precision_of(module: Any, x: Any) -> Any:
    """An array or tensor as a tensor in the precision and on the device of the parameters of a module."""
    x, first = x if isinstance(x, torch.Tensor) else torch.tensor(x), next(iter(module.parameters()), None)
    return x if first is None else x.to(first.device, first.dtype)


def sample(target: Any, n: int, rng: Any = None, *, by_shape: bool = True) -> Floats:
    """Draws (n, d) of an object that samples by torch's own random numbers, which are left as they were.

    ``by_shape`` says that it takes a shape and not a number. Of several things that it returns draws are the first.
    """
    seed = int(np.random.default_rng(rng).integers(2**31))
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        draws = _called(target).sample((n,) if by_shape else n)
    return to_host(draws[0] if isinstance(draws, tuple) else draws).reshape(n, -1)


TORCH = Conventions(
    backend="torch",
    log_prob=log_prob,
    sample=sample,
    array=torch.tensor,
    as_columns="torch.distributions.Independent(model, 1)",
    repeated="torch.distributions.Independent(model.expand([{}]), 1)",
)


def module_model(model: Any, base: Map | None) -> ForeignDensity:
    """A module with ``log_prob`` of rows, such as a flow."""
    sampler = _sampler(model)
    return ForeignDensity(
        function=partial(log_prob, model),
        backend="torch",
        dimension=None if sampler is None else int(sampler(2, 0).shape[1]),
        sample=sampler,
        to_base=base,
        original=model,
    )


def _sampler(model: Any) -> Callable[..., Floats] | None:
    """A module's own ``sample``, by whichever convention gives rows; ``None`` where it cannot draw, as nflows cannot in
    double precision."""
    if Knowledge(_called(model)).sampler is None:
        return None
    for by_shape in (True, False):
        found = partial(sample, model, by_shape=by_shape)
        with suppress(Exception):  # another convention, or none: whatever the module raises
            if np.isfinite(found(3, 0)).all():
                return found
    return None


class Torch(Adapter):
    """Models of torch, and of a library of flows: ``noise`` takes rows to the base of a flow, its part ``base``."""

    def __init__(self, noise: Callable[[Any, Any], Any] | None = None, base: str = "") -> None:
        self._noise, self._base = noise, base

    def model(self, thing: Any, dimension: int | None) -> Any:
        """The model of a distribution, or of a module with ``log_prob``."""
        if isinstance(thing, Distribution):
            return read_distribution(thing, dimension, TORCH)
        if not isinstance(thing, torch.nn.Module) or "log_prob" not in dir(thing):
            return None
        return module_model(thing, _to_noise(self._noise, thing, dict(thing.named_children()).get(self._base)))

    def prediction(self, thing: Any, y: Any, features: Any) -> Prediction | None:
        """Draws of a distribution with one entry a row; the state of torch's generator stays as it was."""
        if not isinstance(thing, Distribution):
            return None
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(0)
            return Prediction(Draws(to_host(thing.sample(torch.Size([DRAWS]))).T))


class Zuko(Adapter):
    """Flows of zuko."""

    def model(self, thing: Any, dimension: int | None) -> Any:
        """The model of a lazy flow, which is a function of its context; called without one it is a distribution."""
        if isinstance(thing, Distribution):
            return differentiated(thing, int(thing.event_shape[0]), TORCH) if thing.event_shape else None
        try:
            found = thing()
            found.sample((1,))
        except Exception as error:  # whatever it raises for want of a context
            raise TypeError(
                f"`model` is a flow {type(thing).__name__} that depends on a context; pass the distribution at one: "
                "`flow(context)`."
            ) from error
        return module_model(thing, _to_noise(_zuko_noise, thing, vars(found).get("base")))


#: Classes of bases of zuko, nflows and normflows that are standard normal once place and scale are taken off.
_NORMAL = {"DiagNormal", "StandardNormal", "DiagGaussian"}


def _to_noise(noise: Any, flow: Any, base: Any) -> Map | None:
    """The map of rows to the normal base of a flow; ``None`` where the base is another one, such as a uniform one."""
    return partial(_noise_of, noise, flow) if type(base).__name__ in _NORMAL else None


def _noise_of(noise: Callable[[Any, Any], Any], flow: Any, x: Floats) -> Floats:
    """The normal noise z from which a flow makes the rows x."""
    with torch.no_grad():
        return to_host(noise(flow, in_precision_of(flow, x)))


def _zuko_noise(flow: Any, x: Any) -> Any:
    found = flow()
    return (found.transform(x) - found.base.mean) / found.base.stddev


def _nflows_noise(flow: Any, x: Any) -> Any:
    return flow.transform_to_noise(x)


def _normflows_noise(flow: Any, x: Any) -> Any:
    return (flow.inverse(x) - flow.q0.loc) / torch.exp(flow.q0.log_scale)


NFLOWS, NORMFLOWS = Torch(_nflows_noise, "_distribution"), Torch(_normflows_noise, "q0")
ADAPTERS = {"torch": Torch(), "zuko": Zuko(), "nflows": NFLOWS, "normflows": NORMFLOWS}
