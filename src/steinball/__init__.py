"""Is the data inside a ball around your model? Robust kernel Stein goodness-of-fit tests."""

from steinball import calibration, datasets, estimation, explain, jumps, kernels, models, radius, supremum, tilts
from steinball.calibration import Betting, BoundaryBootstrap, DeviationBound, WeightedBootstrap, WildBootstrap
from steinball.discrepancy import ksd, targeted_ksd
from steinball.gof import dcmmd_test, ksd_test, ksdagg_test, mmd_dev_test, robust_ksd_test, robust_ksdagg_test
from steinball.gram.choose import predict_cost
from steinball.kernels import InverseMultiquadric, Matern
from steinball.models import check_score, from_log_density
from steinball.radius import Alternative, DensityBand, FixedRadius, Huber, StudentTails
from steinball.result import GofResult
from steinball.stein import SteinKernel
from steinball.tilts import PolynomialTilt

__version__ = "0.1.0"

__all__ = [
    "Alternative",
    "Betting",
    "BoundaryBootstrap",
    "DensityBand",
    "DeviationBound",
    "FixedRadius",
    "GofResult",
    "Huber",
    "InverseMultiquadric",
    "Matern",
    "PolynomialTilt",
    "SteinKernel",
    "StudentTails",
    "WeightedBootstrap",
    "WildBootstrap",
    "calibration",
    "check_score",
    "datasets",
    "dcmmd_test",
    "estimation",
    "explain",
    "from_log_density",
    "jumps",
    "kernels",
    "ksd",
    "ksd_test",
    "ksdagg_test",
    "mmd_dev_test",
    "models",
    "predict_cost",
    "radius",
    "robust_ksd_test",
    "robust_ksdagg_test",
    "supremum",
    "targeted_ksd",
    "tilts",
]
