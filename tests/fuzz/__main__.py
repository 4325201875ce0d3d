"""Run many cases and count how they end: ``python -m tests.fuzz 10000 --seed 0``; one again: ``--case 17``."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter

os.environ.setdefault("JAX_ENABLE_X64", "1")

from tests.fuzz.cases import run_case
from tests.housekeeping import give_back

_MEMORY = 16 * 10**9


def main() -> int:
    """Count outcomes; the exit code says whether none failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("cases", nargs="?", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the first case")
    parser.add_argument("--case", type=int, help="this case alone")
    asked = parser.parse_args()
    _limit_memory()
    if asked.case is not None:
        outcome = run_case(asked.seed, asked.case)
        print(f"{outcome}\n  given: {outcome.given}")
        return int(outcome.kind == "failed")
    counts: Counter[str] = Counter()
    for number in range(asked.start, asked.start + asked.cases):
        began = time.monotonic()
        outcome = run_case(asked.seed, number)
        counts[outcome.kind] += 1
        give_back()
        if outcome.kind == "failed":
            print(f"--seed {asked.seed} --case {number}: {outcome}", flush=True)
        if (took := time.monotonic() - began) > 5.0:
            print(f"  (case {number}, {outcome.entry}: {took:.0f} s)", flush=True)
    total, right, refused, failed = sum(counts.values()), counts["right"], counts["refused"], counts["failed"]
    print(f"{total} cases: {right} right, {refused} refused, {failed} failed (seed {asked.seed})")
    return int(failed > 0)


def _limit_memory() -> None:
    """A request for all memory must fail by itself, and not by the end of this process."""
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


if __name__ == "__main__":
    sys.exit(main())
