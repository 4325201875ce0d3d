"""Several tests of one question: the smallest p-value times their number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.comparison import holm
from steinball.evidence.base import CLOSE, Evidence, PairSums, surprise
from steinball.radius.base import Radius


@dataclass(frozen=True, eq=False)
class JointEvidence(Evidence):
    """Several tests by name that share the level; p is the smallest p-value times their number."""

    parts: dict[str, Any]

    @property
    def n_resamples(self) -> int:  # type: ignore[override]
        """The draws of the test that can reach the smallest level."""
        found = [part.n_resamples for part in self.parts.values()]
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
            "contamination_bound": max(part.share_bound(tolerated, each) for part in self.parts.values()),
            "n_resamples": self.n_resamples,
        }

    def pvalue(self, tolerated: Radius) -> float:
        """The smallest p-value times the number of tests."""
        return float(self.pvalues(tolerated, np.array([tolerated.amount or 0.0]))[0])

    def pvalues(self, tolerated: Radius, amounts: Floats) -> Floats:
        """The same at each amount."""
        found = np.array([part.pvalues(tolerated, amounts) for part in self.parts.values()])
        return np.asarray(np.minimum(1.0, len(found) * found.min(axis=0)))

    def check(self, tolerated: Radius) -> None:
        """Refuse what one of the tests refuses."""
        for part in self.parts.values():
            part.check(tolerated)

    def sliding(self, tolerated: Radius) -> Radius | None:
        """The same kind of set; ``None`` for a family, which each tolerance fits anew."""
        return None if any(part.sliding(tolerated) is None for part in self.parts.values()) else tolerated


class CheckEvidence(JointEvidence):
    """``"regions"`` where the model can be drawn from, ``"distance"`` where there is a score; at least one of them."""

    @property
    def leading(self) -> Evidence:
        """What says how far the model is from the data: the regions, for probabilities say more than scores."""
        first: Evidence = next(iter(self.parts.values()))
        return first

    @property
    def close(self) -> str:  # type: ignore[override]
        """The best that can be said."""
        return self.leading.close

    def numbers(self, tolerated: Radius, level: float) -> dict[str, Any]:
        """The numbers of one tolerated set and level."""
        found = self.leading.decide(tolerated, level)
        return super().numbers(tolerated, level) | {
            "calibration": found["calibration"] if len(self.parts) == 1 else "Bonferroni",
            "difference_interval": found.get("difference_interval", (0.0, math.inf)),
            "rows_needed": found.get("rows_needed", math.inf),
        }

    def limit(self, tolerated: Radius) -> float:
        """What a set allows: a difference of shares, or θ where only scores were compared."""
        return self.leading.limit(tolerated)

    def pair_sums(self, tolerated: Radius, level: float) -> tuple[PairSums, ...]:
        """What explanations are made from, where only scores were compared."""
        return self.leading.pair_sums(tolerated, level)

    def upper_bound(self, level: float) -> float:
        """No region's shares differ by more; where only scores were compared, the KSD is no larger."""
        return self.leading.upper_bound(level)


class ColumnsEvidence(JointEvidence):
    """One check a column; by Holm's procedure the smallest p-value counts as many times as there are columns."""

    def numbers(self, tolerated: Radius, level: float) -> dict[str, Any]:
        """The numbers of one tolerated set and level; bounds hold for all columns together."""
        found = [part.decide(tolerated, level / len(self.parts)) for part in self.parts.values()]
        ends = zip(*(fields["difference_interval"] for fields in found), strict=True)
        own = {"calibration": "Holm", "difference_interval": tuple(max(end) for end in ends)}
        own["rows_needed"] = max(fields["rows_needed"] for fields in found)
        return super().numbers(tolerated, level) | own

    def upper_bound(self, level: float) -> float:
        """No region's shares differ by more in any column; infinite where some column has a score alone."""
        parts = self.parts.values()
        if any(part.close == CLOSE for part in parts):
            return math.inf
        return float(max(part.upper_bound(level / len(parts)) for part in parts))

    def adjusted(self, tolerated: Radius) -> dict[str, float]:
        """Holm's adjusted p-value of each column."""
        found = np.array([part.pvalue(tolerated) for part in self.parts.values()])
        return dict(zip(self.parts, holm(found, 0.5)[0].tolist(), strict=True))

    def verdicts(self, tolerated: Radius, level: float) -> dict[str, str]:
        """The verdict of each column: *misfit* by Holm's procedure, the others each at its part of the level."""
        adjusted, each = self.adjusted(tolerated), level / len(self.parts)
        return {name: part.verdict(adjusted[name] <= level, tolerated, each) for name, part in self.parts.items()}
