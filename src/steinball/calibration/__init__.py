"""How the null distribution of the statistic is imitated."""

from steinball.calibration.base import BootstrapNull, BoundingNull, Calibration, JointNull, Null
from steinball.calibration.betting import Betting
from steinball.calibration.boundary import BoundaryBootstrap
from steinball.calibration.deviation import DeviationBound
from steinball.calibration.fitted import ProjectedBootstrap, RefitBootstrap
from steinball.calibration.monte_carlo import MonteCarlo
from steinball.calibration.weighted import WeightedBootstrap, WildBootstrap

__all__ = ["BootstrapNull", "BoundingNull", "Calibration", "JointNull", "Null"]
__all__ += ["Betting", "BoundaryBootstrap", "DeviationBound", "MonteCarlo", "ProjectedBootstrap", "RefitBootstrap"]
__all__ += ["WeightedBootstrap", "WildBootstrap"]
