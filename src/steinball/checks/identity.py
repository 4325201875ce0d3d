"""A model against itself: whether its own draws agree with its score, as Stein's identity demands."""

from __future__ import annotations

import time
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import like, to_host
from steinball.cautions import RareFeaturesWarning, SteinIdentityWarning, caution
from steinball.models.knowledge import Knowledge
from steinball.stein import SteinProblem, center_of
from steinball.tilts import Tilt

__all__ = ["check_identity", "identity_excess"]

Floats = NDArray[np.float64]

DIRECTION_DRAWS = 512
FRESH_DRAWS = 16384
EXCESS = 4.75
"""Standard errors above which the mean of a feature of the model's own draws is not 0."""

RARE = 0.25
"""The share of Σu that the largest thousandth of the draws may have.

Over 40 seeds normal, mixed, Student's, Laplace and logistic models have .001–.012, exp(−x⁴) .033, exp(−x¹⁰), Γ(5) and
log-normal with σ = .5 at most .14; Γ(2) has .29–.97, Γ(1.5) .49–1.00, log-normal with σ = 1 .31–.76. At n = 200 and
level .05 a test without a tilt rejects the first .03–.06 of the time, the others .11–.28."""

PATIENCE = 0.2
"""Seconds that the first draws may take."""

_NUMBERS = 2**22  # coordinates of fresh draws at most: fewer draws in many dimensions
_TOGETHER = 2048
_THOUSAND = 1024

_DONE: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()


def check_identity(problem: SteinProblem) -> None:
    """Warn, once per model and kind of tilt, where the model's own draws contradict its score.

    Skipped for models that are known to be right, that cannot be sampled, or only slowly.
    """
    known = Knowledge(problem.model)
    if known.verified or known.sampler is None or not known.evaluable or not _first_time(problem):
        return
    try:
        found = identity_excess(problem)
    except Exception:  # a sampler or a score that fails here fails where it is needed, by name
        return
    if found is None:
        return
    excess, share = found
    if excess > EXCESS:
        _warn_identity(excess, problem)
    elif share > RARE:
        _warn_rare(share)


def identity_excess(problem: SteinProblem, patience: float = PATIENCE) -> tuple[float, float] | None:
    r"""How far the identity is from holding, in standard errors, and the share of the largest thousandth of draws in Σu

    .. math:: z = \frac{\bar f}{\operatorname{sd}(f) / \sqrt N}, \qquad f(y) = \frac1m \sum_j u(x_j, y),

    with x and y draws of the model; ``None`` where the first draws take longer than ``patience``.
    """
    start = time.monotonic()
    first = _drawn(problem, DIRECTION_DRAWS, 0)
    if time.monotonic() - start > patience:
        return None
    fresh = _drawn(problem, min(FRESH_DRAWS, max(DIRECTION_DRAWS, _NUMBERS // first.samples.shape[1] // 8)), 1)
    center = center_of(first.samples)
    columns = first.stein.prepare(first.samples, first.scores, center)
    rows = fresh.stein.prepare(fresh.samples, fresh.scores, center)
    blocks = (
        fresh.stein.block(rows.rows(k, min(k + _TOGETHER, len(fresh))), columns)
        for k in range(0, len(fresh), _TOGETHER)
    )
    f = np.concatenate([to_host(block).mean(axis=1) for block in blocks])
    u = np.sort(to_host(fresh.diagonal))
    error = float(f.std(ddof=1)) / np.sqrt(len(f))
    return float(f.mean()) / error if error > 0.0 else 0.0, float(u[-max(1, len(u) // _THOUSAND) :].sum() / u.sum())


def _drawn(problem: SteinProblem, n: int, seed: int) -> SteinProblem:
    """The problem at draws of the model, by seeds of our own."""
    draws = Knowledge(problem.model).needed_draws(n, np.random.SeedSequence([53, seed]))
    support = problem.support
    return problem.at(like(draws if support is None else support.off_edges(draws), problem.samples))


def _first_time(problem: SteinProblem) -> bool:
    kind = _kind(problem.stein.tilt)
    try:
        done = _DONE.setdefault(problem.model, set())
    except TypeError:  # cannot be remembered, so that it would be checked every time
        return False
    if kind in done:
        return False
    done.add(kind)
    return True


def _kind(tilt: Tilt | None) -> str:
    return "none" if tilt is None else type(tilt).__name__


def _warn_identity(excess: float, problem: SteinProblem) -> None:
    remedy = (
        "Say where the density ends (`support=...`), or correct the score or the sampler (`sb.check_score` compares a "
        "score with its density)"
    )
    if problem.support is not None:
        remedy = "Correct the support, which must be neither too wide nor too narrow, the score or the sampler"
    caution(
        SteinIdentityWarning,
        f"the model contradicts itself: Stein's identity fails for its own draws, by {excess:.1f} standard errors. Its "
        "density does not vanish at an edge, or score and sampler belong to different distributions; data that come "
        "from the model will be rejected.",
        f"{remedy}; `check_model=False` turns this off.",
    )


def _warn_rare(share: float) -> None:
    caution(
        RareFeaturesWarning,
        f"one in a thousand draws of the model, the largest, have {share:.0%} of the sum of u(x, x): what matters to "
        "this test is too rare to be seen in a sample, and its level cannot be trusted.",
        'Use `tilt="auto"` and say where the density ends (`support=...`); `check_model=False` turns this off.',
    )
