"""Samplers: draws by name and posteriors without constraints, of ArviZ, xarray, BlackJAX, PyMC and BridgeStan."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from steinball.arrays import Array, Floats, namespace
from steinball.cautions import FittedOnDataWarning
from steinball.models.registry import Adapter, class_names
from steinball.predictive.law import Draws, Prediction
from steinball.predictive.loo import LeaveOneOut
from steinball.remarks import Remark


@dataclass(frozen=True)
class Reading:
    """How a user says that the draws are to be read.

    Parameters
    ----------
    parameters : tuple of str, optional
        Names of the columns of an array; of named draws, those that are the columns of the model, in its order.
    chains : int or tuple of int, optional
        For an array (n, d): how many chains stand one behind the other, or their lengths.
    chain_axis : int, optional
        For an array of three axes: 0 for (chain, draw, d), 1 for (draw, chain, d).

    Examples
    --------
    >>> Reading(chain_axis=1).chains_first(np.zeros((500, 4, 2))).shape
    (4, 500, 2)
    """

    parameters: tuple[str, ...] | None = None
    chains: int | tuple[int, ...] | None = None
    chain_axis: int | None = None

    def chains_first(self, array: Array) -> Array:
        """An array whose first two axes are chain and draw in the stated order, as (chain, draw, ...)."""
        turned = self.chain_axis == 1 and array.ndim > 1
        return namespace(array).permute_dims(array, (1, 0, *range(2, array.ndim))) if turned else array

    def refuse_axes(self, what: str) -> None:
        """Refuse words about chains for draws that say themselves what their chains are."""
        if self.chains is not None or self.chain_axis is not None:
            raise ValueError(f"`chains` and `chain_axis` are for arrays; `draws` is {what}, which knows its chains.")


class NamedDraws(NamedTuple):
    """Draws by name, each (chain, draw, ...), and the model that was sampled, where that is known."""

    values: dict[str, Floats]
    model: Any = None


class OrderedDraws(NamedTuple):
    """Draws whose columns are those of the model in its own order, as an array that a user might pass: their names,
    and the scores at them, where known."""

    values: Floats
    names: tuple[str, ...]
    scores: Floats | None


def column_name(name: str, index: tuple[int, ...]) -> str:
    """The name of an entry of a parameter: ``mu``, ``theta[0]``, ``corr[1,0]``."""
    return f"{name}[{','.join(map(str, index))}]" if index else name


@dataclass(frozen=True)
class Layout:
    """Which columns belong to which parameter: the shape of one draw of each, in the order of the columns.

    Examples
    --------
    >>> layout = Layout({"mu": (), "theta": (2,)})
    >>> layout.parameters
    ('mu', 'theta[0]', 'theta[1]')
    >>> layout.unpack(np.array([[1.0, 2.0, 3.0]]))["theta"]
    array([[2., 3.]])
    """

    shapes: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(cls, values: Mapping[str, Floats], leading: int) -> Layout:
        """The layout of draws with so many leading axes."""
        return cls({name: value.shape[leading:] for name, value in values.items()})

    @property
    def parameters(self) -> tuple[str, ...]:
        """One name for every column."""
        return tuple(column_name(name, index) for name, shape in self.shapes.items() for index in np.ndindex(shape))

    def pack(self, values: Mapping[str, Floats]) -> Floats:
        """Values (..., *shape) of every parameter to columns (..., d)."""
        parts = []
        for name, shape in self.shapes.items():
            value = np.asarray(values[name], dtype=np.float64)
            parts.append(value.reshape((*value.shape[: value.ndim - len(shape)], math.prod(shape))))
        return np.concatenate(parts, axis=-1)

    def unpack(self, rows: Floats) -> dict[str, Floats]:
        """Columns (..., d) to the values (..., *shape) of every parameter."""
        ends = np.cumsum([math.prod(shape) for shape in self.shapes.values()])
        parts = zip(self.shapes.items(), np.split(rows, ends[:-1], axis=-1), strict=True)
        return {name: part.reshape((*rows.shape[:-1], *shape)) for (name, shape), part in parts}


class Posterior(ABC):
    """A posterior on its unconstrained space, the Jacobian of the transformation included.

    A model of any test: :meth:`score` is ∇log p there, and :meth:`unconstrain` brings draws to it.

    Attributes
    ----------
    names : tuple of str
        The variables that were sampled, which must all be among the draws.
    parameters : tuple of str
        One name for every column of the unconstrained space.
    """

    takes_numpy: ClassVar[bool] = True
    names: tuple[str, ...]
    parameters: tuple[str, ...]

    @property
    def dimension(self) -> int:
        """The number d of columns of the unconstrained space."""
        return len(self.parameters)

    def sampled(self, values: Mapping[str, Floats]) -> dict[str, Floats]:
        """Those of the draws that the model has sampled, in the order of ``names``; all of them must be there."""
        if missing := [name for name in self.names if name not in values]:
            raise ValueError(
                f"`draws` lacks {', '.join(missing)} of the model; it has {', '.join(values)}. The test needs all "
                "parameters that were sampled: keep them when you sample or save."
            )
        return {name: values[name] for name in self.names}

    def unconstrain(self, values: Mapping[str, Floats]) -> Floats:
        """Draws by name, each (chain, draw, ...), as (chain, draw, d)."""
        chosen = self.sampled(values)
        rows = {name: value.reshape(-1, *value.shape[2:]) for name, value in chosen.items()}
        return self.free_rows(rows).reshape(*chosen[self.names[0]].shape[:2], -1)

    @abstractmethod
    def free_rows(self, rows: Mapping[str, Floats]) -> Floats:
        """Draws by name in the order of ``names``, each (n, ...), as rows (n, d) of the unconstrained space."""

    @abstractmethod
    def score(self, x: Floats, /) -> Floats:
        """∇log p at the rows of ``x`` (n, d)."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.parameters)})"


