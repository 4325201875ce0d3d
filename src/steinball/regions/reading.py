"""What a user passed as a model, as a source of regions; designs and nulls are kept with it."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any, TypeVar

import numpy as np
import scipy

from steinball.arrays import Array, Floats, as_samples, check_share, like, to_host
from steinball.models.base import model_at
from steinball.models.knowledge import Knowledge
from steinball.models.registry import read_model
from steinball.regions.counted import Null, affordable_draws, simulate
from steinball.regions.design import MOST_DRAWS, Design
from steinball.regions.source import Source, find_grid, from_probabilities, from_sampler, from_second_sample
from steinball.regions.views import Family, classifier_family, column_families, learned_family, taught, user_family

SLOW = 10_000  # rows a second below which a sampler gives one pool in place of fresh replicates

_TIMED, _SECONDS, _SEED = 512, 5.0, 20230922
_PROBED = np.concatenate([-np.geomspace(1e6, 1e-3, 7), np.geomspace(1e-3, 1e6, 7)])


T = TypeVar("T")


@dataclass(frozen=True)
class _Work:
    """What is to be found out about a model: known by the model's id and a key, whatever ``make`` is."""

    owner: int
    key: Hashable
    model: Any = field(compare=False)  # as long as it is held here, no other model has its id
    make: Callable[[], Any] = field(compare=False)


@lru_cache(maxsize=64)
def _done(work: _Work) -> Any:
    """What was found out. It holds its model, as sources and views do, so that only what was used last is kept: kept
    with the model (:func:`steinball.models.kept.kept_with`), it would never be let go."""
    return work.make()


def _kept_for(model: Any, key: Hashable, make: Callable[[], T]) -> T:
    """What was kept for a model, or what ``make`` finds now; nothing is kept for ``None``. ``make`` must not hold the
    rows, since it is kept as well."""
    found: T = make() if model is None else _done(_Work(id(model), key, model, make))
    return found


