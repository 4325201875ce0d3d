"""Data that ship with the library, and data with contamination."""

from steinball.datasets.contamination import contaminate
from steinball.datasets.galaxies import load_galaxies

__all__ = ["contaminate", "load_galaxies"]
