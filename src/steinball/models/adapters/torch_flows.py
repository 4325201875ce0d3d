"""Normalizing flows: the conventions of zuko, nflows and normflows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from steinball.arrays import Floats
from steinball.models.adapters.torch_distributions import Sampler, differentiated, module_model
from steinball.models.knowledge import Knowledge


def adapt(model: Any, dimension: int | None) -> Any:
    """The model of a flow; ``None`` for anything else of these libraries."""
    library = next(name for name in _FLOWS if any(c.__module__.startswith(name) for c in type(model).__mro__))
    return _FLOWS[library](model)


def _zuko(model: Any) -> Any:
    """A lazy flow is a function of its context; called without one it is a distribution."""
    if isinstance(model, torch.distributions.Distribution):
        return differentiated(model, type(model).__name__, int(model.event_shape[0])) if model.event_shape else None
    try:
        flow = model()
        flow.sample((1,))
    except Exception as error:  # whatever it raises for want of a context
        raise TypeError(
            f"`model` is a flow {type(model).__name__} that depends on a context; pass the distribution at one: "
            "`flow(context)`."
        ) from error
    return module_model(_Unlazy(model), model, Sampler(flow), _ZukoBase(model))


class _Unlazy(torch.nn.Module):  # type: ignore[misc]
    """A lazy flow of zuko as a module with ``log_prob``."""

    def __init__(self, flow: Any) -> None:
        super().__init__()
        self.flow = flow

    def log_prob(self, x: Any) -> Any:
        """The log density of rows."""
        return self.flow().log_prob(x)


@dataclass(frozen=True)
class _ZukoBase:
    flow: Any

    def __call__(self, x: Floats) -> Floats:
        found = self.flow()
        with torch.no_grad():
            noise = found.transform(_like(self.flow, x))
            base = found.base
            return _numbers((noise - base.mean) / base.stddev)


def _nflows(model: Any) -> Any:
    if Knowledge(model).density_method != "log_prob":
        return None
    base = _NflowsBase(model) if "transform_to_noise" in dir(model) else None
    return module_model(model, model, Sampler(model, by_shape=False), base)


@dataclass(frozen=True)
class _NflowsBase:
    flow: Any

    def __call__(self, x: Floats) -> Floats:
        with torch.no_grad():
            return _numbers(self.flow.transform_to_noise(_like(self.flow, x)))


def _normflows(model: Any) -> Any:
    if Knowledge(model).density_method != "log_prob":
        return None
    base = _NormflowsBase(model) if "inverse" in dir(model) and "q0" in dir(model) else None
    return module_model(model, model, Sampler(model, by_shape=False, several=True), base)


@dataclass(frozen=True)
class _NormflowsBase:
    flow: Any

    def __call__(self, x: Floats) -> Floats:
        with torch.no_grad():
            noise = self.flow.inverse(_like(self.flow, x))
            return _numbers((noise - self.flow.q0.loc) / torch.exp(self.flow.q0.log_scale))


def _like(flow: Any, x: Floats) -> Any:
    first = next(iter(flow.parameters()))
    return torch.tensor(x).to(first.device, first.dtype)


def _numbers(tensor: Any) -> Floats:
    return np.asarray(tensor.detach().cpu().numpy(), dtype=np.float64)


_FLOWS = {"zuko": _zuko, "nflows": _nflows, "normflows": _normflows}
