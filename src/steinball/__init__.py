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
from steinball.calibration.betting import Betting
from steinball.calibration.boundary import BoundaryBootstrap
from steinball.calibration.deviation import DeviationBound
from steinball.calibration.fitted import ProjectedBootstrap, RefitBootstrap
from steinball.calibration.monte_carlo import MonteCarlo
from steinball.calibration.weighted import WeightedBootstrap, WildBootstrap
from steinball.cautions import SteinballWarning
from steinball.checks.dependence import thin
from steinball.discrepancy import ksd, targeted_ksd
from steinball.gof.aggregated import ksdagg_test, robust_ksdagg_test
from steinball.gof.check import check
from steinball.gof.compare import compare
from steinball.gof.fitted import fit_test, split
from steinball.gof.ksd import ksd_test, robust_ksd_test
from steinball.gof.mmd import dcmmd_test, mmd_dev_test
from steinball.gof.mode_weights import mode_weights_test
from steinball.gof.predictive import predictive_test
from steinball.gof.regions import region_test
from steinball.gram.choose import predict_cost
from steinball.kernels import InverseMultiquadric, Matern
from steinball.models.autodiff import from_log_density
from steinball.models.base import as_model, from_score, from_scores
from steinball.models.base_space import in_base_space
from steinball.models.registry import from_draws
from steinball.models.score_check import check_score
from steinball.planning import power, sample_size
from steinball.posterior import mcmc_test
from steinball.radius.band import DensityBand, StudentTails
from steinball.radius.base import Alternative, FixedRadius, LikeModel, ScoreError
from steinball.radius.contamination import ChiSquared, Hellinger, Huber, KullbackLeibler, TotalVariation, Wasserstein
from steinball.results.check import CheckResult, ColumnsResult
from steinball.results.comparison import ComparisonResult
from steinball.results.gof import FitResult, GofResult
from steinball.results.predictive import PredictiveResult
from steinball.results.regions import RegionFitResult, RegionResult
from steinball.sequential import Alarm, Monitor, SequentialTest
from steinball.tilts import PolynomialTilt

# Tests, their results, and streams.
__all__ = ["check", "compare", "dcmmd_test", "fit_test", "ksd_test", "ksdagg_test", "mcmc_test", "mmd_dev_test"]
__all__ += ["mode_weights_test", "predictive_test", "region_test", "robust_ksd_test", "robust_ksdagg_test"]
__all__ += ["CheckResult", "ColumnsResult", "ComparisonResult", "FitResult", "GofResult", "PredictiveResult"]
__all__ += ["RegionFitResult", "RegionResult"]
__all__ += ["Alarm", "Monitor", "SequentialTest"]
# What is done before a test or in its place, and how a model is given.
__all__ += ["ksd", "power", "predict_cost", "sample_size", "split", "targeted_ksd", "thin"]
__all__ += ["as_model", "check_score", "from_draws", "from_log_density", "from_score", "from_scores", "in_base_space"]
# What a test is made of: kernels and a tilt, calibrations, tolerated sets.
__all__ += ["InverseMultiquadric", "Matern", "PolynomialTilt"]
__all__ += ["Betting", "BoundaryBootstrap", "DeviationBound", "MonteCarlo", "ProjectedBootstrap", "RefitBootstrap"]
__all__ += ["WeightedBootstrap", "WildBootstrap"]
__all__ += ["Alternative", "ChiSquared", "DensityBand", "FixedRadius", "Hellinger", "Huber", "KullbackLeibler"]
__all__ += ["LikeModel", "ScoreError", "StudentTails", "TotalVariation", "Wasserstein"]
# The base of all warnings, and modules that hold more.
__all__ += ["SteinballWarning"]
__all__ += ["adapters", "calibration", "cautions", "datasets", "explain", "fitting", "jumps", "kernels", "models"]
__all__ += ["planning", "radius", "tau", "tilts"]

__version__ = "0.3.0"
