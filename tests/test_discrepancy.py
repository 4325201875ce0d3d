"""The discrepancy as a distance: statistics by double loops, and the lemmas of the paper's appendix by quadrature."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as any_array
from numpy.typing import NDArray

from steinball.discrepancy import ksd, targeted_ksd
from steinball.kernels import Gaussian, InverseMultiquadric, Kernel, Matern
from steinball.kernels.base import median_distance
from steinball.models import from_scores
from steinball.problem import pose
from steinball.stein import SteinKernel
from steinball.tau.tilting import base_tilt
from steinball.tilts import PolynomialTilt, Tilt

pytestmark = pytest.mark.exact
Floats = NDArray[np.float64]
IMQ = InverseMultiquadric(1.0)


def minus(x: Any) -> Any:
    return -x


def imq(x: float, y: float) -> float:
    """u for N(0, 1) and φ = (1 + r²)^(−1/2), by hand."""
    q = 1.0 + (x - y) ** 2
    return float(q**-0.5 * x * y - q**-1.5 * (x - y) ** 2 - 3.0 * q**-2.5 * (x - y) ** 2 + q**-1.5)


points = any_array(float, st.integers(2, 9), elements=st.floats(-8.0, 8.0, allow_subnormal=False))


@given(x=points)
def test_v_and_u_statistics_are_double_loops(x: Floats) -> None:
    n = len(x)
    v = sum(imq(a, b) for a in x for b in x) / n**2
    u = sum(imq(x[i], x[j]) for i in range(n) for j in range(n) if i != j) / (n * (n - 1))
    assert ksd(x, minus, kernel=IMQ) == pytest.approx(max(0.0, v) ** 0.5, rel=1e-9, abs=1e-7)
    assert ksd(x, minus, kernel=IMQ, estimator="u") == pytest.approx(max(0.0, u) ** 0.5, rel=1e-7, abs=1e-7)


def test_a_negative_u_statistic_has_the_root_zero() -> None:
    x = np.array([-0.6, 0.6])
    assert imq(*x) < 0.0
    assert ksd(x, minus, kernel=IMQ, estimator="u") == 0.0


def test_defaults_are_the_median_distance_and_no_tilt() -> None:
    x = np.random.default_rng(0).normal(size=(30, 2))
    assert ksd(x, minus) == ksd(x, from_scores(-x), kernel=InverseMultiquadric(median_distance(x)), tilt=None)
    assert ksd(x, minus, tilt="auto") == ksd(x, minus, tilt=base_tilt(x))


@pytest.mark.backend
def test_every_array_library_gives_the_same_discrepancies(xp: Any) -> None:
    x, y = np.random.default_rng(1).normal(size=(20, 3)), np.random.default_rng(2).normal(size=(9, 3))
    for tilt in (None, "auto", PolynomialTilt()):
        options: Any = {"kernel": Matern(1.5, 2.5), "tilt": tilt}
        for estimator in ("v", "u"):
            theirs = ksd(xp.asarray(x), minus, estimator=estimator, **options)
            assert theirs == pytest.approx(ksd(x, minus, estimator=estimator, **options), rel=1e-10, abs=1e-12)
        theirs = targeted_ksd(xp.asarray(x), xp.asarray(y), minus, **options)
        assert theirs == pytest.approx(targeted_ksd(x, y, minus, **options), rel=1e-10)


def test_what_cannot_be_posed_is_refused() -> None:
    x = np.arange(4.0)
    with pytest.raises(TypeError, match=r"`kernel` must be a kernel of `steinball\.kernels`"):
        pose(x, minus, kernel=1.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match='`estimator` must be "v" or "u", got \'w\''):
        ksd(x, minus, estimator="w")
    with pytest.raises(ValueError, match=r"`model.score\(samples\)` must be finite"):
        ksd(x, lambda x: 1.0 / (x * 0.0 + np.array([[1.0], [1.0], [np.nan], [1.0]])))


# The model N(0, 1) by the trapezoidal rule, whose error for these analytic integrands is below 1e-12.
NODES = np.linspace(-13.0, 13.0, 521)
MASSES = np.exp(-(NODES**2) / 2.0) * (NODES[1] - NODES[0]) / math.sqrt(2.0 * math.pi)
ATOMS = np.array([-3.0, 0.4, 1.7, 6.0])
SETTINGS: list[tuple[Kernel, Tilt | None]] = [
    (InverseMultiquadric(1.3), None),
    (InverseMultiquadric(1.3), PolynomialTilt()),
    (Gaussian(0.8), PolynomialTilt(0.7, 0.5, 2.0)),
    (Gaussian(1.0) * InverseMultiquadric(2.0) + 0.5 * Gaussian(3.0), PolynomialTilt(1.0)),
]


class Measures:
    """Signed measures on the nodes and atoms under one Stein kernel; the embedding of P is 0."""

    def __init__(self, kernel: Kernel, tilt: Tilt | None) -> None:
        support = np.concatenate([NODES, ATOMS])[:, None]
        self.gram = SteinKernel(kernel, tilt)(support, -support, support, -support)
        self.model = np.concatenate([MASSES, np.zeros(4)])

    def discrete(self, masses: Any) -> Floats:
        return np.concatenate([np.zeros(len(NODES)), masses])

    def norm(self, measure: Floats) -> float:
        return math.sqrt(max(0.0, float(measure @ self.gram @ measure)))


@pytest.fixture(params=range(len(SETTINGS)))
def measures(request: pytest.FixtureRequest) -> Measures:
    return Measures(*SETTINGS[request.param])


def test_stein_functions_have_mean_zero_under_the_model(measures: Measures) -> None:
    """E u(X, y) = 0 for X from P and every y: Stein's identity, which sees each term and sign of u."""
    assert MASSES.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.abs(measures.gram @ measures.model).max() < 1e-10
    assert measures.norm(measures.model) < 1e-6


