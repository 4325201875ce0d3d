"""A model is checked against itself: score, log density, draws and modes, once, with a seed of its own."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steinball as sb
from steinball.cautions import RareFeaturesWarning, SeparatedModesWarning, SteinIdentityWarning
from steinball.checks.model import identity_excess, mistaken_score
from steinball.models import Gaussian, GaussianMixture
from steinball.models.base import ScoreFunction
from steinball.problem import pose

pytestmark = pytest.mark.exact

X = np.random.default_rng(3).exponential(size=120)
FEW = sb.WeightedBootstrap(19)


def exponential(n: int, rng: Any) -> Any:
    return rng.exponential(size=(n, 1))


def normal(n: int, rng: Any) -> Any:
    return rng.normal(size=(n, 1))


def minus_one(x: Any) -> Any:
    return -np.ones_like(x)


def test_an_edge_that_was_not_declared_is_seen() -> None:
    with pytest.warns(SteinIdentityWarning, match=r"contradicts itself.*support=.*check_model=False"):
        sb.ksd_test(X, sb.from_score(minus_one, sample=exponential), calibration=FEW, rng=0)


@pytest.mark.parametrize(
    "model",
    [
        sb.from_score(lambda x: -1.3 * x, sample=normal),
        sb.from_score(minus_one, support=(-0.05, None), sample=exponential),
    ],
    ids=["a wrong score", "a support that is too wide"],
)
def test_a_wrong_model_is_seen_by_every_test(model: Any) -> None:
    with pytest.warns(SteinIdentityWarning):
        sb.robust_ksd_test(X, model, 0.05, calibration=sb.BoundaryBootstrap(19), rng=0)


class Counted:
    """A user's model that counts how many draws it was asked for."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def score(self, x: Any) -> Any:
        return -x

    def sample(self, n: int, rng: Any) -> Any:
        self.asked.append(n)
        return normal(n, rng)


def test_one_reference_of_a_users_model_serves_every_test_and_everything_that_is_shown(tmp_path: Any) -> None:
    model, x = Counted(), np.random.default_rng(1).normal(size=120)
    result = sb.robust_ksd_test(x, model, 0.05, rng=0)
    assert model.asked == [4096]
    print(result, repr(result), result.summary(details=True), result._repr_html_(), result.explain())
    result.report(tmp_path / "page.html")
    result.smallest_detectable()
    sb.ksd_test(x[:60], model, rng=1)
    sb.robust_ksdagg_test(x, model, 0.05, rng=1)
    assert model.asked == [4096]


def test_a_model_that_was_changed_gets_another_reference() -> None:
    class Trained(Counted):
        slope = 1.0

        def score(self, x: Any) -> Any:
            return -self.slope * x

    model, x = Trained(), np.random.default_rng(1).normal(size=120)
    sb.robust_ksd_test(x, model, 0.05, rng=0)
    model.slope = 1.5
    with pytest.warns(SteinIdentityWarning):
        sb.robust_ksd_test(x, model, 0.05, rng=0)
    assert model.asked == [4096, 4096]


@dataclass
class Unhashable:
    scale: float = 1.3

    def score(self, x: Any) -> Any:
        return -self.scale * x

    def sample(self, n: int, rng: Any) -> Any:
        return normal(n, rng)


def test_the_finding_is_in_every_record_of_every_model() -> None:
    for model in (Unhashable(), sb.from_score(lambda x: -1.3 * x, sample=normal)):
        for _ in range(2):
            with pytest.warns(SteinIdentityWarning):
                result = sb.ksd_test(X, model, calibration=FEW, rng=0)
            assert any("contradicts itself" in text for text in result._record.warnings)


def test_it_can_be_turned_off_and_does_not_touch_the_seed() -> None:
    def run(**options: Any) -> float:
        model = sb.from_score(lambda x: -1.3 * x, sample=normal)
        return sb.ksd_test(X, model, calibration=FEW, rng=0, **options).pvalue

    off = run(check_model=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SteinIdentityWarning)
        assert run() == off


def log_normal(sigma: float) -> Any:
    return sb.from_score(
        lambda x: -(1.0 + np.log(x) / sigma**2) / x,
        support=(0, None),
        sample=lambda n, rng: rng.lognormal(sigma=sigma, size=(n, 1)),
    )


def gamma(shape: float) -> Any:
    return sb.from_score(lambda x: (shape - 1.0) / x - 1.0, sample=lambda n, rng: rng.gamma(shape, size=(n, 1)))


@pytest.mark.parametrize("model", [log_normal(1.5), log_normal(1.3), gamma(1.5)], ids=["σ = 1.5", "σ = 1.3", "Γ(1.5)"])
def test_what_is_too_rare_to_be_seen_is_said(model: Any) -> None:
    with pytest.warns(RareFeaturesWarning, match="too rare to be seen"):
        sb.ksd_test(X, model, calibration=FEW, rng=0)


