"""The result of the two-sample tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from steinball.arrays import Floats
from steinball.evidence.mmd import MMDEvidence
from steinball.kernels.base import Kernel
from steinball.results.base import OF_DISTRIBUTION, OF_POINTS, Result, measured
from steinball.text import Row, count, describe, number


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
    _shown: ClassVar[tuple[str, ...]] = ("test", "mmd", "radius")

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
