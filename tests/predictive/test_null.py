"""The statistic written out, the inequalities behind its null, levels and power."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr

from steinball.arrays import Floats
from steinball.predictive.null import Null, Reference
from steinball.predictive.pit import Pit
from steinball.predictive.table import (
    ARCS,
    BLOCKS,
    BOXES,
    VIEW_MEANS,
    Features,
    cells_of,
    tabulate,
    views_of,
)
from tests.predictive.laws import from_cdf_values, from_class_probabilities, from_distribution


def uniform_pit(n: int) -> Pit:
    return from_cdf_values(np.full(n, 0.5))


@cache
def order(n: int) -> Features:
    return Features.of({"order": np.arange(n)})


@cache
def known_null(n: int, rows: str = "any") -> Null:
    """The null of n rows of known laws with one feature without ties: it does not depend on the feature."""
    return Null(uniform_pit(n), order(n), pilot=200, n_resamples=499, rng=3).with_rows(rows)


def table_of(u: Floats, x: Floats) -> Floats:
    return tabulate(u[None], u[None], Features.of({"x": x}))


def rejects(null: Null, table: Floats, share: float, **options: bool) -> bool:
    return null.pvalue(table, share, **options) <= 0.05


@pytest.mark.exact
def test_the_shortage_is_what_its_equation_says() -> None:
    n, share, rng = 120, 0.2, np.random.default_rng(0)
    x, u = rng.normal(size=n), rng.random(n) ** 2
    features = Features.of({"x": x})
    cell, views = cells_of(u), views_of(table_of(u, x))[0]
    for rows in ("any", "independent"):
        null = Null(uniform_pit(n), features, pilot=20, n_resamples=19, rng=0).with_rows(rows)
        found = (null._allowed(share) - views_of(table_of(u, x)))[0]
        for view in rng.integers(0, len(VIEW_MEANS), size=40):
            corners = np.zeros((8, 18, 8, 18))
            means = VIEW_MEANS[view, features.bins[0]]  # E_i g
            values = [views_of(_corner(corners, k, c))[view] for k, c in zip(features.bins[0], cell, strict=True)]
            assert sum(values) == pytest.approx(views[view])
            tolerated = VIEW_MEANS[view].max() * min(share * n, (means > 0).sum())
            any_rows, independent = means.sum() - sum(values) - tolerated, (1 - share) * means.sum() - sum(values)
            assert found[view] == pytest.approx(any_rows if rows == "any" else independent)


def _corner(corners: Floats, k: int, c: int) -> Floats:
    corners[k, c, k, c] = 1.0
    return np.asarray(corners[k, c])


@pytest.mark.exact
@pytest.mark.parametrize("seed", range(5))
def test_bad_rows_anywhere_add_no_more_than_their_number_allows(seed: int) -> None:
    """D_g ≤ Z_g(clean) + t_g min(C, r_g) for every view at once, wherever the bad rows are."""
    rng, n = np.random.default_rng(seed), 200
    x, bad = rng.normal(size=n), rng.random(n) < 0.2
    x[bad] = rng.choice([-3.0, 0.1, 5.0]) + 1e-9 * rng.random(bad.sum())
    u = np.where(bad, rng.choice([0.0, 0.5, 0.999]), rng.random(n))
    features = Features.of({"x": x})
    means = VIEW_MEANS[:, features.bins[0]]  # (v, n)
    short = means.sum(axis=1) - views_of(table_of(u, x))[0]
    own = Features({}, features.bins[:, ~bad])
    clean = means[:, ~bad].sum(axis=1) - views_of(tabulate(u[None, ~bad], u[None, ~bad], own))[0]
    limit = clean + VIEW_MEANS.max(axis=1) * np.minimum(bad.sum(), (means > 0).sum(axis=1))
    assert (short <= limit + 1e-9).all()


@pytest.mark.exact
def test_whoever_changes_rows_after_seeing_them_all_cannot_raise_the_statistic() -> None:
    """D_g of changed rows is at most D_g of the rows before, for all views: so the p-value is at least theirs."""
    rng, n = np.random.default_rng(8), 200
    null, features = known_null(n, "changed"), order(n)
    for place in (0.003, 0.5, 0.97):
        u = rng.random(n)
        before = null._allowed(0.0) - views_of(tabulate(u[None], u[None], features))
        pvalue = null.reference(0.05).pvalue(_largest(null, before))
        u[np.argsort(np.abs(u - 0.3))[:10]] = place
        changed = tabulate(u[None], u[None], features)
        assert (null._allowed(0.05) - views_of(changed) <= before + 1e-9).all()
        assert null.pvalue(changed, 0.05) >= pvalue
    untouched = null.with_rows("any").reference(0.0)
    np.testing.assert_allclose(null.reference(0.05).draws, untouched.draws)


@pytest.mark.exact
def test_bad_rows_of_a_replicate_add_what_they_can_take_away() -> None:
    n, shares, rng = 60, np.array([0.05, 0.2]), np.random.default_rng(9)
    null = Null(uniform_pit(n), order(n), pilot=20, n_resamples=19, rng=0)
    bad, ones = rng.integers(0, n, size=(6, 2)).astype(float), [np.ones_like(null._expected)] * 2
    found = null._maxima(null.tables[:6], shares, ones, bad)
    for b, e in np.ndindex(6, 2):
        taken = VIEW_MEANS.max(axis=1) * np.minimum(bad[b, e], null._room)
        short = null._allowed(float(shares[e])) - views_of(null.tables[b]) + taken
        assert found[b, e] == pytest.approx([short[:, :BOXES].max(), short[:, BOXES:].max()])


def _largest(null: Null, short: Floats) -> float:
    own = null.reference(0.05)
    return float((own.slope * short - own.offset).max())


@pytest.mark.exact
def test_dropped_rows_raise_every_shortage_of_independent_bad_rows() -> None:
    rng, n = np.random.default_rng(1), 150
    x, u, kept = rng.normal(size=n), rng.random(n), rng.random(n) >= 0.3
    features = Features.of({"x": x})
    null = Null(uniform_pit(n), features, pilot=20, n_resamples=19, rng=0).with_rows("independent")
    whole = null._allowed(0.3) - views_of(tabulate(u[None], u[None], features))
    own = Features({}, features.bins[:, kept])
    thinned = null._allowed(0.3) - views_of(tabulate(u[None, kept], u[None, kept], own))
    assert (whole <= thinned + 1e-9).all()


@pytest.mark.exact
def test_scales_are_standard_deviations_of_shortages_with_bad_rows() -> None:
    n, share, rng = 240, 0.2, np.random.default_rng(2)
    for rows in ("any", "independent"):
        null = Null(uniform_pit(n), order(n), pilot=3000, n_resamples=19, rng=0).with_rows(rows)
        if rows == "any":
            tables = null._simulate(3000, 0.0, 7)
            bad = rng.binomial(n, share, size=(3000, 1, 1)).astype(float)
            short = null._allowed(share) - views_of(tables) + null._top * np.minimum(bad, null._room)
        else:
            short = null._allowed(share) - views_of(null._simulate(3000, share, 7))
        np.testing.assert_allclose(np.sqrt(short.var(axis=0) + 0.25) * null._scale(share), 1.0, atol=0.12)


@pytest.mark.exact
def test_the_reference_standardizes_by_the_pilot_and_counts_the_others() -> None:
    maxima = np.array([[1.0, 0.0], [3.0, 4.0], [2.0, 2.0], [4.0, 2.0], [2.0, 8.0]])
    scale = np.tile([3.0, 5.0], (1, BOXES))[:, : BOXES + 1]
    reference = Reference.of(scale, maxima, pilot=2)
    assert reference.slope[0, [0, 1, -1]].tolist() == [3.0, 5.0, 3.0 / 2.0]  # boxes, then scores
    assert reference.offset[[0, 1, -1]].tolist() == [2.0, 2.0, 1.0]
    assert reference.draws.tolist() == [3.0, 2.0, 0.0]
    short = np.append(np.ones(BOXES), 7.0 / 3.0)  # scaled 3, 5, 3, … and 7
    assert (reference.slope * short - reference.offset)[0, [0, 1, -1]].tolist() == [1.0, 3.0, 2.5]
    assert [reference.pvalue(t) for t in (3.5, 3.0, 2.5, 2.0, -1.0)] == [0.25, 0.5, 0.5, 0.75, 1.0]
    assert [reference.pvalue(t, True) for t in (3.5, 2.6, 2.4, 1.6)] == [0.25, 0.5, 0.75, 1.0]


@pytest.mark.exact
def test_pvalues_of_many_shares_are_those_of_each_share() -> None:
    n, rng = 100, np.random.default_rng(0)
    table = table_of(rng.random(n) ** 1.6, rng.normal(size=n))
    shares = np.array([0.0, 0.02, 0.1, 0.4])
    for rows in ("any", "independent"):
        together = Null(uniform_pit(n), order(n), pilot=60, n_resamples=99, rng=1).with_rows(rows)
        alone = Null(uniform_pit(n), order(n), pilot=60, n_resamples=99, rng=1).with_rows(rows)
        found = together.pvalues(table, shares)
        assert found.tolist() == [alone.pvalue(table, share) for share in shares[::-1]][::-1]
        assert found[0] <= 0.02
        assert found[-1] > 0.5
        assert (together.pvalues(table, shares, proven=True) >= found).all()


@pytest.mark.exact
def test_shares_agree_on_the_number_of_bad_rows_in_a_replicate() -> None:
    bad = known_null(200)._bad(np.array([0.01, 0.05, 0.3]))
    assert (np.diff(bad, axis=1) >= 0).all()
    assert stats.kstest(stats.binom.cdf(bad[:, 1] - 1, 200, 0.05), "uniform").statistic < 0.25
    assert bad[:, 1].mean() == pytest.approx(10.0, abs=0.6)
    assert bad[:, 1].var() == pytest.approx(9.5, rel=0.25)


@pytest.mark.exact
def test_a_null_is_the_same_for_the_same_seed_and_different_for_another() -> None:
    table = table_of(np.random.default_rng(0).random(80), np.arange(80.0))
    answers = [Null(uniform_pit(80), order(80), n_resamples=99, rng=seed).pvalue(table, 0.0) for seed in (1, 1, 2)]
    assert answers[0] == answers[1] != answers[2]


@pytest.mark.exact
def test_tiny_and_constant_samples_are_not_rejected_for_rounding() -> None:
    for n in (1, 2, 5):
        null = Null(uniform_pit(n), Features.of({"x": np.zeros(n)}), n_resamples=99, rng=0)
        own = null.tables[250]
        assert null.pvalue(own, 0.0) > 0.01
        assert null.pvalue(own, 0.5) > 0.01
    sure = from_class_probabilities(np.zeros(30), np.tile([1.0, 0.0], (30, 1)))
    null = Null(sure, order(30), n_resamples=99, rng=0)
    assert null.pvalue(tabulate(sure.low, sure.high, order(30)), 0.0) == 1.0


@pytest.mark.exact
def test_the_worst_box_lies_where_rows_are_missing() -> None:
    n, rng = 800, np.random.default_rng(0)
    x, other, u = rng.normal(size=n), rng.normal(size=n), rng.random(n)
    u[(x > 0.7) & (u < 0.25)] = 0.6
    features = Features.of({"other": other, "x": x})
    null = Null(uniform_pit(n), features, rng=0)
    named, block, arc, _ = null.worst(tabulate(u[None], u[None], features), 0.05)[0]
    start, length = ARCS[arc]
    assert named == 1
    assert BLOCKS[block] in ((6, 8), (7, 8))
    assert set(range(5)) <= {(start + step) % 18 for step in range(length)} <= {*range(9), *range(10, 18)}


@pytest.mark.calibration
@pytest.mark.parametrize("kind", ["points", "binary", "independent", "counts"])
def test_the_level_of_a_true_model_is_exact(kind: str) -> None:
    """Fresh nulls of 39 replicates: level 2/40. The band is 3 standard errors of 150 repeats."""
    rng, n, rejected = np.random.default_rng(5), 50, 0
    x = np.linspace(-1.0, 1.0, n)
    features, chance, rate = Features.of({"x": x}), 1.0 / (1.0 + np.exp(-x)), np.exp(1.0 + x)
    share = 0.2 if kind == "independent" else 0.0
    for _ in range(150):
        if kind == "binary":
            pit = from_class_probabilities(
                (rng.random(n) < chance).astype(int), np.column_stack([1.0 - chance, chance])
            )
        elif kind == "counts":
            pit = from_distribution(rng.poisson(rate), stats.poisson(rate))
        else:
            bad = rng.random(n) < share
            pit = from_cdf_values(np.where(bad, 0.9999, rng.random(n)))
        null = Null(pit, features, pilot=40, n_resamples=39, rng=rng).with_rows("independent" if share else "any")
        rejected += rejects(null, tabulate(pit.low, pit.high, features), share)
    assert rejected / 150 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 150)
    assert rejected >= 1


@pytest.mark.calibration
def test_adversaries_that_choose_their_rows_stay_below_the_level() -> None:
    """Bad rows all in one bin and out of its box, at both ends, or in the middle; 5 % of them, 5 % tolerated."""
    rng, n, null = np.random.default_rng(0), 400, known_null(400)
    for place in range(4):
        found = []
        for _ in range(60):
            x, z, bad = rng.uniform(-2, 2, size=n), rng.normal(size=n), rng.random(n) < 0.05
            x[bad] = (1.9, 0.0, 1.9, x[bad])[place] + 1e-9 * rng.random(bad.sum())
            z[bad] = (8.0, 0.0, 2.0, -8.0 * np.sign(x[bad]))[place]
            found.append(rejects(null, table_of(ndtr(z), x), 0.05))
        assert np.mean(found) <= 0.05


@pytest.mark.calibration
def test_changed_rows_keep_the_level_and_more_of_them_do_not() -> None:
    """The 5 % or 15 % of the rows whose PIT are nearest to the middle are moved to the upper tail, after looking."""
    rng, n, null = np.random.default_rng(9), 400, known_null(400, "changed")
    rates = {}
    for share in (0.05, 0.15):
        found = []
        for _ in range(40):
            u = rng.random(n)
            u[np.argsort(np.abs(u - 0.5))[: round(share * n)]] = 0.97
            found.append(rejects(null, table_of(u, rng.normal(size=n)), 0.05))
        rates[share] = np.mean(found)
    assert rates[0.05] <= 0.05
    assert rates[0.15] >= 0.9


@pytest.mark.calibration
def test_faults_beyond_the_tolerated_share_are_found() -> None:
    """Rates of 30 repeats at n = 400; the evidence has 200."""
    rng, n = np.random.default_rng(1), 400
    rates = {"sign": [], "skewed": [], "region": [], "5 % at 8": [], "model": []}  # type: dict[str, list[bool]]
    for _ in range(30):
        x, z = rng.uniform(-2, 2, size=n), rng.normal(size=n)
        truths = {
            "sign": z + 0.4 * np.sign(x),
            "skewed": (rng.gamma(2.0, size=n) - 2.0) / np.sqrt(2.0),
            "region": z + 2.0 * (x > 1.2),
            "5 % at 8": np.where(rng.random(n) < 0.05, 8.0, z),
            "model": z,
        }
        for name, truth in truths.items():
            rates[name].append(rejects(known_null(n), table_of(ndtr(truth), x), 0.05))
    assert min(np.mean(rates[name]) for name in ("sign", "skewed", "region")) >= 0.8
    assert max(np.mean(rates[name]) for name in ("5 % at 8", "model")) <= 0.1


@pytest.mark.calibration
def test_refits_are_the_null_of_least_squares_at_share_0() -> None:
    """PIT of standardized residuals do not depend on the parameters, so one null serves all samples."""
    rng, n = np.random.default_rng(2), 100
    x = rng.normal(size=n)
    design = np.column_stack([np.ones(n), x])

    def residual_pit(y: Floats) -> Floats:
        residuals = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
        return np.asarray(ndtr(residuals / np.sqrt((residuals**2).sum() / (n - 2))))

    def redraw(rng: np.random.Generator) -> tuple[Floats, Floats]:
        u = residual_pit(rng.normal(size=n))
        return u, u

    null = Null(replace(uniform_pit(n), redraw=redraw), Features.of({"x": x}), pilot=150, n_resamples=399, rng=0)
    level = [rejects(null, table_of(residual_pit(3.0 + x + 2.0 * rng.normal(size=n)), x), 0.0) for _ in range(200)]
    bent = [rejects(null, table_of(residual_pit(x**2 + rng.normal(size=n)), x), 0.0) for _ in range(10)]
    assert np.mean(level) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)
    assert np.mean(bent) == 1.0


@pytest.mark.exact
def test_boxes_come_before_scores() -> None:
    assert BOXES == len(BLOCKS) * len(ARCS) < len(VIEW_MEANS)