@pytest.mark.parametrize("share", [0.0, 0.01, 0.2, 0.7, 1.0])
def test_contaminating_the_model_scales_the_discrepancy(measures: Measures, share: float) -> None:
    """D((1 − ε)P + εR, P) = ε·D(R, P)."""
    other = measures.discrete([0.1, 0.2, 0.3, 0.4])
    mixed = (1.0 - share) * measures.model + share * other
    assert measures.norm(mixed) == pytest.approx(share * measures.norm(other), rel=1e-8, abs=1e-6)


def test_a_point_mass_is_as_far_as_the_root_of_its_diagonal(measures: Measures) -> None:
    """D(δ_z, P)² = u(z, z), the reason why θ = ε√τ is tight."""
    for k in range(4):
        atom = measures.discrete(np.eye(4)[k])
        assert measures.norm(atom - measures.model) ** 2 == pytest.approx(measures.gram[len(NODES) + k, len(NODES) + k])


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99, 1.0, 1.5])
def test_projection_onto_a_ball_is_the_excess_of_the_distance(measures: Measures, share: float) -> None:
    """inf of S_P(R, Q) over the ball of radius θ is max(0, D(R, P) − θ), reached by a mixture λR + (1 − λ)P."""
    other = measures.discrete([0.4, 0.1, 0.1, 0.4])
    distance = measures.norm(other)
    radius = share * distance
    mixtures = [(part, part * other + (1.0 - part) * measures.model) for part in np.linspace(0.0, 1.0, 501)]
    inside = [(part, q) for part, q in mixtures if measures.norm(q) <= radius * (1.0 + 1e-9)]
    best = min(measures.norm(other - q) for _, q in inside)
    assert max(part for part, _ in inside) == pytest.approx(min(1.0, share), abs=3e-3)
    assert best == pytest.approx(max(0.0, distance - radius), rel=1e-6, abs=3e-3 * distance)
    rng = np.random.default_rng(0)
    for _ in range(50):  # nothing else in the ball is nearer
        q = measures.discrete(rng.dirichlet(np.ones(4)))
        part = min(1.0, radius / measures.norm(q))
        q = part * q + (1.0 - part) * measures.model
        assert measures.norm(other - q) >= distance - radius - 1e-9


@pytest.mark.parametrize("masses", [[1.0, 0.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]])
def test_targeted_distance_to_the_model_is_the_discrepancy(measures: Measures, masses: list[float]) -> None:
    other = measures.discrete(masses)
    assert measures.norm(other - measures.model) == pytest.approx(measures.norm(other), rel=1e-9)


