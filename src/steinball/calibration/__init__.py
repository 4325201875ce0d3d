"""How the null distribution of the statistic is imitated."""

from steinball.calibration.base import BootstrapNull, BoundingNull, Calibration, JointNull, Null
from steinball.calibration.betting import Betting, BettingJointNull, BettingNull
from steinball.calibration.boundary import BoundaryBootstrap, BoundaryJointNull, BoundaryNull
from steinball.calibration.deviation import DeviationBound, DeviationNull
from steinball.calibration.fitted import FittedCalibration, FittedModel, RefitBootstrap
from steinball.calibration.markov import WildBootstrap
from steinball.calibration.monte_carlo import MonteCarlo, MonteCarloNull, RemovalNull
from steinball.calibration.projected import ProjectedBootstrap
from steinball.calibration.weighted import WeightedBootstrap
from steinball.tau.moments import ModelMoments

__all__ = [
    "Betting",
    "BettingJointNull",
    "BettingNull",
    "BootstrapNull",
    "BoundaryBootstrap",
    "BoundaryJointNull",
    "BoundaryNull",
    "BoundingNull",
    "Calibration",
    "DeviationBound",
    "DeviationNull",
    "FittedCalibration",
    "FittedModel",
    "JointNull",
    "ModelMoments",
    "MonteCarlo",
    "MonteCarloNull",
    "Null",
    "ProjectedBootstrap",
    "RefitBootstrap",
    "RemovalNull",
    "WeightedBootstrap",
    "WildBootstrap",
]
