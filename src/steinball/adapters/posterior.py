"""What adapters of samplers give: draws by name, how names become columns, and posteriors without constraints."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from steinball.arrays import Array, Floats, namespace


@dataclass(frozen=True)
class Reading:
    """How a user says that the draws are to be read.

    Parameters
    ----------
    parameters : tuple of str, optional
        Names of the columns of an array; of named draws, those that are the columns of the model, in its order.
    chains : int or tuple of int, optional
        For an array (n, d): how many chains stand one behind the other, or their lengths.
    chain_axis : int, optional
        For an array of three axes: 0 for (chain, draw, d), 1 for (draw, chain, d).

    Examples
    --------
    >>> Reading(chain_axis=1).chains_first(np.zeros((500, 4, 2))).shape
    (4, 500, 2)
    """

    parameters: tuple[str, ...] | None = None
    chains: int | tuple[int, ...] | None = None
    chain_axis: int | None = None

    def chains_first(self, array: Array) -> Array:
        """An array whose first two axes are chain and draw in the stated order, as (chain, draw, ...)."""
        axes = tuple(range(array.ndim))
        return namespace(array).permute_dims(array, (1, 0, *axes[2:])) if self.chain_axis == 1 else array

    def refuse_axes(self, what: str) -> None:
        """Refuse words about chains for draws that say themselves what their chains are."""
        if self.chains is not None or self.chain_axis is not None:
            raise ValueError(f"`chains` and `chain_axis` are for arrays; `draws` is {what}, which knows its chains.")


class NamedDraws(NamedTuple):
    """Draws by name, each (chain, draw, ...), with the scores at them and the model that was sampled, where known.

    ``ordered`` says that the variables are the columns of the model in its own order, so that nobody has to state it.
    """

    values: dict[str, Floats]
    scores: dict[str, Floats] | None = None
    model: Any = None
    ordered: bool = False


def column_name(name: str, index: tuple[int, ...]) -> str:
    """The name of an entry of a parameter: ``mu``, ``theta[0]``, ``corr[1,0]``."""
    return f"{name}[{','.join(map(str, index))}]" if index else name


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
    def parameters(self) -> tuple[str, ...]:
        """One name for every column."""
        pairs = zip(self.names, self.shapes, strict=True)
        return tuple(column_name(name, index) for name, shape in pairs for index in np.ndindex(shape))

    def pack(self, values: Mapping[str, Floats]) -> Floats:
        """Values (..., *shape) of every parameter to columns (..., d)."""
        parts = []
        for name, shape in zip(self.names, self.shapes, strict=True):
            value = np.asarray(values[name], dtype=np.float64)
            parts.append(value.reshape((*value.shape[: value.ndim - len(shape)], math.prod(shape))))
        return np.concatenate(parts, axis=-1)

    def unpack(self, rows: Floats) -> dict[str, Floats]:
        """Columns (..., d) to the values (..., *shape) of every parameter."""
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])
        named = zip(self.names, self.shapes, np.split(rows, ends[:-1], axis=-1), strict=True)
        return {name: part.reshape((*rows.shape[:-1], *shape)) for name, shape, part in named}


class Posterior(ABC):
    """A posterior on its unconstrained space, the Jacobian of the transformation included.

    A model of any test: :meth:`score` is ∇log p there, and :meth:`unconstrain` brings draws to it.

    Attributes
    ----------
    names : tuple of str
        The variables that were sampled, which must all be among the draws.
    parameters : tuple of str
        One name for every column of the unconstrained space.
    """

    takes_numpy: ClassVar[bool] = True
    names: tuple[str, ...]
    parameters: tuple[str, ...]

    @property
    def dimension(self) -> int:
        """The number d of columns of the unconstrained space."""
        return len(self.parameters)

    def sampled(self, values: Mapping[str, Floats]) -> dict[str, Floats]:
        """Those of the draws that the model has sampled, in the order of ``names``; all of them must be there."""
        if missing := [name for name in self.names if name not in values]:
            raise ValueError(
                f"`draws` lacks {', '.join(missing)} of the model; it has {', '.join(values)}. The test needs all "
                "parameters that were sampled: keep them when you sample or save."
            )
        return {name: values[name] for name in self.names}

    def unconstrain(self, values: Mapping[str, Floats]) -> Floats:
        """Draws by name, each (chain, draw, ...), as (chain, draw, d)."""
        chosen = self.sampled(values)
        rows = {name: value.reshape(-1, *value.shape[2:]) for name, value in chosen.items()}
        return self.free_rows(rows).reshape(*chosen[self.names[0]].shape[:2], -1)

    @abstractmethod
    def free_rows(self, rows: Mapping[str, Floats]) -> Floats:
        """Draws by name in the order of ``names``, each (n, ...), as rows (n, d) of the unconstrained space."""

    @abstractmethod
    def score(self, x: Floats, /) -> Floats:
        """∇log p at the rows of ``x`` (n, d)."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.parameters)})"
