"""Pictures of results, by matplotlib: ``result.plot()``."""

from steinball.plots.overview import plot

__all__ = ["plot"]
