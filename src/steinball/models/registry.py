"""Which library an object comes from, and which adapter reads it. No library is imported to find that out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

T = TypeVar("T")
#: A function from data (n, d) to the model that is fitted to them.
Fit = Callable[[Any], Any]

if TYPE_CHECKING:
    from steinball.adapters.posterior import NamedDraws, Posterior, Reading
    from steinball.models.family import Family
    from steinball.predictive.law import Prediction


class Adapter:
    """What is read of one library: models, families, draws, posteriors and predictions, as far as it has them.

    A method returns ``None`` for an object that is nothing of the kind, and raises an error with a remedy for an object
    that could be read in two ways or has no score.

    Attributes
    ----------
    posteriors : tuple of str
        Names of the classes that :meth:`posterior` takes.

    Examples
    --------
    >>> import numpy as np, steinball as sb
    >>> class Bell:
    ...     center = 3.0
    >>> class Bells(Adapter):
    ...     def model(self, thing, dimension):
    ...         return sb.models.Gaussian(thing.center) if isinstance(thing, Bell) else None
    >>> register("bells", Bells())
    >>> Bell.__module__ = "bells.shapes"  # as if it came from there
    >>> sb.as_model(Bell())
    Gaussian(mean=3, cov=1)
    """

    posteriors: ClassVar[tuple[str, ...]] = ()

    def model(self, thing: Any, dimension: int | None) -> Any:
        """The model of data with ``dimension`` columns, where that is known: an object with ``score(x)``."""
        return None

    def family(self, thing: Any, dimension: int, known: Mapping[str, float]) -> Family | Fit | None:
        """The family for :func:`steinball.fit_test`, or a function from data (n, d) to a model that is fitted to them.

        Parameters among ``known`` that a family fixes itself are its ``fixed``.
        """
        return None

    def draws(self, thing: Any, reading: Reading) -> NamedDraws | None:
        """The draws of a sampler by name, for :func:`steinball.mcmc_test`."""
        return None

    def posterior(self, thing: Any, run: Any) -> Posterior | None:
        """The posterior on its unconstrained space; ``run`` is what the user passed as draws, of whatever library."""
        return None

    def prediction(self, thing: Any, y: Any, features: Any) -> Prediction | None:
        """What is predicted for every row, for :func:`steinball.predictive_test`; features are what the user passed."""
        return None


# The first part of the module of a class, and the file of this folder that reads its objects. A flow is found by its
# own library before torch, from which it derives.
_ADAPTERS: dict[str, Adapter | str] = {
    "scipy": "scipy",
    "sklearn": "scikit_learn",
    "statsmodels": "statsmodels",
    "zuko": "flows",
    "nflows": "flows",
    "normflows": "flows",
    "torch": "torch",
    "numpyro": "numpyro",
    "pymc": "pymc",
    "bridgestan": "stan",
    "arviz": "arviz",
    "xarray": "arviz",
    "blackjax": "blackjax",
}


def register(library: str, adapter: Adapter) -> None:
    """Let ``adapter`` read all objects whose classes come from ``library``, a name as in ``import library``.

    Examples
    --------
    >>> register("mylibrary", Adapter())  # an adapter that reads nothing yet
    """
    if not isinstance(adapter, Adapter):
        raise TypeError(f"`adapter` must be an instance of a class below steinball.adapters.Adapter, got {adapter!r}.")
    _ADAPTERS[str(library)] = adapter


def class_names(thing: Any) -> set[str]:
    """The names of the class of an object and of those above it."""
    return {cls.__name__ for cls in type(thing).__mro__}


def adapters_of(thing: Any) -> Iterator[Adapter]:
    """The adapters of the libraries that the class of an object and those above it come from, nearest first."""
    for library in dict.fromkeys(cls.__module__.partition(".")[0] for cls in type(thing).__mro__):
        found = _ADAPTERS.get(library)
        if isinstance(found, str):
            found = _ADAPTERS[library] = import_module(f"steinball.adapters.{found}").ADAPTER
        if found is not None:
            yield found


def _first(found: Iterable[T | None]) -> T | None:
    """The first that some adapter gives."""
    return next((one for one in found if one is not None), None)


def read_model(thing: Any, dimension: int | None = None) -> Any:
    """An object of another library as a model with a score, or ``None`` where no adapter knows it.

    Parameters
    ----------
    thing : object
        A frozen distribution of SciPy, a fitted estimator of scikit-learn, a distribution or flow of torch, …
    dimension : int, optional
        The number of columns of the samples, where it is known.

    Examples
    --------
    >>> from scipy import stats
    >>> read_model(stats.gamma(2.0, scale=3.0))
    ScipyDistribution(gamma(a=2, scale=3), score: closed form)
    >>> read_model(lambda x: -x) is None
    True
    """
    return _first(adapter.model(thing, dimension) for adapter in adapters_of(thing))


def read_family(thing: Any, dimension: int, known: Mapping[str, float]) -> Family | Fit | None:
    """An object of another library as a family, or as a function that fits a model; ``None`` if no adapter knows it."""
    return _first(adapter.family(thing, dimension, known) for adapter in adapters_of(thing))  # type: ignore[return-value]


def read_draws(thing: Any, reading: Reading) -> NamedDraws | None:
    """The draws that an object of another library holds, or ``None`` where no adapter knows it."""
    return _first(adapter.draws(thing, reading) for adapter in adapters_of(thing))


def is_posterior(thing: Any) -> bool:
    """Whether an object is a posterior of another library, which knows its parameters by name."""
    return any(class_names(thing).intersection(adapter.posteriors) for adapter in adapters_of(thing))


def read_posterior(thing: Any, run: Any = None) -> Posterior | None:
    """The posterior that an object of another library is, or ``None``; the adapter of the run is asked as well."""
    return _first(adapter.posterior(thing, run) for adapter in (*adapters_of(thing), *adapters_of(run)))


def read_prediction(thing: Any, y: Any, features: Any = None) -> Prediction | None:
    """What an object of another library predicts for the rows of y, or ``None`` where no adapter knows it."""
    return _first(adapter.prediction(thing, y, features) for adapter in adapters_of(thing))
