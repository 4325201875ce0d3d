"""Before the data: how often a test would reject, and how many points it needs."""

from steinball.planning.power import Power, power
from steinball.planning.sample_size import SampleSize, sample_size

__all__ = ["Power", "SampleSize", "power", "sample_size"]
