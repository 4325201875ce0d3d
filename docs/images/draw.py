"""Draw the pictures of the README, docs/index.md, pictures.md, further-pictures.md, compare.md and monitor.md.

``python docs/images/draw.py``, always the same bytes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy import stats

import steinball as sb
from steinball.cli.demo import tell
from steinball.show.pictures import save_axes, save_picture

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
    draw_comparison()
    draw_monitor()


def draw_comparison() -> None:
    """Velocities of galaxies against three shapes."""
    shapes = {"even": stats.uniform(9, 26), "one": "normal", "three": "mixture:3"}
    result = sb.compare(sb.datasets.load_galaxies(standardize=False) / 1000, shapes, contamination=0.05, rng=0)
    save_axes(lambda axes: result.plot(ax=axes), 2, HERE / "comparison.png", dpi=80)


def draw_monitor() -> None:
    """The flow of the Nile from 1891 on, against the years before."""
    flow = sb.datasets.load_nile()
    monitor = sb.Monitor(sb.fitting.fit_minimum_ksd("normal", flow[:20]).model, 0.05, expected_run=1000)
    monitor.update(flow[20:])
    save_axes(monitor.plot, 1, HERE / "monitor.png", dpi=80)


def draw_further(result: sb.GofResult) -> None:
    """Four pictures by name."""
    figure = Figure(figsize=(10.8, 6.4), layout="constrained")
    kinds = ("draws", "witness", "contributions", "diagonal")
    for kind, ax in zip(kinds, figure.subplots(2, 2).ravel(), strict=True):
        result.plot(kind, ax)
    figure.savefig(HERE / "further.png", dpi=80, metadata={"Software": None})


if __name__ == "__main__":
    main()
