"""Slow parts of series: what their waves say, the length of signs that they ask for, and what is refused."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.signal import lfilter

import steinball as sb
from steinball.calibration import weighted
from steinball.calibration.weighted import length_of
from steinball.cautions import DependentRowsWarning
from steinball.checks import memory
from steinball.checks.memory import Memory, find_memory
from steinball.problem import Problem, pose

Floats = NDArray[np.float64]
MODEL = sb.models.Gaussian()


def problem_of(x: Floats) -> Problem:
    return pose(x, MODEL, sb.InverseMultiquadric(1.0))


def autoregression(n: int, rho: float, rng: np.random.Generator) -> Floats:
    noise = rng.normal(size=n)
    noise[1:] *= np.sqrt(1.0 - rho**2)
    return np.asarray(lfilter([1.0], [1.0, -rho], noise))


def fractional(n: int, d: float, rng: np.random.Generator) -> Floats:
    """ARFIMA(0, d, 0) of variance 1, by its moving average over 4n terms."""
    k = np.arange(1, 4 * n)
    average = np.cumprod(np.concatenate([[1.0], (k - 1 + d) / k]))
    found = np.fft.irfft(np.fft.rfft(rng.normal(size=8 * n), 16 * n) * np.fft.rfft(average, 16 * n))[4 * n : 5 * n]
    return np.asarray(found / np.sqrt(np.sum(average**2)))


def hidden(n: int, share: float, rho: float, rng: np.random.Generator) -> Floats:
    return np.asarray(np.sqrt(share) * autoregression(n, rho, rng) + np.sqrt(1.0 - share) * rng.normal(size=n))


@pytest.mark.exact
def test_waves_of_an_autoregression_have_no_excess_and_slower_ones_have() -> None:
    """Waves equal to their expectation: the score test is 0 for every autoregression, and rises with the exponent."""
    frequencies = 2.0 * np.pi * np.arange(1, 500) / 1000
    for rho in (-0.5, 0.0, 0.5, 0.9):
        assert memory._excess(frequencies, 1.0 / (1.0 + rho**2 - 2.0 * rho * np.cos(frequencies))) == pytest.approx(
            0.0, abs=0.05
        )
    rising = [memory._excess(frequencies, (2.0 * np.sin(frequencies / 2.0)) ** (-2.0 * d)) for d in (0.1, 0.2, 0.4)]
    assert 1.0 < rising[0] < rising[1] < rising[2]
    assert memory._excess(frequencies, (2.0 * np.sin(frequencies / 2.0)) ** 0.4) < -1.0


@pytest.mark.calibration
def test_the_excess_of_an_autoregression_is_standard_normal() -> None:
    """400 series of 300 rows, a linear coordinate: mean 0 and standard deviation 1, to four standard errors."""
    rng = np.random.default_rng(0)
    found = [memory._excess(*memory._periodogram([autoregression(300, 0.6, rng)])) for _ in range(400)]
    assert abs(np.mean(found)) < 0.25
    assert np.std(found) == pytest.approx(1.0, abs=0.16)


@pytest.mark.exact
@pytest.mark.parametrize(("share", "rho", "time"), [(0.5, 0.9, 19.0), (0.15, 0.98, 99.0), (1.0, 0.8, 9.0)])
def test_expected_waves_give_back_the_share_and_time_of_the_slow_part(share: float, rho: float, time: float) -> None:
    frequencies = 2.0 * np.pi * np.arange(1, 1000) / 2000
    waves = share * (1.0 - rho**2) / (1.0 + rho**2 - 2.0 * rho * np.cos(frequencies)) + 1.0 - share
    counts = np.ones(len(waves))
    lead, found, effective = memory._slow_part(frequencies, 7.0 * waves, counts, 2000)
    assert lead > 1.0
    assert found == pytest.approx(time)
    assert effective == pytest.approx(2000 / (1.0 + share * (time - 1.0)))
    power = 0.7 * (2.0 * np.sin(frequencies / 2.0)) ** -0.6 + 0.3
    assert memory._slow_part(frequencies, power, counts, 2000)[0] < -1.0


@pytest.mark.exact
def test_densities_below_noise_have_variance_one() -> None:
    """The mean of a spectral density over all frequencies is the variance, so that a share is one of the variance."""
    frequencies = np.pi * (np.arange(200_000) + 0.5) / 200_000
    seen: list[Floats] = []

    def note(density: Floats, waves: Floats, counts: Floats) -> Floats:
        seen.append(density)
        return np.zeros((13, len(density)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "_whittle", note)
        memory._slow_part(frequencies, np.ones(200_000), np.ones(200_000), 100)
    np.testing.assert_allclose(seen[0].mean(axis=1), 1.0, rtol=1e-3)
    np.testing.assert_allclose(seen[1].mean(axis=1)[:6], 1.0, rtol=5e-3)


@pytest.mark.exact
def test_bins_keep_sums_and_leave_the_lowest_frequencies_alone() -> None:
    frequencies, waves = np.arange(1.0, 5001.0), np.random.default_rng(0).exponential(size=5000)
    places, means, counts = memory._binned(frequencies, waves)
    assert counts.sum() == 5000
    assert counts @ means == pytest.approx(waves.sum())
    np.testing.assert_array_equal(means[:30], waves[:30])
    np.testing.assert_array_equal(places[:30], frequencies[:30])
    assert len(means) < 400


@pytest.mark.exact
def test_chains_put_their_waves_together() -> None:
    parts = [np.random.default_rng(seed).normal(size=size) for seed, size in enumerate((40, 25))]
    frequencies, waves = memory._periodogram(parts)
    assert len(waves) == 19 + 12
    assert (np.diff(frequencies) >= 0.0).all()
    for part in parts:
        for j in (1, 5):
            place = 2.0 * np.pi * j / len(part)
            wave = abs(np.sum(part * np.exp(-1j * place * np.arange(len(part))))) ** 2 / len(part)
            assert np.isclose(waves[np.isclose(frequencies, place)], wave).any()


@pytest.mark.exact
def test_the_coordinate_that_is_looked_at_is_the_slowest() -> None:
    """White rows whose sizes come in waves: the leading coordinate, the rows themselves, is white, another is not."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=2000) * np.exp(0.5 * autoregression(2000, 0.98, rng))
    z = memory._slowest(problem_of(x))
    assert abs(np.corrcoef(z, np.abs(x))[0, 1]) > 2.0 * abs(np.corrcoef(z, x)[0, 1])