_TREES = ("InferenceData", "DataTree")
_DIMS = ("chain", "draw")


class ArviZ(Adapter):
    """Draws of ArviZ and xarray."""

    def draws(self, thing: Any, reading: Reading) -> NamedDraws | None:
        """The variables of the group ``posterior`` of a tree; a data set is taken for that group itself."""
        kind = next((name for name in (*_TREES, "Dataset", "DataArray") if name in class_names(thing)), None)
        if kind is None:
            return None
        reading.refuse_axes(f"a {kind}")
        if kind == "DataArray":
            return NamedDraws({str(thing.name or "x"): _values(thing)})
        group = thing if kind == "Dataset" else _group(thing, "draws", "posterior")
        return NamedDraws({str(name): _values(variable) for name, variable in group.data_vars.items()})

    def prediction(self, thing: Any, y: Any, features: Any) -> Prediction | None:
        """The group ``posterior_predictive`` of a tree; with ``log_likelihood`` every row is left out in turn."""
        if not class_names(thing).intersection(_TREES):
            return None
        adding = "; PyMC adds it by `pm.sample_posterior_predictive`"
        group = _group(thing, "predictive", "posterior_predictive", adding)
        name = _only(group)
        draws = _by_row(group[name], np.shape(y))
        if "log_likelihood" not in _groups(thing):
            return Prediction(Draws(draws), fitted="same-rows", remarks=(_IN_SAMPLE,))
        found = thing["log_likelihood"]
        law = LeaveOneOut(draws, _by_row(found[name if name in found.data_vars else _only(found)], np.shape(y)))
        return Prediction(law, fitted="loo", remarks=law.remarks)


_IN_SAMPLE = Remark(
    FittedOnDataWarning,
    "The posterior has seen these rows, so that its predictions of them are too good (a true model with 60 "
    "coefficients for 400 rows was rejected .49).",
    "Add the group `log_likelihood`, with which every row is predicted from the others.",
)


def _only(group: Any) -> str:
    """The name of the one variable of a group."""
    names = [str(name) for name in group.data_vars]
    if len(names) != 1:
        raise ValueError(
            f"`predictive` must predict one variable, got {', '.join(names)}. Keep one: "
            "`idata.posterior_predictive = idata.posterior_predictive[[name]]`."
        )
    return names[0]


