"""Data that ship with the library, and data with contamination."""

from steinball.datasets.data import contaminate, load_galaxies, load_nile, load_wages

__all__ = ["contaminate", "load_galaxies", "load_nile", "load_wages"]
