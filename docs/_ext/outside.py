"""Pages of the repository that lie outside docs/, on the site: CONTRIBUTING, VISION, RELEASING and CHANGELOG.

They are copied to docs/_project with their links turned round, and links of other pages lead there. Links to folders,
which a site cannot show, become plain text.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
PAGES = ("CONTRIBUTING.md", "VISION.md", "RELEASING.md", "CHANGELOG.md")
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)")


def on_the_site(target: Path) -> Path:
    """Where the site has what the repository has at ``target``."""
    return DOCS / "_project" / target.name if target.parent == ROOT and target.name in PAGES else target


def turn(text: str, written_in: Path, shown_in: Path) -> str:
    """The text of a page with its links as seen from another folder."""

    def replace(match: re.Match[str]) -> str:
        words, path, anchor = match.group(1), match.group(2), match.group(3) or ""
        target = (written_in / path).resolve()
        if target.is_dir():
            return words
        return f"[{words}]({os.path.relpath(on_the_site(target), shown_in)}{anchor})"

    return LINK.sub(replace, text)


def copy_pages(app: Any) -> None:
    """Write the copies; only those that changed, so that the others are not read again."""
    (DOCS / "_project").mkdir(exist_ok=True)
    for name in PAGES:
        copy, text = DOCS / "_project" / name, turn((ROOT / name).read_text("utf-8"), ROOT, DOCS / "_project")
        if not copy.exists() or copy.read_text("utf-8") != text:
            copy.write_text(text, "utf-8")


def turn_links(app: Any, name: str, source: list[str]) -> None:
    """Links of a page of docs/ to pages outside it and to folders."""
    folder = (DOCS / name).parent
    if folder.name not in {"_project", "generated"}:
        source[0] = turn(source[0], folder, folder)


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("builder-inited", copy_pages)
    app.connect("source-read", turn_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
