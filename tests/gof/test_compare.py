"""Which of several models is closer: what goes in, what comes out, and how often it is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import steinball as sb
from steinball.cautions import FewRowsWarning, FittedOnDataWarning
from steinball.comparison import KernelCoordinates
from steinball.gof.compare import _fitted
from steinball.gof.compare import compare as _compare_function

pytestmark = pytest.mark.exact
Floats = NDArray[np.float64]

NEAR, FAR, WIDE = sb.models.Gaussian(0.1), sb.models.Gaussian(0.8), sb.models.Gaussian(0.0, sd=2.0)


class Drawn:
    """A normal model that can only be drawn from."""

    def __init__(self, mean: float = 0.0, sd: float = 1.0, columns: int = 1) -> None:
        self.mean, self.sd, self.columns = mean, sd, columns

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        return rng.normal(self.mean, self.sd, size=(n, self.columns))


def rows(n: int = 400, d: int = 1, seed: int = 0, bad: float = 0.0) -> Floats:
    x = np.random.default_rng(seed).normal(size=(n, d))
    x[: int(bad * n)] = 8.0
    return x


def told(result: sb.ComparisonResult) -> list[tuple[Any, ...]]:
    return [(p.first, p.second, p.mean, p.error, p.interval, p.pvalue, p.closer) for p in result.pairs]


def test_the_package_has_the_function() -> None:
    assert sb.compare is _compare_function


# What comes out


def test_the_closer_model_is_named_although_outliers_speak_for_the_other() -> None:
    x = rows(500, bad=0.05)
    assert stats.norm(0, 2).logpdf(x).mean() > stats.norm(0.1, 1).logpdf(x).mean()
    result = sb.compare(x, {"near": NEAR, "wide": WIDE}, contamination=0.05, rng=0)
    assert result.closest == "near"
    assert result.pairs[0].interval[0] > 0.0
    assert (result.n, result.dimension, result.draws, result.fitted_on) == (500, 1, {"near": 0, "wide": 0}, 0)


def test_the_preference_is_the_difference_of_kernel_means_written_out() -> None:
    x, draws = rows(30), {name: np.random.default_rng(k).normal(k, 1.0, size=(50, 1)) for k, name in enumerate("ab")}
    result = sb.compare(x, {name: sb.from_draws(part) for name, part in draws.items()}, rng=0)
    at = KernelCoordinates.from_draws([draws["a"], draws["b"]])
    z, a, b = (at.of(part)[:, 0] for part in (x, draws["a"], draws["b"]))

    def kernel(u: Floats, v: Floats) -> Floats:
        r2 = (u[:, None] - v[None]) ** 2
        return np.asarray(sum(np.exp(-r2 / (2 * h * h)) for h in (1.0, 0.5, 0.25)) / 3)

    def square(u: Floats) -> float:
        off = kernel(u, u) * (1 - np.eye(len(u)))
        return float(off.sum() / (len(u) * (len(u) - 1)))

    g = 2 * kernel(z, a).mean(axis=1) - square(a) - 2 * kernel(z, b).mean(axis=1) + square(b)
    np.testing.assert_allclose(result.pairs[0].values, g, atol=1e-12)
    own = [4 * np.var(kernel(z, u).mean(axis=0) - kernel(u, u).mean(axis=1), ddof=1) / len(u) for u in (a, b)]
    assert result.pairs[0].error == pytest.approx(np.sqrt(g.var(ddof=1) / 30 + sum(own)))


def test_a_closed_form_and_draws_agree_within_their_error() -> None:
    x = rows(300)
    closed = sb.compare(x, {"a": sb.models.Gaussian(), "b": FAR}, rng=0).pairs[0]
    drawn = sb.compare(x, {"a": Drawn(), "b": Drawn(0.8)}, rng=0).pairs[0]
    assert abs(closed.mean - drawn.mean) < 4 * drawn.error
    assert drawn.error > closed.error
    assert sb.compare(x, {"a": sb.models.Gaussian(), "b": Drawn(0.8)}, rng=0).draws == {"a": 0, "b": 6000}


def test_the_order_of_the_models_changes_signs_only() -> None:
    x = rows(30, 4)
    models: dict[str, Any] = {
        "a": Drawn(0.0, columns=4),
        "b": sb.models.Gaussian(0.5, dimension=4),
        "c": Drawn(0.4, 2.0, 4),
    }
    forward = {(p.first, p.second): p for p in sb.compare(x, models, contamination=0.05, rng=3).pairs}
    backward = sb.compare(x, dict(reversed(models.items())), contamination=0.05, rng=3).pairs
    for pair in backward:
        other = forward[pair.second, pair.first]
        np.testing.assert_array_equal(pair.values, -other.values)
        np.testing.assert_allclose(pair.interval, np.negative(other.interval)[::-1], atol=1e-12)
        assert pair.closer == other.closer
        assert pair.pvalue == pytest.approx(other.pvalue, rel=1e-9)


def test_preferences_of_three_models_add_up() -> None:
    pairs = sb.compare(rows(100), {"a": NEAR, "b": Drawn(1.0), "c": WIDE}, rng=0).pairs
    values = {(p.first, p.second): p.values for p in pairs}
    np.testing.assert_allclose(values["a", "b"] + values["b", "c"], values["a", "c"], atol=1e-14)


def test_another_model_beside_them_moves_no_draw_of_the_first_two() -> None:
    x = rows(60)
    seen: list[Floats] = []

    class Watched(Drawn):
        def sample(self, n: int, rng: np.random.Generator) -> Floats:
            seen.append(super().sample(n, rng))
            return seen[-1]

    sb.compare(x, {"a": Watched(), "b": NEAR}, rng=1)
    sb.compare(x, {"z": NEAR, "b": WIDE, "a": Watched()}, rng=1)
    sb.compare(x, {"a": Watched(), "b": NEAR}, rng=2)
    np.testing.assert_array_equal(seen[0], seen[1])
    assert not np.array_equal(seen[0], seen[2])
    sb.compare(x, {"a": Watched(), "b": Watched()}, rng=1)
    assert not np.array_equal(seen[3], seen[4])  # draws of two models must be independent


def test_frames_torch_and_numpy_give_the_same_answer() -> None:
    pandas, torch = pytest.importorskip("pandas"), pytest.importorskip("torch")
    x, models = rows(40, 2), {"a": sb.models.Gaussian(dimension=2), "b": Drawn(0.3, columns=2), "c": "normal"}
    plain = sb.compare(x, models, contamination=0.1, rng=0)
    frame = sb.compare(pandas.DataFrame(x, columns=["u", "v"]), models, contamination=0.1, rng=0)
    tensor = sb.compare(torch.from_numpy(x), models, contamination=0.1, rng=0)
    assert told(plain) == told(frame) == told(tensor)
    assert frame.to_dict()["columns"] == ["u", "v"]


def test_objects_of_other_libraries_are_models() -> None:
    torch = pytest.importorskip("torch")
    models = {
        "torch": torch.distributions.Normal(0.0, 1.0),
        "scipy": stats.t(4),
        "base": sb.in_base_space(stats.expon()),
    }
    result = sb.compare(np.abs(rows(100)), models, rng=0)
    assert result.draws == {"torch": 0, "scipy": 2000, "base": 2000}
    assert result.closest == "base"


# What goes in


def test_a_family_is_fitted_on_rows_that_are_not_compared() -> None:
    x = rows(400, bad=0.05) * 3.0 + 2.0
    result = sb.compare(x, {"normal": "normal", "far": sb.models.Gaussian(6.0, sd=3.0)}, contamination=0.05, rng=0)
    assert (result.n, result.fitted_on) == (200, 200)
    params = result.fitted["normal"]
    assert [params["mean"], params["sd"]] == pytest.approx([2.0, 3.0], abs=0.5)
    assert result.closest == "normal"
    assert "normal was fitted on 200 other rows" in result.summary()


@pytest.mark.parametrize(
    ("family", "sampler", "truth"),
    [
        ("normal", lambda rng: rng.normal(2.0, 3.0, 600), [2.0, 3.0]),
        ("gamma", lambda rng: rng.gamma(3.0, 2.0, 600), [3.0, 2.0]),
        ("student-t", lambda rng: 1.0 + rng.standard_t(6, 600), [1.0 / 6.0, 1.0, 1.0]),
        (
            "mixture:2",
            lambda rng: np.where(rng.random(600) < 0.3, -3.0, 2.0) + rng.normal(size=600),
            [0.3, -3, 1, 2, 1],
        ),
    ],
)
def test_a_fit_is_near_the_truth_although_one_row_in_twenty_is_bad(
    family: str, sampler: Any, truth: list[float]
) -> None:
    x = sampler(np.random.default_rng(1))[:, None]
    x[::20] = 60.0
    found = np.array(list(_fitted("a", family, x)[1].values()))
    np.testing.assert_allclose(found, truth, rtol=0.4, atol=0.35)


def test_rows_outside_the_support_of_a_family_are_left_out_of_its_fit() -> None:
    x = np.random.default_rng(0).gamma(3.0, 2.0, size=(300, 1))
    x[:9] = -4.0
    assert _fitted("a", "gamma", x)[1]["shape"] == pytest.approx(3.0, rel=0.25)


def test_no_more_draws_are_used_than_can_be_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_fitted.__globals__, "MOST_DRAWS", 300)
    many = np.random.default_rng(0).normal(size=(400, 1))
    result = sb.compare(rows(20), {"a": sb.from_draws(many), "b": sb.from_draws(many[:200] + 1.0)}, rng=0)
    assert result.draws == {"a": 300, "b": 200}


@pytest.mark.parametrize(
    ("models", "words", "message"),
    [
        ({"a": NEAR}, {}, "`models` must hold at least two"),
        ([NEAR, FAR], {}, "`models` must be a mapping"),
        ({"a": NEAR, 2: FAR}, {}, "names that are texts of one line, got 2"),
        ({"a": NEAR, " ": FAR}, {}, "names that are texts"),
        ({"a": NEAR, "b\nc": FAR}, {}, "of one line"),
        ({"a": NEAR, "b": FAR}, {"contamination": 1.0}, "`contamination` must be below 1"),
        ({"a": NEAR, "b": FAR}, {"contamination": -0.1}, "`contamination`"),
        ({"a": NEAR, "b": FAR}, {"level": 0.95}, "`level`"),
        ({"a": NEAR, "b": lambda x: -x}, {}, r"`models\['b'\]`: a ScoreFunction cannot be drawn from"),
        ({"a": NEAR, "b": np.zeros((5, 1))}, {}, r"`models\['b'\]` is an array. Draws .* `sb.from_draws"),
        ({"a": NEAR, "b": sb.models.Gaussian(dimension=2)}, {}, r"`models\['b'\]`: the model has 2 columns"),
        ({"a": NEAR, "b": "gausian"}, {}, r"`models\['b'\]`: `family` must be one of"),
        ({"a": NEAR, "b": 3.0}, {}, r"`models\['b'\]`: `model` must be"),
        ({"a": NEAR, "b": stats.norm}, {}, r"`models\['b'\]`"),
        ({"a": NEAR, "b": stats.poisson(3)}, {}, r"`models\['b'\]`"),
    ],
)
def test_what_cannot_be_compared_is_refused_by_name(models: Any, words: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        sb.compare(rows(50), models, rng=0, **words)


@pytest.mark.parametrize(
    ("x", "message"),
    [([1.0], "at least 2 rows"), ([1.0, np.nan], "must be finite"), ([1.0, 2.0, 3.0], "at least 4 rows")],
)
def test_rows_that_are_too_few_or_not_finite_are_refused(x: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sb.compare(x, {"a": "normal", "b": FAR}, rng=0)


@pytest.mark.filterwarnings("default::steinball.cautions.FewRowsWarning")
def test_few_rows_and_a_model_fitted_on_the_rows_are_remarked() -> None:
    x = rows(20)
    fitted = sb.models.Gaussian(float(x.mean()), sd=float(x.std()))
    with pytest.warns(FewRowsWarning, match="20 rows"), pytest.warns(FittedOnDataWarning, match=r"`models\['fit'\]`"):
        result = sb.compare(x, {"fit": fitted, "far": FAR}, rng=0)
    assert len(result._record.warnings) == 2


def test_all_rows_alike_show_no_difference() -> None:
    result = sb.compare(np.full(40, 0.3), {"a": NEAR, "b": FAR}, rng=0)
    assert (result.closest, result.pairs[0].pvalue) == (None, 1.0)


def test_units_as_large_as_floats_are_no_matter() -> None:
    x = rows(80)
    plain = sb.compare(x, {"a": NEAR, "b": FAR}, rng=0).pairs[0]
    large = sb.compare(
        x * 1e80, {"a": sb.models.Gaussian(1e79, sd=1e80), "b": sb.models.Gaussian(8e79, sd=1e80)}, rng=0
    )
    assert large.pairs[0].interval == pytest.approx(plain.interval, rel=1e-6)


# How often it is wrong


@pytest.mark.calibration
def test_a_tie_is_rarely_called_and_a_difference_mostly() -> None:
    """n = 300, 5 % at 8: models equally far from the clean part, and one that is closer."""
    models = {"low": sb.models.Gaussian(-0.5), "high": sb.models.Gaussian(0.5), "far": sb.models.Gaussian(1.6)}
    wrong = right = 0
    for seed in range(60):
        result = sb.compare(rows(300, seed=seed, bad=0.05), models, contamination=0.05, rng=seed)
        closer = {(p.first, p.second): p.closer for p in result.pairs}
        wrong += closer["low", "high"] is not None or "far" in closer.values()
        right += closer["high", "far"] == "high"
    assert wrong <= 7  # .05 of 60, and four standard errors
    assert right >= 54
