"""What is predicted for each row: a distribution, draws or class probabilities, and how it was fitted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from steinball.arrays import Floats, as_numbers, is_array_like
from steinball.predictive.pit import POINTS, Classes, EdgeIntervals, Pit, as_draws, as_rows
from steinball.remarks import Remark

FITTED = ("", "same-rows", "other-rows", "loo")
DRAWS = 999  # draws of a distribution whose quantiles are not asked for

_MOST_CLASSES = 8  # so many classes have a feature each


@dataclass(frozen=True, eq=False)
class Observed:
    """How y is observed: censored from the right at limits, and rounded to multiples of a step.

    Attributes
    ----------
    limits : array of shape (n,), or None
        Values at which rows are or would be censored; infinity for none.
    step : float or None
        Grid of a continuous y.
    """

    limits: Floats | None = None
    step: float | None = None

    def refuse(self, why: str) -> None:
        """Refuse both for laws that do not know them."""
        if self.limits is not None or self.step:
            raise ValueError(f"`censoring` and `resolution` {why}.")

    def __call__(self, values: Floats, origin: Floats | float) -> Floats:
        """Values of y, or draws of it with rows first, as they would be observed; the grid goes through ``origin``."""
        if self.step:
            values = origin + self.step * np.round((values - origin) / self.step)
        return values if self.limits is None else np.minimum(values.T, self.limits).T


AS_DRAWN = Observed()  # neither censored nor rounded


class Law(ABC):
    """The predictive law of each of n rows."""

    def read(self, y: Any) -> NDArray[Any]:
        """The observed y as an array (n,)."""
        return as_rows(y, "y")

    @abstractmethod
    def pit(self, y: Any, observed: Observed = AS_DRAWN, rng: Any = None, fresh: bool = True) -> Pit:
        """PIT intervals of y; a Generator ``rng`` breaks ties of draws. Without ``fresh`` the law of fresh rows may be
        left out."""

    def draw(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """One y of every row, (n,)."""
        raise TypeError(f"`refit` needs a `predictive` that can be drawn from, and {type(self).__name__} cannot.")

    def center(self, n: int) -> Mapping[str, Floats]:
        """What is predicted, as features by name."""
        return {}


@dataclass(frozen=True, eq=False)
class Distribution(Law):
    """A distribution with one parameter vector entry a row, such as ``scipy.stats.norm(mean, sd)``.

    Examples
    --------
    >>> from scipy import stats
    >>> law = Distribution(stats.norm([0.0, 1.0], 1.0))
    >>> law.pit([0.0, 1.0]).low.tolist()
    [[0.5, 0.5]]
    """

    law: Any

    def pit(self, y: Any, observed: Observed = AS_DRAWN, rng: Any = None, fresh: bool = True) -> Pit:
        """By distribution function and quantiles; a law with ``pmf`` is one on whole numbers."""
        y, law, discrete = self.read(y), self.law, "pmf" in dir(self.law)
        if (shape := np.shape(law.cdf(y[:1]))) not in ((), (1,), y.shape):
            raise ValueError(f"`predictive` must have one law for each of the {y.size} rows of `y`, got shape {shape}.")
        grid, origin = (1.0, 0.0) if discrete else (observed.step or 0.0, y[0])
        below, above = (1.0, 0.0) if discrete else (grid / 2.0, grid / 2.0)
        off = grid > 0.0 and np.abs(y - origin - grid * np.round((y - origin) / grid)) > 1e-6 * grid
        if np.any(off):
            wanted = "be whole numbers for a discrete law" if discrete else f"differ by multiples of `step={grid:g}`"
            raise ValueError(f"`y` must {wanted}, got {y[np.argmax(off)]:g} in row {np.argmax(off)}.")

        def interval(edge: float) -> tuple[Any, Any]:
            at = origin + grid * np.round((law.ppf(edge) - origin) / grid)
            return law.cdf(at - below), law.cdf(at + above)

        around = EdgeIntervals.around(interval, y.size) if grid > 0.0 and fresh else POINTS
        beyond = None if observed.limits is None else law.cdf(observed.limits - below)
        pit = _censored(y, law.cdf(y - below), law.cdf(y + above), around, observed.limits, beyond)
        return replace(pit, quantiles=lambda levels: law.ppf(levels[:, None]))

    def draw(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """By SciPy's own sampler, where quantiles of counts are slow, or by quantiles of uniform numbers."""
        if "random_state" in dir(self.law):
            with suppress(TypeError):  # binom refuses numbers of trials that are floats, which ppf takes
                return np.asarray(self.law.rvs(size=n, random_state=rng), dtype=np.float64)
        return np.broadcast_to(self.law.ppf(rng.random(n)), (n,)).copy()

    def center(self, n: int) -> Mapping[str, Floats]:
        """The mean, or the median if there is no finite mean."""
        found = np.asarray(self.law.mean() if "mean" in dir(self.law) else np.nan, dtype=np.float64)
        found = found if np.isfinite(found).all() else np.asarray(self.law.ppf(0.5), dtype=np.float64)
        return {"prediction": np.broadcast_to(found, (n,))}


