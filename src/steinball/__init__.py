"""Is the data inside a ball around your model? Robust kernel Stein goodness-of-fit tests."""

from steinball import (
    adapters,
    calibration,
    cautions,
    datasets,
    explain,
    fitting,
    jumps,
    kernels,
    models,
    planning,
    radius,
    tau,
    tilts,
)
from steinball.calibration import (
    Betting,
    BoundaryBootstrap,
    DeviationBound,
    MonteCarlo,
    ProjectedBootstrap,
    RefitBootstrap,
    WeightedBootstrap,
    WildBootstrap,
)
from steinball.cautions import SteinballWarning
from steinball.checks.thinning import thin
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
from steinball.models import as_model, check_score, from_log_density, from_score, from_scores, in_base_space
from steinball.planning import power, sample_size
from steinball.posterior import mcmc_test
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
    "MonteCarlo",
    "PolynomialTilt",
    "ProjectedBootstrap",
    "RefitBootstrap",
    "ScoreError",
    "SequentialTest",
    "SteinballWarning",
    "StudentTails",
    "TotalVariation",
    "Wasserstein",
    "WeightedBootstrap",
    "WildBootstrap",
    "adapters",
    "as_model",
    "calibration",
    "cautions",
    "check_score",
    "datasets",
    "dcmmd_test",
    "explain",
    "fit_test",
    "fitting",
    "from_log_density",
    "from_score",
    "from_scores",
    "in_base_space",
    "jumps",
    "kernels",
    "ksd",
    "ksd_test",
    "ksdagg_test",
    "mcmc_test",
    "mmd_dev_test",
    "mode_weights_test",
    "models",
    "planning",
    "power",
    "predict_cost",
    "radius",
    "robust_ksd_test",
    "robust_ksdagg_test",
    "sample_size",
    "sharp_huber_test",
    "split",
    "targeted_ksd",
    "tau",
    "thin",
    "tilts",
]

__version__ = "0.2.0"
