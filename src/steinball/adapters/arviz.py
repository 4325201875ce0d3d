"""ArviZ: draws in its InferenceData, and in trees, data sets and arrays of xarray."""

from __future__ import annotations

from typing import Any

import numpy as np

from steinball.adapters.posterior import NamedDraws, Reading
from steinball.arrays import Floats
from steinball.models.registry import Adapter, class_names

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
        group = thing if kind == "Dataset" else _posterior(thing)
        return NamedDraws({str(name): _values(variable) for name, variable in group.data_vars.items()})


def _posterior(tree: Any) -> Any:
    groups = [str(name).strip("/") for name in (tree.groups() if callable(tree.groups) else tree.groups)]
    if "posterior" not in groups:
        raise ValueError(f"`draws` must have a group `posterior`, got the groups {', '.join(filter(None, groups))}.")
    return tree["posterior"]


def _values(variable: Any) -> Floats:
    if missing := [dim for dim in _DIMS if dim not in variable.dims]:
        raise ValueError(
            f"`draws`: the variable {variable.name} has the dimensions {tuple(variable.dims)} and no "
            f"{' and no '.join(missing)}. Pass draws as they were sampled, before chains are stacked."
        )
    return np.asarray(variable.transpose(*_DIMS, ...).values, dtype=np.float64)


ADAPTER = ArviZ()
