"""What a user may pass as a model: scores or draws as an array, or an object of a library that an adapter reads.

No library is imported to find out where an object comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from steinball.arrays import Array, Floats, as_samples, as_scores, check_kind, namespace, to_host
from steinball.models.kept import kept_with
from steinball.models.knowledge import Knowledge

if TYPE_CHECKING:
    from steinball.adapters.samplers import NamedDraws, OrderedDraws, Posterior, Reading
    from steinball.models.family import Family
    from steinball.predictive.law import Prediction


@dataclass(frozen=True, eq=False)
class ScoreArray:
    """Scores that are known at given samples, and nowhere else; ``model_at`` supplies samples that are None.

    ``lost`` describes the model that the scores come from, where it could not be pickled along with its result.

    Examples
    --------
    >>> x = np.array([[1.0], [2.0]])
    >>> ScoreArray(x, -x).score(x)
    array([[-1.],
           [-2.]])
    """

    samples: Array | None
    scores: Array
    lost: str = ""
    evaluable: ClassVar[bool] = False

    def score(self, x: Array, /) -> Array:
        if self.samples is None:
            return as_scores(self.scores, x)
        if x is self.samples or same_array(x, self.samples):
            return self.scores
        remedy = "use a model that can be pickled, or ask before pickling" if self.lost else "pass a score function"
        raise ValueError(f"{self.unknown_elsewhere}, and scores are known only at the samples it came with; {remedy}.")

    @property
    def unknown_elsewhere(self) -> str:
        """Why the score is not known at other points."""
        lost = f"`model`, {self.lost}, was not pickled along with its result"
        return lost if self.lost else "`model` is an array of scores"

    def __repr__(self) -> str:
        return self.lost or f"ScoreArray(shape={np.shape(self.scores)})"


def same_array(x: Any, y: Array) -> bool:
    """Whether two arrays are of one library and hold the same numbers."""
    if type(x) is not type(y) or tuple(x.shape) != tuple(y.shape) or x.dtype != y.dtype:
        return False
    return bool(namespace(x, y).all(x == y))


@dataclass(frozen=True, eq=False)
class Draws:
    """Independent draws of a model, ``draws`` (m, d), and nothing else. Made by :func:`from_draws`.

    Examples
    --------
    >>> Draws(np.zeros((20, 3))).dimension
    3
    """

    draws: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "draws", to_host(as_samples(self.draws, "draws")))

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.draws.shape[1])

    def __repr__(self) -> str:
        return "from_draws(<{} × {} numbers>)".format(*self.draws.shape)


def from_draws(draws: Any) -> Draws:
    """The model that these rows are independent draws of: a simulator's output, thinned draws of a chain, a second
    sample.

    Parameters
    ----------
    draws : array
        Shape (m, d), or (m,) for d = 1. Ten times as many rows as the data lose hardly any power; from m = n on the
        level is kept (``docs/theory/regions.md``).

    See Also
    --------
    check, region_test, compare : these take it as a model.
    from_score : a model whose score is known.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> from_draws(rng.normal(size=(5000, 2)))
    from_draws(<5000 × 2 numbers>)
    """
    return Draws(draws)


T = TypeVar("T")
#: A function from data (n, d) to the model that is fitted to them.
Fit = Callable[[Any], Any]


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

    def draws(self, thing: Any, reading: Reading) -> NamedDraws | OrderedDraws | None:
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
_FILES = {
    "estimators": ("sklearn", "statsmodels"),
    "numpyro": ("numpyro",),
    "samplers": ("arviz", "blackjax", "bridgestan", "pymc", "xarray"),
    "scipy": ("scipy",),
    "torch": ("torch", "zuko", "nflows", "normflows"),
}
_ADAPTERS: dict[str, Adapter | str] = {library: file for file, libraries in _FILES.items() for library in libraries}


def register(library: str, adapter: Adapter) -> None:
    """Let ``adapter`` read all objects whose classes come from ``library``, a name as in ``import library``.

    Examples
    --------
    >>> register("mylibrary", Adapter())  # an adapter that reads nothing yet
    """
    wanted = "an instance of a class below steinball.adapters.Adapter"
    _ADAPTERS[str(library)] = check_kind(adapter, Adapter, "adapter", wanted)


def class_names(thing: Any) -> set[str]:
    """The names of the class of an object and of those above it."""
    return {cls.__name__ for cls in type(thing).__mro__}


def adapters_of(thing: Any) -> Iterator[Adapter]:
    """The adapters of the libraries that the class of an object and those above it come from, nearest first."""
    for library in dict.fromkeys(cls.__module__.partition(".")[0] for cls in type(thing).__mro__):
        found = _ADAPTERS.get(library)
        if isinstance(found, str):
            found = _ADAPTERS[library] = import_module(f"steinball.adapters.{found}").ADAPTERS[library]
        if found is not None:
            yield found


def _first(found: Iterable[T | None]) -> T | None:
    """The first that some adapter gives."""
    return next((one for one in found if one is not None), None)


def read_model(thing: Any, dimension: int | None = None) -> Any:
    """An object of another library as a model with a score, or ``None`` where no adapter knows it.

    Where that is a model of ours, it is the same one as long as its parameters are, with all that was found out of it.

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
    found = _first(adapter.model(thing, dimension) for adapter in adapters_of(thing))
    numbers = _numbers(found) if Knowledge(found).unchanging else None
    if numbers is None:
        return found
    return kept_with(thing, read_model, lambda: found, lambda kept: _numbers(kept) == numbers)


