"""What a model says of itself beyond its score, bounds of the score included: the one place that asks."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from steinball.arrays import Array, Floats, as_numbers, like, namespace, to_host
from steinball.models.support import Move, Support

T = TypeVar("T")

# What other libraries call a method that returns a log density, or a density.
LOG_DENSITIES = ("log_density", "logpdf", "log_prob", "logp", "score_samples")
DENSITIES = ("pdf", "prob")


Bounds = tuple[Floats, Floats]


class ScoreGrowth(NamedTuple):
    r"""A bound on the score in terms of the distance from a center (docs/theory/supremum.md)

    .. math:: |s(x)|^2 \le A^2 + 2 K \rho + B^2 \rho^2, \qquad \rho^2 = (x - a)^\top M (x - a).

    A model with a method ``score_growth(center)`` that returns it, or a plain pair (A, B), can be given a certified τ.
    With the pair, :math:`K = A B` and the bound reads :math:`|s(x)| \le A + B |x - a|`. A list of them says that all
    hold, one sharper near the center and another far out. A method that takes ``precision`` as well is asked in the
    metric M of the tilt, and answers more sharply where M is not round.

    Parameters
    ----------
    offset : float
        :math:`A \ge 0`.
    slope : float
        :math:`B \ge 0`.
    cross : float, optional
        :math:`K \ge 0`; by default :math:`A B`.

    Examples
    --------
    >>> ScoreGrowth(1.0, 2.0).at(np.array([3.0]))
    array([7.])
    """

    offset: float
    slope: float
    cross: float = math.inf

    @property
    def middle(self) -> float:
        """K, which is never worth more than A B."""
        return min(self.cross, self.offset * self.slope)

    def at(self, distance: Floats) -> Floats:
        """The bound on |s| at given distances ρ, shape as theirs."""
        square = self.offset**2 + 2.0 * self.middle * distance + (self.slope * distance) ** 2
        return np.asarray(np.sqrt(square))


@dataclass(frozen=True, eq=False)
class RadialScore:
    r"""A score that is the same on every shell of one family of ellipsoids

    .. math:: s(x) = -\frac{\beta P y}{1 + \kappa t}, \qquad y = x - m, \quad t = y^\top P y,

    which is what Gaussians (β = 1, κ = 0) and Student t distributions (β = (ν + d)/ν, κ = 1/ν) have. ``center`` is m,
    ``precision`` P, (d, d) or, of more columns than certificates are looked for, its diagonal (d,); ``rate`` β and
    ``decay`` κ.
    """

    center: Floats
    precision: Floats
    rate: float = 1.0
    decay: float = 0.0

    @cached_property
    def _eigenvalues(self) -> Floats:
        """The eigenvalues of P: where there is nothing beside its diagonal, that is what they are."""
        axes = np.diag(self.precision) if self.precision.ndim == 2 else self.precision
        alone = np.count_nonzero(self.precision) == len(axes)
        return axes if alone else np.asarray(np.linalg.eigvalsh(self.precision), dtype=np.float64)

    @property
    def steepness(self) -> float:
        """The largest eigenvalue of P."""
        return float(self._eigenvalues.max())

    @property
    def isotropic_variance(self) -> float | None:
        """σ² where this is the score −(x − m)/σ² of a round Gaussian, otherwise ``None``."""
        is_round = bool((self._eigenvalues == self._eigenvalues[0]).all())
        return 1.0 / (self.rate * self.steepness) if is_round and self.decay == 0.0 else None

    def most(self, low: Floats | float, high: Floats | float) -> Floats:
        """The largest |s| where √t lies between ``low`` and ``high``: β √(‖P‖ t) / (1 + κ t) rises up to t = 1/κ."""
        peak = np.inf if self.decay == 0.0 else self.decay**-0.5
        root = np.clip(peak, low, high)
        with np.errstate(invalid="ignore", over="ignore"):
            at_infinity = np.inf if self.decay == 0.0 else 0.0
            far = np.where(np.isfinite(root), root / (1.0 + self.decay * root * root), at_infinity)
        return np.asarray(self.rate * self.steepness**0.5 * far)


def as_matrix(matrix: Floats) -> Floats:
    """The matrix (d, d), which may be given by its diagonal alone."""
    return np.diag(matrix) if matrix.ndim == 1 else matrix


def times(rows: Array, matrix: Floats) -> Array:
    """A v for each row v, with A a matrix or the diagonal of one, in the library of the rows."""
    if matrix.ndim == 1:
        return rows * like(matrix, rows)
    return namespace(rows).matmul(rows, like(matrix.T, rows))


def unit_root(precision: Floats | None, dimension: int) -> Floats:
    """A matrix T that takes the unit ball onto (x − a)ᵀM(x − a) ≤ 1: M = (T Tᵀ)⁻¹."""
    if precision is None:
        return np.eye(dimension)
    return np.asarray(np.linalg.inv(np.linalg.cholesky(precision)).T)


def linear_bounds(matrix: Floats, lower: Floats, upper: Floats) -> Bounds:
    """The smallest and largest of each coordinate of ``matrix @ x`` over boxes, rows of ``lower`` and ``upper``."""
    middle, half = (lower + upper) / 2.0 @ matrix.T, (upper - lower) / 2.0 @ np.abs(matrix).T
    return middle - half, middle + half


class Clusters(NamedTuple):
    """Where a model has its mass: places, shape (k, d), and the covariances around them, shape (k, d, d)."""

    locations: Floats
    covariances: Floats


class Said(Generic[T]):
    """What a model says under a name, if it is of the right kind; otherwise the default.

    The name is that of the attribute of :class:`Knowledge`, unless another one is given.
    """

    def __init__(self, kind: Any, default: T | None = None, name: str = "") -> None:
        self.kind, self.default, self.name = kind, default, name

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.name or name

    def __get__(self, known: Knowledge, owner: type) -> T:
        said = known._attribute(self.name)
        return said if isinstance(said, self.kind) else self.default  # type: ignore[return-value]


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

    # What it is, by its own word.
    #: The name of a function, otherwise nothing.
    name = Said[str](str, "", "__name__")
    #: The number d of columns.
    dimension = Said[int | None](int)
    #: Whether the score is known at points other than the samples.
    evaluable = Said[bool](bool, True)
    #: Why the score is not known at other points, for an error.
    unknown_elsewhere = Said[str](str, "`model` is an array of scores")
    #: Whether its score and its sampler are known to fit each other, as those of built-in models are.
    verified = Said[bool](bool, False)
    #: Whether it is a function that the user gave as a score, with nothing beside it to compare it with.
    bare_function = Said[bool](bool, False)
    #: Whether its score is the derivative of its log density by construction.
    derived = Said[bool](bool, False)
    #: Whether NumPy arrays are welcome, whatever library the samples are of.
    takes_numpy = Said[bool](bool, False)
    #: Whether tests have more power in base space, as it says.
    prefers_base = Said[bool](bool, False)

    # How its coordinates came from those of the data.
    #: How data come into base space, where the model is stated there.
    base_map = Said[Move | None](Move)
    #: How places of the data's coordinates come to those that the model is stated in, where these are others.
    move = Said[Move | None](Move)
    #: How the reference of the model that :attr:`move` is from becomes that of this one.
    moved_reference = Said[Callable[[Any], Any] | None](Callable)

    # What can be done with it.
    #: log p up to a constant, (n, d) to (n,).
    log_density = Said[Callable[[Array], Array] | None](Callable)
    #: ``sample(n, rng)``, in whatever array library the model draws.
    sampler = Said[Callable[[int, np.random.Generator], Any] | None](Callable, name="sample")
    #: The distribution function of a model of one column.
    cdf = Said[Callable[[Floats], Any] | None](Callable)
    #: Data (n, d) to standard normal ones, on the host.
    to_base = Said[Callable[[Floats], Floats] | None](Callable)

    # What its score is bounded by, and what it is made of.
    #: Its own ``score_growth``, which :meth:`score_growth` asks.
    grows_as = Said[Callable[..., Any] | None](Callable, name="score_growth")
    #: The score as a function of the distance from a center.
    radial_score = Said[RadialScore | None](RadialScore)
    #: Bounds of each coordinate of the score over boxes.
    score_bounds = Said[Callable[[Floats, Floats], Bounds] | None](Callable)
    #: Weights (k,), means (k, d) and covariances (k, d, d) of a model that is a mixture of normal distributions.
    normal_parts = Said[tuple[Floats, Floats, Floats] | None](tuple)

    def asked(self, name: str) -> Any:
        """What is known under a name of this class; other files do not probe for attributes."""
        return getattr(self, name)

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
    def density_method(self) -> str | None:
        """The name of its method for a log density or density, in the words of whatever library it is from."""
        return next((name for name in LOG_DENSITIES + DENSITIES if self._method(name) is not None), None)

    @property
    def is_discrete(self) -> bool:
        """Whether it has a probability mass function and no density."""
        new = "DiscreteDistribution" in {kind.__name__ for kind in type(self.model).__mro__}
        return new or (self._method("pmf") is not None and self._method("pdf") is None)

    @property
    def unchanging(self) -> bool:
        """Whether it is a model of this library, whose parameters cannot be changed."""
        return self.verified and type(self.model).__module__.startswith("steinball.") and self.original is self.model

    @property
    def original(self) -> Any:
        """The object that the user passed, where this is what became of it."""
        said = self._attribute("original")
        return self.model if said is None else said

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
    def variances(self) -> Floats | None:
        """Those of uncorrelated columns, shape (d,), where a model of our own says that they are: no matrix is made."""
        return self._numbers("variances", 1) if self.verified else None

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
        """The ``modes`` that a model declares (:class:`steinball.jumps.Modes`); of a mixture its components."""
        said = Knowledge(self._attribute("modes"))
        locations, covariances = said._numbers("locations", 2), said._numbers("covariances", 3)
        return None if locations is None or covariances is None else Clusters(locations, covariances)

    # What can be done with it.

    @property
    def quantile(self) -> Callable[[Floats], Any] | None:
        """The inverse of the distribution function, by either name of SciPy."""
        return self._method("ppf") or self._method("icdf")

    @property
    def second_sample(self) -> Floats | None:
        """Draws (m, d) that are all that is known of the model (:func:`steinball.from_draws`)."""
        said = self._attribute("draws")
        return said if isinstance(said, np.ndarray) and said.ndim == 2 else None

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
        growth = ScoreGrowth(*map(float, value))
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"`score_growth` of the model must return (A, B) with |s(x)| ≤ A + B|x − center|, got {value!r}."
        ) from error
    if not (all(number >= 0.0 for number in growth) and max(growth.offset, growth.slope) < math.inf):
        raise ValueError(f"`score_growth` of the model must return finite numbers, none negative, got {value!r}.")
    return growth
