"""ArviZ: draws and predictions in its InferenceData, and in trees, data sets and arrays of xarray."""

from __future__ import annotations

from typing import Any

import numpy as np

from steinball.adapters.posterior import NamedDraws, Reading
from steinball.arrays import Floats
from steinball.cautions import FittedOnDataWarning
from steinball.models.registry import Adapter, class_names
from steinball.predictive.law import Draws, Posterior, Prediction
from steinball.remarks import Remark

_KINDS = ("InferenceData", "DataTree", "Dataset", "DataArray")
_DIMS = ("chain", "draw")


class ArviZ(Adapter):
    """Draws of ArviZ and xarray."""

    def draws(self, thing: Any, reading: Reading) -> NamedDraws | None:
        """The variables of the group ``posterior`` of a tree; a data set is taken for that group itself."""
        kind = next((name for name in _KINDS if name in class_names(thing)), None)
        if kind is None:
            return None
        reading.refuse_axes(f"a {kind}")
        if kind == "DataArray":
            return NamedDraws({str(thing.name or "x"): _values(thing)})
        group = thing if kind == "Dataset" else _group(thing, "draws", "posterior")
        return NamedDraws({str(name): _values(variable) for name, variable in group.data_vars.items()})

    def prediction(self, thing: Any, y: Any, features: Any) -> Prediction | None:
        """The group ``posterior_predictive`` of a tree; with ``log_likelihood`` every row is left out in turn."""
        if not class_names(thing).intersection(_KINDS[:2]):
            return None
        adding = "; PyMC adds it by `pm.sample_posterior_predictive`"
        group = _group(thing, "predictive", "posterior_predictive", adding)
        name = _only(group)
        draws = _by_row(group[name], np.shape(y))
        if "log_likelihood" not in _groups(thing):
            return Prediction(Draws(draws), fitted="same-rows", remarks=(_IN_SAMPLE,))
        found = thing["log_likelihood"]
        law = Posterior(y, draws, _by_row(found[name if name in found.data_vars else _only(found)], np.shape(y)))
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


ADAPTER = ArviZ()
