"""The evidence of the two-sample tests."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.calibration.base import Null
from steinball.evidence.base import Evidence
from steinball.radius.base import Radius


@dataclass(frozen=True, eq=False)
class MMDEvidence(Evidence):
    """D² of two samples and its null distribution; θ is ``shift`` times the tolerated share."""

    squared_mmd: float
    null: Null
    shift: float

    @property
    def n_resamples(self) -> int:  # type: ignore[override]
        """Number of random splits; 0 for a bound."""
        return 0 if self.null.draws is None else self.null.draws.size

    def distance(self) -> float:
        """D."""
        return math.sqrt(self.squared_mmd)

    def decide(self, tolerated: Radius, level: float) -> dict[str, Any]:
        """The numbers of one tolerated share and level."""
        mmd, radius = self.distance(), float(self.limits(tolerated, np.array([tolerated.contamination or 0.0]))[0])
        threshold = self.null.threshold(level, radius)
        return {
            "statistic": max(0.0, mmd - radius),
            "pvalue": self.null.pvalue(mmd, radius),
            "threshold": threshold,
            "level": level,
            "contamination": tolerated.contamination,
            "contamination_bound": min(1.0, max(0.0, mmd - threshold) / self.shift),
            "radius": radius,
            "_tolerated": tolerated,
        }

    def pvalues(self, tolerated: Radius, amounts: Floats) -> list[float]:
        """The p-value at each share."""
        return [self.null.pvalue(self.distance(), radius) for radius in self.limits(tolerated, amounts).tolist()]

    def limits(self, tolerated: Radius, amounts: Floats) -> Floats:
        """θ at each share."""
        return np.asarray(amounts * self.shift)
