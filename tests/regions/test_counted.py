"""Counted rows: p-values, bounds and regions against enumeration, closed forms and simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special, stats

from steinball.regions.counted import Counted, count, rows_needed, simulate
from steinball.regions.design import Design
from steinball.regions.source import Grid, Source, find_grid, from_probabilities, from_sampler, from_second_sample
from steinball.regions.tails import Question, lower_limit, upper_limit
from steinball.regions.views import learned_family, user_family

Floats = NDArray[np.float64]
NORMAL = Source(cdf=stats.norm().cdf, quantile=stats.norm().ppf)
QUESTIONS: tuple[Question, ...] = ("contamination", "tolerance")


def standard(d: int) -> Source:
    return from_sampler(lambda n, rng: rng.normal(size=(n, d)), d, np.zeros(d), np.eye(d))


def wide(n: int = 200, d: int = 1, scale: float = 1.5, seed: int = 0) -> Floats:
    return scale * np.random.default_rng(seed).normal(size=(n, d))


def tails_of_all(counted: Counted, question: Question, share: float) -> Floats:
    """Every arc, by SciPy alone; the law of a pool by the midpoint rule."""
    n, expected = counted.design.n, counted.design.expected
    p, weights = expected.share[:, None], np.ones((1, 1))
    if np.isfinite(expected.size[0]):
        p = ((np.arange(8000) + 0.5) / 8000)[None]
        weights = stats.beta.pdf(p, expected.heads[:, None], (expected.size + 1.0 - expected.heads)[:, None]) / 8000
    floor = (1.0 - share) * p if question == "contamination" else np.maximum(p - share, 0.0)
    k = counted.counts[:, None]
    found = (special.bdtr(k, n, floor) * weights).sum(axis=1)
    if question == "tolerance":
        changed = np.minimum(k + math.floor(share * n + 1e-9), n)
        found = np.maximum(found, (special.bdtr(changed, n, p) * weights).sum(axis=1))
    return np.asarray(found * expected.weight)


@pytest.mark.exact
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("share", [0.0, 0.05, 0.2])
def test_the_pvalue_without_simulation_is_the_smallest_over_all_arcs(question: Question, share: float) -> None:
    for x in (wide(), wide(scale=1.0), wide(scale=0.7)):
        counted = count(Design.build(NORMAL, 200), x)
        every = min(1.0, float(tails_of_all(counted, question, share).min()))
        assert counted.bonferroni(question, share) == pytest.approx(every, rel=1e-9)


@pytest.mark.exact
@pytest.mark.parametrize("question", QUESTIONS)
def test_so_it_is_with_the_law_of_a_pool(question: Question) -> None:
    rng = np.random.default_rng(1)
    for m, d in ((150, 1), (300, 2)):
        design = Design.build(from_second_sample(rng.normal(size=(m, d))), 80)
        counted = count(design, wide(80, d, 1.8))
        every = float(tails_of_all(counted, question, 0.05).min())
        assert counted.bonferroni(question, 0.05) == pytest.approx(min(1.0, every), rel=1e-4)


@pytest.mark.exact
def test_the_share_bound_is_its_closed_form() -> None:
    """max over A of 1 − CP_upper(Q(A))/P(A), each limit at the arc's part of the level."""
    x = wide(seed=2)
    x[:40] = 10.0
    counted = count(Design.build(NORMAL, 200), x)
    expected = counted.design.expected
    limits = [
        1.0 - float(upper_limit(np.array([k]), 200, 0.05 / w)[0]) / p
        for k, w, p in zip(counted.counts, expected.weight, expected.share, strict=True)
    ]
    assert counted.bound("contamination") == pytest.approx(max(limits), abs=1e-7)
    assert max(limits) > 0.05


