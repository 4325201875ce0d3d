"""Everything expensive: one pass over the pairs of points."""

from steinball.gram.base import Gram, GramSummary
from steinball.gram.blocked import BlockedGram
from steinball.gram.choose import Settings, make_gram, predict_cost
from steinball.gram.cost import Cost, CostPrediction
from steinball.gram.dense import DenseGram
from steinball.gram.lowrank import LowRankGram
from steinball.gram.request import Request
from steinball.gram.tiles import PrefixSums

__all__ = [
    "BlockedGram",
    "Cost",
    "CostPrediction",
    "DenseGram",
    "Gram",
    "GramSummary",
    "LowRankGram",
    "PrefixSums",
    "Request",
    "Settings",
    "make_gram",
    "predict_cost",
]
