"""What a model says of itself beyond its score: the one place that asks."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Array, as_numbers, to_host
from steinball.models.base_map import BaseMap, Move
from steinball.models.growth import Bounds, RadialScore, ScoreGrowth, unit_root
from steinball.models.support import Support

Floats = NDArray[np.float64]

# What other libraries call a method that returns a log density, or a density.
LOG_DENSITIES = ("log_density", "logpdf", "log_prob", "logp", "score_samples")
DENSITIES = ("pdf", "prob")


class Clusters(NamedTuple):
    """Where a model has its mass: places, shape (k, d), and the covariances around them, shape (k, d, d)."""

    locations: Floats
    covariances: Floats


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What is known of a model, built in or the user's own; nothing is computed before it is asked for.

    One policy on failure: what a model lacks, says ``None`` of, fails to give, or does not give in finite numbers of
    the right shape is unknown, and the answer is ``None``. Three things are errors instead: a certificate that is none
    (:meth:`score_growth`), a pair or list that is no support (:attr:`support`), and draws of a model whose sampler
    fails where a caller cannot do without (:meth:`needed_draws`).

    Examples
    --------
    >>> class Laplace:
    ...     location = [1.0]
    ...     def score(self, x):
    ...         return -np.sign(x - 1.0)
    >>> known = Knowledge(Laplace())
    >>> known.location, known.covariance, known.draws(5)
    (array([1.]), None, None)
    """

    model: Any

    def _attribute(self, name: str) -> Any:
        try:
            return None if isinstance(self.model, type) else getattr(self.model, name, None)
        except Exception:  # a property that raises, for instance a covariance that does not exist
            return None

    def _method(self, name: str) -> Callable[..., Any] | None:
        found = self._attribute(name)
        return found if callable(found) else None

    def _numbers(self, name: str, ndim: int) -> Floats | None:
        try:
            numbers = np.array(to_host(self._attribute(name)), ndmin=ndim, copy=None)
        except (TypeError, ValueError):
            return None
        return numbers if numbers.ndim == ndim and np.isfinite(numbers).all() else None

    # What it is.

    @property
    def has_score(self) -> bool:
        """Whether it has a ``score(x)``; scikit-learn's is a mean log likelihood."""
        foreign = self.library == "sklearn" or self._method("score_samples") is not None
        return self._method("score") is not None and not foreign

    @property
    def library(self) -> str:
        """The library that it comes from; of a bound method, that of its object."""
        owner = self._attribute("__self__")
        return type(self.model if owner is None else owner).__module__.partition(".")[0]

    @property
    def name(self) -> str:
        """The name of a function, otherwise nothing."""
        return str(self._attribute("__name__") or "")

    @property
    def density_method(self) -> str | None:
        """The name of its method for a log density or density, in the words of whatever library it is from."""
        return next((name for name in LOG_DENSITIES + DENSITIES if self._method(name) is not None), None)

    @property
    def evaluable(self) -> bool:
        """Whether the score is known at points other than the samples."""
        said = self._attribute("evaluable")
        return said is None or bool(said)

    @property
    def unknown_elsewhere(self) -> str:
        """Why the score is not known at other points, for an error."""
        said = self._attribute("unknown_elsewhere")
        return said if isinstance(said, str) else "`model` is an array of scores"

    @property
    def dimension(self) -> int | None:
        """d."""
        said = self._attribute("dimension")
        return said if isinstance(said, int) else None

    @property
    def is_discrete(self) -> bool:
        """Whether it has a probability mass function and no density."""
        new = "DiscreteDistribution" in {kind.__name__ for kind in type(self.model).__mro__}
        return new or (self._method("pmf") is not None and self._method("pdf") is None)

    @property
    def verified(self) -> bool:
        """Whether its score and its sampler are known to fit each other, as those of built-in models are."""
        return self._attribute("verified") is True

    @property
    def unchanging(self) -> bool:
        """Whether it is a model of this library, whose parameters cannot be changed."""
        return self.verified and type(self.model).__module__.startswith("steinball.") and self.original is self.model

    @property
    def bare_function(self) -> bool:
        """Whether it is a function that the user gave as a score, with nothing beside it to compare it with."""
        return self._attribute("bare_function") is True

    @property
    def derived(self) -> bool:
        """Whether its score is the derivative of its log density by construction."""
        return self._attribute("derived") is True

    @property
    def original(self) -> Any:
        """The object that the user passed, where this is what became of it."""
        said = self._attribute("original")
        return self.model if said is None else said

    @property
    def takes_numpy(self) -> bool:
        """Whether NumPy arrays are welcome, whatever library the samples are of."""
        return self._attribute("takes_numpy") is True

    def evaluated_in(self, template: Array | None) -> Array:
        """An array of the library to evaluate it in: NumPy if it takes that (``takes_numpy``), else ``template``'s."""
        return np.zeros(1) if template is None or self.takes_numpy else template

    # Where it is.

    @property
    def location(self) -> Floats | None:
        """Its center, shape (d,)."""
        return self._numbers("location", 1)

    @property
    def covariance(self) -> Floats | None:
        """Its spread, shape (d, d)."""
        said = self._numbers("covariance", 2)
        return said if said is not None and said.shape[0] == said.shape[1] else None

    @property
    def place(self) -> tuple[Floats, Floats] | None:
        """Location and covariance, where both are known."""
        location, covariance = self.location, self.covariance
        return None if location is None or covariance is None else (location, covariance)

    @property
    def support(self) -> Support | None:
        """The box that it lives in, where it has a finite edge: a declared ``support``, which may be a pair."""
        said = self._attribute("support")
        if not isinstance(said, (Support, tuple, list)):
            return None
        found = Support.of(said)
        return found if found.has_edges else None

    @property
    def clusters(self) -> Clusters | None:
        """The ``components`` of a mixture, or the ``modes`` that a model declares (:class:`steinball.jumps.Modes`)."""
        for name in ("components", "modes"):
            said = Knowledge(self._attribute(name))
            locations, covariances = said._numbers("locations", 2), said._numbers("covariances", 3)
            if locations is not None and covariances is not None:
                return Clusters(locations, covariances)
        return None

    @property
    def normal_parts(self) -> tuple[Floats, Floats, Floats] | None:
        """Weights (k,), means (k, d) and covariances (k, d, d) of a model that is a mixture of normal distributions."""
        said = self._attribute("normal_parts")
        return said if isinstance(said, tuple) and len(said) == 3 else None

    # What can be done with it.

    @property
    def log_density(self) -> Callable[[Array], Array] | None:
        """log p up to a constant, (n, d) to (n,)."""
        return self._method("log_density")

    @property
    def sampler(self) -> Callable[[int, np.random.Generator], Any] | None:
        """``sample(n, rng)``, in whatever array library the model draws."""
        return self._method("sample")

    @property
    def cdf(self) -> Callable[[Floats], Any] | None:
        """The distribution function of a model of one column."""
        return self._method("cdf")

    @property
    def quantile(self) -> Callable[[Floats], Any] | None:
        """The inverse of the distribution function, by either name of SciPy."""
        return self._method("ppf") or self._method("icdf")

    @property
    def second_sample(self) -> Floats | None:
        """Draws (m, d) that are all that is known of the model (:func:`steinball.from_draws`)."""
        said = self._attribute("draws")
        return said if isinstance(said, np.ndarray) and said.ndim == 2 else None

    @property
    def to_base(self) -> Callable[[Floats], Floats] | None:
        """Data (n, d) to standard normal ones, on the host."""
        return self._method("to_base")

    @property
    def prefers_base(self) -> bool:
        """Whether tests have more power in base space, as it says."""
        return self._attribute("prefers_base") is True

    @property
    def base_map(self) -> BaseMap | None:
        """How data come into base space, where the model is stated there."""
        said = self._attribute("base_map")
        return said if isinstance(said, BaseMap) else None

    @property
    def move(self) -> Move | None:
        """How places of the data's coordinates come to those that the model is stated in, where these are others."""
        said = self._attribute("move")
        return said if isinstance(said, Move) else None

    @property
    def moved_reference(self) -> Callable[[Any], Any] | None:
        """How the reference of the model that :attr:`move` is from becomes that of this one."""
        return self._method("moved_reference")

    def draws(self, n: int) -> Floats | None:
        """``n`` draws with a seed of our own, the same every time, shape (n, d) on the host."""
        try:
            return self.needed_draws(n)
        except Exception:  # a sampler that refuses (an RBM too large to enumerate) is as good as none
            return None

    def needed_draws(self, n: int, rng: Any = 0) -> Floats:
        """The same where one cannot do without: no sampler is an error, and the sampler's own errors pass."""
        if self.sampler is None:
            raise TypeError(
                f"`model` must have `sample(n, rng)`, and {type(self.model).__name__} has not; it is needed for draws "
                "of the model itself. Give it that method."
            )
        draws = as_numbers(self.sampler(n, np.random.default_rng(rng)), "model.sample")
        draws = draws[:, None] if draws.ndim == 1 else draws
        if draws.ndim != 2 or not np.isfinite(draws).all():
            raise ValueError(f"`model.sample({n}, rng)` must return a finite array (n, d), got shape {draws.shape}.")
        return draws

    # What its score is bounded by.

    @property
    def growth(self) -> float | None:
        """The declared r with \\|s(x)\\| = O(1 + \\|x\\|^r), and O(1/distance) next to an edge of the support."""
        said = self._attribute("growth")
        if isinstance(said, (int, float)) and not isinstance(said, bool) and math.isfinite(said):
            return float(said)
        return None if self.grows_as is None else 1.0

    @property
    def grows_as(self) -> Callable[..., Any] | None:
        """Its own ``score_growth``, which :meth:`score_growth` asks."""
        return self._method("score_growth")

    @property
    def radial_score(self) -> RadialScore | None:
        """The score as a function of the distance from a center."""
        said = self._attribute("radial_score")
        return said if isinstance(said, RadialScore) else None

    @property
    def score_bounds(self) -> Callable[[Floats, Floats], Bounds] | None:
        """Bounds of each coordinate of the score over boxes."""
        return self._method("score_bounds")

    def score_growth(self, center: Floats, precision: Floats) -> tuple[ScoreGrowth, ...]:
        """Bounds of \\|s\\| by the distance from ``center`` in the metric ``precision``; none where it says nothing.

        A method that does not take ``precision`` answers in Euclidean distance, and is stretched.
        """
        method = self.grows_as
        if method is None:
            return ()
        measured = "precision" in inspect.signature(method).parameters
        said = method(center, precision=precision) if measured else method(center)
        farthest = 1.0 if measured else float(np.linalg.norm(unit_root(precision, len(center)), 2))
        growths = [_checked_growth(one) for one in (said if isinstance(said, list) else [said])]
        return tuple(ScoreGrowth(g.offset, g.slope * farthest, g.middle * farthest) for g in growths)


def _checked_growth(value: Any) -> ScoreGrowth:
    try:
        growth = ScoreGrowth(*(None if number is None else float(number) for number in value))  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"`score_growth` of the model must return (A, B) with |s(x)| ≤ A + B|x − center|, got {value!r}."
        ) from error
    if not all(number is None or 0.0 <= number < math.inf for number in growth):
        raise ValueError(f"`score_growth` of the model must return finite numbers, none negative, got {value!r}.")
    return growth
