"""Whether there are enough rows, and whether they are rows at all."""

from __future__ import annotations

from steinball.arrays import Array
from steinball.cautions import FewRowsWarning, caution

__all__ = ["warn_if_few"]

LEAST = 4
"""The fewest rows at which clean data of a normal model were rejected as rarely as the level says, to .03.

At level .05 three rows are rejected .15 of the time, four to twenty .03 to .08 (400 samples each, d = 1 and 5)."""

_CHAINS_AT_MOST = 16
_DRAWS_AT_LEAST = 4  # times the number of chains


def warn_if_few(samples: Array) -> None:
    """Say so where n < d, which transposed data and (chain, draw) arrays look like, or n < 4."""
    n, d = (int(size) for size in samples.shape)
    if n < d and n <= _CHAINS_AT_MOST and _DRAWS_AT_LEAST * n <= d:
        caution(
            FewRowsWarning,
            f"`samples` has shape ({n}, {d}), which is read as {n} observations in {d} dimensions. It looks like "
            f"(chain, draw), {n} chains of one quantity.",
            f'If so, pass `x.reshape(-1, 1)`, and `WildBootstrap(dependence="auto", chains={n})` as calibration.',
        )
    elif n < d:
        caution(
            FewRowsWarning,
            f"`samples` has shape ({n}, {d}): fewer observations than dimensions.",
            "Rows are observations: if yours are columns, pass the transpose. Otherwise expect little power.",
        )
    elif n < LEAST:
        caution(
            FewRowsWarning,
            f"{n} observations are too few for a bootstrap: a true model is rejected about three times as often as "
            "the level says.",
            f"Use at least {LEAST} observations.",
        )
