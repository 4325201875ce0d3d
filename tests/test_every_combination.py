"""Every calibration with every engine, estimator and radius: the right p-value, or a refusal by name.

The right one is computed here from definitions, with full matrices in float64 and nothing of the library but the random
weights and orders that a seed stands for, and the constants of the bets.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import brentq

import steinball as sb
import steinball.gram.lowrank
from steinball.arrays import as_seed
from steinball.calibration.betting import BETS
from steinball.radius.base import as_radius

pytestmark = pytest.mark.exact
Floats = NDArray[np.float64]

N, SEED, LEVEL, TAU = 60, 5, 0.1, 1.9
MEAN, VARIANCE, LENGTHSCALE = 0.2, 1.7, 1.1
MODEL = sb.models.Gaussian(MEAN, VARIANCE)
X = np.where(np.arange(N) % 5 == 4, 2.2, np.random.default_rng(2).normal(MEAN, math.sqrt(VARIANCE), size=N))
OTHER = np.random.default_rng(3).normal(0.4, 1.3, size=30)


@pytest.fixture(autouse=True)
def few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer random pairs: the bounds are wider, and no less valid."""
    monkeypatch.setattr(steinball.gram.lowrank, "PAIRS", (2**10, 2**12))


# The definition: u of k(x, y) = w(x) h(x − y) w(y), h = (1 + r²/ℓ²)^(−1/2), w = (1 + x²)^(−1/2), on the line.


def gram(x: Floats) -> Floats:
    """s(x) s(y) k + s(x) ∂_y k + s(y) ∂_x k + ∂_x ∂_y k at every pair."""
    s, w, slope = -(x - MEAN) / VARIANCE, (1.0 + x**2) ** -0.5, -x * (1.0 + x**2) ** -1.5
    t = x[:, None] - x[None, :]
    q = 1.0 + t**2 / LENGTHSCALE**2
    h, first = q**-0.5, -t / LENGTHSCALE**2 * q**-1.5
    second = 3.0 * t**2 / LENGTHSCALE**4 * q**-2.5 - q**-1.5 / LENGTHSCALE**2
    left, right, left_slope, right_slope = w[:, None], w[None, :], slope[:, None], slope[None, :]
    k = left * h * right
    k_x = left_slope * h * right + left * first * right
    k_y = left * h * right_slope - left * first * right
    k_xy = left_slope * (h * right_slope - first * right) + left * (first * right_slope - second * right)
    return np.asarray(s[:, None] * s[None, :] * k + s[:, None] * k_y + s[None, :] * k_x + k_xy)


U = gram(X)


def squared_ksd(u: Floats, estimator: str) -> float:
    n = len(u)
    return float(u.mean()) if estimator == "v" else float((u.sum() - np.trace(u)) / (n * (n - 1)))


# Radii, each with θ from its own definition.

SPAN = 2.0 * math.sqrt(TAU)  # Δ, where nothing better is known


def operator_norm(x: Floats, risk: float) -> float:
    """The largest p with m kl(λ̂/τ ‖ p) ≤ log(1/risk), times τ."""
    share, m = float(np.linalg.eigvalsh(gram(x))[-1]) / len(x) / TAU, len(x)

    def excess(p: float) -> float:
        kl = share * math.log(share / p) + (1.0 - share) * math.log((1.0 - share) / (1.0 - p))
        return m * kl + math.log(risk)

    return TAU * float(brentq(excess, share, 1.0 - 1e-12, xtol=1e-14))


def student_mass(df: float) -> float:
    """∫ |q − p| for a t distribution of unit variance and the standard Gaussian."""
    scale = math.sqrt((df - 2.0) / df)
    edges = [0.0, *sb.StudentTails(df).crossings, math.inf]
    parts = [
        quad(lambda x: stats.t.pdf(x, df, scale=scale) - stats.norm.pdf(x), a, b, epsabs=1e-13)[0]
        for a, b in itertools.pairwise(edges)
    ]
    return 2.0 * math.fsum(abs(part) for part in parts)


LIKE = sb.models.Gaussian(0.5, 1.7)
LIKE_DRAWS = np.asarray(LIKE.sample(60, np.random.default_rng(0)))[:, 0]

