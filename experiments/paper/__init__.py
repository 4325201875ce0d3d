"""The paper's experiments, each under its name: run, draw and check them."""

from experiments.framework.base import Experiment
from experiments.paper.registry import EXPERIMENTS, experiment

__all__ = ["EXPERIMENTS", "Experiment", "experiment"]
