"""Robust aggregation: many length scales at once, with a tolerance, and no bandwidth to choose."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Array, as_samples, as_seed, check_level
from steinball.calibration import Betting, BoundaryBootstrap
from steinball.calibration.joint import BettingJudge, BoundaryJudge, Judge
from steinball.features.kinds import Supremum, is_upper_bound
from steinball.features.supremum import find_supremum
from steinball.gof.aggregated import collection, exact_engine, median_kernels, pose_all
from steinball.gof.ksd import default_tau
from steinball.gram.base import GramSummary
from steinball.gram.choose import Settings, make_gram
from steinball.gram.weights import gather
from steinball.kernels.base import Kernel
from steinball.kernels.radial import InverseMultiquadric
from steinball.models.base import as_model
from steinball.problem import settle_in_advance
from steinball.radius import Huber, Radius
from steinball.radius.base import as_radius
from steinball.results.gof import radius_of
from steinball.results.words import render, short
from steinball.stein import SteinProblem
from steinball.tilts import Tilt

__all__ = ["RobustAggregatedResult", "RobustAggregationEvidence", "decide_robust_aggregated", "robust_ksdagg_test"]

SCHEMA = "steinball.robust-ksdagg/1"
POWERS = range(-2, 3)
"""The default length scales: these powers of 2 times the median distance."""

_SHARES = 200


def robust_ksdagg_test(
    x: Any,
    model: Any,
    contamination: float = 0.05,
    *,
    radius: Radius | None = None,
    kernels: Sequence[Kernel] | str | None = None,
    tilt: Tilt | str | None = "auto",
    tau: Any = None,
    calibration: BoundaryBootstrap | Betting = BoundaryBootstrap(999),  # noqa: B008 - frozen, and the default is part of the contract
    level: float = 0.05,
    rng: Any = None,
    engine: str = "auto",
    memory_limit: int | str | None = None,
    n_jobs: int | None = None,
    progress: bool | str = "auto",
) -> RobustAggregatedResult:
    r"""Test a model up to a share of contamination, at several length scales at once.

    Contamination ε₀ implies :math:`D_\lambda \le \theta_\lambda = \varepsilon_0 \sqrt{\tau_\lambda}` for *every* length
    scale λ. Reject when

    .. math:: T = \max_\lambda \frac{D_\lambda - \theta_\lambda}{q_\lambda}

    exceeds the quantile of :math:`T^* = \max_\lambda (D_\lambda^*(\theta_\lambda) - \theta_\lambda) / q_\lambda`, with
    the boundary draws :math:`D^*` of :class:`steinball.BoundaryBootstrap` made by one set of weights for all λ, and
    :math:`q_\lambda` the 95 % quantile of :math:`D_\lambda^*(\theta_\lambda) - \theta_\lambda`. No bandwidth has to
    be chosen.

    Parameters
    ----------
    x, model, tilt, tau, level, rng, memory_limit, n_jobs, progress
        As in :func:`steinball.robust_ksd_test`; ``tau`` is by default that of the sample, for bets an upper bound.
    contamination : float
        The tolerated share ε₀.
    radius : Radius, optional
        Another tolerated set of :mod:`steinball.radius` instead of ``contamination``; its θ is taken for each kernel.
    kernels : sequence of kernels, "median" or None
        The collection. By default inverse multiquadrics at ¼, ½, 1, 2 and 4 times the median distance; ``"median"``:
        at 2ⁱ times the median distance, i = −5, …, 5.
    calibration : BoundaryBootstrap or Betting
        The draws; or :class:`steinball.Betting`: the wealth of the bets averaged over the kernels, for finite samples.
        Its default kernels come from draws of the model, not from the data.
    engine : {"auto", "dense", "blocked"}
        How the pairs of points are worked through; both are exact.

    Returns
    -------
    RobustAggregatedResult

    Notes
    -----
    Proved (``docs/theory/aggregation.md``): the level as n → ∞ for each distribution of the tolerated set, for kernels
    fixed in advance; it is conservative, the more so the more length scales lie far inside their balls. Simulated: the
    level and power with length scales from the median distance (``docs/evidence``). With :class:`steinball.Betting`:
    the level for every n, uniformly over the tolerated set, because an average of e-processes is one.

    Examples
    --------
    >>> import steinball as sb
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=400)
    >>> x[:60] = 10.0
    >>> result = sb.robust_ksdagg_test(x, sb.models.Gaussian(), contamination=0.05, rng=0)
    >>> result.rejected, result.at(contamination=0.15).rejected
    (True, False)
    """
    if not isinstance(calibration, Betting | BoundaryBootstrap):
        raise TypeError(f"`calibration` must be a BoundaryBootstrap or Betting, got {calibration!r}.")
    level, seed = check_level(level, calibration.n_resamples), as_seed(rng)
    tolerated = Huber(contamination) if radius is None else as_radius(radius)
    samples = as_samples(x)
    n = int(samples.shape[0])
    settings = Settings(exact_engine(engine, n), memory_limit, n_jobs, progress)
    model = as_model(model, samples)
    chosen, tilt = _settled(samples, model, kernels, tilt, calibration)
    problems = pose_all(samples, model, chosen, tilt)
    wanted = default_tau(calibration) if tau is None else tau
    taus = [find_supremum(wanted, problem) for problem in problems]
    weights = gather(calibration.weights(n, seed), n, n_jobs)
    grams = (make_gram(problem, calibration.n_resamples, settings, lambda _: True) for problem in problems)
    summaries = [gram.summarise((weights,)) for gram in grams]
    judge = (
        BettingJudge.of(calibration, problems, summaries, taus, settings)
        if isinstance(calibration, Betting)
        else BoundaryJudge.of(summaries)
    )
    return decide_robust_aggregated(RobustAggregationEvidence.of(problems, summaries, taus, judge), tolerated, level)


def _settled(
    samples: Array, model: Any, kernels: Any, tilt: Tilt | str | None, calibration: Betting | BoundaryBootstrap
) -> tuple[tuple[Kernel, ...], Tilt | str | None]:
    """The collection and the tilt; for bets from the model, since they must not look ahead."""
    if not isinstance(calibration, Betting):
        return (median_kernels(samples, POWERS) if kernels is None else collection(kernels, samples)), tilt
    if kernels is None or isinstance(kernels, str):
        middle, tilt = settle_in_advance(model, None, tilt, samples)
        return tuple(InverseMultiquadric(2.0**power * middle.lengthscale) for power in POWERS), tilt  # type: ignore[attr-defined]
    chosen = collection(kernels, samples)
    return chosen, settle_in_advance(model, chosen[0], tilt, samples)[1]


@dataclass(frozen=True, eq=False)
class RobustAggregationEvidence:
    """All that a decision follows from, for every tolerated set and level: a problem, a τ and a D per kernel, and the
    judge over all of them."""

    problems: tuple[SteinProblem, ...]
    taus: tuple[Supremum, ...]
    ksds: NDArray[np.float64]
    judge: Judge
    engine: str

    @classmethod
    def of(
        cls, problems: Sequence[SteinProblem], summaries: Sequence[GramSummary], taus: Sequence[Supremum], judge: Judge
    ) -> RobustAggregationEvidence:
        """From one summary per kernel."""
        ksds = np.sqrt([max(0.0, summary.mean) for summary in summaries])
        return cls(tuple(problems), tuple(taus), ksds, judge, summaries[0].engine)

    def radii(self, radius: Radius) -> NDArray[np.float64]:
        """θ of every kernel."""
        pairs = zip(self.problems, self.taus, strict=True)
        return np.array([radius_of(radius, problem, tau) for problem, tau in pairs])

    @property
    def share_radii(self) -> NDArray[np.float64]:
        """√τ of every kernel: θ per unit of contamination."""
        return np.sqrt([tau.value for tau in self.taus])

    @cached_property
    def _conceded(self) -> dict[float, float]:
        """What :meth:`conceded` has found, by level: it does not depend on what is tolerated."""
        return {}

    def conceded(self, level: float) -> float:
        """The smallest share of contamination that is not rejected."""
        if level not in self._conceded:
            self._conceded[level] = self._first_not_rejected(level)
        return self._conceded[level]

    def _first_not_rejected(self, level: float) -> float:
        scale = self.share_radii
        # A bettor's wealth falls in the radius; a boundary p-value over several kernels only nearly rises: look.
        shares = np.linspace(0.0, 1.0, _SHARES if self.judge.n_resamples else 2)
        first = next((k for k, e in enumerate(shares) if self.judge.pvalue(e * scale) > level), len(shares) - 1)
        low, high = float(shares[max(0, first - 1)]), float(shares[first])
        for _ in range(20 if first else 0):
            middle = (low + high) / 2.0
            low, high = (low, middle) if self.judge.pvalue(middle * scale) > level else (middle, high)
        return low


@dataclass(frozen=True, eq=False, repr=False)
class RobustAggregatedResult:
    """The result of :func:`robust_ksdagg_test`.

    Attributes
    ----------
    rejected : bool
        ``rejected`` ⇔ ``pvalue <= level`` ⇔ ``statistic > threshold``.
    pvalue : float
        Of the hypothesis that the data come from the tolerated set.
    statistic, threshold : float
        T, and what it must exceed; for bets the logarithm of the largest wealth, and of 1/level.
    contamination, contamination_bound : float
        The tolerated share (``None`` where another set was), and the smallest share that is not rejected: at confidence
        1 − ``level`` at least this share of these points is contaminated (of their distribution, where τ is an upper
        bound).
    ksd, radius, kernel
        D, θ and kernel of the length scale that speaks most against the model.
    ksds, radii, taus, ratios : tuple of float
        Of every kernel: D, θ, τ, and its (D − θ)/q; for bets the logarithm of its largest wealth.
    tau_kind : str
        How τ was obtained.
    level, n, dimension, n_resamples, calibration, engine, kernels, tilt
        How it was computed.
    """

    statistic: float
    pvalue: float
    rejected: bool
    threshold: float
    contamination: float | None
    contamination_bound: float
    ksd: float
    radius: float
    level: float
    ksds: tuple[float, ...]
    radii: tuple[float, ...]
    taus: tuple[float, ...]
    ratios: tuple[float, ...]
    tau_kind: str
    n: int
    dimension: int
    n_resamples: int
    calibration: str
    engine: str
    kernel: Kernel
    kernels: tuple[Kernel, ...]
    tilt: Tilt | None
    _evidence: RobustAggregationEvidence
    _radius: Radius

    def at(
        self, *, contamination: float | None = None, radius: Radius | None = None, level: float | None = None
    ) -> RobustAggregatedResult:
        """The decision at another tolerance or level, from the same draws.

        Examples
        --------
        >>> import steinball as sb
        >>> x = np.random.default_rng(0).normal(size=100)
        >>> result = sb.robust_ksdagg_test(x, sb.models.Gaussian(), rng=0)
        >>> result.at(contamination=0.0).pvalue <= result.pvalue
        True
        """
        if contamination is not None and radius is not None:
            raise ValueError("give `contamination` or `radius`, not both: each of them sets the radius.")
        level = check_level(self.level if level is None else level, self.n_resamples)
        if contamination is not None:
            return decide_robust_aggregated(self._evidence, Huber(contamination), level)
        return decide_robust_aggregated(self._evidence, self._radius if radius is None else as_radius(radius), level)

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary for JSON (``"schema": "steinball.robust-ksdagg/1"``); what is infinite is ``None``."""
        skip = {"kernel", "kernels", "tilt", "_evidence", "_radius"}
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in skip}
        fields["threshold"] = self.threshold if math.isfinite(self.threshold) else None
        lists = {name: list(fields[name]) for name in ("ksds", "radii", "taus", "ratios")}
        described = {"kernel": repr(self.kernel), "kernels": [repr(kernel) for kernel in self.kernels]}
        tilt = None if self.tilt is None else repr(self.tilt)
        return {"schema": SCHEMA, **fields, **lists, **described, "tilt": tilt}

    def summary(self) -> str:
        """The result in words."""
        tolerated = (
            short(self._radius) if self.contamination is None else f"contamination up to {self.contamination:.4g}"
        )
        how = f"{self.n_resamples} boundary bootstrap draws" if self.n_resamples else "betting"
        rows = [
            ("data", f"{self.n} points, d = {self.dimension}"),
            ("kernels", f"{len(self.kernels)}; most extreme: {short(self.kernel)}"),
            ("tilt", "none" if self.tilt is None else short(self.tilt)),
            ("tolerated", tolerated),
            ("D and θ", f"{self.ksd:.4g} and {self.radius:.4g} under that kernel"),
            ("statistic", f"{self.statistic:.4g}, threshold {self.threshold:.4g}"),
            ("p-value", f"{self.pvalue:.4g}, by {how}"),
            ("conceded", self._conceded()),
        ]
        verdict = "REJECTED" if self.rejected else "NOT REJECTED (which is not to say that the model fits)"
        title = "Robust aggregated kernel Stein test, over length scales"
        return render(title, rows, f"{verdict} at level {self.level:.4g}.")

    def _conceded(self) -> str:
        """The contamination that must be conceded, and whose it is."""
        if self.contamination_bound == 0.0:
            return "nothing"
        whose = "their distribution" if is_upper_bound(self.tau_kind) else "these points"
        return f"at least {self.contamination_bound:.3g} of {whose}, at confidence {1 - self.level:.4g}"

    def __repr__(self) -> str:
        return (
            f"RobustAggregatedResult(rejected={self.rejected}, pvalue={self.pvalue:.4g}, "
            f"statistic={self.statistic:.4g}, threshold={self.threshold:.4g}, kernels={len(self.kernels)})"
        )