@pytest.mark.exact
def test_what_is_refused_and_how_long_signs_stay_alike() -> None:
    """Each number of a memory on both sides of where it decides."""
    known = Memory(1000, 3.5, 3.5, 27.0, 40.0)
    assert known.length == pytest.approx(27.0 * (1000 / 27.0) ** (1 / 3))
    assert not known.long
    assert not known.undecided
    assert Memory(1000, 3.5, 3.5, 27.0, 19.0).long
    assert not Memory(1000, 2.9, 3.5, 27.0, 19.0).long
    assert Memory(1000, 3.5, 0.9, 27.0, 40.0).long
    assert not Memory(1000, 2.9, 0.9, 27.0, 40.0).long
    assert not Memory(1000, 3.5, 2.0, 27.0, 19.0).long
    assert Memory(1000, 3.5, 2.0, 27.0, 19.0).undecided
    assert not Memory(1000, 2.9, 2.0, 27.0, 19.0).undecided
    assert Memory(1000, 1.1, 2.0, 27.0, 40.0).length == 140.0
    assert Memory(1000, 3.5, 3.5, 399.0, 40.0).length == 140.0
    assert Memory(1000, 3.5, 3.5, 1999.0, 40.0).length == 140.0
    assert Memory(1000, 0.9, 0.0, 399.0, 40.0).length == 1.0


@pytest.mark.exact
def test_centered_signs_are_not_lengthened_where_memory_may_be_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """At .14 n centered signs rejected .22 of 15 % of AR(.98) below noise, n = 500, and signs as they are .04."""
    problem = problem_of(np.random.default_rng(0).normal(size=400))
    plain = length_of(problem, 1)
    for excess, lead, wild, boundary in ((2.0, 2.0, 56.0, plain), (2.0, 4.0, 56.0, 56.0), (3.5, 2.0, 56.0, None)):
        monkeypatch.setattr(weighted, "find_memory", lambda *_, z=excess, a=lead: Memory(400, z, a, 99.0, 200.0))
        assert length_of(problem, 1) == pytest.approx(wild)
        if boundary is None:
            with pytest.raises(ValueError, match="needs rows that forget"):
                sb.BoundaryBootstrap(99, "wild", "auto").for_rows(problem)
        else:
            assert length_of(problem, 1, centered=True) == pytest.approx(boundary)


