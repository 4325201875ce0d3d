"""The result of a test of draws against a posterior."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

from steinball.results.gof import GofResult
from steinball.text import Row, count

__all__ = ["MCMCResult"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MCMCResult(GofResult):
    """The result of a test of draws against a posterior: :class:`GofResult`, and what is known of the chains.

    Attributes
    ----------
    parameters : tuple of str
        The names of the columns that were tested: ``mu``, ``theta[0]``. For models of other libraries these are the
        parameters on the unconstrained space.
    chains : tuple of int
        The length of each chain; rows, and ``contributions``, stand chain behind chain.
    autocorrelation_time : float
        Of the Stein features, in draws.
    effective_size : float
        ``n`` divided by it: how many independent draws the chains are worth to this test.
    """

    parameters: tuple[str, ...]
    chains: tuple[int, ...]
    autocorrelation_time: float

    effective_size: float

    schema: ClassVar[str] = "steinball.mcmc/1"
    _subject: ClassVar[str] = "the draws"
    _noun: ClassVar[str] = "draw"
    _target: ClassVar[str] = "the posterior"
    _unproved: ClassVar[str] = "This does not prove that the chains have converged"

    @classmethod
    def of(cls, result: GofResult, **chains: Any) -> MCMCResult:
        """A result with what is known of the chains."""
        fields = {field.name: vars(result)[field.name] for field in dataclasses.fields(GofResult)}
        return cls(**fields, **chains)

    def _again(self, result: GofResult) -> MCMCResult:
        own = {field.name for field in dataclasses.fields(self)} - {f.name for f in dataclasses.fields(GofResult)}
        return self.of(result, **{name: vars(self)[name] for name in own})

    def at(self, **asked: Any) -> MCMCResult:
        """The decision at another tolerance or level, from the same bootstrap draws: :meth:`GofResult.at`."""
        return self._again(super().at(**asked))

    def extend(self, n_more: int) -> MCMCResult:
        """The same test with ``n_more`` further bootstrap draws."""
        return self._again(super().extend(n_more))

    @property
    def _columns(self) -> tuple[str, ...]:
        return self.parameters

    @property
    def title(self) -> str:
        """Which test it was."""
        return f"{'Robust kernel' if self.radius > 0 else 'Kernel'} Stein test of draws against a posterior"

    def rows(self) -> list[Row]:
        """The table of the summary."""
        return [*super().rows()[:1], ("chains", self._chains(), self._worth()), *super().rows()[1:]]

    def _chains(self) -> str:
        return count(len(self.chains), "chain")

    def _worth(self) -> str:
        return f"worth about {count(round(self.effective_size), 'independent draw')} to this test"

    def _points(self) -> str:
        return f"{count(self.n, 'draw')} of {count(self.dimension, 'parameter')}"
