"""The public names of the package."""

from steinball import calibration, datasets, estimation, explain, features, fitting, jumps, kernels, models, radius, tilts
from steinball.calibration import (
    Betting,
    BoundaryBootstrap,
    DeviationBound,
    ProjectedBootstrap,
    RefitBootstrap,
    WeightedBootstrap,
    WildBootstrap,
)
from steinball.cautions import SteinballWarning
from steinball.discrepancy import ksd, targeted_ksd
from steinball.gof import (
    dcmmd_test,
    fit_test,
    ksd_test,
    ksdagg_test,
    mmd_dev_test,
    mode_weights_test,
    robust_ksd_test,
    robust_ksdagg_test,
    sharp_huber_test,
    split,
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
from steinball.results import FitResult, GofResult
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
    "FitResult",
    "FixedRadius",
    "GofResult",
    "Hellinger",
    "Huber",
    "InverseMultiquadric",
    "KullbackLeibler",
    "LikeModel",
    "Matern",
    "PolynomialTilt",
    "ProjectedBootstrap",
    "RefitBootstrap",
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
    "datasets",
    "dcmmd_test",
    "estimation",
    "explain",
    "features",
    "fit_test",
    "fitting",
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
    "split",
    "targeted_ksd",
    "tilts",
]
