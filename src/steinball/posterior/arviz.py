"""Draws in ArviZ's InferenceData and in trees, data sets and arrays of xarray."""

from __future__ import annotations

from typing import Any

import numpy as np

from steinball.arrays import Floats

_DIMS = ("chain", "draw")


def read_arviz(draws: Any, kind: str) -> dict[str, Floats]:
    """The variables of the posterior by name, each (chain, draw, ...).

    Parameters
    ----------
    draws : InferenceData, DataTree, Dataset or DataArray
        A tree must have a group ``posterior``; a data set is taken for that group itself.
    kind : str
        The name of its class.
    """
    if kind == "DataArray":
        return {str(draws.name or "x"): _values(draws)}
    group = draws if kind == "Dataset" else _posterior(draws)
    return {str(name): _values(variable) for name, variable in group.data_vars.items()}


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
