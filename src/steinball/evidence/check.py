"""Several tests of one question: the smallest p-value times their number."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.comparison import holm
from steinball.evidence.base import CLOSE, GOOD_ENOUGH, Evidence, surprise
from steinball.evidence.ksd import KSDEvidence
from steinball.evidence.regions import RegionEvidence
from steinball.radius.base import Radius


class JointEvidence(Evidence):
    """Several tests that share the level; p is the smallest p-value times their number."""

    @property
    @abstractmethod
    def parts(self) -> list[Any]:
        """The evidence of each test."""

    @property
    def n_resamples(self) -> int:  # type: ignore[override]
        """The draws of the test that can reach the smallest level."""
        found = [part.n_resamples for part in self.parts]
        return 0 if 0 in found else max(found) // len(found)

    def numbers(self, tolerated: Radius, level: float) -> dict[str, Any]:
        """The numbers of one tolerated set and level."""
        pvalue, each = self.pvalue(tolerated), level / len(self.parts)
        statistic, threshold = surprise(pvalue, level)
        return {
            "statistic": statistic,
            "threshold": threshold,
            "pvalue": pvalue,
            "tolerance": tolerated.amount if tolerated.contamination is None else None,
            "contamination_bound": max(self._share_bound(part, tolerated, each) for part in self.parts),
            "difference_interval": (0.0, math.inf),
            "rows_needed": math.inf,
        }

    def _share_bound(self, part: Evidence, tolerated: Radius, level: float) -> float:
        """The share of contamination that one test proves."""
        return float(part.decide(tolerated, level)["contamination_bound"])

    def pvalue(self, tolerated: Radius) -> float:
        """The smallest p-value times the number of tests."""
        return float(self.pvalues(tolerated, np.array([tolerated.amount or 0.0]))[0])

    def pvalues(self, tolerated: Radius, amounts: Floats) -> Floats:
        """The same at each amount."""
        found = np.array([part.pvalues(tolerated, amounts) for part in self.parts])
        return np.asarray(np.minimum(1.0, len(found) * found.min(axis=0)))

    def check(self, tolerated: Radius) -> None:
        """Refuse what one of the tests refuses."""
        for part in self.parts:
            part.check(tolerated)

    def sliding(self, tolerated: Radius) -> Radius | None:
        """The same kind of set; ``None`` for a family, which each tolerance fits anew."""
        return None if any(part.sliding(tolerated) is None for part in self.parts) else tolerated


@dataclass(frozen=True, eq=False)
class CheckEvidence(JointEvidence):
    """Regions where the model can be drawn from, the KSD where there is a score; at least one of them."""

    regions: RegionEvidence | None
    ksd: KSDEvidence | None

    @property
    def parts(self) -> list[Any]:
        """The tests that were made."""
        return [part for part in (self.regions, self.ksd) if part is not None]

    @property
    def close(self) -> str:  # type: ignore[override]
        """The best that can be said: probabilities say more than scores."""
        return CLOSE if self.regions is None else GOOD_ENOUGH

    def numbers(self, tolerated: Radius, level: float) -> dict[str, Any]:
        """The numbers of one tolerated set and level."""
        alone = self.parts[0].decide(tolerated, level)["calibration"] if len(self.parts) == 1 else ""
        fields = super().numbers(tolerated, level) | {"calibration": alone or "Bonferroni"}
        if self.regions is not None:
            low, high = self.regions.bound("tolerance", level), self.regions.upper_bound(level)
            fields["difference_interval"] = (low, high)
            fields["rows_needed"] = self.regions.needed(float(tolerated.amount or 0.0), level)
        return fields

    def _share_bound(self, part: Evidence, tolerated: Radius, level: float) -> float:
        if part is self.regions:
            return self.regions.bound("contamination", level)
        return super()._share_bound(part, tolerated, level)

    def limits(self, tolerated: Radius, amounts: Floats) -> Floats:
        """What each amount allows: a difference of shares, or θ where only scores were compared."""
        if self.regions is not None or self.ksd is None:
            return super().limits(tolerated, amounts)
        return self.ksd.limits(tolerated, amounts)

    def upper_bound(self, level: float) -> float:
        """No region's shares differ by more; where only scores were compared, the KSD is no larger."""
        part = self.ksd if self.regions is None else self.regions
        return math.inf if part is None else part.upper_bound(level)


@dataclass(frozen=True, eq=False)
class ColumnsEvidence(JointEvidence):
    """One check a column; by Holm's procedure the smallest p-value counts as many times as there are columns."""

    columns: dict[str, CheckEvidence]

    @property
    def parts(self) -> list[Any]:
        """The checks of all columns."""
        return list(self.columns.values())

    def numbers(self, tolerated: Radius, level: float) -> dict[str, Any]:
        """The numbers of one tolerated set and level; bounds hold for all columns together."""
        found = [part.decide(tolerated, level / len(self.parts)) for part in self.parts]
        ends = zip(*(fields["difference_interval"] for fields in found), strict=True)
        own = {"calibration": "Holm", "difference_interval": tuple(max(end) for end in ends)}
        own["rows_needed"] = max(fields["rows_needed"] for fields in found)
        return super().numbers(tolerated, level) | own

    def upper_bound(self, level: float) -> float:
        """No region's shares differ by more in any column; infinite where some column has a score alone."""
        parts = self.parts
        if any(part.close == CLOSE for part in parts):
            return math.inf
        return float(max(part.upper_bound(level / len(parts)) for part in parts))

    def adjusted(self, tolerated: Radius) -> dict[str, float]:
        """Holm's adjusted p-value of each column."""
        found = np.array([part.pvalue(tolerated) for part in self.parts])
        return dict(zip(self.columns, holm(found, 0.5)[0].tolist(), strict=True))

    def verdicts(self, tolerated: Radius, level: float) -> dict[str, str]:
        """The verdict of each column: *misfit* by Holm's procedure, the others each at its part of the level."""
        share, each = np.array([float(tolerated.amount or 0.0)]), level / len(self.parts)
        return {
            name: "misfit" if pvalue <= level else self.columns[name].curve(tolerated, share, each).verdicts[0]
            for name, pvalue in self.adjusted(tolerated).items()
        }