def _by_row(variable: Any, shape: tuple[int, ...]) -> Floats:
    """Draws of a variable with chains behind each other, (n, S)."""
    values = _values(variable)
    if values.shape[2:] != shape:
        raise ValueError(f"`predictive`: {variable.name} has the shape {values.shape[2:]} a draw, and `y` {shape}.")
    return np.asarray(values.reshape(-1, *shape).T)


def _groups(tree: Any) -> list[str]:
    return [str(name).strip("/") for name in (tree.groups() if callable(tree.groups) else tree.groups)]


def _group(tree: Any, argument: str, name: str, adding: str = "") -> Any:
    if name not in (groups := _groups(tree)):
        found = ", ".join(filter(None, groups))
        raise ValueError(f"`{argument}` must have a group `{name}`, got the groups {found}{adding}.")
    return tree[name]


def _values(variable: Any) -> Floats:
    if missing := [dim for dim in _DIMS if dim not in variable.dims]:
        raise ValueError(
            f"`draws`: the variable {variable.name} has the dimensions {tuple(variable.dims)} and no "
            f"{' and no '.join(missing)}. Pass draws as they were sampled, before chains are stacked."
        )
    return np.asarray(variable.transpose(*_DIMS, ...).values, dtype=np.float64)


class BlackJAX(Adapter):
    """Draws and scores of BlackJAX."""

    def draws(self, thing: Any, reading: Reading) -> OrderedDraws:
        """Positions and gradients of states: of one chain (draw, d), of several by ``reading.chain_axis``.

        States without ``logdensity_grad``, such as those of a random walk, give no scores.
        """
        fields = thing._asdict()
        leading = np.ndim(fields["logdensity"])
        if leading not in (1, 2):
            raise ValueError(
                f"`draws` must be states with one leading axis (draw) or two (chain and draw), got {leading}. Collect "
                "the states, for example by `jax.lax.scan`, whose second value stacks them."
            )
        if leading == 2 and reading.chain_axis is None:
            raise ValueError(
                f"`draws` has two leading axes {np.shape(fields['logdensity'])}, and states do not say which of them "
                "is the chain. Give `chain_axis=0` for (chain, draw), as `jax.vmap` over chains makes them, or "
                "`chain_axis=1` for (draw, chain), as a scan over vectorized steps does."
            )
        values = _leaves(fields["position"])
        layout = Layout.of(values, leading)
        scores = layout.pack(_leaves(fields["logdensity_grad"])) if "logdensity_grad" in fields else None
        return OrderedDraws(layout.pack(values), layout.parameters, scores)


def _leaves(tree: Any) -> dict[str, Floats]:
    """The leaves of a position by name: of a dictionary its own, otherwise ``x``, or ``x[0]``, ``x[1]``."""
    if isinstance(tree, tuple | list):
        tree = {f"x{k}": part for k, part in enumerate(tree)}
    if isinstance(tree, dict):
        named = ((f"{name}.{leaf}", value) for name, part in tree.items() for leaf, value in _leaves(part).items())
        return {name.removesuffix(".x"): value for name, value in named}
    return {"x": np.asarray(tree, dtype=np.float64)}


class PyMCPosterior(Posterior):
    """``model.compile_dlogp()``, Jacobian included, at draws that the model's own transforms have taken there.

    Parameters
    ----------
    model : pymc.Model
        Without discrete variables.
    """

    def __init__(self, model: Any) -> None:
        if model.discrete_value_vars:
            discrete = ", ".join(str(model.values_to_rvs[value].name) for value in model.discrete_value_vars)
            raise TypeError(f"the model has discrete parameters ({discrete}), which have no score ∇log p.")
        variables = [model.values_to_rvs[value] for value in model.value_vars]
        start = model.initial_point()
        self._point = Layout.of({value.name: start[value.name] for value in model.value_vars}, 0)
        self._transform = _transform(model, variables)
        self._gradient = model.compile_dlogp()
        self.names = tuple(str(variable.name) for variable in variables)
        self.parameters = Layout(dict(zip(self.names, self._point.shapes.values(), strict=True))).parameters

    def free_rows(self, rows: Mapping[str, Floats]) -> Floats:
        """Rows by the transforms of the model, draw by draw."""
        free = (self._transform(*draw) for draw in zip(*rows.values(), strict=True))
        return np.array([self._point.pack(dict(zip(self._point.shapes, values, strict=True))) for values in free])

    def score(self, x: Floats, /) -> Floats:
        """∇log p by the compiled gradient, row by row."""
        return np.array([self._gradient(self._point.unpack(row)) for row in x]).reshape(x.shape)


