"""PyMC: the posterior of a model on its own unconstrained space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from steinball.adapters.posterior import Layout, Posterior
from steinball.arrays import Floats
from steinball.models.registry import Adapter, class_names


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
        self.parameters = Layout(self.names, self._point.shapes).parameters

    def free_rows(self, rows: Mapping[str, Floats]) -> Floats:
        """Rows by the transforms of the model, draw by draw."""
        free = (self._transform(*draw) for draw in zip(*rows.values(), strict=True))
        return np.array([self._point.pack(dict(zip(self._point.names, values, strict=True))) for values in free])

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
                "its posterior are tested by `sb.mcmc_test(idata, model)`; for data compile it, `logp = "
                'model.compile_logp()`, and use `sb.from_log_density(lambda x: np.array([logp({"mu": row[0]}) for row '
                'in x]), backend="numerical")` with the names of your own variables.'
            )

    def posterior(self, thing: Any, run: Any) -> PyMCPosterior | None:
        return PyMCPosterior(thing) if "Model" in class_names(thing) else None


ADAPTER = PyMC()
