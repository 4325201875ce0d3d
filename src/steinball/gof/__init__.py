"""The tests: the paper's own, those it compares with, and those that go beyond it."""

from steinball.gof.aggregated import ksdagg_test, robust_ksdagg_test
from steinball.gof.check import check
from steinball.gof.compare import compare
from steinball.gof.fitted import fit_test, split
from steinball.gof.ksd import ksd_test, robust_ksd_test
from steinball.gof.mmd import MMDResult, dcmmd_test, mmd_dev_test
from steinball.gof.mode_weights import SharpResult, mode_weights_test
from steinball.gof.predictive import predictive_test
from steinball.gof.regions import region_test
from steinball.results import (
    AggregatedResult,
    CheckResult,
    FitResult,
    RegionFitResult,
    RegionResult,
    RobustAggregatedResult,
)

__all__ = [
    "AggregatedResult",
    "CheckResult",
    "FitResult",
    "MMDResult",
    "RegionFitResult",
    "RegionResult",
    "RobustAggregatedResult",
    "SharpResult",
    "check",
    "compare",
    "dcmmd_test",
    "fit_test",
    "ksd_test",
    "ksdagg_test",
    "mmd_dev_test",
    "mode_weights_test",
    "predictive_test",
    "region_test",
    "robust_ksd_test",
    "robust_ksdagg_test",
    "split",
]
