"""Pictures as files, drawn without a screen."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from steinball.files import write_whole
from steinball.plots.overview import panels, plot
from steinball.plots.theme import NEEDED
from steinball.results.base import Result

__all__ = ["check_picture", "save_picture"]

_FORMATS = (".png", ".pdf", ".svg")


def check_picture(path: str | Path) -> None:
    """Refuse a name that is no picture's, and say what is missing to draw one."""
    if Path(path).suffix.lower() not in _FORMATS:
        raise ValueError(f"`{path}` must end in .png, .pdf or .svg.")
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ValueError(NEEDED) from error


def save_picture(result: Result, path: str | Path, *, data: Any = None, dpi: int = 120) -> Path:
    """Draw the overview of a result into a file; the same result gives the same bytes."""
    check_picture(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    path, many = Path(path), len(panels(result))
    with rc_context({"svg.hashsalt": "steinball"}):
        figure = Figure(figsize=(5.4 * many, 4.2), layout="constrained")
        axes = figure.subplots(1, many)
        plot(result, "overview", axes, data=data)
        drawn = io.BytesIO()
        date = {".png": {"Software": None}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
        suffix = path.suffix.lower()
        figure.savefig(drawn, format=suffix[1:], dpi=dpi, metadata=date[suffix])
    write_whole(path, drawn.getvalue())
    return path
