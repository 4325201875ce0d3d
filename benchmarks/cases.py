"""What is measured: sizes, and what each must reach."""

from __future__ import annotations

from dataclasses import dataclass

DRAWS = 500
TOLERANCE = 0.05


@dataclass(frozen=True)
class Case:
    """One test of a standard Gaussian at contamination 0.05, and its targets as ratios within the run."""

    n: int
    d: int
    outliers: float
    jobs: int
    engine: str = "auto"
    most_products: float | None = None
    """At most this many times one (B × n)·(n × n) product on the same cores."""
    least_speedup: float | None = None
    """At least this many times faster than the paper's formula with (n, n, d) arrays."""
    most_memory: float | None = None
    """At most this many bytes beyond the interpreter and its libraries."""
    most_growth: float | None = None
    """At most this many times the time of a tenth of the points."""
    most_off: float | None = None
    """At most this factor, either way, between the time that was predicted and the time it took."""
    compared: bool = True
    """Whether the matrix product is timed too."""

    @property
    def name(self) -> str:
        """``n=500 d=50 outliers=0``."""
        return f"n={self.n:,} d={self.d} outliers={self.outliers:g}"


def _both(**fields: object) -> list[Case]:
    return [Case(outliers=share, **fields) for share in (0.0, 0.15)]  # type: ignore[arg-type]


SMALL = [
    *_both(n=500, d=1, jobs=1, most_products=4.0),
    *_both(n=500, d=50, jobs=1, most_products=4.0),
    *_both(n=2_000, d=10, jobs=1, most_products=1.5, least_speedup=30.0),
    *_both(n=5_000, d=10, jobs=1, most_products=1.5, least_speedup=30.0, most_off=3.0),
]
LARGE = [
    *_both(n=20_000, d=10, jobs=2, engine="blocked", most_products=1.0, most_memory=1e9),
    Case(n=100_000, d=10, outliers=0.0, jobs=2, engine="blocked", most_products=1.0, most_memory=2e9),
    *_both(n=100_000, d=1, jobs=2),
    *_both(n=1_000_000, d=1, jobs=2, most_memory=4e9, most_growth=12.0),
    *_both(n=100_000, d=2, jobs=2),
    *_both(n=1_000_000, d=2, jobs=2, most_memory=4e9, most_growth=12.0),
    *_both(n=100_000, d=5, jobs=2, engine="lowrank", most_memory=4e9),
]