@pytest.mark.parametrize("model", [log_normal(0.5), gamma(5.0)], ids=["σ = 0.5", "Γ(5)"])
def test_what_a_sample_does_see_is_not_called_rare(model: Any) -> None:
    assert identity_excess(pose(X, model))[1] < 0.15


def test_the_identity_is_looked_at_over_draws_that_did_not_make_the_function() -> None:
    problem = pose(X, ScoreFunction(lambda x: -x, sample=normal))
    draws = problem.reference.draws  # type: ignore[union-attr]
    there = problem.at(draws)
    u = problem.stein.block(there.points, there.points)
    f, weights = u[512:, :512].mean(axis=1), np.sort(np.diag(u)[512:])
    excess = f.mean() / (f.std(ddof=1) / np.sqrt(len(f)))
    assert identity_excess(problem) == pytest.approx((excess, weights[-3:].sum() / weights.sum()))


def test_a_sampler_that_fails_is_no_reason_to_stop_and_is_told() -> None:
    def sample(n: int, rng: Any) -> Any:
        raise ArithmeticError("no luck")

    with pytest.warns(SteinIdentityWarning, match=r"could not be checked.*ArithmeticError: no luck"):
        sb.ksd_test(X, sb.from_score(lambda x: -x, sample=sample), calibration=FEW, rng=0)


PAIRS = np.random.default_rng(0).normal(size=(80, 2))


def test_few_points_are_looked_at_and_slow_densities_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = []

    def log_density(x: Any) -> Any:
        rows.append(len(x))
        return -0.5 * (x**2).sum(axis=1)

    sb.ksd_test(PAIRS, sb.from_score(lambda x: -x, log_density=log_density), rng=0)
    assert rows
    assert max(rows) <= 25
    monkeypatch.setattr("steinball.checks.model.PATIENCE", -1.0)
    rows.clear()
    sb.ksd_test(PAIRS, sb.from_score(lambda x: -3.0 * x, log_density=log_density), rng=0)
    assert len(rows) == 1


def test_it_can_be_turned_off_and_spares_many_dimensions() -> None:
    wrong = sb.from_score(lambda x: 2.0 * x, log_density=lambda x: -0.5 * (x**2).sum(axis=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sb.ksd_test(PAIRS, wrong, check_model=False, rng=0)
        sb.ksd_test(np.tile(PAIRS, 6), wrong, rng=0)
    with pytest.warns(sb.cautions.WrongScoreWarning):
        sb.ksd_test(PAIRS, wrong, rng=0)


SCORES: list[tuple[Any, Callable[[Any], Any]]] = [
    (stats.expon(), lambda x: -np.ones_like(x)),
    (stats.halfnorm(), lambda x: -x),
    (stats.gamma(0.5), lambda x: -0.5 / x - 1.0),
    (stats.gengamma(0.25, 2), lambda x: -0.5 / x - 2.0 * x),
    (stats.pareto(2.0), lambda x: -3.0 / x),
    (stats.norm(), lambda x: -x),
]


@pytest.mark.parametrize("law", [stats.norm(), stats.norm(100.0, 3.0), stats.t(3), stats.logistic()])
@pytest.mark.parametrize("n", [200, 1000])
def test_a_log_density_in_place_of_a_score_is_asked_about(law: Any, n: int) -> None:
    x = law.rvs(size=n, random_state=0)
    with pytest.warns(sb.cautions.LogDensityWarning, match="a log density looks like this.*from_log_density"):
        sb.ksd_test(x, lambda x: law.logpdf(x), rng=0)


@pytest.mark.parametrize(("law", "score"), SCORES)
def test_scores_that_are_negative_everywhere_are_not(law: Any, score: Callable[[Any], Any]) -> None:
    for k in range(100):
        x = law.rvs(size=(60, 1), random_state=k)
        assert list(mistaken_score(pose(x, ScoreFunction(score), sb.InverseMultiquadric(1.0)))) == []


def test_every_test_says_that_it_cannot_see_the_weights_of_modes() -> None:
    model = GaussianMixture([0.5, 0.5], [-6.0, 6.0])
    x, few = model.sample(60, rng=0), sb.BoundaryBootstrap(19)
    said = "2 groups of modes .* cannot see wrong weights of the modes"
    with pytest.warns(SeparatedModesWarning, match=said):
        sb.ksd_test(x, model, calibration=FEW, rng=0)
    with pytest.warns(SeparatedModesWarning, match=said):
        sb.ksdagg_test(x, model, n_resamples=199, n_resamples_level=19, rng=0)
    with pytest.warns(SeparatedModesWarning, match=said):
        sb.robust_ksdagg_test(x, model, 0.05, calibration=few, rng=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sb.ksd_test(x, model, calibration=FEW, jumps="auto", rng=0)
        sb.ksd_test(x, Gaussian(0.0, 36.0), calibration=FEW, rng=0)
