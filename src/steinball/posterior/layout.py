"""Named parameters of any shape, as the columns of a matrix."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from steinball.arrays import Floats


@dataclass(frozen=True)
class Layout:
    """Which columns belong to which parameter: names in order, and the shape of one draw of each.

    Examples
    --------
    >>> layout = Layout(("mu", "theta"), ((), (2,)))
    >>> layout.parameters
    ('mu', 'theta[0]', 'theta[1]')
    >>> layout.unpack(np.array([[1.0, 2.0, 3.0]]))["theta"]
    array([[2., 3.]])
    """

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, values: Mapping[str, Floats], leading: int) -> Layout:
        """The layout of draws with so many leading axes."""
        return cls(tuple(values), tuple(value.shape[leading:] for value in values.values()))

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many columns each parameter has."""
        return tuple(math.prod(shape) for shape in self.shapes)

    @property
    def parameters(self) -> tuple[str, ...]:
        """One name for every column: ``mu``, ``theta[0]``, ``corr[1,0]``."""
        return tuple(
            name + (f"[{','.join(map(str, index))}]" if shape else "")
            for name, shape in zip(self.names, self.shapes, strict=True)
            for index in np.ndindex(shape)
        )

    def pack(self, values: Mapping[str, Floats]) -> Floats:
        """Values (..., *shape) of every parameter to columns (..., d)."""
        parts = []
        for name, shape in zip(self.names, self.shapes, strict=True):
            value = np.asarray(values[name], dtype=np.float64)
            parts.append(value.reshape((*value.shape[: value.ndim - len(shape)], math.prod(shape))))
        return np.concatenate(parts, axis=-1)

    def unpack(self, rows: Floats) -> dict[str, Floats]:
        """Columns (..., d) to the values (..., *shape) of every parameter."""
        parts = np.split(rows, np.cumsum(self.sizes)[:-1], axis=-1)
        named = zip(self.names, self.shapes, parts, strict=True)
        return {name: part.reshape((*rows.shape[:-1], *shape)) for name, shape, part in named}
