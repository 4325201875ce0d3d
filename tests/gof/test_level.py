"""Level and power by simulation, and the proof that these tests can fail.

Samples have fixed seeds, bootstraps 199 draws, tests level 0.05. Every claim on a rate is decided by Wald's sequential
test (``tests/rates.py``), with chances of error of 0.1 % and 0.7 %.

In the second half each claim is repeated with one thing taken away from the method (the shift θ, the −1 in W − 1, a
factor 2), and must then not hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import steinball as sb
from steinball.gram.request import Request
from steinball.kernels import Kernel
from tests.rates import ALWAYS, EXACT_LEVEL, LEVEL, happens

pytestmark = pytest.mark.calibration

WEIGHTED, WILD = sb.WeightedBootstrap(199), sb.WildBootstrap(199)
TILT = sb.PolynomialTilt(0.5)
# Length scale² 2d: c = d/ℓ² = ½ in every dimension, so that u(x, x) is largest at |x| = 1.109 (τ = 1.38138).
WORST, TAU = 1.1091161285491298, 1.38139
KINDS = [(WEIGHTED, "v"), (WEIGHTED, "u"), (WILD, "v")]
KIND_NAMES = ["weighted-v", "weighted-u", "wild-v"]


def kernel(d: int) -> Kernel:
    return sb.InverseMultiquadric(math.sqrt(2.0 * d))


def samples(n: int, d: int, share: float = 0.0, place: float = 0.0) -> Iterator[NDArray[np.float64]]:
    """N(0, I) with exactly int(n·share) points, anywhere in the order, replaced by (place, 0, …, 0)."""
    for seed in count():
        rng = np.random.default_rng([seed, n, d])
        x = rng.normal(size=(n, d))
        outliers = rng.permutation(n)[: int(n * share)]
        x[outliers] = 0.0
        x[outliers, 0] = place
        yield x


def rejections(xs: Iterator[NDArray[np.float64]], **options: Any) -> Iterator[bool]:
    """For each sample whether the test against N(0, I) rejects."""
    return (sb.ksd_test(x, lambda x: -x, rng=i, **options).rejected for i, x in enumerate(xs))


# The point null


@pytest.mark.parametrize(("calibration", "estimator"), KINDS, ids=KIND_NAMES)
@pytest.mark.parametrize("tilt", [None, TILT], ids=["standard", "tilted"])
@pytest.mark.parametrize("d", [1, 5])
def test_the_point_null_is_rejected_at_the_level(d: int, tilt: Any, calibration: Any, estimator: str) -> None:
    options: dict[str, Any] = {"kernel": kernel(d), "tilt": tilt, "calibration": calibration, "estimator": estimator}
    assert happens(rejections(samples(150, d), **options), *EXACT_LEVEL)


def test_the_point_null_is_rejected_at_the_level_with_the_median_heuristic() -> None:
    assert happens(rejections(samples(150, 2), calibration=WEIGHTED), *EXACT_LEVEL)


def test_the_standard_test_sees_a_shift() -> None:
    """Mean 0.4 at n = 150: practically all samples are rejected."""
    shifted = (x + 0.4 for x in samples(150, 1))
    assert happens(rejections(shifted, kernel=kernel(1), calibration=WEIGHTED), *ALWAYS)


# The edge of the ball

EDGE = pytest.mark.parametrize("place", [WORST, 10.0, 100.0], ids=["worst", "ten", "hundred"])


@EDGE
@pytest.mark.parametrize(("calibration", "estimator"), KINDS, ids=KIND_NAMES)
@pytest.mark.parametrize("d", [1, 5])
def test_contamination_within_the_tolerance_keeps_the_level(
    d: int, place: float, calibration: Any, estimator: str
) -> None:
    """ε = ε₀ = 0.2, n = 100: where u is largest, where the bound is tight, and far away."""
    options: dict[str, Any] = {"kernel": kernel(d), "tilt": TILT, "calibration": calibration, "estimator": estimator}
    assert happens(rejections(samples(100, d, 0.2, place), radius=sb.Huber(0.2), tau=TAU, **options), *LEVEL)


@EDGE
def test_small_contamination_within_the_tolerance_keeps_the_level(place: float) -> None:
    """ε = ε₀ = 0.05 as in the paper, n = 200, everything at its default but the tilt."""
    options: dict[str, Any] = {"tilt": TILT, "radius": sb.Huber(0.05), "calibration": WEIGHTED}
    assert happens(rejections(samples(200, 1, 0.05, place), **options), *LEVEL)


@EDGE
@pytest.mark.parametrize("d", [1, 5])
def test_contamination_far_beyond_the_tolerance_is_found(d: int, place: float) -> None:
    """ε = 0.3 against ε₀ = 0.05, n = 200: practically all samples are rejected."""
    options: dict[str, Any] = {"kernel": kernel(d), "tilt": TILT, "calibration": WEIGHTED}
    assert happens(rejections(samples(200, d, 0.3, place), radius=sb.Huber(0.05), tau=TAU, **options), *ALWAYS)


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_the_contamination_conceded_is_rarely_more_than_there_is(share: float) -> None:
    """The bound exceeds the true share of contaminated points in at most 5 % of samples, and says something."""
    bounds = []

    def exceeds(i: int, x: NDArray[np.float64]) -> bool:
        result = sb.robust_ksd_test(x, lambda x: -x, 0.05, kernel=kernel(1), tilt=TILT, calibration=WEIGHTED, rng=i)
        bounds.append(result.contamination_bound)
        return bool(bounds[-1] > share)

    assert happens((exceeds(i, x) for i, x in enumerate(samples(150, 1, share, WORST))), *LEVEL)
    assert share == 0.0 or np.median(bounds) > share / 4


# The same claims with something taken away


class Uncentered(sb.WeightedBootstrap):
    """W in place of W − 1."""

    def request(self, n: int, seed: np.random.SeedSequence, start: int = 0) -> Request:
        return Request([chunk + 1 for chunk in super().request(n, seed, start).weights])


class Unshifted(sb.Huber):
    """Δ = D in place of max(0, D − θ)."""

    def __call__(self, problem: Any, tau: Any) -> float:
        return 0.0


@dataclass(frozen=True, eq=False)
class Halved(Kernel):
    """A kernel whose profile has lost a factor 2: in φ′ or in r²φ″."""

    base: Kernel
    which: int

    @property
    def metric(self) -> None:  # type: ignore[override]
        return None

    def profile(self, r2: Any) -> Any:
        parts = list(self.base.profile(r2))
        parts[self.which] = parts[self.which] / 2.0
        return tuple(parts)


def test_the_mutants_differ_from_the_method_by_what_they_say_and_by_nothing_else() -> None:
    x = next(samples(100, 1))

    def ksd(changed: Kernel) -> float:
        return sb.ksd(x, sb.from_scores(-x), kernel=changed, tilt=TILT)

    # φ, φ′ and r²φ″ all halved are the kernel halved; one alone is another function.
    every = Halved(Halved(Halved(kernel(1), 0), 1), 2)
    assert ksd(every) == pytest.approx(ksd(0.5 * kernel(1)), rel=1e-12)
    assert all(abs(ksd(Halved(kernel(1), which)) / ksd(kernel(1)) - 1.0) > 1e-3 for which in (1, 2))
    (ours,), (theirs,) = (
        c(5).request(30, np.random.SeedSequence(0)).weights for c in (Uncentered, sb.WeightedBootstrap)
    )
    assert np.array_equal(ours - 1, theirs)


@pytest.mark.parametrize("tilt", [None, TILT], ids=["standard", "tilted"])
@pytest.mark.parametrize("d", [1, 5])
def test_without_the_minus_one_the_level_is_lost(d: int, tilt: Any) -> None:
    options: dict[str, Any] = {"kernel": kernel(d), "tilt": tilt, "calibration": Uncentered(199)}
    assert not happens(rejections(samples(150, d), **options), *EXACT_LEVEL)


@EDGE
@pytest.mark.parametrize("d", [1, 5])
def test_without_the_minus_one_contamination_is_not_found(d: int, place: float) -> None:
    options: dict[str, Any] = {"kernel": kernel(d), "tilt": TILT, "calibration": Uncentered(199)}
    assert not happens(rejections(samples(200, d, 0.3, place), radius=sb.Huber(0.05), tau=TAU, **options), *ALWAYS)


@EDGE
@pytest.mark.parametrize(("calibration", "estimator"), KINDS, ids=KIND_NAMES)
@pytest.mark.parametrize("d", [1, 5])
def test_without_the_shift_the_edge_is_rejected(d: int, place: float, calibration: Any, estimator: str) -> None:
    options: dict[str, Any] = {"kernel": kernel(d), "tilt": TILT, "calibration": calibration, "estimator": estimator}
    assert not happens(rejections(samples(100, d, 0.2, place), radius=Unshifted(0.2), tau=TAU, **options), *LEVEL)


@pytest.mark.parametrize("tilt", [None, TILT], ids=["standard", "tilted"])
@pytest.mark.parametrize(("d", "which"), [(1, 2), (5, 1), (5, 2)], ids=["1-curvature", "5-slope", "5-curvature"])
def test_without_a_factor_two_the_level_is_lost(d: int, which: int, tilt: Any) -> None:
    options: dict[str, Any] = {"kernel": Halved(kernel(d), which), "tilt": tilt, "calibration": WEIGHTED}
    assert not happens(rejections(samples(150, d), **options), *EXACT_LEVEL)
