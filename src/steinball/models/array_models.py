"""Models that are known by an array alone: scores at the samples, or draws of a simulator or a second sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from steinball.arrays import Array, Floats, as_samples, as_scores, namespace, to_host


@dataclass(frozen=True, eq=False)
class ScoreArray:
    """Scores that are known at given samples, and nowhere else; ``model_at`` supplies samples that are None.

    ``lost`` describes the model that the scores come from, where it could not be pickled along with its result.

    Examples
    --------
    >>> x = np.array([[1.0], [2.0]])
    >>> ScoreArray(x, -x).score(x)
    array([[-1.],
           [-2.]])
    """

    samples: Array | None
    scores: Array
    lost: str = ""
    evaluable: ClassVar[bool] = False

    def score(self, x: Array, /) -> Array:
        if self.samples is None:
            return as_scores(self.scores, x)
        if x is self.samples or same_array(x, self.samples):
            return self.scores
        if self.lost:
            raise ValueError(
                f"this needs the model, {self.lost}, which was not pickled along with its result; only its scores at "
                "the samples were. Use a model that can be pickled, such as a function of a module, or ask before "
                "pickling."
            )
        raise ValueError(
            "`model` is an array of scores, and a score array knows the score only at the samples it was given with; "
            "pass a score function to evaluate the model elsewhere."
        )

    @property
    def unknown_elsewhere(self) -> str:
        """Why the score is not known at other points."""
        lost = f"`model`, {self.lost}, was not pickled along with its result"
        return lost if self.lost else "`model` is an array of scores"

    def __repr__(self) -> str:
        return self.lost or f"ScoreArray(shape={np.shape(self.scores)})"


def same_array(x: Any, y: Array) -> bool:
    """Whether two arrays are of one library and hold the same numbers."""
    if type(x) is not type(y) or tuple(x.shape) != tuple(y.shape) or x.dtype != y.dtype:
        return False
    return bool(namespace(x, y).all(x == y))


@dataclass(frozen=True, eq=False)
class Draws:
    """Independent draws of a model, ``draws`` (m, d), and nothing else. Made by :func:`from_draws`.

    Examples
    --------
    >>> Draws(np.zeros((20, 3))).dimension
    3
    """

    draws: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "draws", to_host(as_samples(self.draws, "draws")))

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.draws.shape[1])

    def __repr__(self) -> str:
        return "from_draws(<{} × {} numbers>)".format(*self.draws.shape)


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
    >>> rng = np.random.default_rng(0)
    >>> from_draws(rng.normal(size=(5000, 2)))
    from_draws(<5000 × 2 numbers>)
    """
    return Draws(draws)
