"""Why a test decided as it did, and how easily it could have decided otherwise."""

from steinball.explain.changes import Fragility, fragility
from steinball.explain.detectable import Detectable, smallest_detectable
from steinball.explain.explanation import Explanation, explain
from steinball.explain.influence import Influence
from steinball.explain.removal import Removal, least_removal
from steinball.explain.tolerance import Concession, ToleranceCurve, tolerance_curve
from steinball.explain.witness import Places, SteinWitness

__all__ = [
    "Concession",
    "Detectable",
    "Explanation",
    "Fragility",
    "Influence",
    "Places",
    "Removal",
    "SteinWitness",
    "ToleranceCurve",
    "explain",
    "fragility",
    "least_removal",
    "smallest_detectable",
    "tolerance_curve",
]
