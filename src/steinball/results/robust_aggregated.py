"""The result of the robust aggregated test, and the evidence from which it follows for every tolerance and level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from steinball.arrays import Floats, check_level
from steinball.calibration.base import Calibration, JointNull
from steinball.calibration.combination import check_isolated, check_over_kernels, radius_of
from steinball.features import Supremum
from steinball.features.unbounded import boundedness
from steinball.gram.base import GramSummary
from steinball.kernels.base import Kernel, unit_kernel
from steinball.radius import Huber, Radius
from steinball.radius.base import as_radius
from steinball.record import continues, current_record
from steinball.results.base import Result, measured, unbounded_words, unseen, whose
from steinball.results.dial import Dial, Scales
from steinball.results.pairs import NO_ROWS, PairSums, host_sums
from steinball.stein import SteinProblem
from steinball.text import Row, count, describe, number
from steinball.tilts import Tilt

_SHARES = 200


def radii_of(
    radius: Radius, calibration: Calibration, problems: Sequence[SteinProblem], taus: Sequence[Supremum]
) -> Floats:
    """θ of every kernel."""
    pairs = zip(problems, taus, strict=True)
    return np.array([radius_of(radius, calibration, problem, tau) for problem, tau in pairs])


@dataclass(frozen=True, eq=False)
class RobustAggregationEvidence:
    """All that a decision follows from, for every tolerated set and level: a problem, a τ and a D per kernel, and the
    null distribution over all of them."""

    problems: tuple[SteinProblem, ...]
    taus: tuple[Supremum, ...]
    ksds: Floats
    calibration: Calibration
    null: JointNull
    engine: str
    n: int
    sums: tuple[tuple[Floats, Floats], ...]
    isolated: NDArray[np.intp] = field(default_factory=NO_ROWS.copy)
    remarks: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        problems: Sequence[SteinProblem],
        summaries: Sequence[GramSummary],
        taus: Sequence[Supremum],
        calibration: Calibration,
        remarks: Mapping[str, Any] | None = None,
        isolated: NDArray[np.intp] = NO_ROWS,
    ) -> RobustAggregationEvidence:
        """From one summary per kernel, which may know of more points than the problem, excluded by the model."""
        ksds = np.sqrt([max(0.0, summary.mean) for summary in summaries])
        null = calibration.joint(summaries, taus)
        sums = tuple(host_sums(summary) for summary in summaries)
        facts = summaries[0].engine, len(summaries[0]), sums, isolated, remarks or {}
        return cls(tuple(problems), tuple(taus), ksds, calibration, null, *facts)

    @cached_property
    def bounded(self) -> str:
        """What is known of sup u(x, x) < ∞, for the kernel of which least is known."""
        found = {boundedness(problem, tau) for problem, tau in zip(self.problems, self.taus, strict=True)}
        return next(kind for kind in ("unbounded", "apparent", "proved") if kind in found)

    def radii(self, radius: Radius) -> Floats:
        """θ of every kernel, for another tolerated set."""
        check_over_kernels(self.calibration, radius)
        check_isolated(radius, len(self.isolated))
        return radii_of(radius, self.calibration, self.problems, self.taus)

    @property
    def share_radii(self) -> Floats:
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
        shares = np.linspace(0.0, 1.0, 2 if self.null.monotone else _SHARES)
        first = next((k for k, e in enumerate(shares) if self.null.pvalue(e * scale) > level), len(shares) - 1)
        low, high = float(shares[max(0, first - 1)]), float(shares[first])
        for _ in range(20 if first else 0):
            middle = (low + high) / 2.0
            low, high = (low, middle) if self.null.pvalue(middle * scale) > level else (middle, high)
        return low

    def pair_sums(self, radii: Floats, level: float) -> tuple[PairSums, ...]:
        """What explanations are made from, for every kernel."""
        parts = zip(self.problems, self.sums, self.null.critical(radii, level), radii, self.taus, strict=True)
        return tuple(
            PairSums(problem, *sums, float(least), float(theta), tau.value, "v", self.isolated, self.bounded)
            for problem, sums, least, theta, tau in parts
        )

    def decide(self, radius: Radius, level: float, radii: Floats | None = None) -> RobustAggregatedResult:
        """The decision for one tolerated set at one level; ``radii`` are θ of the kernels where they are known."""
        radii = self.radii(radius) if radii is None else radii
        ratios = self.null.ratios(radii)
        chosen = int(np.argmax(ratios))
        kernels = tuple(problem.stein.kernel for problem in self.problems)
        dimension = int(self.problems[0].samples.shape[1])
        return RobustAggregatedResult(
            statistic=self.null.statistic(radii),
            pvalue=self.null.pvalue(radii),
            threshold=self.null.threshold(radii, level),
            level=level,
            contamination=radius.contamination,
            contamination_bound=0.0 if self.bounded == "unbounded" else self.conceded(level),
            n=self.n,
            dimension=dimension,
            calibration=type(self.calibration).__name__,
            n_resamples=self.calibration.n_resamples,
            ksd=float(self.ksds[chosen]),
            radius=float(radii[chosen]),
            ksds=tuple(self.ksds.tolist()),
            radii=tuple(radii.tolist()),
            taus=tuple(tau.value for tau in self.taus),
            ratios=tuple(ratios.tolist()),
            tau_kind=self.taus[0].kind,
            engine=self.engine,
            kernel=kernels[chosen],
            kernels=kernels,
            tilt=self.problems[0].stein.tilt,
            bounded=self.bounded,
            details={**self.remarks, **current_record().columns(dimension)},
            _evidence=self,
            _radius=radius,
        )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RobustAggregatedResult(Result):
    """The result of :func:`steinball.robust_ksdagg_test`: :class:`~steinball.results.base.Result`, and more.

    Attributes
    ----------
    statistic, threshold : float
        T, and what it must exceed; for bets the logarithm of the largest wealth, and of 1/level.
    contamination_bound : float
        The smallest share that is not rejected: at confidence 1 − ``level`` at least this share of these points is
        contaminated (of their distribution, where τ is an upper bound).
    ksd, radius, kernel
        D, θ and kernel of the length scale that speaks most against the model.
    ksds, radii, taus, ratios : tuple of float
        Of every kernel: D, θ, τ, and its (D − θ)/q; for bets the logarithm of its largest wealth.
    tau_kind, engine, kernels, tilt
        How it was computed.
    bounded : {"proved", "apparent", "unbounded"}
        As in :class:`steinball.GofResult`; that of the kernel of which least is known.
    details : dict
        How many points lay outside the support of the model, and how many on its edge.
    """

    ksd: float
    radius: float
    ksds: tuple[float, ...]
    radii: tuple[float, ...]
    taus: tuple[float, ...]
    ratios: tuple[float, ...]
    tau_kind: str
    engine: str
    kernel: Kernel
    kernels: tuple[Kernel, ...]
    tilt: Tilt | None
    bounded: str = "apparent"
    details: dict[str, Any] = field(default_factory=dict)
    _evidence: RobustAggregationEvidence
    _radius: Radius

    schema: ClassVar[str] = "steinball.robust-ksdagg/2"
    title = "Robust aggregated kernel Stein test, over length scales"
    _shown: ClassVar[tuple[str, ...]] = ("ksd", "radius")

    @continues
    def at(
        self, *, contamination: float | None = None, radius: Radius | None = None, level: float | None = None
    ) -> RobustAggregatedResult:
        """The decision at another tolerance or level, from the same draws.

        Examples
        --------
        >>> import steinball as sb
        >>> x = np.random.default_rng(0).normal(size=100)
        >>> result = sb.robust_ksdagg_test(x, sb.models.Gaussian(), 0.05, rng=0)
        >>> result.at(contamination=0.0).pvalue <= result.pvalue
        True
        """
        if contamination is not None and radius is not None:
            raise ValueError("give `contamination` or `radius`, not both: each of them sets the radius.")
        level = check_level(self.level if level is None else level, self.n_resamples)
        if contamination is not None:
            return self._evidence.decide(Huber(contamination), level)
        return self._evidence.decide(self._radius if radius is None else as_radius(radius), level)

    def _sums(self) -> tuple[PairSums, ...]:
        found, leading = self._evidence.pair_sums(np.array(self.radii), self.level), int(np.argmax(self.ratios))
        return found[leading], *found[:leading], *found[leading + 1 :]

    def _tolerating(self, contamination: float) -> RobustAggregatedResult:
        return self.at(contamination=contamination)

    @property
    def pictures(self) -> tuple[str, ...]:
        """What :meth:`plot` can show."""
        witness = ("witness",) if self._evidence.problems[0].evaluable else ()
        return ("overview", "data", "tolerance", "lengthscales", *witness, "contributions", "diagonal")

    def _dial(self) -> Dial:
        evidence = self._evidence
        return Dial(
            unit="share",
            own=self.contamination,
            decide=lambda share: evidence.decide(Huber(share), self.level, share * evidence.share_radii),
            distance=self.ksd,
        )

    def _scales(self) -> Scales:
        label = "(D − θ)/q" if self.n_resamples else "logarithm of the largest wealth"
        lengths = [unit_kernel(kernel)[1] for kernel in self.kernels]
        return Scales(np.array(lengths), np.array(self.ratios), self.threshold, label)

    def rows(self) -> list[Row]:
        """The table of the summary."""
        excess = "largest (D − θ)/q over the kernels" if self.n_resamples else "logarithm of the largest wealth"
        return [
            ("data", self._points()),
            ("kernels", f"{len(self.kernels)}; the most extreme one is {describe(self.kernel)}"),
            ("tilt", describe(self.tilt)),
            ("D", number(self.ksd), "distance of the data from the model under that kernel (KSD, V-statistic)"),
            ("θ", number(self.radius), self._tolerance()),
            ("statistic", number(self.statistic), f"{excess}; {self._rule()}"),
            ("p-value", number(self.pvalue), self._calibrated()),
        ]

    def sentence(self) -> str:
        """The decision in words, and what cannot be said where u(x, x) is not bounded."""
        return f"{super().sentence()}\n{unbounded_words(self.bounded)}".rstrip()

    def _tolerance(self) -> str:
        return f"tolerated: {self._radius!r}" if self.contamination is None else super()._tolerance()

    def _tolerated(self) -> str:
        return f"within {self._radius!r}" if self.contamination is None else super()._tolerated()

    def _unseen(self) -> str:
        return unseen(self, self.bounded)

    def _measured(self) -> str:
        return f"{measured('KSD', self.ksd, self.radius)}, leading of {count(len(self.kernels), 'kernel')}"

    def _certain(self) -> bool:
        return self.bounded == "proved"

    def _whose(self) -> str:
        return whose(self.tau_kind)
