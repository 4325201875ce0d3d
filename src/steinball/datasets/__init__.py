"""Data that ship with the library, and data with contamination."""

from steinball.datasets.contamination import contaminate
from steinball.datasets.shipped import load_galaxies, load_nile, load_wages

__all__ = ["contaminate", "load_galaxies", "load_nile", "load_wages"]
