"""Jumps between modes leave the model alone, whatever modes they are given, and show what the score cannot see."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import steinball as sb
from steinball.arrays import to_host
from steinball.cautions import SeparatedModesWarning
from steinball.jumps.modes import (
    Jumps,
    ModeJumps,
    Modes,
    as_jumps,
    count_groups,
    find_modes,
    log_ratio,
    log_ratio_along_paths,
)
from steinball.models import Gaussian, GaussianMixture, StudentT

pytestmark = pytest.mark.exact

Host = NDArray[np.float64]
SEED = np.random.SeedSequence(5)

# Weights and widths differ, modes touch, and the modes given to the jumps are not always those of the model.
LINES = {
    "even": (GaussianMixture([0.5, 0.5], [-6.0, 6.0]), ModeJumps([-6.0, 6.0])),
    "weights": (GaussianMixture([0.8, 0.2], [-4.0, 4.0]), ModeJumps([-4.0, 4.0], offset=1.0)),
    "widths": (
        GaussianMixture([0.3, 0.7], [-5.0, 5.0], [0.25, 4.0]),
        ModeJumps([-5.0, 5.0], np.array([0.25, 4.0]).reshape(2, 1, 1)),
    ),
    "three": (
        GaussianMixture([0.2, 0.5, 0.3], [-5.0, 0.0, 3.0], [0.5, 1.0, 2.0]),
        ModeJumps([-5.0, 0.0, 3.0], np.array([0.5, 1.0, 2.0]).reshape(3, 1, 1)),
    ),
    "wrong": (GaussianMixture([0.4, 0.6], [-2.0, 2.0]), ModeJumps([-3.0, 0.5, 2.5], 0.7, offset=2.0)),
}

GRID = np.linspace(-25.0, 25.0, 100_001)[:, None]
FUNCTIONS: list[Callable[[Host], Host]] = [
    lambda x: np.ones(len(x)),
    lambda x: np.asarray(x[:, 0] > 0.3, dtype=float),
    lambda x: np.sin(x[:, 0]),
    lambda x: x[:, 0] * np.exp(-((x[:, 0] / 9.0) ** 2)),
    lambda x: 1.0 / (1.0 + (x[:, 0] - 2.0) ** 2),
]


def imbalance(jumps: ModeJumps, model: GaussianMixture) -> float:
    """The largest |E f·Kg − E Kf·g| under the model over pairs of functions, by quadrature: no randomness."""
    others = range(1, len(jumps.modes))
    ways = [jumps.propose(GRID, np.full(len(GRID), ahead), model, GRID) for ahead in others]
    mass = np.exp(to_host(model.log_density(GRID))) * (GRID[1, 0] - GRID[0, 0])
    plain = [f(GRID) for f in FUNCTIONS]
    moved = [sum(a * f(y) + (1.0 - a) * f(GRID) for y, a in ways) / len(ways) for f in FUNCTIONS]
    pairs = [(i, j) for i in range(len(FUNCTIONS)) for j in range(i)]
    return max(abs(float(np.sum(mass * (plain[i] * moved[j] - moved[i] * plain[j])))) for i, j in pairs)


@pytest.mark.parametrize("name", LINES)
def test_the_kernel_is_reversible_under_the_model(name: str) -> None:
    model, jumps = LINES[name]
    assert imbalance(jumps, model) < 1e-4


def test_no_jump_leaves_the_support_though_the_density_is_defined_there() -> None:
    model = sb.from_log_density(lambda x: -(x[:, 0] ** 2) / 50.0, backend="numerical", support=(0.0, None))
    jumps, x = ModeJumps([1.0, 6.0]), np.array([[5.0], [8.0]])
    proposed, acceptance = jumps.propose(x, np.array([1, 1]), model, x)
    assert proposed[:, 0].tolist() == [-1.5, 1.5]
    assert acceptance.tolist() == [0.0, 1.0]


@dataclass(frozen=True, eq=False)
class Careless(ModeJumps):
    """Jumps with one mistake, to see that the tests above would find it."""

    mistake: str = ""

    def propose(self, x: Host, ahead: NDArray[np.intp], model: Any, template: Any) -> tuple[Host, Host]:
        proposed, _ = super().propose(x, ahead, model, template)
        here = self.modes.cells(x)
        there = (here + ahead) % len(self.modes)
        if self.mistake == "no acceptance":
            return proposed, np.ones(len(x))
        if self.mistake == "offset the same both ways":
            z = self.modes.coordinates(x, here) + self.offset
            proposed = self.modes.places(z, there)
        ratio = np.exp(np.minimum(0.0, log_ratio(model, x, proposed, template)))
        if self.mistake == "no Jacobian":
            return proposed, np.where(self.modes.cells(proposed) == there, ratio, 0.0)
        volumes = np.exp(self.modes.log_volumes)
        full = np.minimum(1.0, np.exp(log_ratio(model, x, proposed, template)) * volumes[there] / volumes[here])
        return proposed, full if self.mistake == "no check of the cell" else np.where(
            self.modes.cells(proposed) == there, full, 0.0
        )


@pytest.mark.parametrize(
    ("mistake", "name"),
    [
        ("no acceptance", "weights"),
        ("offset the same both ways", "even"),
        ("no Jacobian", "widths"),
        ("no check of the cell", "wrong"),
    ],
)
def test_a_careless_kernel_is_caught(mistake: str, name: str) -> None:
    model, jumps = LINES[name]
    assert imbalance(Careless(jumps.modes, offset=jumps.offset, mistake=mistake), model) > 1e-3
    assert imbalance(Careless(jumps.modes, offset=jumps.offset, mistake="none"), model) < 1e-4


SPACES: dict[str, tuple[Any, ModeJumps | None]] = {
    "line": (GaussianMixture([0.3, 0.7], [-5.0, 5.0], [0.25, 4.0]), None),
    "plane": (GaussianMixture([0.2, 0.3, 0.5], [[0.0, 0.0], [6.0, 0.0], [1.0, 7.0]]), None),
    "ten": (
        GaussianMixture([0.6, 0.4], np.outer([-2.0, 2.0], np.ones(10)), np.array([np.eye(10), 0.5 * np.eye(10)])),
        None,
    ),
    "student": (StudentT(5.0), ModeJumps([-2.0, 2.0])),
}


@pytest.mark.calibration
@pytest.mark.parametrize("name", SPACES)
def test_draws_of_the_model_stay_draws_of_the_model(name: str) -> None:
    model, jumps = SPACES[name]
    jumps = jumps or ModeJumps.from_model(model)
    x = model.sample(20_000, rng=1)
    y = jumps.move(x, model, SEED)
    assert 0.02 < np.mean(np.any(x != y, axis=1)) < 0.9
    fresh = model.sample(20_000, rng=2)
    # Two-sample Kolmogorov–Smirnov tests of coordinates, of the log density and of the mean coordinate: six or more
    # p-values, each at least 1e-3, which a right kernel misses with probability below 1.3 %.
    features: list[Callable[[Host], Host]] = [lambda v: to_host(model.log_density(v)), lambda v: v.mean(axis=1)]
    features += [lambda v, k=k: v[:, k] for k in range(min(4, x.shape[1]))]  # type: ignore[misc]
    assert min(stats.ks_2samp(f(y), f(fresh)).pvalue for f in features) > 1e-3
    # And those that jumped look like the model where they land: cells keep their mass.
    cells = jumps.modes.cells
    before, after = (np.bincount(cells(v), minlength=len(jumps.modes)) / len(v) for v in (fresh, y))
    assert np.abs(before - after).max() < 4.0 * np.sqrt(0.5 / len(x))


def test_jumps_without_an_offset_show_nothing_and_with_one_they_do() -> None:
    model, data = GaussianMixture([0.5, 0.5], [-6.0, 6.0]), GaussianMixture([0.9, 0.1], [-6.0, 6.0])
    x = data.sample(600, rng=3)
    pvalues = {}
    for offset in (0.0, 1.5):
        moved = ModeJumps.from_model(model, offset=offset).move(x, model, SEED)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SeparatedModesWarning)
            pvalues[offset] = sb.ksd_test(moved, model, rng=0).pvalue
    assert pvalues[0.0] > 0.05
    assert pvalues[1.5] == 0.001


def test_each_point_moves_by_itself() -> None:
    model, jumps = LINES["three"]
    x = model.sample(50, rng=0)
    y = jumps.move(x, model, SEED)
    changed = x.copy()
    changed[7] = 1.0
    z = jumps.move(changed, model, SEED)
    rest = np.arange(50) != 7
    assert np.array_equal(y[rest], z[rest])
    assert np.array_equal(jumps.move(x, model, SEED), y)
    assert not np.array_equal(jumps.move(x, model, np.random.SeedSequence(6)), y)


@pytest.mark.backend
def test_every_library_gives_the_same_points(xp: Any) -> None:
    model = GaussianMixture([0.2, 0.3, 0.5], [[0.0, 0.0], [6.0, 0.0], [1.0, 7.0]])
    jumps = ModeJumps.from_model(model)
    x = model.sample(200, rng=0)
    expected = jumps.move(x, model, SEED)
    y = jumps.move(xp.asarray(x), model, SEED)
    assert type(y) is type(xp.asarray(x))
    assert np.allclose(to_host(y), expected, atol=1e-12)


def test_one_mode_moves_nothing() -> None:
    x = np.linspace(-2.0, 2.0, 9)[:, None]
    assert as_jumps("auto", Gaussian()).move(x, Gaussian(), SEED) is x  # type: ignore[union-attr]
    model, jumps = LINES["even"]
    x = np.full((4000, 1), 6.0)
    assert np.unique(jumps.move(x, model, SEED)).tolist() == [-7.5, 6.0]


def test_memberships_are_the_law_of_the_cell_given_the_coordinates() -> None:
    model = GaussianMixture([0.3, 0.7], [-8.0, 8.0], [0.25, 4.0])
    jumps = ModeJumps.from_model(model)
    cells, shares = jumps.memberships(model.sample(50, rng=0), model)
    # Modes of one shape in their own coordinates: the share does not depend on where a point lies in its mode.
    assert np.allclose(shares, [0.3, 0.7], atol=1e-3)
    assert set(cells) == {0, 1}
    touching, jumps = LINES["three"]
    mass = np.exp(touching.log_density(GRID)) * (GRID[1, 0] - GRID[0, 0])
    cells, shares = jumps.memberships(GRID, touching)
    for weight in (np.ones(len(GRID)), np.cos(jumps.modes.coordinates(GRID, cells)[:, 0])):
        for m in range(3):
            assert abs(float(np.sum(mass * weight * ((cells == m) - shares[:, m])))) < 1e-4


def test_memberships_where_the_density_vanishes_are_numbers() -> None:
    @dataclass(frozen=True)
    class Boxes:
        def log_density(self, x: Host) -> Host:
            return np.where(np.abs(np.abs(x[:, 0]) - 5.0) < 1.0, 0.0, -np.inf)

    jumps = ModeJumps([-5.0, 5.0], offset=0.5)
    x = np.array([[-5.0], [5.9], [7.0], [0.0]])
    _, shares = jumps.memberships(x, Boxes())
    assert np.allclose(shares.sum(axis=1), 1.0)
    assert np.isfinite(jumps.move(x, Boxes(), SEED)).all()


def test_what_is_no_move_is_refused_by_name() -> None:
    assert as_jumps(None, Gaussian()) is None
    assert isinstance(ModeJumps([-1.0, 1.0]), Jumps)
    for wrong in ("modes", 3, ModeJumps):
        with pytest.raises(TypeError, match='`jumps` must be None, "auto" or an object with `move'):
            as_jumps(wrong, Gaussian())
    with pytest.raises(ValueError, match="`modes` have 1 coordinates, the samples 2 columns"):
        ModeJumps([-1.0, 1.0]).move(np.zeros((3, 2)), Gaussian(dimension=2), SEED)
    with pytest.raises(ValueError, match="`modes` must be finite"):
        ModeJumps([np.nan, 1.0])
    with pytest.raises(ValueError, match="`offset` must be a finite number"):
        ModeJumps([-1.0, 1.0], offset=-1.0)


SEED_PATH = np.random.SeedSequence(5)
MODEL = GaussianMixture([0.2, 0.5, 0.3], [-5.0, 0.0, 3.0], [0.5, 1.0, 2.0])
JUMPS = ModeJumps([-5.0, 0.0, 3.0], np.array([0.5, 1.0, 2.0]).reshape(3, 1, 1))


@dataclass(frozen=True)
class Bare:
    """A model with a score and nothing else."""

    score: Callable[[Any], Any]


def test_a_score_alone_will_do() -> None:
    x = MODEL.sample(300, rng=0)
    y = JUMPS.move(x, Bare(MODEL.score), SEED_PATH)
    assert np.allclose(y, JUMPS.move(x, MODEL, SEED_PATH))
    pairs = np.random.default_rng(0).uniform(-30.0, 30.0, size=(2, 200, 1))
    exact = MODEL.log_density(pairs[1]) - MODEL.log_density(pairs[0])
    assert np.abs(log_ratio_along_paths(MODEL, pairs[0], pairs[1], pairs[0]) - exact).max() < 1e-6


def test_a_score_that_cannot_be_integrated_is_refused() -> None:
    x = np.array([[-1.0], [-2.0]])
    with pytest.raises(ValueError, match=r"could not be integrated to 1e-06 along 2 jumps. Give the model a"):
        log_ratio_along_paths(Bare(lambda x: -1.0 / (x - 0.1)), x, -x, x)
    scores = sb.as_model(sb.from_scores(-x), x)
    with pytest.raises(TypeError, match="away from the samples; `model` is an array of scores"):
        ModeJumps([-1.0, 1.0]).move(x, scores, SEED_PATH)


def test_modes_of_a_mixture_are_the_maxima_of_its_density() -> None:
    model = GaussianMixture([0.2, 0.2, 0.3, 0.3], [[0.0, 0.0], [0.8, 0.0], [9.0, 0.0], [0.0, 9.0]])
    modes = find_modes(model)
    assert len(modes) == 3  # the first two components make one hill
    assert np.abs(model.score(modes.locations)).max() < 1e-4
    far = modes.locations[np.argmax(modes.locations[:, 0])]
    assert np.allclose(far, [9.0, 0.0], atol=1e-6)
    assert np.allclose(modes.covariances[modes.cells(far[None])[0]], np.eye(2), atol=1e-4)


def test_modes_are_found_from_draws() -> None:
    def log_density(x: Any) -> Any:
        return -((x[:, 0] ** 2 - 16.0) ** 2) / 64.0 - x[:, 1] ** 2 / 2.0

    def sample(n: int, rng: np.random.Generator) -> Host:
        return rng.normal(scale=4.0, size=(n, 2))

    model = sb.from_log_density(log_density, backend="numerical", sample=sample)
    modes = find_modes(model)
    assert np.allclose(np.sort(modes.locations[:, 0]), [-4.0, 4.0], atol=1e-4)
    assert np.allclose(modes.covariances, np.diag([0.5, 1.0]), atol=1e-3)  # −∂² log p = 8·16/64 = 2 and 1
    assert np.allclose(find_modes(StudentT(3.0)).locations, 0.0, atol=1e-4)
    with pytest.raises(TypeError, match=r"has no `sample\(n, rng\)`\. Pass the modes"):
        find_modes(sb.from_log_density(log_density, backend="numerical"))
    with pytest.raises(TypeError, match=r"climbs `model\.log_density`, which this model does not have"):
        find_modes(Bare(lambda x: -x))


def test_the_climb_starts_where_a_model_says_that_its_mass_is() -> None:
    """From declared modes, without a sampler; components of weight 0 are no starts."""

    class Declared:
        modes = Modes([-3.0, 5.0])
        log_density = staticmethod(GaussianMixture([0.5, 0.5], [-4.0, 4.0]).log_density)
        score = staticmethod(GaussianMixture([0.5, 0.5], [-4.0, 4.0]).score)

    assert np.allclose(find_modes(Declared()).locations, [[-4.0], [4.0]], atol=1e-4)
    assert len(find_modes(GaussianMixture([1.0, 0.0], [-4.0, 4.0]))) == 1


def test_a_wide_mode_reaches_farther_and_its_bulk_is_its_own() -> None:
    modes = Modes([0.0, 10.0], np.array([1.0, 16.0]).reshape(2, 1, 1))
    x = np.linspace(-20.0, 40.0, 601)[:, None]
    heights = [stats.norm.logpdf(x[:, 0], 0.0, 1.0), stats.norm.logpdf(x[:, 0], 10.0, 4.0)]
    assert np.array_equal(modes.cells(x), np.argmax(heights, axis=0))
    z = modes.coordinates(x, modes.cells(x))
    assert np.allclose(modes.places(z, modes.cells(x)), x)


def test_whatever_has_a_move_is_one() -> None:
    assert isinstance(ModeJumps([-1.0, 1.0]), Jumps)
    assert not isinstance(GaussianMixture([1.0], [0.0]), Jumps)


def test_a_ksd_ball_is_not_closed() -> None:
    """Wrong weights of far modes have a KSD of about 0, and after a move they do not: to refuse it is no caution."""
    model, data = GaussianMixture([0.5, 0.5], [-8.0, 8.0]), GaussianMixture([0.9, 0.1], [-8.0, 8.0])
    x, kernel = data.sample(1500, rng=0), sb.kernels.InverseMultiquadric(1.0)
    before = sb.ksd(x, model, kernel=kernel, estimator="u")
    after = sb.ksd(ModeJumps.from_model(model).move(x, model, SEED), model, kernel=kernel, estimator="u")
    assert before < 0.05
    assert after > 0.15


def test_models_with_far_modes_are_known_at_once() -> None:
    assert count_groups(GaussianMixture([0.5, 0.5], [-6.0, 6.0])) == 2
    assert count_groups(GaussianMixture([0.5, 0.5], [-2.0, 2.0])) == 1
    assert count_groups(GaussianMixture([1.0, 0.0], [-6.0, 6.0])) == 1  # a component of weight 0 is not there
    assert count_groups(GaussianMixture(np.full(9, 1 / 9), 3.0 * np.arange(9))) == 1  # a chain without gaps
    assert count_groups(GaussianMixture([0.5, 0.5], [-6.0, 6.0], [16.0, 16.0])) == 1
    for variance in (0.25, 4.0):
        for apart, far in ((4.99, False), (5.01, True)):
            scale = variance**0.5
            assert (count_groups(GaussianMixture([0.5, 0.5], [0.0, apart * scale], variance)) == 2) is far
    assert count_groups(Gaussian()) is None
    assert count_groups(type("Known", (), {"modes": Modes([-6.0, 6.0])})()) == 2


def test_nothing_is_searched_and_too_many_components_are_not_compared() -> None:
    class Silent(GaussianMixture):
        def score(self, x: Any) -> Any:
            raise AssertionError("the score was evaluated")

        def sample(self, n: int, rng: Any = None) -> Any:
            raise AssertionError("the model was sampled")

    assert count_groups(Silent([0.5, 0.5], [-6.0, 6.0])) == 2
    assert count_groups(Silent(np.full(129, 1 / 129), 10.0 * np.arange(129))) is None
