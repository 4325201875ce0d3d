"""Huber's model tested with bounded Stein functions: E f ≤ ε sup f in place of ε√τ|f|."""

from __future__ import annotations

from typing import Any

import numpy as np

from steinball.arrays import (
    Floats,
    OutOfRangeError,
    as_number,
    as_numbers,
    as_samples,
    as_seed,
    check_choice,
    check_level,
    check_resamples,
    check_share,
    generator_at,
    private_copy,
    to_host,
)
from steinball.evidence.means import METHODS, BoundedMean, MeansEvidence
from steinball.gof.mode_weights import SharpResult
from steinball.jumps.offset import as_jumps, modes_of
from steinball.kernels.base import Kernel
from steinball.kernels.radial import Gaussian
from steinball.models.base import model_at
from steinball.models.knowledge import Knowledge
from steinball.models.support import Support, place
from steinball.record import recorded
from steinball.tau.witness import Basis, Window, Witness, certified_supremum, cover, lipschitz_of, smooth
from steinball.text import describe

_LARGEST_DIMENSION = 3
_MOST_CENTERS = 64
_LEAST_WIDTH = 1e-70
_GRID_SLACK = 4  # cubes overlap the sides of a long box: so many times the points of the linear program, at most
# For d = 1, 2, 3: the length scale in standard deviations, the largest charge, and the points of the linear program.
# The rougher f, the finer the boxes that bound it: cheap on the line, and the reason for smoothness in space.
_SHAPES = {1: (1.0, 3.0, 500), 2: (2.5, 0.1, 1500), 3: (3.0, 0.05, 5000)}


@recorded
def sharp_huber_test(
    x: Any,
    model: Any,
    contamination: float,
    *,
    split: float = 0.5,
    kernel: Kernel | None = None,
    support: tuple[Any, Any] | None = None,
    score_lipschitz: Any = None,
    method: str = "betting",
    level: float = 0.05,
    rng: Any = None,
    jumps: Any = None,
    budget: int = 1_000_000,
) -> SharpResult:
    r"""Test Huber's model with one bounded Stein function, fixed on one part of the data and averaged over the other

    .. math:: Q = (1 - \varepsilon') P + \varepsilon' R,\ \varepsilon' \le \varepsilon
       \;\Longrightarrow\; E_Q f = \varepsilon' E_R f \le \varepsilon \sup f \qquad (E_P f = 0),

    which replaces the bound ε√τ|f| of the robust KSD test by the supremum of f itself, in dimension 1 to 3.

    Parameters
    ----------
    x, model
        As in :func:`steinball.ksd_test`; a model with a score that can be evaluated anywhere.
    contamination : float
        The tolerated share ε.
    split : float
        The share of the data, chosen at random, that f is made from.
    kernel : Gaussian or InverseMultiquadric, optional
        What f is made of; by default a Gaussian at a robust scale of the first part, or with jumps at that of a mode.
    support : (lower, upper), optional
        The box outside of which f is 0; by default the inner 98 % of the first part, and a margin.
    score_lipschitz : float or callable, optional
        A bound of ‖∇∇log p‖ over the support, or a function (centers, radius) -> bounds. Known for Gaussians and
        Gaussian mixtures, and asked of ``model.score_lipschitz``.
    method : {"betting", "asymptotic"}
        A finite-sample test, or the t statistic.
    level, rng
        As in :func:`steinball.ksd_test`; ``rng`` splits the data and moves them.
    jumps : None, "auto" or Jumps
        Moves between modes before anything else (:class:`steinball.jumps.ModeJumps`).
    budget : int
        Evaluations of f for the bound of its supremum. When it runs out the bound is looser and still valid.

    Returns
    -------
    SharpResult

    Notes
    -----
    f is a sum of Stein functions with compact support, the one with the largest mean over the first part among those
    that stay below 1 (a linear program); then its supremum is bounded for certain by branch and bound.

    Proved (``docs/theory/many-modes.md``): with ``method="betting"`` the level holds for every n and uniformly over
    Huber's model, if p is locally Lipschitz and the Lipschitz bound of its score is right. ``"asymptotic"`` holds for
    n → ∞ with f fixed. Simulated: the power. It is sharp on the line, good in the plane, and in space the bound of the
    supremum is several times too large, so that little is ever rejected. On unimodal models the robust KSD test with
    :class:`BoundaryBootstrap` uses all of the data and rejects more often; this test is for modes and for certainty.

    Examples
    --------
    >>> import steinball as sb
    >>> from steinball.gof.sharp_huber import sharp_huber_test
    >>> x = np.random.default_rng(0).normal(size=1000)
    >>> x[:200] = 4.0
    >>> sharp_huber_test(x, sb.models.Gaussian(), contamination=0.05, rng=0).rejected
    True
    """
    contamination, budget = check_share(contamination, "contamination"), check_resamples(budget, "budget")
    method, level = check_choice(method, "method", METHODS), check_level(level)
    samples, seed = as_samples(x, least=8), as_seed(rng)
    model = model_at(model, samples)
    _check_reach(samples, model)
    samples = place(samples, Knowledge(model).support)[0]
    moves = as_jumps(jumps, model, samples)
    moved = to_host(samples if moves is None else moves.move(private_copy(samples), model, seed))
    first, second = _parts(moved, split, generator_at(seed, 1 << 20))
    window = _checked(_inside(_window(first, support), Knowledge(model).support))
    witness = _fitted(model, first, kernel, window, moves, Knowledge(model).evaluated_in(samples))
    slopes = lipschitz_of(model, score_lipschitz)
    top, seen = certified_supremum(witness, slopes, budget=budget)
    bottom, _ = certified_supremum(witness, slopes, sign=-1.0, tolerance=0.2, budget=budget)
    scale = top if top > 0.0 else 1.0  # f = 0 where no point of the first part is inside the support
    means = (BoundedMean(witness(second) / scale, -bottom / scale),)
    details = {"kernel": describe(witness.basis.kernel), "supremum": top, "largest seen": seen}
    details |= {"split": f"{len(first)} + {len(second)}", "jumps": "no" if moves is None else type(moves).__name__}
    evidence = MeansEvidence(means, method)
    return SharpResult.of(evidence, contamination, level, "Sharp Huber test", samples.shape, details)