@dataclass(frozen=True, eq=False)
class Reading:
    """A model as regions see it.

    Attributes
    ----------
    owner : object
        What designs and nulls are kept with: the user's model.
    source : Source
        Draws or distribution function, and how rows are standardized.
    rows : (n, d) array
        The data in the columns of ``source``.
    given : (n, d) array
        The data as they were passed.
    space : str
        What a result says of where the rows are compared; empty in the user's own columns.
    labels : tuple of str
        Names of categories; empty for numbers.
    speed : float
        Rows that the sampler gives in a second; infinite where draws cost next to nothing.
    """

    owner: Any
    source: Source
    rows: Floats
    given: Floats
    space: str = ""
    labels: tuple[str, ...] = ()
    speed: float = np.inf

    def design(self, views: Any = None) -> Design:
        """Views, cuts and arcs for these rows."""
        families = None if views is None else [*column_families(self.source), user_family(views)]
        return self._kept(("design", _key(views)), partial(_build, self.source, len(self.rows), self.speed, families))

    def learned(self, rng: np.random.Generator, classifier: Any = None) -> tuple[Reading, Design]:
        """Views learned on a random half of the rows, and the other half, on which they are looked at.

        Nothing of this is kept with the model. Draws of a second sample that teach a ``classifier`` give no cuts.
        """
        order, source = rng.permutation(len(self.rows)), self.source
        first, second = np.split(order, [len(order) // 2])
        pilot = source.rows(self.rows[first]).z
        families = [learned_family(pilot)] if len(pilot) > 1 else []
        if classifier is not None:
            families.append(classifier_family(pilot, source, classifier))
            draws = source.draws
            source = source if draws is None else replace(source, draws=draws[taught(draws, len(first)) :])
        half = replace(self, owner=None, source=source, rows=self.rows[second], given=self.given[second])
        return half, _build(source, len(second), self.speed, families)

    def null(self, design: Design, share: float, views: Any, calibration: str, wanted: int) -> Null | None:
        """The simulated null at a tolerated contamination; ``None`` where binomial tails serve instead."""
        if calibration == "bound" or self.speed < SLOW:
            return None
        least = min(wanted, 399)
        draws = affordable_draws(design, wanted, least) or (least if calibration == "simulation" else 0)
        key = ("null", _key(views), share, draws)
        return self._kept(key, partial(simulate, design, share, draws)) if draws else None

    def _kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """What was found for a model, n, grid and views; a model that has changed since shows other draws."""
        grid = None if self.source.grid is None else (*self.source.grid.step, *self.source.grid.offset)
        return _kept_for(self.owner, (key, len(self.rows), grid, self._fingerprint), make)

    @cached_property
    def _fingerprint(self) -> bytes:
        """A few probabilities, or draws by a seed of our own; empty where the sampler does not follow its seed."""
        if self.source.draws is not None:
            return b""
        if self.source.cdf is not None:
            return np.asarray(self.source.cdf(_PROBED), dtype=np.float64).tobytes()
        first, second = (self.source.draw(2, np.random.default_rng(_SEED)) for _ in range(2))
        return first.tobytes() if (first == second).all() else b""


def _build(source: Source, n: int, speed: float, families: list[Family] | None) -> Design:
    """The design for n rows, with as large a pool as a sampler of this speed gives in some seconds."""
    return Design.build(source, n, families, MOST_DRAWS if speed >= SLOW else max(2_000, int(_SECONDS * speed)))


def read(model: Any, x: Any, rounded: bool = True) -> Reading:
    """A model and data as regions see them; refused where the model can neither be drawn from nor integrated.

    Parameters
    ----------
    model : object
        A model with ``sample(n, rng)``, an object of another library, a discrete distribution of SciPy, a dictionary
        of probabilities, or :func:`steinball.from_draws`.
    x : array
        The data, (n, d) or (n,).
    rounded : bool
        Whether a grid that the data lie on is looked for.

    Examples
    --------
    >>> from scipy import stats
    >>> read(stats.poisson(3.0), [1, 2, 4]).source.discrete, read({"a": 0.5, "b": 0.5}, ["b", "a", "c"]).rows.ravel()
    (True, array([ 1.,  0., -1.]))
    """
    found = read_where_drawn(model, x, rounded)
    if found is None:
        raise TypeError(
            f"`model` must be something that can be drawn from, and {model!r} cannot: give it `sample(n, rng)`, pass "
            "draws of it, `sb.from_draws(draws)`, or test its score, `sb.robust_ksd_test`."
        )
    return found


def read_where_drawn(model: Any, x: Any, rounded: bool = True) -> Reading | None:
    """A model and data as regions see them; ``None`` for a model that has a score alone."""
    if isinstance(model, Mapping):
        return _categories(model, x)
    rows = to_host(as_samples(x))
    known = Knowledge(model)
    if known.is_discrete:
        _same_columns(1, rows)
        return Reading(model, Source(cdf=known.cdf, quantile=known.quantile, discrete=True), rows, rows)
    grid, draws = find_grid(rows), known.second_sample
    if draws is None:
        found = _continuous(model, rows, grid is None)
    else:
        _same_columns(draws.shape[1], rows)
        found = Reading(model, _kept_for(model, "source", partial(from_second_sample, draws)), rows, rows)
    if found is None or grid is None or found.space or not rounded:
        return found
    return replace(found, source=replace(found.source, grid=grid))


def _same_columns(dimension: int | None, rows: Floats) -> None:
    if dimension not in (None, rows.shape[1]):
        raise ValueError(f"`model` has {dimension} columns, but `x` has {rows.shape[1]}.")


def _categories(model: Mapping[Any, Any], x: Any) -> Reading:
    shares = [check_share(value, f"probability of {label!r}") for label, value in model.items()]
    if len(shares) < 2 or abs(sum(shares) - 1.0) > 1e-6:
        raise ValueError(f"`model` must give at least two probabilities that add up to 1, got {sum(shares):.6g}.")
    values = np.asarray(x, dtype=object).ravel()
    if len(values) < 2:
        raise ValueError(f"`x` must have at least 2 rows, got {len(values)}.")
    places = {label: float(k) for k, label in enumerate(model)}
    found = np.array([[places.get(value, -1.0)] for value in values])
    return Reading(None, from_probabilities(shares), found, found, labels=tuple(map(str, model)))


def _continuous(model: Any, rows: Floats, smooth: bool) -> Reading | None:
    """By the distribution function in one column, in base space where a model prefers that and rows are not rounded,
    otherwise by draws; ``None`` without any of them."""
    found = _with_sampler(model, rows)
    known, d = Knowledge(found), rows.shape[1]
    owner, base = known.original, known.base_map
    _same_columns(known.dimension, rows)
    to_base = base.model.to_base if base is not None else known.to_base
    if d == 1 and to_base is not None:
        return Reading(owner, Source(cdf=partial(_normal_cdf, to_base)), rows, rows)
    if d == 1 and known.cdf is not None:
        return Reading(owner, Source(cdf=known.cdf, quantile=known.quantile), rows, rows)
    if to_base is not None and (base is not None or known.prefers_base) and smooth:
        return Reading(owner, Source(d, partial(_normal_draws, d)), to_host(to_base(rows)), rows, space="base space")
    if known.sampler is None:
        return None
    source, speed = _kept_for(owner, ("source", d), partial(_sampled, found, rows[:2].copy()))
    return Reading(owner, source, rows, rows, speed=speed)


def _with_sampler(model: Any, rows: Array) -> Any:
    """The model itself where it can be drawn from or has a distribution function, otherwise as every test reads it."""
    known = Knowledge(model)
    if known.has_score or known.base_map is not None:
        return model
    found = read_model(model, int(rows.shape[1]))
    if found is not None:
        return found
    return model if known.sampler is not None or known.cdf is not None else model_at(model, rows)


def _normal_cdf(to_base: Callable[[Floats], Floats], x: Floats) -> Floats:
    return np.asarray(scipy.special.ndtr(to_host(to_base(x[:, None]))[:, 0]))


def _sampled(model: Any, rows: Floats) -> tuple[Source, float]:
    """A source by draws, with the log density as one more view where it can be computed for rows, and its speed."""
    known, d = Knowledge(model), rows.shape[1]
    place, density, sampler = known.place, known.log_density, partial(_drawn_by, known.sampler)
    mean, covariance = (None, None) if place is None or place[1].shape != (d, d) else place
    start = time.perf_counter()
    Source(d, sampler).draw(_TIMED, np.random.default_rng(_SEED))
    speed = _TIMED / max(time.perf_counter() - start, 1e-9)
    source = from_sampler(sampler, d, mean, covariance)
    if density is not None and known.radial_score is None and d > 1:
        view = partial(_log_density, density, known.evaluated_in(rows))
        with suppress(Exception):  # one view among others, which a network of single precision, say, does not give
            view(rows)
            source = replace(source, log_density=view)
    return source, speed


def _log_density(density: Callable[[Array], Array], template: Array, x: Floats) -> Floats:
    return to_host(density(like(x, template)))


def _normal_draws(d: int, n: int, rng: np.random.Generator) -> Floats:
    return rng.normal(size=(n, d))


def _drawn_by(sampler: Any, n: int, rng: np.random.Generator) -> Any:
    """Draws of a sampler, whose own errors say whose they are."""
    try:
        return sampler(n, rng)
    except Exception as error:  # a user's sampler may raise anything
        raise ValueError(f"`model.sample({n}, rng)` failed: {type(error).__name__}: {error}") from error


def _key(views: Any) -> Hashable:
    """Views as part of a key: functions are known by themselves."""
    return tuple(views.items()) if isinstance(views, Mapping) else tuple(views) if isinstance(views, list) else views
