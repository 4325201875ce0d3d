"""A family in standardized coordinates, with the parameters of the coordinates of the data."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steinball.arrays import Floats
from steinball.models.base import Model
from steinball.models.family import Family
from steinball.models.standardized import Standardization, Standardized


class MovedFamily(Family):
    r"""The densities of :math:`z = L^{-1}(x - a)` for x of a family: the same parameters, and rows z.

    Parameter scores are those of x, because :math:`\log p_z(z) = \log p_x(a + L z) + \log \det L`.

    Examples
    --------
    >>> from steinball.fitting import as_family
    >>> from steinball.tilts.scatter import Scatter
    >>> move = Standardization.of(None, Scatter(np.array([5.0, 0.0]), np.diag([4.0, 1.0])))
    >>> x = np.random.default_rng(0).normal([5.0, 0.0], [2.0, 1.0], size=(100, 2))
    >>> normal = as_family("normal", 2)
    >>> bool(np.allclose(MovedFamily(normal, move).fit(move(x)), normal.fit(x)))
    True
    """

    def __init__(self, family: Family, move: Standardization) -> None:
        self.family, self.move = family, move
        self.label, self.names, self.positive = family.label, family.names, family.positive
        self.numerical, self.fixed, self.quick = family.numerical, family.fixed, family.quick

    def model(self, params: Floats) -> Model:
        model = self.family.model(params)
        return Standardized(model, self.move.of_model(model))

    def start(self, x: Floats) -> Floats:
        return self.family.start(self.move.back(x))

    def fit(self, x: Floats) -> Floats:
        return self.family.fit(self.move.back(x))

    @property
    def least(self) -> Floats:
        return self.family.least

    def internal(self, known: Mapping[str, float]) -> dict[str, float]:
        return self.family.internal(known)

    def reported(self, params: Floats, errors: Floats) -> dict[str, tuple[float, float]]:
        return self.family.reported(params, errors)

    def matched(self, x: Floats, own: Floats, target: Floats) -> Floats:
        return np.asarray(self.move(self.family.matched(self.move.back(x), own, target)))

    def parameter_scores(self, params: Floats, x: Floats) -> Floats:
        return self.family.parameter_scores(params, self.move.back(x))

    def margins(self, params: Floats, x: Floats) -> Floats | None:
        return self.family.margins(params, self.move.back(x))

    def to_working(self, params: Floats) -> Floats:
        return self.family.to_working(params)

    def from_working(self, working: Floats) -> Floats:
        return self.family.from_working(working)

    def working_jacobian(self, params: Floats) -> Floats:
        return np.asarray(self.family.working_jacobian(params))
