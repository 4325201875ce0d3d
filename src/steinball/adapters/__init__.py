"""Objects of other libraries: one file a library gives the models, families and draws that it has."""

from steinball.adapters.registry import Adapter, read_draws, read_family, read_model, read_posterior, register

__all__ = ["Adapter", "read_draws", "read_family", "read_model", "read_posterior", "register"]
