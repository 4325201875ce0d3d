"""The finite-sample bound: its formula, its inverse, and its validity at small n."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import steinball as sb
from steinball.calibration.deviation import BOUNDS, DeviationNull
from steinball.cautions import UnboundedSteinKernelWarning

# N(0, 1), lengthscale² = 2, tilt exponent ½: the supremum is 1 + (1 + c)v − v² − v³ at v = (√(4 + 3c) − 1)/3, c = ½.
_V = (math.sqrt(5.5) - 1) / 3
TAU = 1 + 1.5 * _V - _V**2 - _V**3
WORST = math.sqrt(1 / _V - 1)
KERNEL, TILT = sb.InverseMultiquadric(math.sqrt(2.0)), sb.PolynomialTilt(0.5)


def gamma_n(tau: float, n: int, level: float) -> float:
    """Paper App. D: γₙ = √(τ/n) + √(−2 τ log(α) / n)."""
    return math.sqrt(tau / n) + math.sqrt(-2 * tau * math.log(level) / n)


@pytest.mark.exact
@given(
    tau=st.floats(1e-12, 1e12), n=st.integers(2, 10**7), level=st.floats(1e-12, 0.999999), radius=st.floats(0.0, 10.0)
)
def test_the_pvalue_inverts_the_bound(tau: float, n: int, level: float, radius: float) -> None:
    null = DeviationNull(tau, n)
    threshold = null.threshold(level, radius)
    assert threshold == pytest.approx(gamma_n(tau, n, level), rel=1e-12)
    assert null.pvalue(threshold, 0.0) == pytest.approx(level, rel=1e-6)
    assert null.pvalue(threshold * 1.001, 0.0) < level
    assert null.pvalue(threshold * 0.999, 0.0) > level


def by_hand(kind: str, tau: float, n: int, level: float, radius: float) -> float:
    """The bounds as they stand in docs/theory/deviation.md, written out once more."""
    root = math.sqrt(tau)
    if kind == "mcdiarmid":
        return gamma_n(tau, n, level)
    if kind == "norm":
        return math.sqrt(radius**2 + (tau - radius**2) / n) - radius + math.sqrt(-2 * tau * math.log(level) / n)
    return (root + radius) * math.sqrt(2 * math.log(2 / level) / n)


@pytest.mark.exact
@pytest.mark.parametrize("kind", BOUNDS)
@given(tau=st.floats(1.2, 50.0), n=st.integers(2, 10**6), level=st.floats(2e-3, 0.9), share=st.floats(0.0, 0.99))
def test_every_bound_is_its_formula_and_its_pvalue_inverts_it(
    kind: str, tau: float, n: int, level: float, share: float
) -> None:
    null, radius = DeviationNull(tau, n, (kind,)), share * math.sqrt(tau)
    threshold = null.threshold(level, radius)
    assert threshold == pytest.approx(by_hand(kind, tau, n, level, radius), rel=1e-9)
    assert null.pvalue(radius + threshold, radius) == pytest.approx(level, rel=1e-5)


@pytest.mark.exact
@given(
    tau=st.floats(1.2, 50.0), n=st.integers(2, 10**5), level=st.floats(2e-3, 0.5), share=st.floats(0.0, 0.9),
    excess=st.floats(0.0, 3.0),
)  # fmt: skip
def test_the_smallest_of_several_bounds_has_the_smallest_of_their_pvalues(
    tau: float, n: int, level: float, share: float, excess: float
) -> None:
    """Rejected at a level ⇔ p ≤ level, at every level; and no bound alone rejects where they do not."""
    null, radius = DeviationNull(tau, n, BOUNDS), share * math.sqrt(tau)
    single = [DeviationNull(tau, n, (kind,)) for kind in BOUNDS]
    assert null.threshold(level, radius) == min(one.threshold(level, radius) for one in single)
    ksd = radius + excess
    pvalue = null.pvalue(ksd, radius)
    assert pvalue == min(one.pvalue(ksd, radius) for one in single)
    if abs(pvalue - level) > 1e-9:
        assert (ksd - radius > null.threshold(level, radius)) == (pvalue < level)
    assert pvalue <= null.pvalue(ksd, min(ksd, radius * 1.1)) + 1e-15


@pytest.mark.exact
@given(tau=st.floats(1.2, 50.0), n=st.integers(2, 10**5), level=st.floats(2e-3, 0.5), share=st.floats(0.0, 1.0))
def test_the_lower_bound_is_the_largest_radius_rejected(tau: float, n: int, level: float, share: float) -> None:
    for bounds in (("mcdiarmid",), ("norm", "pinelis"), BOUNDS):
        null, ksd = DeviationNull(tau, n, bounds), share * math.sqrt(tau)
        low = null.lower_bound(ksd, level)
        assert 0.0 <= low <= ksd
        if low > 1e-6:
            assert null.pvalue(ksd, low * (1 - 1e-6)) < level < null.pvalue(ksd, low * (1 + 1e-6))
        else:
            assert null.pvalue(ksd, 1e-5) >= level * (1 - 1e-3)
        assert ksd < null.upper_bound(ksd, level) * (1 + 1e-12)
    paper = DeviationNull(tau, n)
    assert paper.lower_bound(ksd, level) == pytest.approx(max(0.0, ksd - gamma_n(tau, n, level)), abs=1e-9)


@pytest.mark.exact
@given(tau=st.floats(1e-6, 1e6), n=st.integers(2, 10**6), level=st.floats(1e-9, 0.9), share=st.floats(0.0, 1.0))
def test_mcdiarmid_for_the_norm_is_never_above_the_papers_bound(tau: float, n: int, level: float, share: float) -> None:
    radius = share * math.sqrt(tau)
    norm, paper = (DeviationNull(tau, n, (kind,)).threshold(level, radius) for kind in ("norm", "mcdiarmid"))
    assert norm <= paper * (1 + 1e-12)


@pytest.mark.exact
def test_pinelis_gains_a_sixth_at_five_percent_and_nothing_beyond_a_quarter() -> None:
    """17 % at ε₀ = .05; no better than the paper's from ε₀ = .269 on (level .05), whatever n and τ."""
    pinelis, paper = (DeviationNull(2.0, 300, (kind,)) for kind in ("pinelis", "mcdiarmid"))
    ratio = {e: pinelis.threshold(0.05, e * 2**0.5) / paper.threshold(0.05, 0.0) for e in (0.05, 0.269, 0.27)}
    assert ratio[0.05] == pytest.approx(0.827, abs=1e-3)
    assert ratio[0.269] < 1.0 < ratio[0.27]


