"""Write the report that docs/getting-started.md embeds, from the lines of that page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import steinball as sb


def write_report(folder: Path) -> Path:
    """The report of the first test of docs/getting-started.md, as ``folder/live/first-test.html``."""
    (folder / "live").mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    clean = rng.normal(size=(400, 2))
    x = sb.datasets.contaminate(clean, 0.125, [2.0, 2.0], rng)
    model = sb.models.Gaussian(mean=[0.0, 0.0], cov=1.0)
    result = sb.robust_ksd_test(x, model, contamination=0.15, rng=1)
    return Path(result.report(folder / "live" / "first-test.html", title="A first test"))


def after_the_build(app: Any, error: Exception | None) -> None:
    """Put the page beside the others."""
    if error is None and app.builder.format == "html":
        write_report(Path(app.outdir))


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("build-finished", after_the_build)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
