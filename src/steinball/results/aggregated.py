"""The results of tests over several kernels at once: KSDAgg, and the robust aggregated test."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from steinball.arrays import Floats
from steinball.evidence.kernels import AggregationEvidence, KernelsEvidence, RobustAggregationEvidence
from steinball.kernels.base import Kernel
from steinball.results.base import Result
from steinball.results.gof import SupremumResult
from steinball.text import Row, count, describe, measured, number
from steinball.tilts import Tilt


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class KernelsResult(Result):
    """What the results of tests over several kernels share."""

    ksd: float
    radius: float
    engine: str
    kernel: Kernel
    kernels: tuple[Kernel, ...]
    tilt: Tilt | None
    _evidence: KernelsEvidence

    @abstractmethod
    def _by_kernel(self) -> tuple[Floats, float, str]:
        """How strongly each kernel speaks against the model, what rejects, and what is measured."""

    def _kernel_rows(self) -> list[Row]:
        return [
            ("data", self._points()),
            ("kernels", f"{len(self.kernels)}; the most extreme one is {describe(self.kernel)}"),
            ("tilt", describe(self.tilt)),
        ]

    def _measured(self) -> str:
        return f"{measured('KSD', self.ksd, self.radius)}, leading of {count(len(self.kernels), 'kernel')}"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AggregatedResult(KernelsResult):
    """The result of :func:`steinball.ksdagg_test`: :class:`~steinball.results.base.Result`, and more.

    Attributes
    ----------
    pvalue : float
        The smallest level at which the test rejects.
    statistic, threshold : float
        The largest of ``squared_ksds - thresholds``, and 0: some kernel must exceed its own threshold.
    ksd, squared_ksd, kernel
        D, D² (U-statistic; D is 0 where D² is negative) and the kernel that is most extreme in its own bootstrap.
    squared_ksds, thresholds, pvalues : tuple of float
        Of every kernel: D², what it must exceed, and the p-value of the test with this kernel alone.
    correction : float
        û. Each kernel is tested at level û / (number of kernels); û = level is Bonferroni's correction.
    radius : float
        0: nothing is tolerated.
    n_resamples, n_resamples_level, n_bisections : int
        B₁, B₂ and B₃.
    kernels, tilt, engine
        How it was computed.
    """

    squared_ksd: float
    correction: float
    squared_ksds: tuple[float, ...]
    thresholds: tuple[float, ...]
    pvalues: tuple[float, ...]
    n_resamples_level: int
    n_bisections: int
    _evidence: AggregationEvidence

    schema: ClassVar[str] = "steinball.ksdagg/2"
    title = "KSDAgg, an aggregated kernel Stein test"
    _in_repr: ClassVar[tuple[str, ...]] = ("correction",)

    def _by_kernel(self) -> tuple[Floats, float, str]:
        allowed = self.correction / len(self.kernels)
        threshold = math.inf if allowed <= 0.0 else -math.log10(allowed)
        return -np.log10(self.pvalues), threshold, "−log₁₀ p-value of the length scale alone"

    def rows(self) -> list[Row]:
        """The table of the summary."""
        single = number(self.correction / len(self.kernels))
        return [
            *self._kernel_rows(),
            ("D²", number(self.squared_ksd), "squared KSD under that kernel (U-statistic)"),
            ("û", number(self.correction), f"correction: each kernel is tested at level {single}"),
            ("statistic", number(self.statistic), f"largest excess of a D² over its threshold; {self._rule()}"),
            ("p-value", number(self.pvalue), self._calibrated()),
        ]

    def _calibrated(self) -> str:
        return f"wild bootstrap, {count(self.n_resamples)} + {count(self.n_resamples_level)} draws"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RobustAggregatedResult(SupremumResult, KernelsResult):
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
    bounded : {"proved", "apparent", "unknown", "unbounded"}
        As in :class:`steinball.GofResult`; that of the kernel of which least is known.
    details : dict
        How many points lay outside the support of the model, and how many on its edge.
    """

    ksds: tuple[float, ...]
    radii: tuple[float, ...]
    taus: tuple[float, ...]
    ratios: tuple[float, ...]
    details: dict[str, Any] = field(default_factory=dict)
    _evidence: RobustAggregationEvidence

    schema: ClassVar[str] = "steinball.robust-ksdagg/2"
    title = "Robust aggregated kernel Stein test, over length scales"
    _in_repr: ClassVar[tuple[str, ...]] = ("ksd", "radius")

    def _by_kernel(self) -> tuple[Floats, float, str]:
        label = "(D − θ)/q" if self.n_resamples else "logarithm of the largest wealth"
        return np.array(self.ratios), self.threshold, label

    def rows(self) -> list[Row]:
        """The table of the summary."""
        excess = "largest (D − θ)/q over the kernels" if self.n_resamples else "logarithm of the largest wealth"
        return [
            *self._kernel_rows(),
            ("D", number(self.ksd), "distance of the data from the model under that kernel (KSD, V-statistic)"),
            ("θ", number(self.radius), self._tolerance()),
            ("statistic", number(self.statistic), f"{excess}; {self._rule()}"),
            ("p-value", number(self.pvalue), self._calibrated()),
        ]

    def _tolerance(self) -> str:
        return f"tolerated: {self._tolerated!r}" if self.contamination is None else super()._tolerance()

    def _tolerance_words(self) -> str:
        return f"within {self._tolerated!r}" if self.contamination is None else super()._tolerance_words()
