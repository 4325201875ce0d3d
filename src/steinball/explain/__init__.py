"""Why a test decided as it did, and how easily it could have decided otherwise."""

from steinball.explain.changes import Fragility, fragility
from steinball.explain.removal import Removal, least_removal

__all__ = ["Fragility", "Removal", "fragility", "least_removal"]
