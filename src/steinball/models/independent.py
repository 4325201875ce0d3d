"""Independent columns, each with a model of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from steinball.arrays import Array, Floats, check_kind, namespace, naming
from steinball.models.base import as_model, score_of
from steinball.models.gaussian import as_points
from steinball.models.knowledge import Knowledge
from steinball.models.support import Support


@dataclass(frozen=True, eq=False, repr=False)
class Independent:
    r"""The product of models of one number each,

    .. math:: p(x) = \prod_j p_j(x_j).

    What is known of the whole is what is known of all parts.

    Parameters
    ----------
    marginals : sequence
        One model per column: anything that a test accepts for one column, arrays of scores excepted.

    Examples
    --------
    >>> from scipy import stats
    >>> model = Independent([stats.norm(1.0), stats.expon()])
    >>> model.score(np.array([[2.0, 3.0]])), str(model.support)
    (array([[-1., -1.]]), '[(-∞, ∞), (0, ∞)]')
    """

    marginals: Sequence[Any]
    dimension: int = field(init=False)
    takes_numpy: ClassVar[bool] = True

    def __post_init__(self) -> None:
        parts = tuple(_parts(self.marginals))
        if not parts:
            raise ValueError("`marginals` must hold a model for each column, got none.")
        for j, part in enumerate(parts):
            if Knowledge(part).dimension not in (None, 1):
                raise ValueError(f"`marginals` must be models of one column each, but entry {j} is {part!r}.")
        vars(self).update(marginals=parts, dimension=len(parts))

    def __repr__(self) -> str:
        return f"Independent([{', '.join(map(repr, self.marginals))}])"

    def _each(self, name: str) -> list[Any] | None:
        """What every column knows under a name of :class:`Knowledge`; ``None`` where some column does not know it."""
        found = [Knowledge(part).asked(name) for part in self.marginals]
        return None if any(one is None for one in found) else found

    @property
    def verified(self) -> bool:
        """Whether score and sampler of every column are known to fit each other."""
        return all(Knowledge(part).verified for part in self.marginals)

    @property
    def support(self) -> Support:
        """The ends of every column."""
        line = Support.of((None, None))
        return Support(tuple((Knowledge(part).support or line).ends[0] for part in self.marginals))

    @property
    def location(self) -> Floats | None:
        """The locations, shape (d,)."""
        return None if (places := self._each("location")) is None else np.concatenate(places)

    @property
    def covariance(self) -> Floats | None:
        """The variances on the diagonal, shape (d, d)."""
        return None if (spreads := self._each("covariance")) is None else np.diag(np.concatenate(spreads)[:, 0])

    @property
    def growth(self) -> float | None:
        """The largest growth of a column, where all are known."""
        return None if (rates := self._each("growth")) is None else max(rates)

    def score(self, x: Array) -> Array:
        """∇ log p at each row of ``x``, shape (n, d)."""
        x = as_points(x, self.dimension)
        xp = namespace(x)
        columns = [score_of(part, x[:, j : j + 1]) for j, part in enumerate(self.marginals)]
        return xp.concat([xp.reshape(column, (-1, 1)) for column in columns], axis=1)

    @property
    def log_density(self) -> Callable[[Array], Array] | None:
        """The sum of the log densities, (n, d) to (n,), where all are known."""
        parts = self._each("log_density")
        return None if parts is None else lambda x: sum(_by_column(parts, as_points(x, self.dimension)))

    @property
    def sample(self) -> Any:
        """``sample(n, rng)``, where all columns can be drawn."""
        return None if self._each("sampler") is None else self._sample

    def _sample(self, n: int, rng: Any = None) -> Floats:
        generator = np.random.default_rng(rng)
        return np.concatenate([Knowledge(part).needed_draws(n, generator) for part in self.marginals], axis=1)

    @property
    def to_base(self) -> Callable[[Floats], Floats] | None:
        """The map of data to base space, column by column, where all columns have one."""
        maps = self._each("to_base")
        return None if maps is None else lambda x: np.concatenate(_by_column(maps, x), axis=1)


def _by_column(functions: list[Callable[[Array], Array]], x: Array) -> list[Array]:
    """The value of each function at its column, (n, 1)."""
    return [function(x[:, j : j + 1]) for j, function in enumerate(functions)]


def _parts(marginals: Any) -> Iterator[Any]:
    for j, marginal in enumerate(check_kind(marginals, Sequence, "marginals", "a list of models")):
        with naming(f"`marginals[{j}]` is no model"):
            yield as_model(marginal)