@pytest.mark.exact
def test_the_lower_bound_of_a_difference_is_its_closed_form() -> None:
    """The smaller of P(A) − CP_upper(Q(A)) and the share of changed rows that would no longer reject."""
    counted = count(Design.build(NORMAL, 200), wide(scale=2.0))
    expected, found = counted.design.expected, 0.0
    for k, w, p in zip(counted.counts, expected.weight, expected.share, strict=True):
        level = 0.05 / w
        independent = p - float(upper_limit(np.array([k]), 200, level)[0])
        changed = next(j for j in range(201) if k + j >= 200 or stats.binom.cdf(k + j, 200, p) > level) / 200
        found = max(found, min(independent, changed))
    assert counted.bound("tolerance") == pytest.approx(found, abs=1e-7)
    assert found > 0.05


@pytest.mark.exact
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("d", [1, 2])
def test_a_share_is_rejected_exactly_if_it_lies_below_the_bound(question: Question, d: int) -> None:
    design = Design.build(NORMAL if d == 1 else standard(2), 150)
    for seed in range(6):
        counted = count(design, wide(150, d, 1.7, seed))
        bound = counted.bound(question)
        assert bound > 0.0
        for share in (0.2 * bound, 0.7 * bound, bound - 1e-6):
            assert counted.bonferroni(question, share) <= 0.05
        for share in (bound + 1e-6, bound + 0.02, 0.9):
            assert counted.bonferroni(question, share) > 0.05


@pytest.mark.exact
def test_where_nothing_is_rejected_the_bounds_are_zero() -> None:
    counted = count(Design.build(NORMAL, 100), np.asarray(stats.norm.ppf((np.arange(100) + 0.5) / 100))[:, None])
    assert counted.bound("contamination") == 0.0
    assert counted.bound("tolerance") == 0.0


@pytest.mark.exact
def test_a_smaller_level_has_a_smaller_bound_and_a_larger_upper_bound() -> None:
    counted = count(Design.build(NORMAL, 200), wide())
    assert 0.0 < counted.bound("contamination", 0.001) < counted.bound("contamination", 0.05)
    assert counted.upper(0.001) > counted.upper(0.05)


@pytest.mark.exact
def test_the_upper_bound_takes_pointwise_limits_of_every_arc() -> None:
    counted = count(Design.build(NORMAL, 120), wide(120))
    expected = counted.design.expected
    every = expected.share - lower_limit(counted.counts, 120, 0.05)
    assert counted.upper() == pytest.approx(every.max())
    assert counted.upper() > counted.bound("tolerance")


