"""All experiments by name, in the paper's order."""

from __future__ import annotations

from experiments.framework.base import Experiment
from experiments.framework.collection import Collection
from experiments.paper import (
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
from experiments.paper.boundary import with_boundary
from experiments.paper.table1 import render_table1

__all__ = ["EXPERIMENTS", "PAPER", "experiment"]

_HEAD = """# The paper's experiments

Every figure of Liu and Briol, *On the Robustness of Kernel Goodness-of-Fit Tests* (JMLR 26, 2025), drawn again by this
library, beside what the paper says of it and whether that came out. `make paper` makes this page from nothing;
`python -m experiments paper run NAME`, `figure NAME` and `check NAME` do one experiment. Shaded bands are 95 % Wilson
intervals, the dotted line is the level .05, the dash-dotted one the tolerance or the reference. The tables behind the
figures lie in [`tables/`](tables). Unless said otherwise n = 500, the model is N(0, 1), the weight (1+|x|²)^(−½), the
length scale the median distance, ε₀ = .05, and 100 repeats. [Table 1](table1.md) of the paper has a page of its own.

One line is not the paper's: dashed, beside each R-KSD, the same draws read by the
[boundary bootstrap](../theory/boundary-bootstrap.md), which rejects whenever R-KSD does.

A claim *holds* when every number of it does: rates within .15 of the published ones, or no more than the level plus two
standard errors, or whatever the claim says. A miss has its reason written below it.
"""

_STANDARD_ALONE = (weights, bandwidth_standard)  # no radius, no edge

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT if module in _STANDARD_ALONE else with_boundary(module.EXPERIMENT)
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


PAPER = Collection(
    command="paper",
    about="The paper's experiments: run them, draw their figures, check what they must show.",
    head=_HEAD,
    experiments=EXPERIMENTS,
    pages={"table1.md": render_table1},
)


def experiment(name: str) -> Experiment:
    """The experiment of that name.

    Examples
    --------
    >>> experiment("weights").repeats
    200
    """
    return PAPER.experiment(name)
