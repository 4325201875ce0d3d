"""What every result has, checked for every result: a new one is found here because it extends ``Result``."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.evidence.base import Decision
from steinball.gof.check import _together
from steinball.results.base import Result
from steinball.results.regions import SharesResult
from steinball.text import BRIEF_WIDTH, WIDTH

pytestmark = pytest.mark.exact

MODEL, MODES = sb.models.Gaussian(), sb.models.GaussianMixture([0.5, 0.5], [-6.0, 6.0])
CLEAN = np.random.default_rng(0).normal(size=120)
SPOILT = np.random.default_rng(1).permutation(np.append(CLEAN[:80], np.full(40, 2.5)))
FEW: dict[str, Any] = {"n_resamples": 99, "rng": 0}
BOUNDARY = sb.BoundaryBootstrap(99)

TESTS: dict[str, Callable[[Any], Result]] = {
    "ksd": lambda x: sb.ksd_test(x, MODEL, calibration=sb.WeightedBootstrap(99), rng=0),
    "ksd-u": lambda x: sb.ksd_test(x, MODEL, estimator="u", calibration=sb.WeightedBootstrap(99), rng=0),
    "robust": lambda x: sb.robust_ksd_test(x, MODEL, 0.05, calibration=BOUNDARY, rng=0),
    "lowrank": lambda x: sb.robust_ksd_test(x, MODEL, 0.05, calibration=BOUNDARY, engine="lowrank", rng=0),
    "betting": lambda x: sb.robust_ksd_test(x, MODEL, 0.05, calibration=sb.Betting(), rng=0),
    "mcmc": lambda x: sb.mcmc_test(x, MODEL, rng=0),
    "fit": lambda x: sb.fit_test(x, "normal", calibration=sb.ProjectedBootstrap(99), rng=0),
    "fit-regions": lambda x: sb.fit_test(x, "normal", contamination=0.01),
    "ksdagg": lambda x: sb.ksdagg_test(x, MODEL, n_resamples_level=99, **FEW),
    "robust-ksdagg": lambda x: sb.robust_ksdagg_test(x, MODEL, 0.05, calibration=BOUNDARY, rng=0),
    "robust-ksdagg-betting": lambda x: sb.robust_ksdagg_test(x, MODEL, 0.05, calibration=sb.Betting(), rng=0),
    "robust-ksdagg-set": lambda x: sb.robust_ksdagg_test(
        x, MODEL, radius=sb.TotalVariation(0.01) + sb.Huber(0.01), calibration=BOUNDARY, rng=0
    ),
    "dcmmd": lambda x: sb.dcmmd_test(x, MODEL, contamination=0.01, **FEW),
    "mmd-dev": lambda x: sb.mmd_dev_test(x, MODEL, contamination=0.01, rng=0),
    "region": lambda x: sb.region_test(x, MODEL, contamination=0.05),
    "region-tolerance": lambda x: sb.region_test(x, MODEL, tolerance=0.05),
    "check": lambda x: sb.check(x, MODEL, contamination=0.05, rng=0),
    "columns": lambda x: _together({"a": sb.check(x, MODEL, contamination=0.05, rng=0)}, sb.Huber(0.05), 0.05),
    "check-score": lambda x: sb.check(x, lambda y: -y, contamination=0.05, rng=0),
    "predictive": lambda x: sb.predictive_test(x, (0.0, 1.0), contamination=0.05, n_resamples=99, rng=0),
    "mode-weights": lambda x: sb.mode_weights_test(
        np.where(np.arange(len(x)) < (0.5 + 0.4 * (x.max() > 2.4)) * len(x), x + 6.0, x - 6.0), MODES
    ),
}
DATA = {"clean": CLEAN, "spoilt": SPOILT}
RESULTS = {f"{name}-{which}": test(x) for name, test in TESTS.items() for which, x in DATA.items()}
EACH = pytest.mark.parametrize("result", RESULTS.values(), ids=list(RESULTS))


def concrete(base: type[Result] = Result) -> Iterator[type[Result]]:
    for sub in base.__subclasses__():
        if sub.__module__.startswith("steinball."):
            yield from (*(() if inspect.isabstract(sub) else (sub,)), *concrete(sub))


def test_every_result_type_is_among_those_that_are_checked_here() -> None:
    assert set(concrete()) == {type(result) for result in RESULTS.values()}
    for kind in concrete():
        assert dataclasses.is_dataclass(kind)
        assert not inspect.isabstract(kind)


@EACH
def test_the_decision_follows_one_rule(result: Result) -> None:
    assert result.rejected == (result.pvalue <= result.level and result.statistic > result.threshold)
    assert "rejected" not in {field.name for field in dataclasses.fields(result)}
    cases: list[dict[str, Any]] = [
        {"pvalue": 1.0},
        {"pvalue": math.nan},
        {"threshold": math.inf},
        {"statistic": math.nan},
    ]
    for changes in cases:
        assert not dataclasses.replace(result, **changes).rejected
    certain = dataclasses.replace(result, pvalue=0.0, statistic=1.0, threshold=0.5)
    assert certain.rejected
    assert certain.verdict == "misfit"


def test_both_parts_of_the_rule_are_needed() -> None:
    def decision(statistic: float, pvalue: float) -> Decision:
        return Decision(statistic=statistic, pvalue=pvalue, threshold=0.2, level=0.05)

    assert decision(0.3, 0.05).rejected
    assert not decision(0.2, 0.01).rejected
    assert not decision(0.3, 0.06).rejected


@EACH
def test_the_verdict_is_misfit_exactly_where_rejected(result: Result) -> None:
    assert result.verdict in {"misfit", "close in KSD", "undecided"}
    assert (result.verdict == "misfit") == result.rejected


def test_the_cases_hold_rejections_and_others_of_every_type() -> None:
    for kind in concrete():
        assert {result.rejected for result in RESULTS.values() if type(result) is kind} == {True, False}, kind


@EACH
def test_a_result_is_neither_true_nor_false(result: Result) -> None:
    with pytest.raises(TypeError, match=r"no truth value: use `result\.rejected`"):
        bool(result)


@EACH
def test_at_another_level_the_same_evidence_decides(result: Result) -> None:
    assert result.at().to_dict() == result.to_dict()
    for level in (0.02, 0.3, 0.5):
        other = result.at(level=level)
        assert type(other) is type(result)
        assert (other.level, other.pvalue, other.n) == (level, result.pvalue, result.n)
        assert other.at(level=result.level).to_dict() == result.to_dict()
        if not math.isinf(other.threshold):
            assert other.rejected == (result.pvalue <= level)


@EACH
@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, math.nan])
def test_a_level_that_is_none_is_refused(result: Result, level: float) -> None:
    with pytest.raises(ValueError, match="`level`"):
        result.at(level=level)


@pytest.mark.parametrize("method", ["betting", "asymptotic"])
@pytest.mark.parametrize("seed", range(20))
def test_the_rounding_of_an_inverted_threshold_never_overrules_the_pvalue(seed: int, method: str) -> None:
    x = MODES.sample(40 + seed, rng=seed)
    result = sb.mode_weights_test(np.append(x, np.full(40, 6.0)), MODES, method=method)
    assert result.at(level=result.pvalue).rejected
    assert not result.at(level=np.nextafter(result.pvalue, 0.0)).rejected


@EACH
def test_the_dictionary_is_plain_and_has_a_schema(result: Result) -> None:
    told = result.to_dict()
    assert re.fullmatch(r"steinball\.[a-z-]+/\d+", told["schema"])
    assert told["schema"] == type(result).schema
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    for name in ("pvalue", "level", "n", "rejected", "verdict"):
        assert told[name] == getattr(result, name)
    assert not [name for name in told if name.startswith("_")]
    odd = dataclasses.replace(result, statistic=-math.inf, threshold=math.inf, pvalue=math.nan).to_dict()
    assert odd["statistic"] is odd["threshold"] is odd["pvalue"] is None


def documented() -> dict[str, set[str]]:
    """The fields that the page gives for every schema, the common ones among them."""
    page = (Path(__file__).parents[2] / "docs" / "developer" / "results.md").read_text(encoding="utf-8")
    sections = re.split(r"(?m)^### ", page)[1:]
    fields = [set(re.findall(r"`(\w+)`", "".join(re.findall(r"(?m)^\| (`.*?) \|", part)))) for part in sections]
    names = [re.findall(r"steinball\.[a-z-]+/\d+", part.partition("\n")[0]) for part in sections]
    return {name[0]: fields[0] | own for name, own in zip(names[1:], fields[1:], strict=True)}


def test_the_page_lists_the_fields_of_every_schema() -> None:
    assert {name: fields for name, fields in documented().items() if "comparison" not in name} == {
        kind.schema: set(_of(kind).to_dict()) for kind in concrete()
    }


def _of(kind: type[Result]) -> Result:
    return next(result for result in RESULTS.values() if type(result) is kind)


@EACH
def test_the_calibration_is_named_like_a_class(result: Result) -> None:
    assert re.fullmatch(r"(?:[A-Z][a-z]+)+", result.calibration)
    assert (result.n_resamples > 0) == (
        result.calibration not in {"Betting", "BinomialTails", "DeviationBound", "Asymptotic"}
    )


def test_the_same_calibration_has_the_same_name_in_every_result() -> None:
    names = [RESULTS[f"{name}-clean"].calibration for name in ("robust", "robust-ksdagg", "betting", "mode-weights")]
    assert names == ["BoundaryBootstrap", "BoundaryBootstrap", "Betting", "Betting"]
    assert RESULTS["robust-ksdagg-betting-clean"].calibration == "Betting"


@EACH
def test_the_repr_is_one_short_line_that_tells_the_decision(result: Result) -> None:
    assert repr(result).startswith(f"{type(result).__name__}(rejected={result.rejected}, pvalue={result.pvalue:.4g}, ")
    assert "\n" not in repr(result)
    assert len(repr(result)) < 160


@EACH
def test_the_summary_is_a_title_a_table_and_the_decision_in_words(result: Result) -> None:
    title, table, words = re.fullmatch(r"(\S.*)\n((?:  .*\n)+)\n((?:  .*\n?)+)", result.summary(details=True)).groups()  # type: ignore[union-attr]
    assert title == result.title
    assert re.search(
        f"  {result.n} (points in 1 dimension|draws of 1 parameter|rows in 1 column|rows, 1 feature)", table
    )
    assert f" {result.pvalue:.4g} " in table
    assert words.lstrip().startswith("REJECTED at level" if result.rejected else "NOT REJECTED at level")
    assert ("This does not prove" in " ".join(words.split())) == (not result.rejected)
    shares = isinstance(result, SharesResult) and result.tolerance is not None  # then a difference is conceded
    assert ("At confidence 95 %, at least" in words) == (result.contamination_bound > 0.0 and not shares)
    assert max(map(len, result.summary(details=True).split("\n"))) <= WIDTH
    assert "center=(0.0,)" not in result.summary(details=True)


HEADLINES = {"misfit": "MISFIT", "close in KSD": "CLOSE IN KSD", "undecided": "UNDECIDED"}


def after_the_fit(result: Result) -> str:
    """The summary, without the line in which a fit says its parameters."""
    fitted = result._preface()
    return result.summary().removeprefix(fitted).lstrip("\n")


@EACH
def test_the_summary_is_four_lines_and_begins_with_the_verdict(result: Result) -> None:
    lines = after_the_fit(result).split("\n")
    assert 2 <= len(lines) <= 4
    assert max(map(len, lines)) <= BRIEF_WIDTH
    tolerant = result._tolerance_words() != ""
    decision = "REJECTED" if result.rejected else "NOT REJECTED"
    noun = (
        "point" if isinstance(result, SharesResult) and "KSD" in lines[-1] else result._noun
    )  # a check of scores speaks as their test does
    subject = result.region if result.rejected and isinstance(result, SharesResult) else ""
    subject = subject.partition(" the model")[0] or f"The 120 {noun}s"
    assert lines[0].startswith(f"{HEADLINES[result.verdict] if tolerant else decision} at level 0.05. {subject} ")
    assert lines[-1].startswith(f"  p-value {result.pvalue:.3g} · ")
    conceded = "At confidence 95 %, at least" in " ".join(result.summary().split())
    shares = isinstance(result, SharesResult) and result.tolerance is not None  # then a difference is conceded
    assert conceded == (result.rejected and result.contamination_bound > 0.0 and not shares)
    words = " ".join(result.summary().split())
    assert words.count("Contaminated means") == any(word in words for word in ("contaminated", "ontamination "))
    assert str(result) == result.summary()


@EACH
def test_the_html_view_escapes_what_users_name(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(result), "title", "<script>alert('&')</script>")
    page = result._repr_html_()
    assert page.startswith('<div class="steinball-card"')
    assert f">{after_the_fit(result).partition(' at level')[0]}</span>" in page  # the verdict
    assert "<pre" not in page
    assert "&lt;script&gt;" in page
    assert "<script" not in page


@EACH
def test_a_result_cannot_be_changed(result: Result) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.pvalue = 0.0  # type: ignore[misc]


# Pickles.


@pytest.mark.parametrize("engine", ["dense", "lowrank"])
def test_a_result_outlives_a_model_that_cannot_be_pickled(engine: str) -> None:
    x = np.random.default_rng(0).normal(size=100)
    result = sb.robust_ksd_test(x, lambda x: -x, 0.05, engine=engine, rng=0)
    kept = pickle.loads(pickle.dumps(result))
    assert kept.summary() == result.summary()
    assert kept.at(contamination=0.1).pvalue == result.at(contamination=0.1).pvalue
    assert kept.extend(100).pvalue == result.extend(100).pvalue
    with pytest.raises(TypeError, match=r"needs the score at its own samples; `model`, .*, was not pickled along"):
        kept.at(radius=sb.radius.Alternative(x + 1.0))
    whole = pickle.loads(pickle.dumps(sb.robust_ksd_test(x, sb.models.Gaussian(), 0.05, engine=engine, rng=0)))
    assert whole.at(radius=sb.radius.Alternative(x + 1.0)).radius > 0.0
