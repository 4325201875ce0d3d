"""Draw the pictures of the README and of docs/index.md, of docs/pictures.md and of docs/further-pictures.md.

``python docs/images/draw.py``, always the same bytes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import steinball as sb
from steinball.cli.demo import tell
from steinball.show.pictures import save_picture

HERE = Path(__file__).parent


def main() -> None:
    """The wages against a model, one column with a group that does not belong, and two columns."""
    save_picture(tell().good, HERE / "overview.png", dpi=90)
    rng = np.random.default_rng(0)
    one = rng.normal(size=500)
    one[:60] = rng.normal(3.0, 0.3, size=60)
    rng.shuffle(one)
    result = sb.robust_ksd_test(one, sb.models.Gaussian(), 0.05, rng=1)
    save_picture(result, HERE / "one-column.png", dpi=90)
    draw_further(result)
    two = rng.normal(size=(600, 2))
    two[:60] = rng.normal([2.2, -2.0], 0.3, size=(60, 2))
    rng.shuffle(two)
    save_picture(sb.robust_ksd_test(two, lambda x: -x, 0.05, rng=1), HERE / "two-columns.png", dpi=90)


def draw_further(result: sb.GofResult) -> None:
    """Four pictures by name."""
    figure = Figure(figsize=(10.8, 6.4), layout="constrained")
    kinds = ("draws", "witness", "contributions", "diagonal")
    for kind, ax in zip(kinds, figure.subplots(2, 2).ravel(), strict=True):
        result.plot(kind, ax)
    figure.savefig(HERE / "further.png", dpi=80, metadata={"Software": None})


if __name__ == "__main__":
    main()