RADII: dict[str, tuple[Any, float]] = {
    "number": (0.05, 0.05),
    "FixedRadius": (sb.FixedRadius(0.02), 0.02),
    "Huber": (sb.Huber(0.03), 0.03 * math.sqrt(TAU)),
    "Huber of nothing": (sb.Huber(0.0), 0.0),
    "TotalVariation": (sb.TotalVariation(0.02), 0.02 * SPAN),
    "Hellinger": (sb.Hellinger(0.02), 0.02 * math.sqrt(2.0 - 0.02**2) * SPAN),
    "KullbackLeibler": (sb.KullbackLeibler(0.001), math.sqrt(0.0005) * SPAN),
    "ChiSquared": (sb.ChiSquared(0.01, draws=OTHER), math.sqrt(0.01 * operator_norm(OTHER, 0.001))),
    "DensityBand": (sb.DensityBand(0.04), 0.02 * SPAN),
    "StudentTails": (sb.StudentTails(30.0), 0.5 * student_mass(30.0) * SPAN),
    "Wasserstein": (sb.Wasserstein(0.02, lipschitz=2.0), 0.04),
    "ScoreError": (sb.ScoreError(0.03), 0.03),
    "Alternative": (sb.Alternative(OTHER), math.sqrt(max(0.0, squared_ksd(gram(OTHER), "u")))),
    "LikeModel": (sb.LikeModel(LIKE, n_draws=60, confidence=None), math.sqrt(squared_ksd(gram(LIKE_DRAWS), "v"))),
    "Sum": (sb.Huber(0.02) + sb.ScoreError(0.01), 0.02 * math.sqrt(TAU) + 0.01),
}


# Calibrations, each with p(θ) from its own definition.

PValue = Callable[[Any, str, float], float]


def weights_of(calibration: Any) -> Floats:
    return np.concatenate(list(calibration.request(N, as_seed(SEED)).weights)).astype(float)


def share_reached(reached: Any, ksd: float, radius: float, total: int) -> float:
    return 1.0 if ksd <= radius else (1 + int(np.count_nonzero(reached))) / (total + 1)


def by_draws(calibration: Any, estimator: str, radius: float) -> float:
    """(1 + #{D_b ≥ D − θ})/(B + 1); a draw of the U-statistic has the sign of its square."""
    w, ksd = weights_of(calibration), math.sqrt(max(0.0, squared_ksd(U, estimator)))
    squares = np.einsum("bi,ij,bj->b", w, U, w) / N**2
    if estimator == "u":
        squares = (squares - np.square(w) @ np.diag(U) / N**2) * N / (N - 1)
    draws = np.sign(squares) * np.sqrt(np.abs(squares))
    return share_reached(draws * (1.0 + 1e-12) >= ksd - radius, ksd, radius, len(w))


def by_the_edge(calibration: Any, estimator: str, radius: float) -> float:
    """The share of draws that reach D from the center of the ball or from its edge, where the data point to."""
    w, ksd = weights_of(calibration), math.sqrt(squared_ksd(U, "v"))
    if calibration.scheme == "scaled":
        w /= np.sqrt(np.square(w).mean(axis=1, keepdims=True))
    squares, along = np.einsum("bi,ij,bj->b", w, U, w) / N**2, w @ U.mean(axis=1) / N / ksd
    farthest = np.sqrt(np.maximum(squares, radius**2 + 2.0 * radius * along + squares))
    return share_reached(farthest * (1.0 + 1e-12) >= ksd, ksd, radius, len(w))


def by_bounds(calibration: Any, estimator: str, radius: float) -> float:
    """The smallest level at which one of the bounds lies below D − θ."""
    excess, root = math.sqrt(squared_ksd(U, "v")) - radius, math.sqrt(TAU)
    if excess <= 0.0:
        return 1.0
    above = max(0.0, excess - math.sqrt(radius**2 + (TAU - radius**2) / N) + radius)
    tails = {
        "mcdiarmid": math.exp(-0.5 * max(0.0, excess * math.sqrt(N / TAU) - 1.0) ** 2),
        "norm": math.exp(-0.5 * N * above**2 / TAU),
        "pinelis": 2.0 * math.exp(-0.5 * N * (excess / (root + radius)) ** 2),
    }
    return min(1.0, *(tails[name] for name in calibration.bounds))