@pytest.mark.exact
@pytest.mark.parametrize("m", [90, 300, 3000])
@pytest.mark.parametrize("seed", range(6))
def test_with_a_pool_the_upper_bound_adds_the_limits_of_draws_that_did_not_cut(m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    design = Design.build(from_second_sample(rng.normal(size=(m, 2))), 60)
    counted = count(design, wide(60, 2, 1.2, seed))
    largest = 0.0
    for cut, below in zip(design.halves, counted.halves, strict=True):
        drawn, counts = cut.arcs.sums(cut.apart).ravel(), cut.arcs.sums(below).ravel()
        limits = upper_limit(drawn, cut.rest, 0.005) - lower_limit(counts, 60, 0.045)
        largest = max(largest, float(limits.max()))
    assert counted.upper() == pytest.approx(largest, abs=1e-12)


@pytest.mark.exact
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_region_says_what_the_rows_say(question: Question) -> None:
    x = 170.0 + 8.0 * wide(400, 2, 1.0, 4)
    x[:, 1] += 6.0
    source = from_sampler(lambda n, rng: rng.normal(170.0, 8.0, size=(n, 2)), 2, [170, 170], 64.0 * np.eye(2))
    counted = count(Design.build(source, 400), x)
    region = counted.region(question, 0.05)
    inside = (x[:, 1] > region.low) & (x[:, 1] <= region.high)
    assert (region.column, region.words, region.family, region.view) == (1, "column 2", 0, 1)
    assert region.observed == np.mean(inside == region.inside)
    law = stats.norm(170.0, 8.0)
    share = law.cdf(region.high) - law.cdf(region.low)
    assert region.expected == pytest.approx(share if region.inside else 1.0 - share, abs=0.02)
    tolerated = 0.95 * region.expected if question == "contamination" else region.expected - 0.05
    assert region.tolerated == pytest.approx(tolerated)
    assert region.observed < region.tolerated
    assert region.pvalue == counted.bonferroni(question, 0.05) < 0.05


@pytest.mark.exact
def test_the_region_of_a_pair_is_named_in_words_and_has_no_column() -> None:
    x = wide(500, 3, 1.0, 5)
    x[:, 2] = 0.6 * x[:, 0] + 0.8 * x[:, 2]
    region = count(Design.build(standard(3), 500), x).region("contamination", 0.05)
    assert region.words == "product of column 1 and column 3"
    assert region.column is None


@pytest.mark.exact
def test_a_region_may_be_what_lies_outside() -> None:
    x = np.concatenate([np.linspace(-0.5, 0.5, 300), [50.0]])[:, None]
    region = count(Design.build(NORMAL, 301), x).region("contamination", 0.0)
    assert region.expected > 0.3
    assert region.observed < 0.1


@pytest.mark.exact
def test_rows_needed_fall_with_the_square_of_what_is_left_of_the_tolerance() -> None:
    assert rows_needed(0.1, 0.0, 1) == pytest.approx(rows_needed(0.05, 0.0, 1) / 4.0)
    assert rows_needed(0.1, 0.05, 1) == pytest.approx(rows_needed(0.05, 0.0, 1))
    assert rows_needed(0.05, 0.0, 211) > rows_needed(0.05, 0.0, 1)
    assert math.isinf(rows_needed(0.05, 0.05, 1))


# Levels and powers, small


def rejections(
    design: Design, draw: Callable[[np.random.Generator], Floats], repeats: int, pvalue: Callable[[Counted], float]
) -> float:
    rng = np.random.default_rng(11)
    return float(np.mean([pvalue(count(design, draw(rng))) <= 0.05 for _ in range(repeats)]))


LEVEL = 0.05 + 2.0 * math.sqrt(0.05 * 0.95 / 300)


def moved(n: int, share: float, to: float | None) -> Callable[[np.random.Generator], Floats]:
    """The largest rows of a sample removed and drawn again from the rest, or put to one place."""

    def draw(rng: np.random.Generator) -> Floats:
        x = np.sort(rng.normal(size=n))
        k = math.floor(share * n)
        x[n - k :] = rng.choice(x[: n - k], size=k) if to is None else to
        return x[:, None]

    return draw


@pytest.mark.calibration
@pytest.mark.parametrize("to", [None, 0.0])
@pytest.mark.parametrize("n", [20, 200])
def test_a_tolerance_keeps_its_level_where_rows_of_a_tail_are_changed(n: int, to: float | None) -> None:
    design = Design.build(NORMAL, n)
    assert rejections(design, moved(n, 0.05, to), 300, lambda c: c.bonferroni("tolerance", 0.05)) <= LEVEL


@pytest.mark.calibration
def test_a_missing_upper_tenth_is_more_than_a_tolerance_of_five_percent() -> None:
    design = Design.build(NORMAL, 1000)
    draw = lambda rng: np.asarray(stats.norm.ppf(0.9 * rng.random(1000)))[:, None]  # noqa: E731
    assert rejections(design, draw, 50, lambda c: c.bonferroni("tolerance", 0.05)) == 1.0


POWERS: dict[str, tuple[Callable[[np.random.Generator], Floats], float, float]] = {
    "shift 0.3": (lambda rng: rng.normal(0.3, 1.0, size=200), 0.55, 0.08),
    "sd times 1.4": (lambda rng: 1.4 * rng.normal(size=200), 0.90, 0.63),
    "sd times 0.8": (lambda rng: 0.8 * rng.normal(size=200), 0.79, 0.07),
    "15 % wide": (lambda rng: rng.normal(size=200) * np.where(rng.random(200) < 0.15, 100.0, 1.0), 0.99, 0.86),
}


@pytest.mark.calibration
@pytest.mark.parametrize("kind", POWERS)
def test_power_in_one_column(kind: str) -> None:
    """Against a table of the design, which was measured at 100 repeats: no less than three standard errors below it."""
    draw, contamination, tolerance = POWERS[kind]
    design = Design.build(NORMAL, 200)
    null = simulate(design, 0.05, 999)
    for measured, pvalue in (
        (contamination, lambda c: c.pvalue(null)),
        (tolerance, lambda c: c.bonferroni("tolerance", 0.05)),
    ):
        error = math.sqrt(max(measured * (1.0 - measured), 0.02) * (1.0 / 100.0 + 1.0 / 200.0))
        assert rejections(design, lambda rng: draw(rng).reshape(-1, 1), 200, pvalue) >= measured - 3.0 * error


@pytest.mark.calibration
def test_rounded_rows_keep_the_level_once_the_grid_is_known_and_break_it_otherwise() -> None:
    def draw(rng: np.random.Generator) -> Floats:
        return np.asarray(0.1 * np.round(rng.normal(size=(1000, 1)) / 0.1))

    def pvalue(c: Counted) -> float:
        return c.bonferroni("contamination", 0.0)

    grid = find_grid(draw(np.random.default_rng(0)))
    assert grid is not None
    known = Design.build(Source(cdf=stats.norm().cdf, quantile=stats.norm().ppf, grid=grid), 1000)
    pool = Design.build(Source(1, lambda n, rng: rng.normal(size=n), grid=grid), 1000)
    assert rejections(known, draw, 150, pvalue) <= LEVEL
    assert rejections(pool, draw, 150, pvalue) <= LEVEL
    assert rejections(Design.build(NORMAL, 1000), draw, 50, pvalue) > 0.2


@pytest.mark.calibration
def test_rounded_rows_of_several_columns_keep_the_level_and_the_power() -> None:
    grid = Grid(np.full(3, 0.5), np.zeros(3))
    source = Source(3, lambda n, rng: rng.normal(size=(n, 3)), grid=grid)
    design = Design.build(source, 200)
    null = simulate(design, 0.05, 199)

    def draw(rng: np.random.Generator, scale: float = 1.0) -> Floats:
        return grid.round(scale * rng.normal(size=(200, 3)))

    assert rejections(design, draw, 150, lambda c: c.pvalue(null)) <= LEVEL
    assert rejections(design, draw, 150, lambda c: c.bonferroni("contamination", 0.0)) <= LEVEL
    assert rejections(design, lambda rng: draw(rng, 1.4), 40, lambda c: c.pvalue(null)) >= 0.9


@pytest.mark.calibration
def test_counts_and_categories_keep_the_level_and_find_what_is_wrong() -> None:
    law = stats.poisson(3)
    poisson = Design.build(Source(cdf=law.cdf, quantile=law.ppf, discrete=True), 300)
    null = simulate(poisson, 0.0, 999)
    assert (
        rejections(poisson, lambda r: r.poisson(3, (300, 1)).astype(np.float64), 300, lambda c: c.pvalue(null)) <= LEVEL
    )
    wide_counts = lambda r: r.negative_binomial(6, 2.0 / 3.0, (300, 1)) + 0.0  # noqa: E731
    assert rejections(poisson, wide_counts, 60, lambda c: c.pvalue(null)) >= 0.85
    shares = np.array([0.5, 0.3, 0.15, 0.05])
    kinds = Design.build(from_probabilities(shares.tolist()), 300)
    fair = lambda r: r.choice(4, size=(300, 1), p=shares) + 0.0  # noqa: E731
    even = lambda r: r.integers(0, 4, (300, 1)) + 0.0  # noqa: E731
    assert rejections(kinds, fair, 300, lambda c: c.bonferroni("contamination", 0.0)) <= LEVEL
    assert rejections(kinds, even, 30, lambda c: c.bonferroni("tolerance", 0.05)) == 1.0


@pytest.mark.calibration
def test_a_category_that_the_model_does_not_know_is_in_no_region() -> None:
    design = Design.build(from_probabilities([0.5, 0.5]), 100)
    x = np.concatenate([np.zeros(40), np.ones(40), np.full(20, -1.0)])[:, None]
    region = count(design, x).region("contamination", 0.0)
    assert region.observed == 0.4
    assert count(design, x).bonferroni("contamination", 0.0) < 0.1


@pytest.mark.calibration
@pytest.mark.parametrize("m", [100, 2000])
def test_a_second_sample_keeps_the_level_at_every_size(m: int) -> None:
    rng, rejected = np.random.default_rng(12), np.zeros(2)
    for _ in range(200):
        design = Design.build(from_second_sample(rng.normal(size=(m, 1))), 100)
        counted = count(design, rng.normal(size=(100, 1)))
        rejected += [counted.bonferroni("contamination", 0.0) <= 0.05, counted.upper() < 0.0]
    assert rejected[0] / 200 <= 0.05 + 2.0 * math.sqrt(0.05 * 0.95 / 200)


@pytest.mark.calibration
def test_the_bounds_hold_the_true_difference() -> None:
    """N(0.3, 1) against N(0, 1): δ over the arcs is 2Φ(0.15) − 1, of which half-lines are arcs."""
    design, rng = Design.build(NORMAL, 300), np.random.default_rng(13)
    cut = design.cuts[0]
    below = np.concatenate([[0.0], stats.norm.cdf(cut.edges[0], 0.3, 1.0), [1.0]])
    true = float((design.expected.share - cut.arcs.sums(below)).max())
    misses = np.zeros(2)
    for _ in range(300):
        counted = count(design, rng.normal(0.3, 1.0, size=(300, 1)))
        misses += [counted.bound("tolerance") > true, counted.upper() < true]
    assert (misses / 300 <= LEVEL).all()


@pytest.mark.calibration
def test_the_share_bound_seldom_exceeds_the_share() -> None:
    design, rng, misses, bounds = Design.build(NORMAL, 500), np.random.default_rng(14), 0, []
    for _ in range(200):
        x = rng.normal(size=500)
        x[rng.random(500) < 0.1] = 10.0
        bounds.append(count(design, x[:, None]).bound("contamination"))
        misses += bounds[-1] > 0.1
    assert misses / 200 <= 0.05 + 2.0 * math.sqrt(0.05 * 0.95 / 200)
    assert np.median(bounds) >= 0.05


@pytest.mark.calibration
def test_learned_views_find_a_random_direction_and_keep_the_level() -> None:
    rng, source, found = np.random.default_rng(15), standard(20), np.zeros(2)
    direction = rng.normal(size=20)
    direction *= 0.6 / np.linalg.norm(direction)
    for _ in range(40):
        x = rng.normal(size=(500, 20))
        for k, rows in enumerate((x, x + direction)):
            family = learned_family(source.rows(rows[:250]).z)
            counted = count(Design.build(source, 250, [family]), rows[250:])
            found[k] += counted.bonferroni("contamination", 0.05) <= 0.025
    assert found[0] <= 4
    assert found[1] >= 36


@pytest.mark.calibration
def test_a_users_view_finds_what_no_other_view_sees() -> None:
    """Signs of three columns that multiply to + in 80 % of the rows: every pair is independent."""
    rng = np.random.default_rng(16)
    x = np.abs(rng.normal(size=(400, 3))) * rng.choice([-1.0, 1.0], size=(400, 3))
    x[:, 2] = np.abs(x[:, 2]) * np.sign(x[:, 0] * x[:, 1]) * np.where(rng.random(400) < 0.8, 1.0, -1.0)
    plain = count(Design.build(standard(3), 400), x)
    family: Any = user_family({"product": lambda rows: rows.prod(axis=1)})
    viewed = count(Design.build(standard(3), 400, [family]), x)
    assert plain.bonferroni("contamination", 0.05) > 0.05
    assert viewed.bonferroni("contamination", 0.05) < 1e-4
    assert viewed.region("contamination", 0.05).words == "product"
