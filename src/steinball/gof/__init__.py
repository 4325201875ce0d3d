"""The tests: the paper's own, and those it compares with."""

from steinball.gof.aggregated import AggregatedResult, ksdagg_test
from steinball.gof.ksd import ksd_test, robust_ksd_test
from steinball.gof.mmd import MMDResult, dcmmd_test, mmd_dev_test
from steinball.gof.robust_aggregated import RobustAggregatedResult, robust_ksdagg_test

__all__ = [
    "AggregatedResult",
    "MMDResult",
    "RobustAggregatedResult",
    "dcmmd_test",
    "ksd_test",
    "ksdagg_test",
    "mmd_dev_test",
    "robust_ksd_test",
    "robust_ksdagg_test",
]
