"""The result of the two-sample tests, and the evidence from which it follows for every tolerance and level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from steinball.arrays import Floats, check_level, check_share
from steinball.calibration.base import Null
from steinball.kernels.base import Kernel
from steinball.record import continues
from steinball.results.base import OF_DISTRIBUTION, OF_POINTS, Result, measured
from steinball.results.dial import Dial
from steinball.text import Row, count, describe, number


@dataclass(frozen=True, eq=False)
class MMDEvidence:
    """All that a decision follows from, for every tolerance and level; θ is ``shift`` times the tolerance."""

    test: str
    kernel: Kernel
    n: int
    m: int
    dimension: int
    squared_mmd: float
    null: Null
    shift: float

    def decide(self, contamination: float, level: float) -> MMDResult:
        """The decision that the evidence gives for one tolerance at one level."""
        mmd, radius = math.sqrt(self.squared_mmd), contamination * self.shift
        threshold, draws = self.null.threshold(level, radius), self.null.draws
        return MMDResult(
            statistic=max(0.0, mmd - radius),
            pvalue=self.null.pvalue(mmd, radius),
            threshold=threshold,
            level=level,
            contamination=contamination,
            contamination_bound=min(1.0, max(0.0, mmd - threshold) / self.shift),
            n=self.n,
            dimension=self.dimension,
            calibration="DeviationBound" if draws is None else "RandomSplits",
            n_resamples=0 if draws is None else draws.size,
            test=self.test,
            mmd=mmd,
            squared_mmd=self.squared_mmd,
            radius=radius,
            m=self.m,
            kernel=self.kernel,
            _evidence=self,
        )


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

    contamination: float
    test: str
    mmd: float
    squared_mmd: float
    radius: float
    m: int
    kernel: Kernel
    _evidence: MMDEvidence

    schema: ClassVar[str] = "steinball.mmd/2"
    _shown: ClassVar[tuple[str, ...]] = ("test", "mmd", "radius")

    @property
    def draws(self) -> Floats | None:
        """D of the random splits, or ``None`` for MMD-Dev."""
        draws = self._evidence.null.draws
        return None if draws is None else draws.copy()

    @continues
    def at(self, *, contamination: float | None = None, level: float | None = None) -> MMDResult:
        """The decision at another tolerance or level, from the same draws: nothing is recomputed.

        Examples
        --------
        >>> import numpy as np, steinball as sb
        >>> x = np.random.default_rng(0).normal(size=100)
        >>> x[:40] = 5.0
        >>> result = sb.dcmmd_test(x, sb.models.Gaussian(), contamination=0.0, rng=0)
        >>> result.rejected, result.at(contamination=0.4).rejected
        (True, False)
        """
        share = self.contamination if contamination is None else check_share(contamination, "contamination")
        level = self.level if level is None else check_level(level, self.n_resamples)
        return self._evidence.decide(share, level)

    def _tolerating(self, contamination: float) -> MMDResult:
        return self.at(contamination=contamination)

    @property
    def pictures(self) -> tuple[str, ...]:
        """What :meth:`plot` can show."""
        return ("overview", "tolerance") if self._evidence.null.draws is None else ("overview", "tolerance", "draws")

    def _dial(self) -> Dial:
        evidence = self._evidence
        return Dial(
            unit="share",
            own=self.contamination,
            decide=lambda share: evidence.decide(share, self.level),
            distance=self.mmd,
            scale=evidence.shift,
            numbers=evidence.null.numbers(),
        )

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
