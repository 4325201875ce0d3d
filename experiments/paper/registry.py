"""All experiments by name, in the paper's order."""

from __future__ import annotations

from experiments.framework.base import Experiment
from experiments.framework.collection import Collection
from experiments.paper import (
    bandwidth_robust,
    bandwidth_standard,
    bootstraps,
    bounded_score,
    contamination_rate,
    dependence,
    deviation,
    dimension,
    growing_score,
    kef_level,
    kef_power,
    localized,
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
    u_statistic,
    weighted_norm,
    weights,
)
from experiments.paper.boundary import with_boundary
from experiments.paper.table1 import render_table1

__all__ = ["EXPERIMENTS", "PAPER", "experiment"]

_HEAD = """# The paper's experiments

Every figure of Liu and Briol, *On the Robustness of Kernel Goodness-of-Fit Tests* (JMLR 26, 2025), drawn again by this
library, beside what the paper says of it and whether that came out. `make paper` makes these pages from nothing;
`python -m experiments paper run NAME`, `figure NAME` and `check NAME` do one experiment. Shaded bands are 95 % Wilson
intervals, the dotted line is the level .05, the dash-dotted one the tolerance or the reference, and crosses are the
numbers that the paper prints or draws. The tables behind the figures lie in [`tables/`](tables). Unless said
otherwise n = 500, the model is N(0, 1), the weight (1+|x|²)^(−½), the length scale the median distance, ε₀ = .05, and
100 repeats. [Table 1](table1.md) of the paper has a page of its own.

## What does not hold as printed

- The score of the [RBM](rbm.md) lacks two factors ½: used literally, every test rejects at ε = 0.
- The density of the [kernel exponential family](kef-level.md) has + Σ ηφ in its exponent; the text has a minus.
- The offset δ of [kef-power](kef-power.md) is added to all 25 coefficients; added to the first alone, as the text says,
  R-KSD sees hardly anything of it.
- "The median heuristic has the highest power" is not so at ε = .1 of its own figure
  ([bandwidth-robust](bandwidth-robust.md)).
- KSDAgg is not always the most sensitive test: near outliers are seen as well by the smallest bandwidth
  ([bandwidth-standard](bandwidth-standard.md)).
- R-KSD-Dev is not always less powerful than the MMD tests: at ε₀ = .1 and .2 dcMMD rejects later
  ([deviation](deviation.md)).
- The published curve of dcMMD that rejects 41 % at ε = 0 is not dcMMD ([deviation](deviation.md)).
- Where a number λ² is given, the published curves have (1 + r²/(2λ²))^(−½); the text writes r²/λ².
- The tilt that bounds u for a score growing like |x|^r needs b ≥ r/2, not 1/(2r); they agree at r = 1.
- The matrix of the weighted norm in §5 must be a precision, not a covariance.

## What was checked

A published number *agrees* when ours is no more than three standard errors from it (|z| ≤ 3, both rates with the
sampling error of their repeats). What the paper says in words is checked as the claim says: at the level means no more
than .05 plus two standard errors, rising or falling up to two standard errors a step. What goes beyond the paper is
counted apart, and what is a theorem is shown but counted nowhere: that the [boundary
bootstrap](../theory/boundary-bootstrap.md), which reads R-KSD's draws again, rejects whenever R-KSD does is one.
"""

_TEXTS = (dependence, growing_score, bounded_score, localized, u_statistic, weighted_norm)
_ALONE = (weights, bandwidth_standard, *_TEXTS)  # no radius and no edge, or about the paper's own test

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT if module in _ALONE else with_boundary(module.EXPERIMENT)
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
        *_TEXTS,
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