def _numbers(model: Any) -> list[tuple[Any, ...]] | None:
    """The parameters of a model of ours, to compare; ``None`` for one that holds anything else, such as the object that
    it was read from."""
    values = [vars(model)[part.name] for part in fields(model) if part.init]
    alone = all(isinstance(value, np.ndarray | float | int | None) for value in values)
    return [(np.shape(value), np.asarray(value).tobytes()) for value in values] if alone else None


def read_sampler(thing: Any) -> Callable[[int, Any], Any] | None:
    """The function (n, rng) that draws rows of a model, of this or another library; ``None`` where nothing tells it.

    Examples
    --------
    >>> from scipy import stats
    >>> read_sampler(stats.gamma(2.0))(3, 0).shape
    (3, 1)
    """
    return Knowledge(thing).sampler or Knowledge(read_model(thing)).sampler


def read_family(thing: Any, dimension: int, known: Mapping[str, float]) -> Family | Fit | None:
    """An object of another library as a family, or as a function that fits a model; ``None`` if no adapter knows it."""
    return _first(adapter.family(thing, dimension, known) for adapter in adapters_of(thing))  # type: ignore[return-value]


def read_draws(thing: Any, reading: Reading) -> NamedDraws | OrderedDraws | None:
    """The draws that an object of another library holds, or ``None`` where no adapter knows it."""
    return _first(adapter.draws(thing, reading) for adapter in adapters_of(thing))  # type: ignore[return-value]


def is_posterior(thing: Any) -> bool:
    """Whether an object is a posterior of another library, which knows its parameters by name."""
    return any(class_names(thing).intersection(adapter.posteriors) for adapter in adapters_of(thing))


def read_posterior(thing: Any, run: Any = None) -> Posterior | None:
    """The posterior that an object of another library is, or ``None``; the adapter of the run is asked as well."""
    return _first(adapter.posterior(thing, run) for adapter in (*adapters_of(thing), *adapters_of(run)))


def read_prediction(thing: Any, y: Any, features: Any = None) -> Prediction | None:
    """What an object of another library predicts for the rows of y, or ``None`` where no adapter knows it."""
    return _first(adapter.prediction(thing, y, features) for adapter in adapters_of(thing))
