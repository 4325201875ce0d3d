"""Recalibrations: what bad rows may do to a robust fit is forgiven, and no more."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr

from steinball.arrays import Floats
from steinball.predictive.null import Biases, Null, recalibrate, recalibrated
from steinball.predictive.pit import Pit
from steinball.predictive.table import Features, tabulate
from tests.predictive.laws import from_cdf_values, from_distribution


@pytest.mark.exact
@pytest.mark.parametrize(("place", "slack"), [("anywhere", 1.75), ("edge", 2.0), ("far", 2.5)])
def test_what_bad_rows_do_to_a_huber_fit_lies_within_the_biases(place: str, slack: float) -> None:
    """Three correlated covariates; the fit adds noise of 1/√n, and outermost bad rows terms of second order."""
    rng, n, share = np.random.default_rng(6), 20_000, 0.05
    x = rng.normal(size=(n, 3)) @ np.array([[1.0, 0.8, 0.0], [0.0, 0.6, 0.0], [0.0, 0.0, 1.0]])
    features = Features.of({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2]})
    along = x @ np.array([1.0, -1.0, 1.0])
    worst = {"far": np.argsort(along)[-int(share * n) :], "edge": np.argsort(np.abs(along - 1.0))[: int(share * n)],
             "anywhere": np.arange(int(share * n))}  # fmt: skip
    z = rng.normal(size=n)
    z[worst[place]] = 8.0
    t = _huber_coefficients(features.design, z)
    within = Biases.of(features, share, slack)
    found = within.nearest(np.append(t, 0.0))
    np.testing.assert_allclose(found[:-1], t, atol=1e-12)


def _huber_coefficients(design: Floats, z: Floats) -> Floats:
    t: Floats = np.zeros(design.shape[1])
    for _ in range(50):
        residuals = z - design @ t
        weight = np.minimum(1.0, 1.345 / np.maximum(np.abs(residuals), 1e-12))[:, None]
        t = np.asarray(np.linalg.solve((weight * design).T @ design, (weight * design).T @ z), dtype=np.float64)
    return np.asarray(t)


@pytest.mark.exact
def test_biases_are_bounded_along_axes_and_along_the_shift_itself() -> None:
    x = np.random.default_rng(1).normal(size=(1000, 5))
    within = Biases.of(Features.of({str(j): column for j, column in enumerate(x.T)}), 0.05, 1.75)
    assert within.box[[0, -1]] == pytest.approx(1.75 * 0.05)
    largest = np.sort(np.abs(within.design), axis=0)[-50:].mean(axis=0)
    assert within.box[:-1] == pytest.approx(1.75 * 0.05 * largest)
    kept = within.nearest(np.ones(7))[:-1]
    reach = np.sort(np.abs(within.design @ kept))[-50:].mean()
    assert kept @ kept == pytest.approx(1.75 * 0.05 * reach)
    assert kept @ kept < within.box[:-1] @ within.box[:-1] / 1.5
    small = np.full(7, 0.01)
    assert within.nearest(small).tolist() == small.tolist()


def shifted(n: int, shift: float, slope: float, scale: float) -> tuple[Pit, Features]:
    rng = np.random.default_rng(4)
    x = rng.normal(size=n)
    features = Features.of({"x": x, "group": rng.choice(["a", "b"], size=n)})
    z = shift + slope * features.design[:, 1] + scale * rng.normal(size=n)
    return from_cdf_values(ndtr(z)), features


@pytest.mark.exact
def test_a_recalibration_undoes_shift_slope_and_scale_within_its_bound() -> None:
    pit, features = shifted(8000, 0.08, -0.08, np.exp(-0.08))
    null = Null(pit, features, rng=0)
    assert null.pvalue(tabulate(pit.low, pit.high, features), 0.05) < 0.05
    pvalue, t = recalibrate(pit, features, null, 0.05)
    assert pvalue > 0.5
    assert Biases.of(features, 0.05, 1.75).nearest(t) == pytest.approx(t)
    assert t[0] > 0.02 > -0.02 > t[1]
    low, high = recalibrated(pit, features, t)
    assert pvalue == null.pvalue(tabulate(low, high, features), 0.05)
    np.testing.assert_allclose(low, ndtr((stats.norm.ppf(pit.low) - features.design @ t[:-1]) / np.exp(t[-1])))


@pytest.mark.exact
def test_what_lies_beyond_the_bound_stays_rejected_and_nothing_is_lost_by_searching() -> None:
    pit, features = shifted(2000, 0.4, 0.0, 1.0)
    null = Null(pit, features, rng=0)
    assert recalibrate(pit, features, null, 0.05)[0] == pytest.approx(1 / 300)
    plain = null.pvalue(tabulate(pit.low, pit.high, features), 0.3)
    assert recalibrate(pit, features, null, 0.3)[0] >= plain


@pytest.mark.exact
def test_intervals_are_recalibrated_at_both_ends() -> None:
    rng, n = np.random.default_rng(0), 300
    rate = np.exp(rng.normal(size=n))
    pit, features = from_distribution(rng.poisson(rate), stats.poisson(rate)), Features.of({"rate": rate})
    pvalue, t = recalibrate(pit, features, Null(pit, features, rng=0), 0.1)
    low, high = recalibrated(pit, features, t)
    assert (low <= high).all()
    assert (low[pit.low == 0.0] == 0.0).all()
    assert pvalue > 0.5


@pytest.mark.exact
def test_no_recalibration_drawn_at_random_is_better_than_the_one_found() -> None:
    rng, n = np.random.default_rng(14), 300
    x = rng.normal(size=(n, 3))
    features = Features.of({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2]})
    pit = from_cdf_values(ndtr(0.35 * (x[:, 0] ** 2 - 1.0) + 0.1 * x.sum(axis=1) + rng.normal(size=n)))
    null = Null(pit, features, pilot=100, n_resamples=99, rng=0)
    statistic = null.statistic_at(0.05)

    def value(t: Floats) -> float:
        return statistic(tabulate(*recalibrated(pit, features, t), features))

    within = Biases.of(features, 0.05, 1.75)
    found = value(recalibrate(pit, features, null, 0.05)[1])
    others = [value(within.nearest(t)) for t in rng.uniform(-within.box, within.box, size=(1500, 5))]
    assert found < min(others) - 0.1


@pytest.mark.calibration
def test_a_robust_fit_with_bad_rows_keeps_the_level_by_its_recalibrations_alone() -> None:
    """Bad rows at z = 3 where x > 1 bias the slope by 2.2 ε a standard deviation: without recalibration all reject."""
    rng, n, share = np.random.default_rng(2), 8000, 0.05
    null = Null(from_cdf_values(np.full(n, 0.5)), Features.of({"x": np.arange(n)}), n_resamples=399, rng=0)
    plain, forgiven = [], []
    for _ in range(12):
        x, z = rng.uniform(-2.0, 2.0, size=n), rng.normal(size=n)
        z[rng.choice(np.flatnonzero(x > 1.0), size=int(share * n), replace=False)] = 3.0
        features = Features.of({"x": x})
        residuals = z - features.design @ _huber_coefficients(features.design, z)
        pit = from_cdf_values(ndtr(residuals / (np.median(np.abs(residuals)) / 0.6745)))
        plain.append(null.pvalue(tabulate(pit.low, pit.high, features), share))
        forgiven.append(recalibrate(pit, features, null, share)[0])
    assert np.mean(np.array(plain) <= 0.05) == 1.0
    assert np.sum(np.array(forgiven) <= 0.05) <= 2  # more have probability .02 at the level


@pytest.mark.calibration
def test_a_fault_beside_bad_rows_is_found_though_recalibrations_are_forgiven() -> None:
    rng, n, share = np.random.default_rng(3), 800, 0.05
    null = Null(from_cdf_values(np.full(n, 0.5)), Features.of({"x": np.arange(n)}), n_resamples=199, rng=0)
    pvalues = []
    for _ in range(8):
        x = rng.uniform(-2.0, 2.0, size=n)
        z = np.where(rng.random(n) < share, 8.0, rng.normal(size=n) + 0.5 * (x**2 - 4.0 / 3.0))
        features = Features.of({"x": x})
        residuals = z - features.design @ _huber_coefficients(features.design, z)
        pit = from_cdf_values(ndtr(residuals / (np.median(np.abs(residuals)) / 0.6745)))
        pvalues.append(recalibrate(pit, features, null, share)[0])
    assert np.sum(np.array(pvalues) <= 0.05) >= 7
