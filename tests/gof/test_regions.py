"""The region test: both questions, every kind of model, what is refused, what is kept, its words."""

from __future__ import annotations

import dataclasses
import gc
import warnings
import weakref
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import steinball as sb
from steinball.cautions import DependentRowsWarning

Floats = NDArray[np.float64]
NORMAL = sb.models.Gaussian()


def normal(n: int, d: int = 1, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(n, d))


def outliers(n: int = 500, seed: int = 0) -> Floats:
    x = normal(n, seed=seed)
    x[::25] = 10.0
    return x


class Sampled:
    """A model that can be drawn from and knows nothing else."""

    def __init__(self, scale: float = 1.0, columns: int = 2) -> None:
        self.scale, self.columns, self.asked = scale, columns, 0

    def sample(self, n: int, rng: Any) -> Floats:
        self.asked += n
        return self.scale * np.random.default_rng(rng).normal(size=(n, self.columns))


MODELS: dict[str, tuple[Any, Floats]] = {
    "built in": (NORMAL, normal(3000)),
    "SciPy": (stats.norm(), normal(3000)),
    "SciPy with an end": (stats.expon(), np.random.default_rng(0).exponential(size=(3000, 1))),
    "counts": (stats.poisson(3.0), np.random.default_rng(0).poisson(3.0, size=(3000, 1)).astype(float)),
    "a distribution function": (type("Own", (), {"cdf": staticmethod(stats.norm.cdf)})(), normal(3000)),
    "a sampler": (Sampled(), normal(3000, 2)),
    "draws": (sb.from_draws(normal(60_000, seed=1)), normal(3000)),
    "a mixture": (
        sb.models.GaussianMixture([0.5, 0.5], [-2.0, 2.0]),
        sb.models.GaussianMixture([0.5, 0.5], [-2.0, 2.0]).sample(3000, rng=0),
    ),
    "base space": (sb.in_base_space(sb.models.StudentT(5.0)), sb.models.StudentT(5.0).sample(3000, rng=0)),
}


@pytest.mark.calibration
@pytest.mark.parametrize("name", MODELS)
def test_true_models_are_good_enough_and_wider_ones_are_not(name: str) -> None:
    model, x = MODELS[name]
    assert sb.region_test(x, model, tolerance=0.08).verdict == "good enough"
    assert sb.region_test(x, model, contamination=0.05).pvalue > 0.05
    wide = x * 2.0 if name == "counts" else 1.6 * x
    assert sb.region_test(wide, model, tolerance=0.05).verdict == "misfit"


@pytest.mark.exact
def test_categories_are_labels_and_unknown_ones_lie_in_no_region() -> None:
    coin = {"head": 0.5, "tail": 0.5}
    fair, bent = ["head", "tail"] * 1000, ["head"] * 900 + ["tail"] * 600 + ["edge"] * 500
    assert sb.region_test(fair, coin, tolerance=0.05).verdict == "good enough"
    found = sb.region_test(bent, coin, tolerance=0.05)
    assert found.verdict == "misfit"
    assert "In tail the model expects 50 % of the rows" in found.region
    assert "none of the categories" in sb.region_test(bent, coin, contamination=0.0).explain(top=2000).values(1600)
    with pytest.raises(ValueError, match="add up to 1"):
        sb.region_test(fair, {"head": 0.5, "tail": 0.4}, tolerance=0.05)


@pytest.mark.exact
def test_one_of_two_words_is_given() -> None:
    questions: list[dict[str, Any]] = [{}, {"contamination": 0.05, "tolerance": 0.05}]
    for words in questions:
        with pytest.raises(TypeError, match=r"some rows are garbage.*in no region may the shares"):
            sb.region_test(outliers(), NORMAL, **words)


@pytest.mark.exact
def test_the_region_is_said_in_words() -> None:
    found = sb.region_test(outliers(), NORMAL, contamination=0.01)
    shares = "the model expects 99.9 % of the rows; tolerating 1 %, at least 98.9 %; there are 95.6 %."
    assert found.region == f"Between -3.41 and 3.41 {shares}"
    assert str(found).startswith("MISFIT at level 0.05. Between -3.41 and 3.41")
    assert found.contamination_bound > 0.015
    assert "points" in found.at(tolerance=0.01).region


