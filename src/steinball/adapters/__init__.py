"""Objects of other libraries: one file a library gives the models, families, draws and posteriors that it has."""

from steinball.models.registry import Adapter, register

__all__ = ["Adapter", "register"]
