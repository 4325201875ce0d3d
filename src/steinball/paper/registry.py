"""All experiments by name, in the paper's order."""

from __future__ import annotations

import difflib

from steinball.paper import outliers, weights
from steinball.paper.base import Experiment

__all__ = ["EXPERIMENTS", "experiment"]

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        weights,
        outliers,
    )
}


def experiment(name: str) -> Experiment:
    """The experiment of that name.

    Examples
    --------
    >>> experiment("weights").repeats
    200
    """
    if name not in EXPERIMENTS:
        near = difflib.get_close_matches(name, EXPERIMENTS, n=1)
        hint = f"did you mean `{near[0]}`?" if near else "`steinball paper list` names them."
        raise ValueError(f"`{name}` is no experiment: {hint}")
    return EXPERIMENTS[name]
