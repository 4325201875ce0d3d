"""Which library draws and a model come from, and who reads them. No library is imported to find that out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinball.arrays import Floats, is_array, namespace
from steinball.posterior.arviz import read_arviz
from steinball.posterior.base import Posterior
from steinball.posterior.blackjax import read_states
from steinball.posterior.draws import Draws, Reading, as_named
from steinball.posterior.numpyro import NumPyroPosterior, read_mcmc
from steinball.posterior.pymc import PyMCPosterior
from steinball.posterior.stan import StanPosterior

_KINDS = {
    ("numpyro", "MCMC"): "MCMC",
    ("numpyro", "MCMCKernel"): "MCMCKernel",
    ("pymc", "Model"): "PyMC",
    ("bridgestan", "StanModel"): "Stan",
    ("arviz", "InferenceData"): "InferenceData",
    ("xarray", "DataTree"): "DataTree",
    ("xarray", "Dataset"): "Dataset",
    ("xarray", "DataArray"): "DataArray",
}
_LABELED = ("InferenceData", "DataTree", "Dataset", "DataArray")
_BY_NAME = ("MCMC", "MCMCKernel", "PyMC", "Stan")


@dataclass(frozen=True, eq=False)
class Case:
    """Draws as rows, and what they are tested against: a posterior, a model or scores at these rows."""

    draws: Draws
    model: Any


def kind_of(value: Any) -> str:
    """What an object of another library is, by the names of its classes; empty for anything else.

    Examples
    --------
    >>> kind_of([1.0, 2.0])
    ''
    """
    for cls in type(value).__mro__:
        library = cls.__module__.partition(".")[0]
        if library == "blackjax":
            return "BlackJAX"
        if kind := _KINDS.get((library, cls.__name__)):
            return kind
    return ""


def read(draws: Any, model: Any, scores: Any, reading: Reading) -> Case:
    """Draws, and what they are tested against, from whatever library."""
    if model is not None and scores is not None:
        raise ValueError("give `model` or `scores`, not both: each of them says what the draws are tested against.")
    kind = kind_of(draws)
    if kind == "BlackJAX":
        rows, own = read_states(draws, reading)
        return _against(rows, model, own if scores is None else scores, reading)
    if kind == "MCMC":
        reading.refuse_axes("a NumPyro MCMC")
        own_model = draws if scores is None else None
        return _named(read_mcmc(draws), own_model if model is None else model, scores, reading, draws)
    if kind in _LABELED:
        reading.refuse_axes(f"a {kind}")
        return _named(read_arviz(draws, kind), model, scores, reading)
    if isinstance(draws, Mapping):
        return _named(as_named(draws, reading), model, scores, Reading(reading.parameters))
    _refuse_model(draws, kind)
    if kind_of(model) in _BY_NAME:
        raise TypeError(
            f"`model` is a {type(model).__name__}, which knows its parameters by name, and `draws` has columns without "
            "names. Pass the run itself, ArviZ data, or a dictionary of arrays (chain, draw, ...)."
        )
    return _against(Draws.of(draws, reading), model, scores, reading)


def _refuse_model(draws: Any, kind: str) -> None:
    if kind in _BY_NAME:
        raise TypeError(
            f"`draws` is a {type(draws).__name__}, a model: pass `sb.mcmc_test(draws, model)`, draws first."
        )


def _named(values: dict[str, Floats], model: Any, scores: Any, reading: Reading, run: Any = None) -> Case:
    """Draws by name against a posterior that knows its parameters by name, or against anything else."""
    posterior = _posterior(model, run)
    if posterior is None:
        return _against(Draws.of_named(values, reading.parameters), model, scores, reading)
    if reading.parameters is not None:
        raise ValueError("`parameters` is for models that do not know their parameters by name; this one does.")
    return Case(Draws.of(posterior.unconstrain(values), Reading(), posterior.parameters), posterior)


def _posterior(model: Any, run: Any) -> Posterior | None:
    """The posterior of a model of another library; ``run`` is the NumPyro run that the draws come from."""
    kind = kind_of(model)
    if kind == "PyMC":
        return PyMCPosterior(model)
    if kind == "Stan":
        return StanPosterior(model)
    if kind == "MCMC":
        return NumPyroPosterior(model.sampler, model)
    if kind == "MCMCKernel":
        if run is None:
            raise TypeError(
                "`model` is a NumPyro kernel, and without its run the arguments of its model are unknown. Pass the "
                "`MCMC` as `draws` or as `model`."
            )
        return NumPyroPosterior(model, run)
    if run is not None and callable(model) and kind_of(model) == "" and type(model).__name__ == "function":
        raise TypeError(
            "`model` is a function, which may be a NumPyro model or a score. For a model pass its kernel, "
            "`NUTS(model)`; for a score on the constrained space `sb.from_score(f)` with `parameters=[...]`."
        )
    return None


def _against(draws: Draws, model: Any, scores: Any, reading: Reading) -> Case:
    if model is not None:
        return Case(draws, model)
    if scores is None:
        raise TypeError(
            "`model` or `scores` is needed: draws alone do not say what they should be draws of. Pass a PyMC or "
            "BridgeStan model, a score function, or the gradients of the log density at the draws as `scores`."
        )
    return Case(draws, _rows_of(scores, draws, reading))


def _rows_of(scores: Any, draws: Draws, reading: Reading) -> Any:
    """Scores in the shape of the draws that were passed, as rows."""
    if np.ndim(scores) != 3:
        return scores
    scores = reading.chains_first(scores if is_array(scores) else np.asarray(scores))
    return namespace(scores).reshape(scores, (len(draws), -1))
