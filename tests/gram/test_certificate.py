"""The certificate of the low-rank engine, attacked: residuals made to defeat it, and everything between two ends."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from steinball.calibration import BoundaryBootstrap, WeightedBootstrap, WildBootstrap
from steinball.evidence.bounds import upper_bound_direction
from steinball.evidence.ksd import Reading
from steinball.gram.base import GramSummary
from steinball.gram.lowrank import draw_slack
from steinball.gram.whole import DenseGram
from steinball.models import Gaussian
from steinball.problem import pose
from steinball.tau.certificate import Supremum
from steinball.tilts import PolynomialTilt

pytestmark = pytest.mark.exact
Floats = NDArray[np.float64]

SCHEMES: dict[str, Callable[[int], Any]] = {
    "weighted": WeightedBootstrap,
    "wild": WildBootstrap,
    "balanced": partial(BoundaryBootstrap, scheme="wild"),
}


def _one_point(n: int) -> Floats:
    return np.eye(n, 1)


def _opposite_pair(n: int) -> Floats:
    """Two vectors that cancel unless their signs differ: what balanced signs do most often."""
    vectors = np.zeros((n, 1))
    vectors[:2, 0] = 1.0, -1.0
    return vectors


def _alternating(n: int) -> Floats:
    return np.asarray((-1.0) ** np.arange(n))[:, None]


def _two_clusters(n: int) -> Floats:
    return np.repeat(np.eye(2), [n // 2, n - n // 2], axis=0)


def _orthogonal(n: int) -> Floats:
    return np.eye(n)


def _uneven(n: int) -> Floats:
    rng = np.random.default_rng(n)
    return np.asarray(rng.standard_t(1.1, size=(n, 3)) * np.array([1.0, 0.1, 0.01]))


RESIDUALS = {
    "one point": _one_point,
    "an opposite pair": _opposite_pair,
    "alternating": _alternating,
    "two clusters": _two_clusters,
    "orthogonal": _orthogonal,
    "uneven": _uneven,
}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kind", RESIDUALS)
def test_adversarial_residuals_stay_within_the_bound_on_the_draws(scheme: str, kind: str) -> None:
    """3,000 draws, each with its own δ = .02: at most .02 + 4 s.e. = .03 of them leave it; n even and odd."""
    for n in (2, 9, 60):
        vectors = RESIDUALS[kind](n)
        request = SCHEMES[scheme](3000).request(n, np.random.SeedSequence(n))
        weights = np.concatenate(list(request.weights)).astype(float)
        squares = np.square(weights @ vectors).sum(axis=1) / n**2
        bound = draw_slack(np.square(vectors).sum(axis=1), 1, request.spread, failure=0.02)
        assert np.mean(squares > bound) <= 0.03
        along = (weights @ vectors) @ vectors.sum(axis=0) / n**2  # wᵀR1/n², by Cauchy and Schwarz
        assert (np.abs(along) <= np.sqrt(squares * np.square(vectors.sum(axis=0)).sum()) / n + 1e-12).all()


def test_balanced_signs_are_a_random_matching_with_independent_signs() -> None:
    """Σ|ξ|² over the pairs of any matching is at most 2 tr R, and an opposite pair reaches it."""
    assert BoundaryBootstrap(9, scheme="wild").request(8, np.random.SeedSequence(0)).spread == 2.0
    signs = np.concatenate(list(BoundaryBootstrap(20_000, scheme="wild").request(4, np.random.SeedSequence(0)).weights))
    rng = np.random.default_rng(0)
    order, flips = rng.permuted(np.tile(np.arange(4), (20_000, 1)), axis=1), rng.choice([-1, 1], (20_000, 2))
    matched = np.empty_like(order)
    np.put_along_axis(matched, order, np.stack([flips, -flips], axis=2).reshape(-1, 4), axis=1)
    for rows in (signs, matched):
        _, counts = np.unique(rows, axis=0, return_counts=True)
        assert len(counts) == 6
        assert np.abs(counts / 20_000 - 1 / 6).max() < 4 * math.sqrt(5 / 36 / 20_000)


def _summary() -> GramSummary:
    rng = np.random.default_rng(0)
    problem = pose(np.where(np.arange(50) % 4 == 0, 2.0, rng.normal(size=50)), Gaussian(), None, PolynomialTilt())
    return DenseGram(problem).summarise(BoundaryBootstrap(39).request(50, np.random.SeedSequence(1)))


@pytest.mark.parametrize(
    "calibration", [WeightedBootstrap(39), BoundaryBootstrap(39), BoundaryBootstrap(39, "scaled")], ids=type
)
def test_every_value_between_the_bounds_decides_between_the_ends(calibration: Any) -> None:
    """D, draws and linear forms anywhere in their bounds: p-values and both confidence bounds stay between the ends."""
    exact, rng = _summary(), np.random.default_rng(3)
    wide = 0.15 * exact.mean
    less, more = exact.linear_forms - 0.3 * wide, exact.linear_forms + 0.3 * wide
    near = replace(
        exact,
        grade="approximate",
        mean_bounds=(exact.mean - wide, exact.mean + wide),
        form_bounds=(exact.quadratic_forms, exact.quadratic_forms + wide),
        linear_bounds=(less, more),
    )
    reading = Reading(near, calibration, Supremum(1.7, "given"), "v")
    low, high = reading.ends
    for radius in (0.0, 0.1, 0.2, 0.3):
        for _ in range(40):
            inside = replace(
                exact,
                mean=float(rng.uniform(*near.mean_bounds)),  # type: ignore[misc]
                quadratic_forms=exact.quadratic_forms + wide * rng.choice([0.0, rng.random(), 1.0], size=39),
                linear_forms=np.where(rng.random(39) < 0.5, less, more),
            )
            answer = replace(reading, summary=inside)
            pvalues = [found.decide(radius, 0.05).pvalue for found in (low, answer, high)]
            assert pvalues == sorted(pvalues)
            assert high.lower_bound(0.05) <= answer.lower_bound(0.05) + 1e-12
            assert reading.upper_bound(0.05) >= answer.upper_bound(0.05) - 1e-12


def test_the_upper_bound_holds_for_the_worst_draws_between_two_values() -> None:
    """The standard deviation is not monotone in the draws: half of them up and half down is worse than either."""
    rng = np.random.default_rng(0)
    lower = np.sqrt(rng.chisquare(3.0, 99)) / 10
    upper = np.sqrt(np.square(lower) + 0.05)
    order = np.argsort(lower)
    bound, beyond = upper_bound_direction(0.2, lower, 0.05, upper), 0
    for k in range(0, 100, 3):
        mixed = lower.copy()
        mixed[order[k:]] = upper[order[k:]]
        value = upper_bound_direction(0.2, mixed, 0.05)
        beyond += value > max(upper_bound_direction(0.2, end, 0.05) for end in (lower, upper))
        assert value <= bound
    assert beyond > 10, "the ends alone do not bound it"
