"""Independent columns, each with a model of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from steinball.arrays import Array, Floats, check_kind, namespace
from steinball.models.base import as_model, score_of
from steinball.models.gaussian import as_points, set_fields
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
        set_fields(self, marginals=parts, dimension=len(parts))

    def __repr__(self) -> str:
        return f"Independent([{', '.join(map(repr, self.marginals))}])"

    @property
    def _known(self) -> list[Knowledge]:
        return [Knowledge(part) for part in self.marginals]

    @property
    def verified(self) -> bool:
        """Whether score and sampler of every column are known to fit each other."""
        return all(known.verified for known in self._known)

    @property
    def support(self) -> Support:
        """The ends of every column."""
        line = Support.of((None, None))
        return Support(tuple((known.support or line).ends[0] for known in self._known))

    @property
    def location(self) -> Floats | None:
        """The locations, shape (d,)."""
        places = [known.location for known in self._known]
        return None if any(place is None for place in places) else np.concatenate(places)  # type: ignore[arg-type]

    @property
    def covariance(self) -> Floats | None:
        """The variances on the diagonal, shape (d, d)."""
        spreads = [known.covariance for known in self._known]
        return None if any(s is None for s in spreads) else np.diag(np.concatenate(spreads)[:, 0])  # type: ignore[arg-type]

    @property
    def growth(self) -> float | None:
        """The largest growth of a column, where all are known."""
        rates = [known.growth for known in self._known]
        return None if any(rate is None for rate in rates) else max(rates)  # type: ignore[type-var]

    def score(self, x: Array) -> Array:
        """∇ log p at each row of ``x``, shape (n, d)."""
        x = as_points(x, self.dimension)
        xp = namespace(x)
        columns = [score_of(part, x[:, j : j + 1]) for j, part in enumerate(self.marginals)]
        return xp.concat([xp.reshape(column, (-1, 1)) for column in columns], axis=1)

    @property
    def log_density(self) -> Any:
        """The sum of the log densities, (n, d) to (n,), where all are known."""
        return self._log_density if all(known.log_density is not None for known in self._known) else None

    def _log_density(self, x: Array) -> Array:
        x = as_points(x, self.dimension)
        parts = [known.log_density(x[:, j : j + 1]) for j, known in enumerate(self._known)]  # type: ignore[misc]
        return sum(parts[1:], start=parts[0])

    @property
    def sample(self) -> Any:
        """``sample(n, rng)``, where all columns can be drawn."""
        return self._sample if all(known.sampler is not None for known in self._known) else None

    def _sample(self, n: int, rng: Any = None) -> Floats:
        generator = np.random.default_rng(rng)
        return np.concatenate([known.needed_draws(n, generator) for known in self._known], axis=1)

    @property
    def to_base(self) -> Any:
        """The map of data to base space, column by column, where all columns have one."""
        return self._to_base if all(known.to_base is not None for known in self._known) else None

    def _to_base(self, x: Floats) -> Floats:
        columns = [known.to_base(x[:, j : j + 1]) for j, known in enumerate(self._known)]  # type: ignore[misc]
        return np.concatenate(columns, axis=1)


def _parts(marginals: Any) -> Iterator[Any]:
    for j, marginal in enumerate(check_kind(marginals, Sequence, "marginals", "a list of models")):
        try:
            yield as_model(marginal)
        except TypeError as error:
            raise TypeError(f"`marginals[{j}]` is no model: {error}") from None