@pytest.mark.exact
def test_the_automatic_choice_goes_by_n_and_radius_and_not_by_the_data() -> None:
    """Pinelis at radius 0, McDiarmid for the norm at a large radius or n."""

    def best(n: int, share: float) -> str:
        bounds = sb.DeviationBound().bounds
        return min(bounds, key=lambda kind: DeviationNull(1.4, n, (kind,)).threshold(0.05, share * 1.4**0.5))

    assert best(100, 0.0) == best(10**6, 0.0) == best(100, 0.05) == "pinelis"
    assert best(1000, 0.05) == best(100, 0.2) == "norm"


@pytest.mark.exact
def test_kinds_are_checked_and_say_what_they_need() -> None:
    with pytest.raises(ValueError, match='`kind` must be "auto" or one of mcdiarmid, norm'):
        sb.DeviationBound("hoeffding")
    assert sb.DeviationBound("mcdiarmid").bounds == ("mcdiarmid",)


@pytest.mark.exact
def test_the_pvalue_is_one_up_to_the_mean_part_of_the_bound() -> None:
    null = DeviationNull(4.0, 100)
    assert null.pvalue(0.2, 0.0) == 1.0
    assert null.pvalue(0.1, 0.3) == 1.0
    assert null.pvalue(0.4, 0.0) == pytest.approx(math.exp(-0.5))
    assert null.pvalue(0.7, 0.3) == pytest.approx(math.exp(-0.5))


def bounded_test(x: Any, kind: str = "mcdiarmid", **options: Any) -> sb.GofResult:
    return sb.ksd_test(x, lambda x: -x, kernel=KERNEL, tilt=TILT, calibration=sb.DeviationBound(kind), **options)


