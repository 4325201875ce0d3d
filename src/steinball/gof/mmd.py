"""The robust two-sample tests that the paper compares with: dcMMD and MMD-Dev (paper App. B)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from steinball import arrays
from steinball.arrays import Array, Floats
from steinball.calibration.base import BootstrapNull, Null, tie_tolerance
from steinball.evidence.means import MMDEvidence
from steinball.gram.weights import WeightStream, gather
from steinball.kernels import Gaussian, Kernel, median_distance
from steinball.models.knowledge import Knowledge
from steinball.models.registry import read_model
from steinball.radius.contamination import Huber
from steinball.record import recorded
from steinball.results.base import Result
from steinball.text import OF_DISTRIBUTION, OF_POINTS, Row, count, describe, measured, number


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MMDResult(Result):
    """The result of :func:`steinball.dcmmd_test` or :func:`steinball.mmd_dev_test`: a Result, and more.

    Attributes
    ----------
    pvalue : float
        (1 + #{D_b ≥ D − θ}) / (B + 1) for dcMMD, the inverted bound for MMD-Dev; 1 when D ≤ θ.
    statistic : float
        max(0, D − θ).
    contamination_bound : float
        The smallest tolerance at which the test would not reject: at confidence 1 − ``level`` at least this share of
        the points (MMD-Dev: of their distribution) is contaminated.
    mmd, squared_mmd : float
        D and D², the V-statistic.
    radius : float
        θ, the shift that the tolerated share ε₀ of contamination costs.
    m : int
        Size of the sample of the model.
    test : {"dcMMD", "MMD-Dev"}
        Which of the two.
    kernel : Kernel
        The kernel used, defaults resolved.
    """

    test: str
    mmd: float
    squared_mmd: float
    radius: float
    m: int
    kernel: Kernel
    _evidence: MMDEvidence

    schema: ClassVar[str] = "steinball.mmd/2"
    _in_repr: ClassVar[tuple[str, ...]] = ("test", "mmd", "radius")

    @property
    def draws(self) -> Floats | None:
        """D of the random splits, or ``None`` for MMD-Dev."""
        draws = self._evidence.null.draws
        return None if draws is None else draws.copy()

    def _drawn(self) -> Floats | None:
        return self._evidence.null.drawn(self.radius)

    @property
    def title(self) -> str:
        """Which of the two tests it was."""
        return f"{self.test}, a robust two-sample test"

    def rows(self) -> list[Row]:
        """The table of the summary."""
        return [
            ("data", f"{self._points()}, and {count(self.m)} of the model"),
            ("kernel", describe(self.kernel)),
            ("D", number(self.mmd), "maximum mean discrepancy of the two samples (V-statistic)"),
            ("θ", number(self.radius), self._tolerance()),
            ("statistic", number(self.statistic), f"max(0, D − θ); {self._rule()}"),
            ("p-value", number(self.pvalue), self._calibrated()),
        ]

    def _measured(self) -> str:
        return measured("MMD", self.mmd, self.radius)

    def _whose(self) -> str:
        return OF_DISTRIBUTION if self.draws is None else OF_POINTS


_TILE = 256


@recorded
def dcmmd_test(
    x: Any,
    y: Any,
    *,
    contamination: float,
    kernel: Kernel | None = None,
    n_resamples: int = 500,
    level: float = 0.05,
    rng: Any = None,
) -> MMDResult:
    r"""The permutation test dcMMD, robust to contamination of the sample (Schrab and Kim 2024; paper App. B)

    .. math:: \text{reject when } D(x, y) > q_{1-\alpha} + 2 \varepsilon_0 \sqrt{2K},

    where D is the maximum mean discrepancy (V-statistic, not squared) of the data ``x`` from a sample ``y`` of the
    model, q the quantile of D over random splits of the pooled sample, the observed one among the B + 1, and
    K = k(x, x).

    Parameters
    ----------
    x : array
        Observations, shape (n, d), or (n,) for d = 1.
    y : array or model
        A sample of the model, shape (m, d), of the array library of ``x``; or a model with ``sample(n, rng)``, from
        which n points are drawn.
    contamination : float
        ε₀ in [0, 1]: the share of ``x`` that may have been replaced by anything.
    kernel : Kernel, optional
        By default Gaussian at the median distance of the pooled sample, as the paper's text says. Its published curves
        have ``Gaussian(lengthscale=math.sqrt(d / 2))``.
    n_resamples : int
        Number B of random splits.
    level : float
        Level α of the test.
    rng : None, int, SeedSequence or Generator
        Source of randomness (SPEC 7).

    Returns
    -------
    MMDResult

    Notes
    -----
    Guaranteed at every n, for a kernel fixed in advance: rejection with probability at most α if ``x`` was an
    independent sample of the model of which at most a share ε₀, chosen by whatever means, was then replaced. Replacing
    r points moves D by at most r√(2K)/n, and D of a split by at most r√(2K)/min(m, n), since kernels here are positive;
    with m < n the shift is therefore 2ε₀√(2K)·n/m. The default kernel is the same for every split, but what was
    replaced may have moved it.

    Examples
    --------
    >>> import steinball as sb
    >>> x = np.random.default_rng(0).normal(size=300)
    >>> x[:15] = 10.0
    >>> [sb.dcmmd_test(x, sb.models.Gaussian(), contamination=share, rng=0).rejected for share in (0.0, 0.05)]
    [True, False]
    """
    n_resamples = arrays.check_resamples(n_resamples)
    tolerated, level = Huber(contamination), arrays.check_level(level, n_resamples)
    pair = Pair.of(x, y, kernel, arrays.as_seed(rng))
    squares = np.maximum(pair.squares(n_resamples), 0.0)
    null = BootstrapNull(np.sqrt(squares[1:]), tie_tolerance(pair.pooled))
    shift = 2.0 * math.sqrt(2.0 * pair.peak) * pair.n / min(pair.n, pair.m)
    return pair.result("dcMMD", MMDEvidence(float(squares[0]), null, shift), tolerated, level)


@recorded
def mmd_dev_test(
    x: Any, y: Any, *, contamination: float, kernel: Kernel | None = None, level: float = 0.05, rng: Any = None
) -> MMDResult:
    r"""The finite-sample test MMD-Dev of an MMD ball around the model (Sun and Zou 2023, eq. 38; paper App. B)

    .. math:: \text{reject when } D(x, y) > \varepsilon_0 \sqrt{2K} +
       \sqrt{K \left(\tfrac1n + \tfrac1m\right)} \left(1 + \sqrt{-\log \alpha}\right).

    With m = n this is the paper's threshold. The ball contains all distributions with at most a share ε₀ of
    contamination.

    Parameters
    ----------
    x, y, contamination, kernel, level, rng
        As in :func:`dcmmd_test`; ``rng`` is used only to draw from a model.

    Returns
    -------
    MMDResult

    Notes
    -----
    Guaranteed at every n and m, uniformly over the ball, for a kernel fixed in advance: the distance of Qₙ − Q from
    Pₘ − P has a mean of at most s = √(K/n + K/m), one point moves it by at most √(2K)/n or √(2K)/m, and McDiarmid's
    inequality gives the rest. The p-value inverts the bound: p = exp(−((D − θ)/s − 1)₊²). It is a bound for all
    distributions at once, and has little power.

    Examples
    --------
    >>> import steinball as sb
    >>> x = np.random.default_rng(0).normal(size=300)
    >>> x[:150] = 10.0
    >>> [sb.mmd_dev_test(x, sb.models.Gaussian(), contamination=share, rng=0).rejected for share in (0.05, 0.5)]
    [True, False]
    """
    tolerated, level = Huber(contamination), arrays.check_level(level)
    pair = Pair.of(x, y, kernel, arrays.as_seed(rng))
    squared = max(0.0, float(pair.squares(0)[0]))
    null = MMDDeviationNull(math.sqrt(pair.peak * (1.0 / pair.n + 1.0 / pair.m)))
    return pair.result("MMD-Dev", MMDEvidence(squared, null, math.sqrt(2.0 * pair.peak)), tolerated, level)


@dataclass(frozen=True)
class MMDDeviationNull(Null):
    """McDiarmid's bound on the MMD of two samples, and the p-value that inverts it; ``scale`` is √(K/n + K/m)."""

    scale: float
    draws = None

    def pvalue(self, ksd: float, radius: float) -> float:
        """The p-value of an observed D against the radius θ."""
        return math.exp(-(max(0.0, (ksd - radius) / self.scale - 1.0) ** 2))

    def threshold(self, level: float, radius: float) -> float:
        """What D − θ must exceed."""
        return self.scale * (1.0 + math.sqrt(-math.log(level)))


@dataclass(frozen=True, eq=False)
class Pair:
    """Two samples, pooled: the first ``n`` rows are the data, the others the model's; ``seed`` is of all draws."""

    pooled: Array
    n: int
    kernel: Kernel
    seed: np.random.SeedSequence

    @classmethod
    def of(cls, x: Any, y: Any, kernel: Kernel | None, seed: np.random.SeedSequence) -> Pair:
        """The samples that a user passed, or draws of the model, under a checked kernel."""
        samples = arrays.computed(arrays.as_samples(x))
        pooled = arrays.namespace(samples).concat([samples, _samples_of_model(y, samples, seed)], axis=0)
        kernel = Gaussian(median_distance(pooled)) if kernel is None else kernel
        arrays.check_kind(kernel, Kernel, "kernel", "a kernel of `steinball.kernels`, e.g. Gaussian(1.0)")
        return cls(pooled, int(samples.shape[0]), kernel, seed)

    @property
    def m(self) -> int:
        """Size of the sample of the model."""
        return int(self.pooled.shape[0]) - self.n

    @property
    def peak(self) -> float:
        """K = k(x, x)."""
        return float(self.kernel.profile(np.zeros(1))[0][0])

    def result(self, test: str, evidence: MMDEvidence, tolerated: Huber, level: float) -> MMDResult:
        """What one of the tests found."""
        sizes: dict[str, Any] = {"n": self.n, "m": self.m, "dimension": int(self.pooled.shape[1])}
        return MMDResult.of(evidence, tolerated, level, test=test, kernel=self.kernel, **sizes)

    def squares(self, n_resamples: int) -> Floats:
        """D² of the observed split and of ``n_resamples`` random ones, (B + 1,)."""
        below = np.random.SeedSequence(self.seed.entropy, spawn_key=(*self.seed.spawn_key, 1))  # 0 samples the model
        total, observed = self.n + self.m, np.arange(self.n + self.m) < self.n

        def shuffled(generator: np.random.Generator, rows: int, total: int) -> NDArray[np.int8]:
            return generator.permuted(np.tile(observed, (rows, 1)).view(np.int8), axis=1)

        drawn = gather(WeightStream(shuffled, total, below, 0, n_resamples), total)
        return split_squares(self.pooled, self.kernel, np.concatenate([observed[None], drawn.astype(np.bool_)]))


def split_squares(pooled: Array, kernel: Kernel, splits: NDArray[np.bool_]) -> Floats:
    r"""D² between the two groups of every split of a pooled sample, over tiles of the upper triangle

    .. math:: D^2 = v^\top K v, \qquad v_i = 1/n \text{ in the first group}, \; -1/m \text{ in the second}.
    """
    xp, (count, total) = arrays.namespace(pooled), splits.shape
    n = int(splits[0].sum())
    vectors = np.where(splits, 1.0 / n, -1.0 / (total - n))
    parts = [slice(start, min(start + _TILE, total)) for start in range(0, total, _TILE)]
    strips = [(pooled[part, :], arrays.like(vectors[:, part], pooled)) for part in parts]
    squares = np.zeros(count)
    with np.errstate(over="ignore", invalid="ignore"):  # far points are simply not alike
        for k, (points, v) in enumerate(strips):
            for j, (others, w) in enumerate(strips[k:]):
                forms = xp.sum(xp.matmul(v, kernel(points, others)) * w, axis=1)
                squares += (2.0 if j else 1.0) * arrays.to_host(forms)  # once for itself, once for its mirror image
    if not np.isfinite(squares).all():
        raise arrays.OutOfRangeError("the kernel overflows: rescale `x` and `y`, or use a Gaussian kernel.")
    return squares


def _samples_of_model(y: Any, samples: Array, seed: np.random.SeedSequence) -> Array:
    if arrays.is_array_like(y):
        return arrays.as_second_samples(y, samples, "y")
    model = read_model(y, int(samples.shape[1]))
    if Knowledge(y).base_map is not None:
        raise TypeError("`y` lives in base space, where two samples are not compared; pass the model itself.")
    sampler = Knowledge(y if model is None else model).sampler
    if sampler is None:
        raise TypeError(
            "`y` must be a sample of the model, shape (m, d), or a model with `sample(n, rng)`, got "
            f"{y.__name__ if isinstance(y, type) else type(y).__name__}. Draw from the model and pass the draws."
        )
    drawn = arrays.as_samples(sampler(int(samples.shape[0]), arrays.generator_at(seed, 0)), "y.sample(n, rng)")
    return arrays.as_second_samples(arrays.like(arrays.to_host(drawn), samples), samples, "y.sample(n, rng)")
