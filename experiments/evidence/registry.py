"""All evidence by name, in the order of its page."""

from __future__ import annotations

from importlib import import_module

from experiments.framework.base import Experiment
from experiments.framework.collection import Collection

__all__ = ["EVIDENCE", "EXPERIMENTS"]

# One line per file of this room that holds an `EXPERIMENT`.
_FILES = (
    "promise",
    "edge",
    "betting_adversaries",
    "deviation_bounds",
    "aggregated",
    "jumps_mixture",
    "certified_supremum",
    "radius_adversaries",
    "contamination_bound",
    "equivalence",
    "exact",
    "affine",
    "small_fits",
    "base_space",
    "dimensions",
    "fitted",
    "families",
    "comparison",
    "monitor",
    "regions",
    "predictive",
)  # fmt: skip

_HEAD = """# Evidence for what goes beyond the paper

What this library claims beyond the paper is proved under `docs/theory` as far as we can prove it. The rest is
simulated, and these pages show it, one for each experiment: each says what is claimed, what came out and which numbers
hold. `make evidence` makes them from nothing, in about an hour and a half on two cores;
`python -m experiments evidence run NAME`, `figure NAME` and `check NAME` do one experiment. Seeds are fixed: the tables
come out the same on any number of processes. Shaded bands are 95 % Wilson intervals, the dotted line is the level .05.
The tables behind the figures lie in [`tables/`](tables).

At the level means no more than .05 plus two standard errors, for our own methods as for the paper's. A claim *holds*
when every number of it does. A rate that misses its bound is looked at again with more repeats where the experiment
says so, and only then named. A miss has its reason written below it. What is *proved* is shown, so that the code can be
seen to do what the proof says, and counted nowhere.
"""

EXPERIMENTS: dict[str, Experiment] = {
    found.name: found for found in (import_module(f"experiments.evidence.{file}").EXPERIMENT for file in _FILES)
}

EVIDENCE = Collection(
    command="evidence",
    about="The evidence for what goes beyond the paper: run it, draw its figures, check what it must show.",
    head=_HEAD,
    experiments=EXPERIMENTS,
)
