"""How the null distribution of the statistic is imitated."""

from steinball.calibration.base import BootstrapNull, BoundingNull, Calibration, Null
from steinball.calibration.betting import Betting, BettingNull
from steinball.calibration.boundary import BoundaryBootstrap, BoundaryNull
from steinball.calibration.deviation import DeviationBound, DeviationNull
from steinball.calibration.weighted import WeightedBootstrap
from steinball.calibration.wild import WildBootstrap
from steinball.features.moments import ModelMoments

__all__ = [
    "Betting",
    "BettingNull",
    "BootstrapNull",
    "BoundaryBootstrap",
    "BoundaryNull",
    "BoundingNull",
    "Calibration",
    "DeviationBound",
    "DeviationNull",
    "ModelMoments",
    "Null",
    "WeightedBootstrap",
    "WildBootstrap",
]