def _check_reach(samples: Any, model: Any) -> None:
    d = int(samples.shape[1])
    if d > _LARGEST_DIMENSION:
        raise ValueError(
            f"`sharp_huber_test` bounds the supremum of a function over a box, which is for d ≤ {_LARGEST_DIMENSION}; "
            f"got d = {d}. Use `robust_ksd_test`, or `mode_weights_test` for the weights of modes."
        )
    if not Knowledge(model).evaluable:
        raise TypeError("`sharp_huber_test` needs the score away from the samples; `model` is an array of scores.")


def _parts(x: Floats, split: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    share = as_number(split, "split", low=0.0, high=1.0, open_low=True)
    first = min(max(2, round(share * len(x))), len(x) - 2)
    order = rng.permutation(len(x))
    return x[order[:first]], x[order[first:]]


def _fitted(model: Any, first: Floats, kernel: Kernel | None, window: Window, moves: Any, template: Any) -> Witness:
    """The best Stein function for the first part, on centers spread over it."""
    d = first.shape[1]
    chi, _ = window(first)
    inside = first[chi > 0.0] if (chi > 0.0).any() else first
    stretch, charge, points = _SHAPES[d]
    kernel = Gaussian(stretch * (_mode_scale(moves) or _robust_scale(inside))) if kernel is None else kernel
    spacing = 0.7 * smooth(kernel).lengthscale
    basis = Basis(model, kernel, window, _spread(inside, spacing, _MOST_CENTERS), template)
    finest = float(((window.upper - window.lower).prod() / points) ** (1.0 / d)) / 2.0
    grid = np.vstack([cover(window.lower, window.upper, finest, _GRID_SLACK * points)[0], basis.centers])
    # Deeper functions see wrong weights of modes better, shallow ones vary less: both found by simulation.
    return basis.best(first, grid, low=1.0 if moves is None else 2.0, charge=charge)


def _spread(x: Floats, distance: float, most: int) -> Floats:
    """Points of ``x``, each the farthest from those before it, until all are within ``distance`` of one."""
    chosen, apart = [int(np.argmin(np.sum((x - np.median(x, axis=0)) ** 2, axis=1)))], np.full(len(x), np.inf)
    while len(chosen) < most:
        apart = np.minimum(apart, np.linalg.norm(x - x[chosen[-1]], axis=1))
        if apart.max() <= distance:
            break
        chosen.append(int(np.argmax(apart)))
    return x[chosen]


def _robust_scale(x: Floats) -> float:
    """The smallest of the coordinates' median absolute deviations, as standard deviations."""
    scales = 1.4826 * np.median(np.abs(x - np.median(x, axis=0)), axis=0)
    return float(scales[scales > 0.0].min(initial=np.inf)) if (scales > 0.0).any() else 1.0


def _mode_scale(moves: Any) -> float | None:
    """The standard deviation of a mode, where the moves know their modes."""
    modes = modes_of(moves)
    if modes is None or len(modes) < 2:
        return None
    return float(np.sqrt(np.median([np.trace(c) / len(c) for c in modes.covariances])))


def _checked(window: Window) -> Window:
    """The window, if its fourth powers are floats and it has an inside."""
    widths = window.upper - window.lower
    if not ((widths > _LEAST_WIDTH) & (widths < 1.0 / _LEAST_WIDTH)).all():
        raise OutOfRangeError(
            f"the box that f lives in has sides of {widths.min():g} to {widths.max():g}, too small or too large for "
            "its derivatives. Rescale `samples`, or give another `support`."
        )
    return window


def _inside(window: Window, support: Support | None) -> Window:
    """The window cut at the edges of the model's support: f must vanish there, as Stein's identity demands."""
    if support is None:
        return window
    low, high = support.along(len(window.lower))
    lower, upper = np.maximum(window.lower, low), np.minimum(window.upper, high)
    return Window(lower, upper, np.minimum(window.edge, (upper - lower) / 8.0))


def _sides(support: Any, d: int) -> tuple[Floats, Floats]:
    """The two sides that a user gave of a box, (d,) each."""
    if not isinstance(support, (tuple, list)) or len(support) != 2:
        raise TypeError(f"`support` must be a pair (lower, upper), got {support!r}.")
    sides = [as_numbers(side, "support") for side in support]
    if not all(side.shape in ((), (1,), (d,)) for side in sides):
        raise ValueError(f"`support` must have one number or {d} on either side, got {support!r}.")
    lower, upper = (np.broadcast_to(side, (d,)).copy() for side in sides)
    return lower, upper


def _window(first: Floats, support: tuple[Any, Any] | None) -> Window:
    """The given box, or the inner 98 % of the points with a margin, no farther than 10 deviations from the median."""
    d = first.shape[1]
    if support is not None:
        lower, upper = _sides(support, d)
        if not (np.isfinite(lower) & np.isfinite(upper) & (lower < upper)).all():
            raise ValueError(f"`support` must be (lower, upper), finite, lower below upper; got {support!r}.")
        return Window(lower, upper, (upper - lower) / 8.0)
    low, middle, high = np.quantile(first, [0.01, 0.5, 0.99], axis=0)
    reach = 10.0 * 1.4826 * np.median(np.abs(first - middle), axis=0)
    unit = np.maximum(1.0, 1e-6 * np.abs(middle))  # for a column that does not vary
    reach = np.where(reach > 0.0, reach, np.maximum(high - low, unit))
    low, high = np.maximum(low, middle - reach), np.minimum(high, middle + reach)
    margin = 0.125 * np.where(high > low, high - low, unit) + 1e-9
    return Window(low - margin, high + margin, margin)
