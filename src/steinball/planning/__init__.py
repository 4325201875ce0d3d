"""Before the data: how often a test would reject, and how many points it needs."""

from steinball.planning.power import Power, SampleSize, power, sample_size

__all__ = ["Power", "SampleSize", "power", "sample_size"]