@pytest.mark.exact
def test_the_statistic_exceeds_its_threshold_exactly_where_the_pvalue_rejects() -> None:
    for scale in (1.0, 1.1, 1.2, 1.3, 1.4):
        found = sb.region_test(scale * normal(200), NORMAL, contamination=0.02)
        for result in (found, *(found.at(level=level) for level in (0.01, 0.1, 0.3, 0.5)), found.at(tolerance=0.02)):
            assert (result.pvalue <= result.level) == (result.statistic > result.threshold) == result.rejected
            assert result.n_resamples == (0 if result.tolerance else 1999)


@pytest.mark.exact
def test_the_same_rows_give_the_same_answer_whatever_was_tested_before() -> None:
    x, model = 1.2 * normal(200), sb.models.Gaussian()
    first = sb.region_test(x, model, contamination=0.05).to_dict()
    sb.region_test(normal(200, seed=3), model, contamination=0.1)
    assert sb.region_test(x, model, contamination=0.05, rng=7).to_dict() == first
    assert sb.region_test(x, sb.models.Gaussian(), contamination=0.05).to_dict() == first


@pytest.mark.exact
def test_nulls_are_kept_with_the_model_and_made_anew_where_it_changes() -> None:
    model, x = Sampled(), normal(100, 2)
    before = sb.region_test(x, model, contamination=0.05).pvalue
    asked = model.asked
    sb.region_test(normal(100, 2, seed=1), model, contamination=0.05)
    assert model.asked - asked <= 10  # a few draws tell whether the model is still the same
    model.scale = 3.0
    changed = sb.region_test(x, model, contamination=0.05)
    assert changed.verdict == "misfit"
    assert before > 0.05


@pytest.mark.exact
@pytest.mark.parametrize(
    ("sampler", "message"),
    [
        (lambda n, rng: 1 / 0, r"`model.sample\(512, rng\)` failed: ZeroDivisionError"),
        (lambda n, rng: np.full((n, 2), np.nan), "NaN|finite"),
        (lambda n, rng: rng.normal(size=(n, 3)), r"must return shape \(512, 2\)"),
        (lambda n, rng: np.ones((n, 2)), "got the same row 512 times"),
    ],
)
def test_a_sampler_that_fails_is_named(sampler: Any, message: str) -> None:
    model = Sampled()
    model.sample = sampler  # type: ignore[method-assign]
    with pytest.raises(ValueError, match=message):
        sb.region_test(normal(50, 2), model, contamination=0.05)


@pytest.mark.exact
def test_a_model_with_a_score_alone_is_refused_with_what_to_do() -> None:
    with pytest.raises(TypeError, match=r"sample\(n, rng\).*sb.from_draws.*robust_ksd_test"):
        sb.region_test(normal(50), lambda x: -x, contamination=0.05)
    with pytest.raises(ValueError, match="has 3 columns, but `x` has 2"):
        sb.region_test(normal(50, 2), sb.models.Gaussian(np.zeros(3)), contamination=0.05)


@pytest.mark.calibration
def test_rounded_rows_are_compared_with_rounded_draws() -> None:
    found = sb.region_test(normal(2000).round(1), NORMAL, contamination=0.05)
    assert found.pvalue > 0.05
    assert found.details["rounded to"].startswith("multiples of 0.1")
    assert sb.region_test(normal(2000).round(1), NORMAL, contamination=0.05, resolution=False).rejected


@pytest.mark.calibration
def test_a_view_of_the_user_sees_what_the_others_do_not() -> None:
    z = normal(1000, 4)
    z[:, 3] = np.abs(z[:, 3]) * np.sign(z[:, 0] * z[:, 1] * z[:, 2])  # every pair of columns is independent
    model = sb.models.Gaussian(np.zeros(4))
    assert sb.region_test(z, model, contamination=0.05).pvalue > 0.05
    seen = sb.region_test(z, model, contamination=0.05, views={"product": lambda x: x.prod(axis=1)})
    assert seen.verdict == "misfit"
    assert "product" in seen.region


@pytest.mark.exact
@pytest.mark.parametrize("known", [True, False])
def test_the_log_density_is_a_view_of_a_model_of_several_columns_that_gives_one(known: bool) -> None:
    def log_density(x: Floats) -> Floats:
        if not known:
            raise TypeError("single precision, please")
        return np.asarray(-0.5 * np.sum(x * x, axis=1))

    model = Sampled()
    vars(model).update(log_density=log_density)
    whole = sb.region_test(normal(50, 2), model, tolerance=0.2)._evidence.counted.design.cuts[1].family
    assert ("the log density of the model" in whole.words) == known


