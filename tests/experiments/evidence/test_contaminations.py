"""Distances of contaminations from N(0, I): against the package's own Stein kernel, by draws and by quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize_scalar

import steinball as sb
from experiments.evidence import contaminations
from experiments.evidence.contaminations import KINDS, lengthscale, supremum
from steinball.stein import SteinKernel

pytestmark = pytest.mark.exact

DIMENSIONS = (1, 2, 10, 50)


def stein(d: int) -> SteinKernel:
    return SteinKernel(sb.InverseMultiquadric(lengthscale(d)), sb.PolynomialTilt())


@pytest.mark.parametrize("d", DIMENSIONS)
def test_the_length_scale_is_the_median_distance_of_draws_of_the_model(d: int) -> None:
    x = np.random.default_rng(0).standard_normal((1500, d))
    assert lengthscale(d) == pytest.approx(sb.kernels.median_distance(x), rel=0.05)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_the_supremum_is_the_maximum_of_the_stein_kernel_and_lies_where_it_says(d: int) -> None:
    """u(x, x) depends on |x| alone, so a line from the origin shows all of it."""

    def value(r: float) -> float:
        x = r * np.eye(1, d)
        return float(stein(d).diagonal(x, -x)[0])

    found = minimize_scalar(lambda r: -value(r), bounds=(0.0, 3.0), options={"xatol": 1e-9})
    tau, norm = supremum(d)
    assert tau == pytest.approx(-found.fun, rel=1e-12)
    assert norm == pytest.approx(found.x, abs=1e-5)
    assert value(100.0) < tau


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_distance_is_the_mean_of_the_stein_kernel_over_pairs_of_draws(kind: str, d: int) -> None:
    """A U-statistic of 1,500 draws, within four of its standard errors; exact where all draws are one point."""
    x = KINDS[kind].draw(1500, d, np.random.default_rng(1))
    assert x.shape == (1500, d)
    u = stein(d)(x, -x, x, -x)
    n, diagonal = len(x), np.diag(u)
    rows = (u.sum(axis=1) - diagonal) / (n - 1)
    square = KINDS[kind].distance(d) ** 2
    degenerate = np.sqrt(2.0 * np.mean(u * u)) / n  # the part of the error that does not come from the row means
    room = 4.0 * (2.0 * rows.std() / np.sqrt(n) + degenerate) if kind not in ("worst point", "far point") else 1e-12
    assert abs(rows.mean() - square) <= room
    assert room < 0.3 * square or square < 0.006  # the comparison says something wherever there is much to say


DENSITIES = {
    "shifted": stats.norm(1.5, 1.0),
    "wide": stats.norm(0.0, 3.0),
    "heavy tails": stats.t(2.0),
}


@pytest.mark.parametrize("kind", DENSITIES)
def test_in_one_dimension_a_distance_is_a_double_integral_of_the_stein_kernel(kind: str) -> None:
    """Midpoints of 2,000 equal shares of R: another rule, and the package's kernel instead of Stein's identity."""
    x = DENSITIES[kind].ppf((np.arange(2000) + 0.5) / 2000)[:, None]
    assert KINDS[kind].distance(1) == pytest.approx(np.sqrt(stein(1)(x, -x, x, -x).mean()), rel=2e-3)


def test_a_wide_normal_in_two_dimensions_by_another_rule() -> None:
    """D² = ∫ |E_R A k(·, y)|² in disguise: here the expectation over Y′ at fixed Y, by polar quadrature of u itself."""
    radius = stats.chi(2, scale=3.0).ppf((np.arange(60) + 0.5) / 60)
    angle = 2.0 * np.pi * (np.arange(48) + 0.5) / 48
    y = np.stack([np.outer(radius, np.cos(angle)).ravel(), np.outer(radius, np.sin(angle)).ravel()], axis=1)
    assert KINDS["wide"].distance(2) == pytest.approx(np.sqrt(stein(2)(y, -y, y, -y).mean()), rel=0.01)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_more_nodes_do_not_change_a_distance(d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {name: rule(d) for name, rule in _RULES.items()}
    for name in ("_RADII", "_ANGLES", "_SCALES"):
        monkeypatch.setattr(contaminations, name, getattr(contaminations, name) * 5 // 4)
    assert {name: rule(d) for name, rule in _RULES.items()} == pytest.approx(before, abs=1e-6)


_RULES = {"shifted": contaminations._shifted, "wide": contaminations._wide, "heavy tails": contaminations._heavy}


def test_a_cosine_between_directions_has_the_right_moments() -> None:
    """E t² = 1/d, E t⁴ = 3/(d(d + 2))."""
    for d in DIMENSIONS:
        nodes, weights = contaminations._cosines(d)
        moments = [float(weights @ nodes**k) for k in range(5)]
        assert moments == pytest.approx([1.0, 0.0, 1.0 / d, 0.0, 3.0 / (d * (d + 2.0))], abs=1e-12)


def test_the_half_line_rule_integrates_what_decays() -> None:
    r, weight = contaminations._half_line(120, 2.0)
    assert float(weight @ np.exp(-r * r)) == pytest.approx(np.sqrt(np.pi) / 2.0, rel=1e-9)
    assert float(weight @ (1.0 + r * r) ** -2) == pytest.approx(np.pi / 4.0, rel=1e-9)


def test_contamination_scales_the_distance_by_its_share() -> None:
    """D(Q, P) = ε D(R, P): V-statistics of half a million draws' worth of midpoints, in one dimension."""
    share, size = 0.2, 1000
    clean = stats.norm().ppf((np.arange(4 * size) + 0.5) / (4 * size))
    y = DENSITIES["shifted"].ppf((np.arange(size) + 0.5) / size)
    x = np.concatenate([clean, y])[:, None]
    square = np.mean([stein(1)(part, -part, x, -x).mean() for part in np.split(x, 10)])
    assert np.sqrt(square) == pytest.approx(share * KINDS["shifted"].distance(1), rel=5e-3)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_the_distance_of_two_points_is_that_of_their_four_pairs(d: int) -> None:
    x = 3.0 * np.stack([np.ones(d), -np.ones(d)])
    assert KINDS["two points"].distance(d) == pytest.approx(np.sqrt(stein(d)(x, -x, x, -x).mean()), rel=1e-12)
