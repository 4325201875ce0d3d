"""What a test found: the decision, how far it can be trusted, and what it would have been."""

from steinball.results.aggregated import AggregatedResult, RobustAggregatedResult
from steinball.results.base import Result
from steinball.results.check import CheckResult, ColumnsResult
from steinball.results.comparison import ComparisonResult
from steinball.results.gof import FitResult, GofResult
from steinball.results.predictive import PredictiveExplanation, PredictiveResult
from steinball.results.regions import RegionFitResult, RegionResult

__all__ = [
    "AggregatedResult", "CheckResult", "ColumnsResult", "ComparisonResult", "FitResult", "GofResult",
    "PredictiveExplanation", "PredictiveResult", "RegionFitResult", "RegionResult", "Result",
    "RobustAggregatedResult",
]  # fmt: skip
