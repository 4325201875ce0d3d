"""The public names of the package."""

from steinball import (
    calibration,
    checks,
    datasets,
    estimation,
    explain,
    features,
    jumps,
    kernels,
    models,
    radius,
    tilts,
)
from steinball.calibration import Betting, BoundaryBootstrap, DeviationBound, WeightedBootstrap, WildBootstrap
from steinball.cautions import SteinballWarning
from steinball.checks import thin
from steinball.discrepancy import ksd, targeted_ksd
from steinball.gof import (
    dcmmd_test,
    ksd_test,
    ksdagg_test,
    mmd_dev_test,
    mode_weights_test,
    robust_ksd_test,
    robust_ksdagg_test,
    sharp_huber_test,
)
from steinball.gram.choose import predict_cost
from steinball.kernels import InverseMultiquadric, Matern
from steinball.models import check_score, from_log_density, from_score
from steinball.radius import (
    Alternative,
    ChiSquared,
    DensityBand,
    FixedRadius,
    Hellinger,
    Huber,
    KullbackLeibler,
    LikeModel,
    ScoreError,
    StudentTails,
    TotalVariation,
    Wasserstein,
)
from steinball.results import GofResult
from steinball.sequential import SequentialTest
from steinball.stein import SteinKernel
from steinball.tilts import PolynomialTilt

__all__ = [
    "Alternative",
    "Betting",
    "BoundaryBootstrap",
    "ChiSquared",
    "DensityBand",
    "DeviationBound",
    "FixedRadius",
    "GofResult",
    "Hellinger",
    "Huber",
    "InverseMultiquadric",
    "KullbackLeibler",
    "LikeModel",
    "Matern",
    "PolynomialTilt",
    "ScoreError",
    "SequentialTest",
    "SteinKernel",
    "SteinballWarning",
    "StudentTails",
    "TotalVariation",
    "Wasserstein",
    "WeightedBootstrap",
    "WildBootstrap",
    "calibration",
    "check_score",
    "checks",
    "datasets",
    "dcmmd_test",
    "estimation",
    "explain",
    "features",
    "from_log_density",
    "from_score",
    "jumps",
    "kernels",
    "ksd",
    "ksd_test",
    "ksdagg_test",
    "mmd_dev_test",
    "mode_weights_test",
    "models",
    "predict_cost",
    "radius",
    "robust_ksd_test",
    "robust_ksdagg_test",
    "sharp_huber_test",
    "targeted_ksd",
    "thin",
    "tilts",
]
