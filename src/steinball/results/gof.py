"""The decision of a test, and what it would have been."""

from __future__ import annotations

import dataclasses
import html
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from steinball.arrays import Array, check_level, check_resamples
from steinball.calibration.base import Calibration
from steinball.features import Supremum, tilt_efficiency
from steinball.gram.base import GramSummary
from steinball.kernels.base import Kernel
from steinball.radius import Huber, Radius, as_radius
from steinball.results.decision import Evidence, Verdict
from steinball.results.equivalence import Credibility, credibility, three_way_verdict, two_sided_interval
from steinball.tilts import Tilt

if TYPE_CHECKING:
    from steinball.explain import Fragility, Removal

__all__ = ["GofResult", "decide"]

SCHEMA = "steinball.gof/1"


@dataclass(frozen=True, eq=False, repr=False)
class GofResult:
    """The result of a kernel Stein goodness-of-fit test.

    Attributes
    ----------
    rejected : bool
        Whether the data are further from the model than the radius allows, at ``level``. For V-statistics
        ``rejected`` ⇔ ``pvalue <= level`` ⇔ ``statistic > threshold``.
    pvalue : float
        Of the hypothesis that the data come from within ``radius`` of the model.
    statistic : float
        Δ_θ = max(0, D − θ).
    threshold : float
        What ``statistic`` must exceed; on the same scale.
    ksd, squared_ksd : float
        D and D². With U-statistics D² may be negative; D is then 0.
    radius : float
        θ, on the scale of D.
    contamination : float or None
        The tolerated share of contamination, where the radius came from one.
    verdict : {"misfit", "good enough", "undecided"}
        ``"misfit"`` where rejected; ``"good enough"`` where ``upper_bound <= radius``: the data show, at confidence
        1 − ``level``, that they come from within the ball; ``"undecided"`` otherwise.
    lower_bound, upper_bound : float
        One-sided confidence bounds for the KSD of the distribution behind the data, each at 1 − ``level``.
    contamination_bound : float
        ε_L = ``lower_bound`` / √τ, the smallest contamination that the data force one to concede: at confidence
        1 − ``level``, at least this share *of these points* is contaminated when τ is the maximum over the sample; also
        of the distribution they come from when τ is an upper bound of u(x, x). There is no upper bound on the share
        from any statistic: contamination may look like the model.
    tau, tau_kind : float, str
        The supremum of u(x, x) used, and how it was obtained.
    level : float
        The level α of the decision.
    n, dimension : int
        Size of the data.
    estimator, calibration, n_resamples, engine
        How it was computed.
    grade : {"exact", "certified", "approximate"}
        Whether the pairs were summed exactly; or approximately, but so that every value within the stated error bounds
        leads to the same decision; or only approximately.
    details : dict
        What the engine says of its work: its rank, bounds on D and on the p-value.
    kernel, tilt
        The base kernel and the tilt used, defaults resolved.

    Notes
    -----
    A test that is not rejected has not shown that the model fits: only that these data do not force the conclusion that
    they come from further away than ``radius``.
    """

    statistic: float
    pvalue: float
    rejected: bool
    threshold: float
    ksd: float
    squared_ksd: float
    radius: float
    contamination: float | None
    verdict: str
    lower_bound: float
    upper_bound: float
    contamination_bound: float
    tau: float
    tau_kind: str
    level: float
    n: int
    dimension: int
    estimator: str
    calibration: str
    n_resamples: int
    engine: str
    grade: str
    details: dict[str, Any]
    kernel: Kernel
    tilt: Tilt | None
    _evidence: Evidence
    _radius: Radius

    @property
    def efficiency(self) -> float:
        """E u(X, X) / τ under the model (over the data where it has no sampler): how much of a point's largest possible
        weight an ordinary point has. Near 0, the radius is set by places that neither model nor data visit."""
        return tilt_efficiency(self._evidence.problem, self.tau)

    @property
    def contributions(self) -> Array:
        """What each point adds to D²: shape (n,), summing to ``squared_ksd``, in the library of the samples."""
        summary, n = self._evidence.summary, self.n
        if self.estimator == "v":
            return summary.row_means / n
        return (n * summary.row_means - summary.diagonal) / (n * (n - 1))

    @property
    def draws(self) -> np.ndarray[Any, np.dtype[np.float64]] | None:
        """The bootstrap draws of D, or ``None`` for a bound."""
        draws = self._evidence.null.draws
        return None if draws is None else np.array(draws)

    def interval(self, level: float | None = None) -> tuple[float, float]:
        """A two-sided interval for the KSD of the distribution behind the data, at confidence 1 − ``level``.

        Examples
        --------
        >>> import steinball as sb
        >>> x = np.random.default_rng(0).normal(size=300)
        >>> low, high = sb.robust_ksd_test(x, sb.models.Gaussian(0.5), rng=0).interval()
        >>> 0.0 < low < high
        True
        """
        return two_sided_interval(self._evidence.null, self.ksd, self.level if level is None else check_level(level, 0))

    def credibility(self) -> Credibility:
        """Up to which sample size the model could not have been told from the truth (Lindsay and Liu 2009).

        Examples
        --------
        >>> import steinball as sb
        >>> x = np.random.default_rng(0).normal(size=300)
        >>> 10 < sb.ksd_test(x, sb.models.Gaussian(0.5), rng=0).credibility().size < 40
        True
        """
        evidence = self._evidence
        return credibility(evidence.null, evidence.summary, self.interval(), self.level, self.radius)

    def fragility(self) -> Fragility:
        """How many points an adversary would have to change to turn the decision: :func:`steinball.explain.fragility`.

        Needs τ to be an upper bound: ``tau="auto"``.
        """
        from steinball.explain import fragility

        return fragility(self)

    def least_removal(self) -> Removal:
        """The least data to remove for the test no longer to reject: :func:`steinball.explain.least_removal`."""
        from steinball.explain import least_removal

        return least_removal(self)

    def at(
        self,
        *,
        contamination: float | None = None,
        radius: float | Radius | None = None,
        level: float | None = None,
        calibration: Calibration | None = None,
    ) -> GofResult:
        """The decision at another tolerance or level, from the same draws: nothing is recomputed.

        ``calibration`` may be one that reads the same draws (:class:`WeightedBootstrap` and
        :class:`BoundaryBootstrap`), or one that needs none (:class:`DeviationBound`).

        Examples
        --------
        >>> import steinball as sb
        >>> x = np.random.default_rng(0).normal(size=200)
        >>> x[:40] = 10.0
        >>> result = sb.robust_ksd_test(x, sb.models.Gaussian(), contamination=0.0, rng=0)
        >>> result.rejected, result.at(contamination=0.2).rejected
        (True, False)
        """
        if contamination is not None and radius is not None:
            raise ValueError("give `contamination` or `radius`, not both: each of them sets the radius.")
        evidence = self._evidence if calibration is None else self._evidence.recalibrated(calibration)
        level = check_level(self.level if level is None else level, evidence.calibration.n_resamples)
        if contamination is not None or radius is not None:
            tolerated = as_radius(Huber(contamination) if contamination is not None else radius)
            return decide(evidence, tolerated, level, evidence.radius_of(tolerated))
        theta = self.radius if calibration is None else evidence.radius_of(self._radius, known=self.radius)
        return decide(evidence, self._radius, level, theta)

    def extend(self, n_more: int) -> GofResult:
        """The same test with ``n_more`` further bootstrap draws; the earlier ones are kept.

        Examples
        --------
        >>> import steinball as sb
        >>> x = np.random.default_rng(0).normal(size=50)
        >>> sb.ksd_test(x, sb.models.Gaussian(), rng=0).extend(1000).n_resamples
        1999
        """
        evidence = self._evidence.extended(check_resamples(n_more, "n_more"))
        return decide(evidence, self._radius, self.level, self.radius)

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary for JSON, with a versioned schema (``"schema": "steinball.gof/1"``).

        An infinite threshold or bound is ``None``.
        """
        skip = {"kernel", "tilt", "_evidence", "_radius"}
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in skip}
        for name in ("threshold", "upper_bound"):
            fields[name] = None if math.isinf(fields[name]) else fields[name]
        described = {"kernel": repr(self.kernel), "tilt": None if self.tilt is None else repr(self.tilt)}
        return {"schema": SCHEMA, **fields, **described}

    def summary(self) -> str:
        """The result in words, for people."""
        from steinball.report.text import render_summary

        return render_summary(self)

    def __repr__(self) -> str:
        return (
            f"GofResult(rejected={self.rejected}, pvalue={self.pvalue:.4g}, statistic={self.statistic:.4g}, "
            f"threshold={self.threshold:.4g}, ksd={self.ksd:.4g}, radius={self.radius:.4g})"
        )

    def _repr_html_(self) -> str:
        verdict = "rejected" if self.rejected else "not rejected"
        return f"<div><strong>{verdict}</strong><pre>{html.escape(self.summary())}</pre></div>"


def decide(evidence: Evidence, radius: Radius, level: float, theta: float) -> GofResult:
    """The decision that the evidence gives for one radius, θ in numbers, and one level."""
    question = evidence.question(theta, level)
    verdict, ends = question.answer(evidence.summary, evidence.null), question.ends(evidence.summary)
    n, dimension = (int(size) for size in evidence.problem.samples.shape)
    bounds = _bounds(verdict, ends)
    return GofResult(
        **{**dataclasses.asdict(verdict), **bounds},
        radius=theta,
        contamination=radius.contamination,
        verdict=three_way_verdict(verdict.rejected, bounds["upper_bound"], theta),
        contamination_bound=_conceded(bounds["lower_bound"], evidence.tau),
        tau=evidence.tau.value,
        tau_kind=evidence.tau.kind,
        level=level,
        n=n,
        dimension=dimension,
        estimator=evidence.estimator,
        calibration=type(evidence.calibration).__name__,
        n_resamples=evidence.calibration.n_resamples,
        engine=evidence.summary.engine,
        grade=question.grade(evidence.summary),
        details=_details(evidence.summary, ends),
        kernel=evidence.problem.stein.kernel,
        tilt=evidence.problem.stein.tilt,
        _evidence=evidence,
        _radius=radius,
    )


def _bounds(verdict: Verdict, ends: tuple[Verdict, Verdict] | None) -> dict[str, float]:
    """The bounds on the KSD; where the summary is approximate, whatever holds at both of its ends."""
    verdicts = (verdict,) if ends is None else ends
    low, high = min(v.lower_bound for v in verdicts), max(v.upper_bound for v in verdicts)
    return {"lower_bound": low, "upper_bound": high}


def _conceded(lower_bound: float, tau: Supremum) -> float:
    """The share that a misfit of that size takes at least, within [0, 1]."""
    return 0.0 if tau.value <= 0.0 else min(1.0, lower_bound / math.sqrt(tau.value))


def _details(summary: GramSummary, ends: tuple[Verdict, Verdict] | None) -> dict[str, Any]:
    """How the engine worked, and between which values the exact KSD and p-value lie."""
    details = dict(summary.details)
    if ends is not None:
        details["ksd_bounds"] = (ends[1].ksd, ends[0].ksd)
        details["pvalue_bounds"] = (ends[0].pvalue, ends[1].pvalue)
    return details
