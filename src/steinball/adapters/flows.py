"""Normalizing flows on torch: the conventions of zuko, nflows and normflows."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from steinball.adapters.density import differentiated
from steinball.adapters.torch import TORCH, in_precision_of, module_model, sample
from steinball.arrays import Floats, to_host
from steinball.models.knowledge import Knowledge
from steinball.models.registry import Adapter


class Flows(Adapter):
    """Models of the three libraries."""

    def model(self, thing: Any, dimension: int | None) -> Any:
        library = next(name for name in _LIBRARIES if any(c.__module__.startswith(name) for c in type(thing).__mro__))
        return _LIBRARIES[library](thing)


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


def _nflows(flow: Any) -> Any:
    if Knowledge(flow).density_method != "log_prob":
        return None
    base = partial(_nflows_base, flow) if "transform_to_noise" in dir(flow) else None
    return module_model(flow, flow, partial(sample, flow, by_shape=False), base)


def _nflows_base(flow: Any, x: Floats) -> Floats:
    with torch.no_grad():
        return to_host(flow.transform_to_noise(in_precision_of(flow, x)))


def _normflows(flow: Any) -> Any:
    if Knowledge(flow).density_method != "log_prob":
        return None
    base = partial(_normflows_base, flow) if "inverse" in dir(flow) and "q0" in dir(flow) else None
    return module_model(flow, flow, partial(sample, flow, by_shape=False, several=True), base)


def _normflows_base(flow: Any, x: Floats) -> Floats:
    with torch.no_grad():
        noise = flow.inverse(in_precision_of(flow, x))
        return to_host((noise - flow.q0.loc) / torch.exp(flow.q0.log_scale))


_LIBRARIES = {"zuko": _zuko, "nflows": _nflows, "normflows": _normflows}
ADAPTER = Flows()
