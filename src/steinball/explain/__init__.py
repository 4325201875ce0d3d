"""Why a test decided as it did, and how easily it could have decided otherwise."""

from steinball.explain.changes import Fragility
from steinball.explain.detectable import Detectable
from steinball.explain.explanation import Explanation
from steinball.explain.influence import Influence
from steinball.explain.removal import Removal
from steinball.explain.tolerance import Concession, ToleranceCurve
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
]
