"""How the null distribution of the statistic is imitated."""

from steinball.calibration.base import BootstrapNull, Calibration, Null
from steinball.calibration.deviation import DeviationBound, DeviationNull
from steinball.calibration.weighted import WeightedBootstrap
from steinball.calibration.wild import WildBootstrap

__all__ = [
    "BootstrapNull",
    "Calibration",
    "DeviationBound",
    "DeviationNull",
    "Null",
    "WeightedBootstrap",
    "WildBootstrap",
]
