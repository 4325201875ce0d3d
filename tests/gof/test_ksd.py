"""``ksd_test`` and ``robust_ksd_test`` as wholes: against the definition, against each other, and what they refuse."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import steinball as sb
from steinball.arrays import as_seed
from steinball.cautions import SeparatedModesWarning
from steinball.jumps import ModeJumps

pytestmark = pytest.mark.exact

RNG = np.random.default_rng(21)
X = RNG.normal(size=(30, 3))
FEW = sb.WeightedBootstrap(99)

GAUSSIAN = sb.models.Gaussian()
CLEAN = np.random.default_rng(0).normal(size=200)
SPOILT = np.where(np.arange(200) % 4 == 0, 2.0, CLEAN)
MODES = sb.models.GaussianMixture([0.5, 0.5], [-6.0, 6.0])
UNEVEN = sb.models.GaussianMixture([0.85, 0.15], [-6.0, 6.0]).sample(300, rng=0)


def stein_matrix(
    x: NDArray[np.float64], s: NDArray[np.float64], lengthscale: float, exponent: float
) -> NDArray[np.float64]:
    """u from the definition, s(x)ᵀs(y)k + s(x)ᵀ∇_y k + s(y)ᵀ∇_x k + tr ∇_x∇_y k, point by point.

    k(x, y) = w(x)(1 + |x − y|²/ℓ²)^(−½)w(y) with w(x) = (1 + |x|²)^(−exponent): exponent 0 is no tilt.
    """
    n, d = x.shape
    u = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            a, b, r = x[i], x[j], x[i] - x[j]
            wa, wb = (1 + a @ a) ** -exponent, (1 + b @ b) ** -exponent
            ga, gb = (-2 * exponent * v * (1 + v @ v) ** (-exponent - 1) for v in (a, b))
            q = 1 + r @ r / lengthscale**2
            h, slope = q**-0.5, -r / lengthscale**2 * q**-1.5
            mixed = d / lengthscale**2 * q**-1.5 - 3 * r @ r / lengthscale**4 * q**-2.5
            k_a, k_b = (ga * h + wa * slope) * wb, wa * (h * gb - slope * wb)
            k_ab = ga @ gb * h - ga @ slope * wb + wa * slope @ gb + wa * wb * mixed
            u[i, j] = s[i] @ s[j] * wa * h * wb + s[i] @ k_b + s[j] @ k_a + k_ab
    return u


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("estimator", ["v", "u"])
@pytest.mark.parametrize("calibration", [FEW, sb.WildBootstrap(99)], ids=repr)
def test_every_number_of_a_test_against_the_definition(exponent: float, estimator: str, calibration: Any) -> None:
    """D, τ, θ, every draw, p-value and threshold by plain loops from the same weights."""
    n, lengthscale, share = 30, 1.7, 0.02
    tilt = sb.PolynomialTilt(exponent) if exponent else None
    u = stein_matrix(X, -X, lengthscale, exponent)
    off = u - np.diag(np.diag(u))
    matrix, pairs = (u, n**2) if estimator == "v" else (off, n * (n - 1))
    squared = matrix.sum() / pairs
    ksd = math.sqrt(max(0.0, squared))
    weights = np.concatenate(list(calibration.request(n, as_seed(7)).weights)).astype(float)
    draws = np.array([w @ matrix @ w for w in weights]) / pairs
    draws = np.sign(draws) * np.sqrt(np.abs(draws))
    theta = share * math.sqrt(np.diag(u).max())

    result = sb.ksd_test(
        X,
        lambda x: -x,
        kernel=sb.InverseMultiquadric(lengthscale),
        tilt=tilt,
        radius=theta,
        calibration=calibration,
        estimator=estimator,
        level=0.1,
        rng=7,
    )
    assert result.squared_ksd == pytest.approx(squared, rel=1e-10)
    assert result.ksd == pytest.approx(ksd, rel=1e-10)
    assert result.tau == pytest.approx(np.diag(u).max(), rel=1e-12)
    assert result.draws == pytest.approx(draws, rel=1e-7, abs=1e-9)
    assert result.statistic == pytest.approx(max(0.0, ksd - theta), rel=1e-9)
    assert result.pvalue == (1.0 if ksd <= theta else (1 + np.sum(draws >= ksd - theta)) / 100)
    assert result.threshold == pytest.approx(np.sort(draws)[99 - 10], rel=1e-7)


def test_the_worked_example_of_the_papers_code() -> None:
    """500 points, 50 of them outliers near 10, tolerance 15 %: D², τ and θ to all digits that are known."""
    np.random.seed(2024)  # noqa: NPY002 - the example was made with the legacy generator
    x = np.random.normal(size=(500, 1))  # noqa: NPY002
    outliers = np.random.multivariate_normal([10.0], [[0.01]], 50)  # noqa: NPY002
    x[np.random.choice(range(500), 50, replace=False)] = outliers  # noqa: NPY002
    result = sb.robust_ksd_test(x, lambda x: -x, 0.15, tilt=sb.PolynomialTilt(), tau="sample", rng=0)
    assert result.squared_ksd == pytest.approx(0.0123315955, rel=1e-8)
    assert result.tau == pytest.approx(1.43842223, rel=1e-8)
    assert result.radius == pytest.approx(0.17990136, rel=1e-7)
    assert result.kernel.lengthscale**2 == pytest.approx(1.60354668, rel=1e-8)  # type: ignore[attr-defined]
    assert result.ksd < result.radius
    assert result.pvalue == 1.0
    assert not result.rejected


def test_the_default_kernel_is_the_inverse_multiquadric_at_the_median_distance() -> None:
    distances = [np.linalg.norm(X[i] - X[j]) for i in range(30) for j in range(i)]
    default = sb.ksd_test(X, sb.from_scores(-X), calibration=FEW, rng=0, standardize=False)
    # 435 pairs: an odd number, so the median is one of them
    assert default.kernel == sb.InverseMultiquadric(default.kernel.lengthscale)  # type: ignore[attr-defined]
    assert default.kernel.lengthscale == pytest.approx(np.median(distances), rel=1e-12)  # type: ignore[attr-defined]
    explicit = sb.ksd_test(
        X, sb.from_scores(-X), kernel=sb.InverseMultiquadric(float(np.median(distances))), calibration=FEW, rng=0
    )
    assert default.ksd == pytest.approx(explicit.ksd, rel=1e-12)


def test_in_standardized_coordinates_the_length_scale_is_that_of_a_normal_distribution() -> None:
    z = np.random.default_rng(0).normal(size=(2, 200_000, X.shape[1]))
    median = float(np.median(np.linalg.norm(z[0] - z[1], axis=1)))
    for model in (sb.from_scores(-X), sb.models.Gaussian(np.ones(X.shape[1]), 9.0)):
        default = sb.ksd_test(X, model, calibration=FEW, rng=0)
        assert default.kernel.lengthscale == pytest.approx(median, rel=0.01)  # type: ignore[attr-defined]


def test_the_robust_test_is_the_test_with_a_huber_ball_and_an_automatic_tilt() -> None:
    model = sb.models.Gaussian(dimension=3)
    robust = sb.robust_ksd_test(X, model, 0.1, calibration=FEW, rng=0, level=0.2, estimator="u", tau="optimized")
    options: dict[str, Any] = {"calibration": FEW, "rng": 0, "level": 0.2, "estimator": "u", "tau": "optimized"}
    plain = sb.ksd_test(X, model, tilt="auto", radius=sb.Huber(0.1), **options)
    assert robust.to_dict() == plain.to_dict()
    assert sb.robust_ksd_test(X, model, 0.05, calibration=FEW).contamination == 0.05


def test_no_tolerance_is_the_tilted_test_and_no_tilt_the_standard_one() -> None:
    model = sb.models.Gaussian(dimension=3)
    robust = sb.robust_ksd_test(X, model, 0.0, tau="sample", calibration=FEW, rng=0).to_dict()
    tilted = sb.ksd_test(X, model, tilt="auto", calibration=FEW, rng=0).to_dict()
    assert {**robust, "contamination": None} == tilted
    standard = sb.ksd_test(X, model, calibration=FEW, rng=0)
    assert standard.tilt is None
    assert standard.radius == 0.0
    assert sb.robust_ksd_test(X, model, 0.0, tilt=None, calibration=FEW, rng=0).ksd == standard.ksd


@pytest.mark.parametrize(
    "model",
    [sb.from_scores(-X), sb.from_scores((-X).tolist()), lambda x: -x, sb.models.Gaussian(dimension=3)],
    ids=["array", "list", "function", "model"],
)
def test_every_form_of_a_model_gives_the_same_test(model: Any) -> None:
    tilt = sb.PolynomialTilt()
    found = sb.robust_ksd_test(X, model, 0.05, tilt=tilt, tau="sample", calibration=FEW, rng=0)
    wanted = sb.robust_ksd_test(X, lambda x: -x, 0.05, tilt=tilt, tau="sample", calibration=FEW, rng=0)
    assert found.ksd == pytest.approx(wanted.ksd, rel=1e-12)
    assert found.radius == pytest.approx(wanted.radius, rel=1e-12)
    assert found.threshold == pytest.approx(wanted.threshold, rel=1e-12)
    assert found.pvalue == wanted.pvalue


def test_one_column_may_be_a_vector() -> None:
    x = X[:, 0]
    vector = sb.ksd_test(x, sb.from_scores(-x), calibration=FEW, rng=0).to_dict()
    assert vector == sb.ksd_test(x[:, None], sb.from_scores(-x[:, None]), calibration=FEW, rng=0).to_dict()
    assert vector == sb.ksd_test(x, lambda x: -x[:, 0], calibration=FEW, rng=0).to_dict()


def test_the_order_of_the_points_does_not_matter_for_the_statistic() -> None:
    order = np.random.default_rng(0).permutation(30)
    assert sb.ksd(X[order], sb.from_scores(-X[order])) == pytest.approx(sb.ksd(X, sb.from_scores(-X)), rel=1e-12)


def test_the_arguments_are_those_of_the_contract() -> None:
    parameters = inspect.signature(sb.ksd_test).parameters
    defaults = {name: p.default for name, p in parameters.items() if p.default is not inspect.Parameter.empty}
    wanted = {"kernel": None, "tilt": None, "radius": 0.0, "tau": "sample", "calibration": sb.WeightedBootstrap(999)}
    wanted |= {"estimator": "v", "level": 0.05, "rng": None}
    assert wanted.items() <= defaults.items()
    assert list(parameters)[:2] == ["x", "model"]
    assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in wanted)
    assert list(inspect.signature(sb.robust_ksd_test).parameters)[:3] == ["x", "model", "contamination"]


def test_samples_scores_and_settings_are_left_as_they_were() -> None:
    x, scores = X.copy(), -X
    before = np.geterr()
    sb.robust_ksd_test(x, sb.from_scores(scores), 0.05, calibration=FEW, tilt=sb.PolynomialTilt())
    assert np.array_equal(x, X)
    assert np.array_equal(scores, -X)
    assert np.geterr() == before


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"estimator": "w"}, ValueError, '`estimator` must be "v" or "u"'),
        ({"calibration": 999}, TypeError, "`calibration` must be a calibration"),
        ({"calibration": sb.WeightedBootstrap}, TypeError, "`calibration` must be a calibration"),
        ({"kernel": "imq"}, TypeError, "`kernel` must be a kernel"),
        ({"kernel": sb.InverseMultiquadric}, TypeError, "`kernel` must be a kernel"),
        ({"kernel": lambda x, y: 1.0}, TypeError, "`kernel` must be a kernel"),
        ({"tilt": "automatic"}, ValueError, '`tilt` must be a tilt, None or "auto"'),
        ({"tilt": 0.5}, TypeError, "`tilt` must be a tilt"),
        ({"level": "5%"}, TypeError, "`level` must be a number"),
        ({"kernel": sb.InverseMultiquadric(1.0, metric=np.eye(2))}, ValueError, "samples have 3 columns"),
        ({"tilt": sb.PolynomialTilt(center=(0.0, 0.0))}, ValueError, "samples have 3 columns"),
        ({"tilt": sb.PolynomialTilt(precision=np.eye(2))}, ValueError, "samples have 3 columns"),
    ],
)
def test_wrong_arguments_are_named(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        sb.ksd_test(X, lambda x: -x, **options)


def test_the_robust_test_takes_no_radius() -> None:
    for name in ("radius", "bandwidth"):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
            sb.robust_ksd_test(X, lambda x: -x, 0.05, **{name: 0.1})  # type: ignore[arg-type]
    ours, theirs = (list(inspect.signature(f).parameters) for f in (sb.robust_ksd_test, sb.ksd_test))
    assert set(ours) == {*theirs, "contamination"} - {"radius"}, "every option is spelled out"


def test_the_robust_test_reads_its_draws_by_the_boundary_bootstrap() -> None:
    result = sb.robust_ksd_test(SPOILT, GAUSSIAN, 0.05, rng=1)
    ours = sb.BoundaryBootstrap(999, "scaled")
    explicit = sb.robust_ksd_test(SPOILT, GAUSSIAN, 0.05, calibration=ours, tau="best", rng=1)
    assert result.to_dict() == explicit.to_dict()
    plain = sb.robust_ksd_test(SPOILT, GAUSSIAN, 0.05, calibration=sb.WeightedBootstrap(999), tau="best", rng=1)
    assert result.at(calibration=sb.WeightedBootstrap(999)).pvalue == plain.pvalue, "they are the paper's draws"
    assert sb.robust_ksd_test(CLEAN, GAUSSIAN, 0.05, estimator="u", rng=1).calibration == "WeightedBootstrap"


def test_calibrations_that_need_an_upper_bound_get_one() -> None:
    for calibration in (sb.MonteCarlo(19), sb.Betting(), sb.DeviationBound()):
        assert sb.robust_ksd_test(CLEAN, GAUSSIAN, 0.05, calibration=calibration).tau_kind == "closed form"
        with pytest.raises(ValueError, match="upper bound"):
            sb.robust_ksd_test(CLEAN, GAUSSIAN, 0.05, calibration=calibration, tau="sample")


def test_bets_answer_for_every_radius_and_level() -> None:
    result = sb.robust_ksd_test(np.tile(SPOILT, 3), GAUSSIAN, 0.05, calibration=sb.Betting())
    assert result.rejected
    bound = result.contamination_bound
    assert 0.05 < bound < 0.25
    assert result.at(contamination=0.99 * bound).rejected
    assert not result.at(contamination=1.01 * bound).rejected
    assert result.at(level=0.2).contamination_bound > bound


def test_separated_modes_without_jumps_are_warned_of() -> None:
    with pytest.warns(SeparatedModesWarning, match="cannot see wrong weights"):
        blind = sb.ksd_test(UNEVEN, MODES, rng=0)
    seeing = sb.ksd_test(UNEVEN, MODES, jumps="auto", rng=0)
    assert (blind.rejected, seeing.rejected) == (False, True)


def test_jumps_do_not_reject_the_truth() -> None:
    x = MODES.sample(300, rng=3)
    assert not sb.ksd_test(x, MODES, jumps="auto", rng=0).rejected


def test_the_same_seed_jumps_the_same_way_and_apart_from_the_draws() -> None:
    first, second = (sb.ksd_test(UNEVEN, MODES, jumps=ModeJumps([[-6.0], [6.0]]), rng=4) for _ in range(2))
    assert first.to_dict() == second.to_dict()
    assert first.ksd != sb.ksd_test(UNEVEN, MODES, jumps="auto", rng=5).ksd


@pytest.mark.filterwarnings("ignore::steinball.cautions.RemovalWarning")
def test_sets_that_jumps_can_leave_are_refused_at_once_and_later() -> None:
    with pytest.raises(ValueError, match="outside of it"):
        sb.ksd_test(UNEVEN, MODES, radius=0.1, jumps="auto")
    result = sb.robust_ksd_test(UNEVEN, MODES, 0.01, jumps="auto", rng=0)
    with pytest.raises(ValueError, match="outside of it"):
        result.at(radius=0.1)
    assert result.at(radius=sb.TotalVariation(0.01)).radius >= result.radius


def test_the_three_answers() -> None:
    clean = np.random.default_rng(1).normal(size=1500)
    spoilt = np.where(np.arange(1500) % 3 == 0, 2.0, clean)
    for x, share, verdict in ((clean, 0.2, "close in KSD"), (clean, 0.02, "undecided"), (spoilt, 0.1, "misfit")):
        result = sb.robust_ksd_test(x, GAUSSIAN, share, rng=0)
        assert result.verdict == verdict
        assert result.rejected == (verdict == "misfit")
    assert sb.robust_ksd_test(clean, GAUSSIAN, 0.0, rng=0).verdict != "close in KSD"


def test_the_interval_holds_the_one_sided_bounds_and_narrows_with_the_level() -> None:
    result = sb.robust_ksd_test(SPOILT, GAUSSIAN, 0.05, rng=0)
    low, high = result.interval()
    assert low <= result.lower_bound <= result.ksd <= result.upper_bound <= high
    inner = result.interval(level=0.5)
    assert low < inner[0] < inner[1] < high
    assert result.at(level=0.1).interval() == (result.lower_bound, result.upper_bound)


@pytest.mark.parametrize("calibration", [sb.WeightedBootstrap(199), sb.BoundaryBootstrap(199), sb.Betting()], ids=repr)
def test_the_lower_bound_is_where_decisions_turn(calibration: Any) -> None:
    result = sb.robust_ksd_test(np.tile(SPOILT, 2), GAUSSIAN, 0.05, calibration=calibration, rng=0)
    assert result.contamination_bound == pytest.approx(result.lower_bound / math.sqrt(result.tau))
    assert result.at(radius=result.lower_bound * (1.0 - 1e-9)).rejected
    assert not result.at(radius=result.lower_bound * (1.0 + 1e-6)).rejected


def test_a_result_explains_itself() -> None:
    fixed: dict[str, Any] = {"kernel": sb.InverseMultiquadric(1.0), "tilt": sb.PolynomialTilt()}
    result = sb.robust_ksd_test(SPOILT, GAUSSIAN, 0.01, tau="auto", rng=0, **fixed)
    assert result.rejected
    assert result.fragility() == result.fragility()
    assert 0.0 < result.least_removal().share < 0.3
    assert result.credibility().size < 200
    assert 0.5 < result._evidence.problem.efficiency(result.tau) < 1.0


def test_jumps_keep_the_samples_supremum_so_that_wrong_weights_show() -> None:
    result = sb.robust_ksd_test(UNEVEN, MODES, 0.01, jumps="auto", rng=0)
    assert result.tau_kind == "sample"
    assert sb.robust_ksd_test(UNEVEN, MODES, 0.01, jumps="auto", calibration=sb.Betting()).tau_kind == "certified"