def decide_robust_aggregated(
    evidence: RobustAggregationEvidence, radius: Radius, level: float
) -> RobustAggregatedResult:
    """The decision that the evidence gives for one tolerated set at one level."""
    if radius.kernel_specific:
        raise ValueError(
            "one number on the KSD scale means something else under every kernel. Give `contamination`, or a set of "
            "distributions such as TotalVariation(0.05)."
        )
    radii = evidence.radii(radius)
    judge, ratios = evidence.judge, evidence.judge.ratios(radii)
    statistic, threshold, pvalue = judge.statistic(radii), judge.threshold(radii, level), judge.pvalue(radii)
    chosen = int(np.argmax(ratios))
    kernels = tuple(problem.stein.kernel for problem in evidence.problems)
    n, dimension = (int(size) for size in evidence.problems[0].samples.shape)
    return RobustAggregatedResult(
        statistic=statistic,
        pvalue=pvalue,
        rejected=pvalue <= level and statistic > threshold,
        threshold=threshold,
        contamination=radius.contamination,
        contamination_bound=evidence.conceded(level),
        ksd=float(evidence.ksds[chosen]),
        radius=float(radii[chosen]),
        level=level,
        ksds=tuple(evidence.ksds.tolist()),
        radii=tuple(radii.tolist()),
        taus=tuple(tau.value for tau in evidence.taus),
        ratios=tuple(ratios.tolist()),
        tau_kind=evidence.taus[0].kind,
        n=n,
        dimension=dimension,
        n_resamples=judge.n_resamples,
        calibration=type(judge).__name__.removesuffix("Judge").lower(),
        engine=evidence.engine,
        kernel=kernels[chosen],
        kernels=kernels,
        tilt=evidence.problems[0].stein.tilt,
        _evidence=evidence,
        _radius=radius,
    )
