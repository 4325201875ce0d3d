"""The front door: what is tested of each kind of model, how p-values and bounds combine, what is withheld."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import steinball as sb

Floats = NDArray[np.float64]
NORMAL = sb.models.Gaussian()


def normal(n: int, d: int = 1, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.exact
def test_parts_are_what_the_model_allows() -> None:
    both = sb.check(normal(200), NORMAL, contamination=0.05, rng=0)
    assert list(both.parts) == ["regions", "distance"]
    assert list(sb.check(normal(200), lambda x: -x, contamination=0.05, rng=0).parts) == ["distance"]
    for model, x in (
        (stats.poisson(2.0), np.random.default_rng(0).poisson(2.0, size=200)),
        ({0: 0.5, 1: 0.5}, [0, 1] * 100),
        (sb.from_draws(normal(4000, seed=1)), normal(200)),
    ):
        assert list(sb.check(x, model, contamination=0.05).parts) == ["regions"]
    assert list(sb.check(normal(200), "normal", contamination=0.05, rng=0).parts) == ["regions"]
    with pytest.raises(ValueError, match=r"normal is a family of 2 columns.*`sb.split`"):
        sb.check(normal(400).reshape(200, 2), "normal", contamination=0.05, rng=0)
    assert list(sb.check(normal(200), stats.norm, contamination=0.0, rng=0).parts) == ["distance"]


@pytest.mark.exact
def test_the_pvalue_is_twice_the_smaller_one_and_at_agrees() -> None:
    found = sb.check(1.2 * normal(200), NORMAL, contamination=0.02, rng=0)
    smaller = min(part.pvalue for part in found.parts.values())
    assert found.pvalue == min(1.0, 2.0 * smaller)
    later = found.at(tolerance=0.05, level=0.1)
    assert later.pvalue == min(1.0, 2.0 * min(part.pvalue for part in later.parts.values()))
    assert all(part.level == 0.1 for part in later.parts.values())
    regions = sb.region_test(1.2 * normal(200), NORMAL, contamination=0.02)
    assert found.difference_interval == regions.difference_interval
    assert found.rows_needed == regions.rows_needed < np.inf
    assert found.parts["regions"].pvalue == regions.pvalue


@pytest.mark.exact
def test_the_share_bound_is_the_larger_one_at_half_the_level() -> None:
    x = normal(500)
    x[::4] = 2.0
    found = sb.check(x, NORMAL, contamination=0.01, rng=0)
    halves = [part.at(level=0.025).contamination_bound for part in found.parts.values()]
    assert found.contamination_bound == max(halves)


@pytest.mark.exact
def test_scores_alone_are_at_best_close_in_ksd() -> None:
    found = sb.check(normal(3000), lambda x: -x, contamination=0.2, rng=0)
    assert found.verdict == "close in KSD"
    assert str(found).startswith("CLOSE IN KSD at level 0.05.")
    assert sb.robust_ksd_test(normal(3000), NORMAL, 0.2, rng=0).verdict == "close in KSD"


@pytest.mark.exact
def test_rounded_rows_and_rows_outside_the_support_are_left_to_regions() -> None:
    rounded = sb.check(normal(500).round(1), NORMAL, contamination=0.05, rng=0)
    assert list(rounded.parts) == ["regions"]
    assert "rounded" in rounded.details["scores"]
    x = np.append(np.random.default_rng(0).exponential(size=300), [-1.0, -2.0])
    outside = sb.check(x, stats.expon(), contamination=0.05, rng=0)
    assert "2 of the rows lie outside the support" in outside.details["scores"]
    assert outside.verdict == "undecided"


@pytest.mark.exact
def test_many_rows_have_some_of_their_pairs_compared() -> None:
    found = sb.check(normal(20_000), NORMAL, tolerance=0.05, rng=0)
    assert found.verdict == "good enough"
    assert found.n == 20_000
    assert found.parts["distance"].n == 10_000
    assert found.details["scores"] == "of 10,000 rows, drawn at random"


@pytest.mark.exact
def test_one_word_is_given_and_a_family_has_no_tolerance() -> None:
    with pytest.raises(TypeError, match="how much is good enough"):
        sb.check(normal(100), NORMAL)
    with pytest.raises(TypeError, match="not both"):
        sb.check(normal(100), NORMAL, contamination=0.1, tolerance=0.1)
    with pytest.raises(TypeError, match="of a family, give `contamination`"):
        sb.check(normal(100), "normal", tolerance=0.1)


class Flow:
    """A model that says it is better compared in base space, as flows do."""

    dimension, prefers_base = 2, True

    def to_base(self, x: Floats) -> Floats:
        return x / 3.0

    def score(self, x: Floats) -> Floats:
        return -x / 9.0

    def sample(self, n: int, rng: Any) -> Floats:
        return 3.0 * np.random.default_rng(rng).normal(size=(n, 2))


@pytest.mark.exact
def test_a_flow_is_compared_in_base_space() -> None:
    found = sb.check(3.0 * normal(300, 2), Flow(), contamination=0.05, rng=0)
    assert found.details["compared in"] == "base space"
    assert sb.check(6.0 * normal(300, 2), Flow(), contamination=0.05, rng=0).verdict == "misfit"


@functools.cache  # by either word the same model, whose regions are designed once
def _problem_cases() -> dict[str, tuple[Any, Floats, float]]:
    """Data that plainly do not fit, with the share that is tolerated (docs/theory/regions.md)."""
    rng = np.random.default_rng(5)
    wide = np.where(rng.random((2000, 1)) < 0.25, rng.uniform(-1e4, 1e4, size=(2000, 5)), rng.normal(size=(2000, 5)))
    far = np.where(rng.random((2000, 1)) < 0.25, 1e6 * rng.normal(size=(2000, 1)), rng.normal(size=(2000, 1)))
    return {
        "spread in 50 columns": (sb.models.Gaussian(np.zeros(50)), 1.2 * rng.normal(size=(1000, 50)), 0.1),
        "wide dirt": (sb.models.Gaussian(np.zeros(5)), wide, 0.05),
        "far dirt": (NORMAL, far, 0.05),
        "flat top": (stats.gennorm(8), 1.5 * stats.gennorm(8).rvs(1000, random_state=0)[:, None], 0.05),
    }


@pytest.mark.calibration
@pytest.mark.parametrize("name", ["spread in 50 columns", "wide dirt", "far dirt", "flat top"])
@pytest.mark.parametrize("word", ["contamination", "tolerance"])
def test_good_enough_is_not_said_of_what_plainly_does_not_fit(name: str, word: str) -> None:
    model, x, share = _problem_cases()[name]
    tolerated: dict[str, Any] = {word: share}
    assert sb.check(x, model, **tolerated, rng=0).verdict == "misfit"


@pytest.mark.exact
def test_json_has_both_parts_and_the_call_is_recorded() -> None:
    found = sb.check(normal(100), NORMAL, contamination=0.05, rng=0)
    written = found.to_dict()
    assert written["schema"] == "steinball.check/1"
    assert set(written["parts"]) == {"regions", "distance"}
    assert "steinball.check(" in found._record.call
    assert "contamination=0.05" in found._record.call
    assert "CheckResult(rejected=False" in repr(found)


def people(n: int = 600) -> Any:
    rng = np.random.default_rng(0)
    columns = {"height": rng.normal(170.0, 8.0, n), "visits": rng.poisson(4.0, n), "sex": rng.choice(["f", "m"], n)}
    return pytest.importorskip("pandas").DataFrame(columns)


TALL: dict[str, Any] = {"height": stats.norm(170, 8), "visits": stats.poisson(4.0), "sex": {"f": 0.5, "m": 0.5}}


@pytest.mark.exact
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_is_checked_by_column(library: str) -> None:
    frame = people() if library == "pandas" else pytest.importorskip("polars").from_pandas(people())
    found = sb.check(frame, TALL, tolerance=0.1, rng=0)
    assert isinstance(found, sb.ColumnsResult)
    assert found.verdicts == dict.fromkeys(TALL, "good enough")
    assert found.verdict == "good enough"
    assert (found.n, found.dimension) == (600, 3)
    wrong = sb.check(frame, TALL | {"visits": stats.poisson(2.0)}, tolerance=0.1, rng=0)
    assert wrong.verdict == "misfit"
    assert isinstance(wrong, sb.ColumnsResult)
    assert wrong.verdicts == dict.fromkeys(TALL, "good enough") | {"visits": "misfit"}
    assert wrong.region.startswith("Where visits is ")
    assert f"{wrong.region} Misfits, of 3 columns: visits." in text_of(wrong)
    assert wrong.explain(frame).names == ("visits",)


@pytest.mark.exact
def test_each_column_has_draws_of_its_own() -> None:
    pandas = pytest.importorskip("pandas")
    x = normal(100)[:, 0]
    found = sb.check(
        pandas.DataFrame({"a": x, "b": x}), {"a": lambda x: -x, "b": lambda x: -x}, contamination=0.1, rng=0
    )
    columns: Any = found.parts
    first, second = (columns[name].parts["distance"] for name in ("a", "b"))
    assert first.ksd == second.ksd
    assert not np.array_equal(first.draws, second.draws)


@pytest.mark.exact
def test_rows_are_looked_over_where_no_scores_are_compared() -> None:
    class Sampler:
        def sample(self, n: int, rng: np.random.Generator) -> Floats:
            return np.asarray(rng.normal(size=(n, 1)))

    walk = np.cumsum(normal(300), axis=0) / 10.0
    with pytest.warns(sb.cautions.DependentRowsWarning) as given:
        found = sb.check(walk, Sampler(), contamination=0.1, rng=0)
    assert list(found.parts) == ["regions"]
    assert [str(warning.message) for warning in given] == list(found._record.warnings)
    with pytest.warns(sb.cautions.DependentRowsWarning) as given:
        sb.check(walk, NORMAL, contamination=0.1, rng=0)
    assert len(given) == 1  # the test of scores says it


@pytest.mark.exact
def test_columns_share_the_level_by_holm() -> None:
    wrong = {"height": stats.norm(172, 8), "visits": stats.poisson(4.3)}
    found = sb.check(people(), TALL | wrong, contamination=0.01, rng=0)
    assert isinstance(found, sb.ColumnsResult)
    own = {name: part.pvalue for name, part in found.parts.items()}
    first, second, third = sorted(own, key=lambda name: own[name])
    steps = [3.0 * own[first], 2.0 * own[second], own[third]]
    expected = dict(zip((first, second, third), np.minimum(1.0, np.maximum.accumulate(steps)), strict=True))
    assert found.pvalues == pytest.approx(expected)
    assert found.pvalue == min(found.pvalues.values()) < 0.5
    at, before = (found.at(level=factor * found.pvalue) for factor in (1.0, 0.99))
    assert isinstance(at, sb.ColumnsResult)
    assert isinstance(before, sb.ColumnsResult)
    assert (at.verdict, at.verdicts[first], before.verdict) == ("misfit", "misfit", "undecided")
    assert before.verdicts[first] == "undecided"
    later = found.at(level=found.pvalues[second])
    assert isinstance(later, sb.ColumnsResult)
    assert later.verdicts[second] == "misfit"
    assert own[second] > later.level / 3.0  # by Holm's second step, not by its first
    highs = [part._evidence.upper_bound(0.05 / 3) for part in found.parts.values()]
    assert found.difference_bound == max(highs)
    edge = max(highs) + 1e-9
    assert found.at(tolerance=edge).verdict == "good enough"
    assert found.at(tolerance=edge - 2e-9).verdict == "undecided"
    bounds = [part.at(level=0.05 / 3).contamination_bound for part in found.parts.values()]
    assert found.contamination_bound == max(bounds)


@pytest.mark.exact
def test_many_columns_and_small_levels_are_not_limited_by_draws() -> None:
    pandas = pytest.importorskip("pandas")
    x = normal(300, 60)
    x[:, 7] += 1.0
    frame = pandas.DataFrame(x, columns=[f"c{j}" for j in range(60)])
    found = sb.check(
        frame, {f"c{j}": stats.norm() for j in (7, *range(20, 29))}, contamination=0.05, level=0.004, rng=0
    )
    assert isinstance(found, sb.ColumnsResult)
    assert [name for name, verdict in found.verdicts.items() if verdict == "misfit"] == ["c7"]


@pytest.mark.exact
def test_columns_that_are_not_there_and_errors_of_one_column_are_named() -> None:
    with pytest.raises(ValueError, match="`x` must have one column `age`"):
        sb.check(people(), TALL | {"age": stats.norm()}, tolerance=0.1)
    with pytest.raises(TypeError, match="`x` must be a frame of pandas, polars or pyarrow"):
        sb.check(normal(100, 3), TALL, tolerance=0.1)
    with pytest.raises(TypeError, match="column `height`: `tolerance` is about a model"):
        sb.check(people(), TALL | {"height": "normal"}, tolerance=0.1)
    with pytest.raises(TypeError, match="column `sex`: "):
        sb.check(people(), {"sex": stats.norm()}, tolerance=0.1)


@pytest.mark.exact
def test_a_column_with_a_score_alone_is_never_good_enough() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"regions": normal(3000)[:, 0], "distance": normal(3000, seed=1)[:, 0]})
    found = sb.check(frame, {"regions": NORMAL, "distance": lambda x: -x}, contamination=0.2, rng=0)
    assert isinstance(found, sb.ColumnsResult)
    assert found.verdicts == {"regions": "good enough", "distance": "close in KSD"}
    assert found.verdict == "undecided"
    assert "good enough: regions; close in KSD: distance" in text_of(found)


@pytest.mark.exact
def test_a_dictionary_of_numbers_stays_categories() -> None:
    found = sb.check(people()["sex"], {"f": 0.5, "m": np.float64(0.5)}, tolerance=0.1)
    assert not isinstance(found, sb.ColumnsResult)
    assert found.verdict == "good enough"


@pytest.mark.exact
def test_a_check_learns_views() -> None:
    model = sb.models.Gaussian(np.zeros(3))
    found = sb.check(normal(200, 3), model, contamination=0.05, learn=True, rng=0)
    alone = sb.region_test(normal(200, 3), model, contamination=0.05, learn=True, rng=0)
    assert "on a random half of the rows" in found.details["learned"]
    assert found.parts["regions"].n == alone.n
    assert found.difference_bound > sb.check(normal(200, 3), model, contamination=0.05, rng=0).difference_bound


def text_of(result: Any) -> str:
    return " ".join(str(result).split())


@pytest.mark.exact
def test_where_scores_alone_contradict_a_model_that_is_said() -> None:
    x = np.random.default_rng(0).normal(0.5, 1.0, size=300)
    result: Any = sb.check(x, sb.models.Gaussian(), contamination=0.01, rng=0)
    assert result.rejected
    silent = dataclasses.replace(result._tests["regions"], pvalue=0.9)
    told = dataclasses.replace(result, _tests={**result._tests, "regions": silent})
    words = "The 300 rows contradict the model, even if up to 1 % of them may be contaminated: their scores show it."
    assert words in " ".join(str(told).split())
    assert "their scores show it" not in " ".join(str(result).split())
