"""The data and the model as the user knows them, whatever space they were tested in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steinball.arrays import Array, Floats, like, to_host
from steinball.models.base_map import Passage
from steinball.models.knowledge import Knowledge
from steinball.models.support import Support
from steinball.stein import SteinProblem

__all__ = ["Origin"]


@dataclass(frozen=True, eq=False)
class Origin:
    """A problem in the coordinates in which the data came: all that explanations and pictures know of places.

    Examples
    --------
    >>> import numpy as np
    >>> import steinball as sb
    >>> from scipy import stats
    >>> x = np.append(np.random.default_rng(0).exponential(size=50), 3.0)
    >>> result = sb.ksd_test(x, stats.expon(), rng=0)  # tested where it is N(0, 1)
    >>> origin = result._sums()[0].origin
    >>> origin.samples[-1], origin.tested(origin.samples[-1:]).round(2)
    (array([3.]), array([[1.65]]))
    """

    problem: SteinProblem

    @property
    def _passage(self) -> Passage | None:
        return Knowledge(self.problem.model).passage

    @property
    def in_base_space(self) -> bool:
        """Whether the test looked at the data in base space."""
        return Knowledge(self.problem.model).entrance is not None

    @property
    def samples(self) -> Floats:
        """The data, (n, d); without the points that the model excludes."""
        original = self.problem.original
        return self.problem.host_samples if original is None else original

    @property
    def model(self) -> Any:
        """What the data are tested against, in their own coordinates."""
        passage = self._passage
        return self.problem.model if passage is None else passage.model

    @property
    def support(self) -> Support | None:
        """The box in which the model lives, where it has an edge."""
        passage = self._passage
        return self.problem.support if passage is None else passage.support

    def inside(self, places: Floats) -> Floats:
        """The places, with those on an edge moved off it; outside the support nothing is said of them."""
        return places if self.support is None else self.support.off_edges(places)

    def tested(self, places: Floats) -> Array:
        """Places of the data's coordinates, (m, d), where the test sees them, in the library of its samples."""
        passage, there = self._passage, self.inside(to_host(places))
        return like(there if passage is None else passage(there), self.problem.samples)

    def draws(self, n: int) -> Floats | None:
        """Draws of the model, shape (n, d), where it has a sampler."""
        found = Knowledge(self.model).draws(n) if self.problem.evaluable else None
        return found if found is not None and found.shape[1] == self.samples.shape[1] else None
