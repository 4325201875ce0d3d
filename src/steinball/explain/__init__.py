"""Why a test decided as it did, and how easily it could have decided otherwise."""

from steinball.explain.explanation import Explanation, SteinWitness
from steinball.explain.influence import Influence
from steinball.explain.removal import Fragility, Removal
from steinball.explain.tolerance import Concession, Detectable, ToleranceCurve

__all__ = ["Concession", "Detectable", "Explanation", "Fragility", "Influence", "Removal", "SteinWitness"]
__all__ += ["ToleranceCurve"]
