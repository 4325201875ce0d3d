"""Draw the pictures of the README and of docs/pictures.md: ``python docs/images/draw.py``, always the same bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import steinball as sb
from steinball.plots.save import save_picture

HERE = Path(__file__).parent


def main() -> None:
    """One column with a group that does not belong, and two columns."""
    rng = np.random.default_rng(0)
    one = rng.normal(size=500)
    one[:60] = rng.normal(3.0, 0.3, size=60)
    rng.shuffle(one)
    save_picture(sb.robust_ksd_test(one, sb.models.Gaussian(), 0.05, rng=1), HERE / "overview.png", dpi=90)
    two = rng.normal(size=(600, 2))
    two[:60] = rng.normal([2.2, -2.0], 0.3, size=(60, 2))
    rng.shuffle(two)
    save_picture(sb.robust_ksd_test(two, lambda x: -x, 0.05, rng=1), HERE / "two-columns.png", dpi=90)


if __name__ == "__main__":
    main()
