"""A model against itself: its score against its log density and its draws, its modes, and scores that are none."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np

from steinball import cautions
from steinball.arrays import Floats, like, to_host
from steinball.jumps.modes import SEPARATION, count_groups
from steinball.models.kept import kept_with
from steinball.models.knowledge import Knowledge
from steinball.models.reference import known_of, sampler_failure
from steinball.models.score_check import check_score, undeclared_edges
from steinball.models.support import off_edges
from steinball.problem import Problem
from steinball.remarks import Remark

DIRECTION_DRAWS = 512
"""Draws of the reference from which the tested Stein function is made; the others are its sample."""

EXCESS = 4.75
"""Standard errors above which the mean of a feature of the model's own draws is not 0."""

RARE = 0.25
"""The share of Σu that the largest thousandth of the draws may have.

Over 40 seeds normal, mixed, Student's, Laplace and logistic models have .001–.012, exp(−x⁴) .033, exp(−x¹⁰), Γ(5) and
log-normal with σ = .5 at most .14; Γ(2) has .29–.97, Γ(1.5) .49–1.00, log-normal with σ = 1 .31–.76. At n = 200 and
level .05 a test without a tilt rejects the first .03–.06 of the time, the others .11–.28."""

PATIENCE = 0.05
"""Seconds that the log density may take at a few points before it is left alone."""

_POINTS, _MOST_COLUMNS = 25, 10
_THOUSAND, _LEAST_ROWS = 1024, 50


def contradictions(problem: Problem) -> Iterator[Remark]:
    """Remarks on a model whose score, log density and draws contradict each other; nothing of built-in models."""
    if problem.known.verified or not problem.evaluable:
        return
    yield from _wrong_score(problem)
    yield from _wrong_draws(problem)


def _wrong_score(problem: Problem) -> Iterator[Remark]:
    """The score at 25 of the samples against the model's log density, in up to ten columns."""
    if problem.known.log_density is None or problem.samples.shape[1] > _MOST_COLUMNS:
        return
    finding = kept_with(problem.known.original, _wrong_score, lambda: _finding(problem))
    if finding:
        yield Remark(
            cautions.WrongScoreWarning,
            f"the model contradicts itself. {finding}",
            "`sb.check_score` shows it; `check_model=False` turns this off.",
        )


def _finding(problem: Problem) -> str:
    known, x = problem.known, problem.samples[:_POINTS, :]
    assert known.log_density is not None
    try:
        start = time.monotonic()
        known.log_density(x)
        if time.monotonic() - start > PATIENCE:
            return ""
        if known.derived:
            endings = undeclared_edges(problem.model, known.log_density, x)
            return f"{endings[0].finding} Say where it ends: `support=...`." if endings else ""
        found = check_score(problem.model, x)
    except Exception:  # a user's log density may raise anything; it is not needed by the test
        return ""
    return "" if found.ok else found.message


def _wrong_draws(problem: Problem) -> Iterator[Remark]:
    """The draws of the model against its score, for this kind of tilt; found out once per model."""
    failure = sampler_failure(problem.model, problem.samples)
    if failure:
        yield Remark(
            cautions.SteinIdentityWarning,
            f"the model could not be checked against its own draws: `model.sample` failed ({failure}).",
            "Correct the sampler, or leave it out; `check_model=False` turns this off.",
        )
    reference, kind = problem.reference, type(problem.stein.tilt)
    if reference is None or reference.scores is None:
        return
    excess, share = kept_with(problem.known.original, (_wrong_draws, kind), lambda: identity_excess(problem))
    if excess > EXCESS:
        yield _identity_fails(excess, problem)
    elif share > RARE:
        yield Remark(
            cautions.RareFeaturesWarning,
            f"one in a thousand draws of the model, the largest, have {share:.0%} of the sum of u(x, x): what matters "
            "to this test is too rare to be seen in a sample, and its level cannot be trusted.",
            'Use `tilt="auto"` and say where the density ends (`support=...`); `check_model=False` turns this off.',
        )