@pytest.mark.parametrize(("kernel", "tilt"), SETTINGS)
def test_targeted_distance_is_its_closed_form(kernel: Kernel, tilt: Tilt | None) -> None:
    """E u(X, X′) + E u(Y, Y′) − 2 E u(X, Y), pair by pair."""
    x, y = ATOMS, np.array([0.3, -2.0, 9.0])

    def u(a: float, b: float) -> float:
        p, q = np.array([[a]]), np.array([[b]])
        return float(SteinKernel(kernel, tilt)(p, -p, q, -q)[0, 0])

    def mean(first: Floats, second: Floats) -> float:
        return sum(u(a, b) for a in first for b in second) / (len(first) * len(second))

    expected = mean(x, x) + mean(y, y) - 2.0 * mean(x, y)
    assert targeted_ksd(x, y, minus, kernel=kernel, tilt=tilt) == pytest.approx(expected**0.5, rel=1e-10)


@given(x=points, y=points, z=points)
def test_targeted_distance_is_a_metric(x: Floats, y: Floats, z: Floats) -> None:
    options: Any = {"kernel": IMQ, "tilt": PolynomialTilt()}

    def distance(a: Floats, b: Floats) -> float:
        return targeted_ksd(a, b, minus, **options)

    assert distance(x, x) == pytest.approx(0.0, abs=1e-7)
    assert distance(x, y) == pytest.approx(distance(y, x), rel=1e-9, abs=1e-7)
    for a, b, c in permutations((x, y, z)):
        assert distance(a, c) <= distance(a, b) + distance(b, c) + 1e-7
    for a, b in permutations((x, y, z), 2):  # through the model itself
        assert abs(ksd(a, minus, **options) - ksd(b, minus, **options)) <= distance(a, b) + 1e-7
        assert distance(a, b) <= ksd(a, minus, **options) + ksd(b, minus, **options) + 1e-7


def test_order_and_repetition_of_a_sample_do_not_matter() -> None:
    x, y = np.random.default_rng(3).normal(size=(6, 3)), np.random.default_rng(4).normal(size=(4, 3))
    distance = targeted_ksd(x, y, minus, kernel=IMQ)
    assert targeted_ksd(x[::-1], np.tile(y, (3, 1)), minus, kernel=IMQ) == pytest.approx(distance, rel=1e-12)
    assert ksd(np.tile(x, (2, 1)), minus, kernel=IMQ) == pytest.approx(ksd(x, minus, kernel=IMQ), rel=1e-12)


def test_one_point_may_be_compared_with_many() -> None:
    assert targeted_ksd([0.0, 1.0], [2.0], minus, kernel=IMQ) > 0.0


def test_two_samples_must_belong_together() -> None:
    x = np.random.default_rng(5).normal(size=(5, 2))
    with pytest.raises(ValueError, match=r"`y` must have the 2 columns of `samples`, got shape \(3, 1\)"):
        targeted_ksd(x, np.zeros((3, 1)), minus)
    with pytest.raises(TypeError, match="`samples` is a numpy array but `y` is a torch array"):
        targeted_ksd(x, pytest.importorskip("torch").zeros((3, 2)), minus)
    with pytest.raises(ValueError, match="an array of scores, and scores are known only at the samples"):
        targeted_ksd(x, x + 1.0, from_scores(-x))


def test_overflow_is_an_error_and_not_a_nan() -> None:
    with pytest.raises(FloatingPointError, match="the Stein kernel overflows"):
        targeted_ksd([0.0, 1e200], [1.0, 2.0], minus, kernel=IMQ)


def test_the_answer_does_not_depend_on_where_zero_is() -> None:
    """Data and model moved together by a million; 2⁻²⁰ is a step that both places can hold exactly."""
    x = np.round(np.random.default_rng(6).normal(size=(40, 3)) * 2.0**20) * 2.0**-20
    here = ksd(x, minus, tilt=PolynomialTilt())
    there = ksd(x + 1e6, lambda x: 1e6 - x, tilt=PolynomialTilt(center=1e6))
    assert there == pytest.approx(here, rel=1e-9)
