"""Data that ship with the library, and data with contamination."""

from steinball.datasets.contamination import contaminate
from steinball.datasets.galaxies import load_galaxies
from steinball.datasets.nile import load_nile
from steinball.datasets.wages import load_wages

__all__ = ["contaminate", "load_galaxies", "load_nile", "load_wages"]
