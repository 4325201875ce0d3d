"""Distributions of SciPy as models: scores against their own log densities, draws against their own distributions."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball import fitting
from steinball.adapters.scipy import SciPyFamily
from steinball.adapters.scipy_distribution import SCORES, read_frozen
from steinball.models.autodiff import numerical_gradient
from steinball.models.knowledge import Knowledge
from steinball.models.student_t import StudentFamily
from tests.fitting.conftest import DATA

as_family: Any = fitting.as_family

SHAPES: dict[str, tuple[float, ...]] = {
    "beta": (0.5, 2.0), "betaprime": (2.0, 3.0), "burr12": (2.0, 1.5), "chi": (3.0,), "chi2": (3.0,), "erlang": (2,),
    "f": (3.0, 8.0), "fisk": (2.5,), "gamma": (1.5,), "gennorm": (1.5,), "genpareto": (-0.2,), "invgamma": (2.5,),
    "invgauss": (0.7,), "invweibull": (2.0,), "johnsonsu": (0.5, 1.5), "loggamma": (1.5,), "lognorm": (0.8,),
    "lomax": (2.0,), "loguniform": (0.5, 4.0), "nakagami": (1.5,), "pareto": (1.5,), "powerlaw": (2.0,),
    "reciprocal": (0.5, 4.0), "skewnorm": (4.0,), "t": (3.0,), "truncexpon": (2.0,), "truncnorm": (-1.0, 2.0),
    "weibull_max": (0.7,), "weibull_min": (0.7,),
}  # fmt: skip


def frozen(family: str, **place: Any) -> Any:
    return vars(stats)[family](*SHAPES.get(family, ()), **place)


def interior(distribution: Any) -> Any:
    low, high = distribution.ppf([0.02, 0.98])
    return np.linspace(low, high, 41)[:, None]


@pytest.mark.exact
@pytest.mark.parametrize("family", sorted(SCORES))
def test_the_score_in_closed_form_is_the_derivative_of_the_log_density(family: str) -> None:
    distribution = frozen(family, loc=-0.3, scale=1.7)
    model, x = read_frozen(distribution), interior(distribution)
    room = model.support.distance(x)
    oracle, error = numerical_gradient(lambda z: distribution.logpdf(z)[:, 0], x, room)
    assert model.verified
    kink = np.abs(oracle - model.score(x)) <= 1e-7 * (1.0 + np.abs(oracle)) + 4.0 * error
    assert kink.mean() > 0.97, family  # the middle of a Laplace distribution has no derivative
    np.testing.assert_allclose(model.log_density(x), distribution.logpdf(x)[:, 0], rtol=1e-12)


@pytest.mark.exact
@pytest.mark.parametrize("family", sorted(SCORES))
def test_the_declared_growth_bounds_the_score_far_out_and_at_the_edges(family: str) -> None:
    distribution = frozen(family)
    model = read_frozen(distribution)
    if model.growth is None:
        return
    low, high = model.support.ends[0]
    near = distribution.median() + np.array([[-1.0], [1.0]])
    near = np.clip(near, low + 1e-3, high - 1e-3)
    for far in (1e3, 1e6):
        x = np.concatenate([[high - 1.0 / far] if np.isfinite(high) else [far],
                            [low + 1.0 / far] if np.isfinite(low) else [-far]])[:, None]  # fmt: skip
        rate = np.where(np.isfinite([high, low]), 1.0, model.growth)
        bound = 50.0 * (1.0 + np.abs(model.score(near)).max()) * far**rate
        assert (np.abs(model.score(x))[:, 0] <= bound).all(), (family, far)


def test_a_score_that_has_no_closed_form_is_numerical_and_says_so() -> None:
    model: Any = sb.as_model(stats.exponnorm(1.5))
    assert repr(model) == "ScipyDistribution(exponnorm(K=1.5), score: numerical derivative)"
    assert not Knowledge(model).verified
    x = np.linspace(-2.0, 4.0, 20)[:, None]
    step = 1e-5
    slope = (stats.exponnorm(1.5).logpdf(x + step) - stats.exponnorm(1.5).logpdf(x - step)) / (2 * step)
    np.testing.assert_allclose(model.score(x), slope, rtol=1e-6, atol=1e-6)


class DoubleExponential(stats.rv_continuous):  # type: ignore[misc]
    def _pdf(self, x: Any) -> Any:
        return 0.5 * np.exp(-np.abs(x))


class Slope(stats.rv_continuous):  # type: ignore[misc]
    def _pdf(self, x: Any, df: Any) -> Any:
        return (1.0 + df * (2.0 * x - 1.0)) * np.ones_like(x)


@pytest.mark.exact
def test_a_distribution_of_ones_own_is_not_that_of_scipy_with_the_same_name() -> None:
    """It was taken for the normal or t distribution, and its score for theirs, by its name alone."""
    x = np.array([[0.5], [2.0]])
    for name in ("norm", "halfnorm", "cauchy"):
        model: Any = sb.as_model(DoubleExponential(name=name)())
        np.testing.assert_allclose(model.score(x), [[-1.0], [-1.0]], atol=1e-6)
        assert not Knowledge(model).verified
    family = as_family(Slope(a=0.0, b=1.0, name="t", shapes="df"), 1, {"loc": 0.0, "scale": 1.0})
    assert isinstance(family, SciPyFamily)
    assert family.numerical


@pytest.mark.exact
def test_a_stable_distribution_is_a_distribution_on_the_line() -> None:
    """Its frozen class has a name of its own, and was refused as one of simplices, spheres and counts."""
    law, x, step = stats.levy_stable(1.5, 0.0), np.array([[-1.0], [0.5]]), 1e-4
    slope = (law.logpdf(x + step) - law.logpdf(x - step)) / (2.0 * step)
    np.testing.assert_allclose(sb.as_model(law).score(x), slope, rtol=1e-5)
    with pytest.raises(TypeError, match="`family` is a frozen distribution"):
        as_family(law, 1)


@pytest.mark.exact
@pytest.mark.parametrize(
    ("distribution", "model"),
    [
        (stats.norm(1.0, 2.0), sb.models.Gaussian(1.0, sd=2.0)),
        (stats.norm([0.0, 1.0], [1.0, 2.0]), sb.models.Gaussian([0.0, 1.0], sd=[1.0, 2.0])),
        (stats.Normal(mu=1.0, sigma=2.0), sb.models.Gaussian(1.0, sd=2.0)),
        (stats.Normal(), sb.models.Gaussian()),
        (stats.t(3.0, 1.0, 2.0), sb.models.StudentT(3.0, 1.0, 2.0)),
        (stats.cauchy(1.0, 2.0), sb.models.StudentT(1.0, 1.0, 2.0)),
        (stats.multivariate_normal([0.0, 1.0], [[2.0, 0.5], [0.5, 1.0]]),
         sb.models.Gaussian([0.0, 1.0], [[2.0, 0.5], [0.5, 1.0]])),
        (stats.multivariate_t([0.0, 1.0], [[2.0, 0.5], [0.5, 1.0]], df=3.0),
         sb.models.StudentT(3.0, [0.0, 1.0], shape=[[2.0, 0.5], [0.5, 1.0]])),
        (stats.multivariate_t([0.0, 1.0], df=np.inf), sb.models.Gaussian([0.0, 1.0])),
    ],
    ids=["norm", "norm of columns", "Normal", "standard", "t", "cauchy", "multivariate normal", "multivariate t",
         "multivariate t without tails"],
)  # fmt: skip
def test_what_we_have_ourselves_is_recognized(distribution: Any, model: Any) -> None:
    found: Any = sb.as_model(distribution)
    assert type(found) is type(model)
    x = np.random.default_rng(0).normal(size=(20, model.dimension))
    np.testing.assert_allclose(found.score(x), model.score(x), rtol=1e-12)
    np.testing.assert_allclose(found.log_density(x), model.log_density(x), rtol=1e-12)


@pytest.mark.parametrize(
    "distribution",
    [
        stats.make_distribution(stats.gamma)(a=2.0),
        stats.Uniform(a=0.0, b=2.0),
        stats.truncate(stats.Normal(mu=0.0, sigma=1.0), 0.0, 1.0),
        stats.exp(stats.Normal(mu=0.0, sigma=1.0)),
        stats.Mixture([stats.Normal(mu=0.0, sigma=2.0), stats.Normal(mu=3.0, sigma=1.0)], weights=[0.3, 0.7]),
    ],
    ids=["made", "uniform", "truncated", "transformed", "mixture"],
)
def test_the_newer_objects_come_with_score_draws_and_support(distribution: Any) -> None:
    model: Any = sb.as_model(distribution)
    x = model.sample(300, rng=1)
    assert stats.kstest(x[:, 0], distribution.cdf).pvalue > 1e-3
    inner = np.quantile(x, [0.1, 0.3, 0.5, 0.7, 0.9])[:, None]
    step = 1e-6
    slope = (distribution.logpdf(inner + step) - distribution.logpdf(inner - step)) / (2 * step)
    np.testing.assert_allclose(model.score(inner), slope, rtol=1e-6, atol=1e-6)
    assert not sb.robust_ksd_test(x, distribution, contamination=0.05, rng=0).rejected


@pytest.mark.parametrize("family", ["expon", "gamma", "beta", "uniform", "lognorm", "t", "skewnorm", "truncnorm"])
def test_draws_come_from_the_distribution_and_its_place_is_where_they_are(family: str) -> None:
    distribution = frozen(family, loc=2.0, scale=3.0)
    model = read_frozen(distribution)
    x = model.sample(2000, rng=0)
    assert stats.kstest(x[:, 0], distribution.cdf).pvalue > 1e-3
    assert abs(np.median(x) - model.location[0]) < 0.2 * np.sqrt(model.covariance[0, 0])
    np.testing.assert_array_equal(x, model.sample(2000, rng=0))


@pytest.mark.exact
def test_vectors_of_parameters_are_independent_columns() -> None:
    model: Any = sb.as_model(stats.gamma([2.0, 3.0, 0.5], scale=[1.0, 2.0, 1.0]))
    x = model.sample(50, rng=0)
    assert x.shape == (50, 3)
    apart: list[Any] = [sb.as_model(stats.gamma(a, scale=s)) for a, s in ((2.0, 1.0), (3.0, 2.0), (0.5, 1.0))]
    np.testing.assert_allclose(model.score(x), np.hstack([part.score(x[:, [j]]) for j, part in enumerate(apart)]))
    total = sum(part.log_density(x[:, [j]]) for j, part in enumerate(apart))
    np.testing.assert_allclose(model.log_density(x), total)
    assert str(model.support) == "[(0, ∞), (0, ∞), (0, ∞)]"


@pytest.mark.exact
def test_a_kernel_density_estimate_is_a_mixture() -> None:
    rng = np.random.default_rng(0)
    data, x = rng.normal(size=(2, 40)), rng.normal(size=(30, 2))
    kde = stats.gaussian_kde(data, weights=rng.uniform(size=40))
    model: Any = sb.as_model(kde, x)
    np.testing.assert_allclose(model.log_density(x), kde.logpdf(x.T), rtol=1e-10)
    assert sb.check_score(model, x).ok


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (stats.poisson(3.0), r"type poisson, a discrete distribution.*test for counts.*rounding"),
        (stats.poisson, r"type poisson, a discrete distribution"),
        pytest.param(
            vars(stats).get("Binomial", dict)(n=3, p=0.2), r"type Binomial, a discrete distribution",
            marks=pytest.mark.skipif("Binomial" not in vars(stats), reason="SciPy before 1.16 has no such object"),
        ),
        (stats.multinomial(3, [0.5, 0.5]), r"type multinomial, a distribution on a set such as .*, counts"),
        (stats.norm, r"the family scipy\.stats\.norm.*freeze it with parameters: `scipy\.stats\.norm\(loc=…, scale=…"),
        (stats.gamma, r"freeze it with parameters: `scipy\.stats\.gamma\(a=…, loc=…"),
        (stats.dirichlet([1.0, 2.0]), r"a distribution on a set such as a simplex.*Jacobian included"),
        (stats.wishart(3, np.eye(2)), r"type wishart, a distribution on a set such as .*matrices"),
        (stats.vonmises(2.0), r"vonmises of an angle"),
        (stats.rv_histogram(np.histogram([1.0, 2.0, 3.0])), r"a histogram, whose density jumps"),
    ],
    ids=["poisson", "family of counts", "Binomial", "multinomial", "norm", "gamma", "dirichlet", "wishart", "vonmises",
         "histogram"],
)  # fmt: skip
def test_what_has_no_score_or_no_parameters_is_refused_by_name(model: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        sb.as_model(model)


def test_parameters_that_scipy_does_not_allow_are_refused() -> None:
    with pytest.raises(ValueError, match=r"gamma\(a=-1\), with parameters that SciPy does not allow"):
        sb.as_model(stats.gamma(-1.0))
    assert sb.check_score(stats.gamma(2.0)).ok


def test_one_number_for_several_columns_has_two_readings() -> None:
    with pytest.raises(ValueError, match=r"a distribution of one number.*2 columns.*independent.*np\.full\(2, 0\)"):
        sb.ksd_test(np.zeros((5, 2)), stats.norm())
    with pytest.raises(ValueError, match="parameters of shape"):
        sb.as_model(stats.gamma(np.ones((2, 2))))
    with pytest.raises(ValueError, match="`model` has dimension 3 but `samples` has 2 columns"):
        sb.ksd_test(np.zeros((5, 2)), stats.gamma([1.0, 2.0, 3.0]))


def test_the_call_that_people_write_works(xp: Any) -> None:
    x = xp.asarray(stats.t(6, 101.3, 2.5).rvs(size=200, random_state=0))
    assert not sb.robust_ksd_test(x, stats.t(6, 101.3, 2.5), contamination=0.05, rng=0).rejected
    y = xp.asarray(stats.expon(1.0).rvs(size=200, random_state=0))
    result = sb.robust_ksd_test(y, stats.expon(1.0), contamination=0.05, rng=0)
    assert not result.rejected
    assert result.bounded == "proved"
    assert sb.robust_ksd_test(y, stats.expon(1.0, scale=2.0), contamination=0.05, rng=0).rejected


def test_bets_and_streams_need_no_word_from_the_user() -> None:
    x = stats.gamma(2.0).rvs(size=150, random_state=0)
    result = sb.robust_ksd_test(x, stats.gamma(2.0), contamination=0.05, calibration=sb.Betting(), tau=5.0, rng=0)
    assert not result.rejected
    test = sb.SequentialTest(stats.gamma(2.0), tau=5.0, contamination=0.05).update(x[:60]).update(x[60:])
    assert not test.rejected


def test_a_result_with_a_scipy_model_can_be_pickled_with_its_model() -> None:
    x = stats.gamma(2.0).rvs(size=50, random_state=0)
    result = pickle.loads(pickle.dumps(sb.robust_ksd_test(x, stats.gamma(2.0), contamination=0.05, rng=0)))
    assert "ScipyDistribution(gamma(a=2)" in repr(result._evidence.problem.model)
    assert "base space" in result.summary(details=True)


def test_a_distribution_that_ends_is_tested_in_base_space_unless_something_else_is_asked_for() -> None:
    x = stats.expon().rvs(size=100, random_state=0)
    assert sb.ksd_test(x, stats.expon(), rng=0).details["tested in"] == "base space"
    assert sb.robust_ksdagg_test(x, stats.expon(), 0.05, rng=0).details["tested in"] == "base space"
    as_it_is = (
        sb.ksd_test(x, sb.as_model(stats.expon()), tilt="auto", rng=0),
        sb.ksd_test(x, stats.expon(), tilt="auto", radius=0.1, rng=0),
        sb.ksd_test(x, stats.expon(), tilt=sb.tilts.EdgeTilt(low=0.0), rng=0),
        sb.ksd_test(x, stats.expon(), tilt="auto", kernel=sb.InverseMultiquadric(1.0), rng=0),
        sb.robust_ksd_test(x, stats.expon(), 0.05, tau=9.0, rng=0),
        sb.robust_ksd_test(x, stats.norm(1.0), 0.9, rng=0),
    )
    assert all(result.details.get("tested in") != "base space" for result in as_it_is)


def test_points_outside_are_named_and_can_be_contamination() -> None:
    x = stats.expon().rvs(size=100, random_state=0)
    x[:3] = -1.0
    with pytest.raises(ValueError, match=r"within the support \(0, ∞\)"):
        sb.robust_ksd_test(x, stats.expon(), contamination=0.05)
    result = sb.robust_ksd_test(x, stats.expon(), contamination=0.05, outside="contaminated", rng=0)
    assert result.details["outside the support"] == 3


def test_two_sample_tests_draw_from_it_too() -> None:
    x = stats.gamma(2.0).rvs(size=60, random_state=0)
    assert not sb.dcmmd_test(x, stats.gamma(2.0), contamination=0.05, rng=0).rejected
    assert not sb.dcmmd_test(x, stats.Normal(mu=2.0, sigma=1.4), contamination=0.3, rng=0).rejected


# Families


@pytest.mark.parametrize(
    ("distribution", "name", "known"),
    [(stats.norm, "normal", {}), (stats.gamma, "gamma", {"loc": 0}), (stats.weibull_min, "weibull", {"loc": 0})],
    ids=["normal", "gamma", "weibull"],
)  # fmt: skip
def test_a_distribution_of_scipy_is_the_family_of_that_name(
    distribution: Any, name: str, known: dict[str, float]
) -> None:
    x = DATA[name]
    theirs, ours = as_family(distribution, 1, known), as_family(name, 1)
    assert isinstance(theirs, SciPyFamily)
    params = theirs.fit(x)
    np.testing.assert_allclose(params, ours.fit(x), rtol=1e-3)
    scores = ours.parameter_scores(params, x)
    np.testing.assert_allclose(theirs.parameter_scores(params, x), scores, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(theirs.score(params, x), ours.score(params, x), rtol=1e-12)
    np.testing.assert_allclose(theirs.margins(params, x), ours.margins(params, x), atol=1e-10)
    assert not theirs.numerical
    assert Knowledge(theirs.model(params)).needed_draws(3).shape == (3, 1)


def test_the_t_of_scipy_is_our_own_family_in_which_the_normal_is_a_member() -> None:
    assert isinstance(as_family(stats.t, 1), StudentFamily)
    known = as_family(stats.t, 1, {"df": 5.0, "loc": 0.0})
    assert known.names == ("scale",)
    x = DATA["student-t"]
    scale = stats.t.fit(x[:, 0], fdf=5.0, floc=0.0)[2]
    np.testing.assert_allclose(known.fit(x), scale, rtol=1e-4)


@pytest.mark.parametrize(
    ("family", "params"),
    [
        ("lognorm", [0.7, 1.5]), ("skewnorm", [3.0, -0.3, 1.7]), ("logistic", [-0.3, 1.7]), ("fisk", [2.5, 1.7]),
        ("exponnorm", [1.5, -0.3, 1.7]), ("johnsonsu", [0.5, 1.5, -0.3, 1.7]), ("norm", [0.3, 2.0]),
    ],
)  # fmt: skip
def test_parameter_scores_are_derivatives_of_the_log_density(family: str, params: list[float]) -> None:
    distribution = vars(stats)[family]
    known = {"loc": 0.0} if family in ("lognorm", "fisk") else {}
    fitted: Any = as_family(distribution, 1, known)
    names = dict(zip(fitted.names, params, strict=True))
    x = interior(distribution(**names, **known))
    for k, name in enumerate(fitted.names):
        step = 1e-5
        up, down = ({**names, **known, name: names[name] + sign * step} for sign in (1, -1))
        slope = (distribution.logpdf(x[:, 0], **up) - distribution.logpdf(x[:, 0], **down)) / (2.0 * step)
        found = fitted.parameter_scores(np.array(params), x)[:, k]
        np.testing.assert_allclose(found, slope, rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize(
    ("distribution", "known", "numerical"),
    [(stats.norm, {}, False), (stats.t, {}, False), (stats.t, {"df": 3.0}, False), (stats.skewnorm, {}, True),
     (stats.skewnorm, {"a": 2.0}, False), (stats.exponnorm, {"K": 1.0}, True)],
    ids=["norm", "t", "t with known df", "skewnorm", "skewnorm with known a", "exponnorm"],
)  # fmt: skip
def test_a_family_says_whether_its_parameter_scores_are_finite_differences(
    distribution: Any, known: dict[str, float], numerical: bool
) -> None:
    assert as_family(distribution, 1, known).numerical == numerical


@pytest.mark.parametrize(
    "distribution", [stats.expon, stats.uniform, stats.gamma, stats.genpareto], ids=lambda d: d.name
)
def test_a_support_that_would_be_fitted_is_refused_with_its_remedy(distribution: Any) -> None:
    with pytest.raises(ValueError, match=r"would be fitted.*known_params=\{\"loc\": 0\}"):
        as_family(distribution, 1)


def test_data_outside_a_known_support_are_refused() -> None:
    with pytest.raises(ValueError, match="1 values of `x` lie outside the support"):
        as_family(stats.expon, 1, {"loc": 0}).fit(np.array([[-1.0], [2.0], [3.0]]))


@pytest.mark.parametrize(
    ("distribution", "known", "message"),
    [
        (stats.triang, {}, r'would be fitted.*"loc": 0'),
        (stats.triang, {"loc": 0.0}, r'it ends at \(0, 1\) or \(0, 2\).*"scale": 1'),
        (stats.truncnorm, {}, "would be fitted"),
        (stats.truncnorm, {"loc": 0.0, "scale": 1.0}, r'would be fitted.*"a": 1'),
        (stats.pearson3, {}, "would be fitted"),
        (stats.genpareto, {"loc": 0.0, "scale": 1.0}, r'would be fitted.*"c": 1'),
        (stats.triang, {"c": 7.0}, r"known_params=\{'c': 7.0\}` are not allowed by scipy\.stats\.triang"),
    ],
    ids=["triang", "triang at 0", "truncnorm", "standard truncnorm", "pearson3", "standard genpareto", "not allowed"],
)
def test_every_parameter_that_moves_an_end_is_seen(distribution: Any, known: dict[str, float], message: str) -> None:
    """The ends of triang, truncnorm and pearson3 were taken for fixed, or looked for at shapes that SciPy refuses."""
    with pytest.raises(ValueError, match=message):
        as_family(distribution, 1, known)


def test_ends_that_no_parameter_moves_are_known() -> None:
    assert as_family(stats.triang, 1, {"loc": 0.0, "scale": 2.0}).support.ends == ((0.0, 2.0),)
    known = {"a": -1.0, "b": 2.0, "loc": 0.0, "scale": 1.0}
    assert as_family(stats.truncnorm, 1, known).names == ()
    assert as_family(stats.beta, 1, {"loc": 0.0, "scale": 1.0}).support.ends == ((0.0, 1.0),)
    assert as_family(stats.norminvgauss, 1).support is None


@pytest.mark.exact
@pytest.mark.parametrize(("skew", "end"), [(0.8, (-2.5, np.inf)), (-2.0, (-np.inf, 1.0)), (0.0, (-np.inf, np.inf))])
def test_pearson3_ends_where_its_density_does_and_not_where_scipy_says(skew: float, end: tuple[float, float]) -> None:
    model: Any = sb.as_model(stats.pearson3(skew))
    assert model.support.ends == (end,)
    if np.isfinite(end).any():
        edge = end[0] if np.isfinite(end[0]) else end[1]
        inside = np.sign(skew) * 1e-3
        assert np.isfinite(stats.pearson3(skew).logpdf(edge + inside))
        assert stats.pearson3(skew).logpdf(edge - inside) == -np.inf


@pytest.mark.calibration
def test_draws_of_pearson3_pass_its_own_test() -> None:
    """Of 40 samples at level .05 at most 6: at the level that fails once in a hundred times."""
    law = stats.pearson3(1.8, 1.0, 2.0)
    rejected = [sb.ksd_test(law.rvs(size=150, random_state=k), law, rng=k).rejected for k in range(40)]
    assert sum(rejected) <= 6


@pytest.mark.exact
def test_the_growth_of_columns_is_known_only_where_that_of_every_column_is() -> None:
    """The score of exp(−|x|^½) has a pole at 0, whatever the column beside it does."""
    assert Knowledge(sb.as_model(stats.gennorm([0.5, 2.0]))).growth is None
    assert Knowledge(sb.as_model(stats.gennorm([1.5, 2.0]))).growth == 1.0
    assert Knowledge(sb.as_model(stats.weibull_min([0.5, 3.0]))).growth == 2.0


@pytest.mark.exact
def test_between_two_ends_no_score_grows() -> None:
    """That of the normal distribution does, and where both ends are cut off there is nowhere to grow to."""
    found = [Knowledge(sb.as_model(stats.truncnorm(-1.0, high))).growth for high in (2.0, np.inf)]
    assert found == [0.0, 1.0]


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1e6])
@pytest.mark.parametrize(
    ("distribution", "name", "known"),
    [(stats.t, "student-t", {}), (stats.gamma, "gamma", {"loc": 0.0}), (stats.norm, "normal", {}),
     (stats.t, "student-t", {"loc": 2.0}), (stats.t, "student-t", {"scale": 3.0})],
    ids=["t", "gamma", "norm", "t around 2", "t of scale 3"],
)  # fmt: skip
def test_a_change_of_the_unit_changes_a_fit_of_scipy_by_that(
    distribution: Any, name: str, known: dict[str, float], unit: float
) -> None:
    """SciPy searches in the unit of the data: t fitted to thousandths had a scale that was 17 % too small."""
    x = DATA[name]
    plain = as_family(distribution, 1, known)
    scaled = as_family(distribution, 1, {key: unit * value for key, value in known.items()})
    factors = np.where(np.isin(plain.names, ["loc", "scale"]), unit, 1.0)
    np.testing.assert_allclose(scaled.fit(unit * x), factors * plain.fit(x), rtol=1e-6)


def test_constant_data_and_angles_have_no_fit() -> None:
    with pytest.raises(ValueError, match="must not be constant to fit norm"):
        sb.fit_test(np.ones(20), stats.norm)
    with pytest.raises(TypeError, match="vonmises of an angle"):
        sb.fit_test(np.linspace(-1.0, 1.0, 50), stats.vonmises, known_params={"loc": 0.0, "scale": 1.0})


@pytest.mark.exact
def test_a_frozen_distribution_is_read_once_until_its_parameters_change() -> None:
    frozen = stats.gamma(2.0, scale=3.0)
    first = sb.as_model(frozen)
    assert sb.as_model(frozen) is first
    frozen.kwds["scale"] = 4.0
    assert repr(sb.as_model(frozen)) == "ScipyDistribution(gamma(a=2, scale=4), score: closed form)"
    vectors = stats.gamma([2.0, 3.0])
    assert sb.as_model(vectors) is not sb.as_model(vectors)
