"""A model that is known by draws alone: the output of a simulator, or a second sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steinball.arrays import Floats, as_samples, to_host


@dataclass(frozen=True, eq=False)
class Draws:
    """Independent draws of a model, ``draws`` (m, d), and nothing else. Made by :func:`from_draws`.

    Examples
    --------
    >>> import numpy as np
    >>> Draws(np.zeros((20, 3))).dimension
    3
    """

    draws: Floats

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.draws.shape[1])

    def __repr__(self) -> str:
        m, d = self.draws.shape
        return f"from_draws(<{m} × {d} numbers>)"


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
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> from_draws(rng.normal(size=(5000, 2)))
    from_draws(<5000 × 2 numbers>)
    """
    return Draws(to_host(as_samples(draws, "draws")))