def identity_excess(problem: Problem) -> tuple[float, float]:
    r"""How far Stein's identity is from holding for the draws of the reference

    .. math:: z = \frac{\bar f}{\operatorname{sd}(f) / \sqrt N}, \qquad f(y) = \frac1m \sum_j u(x_j, y),

    in standard errors, with x the first 512 draws and y the others; and the share of the largest thousandth of the
    draws in Σu(y, y).
    """
    reference, support = problem.reference, problem.support
    assert reference is not None
    draws = off_edges(reference.draws, support)
    all_draws = problem.at(like(draws, problem.samples))
    points, n = all_draws.points, len(all_draws)
    block = problem.stein.block(points.rows(DIRECTION_DRAWS, n), points.rows(0, DIRECTION_DRAWS))
    f = to_host(block).mean(axis=1)
    u = np.sort(to_host(all_draws.diagonal)[DIRECTION_DRAWS:])
    error = float(f.std(ddof=1)) / np.sqrt(len(f))
    return float(f.mean()) / error if error > 0.0 else 0.0, float(u[-max(1, len(u) // _THOUSAND) :].sum() / u.sum())


def _identity_fails(excess: float, problem: Problem) -> Remark:
    remedy = (
        "Say where the density ends (`support=...`), or correct the score or the sampler (`sb.check_score` compares a "
        "score with its density)"
    )
    if problem.support is not None:
        remedy = "Correct the support, which must be neither too wide nor too narrow, the score or the sampler"
    return Remark(
        cautions.SteinIdentityWarning,
        f"the model contradicts itself: Stein's identity fails for its own draws, by {excess:.1f} standard errors. Its "
        "density does not vanish at an edge, or score and sampler belong to different distributions; data that come "
        "from the model will be rejected.",
        f"{remedy}; `check_model=False` turns this off.",
    )


def separated_modes(problem: Problem) -> Iterator[Remark]:
    """A remark that a test of this model without jumps says nothing about the weights of its modes."""
    groups = known_of(problem.model, "groups", lambda: count_groups(problem.model), problem.samples)
    if groups is not None and groups > 1:
        yield Remark(
            cautions.SeparatedModesWarning,
            f"the model has {groups} groups of modes more than {SEPARATION:g} standard deviations apart. Its score "
            "knows the shape of each and not how much mass it has: this test cannot see wrong weights of the modes.",
            'Use `jumps="auto"`, or `mode_weights_test` for the weights alone.',
        )


def mistaken_score(problem: Problem) -> Iterator[Remark]:
    """A question whether a bare function on the line is a log density.

    A score that is negative at every sample belongs to a density that falls over all of them, which then has at least a
    quarter of its mass in the left quarter of their range. A log density is negative too, has a hump in the middle, and
    fewer points on its left: the question is asked where they are two standard errors below a quarter.
    """
    if not Knowledge(problem.rows.original_model).bare_function or problem.samples.shape[1] > 1:
        return
    x, s = problem.rows.original[:, 0], to_host(problem.scores)[:, 0]
    if len(x) < _LEAST_ROWS or not (s < 0.0).all() or not _has_a_hump(x, s):
        return
    if _left_share(x) < 0.25 - 2.0 * math.sqrt(0.1875 / len(x)):
        yield Remark(
            cautions.LogDensityWarning,
            "`model` is negative at every sample and largest in their middle. As a score ∇log p that would be a "
            "density which falls everywhere, and these points do not look like it; a log density looks like this.",
            "If it is one, use `sb.from_log_density(f, backend=...)`.",
        )


def _has_a_hump(x: Floats, s: Floats) -> bool:
    """Whether both outer tenths lie below the middle."""
    low, high = np.quantile(x, (0.1, 0.9))
    inner = np.median(s[(x > low) & (x < high)]) if ((x > low) & (x < high)).any() else -np.inf
    return bool(max(np.median(s[x <= low]), np.median(s[x >= high])) < inner)


def _left_share(x: Floats) -> float:
    """The share of points in the left quarter of the range of most of them."""
    low, high = np.quantile(x, (0.01, 0.99))
    return float(np.mean(x <= low + 0.25 * (high - low)))
