"""Draws of Markov chains as rows, chain behind chain, with the names of their parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Array, Floats, as_samples, check_kind, computed, is_array, namespace, to_host
from steinball.checks.dependence import as_chains, chain_lengths, chain_starts
from steinball.posterior.layout import Layout

_STUCK_SHARE, _STUCK_DRAWS = 0.25, 20
"""A chain that stays at one point for this share of its length, and so many draws, was stuck: of chains that are long
enough to be tested, samplers that reject most proposals stay that long less than once in ten."""


@dataclass(frozen=True)
class Reading:
    """How a user says that the draws are to be read.

    Parameters
    ----------
    parameters : sequence of str, optional
        Names of the columns of an array; of named draws, those that are the columns of the model, in its order.
    chains : int or sequence of int, optional
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

    @classmethod
    def of(cls, parameters: Any, chains: Any, chain_axis: Any) -> Reading:
        """What a user passed, checked."""
        if isinstance(parameters, str):
            parameters = (parameters,)
        if chain_axis not in (None, 0, 1) or isinstance(chain_axis, bool):
            raise ValueError(
                f"`chain_axis` must be 0 for (chain, draw, d) or 1 for (draw, chain, d), got {chain_axis!r}."
            )
        lengths = None if chains is None else as_chains(chains)
        lengths = lengths if lengths is None or isinstance(lengths, int) else tuple(lengths)
        return cls(None if parameters is None else _listed(parameters), lengths, chain_axis)

    def chains_first(self, array: Array) -> Array:
        """An array whose first two axes are chain and draw in the stated order, as (chain, draw, ...)."""
        axes = tuple(range(array.ndim))
        return namespace(array).permute_dims(array, (1, 0, *axes[2:])) if self.chain_axis == 1 else array

    def refuse_axes(self, what: str) -> None:
        """For draws that say themselves what their chains are."""
        if self.chains is not None or self.chain_axis is not None:
            raise ValueError(f"`chains` and `chain_axis` are for arrays; `draws` is {what}, which knows its chains.")