def wealth(payoffs: list[float], radius: float, strategy: str, reference: float) -> Floats:
    """W after each point: a mean over constant bets, or one path of Newton's bets for the reference radius."""
    gains = [(f - radius) / (math.sqrt(TAU) + radius) for f in payoffs]
    if strategy == "mixture":
        paths = [np.cumprod([1.0, *(1.0 + bet * gain for gain in gains)]) for bet in BETS]
        return np.asarray(np.average(paths, axis=0, weights=BETS))
    path, bet, curvature = [1.0], 0.0, 1.0
    for f, gain in zip(payoffs, gains, strict=True):
        path.append(path[-1] * (1.0 + bet * gain))
        seen = (f - reference) / (math.sqrt(TAU) + reference)
        slope = seen / (1.0 + bet * seen)
        curvature += slope**2
        bet = min(0.5, max(0.0, bet + 2.0 / (2.0 - math.log(3.0)) * slope / curvature))
    return np.array(path)


def by_bets(calibration: Any, estimator: str, radius: float) -> float:
    """1/max W in one order; over several orders 1 over the mean of the final W."""
    paths = []
    for places in calibration.request(N, as_seed(SEED)).orders:
        u = U[np.ix_(np.argsort(places), np.argsort(places))]
        payoffs = [u[:t, t].sum() / math.sqrt(u[:t, :t].sum()) for t in range(1, N)]
        paths.append(wealth(payoffs, radius, calibration.strategy, calibration.reference * math.sqrt(TAU)))
    evidence = paths[0].max() if len(paths) == 1 else np.mean([path[-1] for path in paths])
    return min(1.0, 1.0 / float(evidence))


@functools.cache
def samples_of_the_model(count: int) -> tuple[Floats, Floats]:
    """Lengths of all partial sums of so many samples, and the random number of each: sixteen samples at a time."""
    norms, uniforms = [], []
    for k in range(-(-count // 16)):
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(as_seed(SEED).entropy, spawn_key=(3, k))))
        uniforms += list(rng.random(16))
        for sample in np.asarray(MODEL.sample(16 * N, rng)).reshape(16, N):
            u = gram(sample)
            norms.append([math.sqrt(max(0.0, u[:m, :m].sum())) for m in range(N + 1)])
    return np.array(norms[:count]), np.array(uniforms[:count])


def by_samples(calibration: Any, estimator: str, radius: float) -> float:
    """The share of samples, contaminated at the worst place, that reach D; where mass may go, the better of two halves
    of the level."""
    (norms, uniforms), ksd = samples_of_the_model(calibration.n_resamples), math.sqrt(squared_ksd(U, "v"))
    if radius in (0.0, RADII["Huber"][1]):
        bad = [int(k) for k in stats.binom.ppf(uniforms, N, radius / math.sqrt(TAU))] if radius else [0] * len(norms)
        reached = [bad[j] * math.sqrt(TAU) + norms[j, N - bad[j]] >= N * ksd for j in range(len(norms))]
        return share_reached(reached, ksd, radius, len(norms))
    halves = [
        max(stats.binom.sf(k, N, radius / SPAN), (1 + np.sum(norms[:, -1] >= N * ksd - k * SPAN)) / (len(norms) + 1))
        for k in range(N + 1)
    ]
    return 1.0 if ksd <= radius else min(1.0, 2.0 * float(min(halves)))


CALIBRATIONS: list[tuple[Any, PValue]] = [
    (sb.WeightedBootstrap(59), by_draws),
    (sb.WildBootstrap(59), by_draws),
    (sb.BoundaryBootstrap(59), by_the_edge),
    (sb.BoundaryBootstrap(59, "wild"), by_the_edge),
    (sb.BoundaryBootstrap(59, "scaled"), by_the_edge),
    (sb.DeviationBound(), by_bounds),
    (sb.DeviationBound("mcdiarmid"), by_bounds),
    (sb.Betting(), by_bets),
    (sb.Betting(order="arrival"), by_bets),
    (sb.Betting(3), by_bets),
    (sb.Betting(strategy="newton"), by_bets),
    (sb.MonteCarlo(59), by_samples),
]
ENGINES = ("auto", "dense", "blocked", "lowrank")


def refusal(calibration: Any, engine: str, estimator: str, radius: Any) -> str:
    """How the error that a combination must meet begins, as a pattern; empty where an answer is due."""
    name = type(calibration).__name__
    if estimator == "u" and name not in ("WeightedBootstrap", "WildBootstrap"):
        return rf"^{name}\(.*V-statistic.*estimator="
    if name == "MonteCarlo" and as_radius(radius).variation is None:
        return rf"^`calibration={name}\(.*does not hold over .*{re.escape(repr(as_radius(radius)))}"
    needs = {"Betting": "earlier points", "MonteCarlo": "samples of the model"}
    return rf'^{name}\(.*{needs[name]}.*engine="lowrank"' if engine == "lowrank" and name in needs else ""


