"""Several tests of one question: the smallest p-value times their number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.evidence.base import CLOSE, GOOD_ENOUGH, Evidence
from steinball.evidence.ksd import KSDEvidence
from steinball.evidence.regions import RegionEvidence
from steinball.radius.base import Radius

_HAIR = 1e-12


@dataclass(frozen=True, eq=False)
class CheckEvidence(Evidence):
    """Regions where the model can be drawn from, the KSD where there is a score; at least one of them."""

    regions: RegionEvidence | None
    ksd: KSDEvidence | None

    @property
    def parts(self) -> list[Evidence]:
        """The tests that were made."""
        return [part for part in (self.regions, self.ksd) if part is not None]

    @property
    def close(self) -> str:  # type: ignore[override]
        """The best that can be said: probabilities say more than scores."""
        return CLOSE if self.regions is None else GOOD_ENOUGH

    @property
    def n_resamples(self) -> int:  # type: ignore[override]
        """The draws of the test that can reach the smallest level."""
        found = [part.n_resamples for part in self.parts]
        return 0 if 0 in found else max(found) // len(found)

    def decide(self, tolerated: Radius, level: float) -> dict[str, Any]:
        """The numbers of one tolerated set and level."""
        share, pvalue = float(tolerated.amount or 0.0), self.pvalue(tolerated)
        limit = -math.log(level)
        fields = {
            "statistic": abs(math.log(max(pvalue, 1e-300))),
            "threshold": limit - _HAIR * (1.0 + abs(limit)),
            "pvalue": pvalue,
            "level": level,
            "contamination": tolerated.contamination,
            "tolerance": share if tolerated.contamination is None else None,
            "contamination_bound": self._share_bound(tolerated, level / len(self.parts)),
            "calibration": "Bonferroni"
            if len(self.parts) > 1
            else self.parts[0].decide(tolerated, level)["calibration"],
            "difference_interval": (0.0, math.inf),
            "rows_needed": math.inf,
            "_tolerated": tolerated,
        }
        if self.regions is not None:
            low, high = self.regions.bound("tolerance", level), self.regions.upper_bound(level)
            fields |= {"difference_interval": (low, high), "rows_needed": self.regions.needed(share, level)}
        return fields

    def _share_bound(self, tolerated: Radius, level: float) -> float:
        """The larger of the bounds of both tests, each at its part of the level."""
        found = 0.0 if self.regions is None else self.regions.bound("contamination", level)
        if self.ksd is None:
            return found
        return max(found, float(self.ksd.decide(tolerated, level)["contamination_bound"]))

    def pvalue(self, tolerated: Radius) -> float:
        """The smallest p-value times the number of tests."""
        return float(self.pvalues(tolerated, np.array([tolerated.amount or 0.0]))[0])

    def pvalues(self, tolerated: Radius, amounts: Floats) -> Floats:
        """The same at each amount."""
        found = np.array([part.pvalues(tolerated, amounts) for part in self.parts])
        return np.asarray(np.minimum(1.0, len(found) * found.min(axis=0)))

    def limits(self, tolerated: Radius, amounts: Floats) -> Floats:
        """What each amount allows: a difference of shares, or θ where only scores were compared."""
        if self.regions is not None or self.ksd is None:
            return super().limits(tolerated, amounts)
        return self.ksd.limits(tolerated, amounts)

    def upper_bound(self, level: float) -> float:
        """No region's shares differ by more; where only scores were compared, the KSD is no larger."""
        part = self.ksd if self.regions is None else self.regions
        return math.inf if part is None else part.upper_bound(level)

    def check(self, tolerated: Radius) -> None:
        """Refuse what one of the tests refuses."""
        for part in self.parts:
            part.check(tolerated)

    def sliding(self, tolerated: Radius) -> Radius | None:
        """The same kind of set; ``None`` for a family, which each tolerance fits anew."""
        return None if any(part.sliding(tolerated) is None for part in self.parts) else tolerated
