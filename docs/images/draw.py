"""Draw the pictures of the pages from the lines of the pages: ``python docs/images/draw.py``, always the same bytes.

The gallery has its code above each picture; the wages of README, landing page and tutorial are those of the
demonstration. The pictures of docs/concepts.md have a script of their own, concepts.py.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt

from steinball.cli.commands import tell
from steinball.show.pictures import save_axes

HERE = Path(__file__).parent
STEP = re.compile(r"(?ms)^```python\n(.*?)^```$|^!\[[^]]*\]\(images/([\w/-]+\.png)\)$")
DPI = 80


def main() -> None:
    """The wages, and everything in the gallery."""
    story = tell()
    save_axes(lambda axes: story["good"].plot("overview", axes), 2, HERE / "overview.png", dpi=90)
    save_axes(lambda axes: story["wrong"].plot("overview", axes), 2, HERE / "wages-normal.png", dpi=DPI)
    draw_page(HERE.parent / "pictures.md")


def draw_page(page: Path) -> None:
    """Run the code of a page, and write what it has drawn where the page shows a picture."""
    mpl.use("Agg")
    (HERE / "gallery").mkdir(exist_ok=True)
    names: dict[str, Any] = {"__name__": "__page__"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for code, picture in STEP.findall(page.read_text(encoding="utf-8")):
            if code:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(code, page.name, "exec"), names)
            else:
                plt.gcf().savefig(HERE / picture, dpi=DPI, metadata={"Software": None})
                plt.close("all")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
