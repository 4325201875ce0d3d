"""Objects of other libraries: each has an adapter for the models, families, draws and posteriors that it has."""

from steinball.models.registry import Adapter, register

__all__ = ["Adapter", "register"]
