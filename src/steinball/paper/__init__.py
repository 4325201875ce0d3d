"""The paper's experiments, each under its name: run, draw and check them."""

from steinball.paper.base import Experiment
from steinball.paper.registry import EXPERIMENTS, experiment

__all__ = ["EXPERIMENTS", "Experiment", "experiment"]
