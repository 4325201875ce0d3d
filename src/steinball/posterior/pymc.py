"""PyMC: the posterior of a model on its own unconstrained space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.posterior.base import Posterior, check_names, over_draws
from steinball.posterior.layout import Layout


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
        self._variables = [model.values_to_rvs[value] for value in model.value_vars]
        start = model.initial_point()
        self._point = Layout.of({value.name: start[value.name] for value in model.value_vars}, 0)
        self._transform = _transform(model, self._variables)
        self._gradient = model.compile_dlogp()
        names = tuple(str(variable.name) for variable in self._variables)
        self.parameters = Layout(names, self._point.shapes).parameters

    def unconstrain(self, values: Mapping[str, Floats]) -> Floats:
        """By the transforms of the model, draw by draw."""
        names = [str(variable.name) for variable in self._variables]
        check_names(names, values)
        rows = over_draws({name: values[name] for name in names})
        found = [self._point.pack(self._free(draw)) for draw in zip(*rows.values(), strict=True)]
        return np.array(found).reshape(*values[names[0]].shape[:2], -1)

    def _free(self, draw: tuple[Floats, ...]) -> dict[str, Floats]:
        return dict(zip(self._point.names, self._transform(*draw), strict=True))

    def score(self, x: Floats, /) -> Floats:
        """By the compiled gradient, row by row."""
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
