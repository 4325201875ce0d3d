"""Torch: distributions, modules with a ``log_prob``, and the normalizing flows of zuko, nflows and normflows."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
import torch
from torch.distributions import Distribution

from steinball.adapters.density import Conventions, ForeignDensity, Map, differentiated, read_distribution
from steinball.arrays import Floats, to_host
from steinball.models.knowledge import Knowledge
from steinball.models.registry import Adapter
from steinball.predictive.law import DRAWS, Draws, Prediction


def log_prob(target: Any, flat: bool, x: Any) -> Any:
    """``target.log_prob`` of rows, in the precision and on the device of its parameters.

    ``flat`` says that it is of single numbers, without an axis for columns.
    """
    z = x[:, 0] if flat else x
    if isinstance(target, torch.nn.Module):
        return target.log_prob(in_precision_of(target, z)).to(x.device, x.dtype)
    # A constant density does not depend on x, and its score is 0.
    return target.log_prob(z).to(x.device, x.dtype).reshape(-1) + 0.0 * x[:, 0]


def in_precision_of(module: Any, x: Any) -> Any:
    """An array or tensor as a tensor in the precision and on the device of the parameters of a module."""
    x, first = x if isinstance(x, torch.Tensor) else torch.tensor(x), next(iter(module.parameters()), None)
    return x if first is None else x.to(first.device, first.dtype)


def sample(target: Any, n: int, rng: Any = None, *, by_shape: bool = True, several: bool = False) -> Floats:
    """Draws (n, d) of an object that samples by torch's own random numbers, which are left as they were.

    ``by_shape`` says that it takes a shape and not a number; ``several``, that it returns the draws first of several
    things.
    """
    seed = int(np.random.default_rng(rng).integers(2**31))
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        draws = target.sample((n,) if by_shape else n)
    return to_host(draws[0] if several else draws).reshape(n, -1)


TORCH = Conventions(
    backend="torch",
    log_prob=log_prob,
    sample=sample,
    array=torch.tensor,
    weights=attrgetter("mixture_distribution.probs"),
    as_columns="torch.distributions.Independent(model, 1)",
    repeated="torch.distributions.Independent(model.expand([{}]), 1)",
)


Sampler = Callable[..., Floats]


def module_model(model: Any, original: Any, sampler: Sampler | None = None, base: Map | None = None) -> ForeignDensity:
    """A module with ``log_prob`` of rows, such as a flow; ``original`` is what the user passed."""
    sampler = _found_sampler(model) if sampler is None else sampler
    dimension = None if sampler is None else _columns(sampler)
    return ForeignDensity(
        function=partial(log_prob, model, False),
        backend="torch",
        dimension=dimension,
        sample=None if dimension is None else sampler,
        name=type(original).__name__,
        to_base=base,
        original=original,
    )


def _columns(sampler: Sampler) -> int | None:
    """The number of columns of its draws; ``None`` where it cannot draw, as nflows cannot in double precision."""
    with suppress(RuntimeError):
        return int(sampler(2, 0).shape[1])
    return None


def _found_sampler(model: Any) -> Sampler | None:
    """A module's own ``sample``, by whichever convention gives rows."""
    if Knowledge(model).sampler is None:
        return None
    for by_shape, several in ((True, False), (True, True), (False, False), (False, True)):
        found = partial(sample, model, by_shape=by_shape, several=several)
        with suppress(Exception):  # another convention, or none: whatever the module raises
            if np.isfinite(found(3, 0)).all():
                return found
    return None


class Torch(Adapter):
    """Models of torch."""

    def model(self, thing: Any, dimension: int | None) -> Any:
        """The model of a distribution, or of a module with ``log_prob``."""
        if isinstance(thing, Distribution):
            return read_distribution(thing, dimension, TORCH)
        if isinstance(thing, torch.nn.Module) and "log_prob" in dir(thing):
            return module_model(thing, thing)
        return None

    def prediction(self, thing: Any, y: Any, features: Any) -> Prediction | None:
        """Draws of a distribution with one entry a row; the state of torch's generator stays as it was."""
        if not isinstance(thing, Distribution):
            return None
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(0)
            return Prediction(Draws(to_host(thing.sample(torch.Size([DRAWS]))).T))


class Flow(Adapter):
    """Models of a library of flows, each of which ``read`` reads."""

    def __init__(self, read: Callable[[Any], Any]) -> None:
        self.read = read

    def model(self, thing: Any, dimension: int | None) -> Any:
        return self.read(thing)


def _zuko(flow: Any) -> Any:
    """A lazy flow is a function of its context; called without one it is a distribution."""
    if isinstance(flow, torch.distributions.Distribution):
        return differentiated(flow, int(flow.event_shape[0]), TORCH) if flow.event_shape else None
    try:
        found = flow()
        found.sample((1,))
    except Exception as error:  # whatever it raises for want of a context
        raise TypeError(
            f"`model` is a flow {type(flow).__name__} that depends on a context; pass the distribution at one: "
            "`flow(context)`."
        ) from error
    return module_model(_Unlazy(flow), flow, partial(sample, found), partial(_zuko_base, flow))


class _Unlazy(torch.nn.Module):  # type: ignore[misc]
    """A lazy flow of zuko as a module with ``log_prob``."""

    def __init__(self, flow: Any) -> None:
        super().__init__()
        self.flow = flow

    def log_prob(self, x: Any) -> Any:
        """The log density of rows."""
        return self.flow().log_prob(x)


def _zuko_base(flow: Any, x: Floats) -> Floats:
    found = flow()
    with torch.no_grad():
        return to_host((found.transform(in_precision_of(flow, x)) - found.base.mean) / found.base.stddev)


def _flow(flow: Any, inverse: Callable[[Any, Floats], Floats], methods: set[str], several: bool) -> Any:
    """A flow with a normal base, if it has ``log_prob``; its ``inverse`` needs these methods."""
    if Knowledge(flow).density_method != "log_prob":
        return None
    base = partial(inverse, flow) if methods <= set(dir(flow)) else None
    return module_model(flow, flow, partial(sample, flow, by_shape=False, several=several), base)


def _nflows_base(flow: Any, x: Floats) -> Floats:
    with torch.no_grad():
        return to_host(flow.transform_to_noise(in_precision_of(flow, x)))


def _normflows_base(flow: Any, x: Floats) -> Floats:
    with torch.no_grad():
        noise = flow.inverse(in_precision_of(flow, x))
        return to_host((noise - flow.q0.loc) / torch.exp(flow.q0.log_scale))


_NFLOWS = partial(_flow, inverse=_nflows_base, methods={"transform_to_noise"}, several=False)
_NORMFLOWS = partial(_flow, inverse=_normflows_base, methods={"inverse", "q0"}, several=True)
ADAPTERS = {"torch": Torch(), "zuko": Flow(_zuko), "nflows": Flow(_NFLOWS), "normflows": Flow(_NORMFLOWS)}