@pytest.mark.exact
def test_a_test_by_the_bound_makes_no_draws_and_is_not_random() -> None:
    x = np.random.default_rng(0).normal(size=50)
    first, second = (bounded_test(x, tau=TAU, rng=seed, level=1e-9) for seed in (0, 1))
    assert first.draws is None
    assert first.n_resamples == 0
    assert (first.pvalue, first.threshold) == (second.pvalue, second.threshold)
    assert first.threshold == pytest.approx(gamma_n(TAU, 50, 1e-9), rel=1e-12)
    assert list(sb.DeviationBound().request(50, np.random.SeedSequence(0)).weights) == []


@pytest.mark.exact
def test_there_is_nothing_to_extend() -> None:
    with pytest.raises(TypeError, match="no bootstrap draws"):
        bounded_test(np.arange(5.0), tau=TAU).extend(100)


@pytest.mark.exact
def test_the_bound_is_for_v_statistics() -> None:
    with pytest.raises(ValueError, match='estimator="v"'):
        bounded_test(np.arange(5.0), estimator="u")


@pytest.mark.exact
def test_every_level_and_radius_follow_from_one_result() -> None:
    x = np.random.default_rng(0).normal(loc=1.0, size=200)
    result = bounded_test(x, tau=TAU)
    for level in (0.5, 0.05, 1e-3, 1e-12):
        for share in (0.0, 0.1, 0.9):
            later = result.at(level=level).at(contamination=share)
            excess = result.ksd - share * math.sqrt(TAU)
            assert later.rejected == (excess > gamma_n(TAU, 200, level)) == (later.pvalue <= level)
    assert result.at(level=0.5).contamination_bound > result.contamination_bound > 0.0


@pytest.mark.exact
def test_an_unbounded_stein_kernel_is_warned_about() -> None:
    x = np.random.default_rng(0).normal(size=50)
    with pytest.warns(UnboundedSteinKernelWarning, match="`DeviationBound` needs a bounded Stein kernel"):
        sb.ksd_test(x, lambda x: -x, calibration=sb.DeviationBound(proven=False))
    sb.ksd_test(x, lambda x: -4.0 * x / (3.0 + x**2), calibration=sb.DeviationBound(proven=False))


@pytest.mark.exact
def test_what_the_proof_needs_is_insisted_on_unless_it_is_given_up() -> None:
    x, model = np.random.default_rng(0).normal(size=50), sb.models.Gaussian()
    with pytest.raises(ValueError, match=r'needs an upper bound of u.* Use tau="auto"'):
        sb.ksd_test(x, model, tilt="auto", calibration=sb.DeviationBound())
    with pytest.raises(ValueError, match="must not choose its kernel from the data"):
        sb.ksd_test(x, lambda x: -x, tilt=sb.PolynomialTilt(), calibration=sb.DeviationBound(), tau=4.0)
    with pytest.raises(ValueError, match="must not look ahead"):
        sb.robust_ksd_test(x, model, 0.05, rng=0, standardize=False).at(calibration=sb.DeviationBound())
    proven = sb.robust_ksd_test(x, model, 0.05, calibration=sb.DeviationBound())
    moved = sb.robust_ksd_test(x + 3.0, model, 0.05, calibration=sb.DeviationBound())
    assert proven.kernel == moved.kernel
    later = sb.robust_ksd_test(x, model, 0.05, tau="auto", rng=0).at(calibration=sb.DeviationBound())
    assert later.pvalue == proven.pvalue
    papers = sb.ksd_test(x, model, tilt="auto", calibration=sb.DeviationBound(proven=False), rng=0, standardize=False)
    assert papers.tau_kind == "sample"
    assert papers.kernel != proven.kernel


@pytest.mark.exact
def test_a_given_kernel_may_be_read_by_a_proven_bound() -> None:
    x = np.random.default_rng(0).normal(size=50)
    fixed: dict[str, Any] = {"kernel": sb.InverseMultiquadric(1.0), "tilt": sb.PolynomialTilt(), "tau": "auto"}
    result = sb.ksd_test(x, sb.models.Gaussian(), radius=0.1, rng=0, **fixed)
    assert result.at(calibration=sb.DeviationBound()).n_resamples == 0


