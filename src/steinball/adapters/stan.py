"""Stan through BridgeStan: the posterior of a compiled model on its unconstrained space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from steinball.adapters.posterior import Posterior, column_name
from steinball.arrays import Floats
from steinball.models.registry import Adapter, class_names


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


ADAPTER = Stan()
