"""Models of other libraries: one file a library, none of them loaded before an object of it is met."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

__all__ = ["adapted"]

# The first part of the module of a class, and the file that knows its objects. A flow is found by its own library
# before torch, from which it derives.
_FILES = {
    "scipy": "scipy_stats",
    "sklearn": "scikit_learn",
    "zuko": "torch_flows",
    "nflows": "torch_flows",
    "normflows": "torch_flows",
    "torch": "torch_distributions",
    "numpyro": "numpyro_distributions",
}


def adapted(model: Any, dimension: int | None = None) -> Any:
    """An object of another library as a model with a score, or ``None`` where it is of none that is known.

    Parameters
    ----------
    model : object
        A frozen distribution of SciPy, a fitted estimator of scikit-learn, a distribution or flow of torch, …
    dimension : int, optional
        The number of columns of the samples, where it is known.

    Examples
    --------
    >>> from scipy import stats
    >>> adapted(stats.gamma(2.0, scale=3.0))
    ScipyDistribution(gamma(a=2, scale=3), score: closed form)
    >>> adapted(lambda x: -x) is None
    True
    """
    for library in _libraries(model):
        if library in _FILES:
            found = import_module(f"steinball.models.adapters.{_FILES[library]}").adapt(model, dimension)
            if found is not None:
                return found
    return None


def _libraries(model: Any) -> Iterator[str]:
    """The libraries that its class and the classes above it come from, nearest first."""
    yield from dict.fromkeys(cls.__module__.partition(".")[0] for cls in type(model).__mro__)