@dataclass(frozen=True, eq=False)
class DistributionFunction(Law):
    """A function ``cdf(y)`` that gives F(y | x) of every row, of continuous laws."""

    cdf: Callable[[Any], Any]

    def pit(self, y: Any, observed: Observed = AS_DRAWN, rng: Any = None, fresh: bool = True) -> Pit:
        """By values of the function."""
        if observed.step:
            raise ValueError("`resolution` needs a `predictive` with quantiles: pass an object with `cdf` and `ppf`.")
        y, limits = self.read(y), observed.limits
        u, beyond = self._values(y, y.size), None if limits is None else self._values(limits, y.size)
        return _censored(y, u, u, POINTS, limits, beyond)

    def _values(self, y: Floats, n: int) -> Floats:
        return as_rows(self.cdf(y), "predictive(y)", n, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Draws(Law):
    """At least 19 draws of each row's law, (n, S), independent of those of other rows."""

    draws: Floats

    def pit(self, y: Any, observed: Observed = AS_DRAWN, rng: Any = None, fresh: bool = True) -> Pit:
        """By the rank r of y among its S draws: [r/(S + 1), (r + 1)/(S + 1)]; draws are rounded and censored as y is.

        Exact for every law: y and its draws are exchangeable under the model, so every rank has probability 1/(S + 1).
        """
        y = observed(self.read(y), 0.0 if observed.step is None else float(np.asarray(y)[0]))
        draws = observed(as_draws(self.draws, y.size, "predictive"), y[0])
        size, ties = draws.shape[1] + 1, (draws == y[:, None]).sum(axis=1)
        rank = (draws < y[:, None]).sum(axis=1) + rng.integers(0, ties + 1)

        def interval(edge: float) -> tuple[float, float]:
            first = np.floor(edge * size + 1e-9)
            return first / size, (first + 1.0) / size

        low, high = (rank / size)[None], ((rank + 1.0) / size)[None]
        return Pit(low, high, EdgeIntervals.around(interval, 1), lambda levels: np.quantile(draws, levels, axis=1))

    def draw(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """One of the draws of every row."""
        return np.asarray(self.draws[np.arange(n), rng.integers(0, self.draws.shape[1], n)])

    def center(self, n: int) -> Mapping[str, Floats]:
        """The mean of the draws."""
        return {"prediction": np.asarray(self.draws.mean(axis=1))}


@dataclass(frozen=True, eq=False)
class ClassProbabilities(Law):
    """Probabilities (n, J) of classes; ``ordered`` ones are an ordinal response.

    Examples
    --------
    >>> law = ClassProbabilities(np.array([[0.25, 0.75], [0.5, 0.5]]), np.array(["no", "yes"]))
    >>> law.read(["yes", "no"]).tolist(), list(law.center(2))
    ([1, 0], ['probability of yes'])
    """

    probabilities: Floats
    classes: NDArray[Any] | None = None
    ordered: bool = False

    @property
    def labels(self) -> NDArray[Any]:
        """What the classes are called."""
        return np.arange(self.probabilities.shape[1]) if self.classes is None else np.asarray(self.classes)

    def read(self, y: Any) -> NDArray[Any]:
        """The position of the class of each row."""
        values, labels = np.asarray(y), self.labels.tolist()
        if unknown := [v for v in np.unique(values).tolist() if v not in labels]:
            raise ValueError(f"`y` must hold the classes {', '.join(map(str, labels))}, got {unknown[0]!r}.")
        return np.array([labels.index(value) for value in values.tolist()])

    def pit(self, y: Any, observed: Observed = AS_DRAWN, rng: Any = None, fresh: bool = True) -> Pit:
        """Ordinal steps, as of two classes, or each class against the rest."""
        observed.refuse("are for numbers, and `predictive` gives class probabilities")
        shares, places = as_numbers(self.probabilities, "probabilities"), self.read(y)
        if shares.ndim != 2 or len(shares) != places.size or shares.shape[1] < 2:
            raise ValueError(f"`probabilities` must have shape ({places.size}, J), got {shares.shape}.")
        if not ((shares >= 0.0).all() and np.allclose(shares.sum(axis=1), 1.0, atol=1e-6)):
            raise ValueError("`probabilities` must lie in [0, 1] and add up to 1 in every row.")
        seen, row = (places == np.arange(shares.shape[1])[:, None]).astype(float), np.arange(places.size)
        if shares.shape[1] > 2 and not self.ordered:
            low, high = (end[..., 0] for end in Classes(shares).intervals(places[:, None]))
            return Pit(low, high, Classes(shares), None, shares.T, seen)
        upto = np.clip(np.column_stack([0.0 * row, np.cumsum(shares[:, :-1], axis=1), 0.0 * row + 1.0]), 0.0, 1.0)

        def interval(edge: float) -> tuple[Floats, Floats]:
            at = (upto[:, 1:-1] <= edge).sum(axis=1)
            return upto[row, at], upto[row, at + 1]

        binary = (shares.T[1:], seen[1:]) if shares.shape[1] == 2 else (None, None)
        around = EdgeIntervals.around(interval, row.size)
        return Pit(upto[row, places][None], upto[row, places + 1][None], around, None, *binary)

    def draw(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """Classes by their labels."""
        return np.asarray(self.labels[Classes(self.probabilities).draw(rng, slice(0, n), 1)[:, 0]])

    def center(self, n: int) -> Mapping[str, Floats]:
        """The probability of the second of two classes, of every class, or of the likeliest if they are many."""
        shares, size = self.probabilities, self.probabilities.shape[1]
        if self.ordered and size > 2:
            return {"prediction": shares @ np.arange(size)}
        if size > _MOST_CLASSES:
            return {"largest probability": shares.max(axis=1)}
        return {f"probability of {self.labels[j]}": shares[:, j] for j in range(int(size == 2), size)}


def _censored(y: Floats, low: Any, high: Any, around: EdgeIntervals, limits: Floats | None, beyond: Any) -> Pit:
    """Rows with intervals from ``low`` to ``high``; from a limit on, F(limit⁻) = ``beyond``, all is one interval."""
    low, high = (as_rows(np.broadcast_to(end, y.shape), "predictive cdf", y.size, 0.0, 1.0) for end in (low, high))
    if limits is not None:
        if (y > limits).any():
            raise ValueError(f"`y` must be at most `censoring`, which row {(y > limits).argmax()} is not.")
        start = as_rows(beyond, "predictive cdf at censoring", y.size, 0.0, 1.0)
        low, high = np.where(y >= limits, start, low), np.where(y >= limits, 1.0, high)
        inside = (start < POINTS.low) & (POINTS.low < 1.0)
        around = EdgeIntervals(np.where(inside, start, around.low), np.where(inside, 1.0, around.high))
    return Pit(low[None], np.maximum(low, high)[None], around)


@dataclass(frozen=True, eq=False)
class Prediction:
    """A law for each row, and how it came about.

    Attributes
    ----------
    law : Law
        The law of each row.
    fitted : {"", "same-rows", "other-rows", "loo"}
        Whether the model was fitted to the rows that are tested; empty where that is not known.
    robust : bool
        Whether some bad rows move the fit by little.
    covariates : dict
        What the model depends on, as features.
    refit : callable or None
        y to the prediction of the model fitted to that y.
    own_rows : bool
        Whether it can only be a prediction of the rows that the model was fitted to.
    instead : str
        A robust fit to use in its place.
    remarks : tuple of Remark
        What has to be said.
    """

    law: Law
    fitted: str = ""
    robust: bool = False
    covariates: Mapping[str, Any] = field(default_factory=dict)
    refit: Callable[[Any], Any] | None = None
    own_rows: bool = False
    instead: str = "a robust fit, such as `statsmodels.api.RLM` or scikit-learn's `HuberRegressor`"
    remarks: tuple[Remark, ...] = ()


def plain_prediction(predictive: Any, y: Any, ordered: bool = False) -> Prediction:
    """A prediction from what needs no other library.

    Parameters
    ----------
    predictive : object
        A pair (mean, sd) of a normal law, an object with ``cdf`` and ``ppf``, draws (n, S), class probabilities (n, J),
        or a function ``cdf(y)``.
    y : array
        Observed values.
    ordered : bool
        Whether classes have an order.

    Examples
    --------
    >>> type(plain_prediction(([0.0, 1.0], 1.0), [0.5, 0.5]).law).__name__
    'Distribution'
    """
    if isinstance(predictive, tuple) and len(predictive) == 2:
        return Prediction(Distribution(_normal(predictive, len(y))))
    if "freeze" in dir(predictive):
        raise TypeError("`predictive` has no parameters yet: pass a frozen law, such as `scipy.stats.norm(mean, sd)`.")
    quantile = next((name for name in ("ppf", "icdf") if name in dir(predictive)), None)
    if "cdf" in dir(predictive) and quantile:
        return Prediction(Distribution(predictive if quantile == "ppf" else _with_quantiles(predictive)))
    if is_array_like(predictive):
        return Prediction(_array_law(as_numbers(predictive, "predictive"), len(y), ordered))
    if callable(predictive):
        return Prediction(DistributionFunction(predictive))
    raise TypeError(
        "`predictive` must be a pair (mean, sd), a frozen law such as `scipy.stats.poisson(rate)`, draws (n, S), class "
        "probabilities (n, J), a function cdf(y), a statsmodels result, a scikit-learn estimator or an InferenceData, "
        f"got {type(predictive).__name__}."
    )


def _with_quantiles(law: Any) -> Any:
    """A distribution whose quantile function is called ``icdf``, such as ``scipy.stats.Normal(mu=mean, sigma=sd)``."""
    discrete = any(kind.__name__ == "DiscreteDistribution" for kind in type(law).__mro__)
    mean, mass = {"mean": law.mean} if "mean" in dir(law) else {}, {"pmf": law.pmf} if discrete else {}
    return SimpleNamespace(cdf=law.cdf, ppf=law.icdf, **mean, **mass)


def _normal(pair: tuple[Any, Any], n: int) -> Any:
    named = {name: as_numbers(part, name) for name, part in zip(("mean", "sd"), pair, strict=True)}
    for name, part in named.items():
        if part.shape not in ((), (n,)):
            raise ValueError(f"`{name}` in `predictive=(mean, sd)` must have shape ({n},) or (), got {part.shape}.")
    mean, sd = named.values()
    if not (sd > 0.0).all() or not np.isfinite(mean).all():
        raise ValueError("`predictive=(mean, sd)` must hold finite means and standard deviations above 0.")
    return scipy.stats.norm(mean, sd)


def _array_law(values: Floats, n: int, ordered: bool) -> Law:
    if values.ndim == 2 and len(values) == n and (values >= 0.0).all() and np.allclose(values.sum(axis=1), 1.0):
        return ClassProbabilities(values, None, ordered)
    if values.ndim == 1:
        raise ValueError(
            f"`predictive` has shape {values.shape}: one number a row is no law. Pass (mean, sd) for a normal law, "
            "`np.column_stack([1 - p, p])` for probabilities of class 1, or draws of shape (n, S)."
        )
    return Draws(as_draws(values, n, "predictive"))
