"""Data that ships with the library."""

from steinball.datasets.galaxies import load_galaxies

__all__ = ["load_galaxies"]
