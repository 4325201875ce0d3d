"""Distributions of NumPyro."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from numpyro import distributions as nd

from steinball.arrays import Floats
from steinball.models.adapters import refusals
from steinball.models.adapters.differentiated import ForeignDensity, box_of
from steinball.models.base_map import normal_of
from steinball.models.gaussian import Gaussian
from steinball.models.mixture import GaussianMixture
from steinball.models.student_t import StudentT
from steinball.models.support import Support


def adapt(model: Any, dimension: int | None) -> Any:
    """The model of a distribution; ``None`` for anything else of NumPyro."""
    if not isinstance(model, nd.Distribution):
        return None
    name, batch, event = type(model).__name__, tuple(model.batch_shape), tuple(model.event_shape)
    if model.is_discrete:
        refusals.discrete(name)
    if isinstance(model, nd.VonMises):
        refusals.not_a_box(name, "a circle")
    if batch not in ((), (1,)) or len(event) > 1:
        refusals.several(name, batch + event[:-1], "model.to_event(1)")
    if not event and dimension not in (None, 1):
        assert dimension is not None
        refusals.on_the_line(name, dimension, f"model.expand([{dimension}]).to_event(1)")
    return _closed(model) or _differentiated(model, name, event[0] if event else 1)


def _differentiated(model: Any, name: str, d: int) -> ForeignDensity:
    flat = not model.event_shape and not model.batch_shape
    base = _Base(model) if flat or isinstance(model, nd.Independent) else None
    place = _place(model, d)
    log_prob, support = _LogProb(model, flat), _support(model, name, d)
    return ForeignDensity(log_prob, "jax", d, support, _Sampler(model), None, name, *place, base, model)


@dataclass(frozen=True)
class _LogProb:
    """``log_prob`` of rows; ``flat`` says that the distribution is of single numbers."""

    target: Any
    flat: bool

    def __call__(self, x: Any) -> Any:
        return self.target.log_prob(x[:, 0] if self.flat else x)


@dataclass(frozen=True)
class _Sampler:
    target: Any

    def __call__(self, n: int, rng: Any = None) -> Floats:
        key = jax.random.PRNGKey(int(np.random.default_rng(rng).integers(2**31)))
        return np.asarray(self.target.sample(key, (n,)), dtype=np.float64).reshape(n, -1)


@dataclass(frozen=True)
class _Base:
    target: Any

    def __call__(self, x: Floats) -> Floats:
        core = self.target.base_dist if isinstance(self.target, nd.Independent) else self.target
        below = np.asarray(core.cdf(x), dtype=np.float64).reshape(x.shape)
        return normal_of(below, 1.0 - below)


def _place(model: Any, d: int) -> tuple[Any, Any]:
    """Mean and covariance, where they are known and finite."""
    try:
        mean, variance = (np.asarray(part, dtype=np.float64).reshape(-1) for part in (model.mean, model.variance))
    except (NotImplementedError, AttributeError, TypeError):
        return None, None
    ok = mean.shape == variance.shape == (d,) and np.isfinite(mean).all() and np.isfinite(variance).all()
    return (mean, np.diag(variance)) if ok and (variance > 0.0).all() else (None, None)


def _support(model: Any, name: str, d: int) -> Support | None:
    inner: Any = model.support
    while isinstance(inner, type(nd.constraints.independent(nd.constraints.real, 1))):
        inner = inner.base_constraint
    kind = type(inner).__name__.strip("_").lower()
    low, high = (vars(inner).get(key, end) for key, end in (("lower_bound", -np.inf), ("upper_bound", np.inf)))
    if kind.startswith(("positive", "nonnegative")):
        low = 0.0
    if not kind.startswith(("real", "positive", "nonnegative", "greater", "less", "interval", "openinterval", "unit")):
        refusals.not_a_box(name, f"the set {kind}")
    return box_of(low, high, d)


def _closed(model: Any) -> Any:
    core = model.base_dist if isinstance(model, nd.Independent) else model
    if isinstance(core, nd.Normal):
        return Gaussian(_vector(core.loc, core), sd=_vector(core.scale, core))
    if isinstance(model, nd.MultivariateNormal):
        mean = np.asarray(model.loc, dtype=np.float64).reshape(-1)
        return Gaussian(mean, np.asarray(model.covariance_matrix, dtype=np.float64).reshape(len(mean), -1))
    if isinstance(model, nd.StudentT):
        return StudentT(float(model.df), float(model.loc), float(model.scale))
    return _mixture(model) if isinstance(model, nd.MixtureSameFamily) else None


def _vector(value: Any, core: Any) -> Floats:
    return np.broadcast_to(np.asarray(value, dtype=np.float64), core.batch_shape).reshape(-1)


def _mixture(model: Any) -> GaussianMixture | None:
    parts, weights = model.component_distribution, np.asarray(model.mixing_distribution.probs, dtype=np.float64)
    core = parts.base_dist if isinstance(parts, nd.Independent) else parts
    if not isinstance(core, nd.Normal):
        return None
    means, deviations = (_vector(part, core).reshape(len(weights), -1) for part in (core.loc, core.scale))
    return GaussianMixture(weights / weights.sum(), means, np.stack([np.diag(row**2) for row in deviations]))
