"""Write the report that docs/getting-started.md embeds, from the lines of that page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import steinball as sb


def write_report(folder: Path) -> Path:
    """The report of the first check of docs/getting-started.md, as ``folder/live/first-check.html``."""
    (folder / "live").mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    heights = np.round(rng.normal(170.0, 7.0, size=2000), 1)
    heights[::40] = np.round(heights[::40] / 2.54, 1)  # every 40th in inches
    heights = rng.permutation(heights)
    model = stats.norm(170.0, 7.0)
    result = sb.check(heights, model, contamination=0.1, rng=0)
    return Path(result.report(folder / "live" / "first-check.html", title="A first check"))


def after_the_build(app: Any, error: Exception | None) -> None:
    """Put the page beside the others."""
    if error is None and app.builder.format == "html":
        write_report(Path(app.outdir))


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("build-finished", after_the_build)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
