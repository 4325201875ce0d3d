"""The result of a test of draws against a posterior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from steinball.results.gof import GofResult
from steinball.text import Row, count


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
