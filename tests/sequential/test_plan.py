"""What is fixed before a stream is tested, and what cannot be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steinball as sb
from steinball.sequential import SequentialTest
from tests.sequential.streams import KERNEL, TAU, TILT, a_test, stream

pytestmark = pytest.mark.exact


def test_kernel_and_tilt_are_never_taken_from_points_that_are_bet_on() -> None:
    for missing in ({"kernel": None}, {"tilt": "auto"}):
        with pytest.raises(ValueError, match="model has no `sample`"):
            a_test(**missing).update(stream(10))
    model = sb.models.Gaussian()
    near, far = (SequentialTest(model, contamination=0.05).update(scale * stream(10)) for scale in (1.0, 1.2))
    assert near._kernel == far._kernel
    assert near._tilt == far._tilt
    assert near.tau == far.tau


def test_a_burn_in_chooses_and_is_not_bet_on() -> None:
    x = stream(60)
    test = a_test(kernel=None, tilt="auto", tau=5.0, burn_in=30)
    assert test.update(x[:29])._kernel is None
    assert (test.n, test.pvalue, test.log_evalue) == (29, 1.0, 0.0)
    test.update(x[29:])
    chosen: Any = test._kernel
    assert chosen[0].lengthscale == pytest.approx(sb.kernels.median_distance(x[:30]))
    assert test._tilt.center == (pytest.approx(np.median(x[:30])),)
    n, path = test.history
    np.testing.assert_allclose(path[n <= 30], 0.0, atol=1e-14)
    assert path[-1] != 0.0
    # The burn-in shows a direction: the first bet is made on the next point already.
    assert path[n == 31] != 0.0


def test_tau_is_found_for_a_model_that_knows_it_and_refused_otherwise() -> None:
    test = SequentialTest(sb.models.Gaussian(), kernel=KERNEL, tilt=TILT, contamination=0.05).update(stream(5))
    assert test.tau == pytest.approx(TAU, rel=1e-6)
    with pytest.raises(ValueError, match="no upper bound"):
        a_test(tau="sample").update(stream(5))
    with pytest.raises(ValueError, match="no upper bound"):
        a_test(tau="auto").update(stream(5))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"contamination": None}, "contamination"),
        ({"contamination": 1.2}, "contamination"),
        ({"kernel": "gaussian"}, "kernel"),
        ({"kernel": []}, "kernel"),
        ({"tilt": "none"}, "tilt"),
        ({"tau": -1.0}, "tau"),
        ({"tau": [1.0, 2.0]}, "one per kernel"),
        ({"level": 0.0}, "level"),
        ({"budget": 0}, "budget"),
        ({"burn_in": -1}, "burn_in"),
    ],
)
def test_wrong_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        a_test(**options)
    with pytest.raises(TypeError, match="score function"):
        a_test(np.zeros((3, 1)))


UNITS = np.array([1.0, 1e4])


def test_units_of_the_columns_change_nothing() -> None:
    x = np.random.default_rng(0).normal([0.0, 0.7], 1.0, size=(150, 2))
    plain, scaled = (
        SequentialTest(sb.models.Gaussian(sd=units), contamination=0.02).update(units * x)
        for units in (np.ones(2), UNITS)
    )
    kept = SequentialTest(sb.models.Gaussian(sd=UNITS), contamination=0.02, kernel=KERNEL).update(UNITS * x)
    assert scaled.log_evalue == pytest.approx(plain.log_evalue, rel=1e-6)
    assert kept.log_evalue != pytest.approx(plain.log_evalue, rel=0.1)


def test_the_burn_in_says_the_units_where_the_model_does_not() -> None:
    x = np.random.default_rng(0).normal([0.0, 0.7], 1.0, size=(150, 2))
    plain, scaled = (
        SequentialTest(Bounded(unit), contamination=0.02, tilt=None, burn_in=30).update(unit * x) for unit in (1.0, 1e4)
    )
    assert scaled.log_evalue == pytest.approx(plain.log_evalue, rel=1e-6)
    assert scaled.tau == pytest.approx(plain.tau, rel=1e-6)
    assert plain.log_evalue > 1.0


class Bounded:
    """A bounded score in a given unit, whose place nobody says."""

    def __init__(self, unit: float) -> None:
        self.unit = unit

    def score(self, x: Any) -> Any:
        return -np.tanh(x / self.unit) / self.unit

    def score_growth(self, center: Any) -> tuple[float, float]:
        return 2.0**0.5 / self.unit, 0.0


def test_correlated_columns_are_told_apart() -> None:
    """Both means are off by three standard deviations of the difference, which the sum hides."""
    rng, cov = np.random.default_rng(0), np.array([[1.0, 0.998], [0.998, 1.0]])
    x = rng.multivariate_normal([0.2, -0.2], cov, size=300)
    model = sb.models.Gaussian([0.0, 0.0], cov)
    assert SequentialTest(model, contamination=0.05).update(x).rejected


def test_a_saved_test_goes_on_in_its_coordinates(tmp_path: Any) -> None:
    x = UNITS * np.random.default_rng(0).normal([0.0, 0.5], 1.0, size=(80, 2))
    model, path = sb.models.Gaussian(sd=UNITS), tmp_path / "state.npz"
    whole = SequentialTest(model, contamination=0.02).update(x)
    SequentialTest(model, contamination=0.02).update(x[:50]).save(path)
    assert SequentialTest.load(path, model).update(x[50:]).log_evalue == pytest.approx(whole.log_evalue, rel=1e-12)
    with pytest.raises(ValueError, match="is not the one"):
        SequentialTest.load(path, sb.models.Gaussian(sd=2.0 * UNITS))