def _transform(model: Any, variables: list[Any]) -> Any:
    """A function from constrained values, in the order of ``variables``, to unconstrained ones.

    The ends of an interval may depend on other parameters, which are replaced by their values too.
    """
    import pytensor
    from pytensor.graph.replace import clone_replace

    inputs = [variable.type(name=f"{variable.name}_draw") for variable in variables]
    outputs = []
    for variable, value in zip(variables, inputs, strict=True):
        transform = model.rvs_to_transforms[variable]
        outputs.append(value if transform is None else transform.forward(value, *variable.owner.inputs))
    outputs = clone_replace(outputs, dict(zip(variables, inputs, strict=True)), rebuild_strict=False)
    # Interpreted: it is called once a draw, and a compiler would take longer than all of them.
    return pytensor.function(inputs, outputs, mode="FAST_COMPILE", on_unused_input="ignore")


class PyMC(Adapter):
    """Posteriors of PyMC."""

    posteriors = ("Model",)

    def model(self, thing: Any, dimension: int | None) -> None:
        if "Model" in class_names(thing):
            raise TypeError(
                "`model` is an object of type Model, whose `logp` is symbolic and not a function of arrays; draws of "
                "its posterior are tested by `sb.mcmc_test(idata, model)`; for data wrap `model.compile_logp()`: "
                '`sb.from_log_density(lambda x: np.array([logp({"mu": row[0]}) for row in x]), backend="numerical")`.'
            )

    def posterior(self, thing: Any, run: Any) -> PyMCPosterior | None:
        return PyMCPosterior(thing) if "Model" in class_names(thing) else None


class StanPosterior(Posterior):
    """``log_density_gradient`` of a ``bridgestan.StanModel``, Jacobian included.

    Parameters
    ----------
    model : bridgestan.StanModel
        With ``param_names``, ``param_unc_names``, ``param_unconstrain`` and ``log_density_gradient``.

    Notes
    -----
    Written against the interface of BridgeStan, and tested with an object that has the same methods; it was not run on
    a compiled model.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._columns = [_split(name) for name in model.param_names()]
        self.names = tuple(dict.fromkeys(name for name, _ in self._columns))
        self.parameters = tuple(column_name(*_split(name)) for name in model.param_unc_names())

    def free_rows(self, rows: Mapping[str, Floats]) -> Floats:
        """Rows by ``param_unconstrain``, draw by draw; columns are found by their names, in the order of Stan."""
        columns = [rows[name].T[tuple(i - 1 for i in reversed(index))] for name, index in self._columns]
        found = [self._model.param_unconstrain(row) for row in np.stack(columns, axis=1)]
        return np.array(found, dtype=np.float64)

    def score(self, x: Floats, /) -> Floats:
        """∇log p by automatic differentiation in Stan, row by row."""
        rows = (np.ascontiguousarray(row) for row in x)
        return np.array([self._model.log_density_gradient(row, jacobian=True)[1] for row in rows]).reshape(x.shape)


def _split(name: str) -> tuple[str, tuple[int, ...]]:
    """``theta.2.1`` is the entry [2, 1] of theta: Stan counts from 1."""
    base, *index = name.split(".")
    if not all(part.isdigit() for part in index):
        raise TypeError(f"the parameter {name} of the Stan model is complex or in a tuple, which cannot be read.")
    return base, tuple(map(int, index))


class Stan(Adapter):
    """Posteriors of BridgeStan."""

    posteriors = ("StanModel",)

    def posterior(self, thing: Any, run: Any) -> StanPosterior | None:
        return StanPosterior(thing) if "StanModel" in class_names(thing) else None


_ARVIZ = ArviZ()
ADAPTERS = {"arviz": _ARVIZ, "xarray": _ARVIZ, "blackjax": BlackJAX(), "pymc": PyMC(), "bridgestan": Stan()}