def _listed(parameters: Any) -> tuple[str, ...]:
    return tuple(map(str, check_kind(parameters, Iterable, "parameters", "a name or a list of names")))


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws as rows.

    Parameters
    ----------
    values : (n, d) array
        Chain behind chain.
    lengths : tuple of int
        The length of each chain.
    parameters : tuple of str
        The names of the columns.

    Examples
    --------
    >>> Draws.of(np.arange(24.0).reshape(2, 4, 3), Reading()).lengths
    (4, 4)
    """

    values: Array
    lengths: tuple[int, ...]
    parameters: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @classmethod
    def of(cls, draws: Any, reading: Reading, parameters: Sequence[str] | None = None) -> Draws:
        """An array (chain, draw, d), (n, d) or (n,), checked: finite, no chain stuck, and every column moves."""
        array = draws if is_array(draws) else _as_array(draws)
        if array.ndim == 3:
            rows, lengths = _stacked(array, reading)
        else:
            if reading.chain_axis is not None:
                raise ValueError(f"`chain_axis` is for arrays of three axes, got shape {tuple(array.shape)}.")
            rows = computed(as_samples(array, "draws"))
            lengths = chain_lengths(int(rows.shape[0]), 1 if reading.chains is None else reading.chains)
        names = reading.parameters if parameters is None else tuple(parameters)
        found = cls(rows, lengths, _names(names, int(rows.shape[1])))
        _check_moving(found)
        return found

    @classmethod
    def of_named(cls, values: Mapping[str, Floats], parameters: tuple[str, ...] | None) -> Draws:
        """Draws by name, each (chain, draw, ...), side by side in the stated order."""
        chosen = {name: values[name] for name in _known(parameters, values)}
        layout = Layout.of(chosen, 2)
        return cls.of(layout.pack(chosen), Reading(), layout.parameters)


def as_named(draws: Mapping[str, Any], reading: Reading) -> dict[str, Floats]:
    """A mapping of names to arrays (chain, draw, ...) on the host, in double precision."""
    if reading.chains is not None:
        raise ValueError("`chains` is for arrays (n, d); give named draws as (chain, draw, ...).")
    named = {str(name): np.asarray(reading.chains_first(to_host(value))) for name, value in draws.items()}
    shapes = {name: value.shape for name, value in named.items()}
    if not named or any(len(shape) < 2 for shape in shapes.values()):
        raise ValueError(f"`draws` by name must have shape (chain, draw, ...) each, got {shapes}.")
    if len({shape[:2] for shape in shapes.values()}) > 1:
        raise ValueError(f"`draws` by name must have the same chains and draws, got shapes {shapes}.")
    return named


def _as_array(draws: Any) -> Floats:
    try:
        array = np.asarray(draws)
    except ValueError:  # rows of different lengths
        array = np.empty(0, dtype=object)
    return array if array.dtype.kind in "fiu" else np.asarray(as_samples(draws, "draws"))


def _stacked(array: Array, reading: Reading) -> tuple[Array, tuple[int, ...]]:
    """Chain behind chain."""
    if reading.chains is not None:
        raise ValueError(f"`chains` is for arrays (n, d); shape {tuple(array.shape)} says itself how many there are.")
    array = reading.chains_first(array)
    chains, length, d = (int(size) for size in array.shape)
    rows = computed(as_samples(namespace(array).reshape(array, (chains * length, d)), "draws"))
    return rows, (length,) * chains


def _names(names: tuple[str, ...] | None, d: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"x[{j}]" for j in range(d))
    if len(names) != d:
        raise ValueError(f"`parameters` must name the {d} columns of `draws`, got {len(names)} names.")
    return names


def _known(parameters: tuple[str, ...] | None, values: Mapping[str, Floats]) -> tuple[str, ...]:
    """The parameters that were asked for; of several, the order must be said, for it is that of the model's columns."""
    if parameters is None:
        if len(values) > 1:
            raise ValueError(
                f"`draws` has the variables {', '.join(values)}, and this model does not know them by name. Say which "
                f"of them are its columns, in its order: `parameters={list(values)[:2]}`."
            )
        return tuple(values)
    if missing := [name for name in parameters if name not in values]:
        raise ValueError(f"`parameters` has {', '.join(missing)}, but `draws` has only {', '.join(values)}.")
    return parameters


def _check_moving(draws: Draws) -> None:
    """A chain that was stuck, or a parameter that never changes, has no distribution to be tested."""
    rows, starts, lengths = to_host(draws.values), chain_starts(len(draws), draws.lengths), np.array(draws.lengths)
    stays = _longest_stays(rows, starts)
    if (stuck := np.flatnonzero(stays >= np.maximum(_STUCK_DRAWS, _STUCK_SHARE * lengths))).size:
        first = stuck[0]
        raise ValueError(
            f"`draws`: {stuck.size} of {len(starts)} chains stand still for a quarter of their length or more (first: "
            f"chain {first}, {stays[first]} of {lengths[first]} draws are one point). The sampler was stuck: look at "
            "its step size, acceptance and starting point, and run it again."
        )
    if (still := np.flatnonzero((rows == rows[0]).all(axis=0))).size:
        names = ", ".join(f"`{draws.parameters[j]}`" for j in still[:5])
        raise ValueError(
            f"`draws` of {names} never change. A parameter that the sampler did not move cannot be tested: leave it "
            "out together with its column of the model, or run the sampler again."
        )


def _longest_stays(rows: Floats, starts: NDArray[np.intp]) -> NDArray[np.intp]:
    """How many draws each chain spends at one point at most without a move."""
    moves = np.ones(len(rows), dtype=bool)
    moves[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    moves[starts] = True
    arrivals = np.flatnonzero(moves)
    longest = np.zeros(len(starts), dtype=np.intp)
    np.maximum.at(longest, np.searchsorted(starts, arrivals, side="right") - 1, np.diff(arrivals, append=len(rows)))
    return longest