@pytest.mark.calibration
@pytest.mark.parametrize("n", [2, 20, 100])
def test_the_level_holds_at_every_sample_size_with_a_certified_tau(n: int) -> None:
    """Contamination ε = ε₀ = 0.5 where u(x, x) is largest, 400 repeats: the tight case of the ball.

    The bound is proved, so a count may exceed 400 · level only by chance: the 99.9 % point of Binomial(400, level).
    Without the shift θ nearly everything would be rejected at n = 100.
    """
    rng = np.random.default_rng(n)
    counts, unshifted = dict.fromkeys((0.05, 0.2, 0.5), 0), 0
    for _ in range(400):
        x = np.where(rng.random(n) < 0.5, WORST, rng.normal(size=n))
        result = bounded_test(x, tau=TAU, radius=sb.Huber(0.5))
        for level in counts:
            counts[level] += result.at(level=level).rejected
        unshifted += result.at(radius=0.0, level=0.5).rejected
    assert all(count <= stats.binom.ppf(0.999, 400, level) for level, count in counts.items())
    assert n < 100 or unshifted > 390


@pytest.mark.calibration
@pytest.mark.parametrize("n", [5, 60])
def test_every_bound_keeps_the_level_on_the_edge_of_the_ball(n: int) -> None:
    """ε = ε₀ = 0.2 where u(x, x) is largest, so that D(Q, P) = θ exactly; 400 repeats, the 99.9 % point of Binomial.

    Both confidence bounds for D(Q, P) together cover in at least nine of ten.
    """
    rng, radius = np.random.default_rng(n), 0.2 * math.sqrt(TAU)
    nulls = {kind: DeviationNull(TAU, n, (kind,)) for kind in BOUNDS}
    nulls["auto"] = DeviationNull(TAU, n, BOUNDS)
    counts = {(name, level): 0 for name in nulls for level in (0.05, 0.5)}
    covered = 0
    for _ in range(400):
        x = np.where(rng.random(n) < 0.2, WORST, rng.normal(size=n))
        ksd = sb.ksd(x, lambda x: -x, kernel=KERNEL, tilt=TILT)
        for name, level in counts:
            counts[name, level] += nulls[name].pvalue(ksd, radius) <= level
        covered += nulls["auto"].lower_bound(ksd, 0.05) <= radius <= nulls["auto"].upper_bound(ksd, 0.05)
    assert all(count <= stats.binom.ppf(0.999, 400, level) for (_, level), count in counts.items())
    assert covered >= 360


@pytest.mark.calibration
def test_sharper_bounds_reject_earlier() -> None:
    """The paper's bound, and the automatic choice, in ten dimensions: 60 samples of 400."""
    d, share, rng = 10, 0.17, np.random.default_rng(3)
    kernel, tilt, model = sb.InverseMultiquadric(4.3), sb.PolynomialTilt(), sb.models.Gaussian(dimension=10)
    c = d / 4.3**2
    v = min(1.0, (math.sqrt(4 + 3 * c) - 1) / 3)
    tau, place = 1 + (1 + c) * v - v**2 - v**3, math.sqrt(1 / v - 1)
    tests = {"paper": sb.DeviationBound("mcdiarmid"), "auto": sb.DeviationBound()}
    counts = dict.fromkeys(tests, 0)
    for _ in range(60):
        x = rng.normal(size=(400, d))
        x[rng.random(400) < share] = place * np.eye(d)[0]
        ksd = sb.ksd(x, model, kernel=kernel, tilt=tilt)
        for name, bound in tests.items():
            null = DeviationNull(tau, 400, bound.bounds)
            counts[name] += null.pvalue(ksd, 0.05 * math.sqrt(tau)) <= 0.05
    assert counts["paper"] < counts["auto"]


@pytest.mark.calibration
def test_the_bound_rejects_far_beyond_the_ball() -> None:
    """All of 100 samples with 90 % of contamination against a tolerance of 5 %."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        x = np.where(rng.random(100) < 0.9, WORST, rng.normal(size=100))
        assert bounded_test(x, tau=TAU, radius=sb.Huber(0.05)).rejected
