"""Speed and memory as ratios within one run: ``make bench``, or ``python -m benchmarks [--small]``."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.cases import LARGE, SMALL, Case
from steinball.gram.cost import in_words

RESULTS = Path(__file__).parent / "results"
HEADER = f"{'case':36}{'engine':22}{'seconds':>9}{'×product':>10}{'×plain':>8}{'memory':>10}  target"


def run(case: Case) -> dict[str, Any]:
    """One case in a fresh interpreter."""
    command = [sys.executable, "-m", "benchmarks.row", json.dumps(asdict(case))]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    row: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return row


def verdicts(case: Case, row: dict[str, Any], rows: list[dict[str, Any]]) -> list[tuple[str, bool]]:
    """Each target of a case in words, and whether it is met."""
    found = []
    if case.most_products is not None:
        found.append((f"≤ {case.most_products:g} products", row["products"] <= case.most_products))
    if case.least_speedup is not None:
        found.append((f"≥ {case.least_speedup:g} × plain", row["speedup"] >= case.least_speedup))
    if case.most_memory is not None:
        found.append((f"≤ {in_words(case.most_memory)}", row["memory"] <= case.most_memory))
    if case.most_growth is not None:
        tenth = [r for r in rows if (r["n"] * 10, r["d"], r["outliers"]) == (case.n, case.d, case.outliers)]
        growth = row["seconds"] / tenth[0]["seconds"] if tenth else float("inf")
        found.append((f"{growth:.1f} ≤ {case.most_growth:g} × the time of a tenth", growth <= case.most_growth))
    if case.most_off is not None:
        off = max(row["seconds"] / row["predicted"], row["predicted"] / row["seconds"])
        found.append((f"predicted within a factor of {case.most_off:g}", off <= case.most_off))
    return found


def line(case: Case, row: dict[str, Any], found: list[tuple[str, bool]]) -> str:
    """One row of the printed table."""
    engine = f"{row['engine']} ({row['grade']})"
    plain = "" if row["speedup"] is None else f"{row['speedup']:.0f}"
    targets = "; ".join(f"{words}: {'met' if met else 'MISSED'}" for words, met in found)
    numbers = f"{row['seconds']:9.3f}{row['products']:10.2f}{plain:>8}{in_words(row['memory']):>10}"
    return f"{case.name:36}{engine:22}{numbers}  {targets}"


def device_lines() -> list[str]:
    """What was measured on a GPU, from the last recorded run of ``benchmarks.device``."""
    path = RESULTS / "device.json"
    if not path.exists():
        return []
    rows = json.loads(path.read_text())["scaling"]
    return [
        f"n={r['n']:,} d={r['d']} outliers={r['outliers']:g}: {r['seconds']:.2f} s, "
        f"{r['over_product']:.1f} products, {r['memory_gb']:.1f} GB, {r['grade']}"
        for r in rows
    ]


def main() -> None:
    """Run every case, print the table, keep it under ``benchmarks/results``."""
    cases = SMALL if "--small" in sys.argv else SMALL + LARGE
    rows: list[dict[str, Any]] = []
    print(f"B = 500; ε₀ = 0.05; one core up to n = 5,000, two beyond\n{HEADER}", flush=True)
    for case in cases:
        row = run(case)
        found = verdicts(case, row, rows)
        rows.append({**row, "targets": [{"target": words, "met": bool(met)} for words, met in found]})
        print(line(case, row, found), flush=True)
    print("\nrecorded on one H200 GPU, float32, draws in TF32 (python -m benchmarks.device)")
    print("\n".join(device_lines()))
    if "--small" not in sys.argv:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "cpu.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
