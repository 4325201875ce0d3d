"""A simulation: samples of an alternative, each tested against a model."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steinball.arrays import (
    MOST_COUNTED,
    as_number,
    as_samples,
    as_seed,
    check_level,
    check_share,
    generator_at,
    is_array_like,
)
from steinball.cautions import DependentRowsWarning
from steinball.datasets.contamination import contaminate
from steinball.gof import robust_ksd_test
from steinball.models.knowledge import Knowledge
from steinball.progress import Progress
from steinball.results.base import Result

Sampler = Callable[[int, np.random.Generator], Any]
Test = Callable[[Any, np.random.Generator], Result]


@dataclass(frozen=True, eq=False)
class Study:
    """What is simulated: where the data come from, and how they are tested.

    Sample i of n points depends on the seed, n and i alone, so that more samples continue what was simulated before.
    ``known`` are the p-values that were simulated, by n.
    """

    model: Any
    alternative: Any
    contamination: float
    share: float | None
    level: float
    test: Test | None
    seed: np.random.SeedSequence
    progress: bool | str
    known: dict[int, list[float]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        model: Any,
        alternative: Any,
        contamination: Any,
        share: Any,
        level: Any,
        test: Any,
        rng: Any,
        progress: Any,
    ) -> Study:
        """What a user asked for, checked."""
        if test is not None and not callable(test):
            raise TypeError(f"`test` must be a function (x, rng) -> result, got {test!r}.")
        shares = check_share(contamination, "contamination"), None if share is None else check_share(share, "share")
        study = cls(model, alternative, *shares, check_level(level), test, as_seed(rng), progress)
        study._sampler()
        return study

    def pvalues(self, n: int, repeats: int) -> list[float]:
        """The p-values of ``repeats`` samples of n points; what this study has simulated is not simulated again."""
        found = self.known.setdefault(n, [])
        if len(found) < repeats:
            with Progress(f"{repeats} samples of {n:,} points", repeats, show=self.progress) as progress:
                progress.advance(len(found))
                for i in range(len(found), repeats):
                    found.append(self._pvalue(n, i))
                    progress.advance(1)
        return found[:repeats]

    def _pvalue(self, n: int, i: int) -> float:
        below = np.random.SeedSequence(self.seed.entropy, spawn_key=(n, i))
        data, draws = generator_at(below, 0), generator_at(below, 1)
        x = self._sampler()(n, data)
        as_samples(x, "alternative(n, rng)", least=1)  # refused by this name, and handed on as it is
        if self.test is not None:
            return _pvalue_of(self.test(x, draws))
        options: dict[str, Any] = {"check_model": i == 0, "progress": False}
        with warnings.catch_warnings():  # simulated rows are independent, and one sample in 400 looks otherwise
            warnings.simplefilter("ignore", DependentRowsWarning)
            return robust_ksd_test(x, self.model, self.contamination, rng=draws, **options).pvalue

    def _sampler(self) -> Sampler:
        """(n, rng) to data: of the alternative, or of the model with a share of the alternative in it."""
        if self.share is not None:
            clean, share = self._clean(), self.share
            return lambda n, rng: contaminate(clean(n, rng), share, self.alternative, rng, count="binomial")
        return _sampler_of(self.alternative)

    def _clean(self) -> Sampler:
        """The sampler of the model; a function that stands for a model is its score."""
        sampler = Knowledge(self.model).sampler
        if sampler is None:
            raise TypeError(f"`model` must be a model with `sample(n, rng)` for a `share`, got {self.model!r}.")
        return sampler


def _pvalue_of(result: Any) -> float:
    try:
        pvalue = result.pvalue
    except AttributeError:
        raise TypeError(f"`test` must return a result with `pvalue`, got {result!r}.") from None
    return as_number(pvalue, "test(x, rng).pvalue")


def _sampler_of(alternative: Any) -> Sampler:
    sampler = Knowledge(alternative).sampler or (None if is_array_like(alternative) else alternative)
    if sampler is None or isinstance(sampler, type) or not callable(sampler):
        raise TypeError(
            "`alternative` must be a model with `sample(n, rng)` or a function (n, rng) -> (n, d), "
            f"got {alternative!r}."
        )
    _check_takes_two(sampler)
    return sampler


def _check_takes_two(sampler: Sampler) -> None:
    try:
        signature = inspect.signature(sampler)
    except (TypeError, ValueError):  # many functions written in C do not tell
        return
    try:
        signature.bind(None, None)
    except TypeError as error:
        raise TypeError(f"`alternative` must be a function (n, rng) -> (n, d): {error}.") from None


def check_count(value: Any, name: str, least: int) -> int:
    """A whole number of at least ``least``."""
    number = as_number(value, name, low=least, high=MOST_COUNTED)
    if number != int(number):
        raise ValueError(f"`{name}` must be a whole number, got {value!r}.")
    return int(number)
