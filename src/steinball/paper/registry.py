"""All experiments by name, in the paper's order."""

from __future__ import annotations

import difflib

from steinball.paper import (
    bandwidth_robust,
    bandwidth_standard,
    bootstraps,
    contamination_rate,
    deviation,
    dimension,
    kef_level,
    kef_power,
    mean_shift,
    mixture,
    noise,
    non_robustness,
    oracle,
    outliers,
    rbm,
    supremum,
    tails,
    tightness,
    weights,
)
from steinball.paper.base import Experiment

__all__ = ["EXPERIMENTS", "experiment"]

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        weights,
        bandwidth_robust,
        outliers,
        tails,
        rbm,
        kef_level,
        kef_power,
        mixture,
        contamination_rate,
        supremum,
        bandwidth_standard,
        mean_shift,
        dimension,
        noise,
        bootstraps,
        deviation,
        non_robustness,
        tightness,
        oracle,
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