@pytest.mark.exact
def test_few_rows_and_rows_of_one_value_say_nothing() -> None:
    slow = fractional(200, 0.4, np.random.default_rng(7))
    assert find_memory(problem_of(slow), 1).excess != 0.0
    for x in (slow[:199], np.ones(300)):
        found = find_memory(problem_of(x), 1)
        assert (found.length, found.long, found.excess) == (1.0, False, 0.0)
    found = find_memory(problem_of(np.random.default_rng(0).normal(size=300)), (1,) * 300)
    assert found.excess == 0.0


@pytest.mark.exact
def test_a_slow_part_lengthens_the_signs_and_is_said() -> None:
    x = hidden(2000, 0.3, 0.95, np.random.default_rng(1))
    found = find_memory(problem_of(x), 1)
    assert found.excess > 4.0
    assert not found.long
    assert length_of(problem_of(x), 1) == pytest.approx(found.length)
    with pytest.warns(DependentRowsWarning, match=r"slower than an autoregression explains.*that you can defend"):
        sb.ksd_test(x, MODEL, calibration=sb.WildBootstrap(99, dependence="auto"), rng=0)


@pytest.mark.exact
def test_long_memory_is_refused_by_both_tests_and_chains_are_told_apart() -> None:
    x = fractional(2000, 0.4, np.random.default_rng(3))
    with pytest.raises(ValueError, match=r"needs rows that forget.*that you can defend.*sb.thin"):
        sb.ksd_test(x, MODEL, calibration=sb.WildBootstrap(99, dependence="auto"))
    with pytest.raises(ValueError, match=r"needs rows that forget"):
        sb.mcmc_test(x.reshape(2, 1000, 1), MODEL)
    given = sb.ksd_test(x, MODEL, calibration=sb.WildBootstrap(99, dependence=200.0), rng=0)
    assert 0.0 < given.pvalue <= 1.0


CASES: dict[str, Any] = {
    "independent": lambda rng: rng.normal(size=500),
    "AR(.8)": lambda rng: autoregression(500, 0.8, rng),
    "ARFIMA(.2)": lambda rng: fractional(500, 0.2, rng),
    "ARFIMA(.4)": lambda rng: fractional(500, 0.4, rng),
    "hidden": lambda rng: hidden(500, 0.15, 0.98, rng),
}


@pytest.mark.calibration
@pytest.mark.parametrize("name", CASES)
def test_true_models_are_kept_or_series_refused(name: str) -> None:
    """40 series of 500 rows: .25, .45 and .35 of the three slow ones were rejected before signs were lengthened."""
    rng, rejected, refused = np.random.default_rng(11), 0, 0
    for seed in range(40):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DependentRowsWarning)
                calibration = sb.WildBootstrap(99, dependence="auto")
                rejected += sb.ksd_test(CASES[name](rng), MODEL, calibration=calibration, rng=seed).rejected
        except ValueError:
            refused += 1
    assert rejected <= 5
    assert (
        refused <= 1
        if name in ("independent", "AR(.8)")
        else refused >= {"ARFIMA(.2)": 15, "ARFIMA(.4)": 28, "hidden": 12}[name]
    )


@pytest.mark.parametrize("test", [sb.robust_ksd_test, sb.robust_ksdagg_test])
def test_a_slow_part_is_told_by_tests_over_one_and_several_kernels_and_looked_for_once(
    test: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, looks, found = np.random.default_rng(4), [], memory._slow_part

    def counted(*bins: Any) -> Any:
        looks.append(len(bins))
        return found(*bins)

    monkeypatch.setattr(memory, "_slow_part", counted)
    x = np.sqrt(0.5) * (rng.normal(size=1000) + autoregression(1000, 0.9, rng))
    signs = sb.BoundaryBootstrap(99, "wild", dependence="auto")
    with pytest.warns(DependentRowsWarning, match="slower than an autoregression explains"):
        test(x, MODEL, 0.05, calibration=signs, rng=0)
    assert len(looks) == 1