@pytest.mark.exact
def test_what_is_kept_with_a_model_does_not_hold_the_rows() -> None:
    model = Sampled()
    vars(model).update(log_density=lambda x: -0.5 * np.sum(x * x, axis=1))
    x = normal(50, 2)
    held = weakref.ref(x)
    sb.region_test(x, model, contamination=0.2, n_resamples=19)
    del x
    gc.collect()
    assert held() is None


@pytest.mark.exact
def test_models_that_nobody_holds_are_let_go() -> None:
    """A source draws by its model, so that whatever were kept as long as the model lives would be kept for ever."""
    x, held = normal(20, 2), []
    for _ in range(65):
        model = Sampled()
        held.append(weakref.ref(model))
        sb.region_test(x, model, tolerance=0.2)
    del model
    gc.collect()
    assert held[0]() is None


@pytest.mark.exact
def test_rows_in_their_order_are_warned_of() -> None:
    with pytest.warns(DependentRowsWarning):
        sb.region_test(np.sort(normal(300), axis=0), NORMAL, contamination=0.05)


@pytest.mark.calibration
def test_rounded_rows_far_from_zero_are_read_in_their_own_units() -> None:
    """The search for dependence once clipped one column at 20 of its own units, where all rows were equal."""
    heights = np.round(170.0 + 7.0 * normal(400)[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error", DependentRowsWarning)
        assert sb.check(heights, stats.norm(170.0, 7.0), tolerance=0.15).verdict == "good enough"
    with pytest.warns(DependentRowsWarning):
        sb.check(np.sort(heights), stats.norm(170.0, 7.0), tolerance=0.15)


def test_a_tolerated_difference_is_answered_by_a_difference_and_not_by_a_share_of_contamination() -> None:
    x = 1.5 * normal(2000)
    for found in (sb.region_test(x, stats.norm(), tolerance=0.02), sb.check(x, stats.norm(), tolerance=0.02, rng=0)):
        low = 100 * found.difference_interval[0]
        assert f"in some region the shares of data and model differ by at least {low:.3g}"[:-1] in text_of(found)
        assert "ontaminat" not in text_of(found)
        assert "is contaminated" in text_of(found.at(contamination=0.02))


def test_fewer_rows_than_there_are_are_not_asked_for() -> None:
    """A second sample as short as the data is what makes the bound wide."""
    rows, draws = normal(600, 2, seed=1), normal(600, 2, seed=2)
    found = sb.check(rows, sb.from_draws(draws), tolerance=0.2)
    assert found.verdict == "undecided"
    assert found.rows_needed < found.n
    assert "rows like these would" not in text_of(found)
    assert "rows like these would" in text_of(found.at(tolerance=0.05))


def test_another_contamination_is_said_to_be_answered_by_binomial_tails() -> None:
    found = sb.check(np.round(10.0 * normal(300)), stats.norm(0.0, 10.0), contamination=0.1)
    assert "monte carlo" in text_of(found)
    assert "binomial tails" in text_of(found.at(contamination=0.2))


def text_of(result: Any) -> str:
    """The summary without line breaks."""
    return " ".join(str(result).split())


def test_blame_names_the_bad_rows_and_no_others() -> None:
    found = sb.region_test(outliers(), NORMAL, contamination=0.01).explain(top=100)
    assert sorted(found.points.tolist()) == list(range(0, 500, 25))
    assert "Too many rows above" in found.summary()
    assert sb.region_test(normal(500), NORMAL, contamination=0.01).explain().points.size == 0


@pytest.mark.exact
def test_names_of_columns_are_in_the_words() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(1.5 * normal(400, 2), columns=["height", "weight"])
    found = sb.region_test(frame, sb.models.Gaussian(np.zeros(2)), tolerance=0.02)
    assert found.verdict == "misfit"
    assert "height" in found.region or "weight" in found.region or "all columns" in found.region
    assert "height=" in found.explain().values(0)
    checked = sb.check(frame[["height"]], NORMAL, tolerance=0.02, rng=0)
    assert checked.region.startswith("Where height is ")
    assert checked.region in text_of(checked)


@pytest.mark.exact
def test_libraries_agree() -> None:
    torch = pytest.importorskip("torch")
    x = 1.2 * normal(200, 2)
    model = sb.models.Gaussian(np.zeros(2))
    ours, theirs = (sb.region_test(rows, model, contamination=0.05) for rows in (x, torch.asarray(x)))
    assert ours.to_dict() == theirs.to_dict()


@pytest.mark.calibration
def test_the_level_is_kept_by_what_the_door_chooses() -> None:
    """200 samples with 5 % of bad rows in each of two places: at most .05 + 3 standard errors are rejected."""
    model, rejected = sb.models.Gaussian(), {1.0: 0, 8.0: 0}
    for seed in range(200):
        rng = np.random.default_rng(seed)
        for place in rejected:
            x = np.where(rng.random(100) < 0.05, place, rng.normal(size=100))
            rejected[place] += sb.region_test(x, model, contamination=0.05).rejected
    assert max(rejected.values()) <= 200 * 0.05 + 3 * np.sqrt(200 * 0.05 * 0.95)


PLANE = sb.models.Gaussian(np.zeros(3))


class Told:
    """A linear classifier that remembers what it was told of each class."""

    def fit(self, x: Floats, y: Floats) -> None:
        self.rows, self.drawn = x[y == 1], x[y == 0]
        self.direction = self.rows.mean(axis=0) - self.drawn.mean(axis=0)

    def decision_function(self, x: Floats) -> Floats:
        return np.asarray(x @ self.direction)


class Constant(Told):
    def decision_function(self, x: Floats) -> Floats:
        return np.ones(len(x))


def learned_with(monkeypatch: pytest.MonkeyPatch, model: Any, x: Floats) -> tuple[sb.RegionResult, Told]:
    """A result with a classifier, and the copy of it that was taught."""
    taught = Told()
    monkeypatch.setattr(Told, "__deepcopy__", lambda self, memo: taught, raising=False)
    return sb.region_test(x, model, contamination=0.05, classifier=Told(), n_resamples=199, rng=0), taught


@pytest.mark.exact
def test_learned_views_share_the_level_with_the_fixed_ones() -> None:
    x = normal(300, 3) + np.array([0.4, 0.5, 0.3])
    found = sb.region_test(x, PLANE, contamination=0.05, learn=True, rng=0)
    fixed, learned = found._evidence.parts
    alone = sb.region_test(x, PLANE, contamination=0.05)
    assert found.pvalue == 2.0 * min(alone.pvalue, learned.pvalue("contamination", 0.05)) < 1.0
    assert fixed.pvalue("contamination", 0.05) == alone.pvalue
    assert found.difference_interval == (
        max(part.bound("tolerance", 0.025) for part in (fixed, learned)),
        max(part.upper_bound(0.025) for part in (fixed, learned)),
    )
    assert found.contamination_bound == max(part.bound("contamination", 0.025) for part in (fixed, learned)) > 0.0
    assert found.difference_interval[0] > 0.0
    later = found.at(tolerance=0.02, level=0.1)
    parts = [part.pvalue("tolerance", 0.02) for part in (fixed, learned)]
    assert later.pvalue == min(1.0, 2.0 * min(parts))
    assert later.rejected == (later.pvalue <= 0.1)
    assert found.views == alone.views + learned.views
    assert "150 rows" in found.details["learned"]
    assert found.at(tolerance=0.9).rows_needed > alone.at(tolerance=0.9).rows_needed


@pytest.mark.exact
def test_the_split_follows_rng_and_nothing_else_does() -> None:
    x = 1.1 * normal(200, 3)
    first, again, other = (sb.region_test(x, PLANE, contamination=0.02, learn=True, rng=seed) for seed in (1, 1, 2))
    assert first.to_dict() == again.to_dict()
    one, two = (found._evidence.learned for found in (first, other))
    assert one is not None
    assert two is not None
    assert one.reading.rows.tolist() != two.reading.rows.tolist()
    assert first._evidence.parts[0].pvalue("contamination", 0.02) == other._evidence.parts[0].pvalue(
        "contamination", 0.02
    )


@pytest.mark.exact
@pytest.mark.parametrize("drawn", [False, True])
def test_what_is_learned_on_is_not_looked_at(monkeypatch: pytest.MonkeyPatch, drawn: bool) -> None:
    model = sb.from_draws(normal(3000, 2, seed=1)) if drawn else Sampled()
    x = normal(100, 2)
    found, taught = learned_with(monkeypatch, model, x)
    learned = found._evidence.learned
    assert learned is not None
    seen = learned.reading.source.rows(learned.reading.rows).z.T
    rows = np.concatenate([taught.rows, seen])
    assert np.unique(rows, axis=0).shape == (100, 2)
    assert len(taught.rows) == len(seen) == len(taught.drawn) == 50
    assert learned.reading.given.tolist() == learned.reading.rows.tolist()
    if drawn:
        left = learned.reading.source.draws
        assert left is not None
        own = found._evidence.reading.source.draws
        assert own is not None
        assert len(left) == len(own) - 50
        assert not set(map(tuple, learned.reading.source.rows(left).z.T)) & set(map(tuple, taught.drawn))


@pytest.mark.calibration
def test_a_slanted_shift_is_found_by_learned_views_and_described() -> None:
    d = 12
    slant = np.where(np.arange(d) % 2 == 0, 1.0, -1.0) / np.sqrt(d)
    x = normal(400, d) + 0.7 * slant
    model = sb.models.Gaussian(np.zeros(d))
    found = sb.region_test(x, model, contamination=0.05, learn=True, calibration="bound", rng=0)
    assert found.verdict == "misfit"
    assert found._evidence.parts[0].pvalue("contamination", 0.05) > 0.05
    assert found.region.startswith("Where a direction in which the other half of the rows is shifted (mostly column")
    assert "half of the rows is shifted" in found._profile().name
    assert len(found._profile().data) == 200
    assert found.explain().short == found.region


@pytest.mark.exact
def test_learning_needs_something_to_learn() -> None:
    with pytest.raises(ValueError, match="`learn` must be False for one column"):
        sb.region_test(normal(100), NORMAL, contamination=0.05, learn=True)
    with pytest.raises(ValueError, match="`learn` must be False for one column"):
        sb.region_test([0, 1] * 50, {0: 0.5, 1: 0.5}, contamination=0.05, classifier=Told())
    with pytest.raises(ValueError, match=r"at least 20 rows, .* got 19"):
        sb.region_test(normal(19, 3), PLANE, contamination=0.05, learn=True)
    for model in (lambda x: -x, "normal"):
        with pytest.raises(TypeError, match="need a model that can be drawn from"):
            sb.check(normal(100, 2), model, contamination=0.05, learn=True)


@pytest.mark.exact
@pytest.mark.parametrize("classifier", [Told(), Constant()])
def test_a_classifier_of_one_column_and_rows_far_out(classifier: Any) -> None:
    x = normal(200)
    x[:3] = 1e200
    assert not sb.region_test(x, NORMAL, contamination=0.1, classifier=classifier, n_resamples=199, rng=0).rejected
    wide = normal(60, 3)
    wide[0] = 1e200
    assert not sb.check(wide, PLANE, contamination=0.1, classifier=classifier, rng=0).rejected


@pytest.mark.calibration
def test_learned_views_keep_the_level() -> None:
    """60 samples with 5 % of bad rows in one place: at most .05 + 3 standard errors are rejected."""
    rejected, model = 0, sb.models.Gaussian(np.zeros(5))
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x = np.where(rng.random((80, 1)) < 0.05, 2.0, rng.normal(size=(80, 5)))
        found = sb.region_test(x, model, contamination=0.05, learn=True, n_resamples=199, rng=seed)
        rejected += found._evidence.parts[1].pvalue("contamination", 0.05) <= 0.05
    assert rejected <= 60 * 0.05 + 3 * np.sqrt(60 * 0.05 * 0.95)


@pytest.mark.exact
@pytest.mark.parametrize("question", ["tolerance", "contamination"])
def test_a_pvalue_is_the_largest_up_to_its_share_in_whatever_order_shares_are_asked_for(question: Any) -> None:
    x = np.random.default_rng(0).normal(0.25, 1.1, size=(300, 1))
    evidence = sb.region_test(x, sb.models.Gaussian(), tolerance=0.02)._evidence
    seen = set()
    for share in (0.033, 0.0, 0.02, 0.05, 0.12):
        counted = dataclasses.replace(evidence.counted)  # remembers nothing
        grid = [k * 0.005 for k in range(round(share * 200 - 0.4999) + 1)]
        expected = max(counted.bonferroni(question, at) for at in (*grid, share))
        assert evidence.pvalue(question, share) == expected
        seen.add(expected)
    assert len(seen) > 2


@pytest.mark.exact
def test_a_pvalue_counts_the_last_step_below_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = sb.region_test(np.arange(50.0)[:, None], sb.models.Gaussian(), tolerance=0.02)._evidence
    counted = type(evidence.counted)
    monkeypatch.setattr(counted, "bonferroni", lambda self, question, share: 0.5 if abs(share - 0.03) < 1e-9 else 0.1)
    fresh = dataclasses.replace(evidence)
    assert [fresh.pvalue("tolerance", share) for share in (0.033, 0.029, 0.2)] == [0.5, 0.1, 0.5]
