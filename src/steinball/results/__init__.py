"""What a test found: the decision, how far it can be trusted, and what it would have been."""

from steinball.results.aggregated import AggregatedResult, RobustAggregatedResult
from steinball.results.base import Result
from steinball.results.fitted import FitResult
from steinball.results.gof import GofResult
from steinball.results.mcmc import MCMCResult
from steinball.results.means import SharpResult
from steinball.results.mmd import MMDResult

__all__ = [
    "AggregatedResult",
    "FitResult",
    "GofResult",
    "MCMCResult",
    "MMDResult",
    "Result",
    "RobustAggregatedResult",
    "SharpResult",
]
