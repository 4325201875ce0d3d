"""Why a test decided as it did, and how easily it could have decided otherwise."""

from steinball.explain.detectable import Detectable, Fragility
from steinball.explain.explanation import Explanation, Places, SteinWitness
from steinball.explain.influence import Influence
from steinball.explain.removal import Removal
from steinball.explain.tolerance import Concession, ToleranceCurve

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
