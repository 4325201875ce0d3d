"""The books of a bettor on a stream: kept points, directions and wealth, moved on together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steinball.arrays import Floats
from steinball.sequential.direction import Direction, KeptPoints
from steinball.sequential.ledger import History, Ledger
from steinball.sequential.plan import Plan, Settled

TOGETHER = 64
"""Points that are booked at once: they bound the memory of a step."""

_COMPARED = 8


@dataclass(eq=False)
class Books:
    """All that changes while a stream is tested. Every payoff is of a direction that was there before its point."""

    settled: Settled
    level: float
    kept: KeptPoints
    ledger: Ledger
    directions: list[Direction]
    rng: np.random.Generator
    history: History = field(default_factory=History)
    rejected_at: int | None = None

    @classmethod
    def open(cls, plan: Plan, settled: Settled, center: Floats, rng: np.random.Generator) -> Books:
        """Wealth 1 and no points."""
        kept = KeptPoints.empty(plan.budget, center)
        ledger = Ledger.open(settled.share, len(settled.kernels), plan.strategy)
        return cls(settled, plan.level, kept, ledger, [Direction(stein) for stein in settled.steins], rng)

    @property
    def n(self) -> int:
        """Points so far."""
        return self.kept.seen

    def check(self, samples: Floats, scores: Floats) -> None:
        """Refuse points at which τ is no bound."""
        for direction, tau in zip(self.directions, self.settled.taus, strict=True):
            with np.errstate(over="ignore", invalid="ignore"):  # a NaN is refused as no bound holds for it
                largest = float(direction.stein.diagonal(samples, scores).max(initial=0.0))
            if not largest <= tau * (1.0 + 1e-9):
                raise ValueError(
                    f"`tau={tau:g}` is not an upper bound: u(x, x) reaches {largest:g} in this `batch`. None of it was "
                    "taken in. Start again with a larger bound, or with a tilt that bounds u."
                )

    def advance(self, samples: Floats, scores: Floats, bet: bool = True) -> None:
        """Book the next points, a few at a time; without a bet they only join the past."""
        start = 0
        while start < len(samples):
            part = slice(start, start + min(TOGETHER, self.kept.room()))
            self._book(samples[part], scores[part], bet)
            start = part.stop

    def _book(self, samples: Floats, scores: Floats, bet: bool) -> None:
        """Payoffs of a few points against the past, the wealth with them, and only then the points themselves."""
        found = np.stack([direction.advance(self.kept, samples, scores) for direction in self.directions])
        payoffs = found / np.sqrt(self.settled.taus)[:, None]
        path = self.ledger.record(payoffs if bet else np.full_like(payoffs, np.nan))
        self.history.add(self.n + 1, path)
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

    def state(self) -> dict[str, Any]:
        """Everything as arrays by name."""
        arrays = {f"{prefix}.{name}": np.asarray(getattr(part, name)) for prefix, part, name in self._parts()}
        values = {f"direction{j}.values": self._values(direction) for j, direction in enumerate(self.directions)}
        return arrays | values

    def load(self, arrays: dict[str, Any]) -> None:
        """Take over what :meth:`state` gave, if kernels and tilt are the same: u at kept points tells."""
        for prefix, part, name in self._parts():
            value = arrays[f"{prefix}.{name}"]
            setattr(part, name, value.item() if value.ndim == 0 else value)
        for j, direction in enumerate(self.directions):
            compare(self._values(direction), arrays[f"direction{j}.values"], "`kernel` or `tilt`")

    def _parts(self) -> Iterator[tuple[str, Any, str]]:
        """All that changes: a prefix, the object and the name of its attribute."""
        directions = {f"direction{j}": direction for j, direction in enumerate(self.directions)}
        parts: dict[str, Any] = {"kept": self.kept, "ledger": self.ledger, "history": self.history, **directions}
        return ((prefix, part, name) for prefix, part in parts.items() for name in part.state)

    def _values(self, direction: Direction) -> Floats:
        """u among the first kept points: what tells one kernel from another."""
        kept, stein = self.kept, direction.stein
        points = stein.prepare(kept.samples[:_COMPARED], kept.scores[:_COMPARED], kept.center)
        return np.asarray(stein.block(points, points))


def compare(found: Floats, saved: Floats, what: str) -> None:
    """Refuse what gives other values than the saved ones."""
    size = float(np.abs(saved).max(initial=0.0))
    if found.shape != saved.shape or not np.allclose(found, saved, rtol=1e-5, atol=1e-6 * size):
        raise ValueError(f"{what} is not the one that the test was saved with: values at the kept points differ.")
