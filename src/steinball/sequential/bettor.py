"""A bettor on a stream: kept points, directions and wealth, moved on together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.sequential.direction import Direction, KeptPoints
from steinball.sequential.plan import Plan, Setting
from steinball.sequential.state_file import collect, compare, fill
from steinball.sequential.wealth import WealthByShare, WealthPath

TOGETHER = 64
"""Points that are taken in at once: they bound the memory of a step."""

_COMPARED = 8


@dataclass(eq=False)
class Bettor:
    """All that changes while a stream is tested. Every payoff is of a direction that was there before its point."""

    setting: Setting
    level: float
    kept: KeptPoints
    wealth: WealthByShare
    directions: list[Direction]
    rng: np.random.Generator
    path: WealthPath = field(default_factory=WealthPath)
    rejected_at: int | None = None

    @classmethod
    def start(cls, plan: Plan, setting: Setting, center: Floats, rng: np.random.Generator) -> Bettor:
        """Wealth 1 and no points."""
        kept = KeptPoints.empty(plan.budget, center)
        wealth = WealthByShare.start(setting.share, len(setting.kernels), plan.strategy)
        return cls(setting, plan.level, kept, wealth, [Direction(stein) for stein in setting.steins], rng)

    @property
    def n(self) -> int:
        """Points so far."""
        return self.kept.seen

    def check(self, samples: Floats, scores: Floats) -> None:
        """Refuse points at which τ is no bound."""
        for direction, tau in zip(self.directions, self.setting.taus, strict=True):
            with np.errstate(over="ignore", invalid="ignore"):  # a NaN is refused as no bound holds for it
                largest = float(direction.stein.diagonal(samples, scores).max(initial=0.0))
            if not largest <= tau * (1.0 + 1e-9):
                raise ValueError(
                    f"`tau={tau:g}` is not an upper bound: u(x, x) reaches {largest:g} in this `batch`. None of it was "
                    "taken in. Start again with a larger bound, or with a tilt that bounds u."
                )

    def advance(self, samples: Floats, scores: Floats, bet: bool = True) -> None:
        """Take in the next points, a few at a time; without a bet they only join the past."""
        start = 0
        while start < len(samples):
            part = slice(start, start + min(TOGETHER, self.kept.room()))
            self._advance(samples[part], scores[part], bet)
            start = part.stop

    def _advance(self, samples: Floats, scores: Floats, bet: bool) -> None:
        """Payoffs of a few points against the past, the wealth with them, and only then the points themselves."""
        found = np.stack([direction.advance(self.kept, samples, scores) for direction in self.directions])
        payoffs = found / np.sqrt(self.setting.taus)[:, None]
        path = self.wealth.record(payoffs if bet else np.full_like(payoffs, np.nan))
        self.path.add(self.n + 1, path)
        reached = np.flatnonzero(np.exp(-path) <= self.level)
        if self.rejected_at is None and reached.size:
            self.rejected_at = self.n + 1 + int(reached[0])
        self._keep(samples, scores)

    def _keep(self, samples: Floats, scores: Floats) -> None:
        kept = self.kept
        kept.add(samples, scores, self.rng)
        if kept.seen == kept.budget:
            for direction in self.directions:
                direction.fill(kept)
        elif kept.seen == kept.renewal:
            before = [kept.prepared(direction.stein) for direction in self.directions]
            kept.renew()
            for direction, points in zip(self.directions, before, strict=True):
                direction.renew(points, kept)

    def arrays(self) -> dict[str, Any]:
        """Everything that changes, and u at kept points, as arrays by name."""
        values = {f"direction{j}.values": self._values(direction) for j, direction in enumerate(self.directions)}
        return {**collect(self._parts()), **values, "taus": self.setting.taus}

    def load(self, arrays: dict[str, Any]) -> None:
        """Take over what :meth:`arrays` gave, if kernels and tilt are the same: u at kept points tells."""
        fill(self._parts(), arrays)
        for j, direction in enumerate(self.directions):
            compare(self._values(direction), arrays[f"direction{j}.values"], "`kernel` or `tilt`")

    def _parts(self) -> dict[str, Any]:
        directions = {f"direction{j}": direction for j, direction in enumerate(self.directions)}
        return {"kept": self.kept, "wealth": self.wealth, "path": self.path, **directions}

    def _values(self, direction: Direction) -> Floats:
        """u among the first kept points: what tells one kernel from another."""
        kept, stein = self.kept, direction.stein
        points = stein.prepare(kept.samples[:_COMPARED], kept.scores[:_COMPARED], kept.center)
        return np.asarray(stein.block(points, points))
