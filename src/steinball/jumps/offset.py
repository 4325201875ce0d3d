"""Offset jumps between modes: a Metropolis kernel that turns wrong weights of modes into wrong shapes of modes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from steinball.arrays import Array, Floats, as_number, check_resamples, generator_at, like, to_host
from steinball.jumps.modes import Jumps, Modes, find_modes, host_log_density
from steinball.models.base import score_of
from steinball.models.knowledge import Knowledge

TOLERANCE = 1e-6
_NODES = 12
_PANELS = (8, 16, 32, 64, 128, 256)
_BLOCK = 1 << 16


def log_ratio_along_paths(model: Any, x: Floats, y: Floats, template: Array) -> Floats:
    r"""log p(y) − log p(x) for pairs of rows, from the score

    .. math:: \log p(y) - \log p(x) = \int_0^1 s(x + t (y - x))^\top (y - x) \, dt,

    by Gauss–Legendre panels that are halved until two in a row agree to 10⁻⁶. A path that never gets there, across a
    place where the score jumps or is infinite, is refused: an acceptance that is only roughly right would not leave the
    model alone.
    """
    if not Knowledge(model).evaluable:
        raise TypeError("jumps need the model away from the samples; `model` is an array of scores.")
    value, left = np.full(len(x), np.nan), np.arange(len(x))
    before = _integral(model, x, y, _PANELS[0], template)
    for panels in _PANELS[1:]:
        after = _integral(model, x[left], y[left], panels, template)
        converged = np.abs(after - before) <= TOLERANCE
        value[left[converged]] = after[converged]
        left, before = left[~converged], after[~converged]
        if not left.size:
            return value
    raise ValueError(
        f"the score could not be integrated to {TOLERANCE:g} along {left.size} of {len(x)} jumps. Give the model a "
        "`log_density(x)` (up to a constant), for instance by `from_log_density`."
    )


def _integral(model: Any, x: Floats, y: Floats, panels: int, template: Array) -> Floats:
    nodes, weights = leggauss(_NODES)
    times = ((np.arange(panels)[:, None] + 0.5 + 0.5 * nodes) / panels).ravel()
    parts = np.tile(0.5 * weights / panels, panels)
    size, found = max(1, _BLOCK // times.size), [np.empty(0)]
    for rows in (slice(start, start + size) for start in range(0, len(x), size)):
        here, apart = x[rows], y[rows] - x[rows]
        points = here[:, None, :] + times[:, None] * apart[:, None, :]
        scores = to_host(score_of(model, like(points.reshape(-1, x.shape[1]), template))).reshape(points.shape)
        found.append(np.einsum("ntd,nd,t->n", scores, apart, parts))
    return np.concatenate(found)


@dataclass(frozen=True, eq=False)
class ModeJumps:
    r"""Metropolis jumps from mode to mode that miss the other mode's center by a fixed offset

    .. math:: x = m_i + L_i z \;\longmapsto\; x' = m_j + L_j (z + o_{ij}), \qquad
       \min\!\left(1, \frac{p(x') \det L_j}{p(x) \det L_i}\right) \mathbf 1\{c(x') = j\},

    i = c(x) the cell of x, j one of the other modes at random, :math:`o_{ji} = -o_{ij}` of length ``offset`` along the
    first axis of the mode's own coordinates.

    Parameters
    ----------
    modes : Modes or (k, d) array
        :math:`m_i`, known or found *without the data that are tested*. With one mode nothing moves.
    covariances : float, (d, d) or (k, d, d) array
        :math:`L_i L_i^\top`, the shapes of the modes; ignored when ``modes`` is a :class:`Modes`. Wrong shapes cost
        power, not validity.
    offset : float
        :math:`|o_{ij}|`, in standard deviations of a mode. Without an offset a jump maps mode onto mode and shows
        nothing.
    steps : int
        How often each point may jump.

    Notes
    -----
    Proved (``docs/theory/many-modes.md``): the kernel is reversible with respect to P, whatever the modes, shapes and
    offset, as long as they are fixed without the tested data. So the moved data test the same null, for every
    tolerance that is ``closed_under_moves``. Simulated: an offset of 1.5 and one step give the most power, from
    d = 1 to 10, for modes of equal and of unequal weight; a random offset averages its own effect away.

    A model without ``log_density`` is integrated along the jump (:mod:`steinball.jumps.offset`), to a relative 1e-6 of
    the acceptance probability, or refused.

    Examples
    --------
    >>> from steinball.models import GaussianMixture
    >>> model = GaussianMixture([0.5, 0.5], [-6.0, 6.0])
    >>> jumps = ModeJumps.from_model(model)
    >>> x = np.full((1000, 1), 6.0)
    >>> y = jumps.move(x, model, np.random.SeedSequence(0))
    >>> sorted(set(y[:, 0].round(6).tolist())), int(np.sum(y < 0))
    ([-7.5, 6.0], 305)
    """

    modes: Any
    covariances: Any = 1.0
    offset: float = 1.5
    steps: int = 1

    def __post_init__(self) -> None:
        modes = self.modes if isinstance(self.modes, Modes) else Modes(self.modes, self.covariances)
        offset, steps = as_number(self.offset, "offset", low=0.0), check_resamples(self.steps, "steps")
        vars(self).update(modes=modes, covariances=modes.covariances, offset=offset, steps=steps)

    @classmethod
    def from_model(cls, model: Any, *, template: Array | None = None, offset: float = 1.5) -> ModeJumps:
        """Jumps between the modes that :func:`find_modes` finds."""
        return cls(find_modes(model, template=template), offset=offset)

    def move(self, samples: Array, model: Any, seed: np.random.SeedSequence, /) -> Array:
        """Every point moved by itself; random numbers come from the host, so every library gives the same points."""
        x = to_host(samples)
        self._check_columns(x)
        if len(self.modes) == 1:
            return samples
        for k in range(self.steps):
            draws = generator_at(seed, k).random((2, len(x)))
            # The j-th of the other modes, counted from the cell: uniform on all modes but the point's own.
            ahead = 1 + np.floor(draws[0] * (len(self.modes) - 1)).astype(np.intp)
            proposed, acceptance = self.propose(x, ahead, model, samples)
            x = np.where((draws[1] < acceptance)[:, None], proposed, x)
        return like(x, samples)

    def propose(self, x: Floats, ahead: NDArray[np.intp], model: Any, template: Array) -> tuple[Floats, Floats]:
        """Where each row would go, to the mode ``ahead`` places after its own (mod k), and with what probability."""
        here = self.modes.cells(x)
        there = (here + ahead) % len(self.modes)
        z = self.modes.coordinates(x, here)
        z[:, 0] += self.offset * np.sign(there - here)
        proposed = self.modes.places(z, there)
        inside = self.modes.cells(proposed) == there  # only then does the jump back lead to x
        support = Knowledge(model).support
        inside = inside if support is None else inside & (support.distance(proposed) > 0.0).all(axis=1)
        volumes = self.modes.log_volumes
        log_ratio = self._log_ratio(x, proposed, model, template) + volumes[there] - volumes[here]
        # From where p = 0 any jump is as good as staying: both ends of such a jump carry no mass of P.
        acceptance = np.exp(np.minimum(0.0, np.where(np.isnan(log_ratio), -np.inf, log_ratio)))
        return proposed, np.where(inside, acceptance, 0.0)

    @staticmethod
    def _log_ratio(x: Floats, y: Floats, model: Any, template: Array) -> Floats:
        """log p(y) − log p(x), shape (n,)."""
        if Knowledge(model).log_density is not None:
            log_density = host_log_density(model, template)
            with np.errstate(invalid="ignore"):
                return np.asarray(log_density(y) - log_density(x))
        return log_ratio_along_paths(model, x, y, template)

    def memberships(self, samples: Array, model: Any) -> tuple[NDArray[np.intp], Floats]:
        r"""The cell of each point, (n,), and the cells' probabilities given its coordinates, (n, k)

        .. math:: P(j \mid z) \propto p(m_j + L_j z) \det L_j,

        over the modes j whose own cell contains :math:`m_j + L_j z`. Under P this is the law of the cell, given z.
        """
        x = to_host(samples)
        self._check_columns(x)
        here = self.modes.cells(x)
        z = self.modes.coordinates(x, here)
        logs = np.stack([self._log_mass(x, z, j, model, samples) for j in range(len(self.modes))], axis=1)
        logs[np.arange(len(x)), here] = self.modes.log_volumes[here]  # the point itself, without rounding
        top = logs.max(axis=1, keepdims=True)
        # Where p(x) = 0 < p elsewhere a ratio is infinite: such modes share all of the mass.
        logs = np.where(np.isinf(top), np.where(logs == top, 0.0, -np.inf), logs - np.where(np.isinf(top), 0.0, top))
        weights = np.exp(logs)
        return here, weights / weights.sum(axis=1, keepdims=True)

    def _log_mass(self, x: Floats, z: Floats, j: int, model: Any, template: Array) -> Floats:
        """log p(m_j + L_j z) + log det L_j − log p(x), and −∞ outside of cell j."""
        cells = np.full(len(x), j)
        place = self.modes.places(z, cells)
        ratio = self._log_ratio(x, place, model, template) + self.modes.log_volumes[j]
        return np.where((self.modes.cells(place) == j) & ~np.isnan(ratio), ratio, -np.inf)

    def _check_columns(self, x: Floats) -> None:
        if x.shape[1] != self.modes.dimension:
            raise ValueError(f"`modes` have {self.modes.dimension} coordinates, the samples {x.shape[1]} columns.")


def modes_of(jumps: Jumps | None) -> Modes | None:
    """The modes between which jumps go, where they know them."""
    return jumps.modes if isinstance(jumps, ModeJumps) else None


def as_jumps(jumps: Any, model: Any, template: Array | None = None) -> Jumps | None:
    """What a user passed as ``jumps``: ``None``, ``"auto"`` (from the model's own modes), or a :class:`Jumps`."""
    if jumps is None:
        return None
    if isinstance(jumps, str) and jumps == "auto":
        return ModeJumps.from_model(model, template=template)
    if isinstance(jumps, type) or not isinstance(jumps, Jumps):
        raise TypeError(f'`jumps` must be None, "auto" or an object with `move(samples, model, seed)`, got {jumps!r}.')
    return jumps
