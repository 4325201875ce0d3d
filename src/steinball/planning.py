"""How often a test rejects samples of an alternative, and how many points it needs, by simulation."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steinball.arrays import as_number, as_samples, as_seed, check_level, check_resamples, check_share, generator_at
from steinball.cautions import DependentRowsWarning
from steinball.datasets.data import contaminate
from steinball.gof.ksd import robust_ksd_test
from steinball.models.registry import read_sampler
from steinball.progress import counted
from steinball.results.base import Result
from steinball.text import Summarized, count, percent, wrap

__all__ = ["Power", "SampleSize", "power", "sample_size"]

Sampler = Callable[[int, np.random.Generator], Any]
Test = Callable[[Any, np.random.Generator], Result]


def _simulation(
    model: Any, alternative: Any, contamination: float, share: Any, test: Test | None, rng: Any, progress: bool | str
) -> Callable[[int, int], list[float]]:
    """A function of n and a number of samples: the p-values of so many samples of n points of the alternative.

    Sample i of n points depends on the seed, n and i alone, so that more samples continue what was simulated before;
    what was simulated is not simulated again.
    """
    if test is not None and not callable(test):
        raise TypeError(f"`test` must be a function (x, rng) -> result, got {test!r}.")
    sampler, seed, known = _sampler(model, alternative, share), as_seed(rng), dict[int, list[float]]()

    def pvalue(n: int, i: int) -> float:
        below = np.random.SeedSequence(seed.entropy, spawn_key=(n, i))
        x, draws = sampler(n, generator_at(below, 0)), generator_at(below, 1)
        as_samples(x, "alternative(n, rng)", least=1)  # refused by this name, and handed on as it is
        if test is not None:
            result = test(x, draws)
            try:
                return as_number(result.pvalue, "test(x, rng).pvalue")
            except AttributeError:
                raise TypeError(f"`test` must return a result with `pvalue`, got {result!r}.") from None
        with warnings.catch_warnings():  # simulated rows are independent, and one sample in 400 looks otherwise
            warnings.simplefilter("ignore", DependentRowsWarning)
            return robust_ksd_test(x, model, contamination, rng=draws, check_model=i == 0, progress=False).pvalue

    def pvalues(n: int, repeats: int) -> list[float]:
        found = known.setdefault(n, [])
        missing = range(len(found), repeats)
        found += (pvalue(n, i) for i in counted(missing, f"samples of {n:,} points", len(missing), progress))
        return found[:repeats]

    return pvalues


def _sampler(model: Any, alternative: Any, share: Any) -> Sampler:
    """(n, rng) to data: of the alternative, or of the model with a share of the alternative in it."""
    if share is not None:
        mixed, clean = check_share(share, "share"), read_sampler(model)  # a function for a model is its score
        if clean is None:
            raise TypeError(f"`model` must be a model with `sample(n, rng)` for a `share`, got {model!r}.")
        return lambda n, rng: contaminate(clean(n, rng), mixed, alternative, rng, count="binomial")
    sampler = read_sampler(alternative) or alternative
    if isinstance(sampler, type) or not callable(sampler):
        raise TypeError(
            "`alternative` must be a model with `sample(n, rng)` or a function (n, rng) -> (n, d), "
            f"got {alternative!r}."
        )
    with suppress(ValueError):  # many functions written in C do not tell their signature
        try:
            inspect.signature(sampler).bind(None, None)
        except TypeError as error:
            raise TypeError(f"`alternative` must be a function (n, rng) -> (n, d): {error}.") from None
    return sampler


@dataclass(frozen=True)
class Power(Summarized):
    """The share of simulated samples that a test rejects.

    Attributes
    ----------
    share : float
        That share.
    low, high : float
        The 95 % band of Clopper and Pearson for the power itself; it accounts for the number of samples alone.
    n : int
        Points in each sample.
    repeats : int
        Number of samples.
    contamination, level : float
        Tolerated by the test, and its level.

    Examples
    --------
    >>> print(Power(0.81, 0.75, 0.86, 300, 200, 0.05, 0.05))
    With 300 points the test rejects 81 % of the samples at level 0.05, if 5 % of
    contamination is tolerated (95 % band 75 % to 86 %, from 200 simulated samples).
    """

    share: float
    low: float
    high: float
    n: int
    repeats: int
    contamination: float
    level: float

    def summary(self) -> str:
        """In words."""
        band = f"95 % band {percent(self.low)} to {percent(self.high)}"
        return wrap(
            f"With {count(self.n, 'point')} the test rejects {percent(self.share)} of the samples at level "
            f"{self.level:g}, if {percent(self.contamination)} of contamination is tolerated ({band}, from "
            f"{count(self.repeats, 'simulated sample')})."
        )


def power(
    model: Any,
    alternative: Any,
    n: int,
    contamination: float,
    *,
    share: float | None = None,
    level: float = 0.05,
    repeats: int = 200,
    test: Test | None = None,
    rng: Any = 0,
    progress: bool | str = "auto",
) -> Power:
    """How often a test of a model rejects samples of an alternative, by simulation.

    Parameters
    ----------
    model : Model
        What is tested, as in :func:`steinball.robust_ksd_test`.
    alternative : Model or callable
        Where the data come from: a model with ``sample(n, rng)``, or a function ``(n, rng) -> (n, d)``. With ``share``
        also a point or rows, as in :func:`steinball.datasets.contaminate`.
    n : int
        Points in each sample.
    contamination : float
        The tolerated share of contamination.
    share : float, optional
        With it the data come from the model but for this share, which comes from ``alternative``.
    level : float
        Level of the test.
    repeats : int
        Number of simulated samples.
    test : callable, optional
        ``(x, rng) -> result``, another test than ``robust_ksd_test(x, model, contamination)``.
    rng : int, SeedSequence, Generator or None
        Seed of the simulation. With the same seed the same samples are drawn.
    progress : bool or "auto"
        As in :func:`steinball.ksd_test`.

    Returns
    -------
    Power

    Examples
    --------
    >>> import steinball as sb
    >>> found = sb.power(sb.models.Gaussian(), 3.0, n=100, contamination=0.05, share=0.3, repeats=40)
    >>> found.share > 0.9, found.low < found.share <= found.high
    (True, True)
    """
    n, repeats = check_resamples(n, "n", 2), check_resamples(repeats, "repeats")
    contamination, level = check_share(contamination, "contamination"), check_level(level)
    pvalues = _simulation(model, alternative, contamination, share, test, rng, progress)
    return _estimated(pvalues(n, repeats), n, contamination, level)


def _estimated(pvalues: list[float], n: int, contamination: float, level: float) -> Power:
    """The share of rejections among samples of n points, with its band."""
    from scipy.stats import binomtest

    rejections, repeats = sum(p <= level for p in pvalues), len(pvalues)
    band = binomtest(rejections, repeats).proportion_ci(method="exact")
    return Power(rejections / repeats, band.low, band.high, n, repeats, contamination, level)


_LEAST = 20
_FIRST = 50  # samples that often show already that a size is far from the one looked for
_CLOSE = 1.1


@dataclass(frozen=True)
class SampleSize(Summarized):
    """The number of points at which a test reaches a power.

    Attributes
    ----------
    n : float
        The smallest size tried at which the simulated power is at least ``target``; infinite where none is.
    low, high : float
        Below ``low`` the power is too small, and from ``high`` on large enough, as far as the 95 % bands tell.
    target : float
        The power that was asked for.
    tried : tuple of Power
        All sizes that were simulated, in increasing order.

    Examples
    --------
    >>> print(SampleSize(240, 200, 320, 0.8, ()))
    About 240 points are needed for a power of 80 % (between 200 and 320, as far as
    the simulation tells).
    """

    n: float
    low: float
    high: float
    target: float
    tried: tuple[Power, ...] = field(repr=False)

    def summary(self) -> str:
        """In words."""
        if math.isinf(self.n):
            last = self.tried[-1]
            words = f"No size up to {count(last.n, 'point')} has a power of {percent(self.target)}: there it is "
            return wrap(f"{words}{percent(last.share)} ({percent(last.low)} to {percent(last.high)}).")
        top = f"and {count(self.high)}" if math.isfinite(self.high) else "and more"
        return wrap(
            f"About {count(self.n, 'point')} are needed for a power of {percent(self.target)} (between "
            f"{count(self.low)} {top}, as far as the simulation tells)."
        )


def sample_size(
    model: Any,
    alternative: Any,
    contamination: float,
    power: float = 0.8,
    *,
    share: float | None = None,
    level: float = 0.05,
    repeats: int = 200,
    largest: int = 5_000,
    test: Test | None = None,
    rng: Any = 0,
    progress: bool | str = "auto",
) -> SampleSize:
    """How many points a test of a model needs to reject an alternative with a given power, by simulation.

    Sizes are doubled until the power is reached, and then halved in between to within a tenth.

    Parameters
    ----------
    model, alternative, contamination, share, level, repeats, test, rng, progress
        As in :func:`steinball.power`. Sizes that are far from the one looked for are given up after 50 samples.
    power : float
        The power to reach, in (0, 1).
    largest : int
        The largest size to try.

    Returns
    -------
    SampleSize

    Notes
    -----
    It is assumed that the power grows with n.

    Examples
    --------
    >>> import steinball as sb
    >>> found = sb.sample_size(sb.models.Gaussian(), 3.0, contamination=0.05, share=0.3, repeats=40)
    >>> 20 <= found.n < 80
    True
    """
    target = as_number(power, "power", low=0.0, high=1.0, open_low=True)
    if target == 1.0:
        raise ValueError("`power` must be below 1: no test rejects always.")
    repeats, largest = check_resamples(repeats, "repeats"), check_resamples(largest, "largest", _LEAST)
    tolerated, level, tried = check_share(contamination, "contamination"), check_level(level), dict[int, Power]()
    pvalues = _simulation(model, alternative, tolerated, share, test, rng, progress)

    def enough(n: int) -> bool:
        first = _estimated(pvalues(n, min(_FIRST, repeats)), n, tolerated, level)
        clear = first.high < target or first.low > target
        tried[n] = first if clear else _estimated(pvalues(n, repeats), n, tolerated, level)
        return tried[n].share >= target

    n = _smallest(enough, _LEAST, largest)
    sizes = tuple(tried[size] for size in sorted(tried))
    low = max((one.n for one in sizes if one.high < target), default=2)
    high = min((one.n for one in sizes if one.low >= target and one.n >= n), default=math.inf)
    return SampleSize(n, low, high, target, sizes)


def _smallest(enough: Callable[[int], bool], n: int, largest: int) -> float:
    """The smallest size that is enough, to within a tenth, by doubling and then halving; infinite where none is."""
    below = 0
    while not enough(n):
        if n == largest:
            return math.inf
        below, n = n, min(2 * n, largest)
    while below and n > _CLOSE * below and n - below > 1:
        middle = round(math.sqrt(below * n))
        below, n = (below, middle) if enough(middle) else (middle, n)
    return n
