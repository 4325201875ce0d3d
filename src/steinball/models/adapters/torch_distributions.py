"""Distributions of torch, and torch modules with a ``log_prob``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import distributions as td
from torch.distributions import constraints

from steinball.arrays import Array, Floats
from steinball.models.adapters import refusals
from steinball.models.adapters.differentiated import ForeignDensity, Map, box_of
from steinball.models.base_map import normal_of
from steinball.models.gaussian import Gaussian
from steinball.models.knowledge import Knowledge
from steinball.models.mixture import GaussianMixture
from steinball.models.student_t import StudentT
from steinball.models.support import Support


def adapt(model: Any, dimension: int | None) -> Any:
    """The model of a distribution, or of a module with ``log_prob``; ``None`` for anything else of torch."""
    if isinstance(model, td.Distribution):
        return _of_distribution(model, dimension)
    if isinstance(model, torch.nn.Module) and "log_prob" in dir(model):
        return module_model(model, model)
    return None


@dataclass(frozen=True)
class LogProb:
    """``target.log_prob`` for rows, in the precision and on the device of its parameters.

    ``flat`` says that it is of single numbers, without an axis for columns.
    """

    target: Any
    flat: bool = False

    def __call__(self, x: Any) -> Any:
        z = x[:, 0] if self.flat else x
        values = self.target.log_prob(_moved(self.target, z)).to(x.device, x.dtype)
        # A constant density does not depend on x, and its score is 0.
        return values.reshape(-1) + 0.0 * x[:, 0] if isinstance(self.target, td.Distribution) else values


def _moved(target: Any, x: Any) -> Any:
    """A tensor in the precision and on the device of a module; distributions promote by themselves."""
    first = next(iter(target.parameters()), None) if isinstance(target, torch.nn.Module) else None
    return x if first is None else x.to(first.device, first.dtype)


@dataclass(frozen=True)
class Sampler:
    """``sample(n, rng)`` of an object that samples by torch's own random numbers, which are left as they were.

    ``by_shape`` says that it takes a shape and not a number; ``several``, that it returns the draws first of several
    things.
    """

    target: Any
    by_shape: bool = True
    several: bool = False

    def __call__(self, n: int, rng: Any = None) -> Floats:
        seed = int(np.random.default_rng(rng).integers(2**31))
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(seed)
            draws = self.target.sample((n,) if self.by_shape else n)
        draws = draws[0] if self.several else draws
        return np.asarray(draws.detach().cpu().numpy(), dtype=np.float64).reshape(n, -1)


def _of_distribution(model: Any, dimension: int | None) -> Any:
    name, batch, event = type(model).__name__, tuple(model.batch_shape), tuple(model.event_shape)
    _refuse(model, name)
    if batch not in ((), (1,)) or len(event) > 1:
        refusals.several(name, batch + event[:-1], "torch.distributions.Independent(model, 1)")
    if not event and dimension not in (None, 1):
        assert dimension is not None
        expanded = f"torch.distributions.Independent(model.expand([{dimension}]), 1)"
        refusals.on_the_line(name, dimension, expanded)
    return _closed(model) or differentiated(model, name, event[0] if event else 1)


def _refuse(model: Any, name: str) -> None:
    if isinstance(model, td.VonMises):
        raise TypeError(
            "`model` is the distribution VonMises of an angle, and angles wrap around. (cos, sin) of them has no "
            "density in the plane. Test it as a density on an interval: `sb.from_log_density(lambda x: "
            'model.log_prob(x[:, 0]), backend="torch", support=(-np.pi, np.pi))`; or use a test for angles.'
        )
    try:
        is_discrete = model.support.is_discrete
    except NotImplementedError:
        return
    if is_discrete:
        refusals.discrete(name)


def differentiated(model: Any, name: str, dimension: int) -> ForeignDensity:
    """A distribution of rows or numbers by automatic differentiation."""
    place = _place(model, dimension)
    return ForeignDensity(
        LogProb(model, flat=not model.event_shape and not model.batch_shape),
        "torch",
        dimension,
        _support(model, name, dimension),
        Sampler(model),
        None,
        name,
        *place,
        _base(model),
        model,
    )


def _place(model: Any, dimension: int) -> tuple[Any, Any]:
    """Mean and covariance, where they are known and finite."""
    try:
        mean, variance = (_numbers(part).reshape(-1) for part in (model.mean, model.variance))
    except (NotImplementedError, AttributeError, RuntimeError):
        return None, None
    ok = mean.shape == variance.shape == (dimension,) and np.isfinite(mean).all() and np.isfinite(variance).all()
    return (mean, np.diag(variance)) if ok and (variance > 0.0).all() else (None, None)


def _numbers(tensor: Any) -> Floats:
    return np.asarray(tensor.detach().cpu().numpy(), dtype=np.float64)


def _support(model: Any, name: str, dimension: int) -> Support | None:
    try:
        inner = model.support
    except NotImplementedError:
        return None
    while "base_constraint" in vars(inner):  # of independent columns, and of mixtures
        inner = inner.base_constraint
    ends = {"lower_bound": -np.inf, "upper_bound": np.inf}
    found = {key: _number(vars(inner).get(key, end)) for key, end in ends.items()}
    if not isinstance(inner, _BOXES):
        refusals.not_a_box(name, f"the set {inner}")
    return box_of(found["lower_bound"], found["upper_bound"], dimension)


_BOXES = tuple(
    type(known) if not isinstance(known, type) else known
    for known in (constraints.real, constraints.real_vector, constraints.positive, constraints.unit_interval,
                  constraints.greater_than_eq, constraints.less_than, constraints.half_open_interval)
)  # fmt: skip


def _number(end: Any) -> Any:
    return _numbers(end) if isinstance(end, torch.Tensor) else end


# What is one of our own models.


def _closed(model: Any) -> Any:
    core = model.base_dist if isinstance(model, td.Independent) else model
    if isinstance(core, td.Normal):
        return Gaussian(_numbers(core.loc).reshape(-1), sd=_numbers(core.scale).reshape(-1))
    if isinstance(model, (td.MultivariateNormal, td.LowRankMultivariateNormal)):
        mean = _numbers(model.loc).reshape(-1)
        return Gaussian(mean, _numbers(model.covariance_matrix).reshape(len(mean), len(mean)))
    if isinstance(model, (td.StudentT, td.Cauchy)):
        df = float(model.df) if isinstance(model, td.StudentT) else 1.0
        return StudentT(df, float(model.loc), float(model.scale))
    return _mixture(model) if isinstance(model, td.MixtureSameFamily) else None


def _mixture(model: Any) -> GaussianMixture | None:
    parts, weights = model.component_distribution, _numbers(model.mixture_distribution.probs).reshape(-1)
    core = parts.base_dist if isinstance(parts, td.Independent) else parts
    if isinstance(core, td.MultivariateNormal):
        return GaussianMixture(weights / weights.sum(), *map(_numbers, (core.loc, core.covariance_matrix)))
    if not isinstance(core, td.Normal):
        return None
    means, deviations = (_numbers(part).reshape(len(weights), -1) for part in (core.loc, core.scale))
    return GaussianMixture(weights / weights.sum(), means, np.stack([np.diag(row**2) for row in deviations]))


# Base space.


@dataclass(frozen=True)
class _ByDistribution:
    """Data to base space by a CDF, or back through the transforms of a normal distribution."""

    model: Any

    def __call__(self, x: Floats) -> Floats:
        with torch.no_grad():
            return _to_base(self.model, torch.tensor(x))


def _to_base(model: Any, x: Any) -> Floats:
    if isinstance(model, td.TransformedDistribution) and model.event_shape:
        for transform in reversed(model.transforms):
            x = transform.inv(x)
        return _to_base(model.base_dist, x)
    core = model.base_dist if isinstance(model, td.Independent) else model
    if isinstance(core, td.MultivariateNormal):
        return np.asarray(Gaussian(_numbers(core.loc), _numbers(core.covariance_matrix)).to_base(_numbers(x)))
    below = _numbers(core.cdf(x))
    return normal_of(below, 1.0 - below) if not isinstance(core, td.Normal) else _numbers((x - core.loc) / core.scale)


def _base(model: Any) -> Map | None:
    """The map to base space, where one number of each column goes through it."""
    here = _ByDistribution(model)
    try:
        here(Sampler(model)(2, 0))
    except Exception:  # no CDF, or transforms without an inverse: whatever the library raises
        return None
    return here


# Modules.


def module_model(model: Any, original: Any, sampler: Sampler | None = None, base: Map | None = None) -> ForeignDensity:
    """A module with ``log_prob`` of rows, such as a flow; ``original`` is what the user passed."""
    sampler = _found_sampler(model) if sampler is None else sampler
    dimension = None if sampler is None else _columns(sampler)
    sampler = None if dimension is None else sampler
    name = type(original).__name__
    return ForeignDensity(LogProb(model), "torch", dimension, None, sampler, None, name, None, None, base, original)


def _columns(sampler: Sampler) -> int | None:
    """The number of columns of its draws; ``None`` where it cannot draw, as nflows cannot in double precision."""
    try:
        return int(sampler(2, 0).shape[1])
    except RuntimeError:
        return None


def _found_sampler(model: Any) -> Sampler | None:
    """A module's own ``sample``, by whichever convention gives rows."""
    if Knowledge(model).sampler is None:
        return None
    for by_shape in (True, False):
        for several in (False, True):
            try:
                draws: Array = Sampler(model, by_shape, several)(3, 0)
            except Exception:  # another convention, or none: whatever the module raises
                continue
            if draws.ndim == 2 and np.isfinite(draws).all():
                return Sampler(model, by_shape, several)
    return None
