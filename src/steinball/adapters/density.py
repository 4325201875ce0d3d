"""Distributions of libraries that differentiate, torch and NumPyro: their shapes, ends, places and log densities."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, NoReturn

import numpy as np

from steinball.arrays import Floats, to_host
from steinball.models.autodiff import DifferentiatedDensity
from steinball.models.base import refuse_discrete
from steinball.models.base_space import normal_of
from steinball.models.gaussian import Gaussian
from steinball.models.mixture import GaussianMixture
from steinball.models.registry import class_names
from steinball.models.student_t import StudentT
from steinball.models.support import Support, off_edges

Map = Callable[[Floats], Floats]
#: The names of constraints that are boxes, as torch and NumPyro write them.
_BOXES = re.compile(r"_*(Real|(Softplus)?Positive|Nonnegative|(Greater|Less)Than(Eq)?|(Half|Unit)?(Open)?Interval)_*")


@dataclass(frozen=True, eq=False, repr=False)
class ForeignDensity(DifferentiatedDensity):
    """A distribution of a library that differentiates, with its place where it knows it.

    ``to_base`` maps data to standard normal ones, where the model can; ``original`` is the object that the user passed.
    """

    location: Any = None
    covariance: Any = None
    to_base: Map | None = None
    original: Any = None

    def __repr__(self) -> str:
        return f"ForeignDensity({type(self.original).__name__}, score: automatic derivative by {self.backend})"


class Conventions(NamedTuple):
    """How distributions of one library are differentiated, sampled and written, where libraries differ.

    ``log_prob(model, x)`` is the log density of rows x, also where the model is of single numbers;
    ``sample(model, n, rng)`` gives draws (n, d), ``array(x)`` an array of the library. ``as_columns`` and ``repeated``
    are the code that makes a batch, or so many copies, one distribution of independent columns.
    """

    backend: str
    log_prob: Callable[[Any, Any], Any]
    sample: Callable[..., Floats]
    array: Callable[[Floats], Any]
    as_columns: str
    repeated: str


def read_distribution(model: Any, dimension: int | None, library: Conventions) -> Any:
    """The model of a distribution of numbers or rows: one of our own where it is one, otherwise differentiated."""
    name, batch, event = type(model).__name__, tuple(model.batch_shape), tuple(model.event_shape)
    if "VonMises" in class_names(model):
        refuse_angle(name, "lambda x: model.log_prob(x[:, 0])", library.backend)
    if (ends := _constraint(model)) is not None and ends.is_discrete:
        refuse_discrete(name)
    if batch not in ((), (1,)) or len(event) > 1:
        raise ValueError(
            f"`model` is a batch of {'×'.join(map(str, batch + event[:-1]))} distributions {name}. If its entries are "
            f"independent columns of one distribution, say so: `{library.as_columns}`; if they are several "
            "distributions, pass one of them."
        )
    if not event and dimension is not None and dimension > 1:
        refuse_columns(name, dimension, library.repeated.format(dimension))
    return _own_model(model) or differentiated(model, event[0] if event else 1, library)


def differentiated(model: Any, dimension: int, library: Conventions) -> ForeignDensity:
    """A distribution of rows or numbers by automatic differentiation."""
    (location, covariance), support = _place(model, dimension), _support(model, dimension)
    return ForeignDensity(
        function=partial(library.log_prob, model),
        backend=library.backend,
        dimension=dimension,
        support=support,
        sample=partial(library.sample, model),
        location=location,
        covariance=covariance,
        to_base=_base(model, library, support),
        original=model,
    )


def _place(model: Any, dimension: int) -> tuple[Any, Any]:
    """Mean and covariance, where they are known and finite."""
    try:
        mean, variance = (to_host(part).reshape(-1) for part in (model.mean, model.variance))
    except (NotImplementedError, AttributeError, RuntimeError, TypeError):
        return None, None
    known = mean.shape == variance.shape == (dimension,) and np.isfinite([mean, variance]).all()
    return (mean, np.diag(variance)) if known and (variance > 0.0).all() else (None, None)


def _constraint(model: Any) -> Any:
    try:
        return model.support
    except NotImplementedError:
        return None


def _support(model: Any, dimension: int) -> Support | None:
    """The box that a distribution lives in, by the names of its constraint; other sets are refused."""
    inner = _constraint(model)
    if inner is None:
        return None
    while "base_constraint" in vars(inner):  # of independent columns, and of mixtures
        inner = inner.base_constraint
    if not _BOXES.fullmatch(type(inner).__name__):
        refuse_set(type(model).__name__, f"the set {inner}")
    bounds = (vars(inner).get(name, end) for name, end in (("lower_bound", -np.inf), ("upper_bound", np.inf)))
    low, high = (np.broadcast_to(to_host(bound), dimension).tolist() for bound in bounds)
    return Support(tuple(zip(low, high, strict=True)))


def _own_model(model: Any) -> Any:
    """The Gaussian, Student t or mixture of Gaussians that a distribution is; ``None`` for others, and for classes
    below these, whose density may be another one."""
    kind, core = type(model).__name__, _without_independence(model)
    if type(core).__name__ == "Normal":
        return Gaussian(_vector(core.loc, core), sd=_vector(core.scale, core))
    if kind in ("MultivariateNormal", "LowRankMultivariateNormal"):
        mean = to_host(model.loc).reshape(-1)
        return Gaussian(mean, to_host(model.covariance_matrix).reshape(len(mean), len(mean)))
    if kind in ("StudentT", "Cauchy"):
        df = to_host(model.df).item() if kind == "StudentT" else 1.0
        return StudentT(df, to_host(model.loc).item(), to_host(model.scale).item())
    return _mixture(model) if kind == "MixtureSameFamily" else None


def _without_independence(model: Any) -> Any:
    return model.base_dist if type(model).__name__ == "Independent" else model


def _vector(value: Any, core: Any) -> Floats:
    return np.broadcast_to(to_host(value), tuple(core.batch_shape)).reshape(-1)


def _mixture(model: Any) -> GaussianMixture | None:
    chosen = model.mixing_distribution if "mixing_distribution" in dir(model) else model.mixture_distribution
    weights = to_host(chosen.probs).reshape(-1)
    core, k = _without_independence(model.component_distribution), len(weights)
    if type(core).__name__ == "MultivariateNormal":
        covs = np.broadcast_to(to_host(core.covariance_matrix), (k, *core.covariance_matrix.shape[-2:]))
        means = np.broadcast_to(to_host(core.loc), covs.shape[:2])
    elif type(core).__name__ == "Normal":
        means, deviations = (_vector(part, core).reshape(k, -1) for part in (core.loc, core.scale))
        covs = np.stack([np.diag(row**2) for row in deviations])
    else:
        return None
    return GaussianMixture(weights / weights.sum(), means, covs)


def _base(model: Any, library: Conventions, support: Support | None) -> Map | None:
    """The map to base space by a CDF, or back through the transforms of a normal distribution, where there is one."""
    base = partial(_to_base, _unchecked(model), library, support)
    try:
        base(library.sample(model, 2, 0))
    except Exception:  # no CDF, or transforms without an inverse: whatever the library raises
        return None
    return base


def _unchecked(model: Any) -> Any:
    """The distribution without questions to the places that it is asked about, of which some refuse a probability of 0
    or 1."""
    found = copy.copy(model)
    vars(found)["_validate_args"] = False
    if "base_dist" in vars(found):
        vars(found)["base_dist"] = _unchecked(vars(found)["base_dist"])
    return found


def _to_base(model: Any, library: Conventions, support: Support | None, x: Floats) -> Floats:
    """Rows in base space; those outside the support at its ends."""
    z = library.array(off_edges(x, support))
    while "TransformedDistribution" in class_names(model) and model.event_shape:
        for transform in reversed(model.transforms):
            z = transform.inv(z)
        model = model.base_dist
    if (own := _own_model(model)) is not None:
        return np.asarray(own.to_base(to_host(z)))
    below = to_host(_without_independence(model).cdf(z)).reshape(x.shape)
    return normal_of(below, 1.0 - below)


# What has no score, or can be read in two ways.


def refuse_set(name: str, where: str) -> NoReturn:
    """Refuse a distribution on a set that is no box of the space that its points are written in."""
    raise TypeError(
        f"`model` is an object of type {name}, a distribution on {where}, which has no density over the columns of the "
        "data. Map the data to a space without constraints first, and test the density there, Jacobian included, by "
        "`sb.from_log_density`."
    )


def refuse_angle(name: str, log_density: str, backend: str) -> NoReturn:
    """Refuse a distribution of an angle; ``log_density`` is the code of its log density of rows."""
    raise TypeError(
        f"`model` is the distribution {name} of an angle, and angles wrap around. (cos, sin) of them has no density in "
        f'the plane. Test it as a density on an interval: `sb.from_log_density({log_density}, backend="{backend}", '
        "support=(-np.pi, np.pi))`, with the angles between its ends; or use a test for angles."
    )


def refuse_columns(name: str, columns: int, example: str) -> NoReturn:
    """Refuse a distribution of one number for data of several columns."""
    raise ValueError(
        f"`model` is {name}, a distribution of one number, and `samples` has {columns} columns. If the columns are "
        f"independent and each has this distribution, say so: `{example}`; otherwise test one column, or bring a joint "
        "distribution."
    )
