"""How far the lines of the figure are followed."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import growth

pytestmark = pytest.mark.exact


def fake_point(seconds: float) -> Any:
    """A measurement that takes ``seconds`` at n = 1,000 and grows as n²."""

    def point(n: int, d: int, engine: str) -> dict[str, Any] | None:
        if engine == "dense" and n > 4_000:
            return None
        return {
            "n": n,
            "d": d,
            "engine": engine,
            "grade": "exact",
            "seconds": seconds * (n / 1e3) ** 2,
            "memory": n * 1e3,
        }

    return point


def test_a_line_ends_where_time_or_memory_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "point", fake_point(1.0))
    sizes, later = (1_000, 2_000, 4_000, 8_000, 16_000), float("inf")
    assert [row["n"] for row in growth.line("blocked", 2, sizes, later)] == [1_000, 2_000, 4_000]
    assert [row["n"] for row in growth.line("dense", 2, sizes, later)] == [1_000, 2_000, 4_000]
    assert list(growth.line("blocked", 2, sizes, -1.0)) == []
    monkeypatch.setattr(growth, "point", fake_point(0.01))
    assert [row["n"] for row in growth.line("blocked", 2, sizes, later)] == list(sizes)
    assert [row["n"] for row in growth.line("dense", 2, sizes, later)] == [1_000, 2_000, 4_000]


def test_time_is_expected_to_grow_at_least_as_the_square_and_as_it_did() -> None:
    def rows(*seconds: float) -> list[dict[str, Any]]:
        return [{"n": 1_000 * 2**k, "seconds": value} for k, value in enumerate(seconds)]

    assert growth.next_seconds([], 1_000) == 0.0
    assert growth.next_seconds(rows(3.0), 2_000) == pytest.approx(12.0)
    assert growth.next_seconds(rows(1.0, 1.5), 4_000) == pytest.approx(6.0)
    assert growth.next_seconds(rows(1.0, 8.0), 4_000) == pytest.approx(64.0)