@functools.cache
def result_of(index: int, engine: str, estimator: str, radius: str) -> Any:
    return sb.ksd_test(
        X, MODEL, kernel=sb.InverseMultiquadric(LENGTHSCALE), tilt=sb.PolynomialTilt(), radius=RADII[radius][0],
        tau=TAU, calibration=CALIBRATIONS[index][0], estimator=estimator, engine=engine, level=LEVEL, rng=SEED,
    )  # fmt: skip


COMBINATIONS = [(k, engine, estimator) for k in range(len(CALIBRATIONS)) for engine in ENGINES for estimator in "vu"]


@pytest.mark.parametrize(("k", "engine", "estimator"), COMBINATIONS)
def test_every_combination_is_right_or_refused_by_name(k: int, engine: str, estimator: str) -> None:
    calibration, definition = CALIBRATIONS[k]
    for name, (radius, theta) in RADII.items():
        if pattern := refusal(calibration, engine, estimator, radius):
            with pytest.raises(ValueError, match=pattern):
                result_of(k, engine, estimator, name)
            continue
        result, wanted = result_of(k, engine, estimator, name), definition(calibration, estimator, theta)
        ksd = math.sqrt(max(0.0, squared_ksd(U, estimator)))
        assert result.radius == pytest.approx(theta, rel=1e-8, abs=1e-15), name
        if engine == "lowrank":
            (low, high), (least, most) = result.details["ksd_bounds"], result.details["pvalue_bounds"]
            assert low - 1e-9 <= ksd <= high + 1e-9, name
            assert least * (1.0 - 1e-9) <= wanted <= most * (1.0 + 1e-9), name
        else:
            assert result.ksd == pytest.approx(ksd, rel=1e-9), name
            assert result.pvalue == pytest.approx(wanted, rel=1e-8), name
            assert result.rejected == (wanted <= LEVEL and result.statistic > result.threshold), name


def test_the_examples_are_neither_all_rejected_nor_all_accepted() -> None:
    """Otherwise a p-value of 1 or of 1/(B + 1) would be right everywhere."""
    for k, (calibration, definition) in enumerate(CALIBRATIONS):
        values = [definition(calibration, "v", theta) for _, theta in RADII.values()]
        assert len(set(values)) > 3, CALIBRATIONS[k]


@pytest.mark.parametrize("k", range(len(CALIBRATIONS)))
def test_every_reading_of_a_result_is_the_test_itself_or_refused(k: int) -> None:
    """at() from every other calibration: the same p-value as a test of its own, or a word on what is missing."""
    calibration = CALIBRATIONS[k][0]
    own = result_of(k, "dense", "v", "Huber")
    for j, (other, _) in enumerate(CALIBRATIONS):
        first = result_of(j, "dense", "v", "Huber")
        same = first._evidence.request.missing(own._evidence.request) == ""
        if same and (first._evidence.predictable or not calibration.predictable):
            assert first.at(calibration=calibration).pvalue == own.pvalue, other
        else:
            with pytest.raises(ValueError, match=rf"^`calibration={type(calibration).__name__}\(.*run the test again"):
                first.at(calibration=calibration)


CLOSED = {"Huber", "Huber of nothing", "TotalVariation", "Hellinger", "KullbackLeibler", "ChiSquared", "DensityBand",
          "StudentTails"}  # fmt: skip


class Mirror:
    """Reflections about the mean, which the model does not notice."""

    def move(self, samples: Any, model: Any, seed: np.random.SeedSequence, /) -> Any:
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(len(samples), 1))
        return MEAN + signs * (samples - MEAN)


@pytest.mark.parametrize("name", RADII)
def test_every_radius_with_jumps_is_taken_or_refused_by_name(name: str) -> None:
    options: dict[str, Any] = {"radius": RADII[name][0], "tilt": sb.PolynomialTilt(), "tau": TAU, "rng": 0}
    if name in CLOSED:
        moved = sb.ksd_test(X, MODEL, kernel=sb.InverseMultiquadric(LENGTHSCALE), jumps=Mirror(), **options)
        assert moved.radius == pytest.approx(RADII[name][1], rel=1e-8)
    else:
        with pytest.raises(ValueError, match="`jumps` can carry members of the set behind"):
            sb.ksd_test(X, MODEL, jumps=Mirror(), **options)
