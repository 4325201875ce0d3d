"""Data that ship with the library, and data with contamination."""

from steinball.datasets.contamination import contaminate
from steinball.datasets.galaxies import load_galaxies
from steinball.datasets.nile import load_nile

__all__ = ["contaminate", "load_galaxies", "load_nile"]
