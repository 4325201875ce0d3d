"""True models with an edge keep their level, contaminated ones are found, and growing scores promise nothing."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb

pytestmark = pytest.mark.calibration

REPEATS, N = 40, 120
MOST = 7
"""Rejections of 40 at level .05: more than 7 have probability 7·10⁻⁴."""

MODELS: dict[str, tuple[Any, Any, Any]] = {
    "exponential": (lambda x: -1.0 + 0.0 * x, (0, None), stats.expon()),
    "uniform": (lambda x: 0.0 * x, (0, 1), stats.uniform()),
    "half-normal": (lambda x: -x, (0, None), stats.halfnorm()),
    "gamma 0.5": (lambda x: -0.5 / x - 1.0, (0, None), stats.gamma(0.5)),
    "gamma 1.5": (lambda x: 0.5 / x - 1.0, (0, None), stats.gamma(1.5)),
    "beta 0.5": (lambda x: -0.5 / x + 0.5 / (1.0 - x), (0, 1), stats.beta(0.5, 0.5)),
    "pareto 1": (lambda x: -2.0 / x, (1, None), stats.pareto(1)),
    "weibull 0.7": (lambda x: -0.3 / x - 0.7 * x**-0.3, (0, None), stats.weibull_min(0.7)),
}
CALIBRATION = sb.BoundaryBootstrap(99)


def worst_place(result: sb.GofResult, law: Any) -> float:
    shares = np.concatenate([np.geomspace(1e-9, 0.5, 100), 1.0 - np.geomspace(1e-9, 0.5, 100)])
    places, problem = law.ppf(shares), result._evidence.problem
    places = places[places < law.support()[1]]
    return float(places[np.nanargmax(problem.diagonal_at(problem.rows.tested(places[:, None])))])


@pytest.mark.parametrize("name", MODELS)
def test_the_level_is_kept_clean_and_contaminated_where_it_counts_most(name: str) -> None:
    score, support, law = MODELS[name]
    model, count = sb.from_score(score, support), np.zeros(4, dtype=int)
    for seed in range(REPEATS):
        rng = np.random.default_rng([11, seed])
        x = law.rvs(size=N, random_state=rng)
        clean = sb.robust_ksd_test(x, model, 0.0, calibration=CALIBRATION, rng=rng)
        count[:2] += clean.rejected, clean.at(contamination=0.05).rejected
        for k, share in ((2, 0.05), (3, 0.2)):
            y = x.copy()
            y[rng.permutation(N)[: rng.binomial(N, share)]] = worst_place(clean, law)
            count[k] += sb.robust_ksd_test(y, model, 0.05, calibration=CALIBRATION, rng=rng).rejected
    assert (count[:3] <= MOST).all(), count
    assert count[3] >= 27, count


def test_exponential_columns_keep_the_level_and_have_power() -> None:
    model, count = sb.from_score(lambda x: -1.0 + 0.0 * x, support=(0, None)), np.zeros(2, dtype=int)
    for seed in range(60):
        rng = np.random.default_rng([12, seed])
        x = rng.exponential(size=(N, 2))
        count[0] += sb.robust_ksd_test(x, model, 0.0, calibration=CALIBRATION, rng=rng).rejected
        count[1] += sb.robust_ksd_test(1.4 * x, model, 0.05, calibration=CALIBRATION, rng=rng).rejected
    assert count[0] <= 9  # more have probability 7·10⁻⁴
    assert count[1] >= 30


@pytest.mark.exact
class TestOutside:
    """Points that the model excludes."""

    model = sb.from_score(
        lambda x: -1.0 + 0.0 * x, support=(0, None), sample=lambda n, rng: rng.exponential(size=(n, 1))
    )
    x = np.append(np.random.default_rng(0).exponential(size=190), -np.ones(10))

    def test_an_error_names_the_option(self) -> None:
        with pytest.raises(ValueError, match='outside="contaminated"'):
            sb.robust_ksd_test(self.x, self.model, 0.1)
        with pytest.raises(ValueError, match=r"10 of 200 rows .*first: row 190"):
            sb.SequentialTest(self.model, tau=9.0, contamination=0.05).update(self.x)

    @pytest.mark.parametrize("test", [sb.ksd_test, partial(sb.robust_ksd_test, contamination=0.1)])
    def test_a_word_that_is_none_is_refused_also_where_no_point_can_lie_outside(self, test: Any) -> None:
        with pytest.raises(ValueError, match='`outside` must be "error" or "contaminated", got \'drop\''):
            test(self.x, sb.models.Gaussian(), outside="drop")

    @pytest.mark.parametrize("calibration", [sb.BoundaryBootstrap(199), sb.WeightedBootstrap(199), sb.DeviationBound()])
    def test_they_are_counted_as_contaminated(self, calibration: Any) -> None:
        options: dict[str, Any] = {"outside": "contaminated", "calibration": calibration, "rng": 0, "tau": 9.0}
        result = sb.robust_ksd_test(self.x, self.model, 0.1, **options)
        assert result.n == 200
        assert result.details["outside the support"] == 10
        assert not result.rejected
        assert result.contributions[190:].tolist() == pytest.approx([10 * 9.0 / 200**2] * 10)

    def test_too_many_are_rejected_whichever_way_it_is_decided(self) -> None:
        x = np.append(self.x, np.full(60, -3.0))
        options: dict[str, Any] = {"outside": "contaminated", "rng": 0, "calibration": sb.BoundaryBootstrap(199)}
        assert sb.robust_ksd_test(x, self.model, 0.05, **options).rejected
        found = sb.robust_ksdagg_test(x, self.model, 0.05, **options)
        assert found.rejected
        told = {"outside the support": 70, "tested in": "standardized coordinates"}
        assert (found.n, found.details) == (260, told)

    def test_bets_take_them_too(self) -> None:
        options: dict[str, Any] = {"outside": "contaminated", "rng": 0, "tau": 9.0}
        assert sb.robust_ksd_test(self.x, self.model, 0.1, calibration=sb.Betting(), **options).pvalue > 0.05

    def test_nothing_tolerated_is_refused(self) -> None:
        options: dict[str, Any] = {"outside": "contaminated", "rng": 0}
        for radius in (0.0, sb.Huber(0.0), sb.TotalVariation(0.05), 0.1):
            with pytest.raises(ValueError, match="Tolerate a share of contamination"):
                sb.ksd_test(self.x, self.model, tilt="auto", radius=radius, **options)
        with pytest.raises(ValueError, match="Tolerate a share of contamination"):
            sb.robust_ksd_test(self.x, self.model, 0.1, **options).at(contamination=0.0)
        with pytest.raises(ValueError, match="remove them and test again"):
            sb.robust_ksd_test(self.x, self.model, 0.1, **options).least_removal()

    def test_a_point_rounded_onto_the_edge_is_moved_and_counted(self) -> None:
        x = self.x[:190].copy()
        x[3] = 0.0
        assert sb.robust_ksd_test(x, self.model, 0.05, rng=0).details["moved off the edge"] == 1


@pytest.mark.exact
class TestGrowth:
    """Scores that grow."""

    x = np.append(stats.gennorm(4.0).rvs(size=300, random_state=0), 100.0)

    def test_one_far_point_buys_no_certificate(self) -> None:
        """p ∝ exp(−x⁴) with one point at 100 was CLOSE IN KSD, tolerated "wherever it lies"."""
        quartic = sb.from_score(lambda x: -4.0 * x**3)
        result = sb.robust_ksd_test(self.x, quartic, 0.05, rng=0)
        assert isinstance(result.tilt, sb.PolynomialTilt)
        assert result.tilt.exponent == 1.5
        assert (result.bounded, result.verdict) == ("apparent", "undecided")
        assert result.tau < 100.0
        assert "wherever" not in result.summary(details=True)
        known = sb.from_score(lambda x: -4.0 * x**3, growth=3)
        assert "wherever" in sb.robust_ksd_test(self.x, known, 0.05, rng=0).summary(details=True)

    def test_an_unbounded_kernel_promises_nothing_and_says_why(self) -> None:
        with pytest.warns(sb.cautions.UnboundedSteinKernelWarning):
            result = sb.robust_ksd_test(self.x, lambda x: -4.0 * x**3, 0.05, tilt=sb.PolynomialTilt(), rng=0)
        assert (result.bounded, result.verdict, result.contamination_bound) == ("unbounded", "undecided", 0.0)
        assert "grows without limit" in result.summary(details=True).replace("\n ", "")
        assert result.to_dict()["bounded"] == "unbounded"

    def test_a_gaussian_keeps_its_tilt_and_its_statement(self) -> None:
        x = np.random.default_rng(0).normal(size=100)
        for model, bounded in ((sb.models.Gaussian(), "proved"), (lambda x: -x, "apparent")):
            result = sb.robust_ksd_test(x, model, 0.05, rng=0)
            assert isinstance(result.tilt, sb.PolynomialTilt)
            assert (result.tilt.exponent, result.bounded) == (0.5, bounded)

    def test_an_exponential_score_takes_a_power_of_the_density(self) -> None:
        x = np.log(np.random.default_rng(0).exponential(size=(200, 1)))
        model = sb.from_score(lambda x: 1.0 - np.exp(x), log_density=lambda x: (x - np.exp(x))[:, 0])
        result = sb.robust_ksd_test(x, model, 0.05, rng=0)
        assert type(result.tilt) is sb.tilts.PowerTilt
        assert (result.bounded, result.rejected) == ("apparent", False)
        with pytest.warns(sb.cautions.UnboundedSteinKernelWarning):
            assert sb.robust_ksd_test(x, lambda x: 1.0 - np.exp(x), 0.05, rng=0).bounded == "unbounded"


def test_exponential_data_rounded_to_a_hundredth_keep_the_level() -> None:
    """Zeros went to z = −18.6, and .21 of samples of 500 were rejected."""
    count = 0
    for seed in range(40):
        rng = np.random.default_rng([14, seed])
        x = np.round(rng.exponential(size=500), 2)
        count += sb.ksd_test(x, stats.expon(), calibration=sb.WeightedBootstrap(99), rng=rng).rejected
    assert count <= MOST


def test_exponential_data_rounded_to_a_half_keep_the_level() -> None:
    """Evenly over their cells; in the middles of them all samples of 500 are rejected."""
    count = 0
    for seed in range(40):
        rng = np.random.default_rng([15, seed])
        x = np.round(2.0 * rng.exponential(size=500)) / 2.0
        with pytest.warns(sb.cautions.RoundedDataWarning):
            count += sb.ksd_test(x, stats.expon(), calibration=sb.WeightedBootstrap(99), rng=rng).rejected
    assert count <= MOST
