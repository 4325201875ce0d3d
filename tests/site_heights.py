"""How tall the guide pages of the built site are in a browser: ``make docs``, then ``python -m tests.site_heights``.

A guide page is to fit on two screens of 1280 by 800 pixels. It is also to be no wider than a phone.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.show.browser import Browser, browser

SITE = Path(__file__).parents[1] / "docs" / "_build" / "html"
SCREEN, PHONE = (1280, 800), (390, 844)
TALLEST = 2 * SCREEN[1]
NO_GUIDE = {"benchmarks", "genindex", "search", "py-modindex"}
"""Tables of measurements, and what Sphinx adds."""

_HEIGHT = 'Math.round(document.querySelector("article.bd-article").getBoundingClientRect().height)'
_WIDTH = "document.documentElement.scrollWidth"


def guide_pages() -> list[Path]:
    """The pages of the guide, and the tutorials."""
    pages = [*SITE.glob("*.html"), *SITE.glob("tutorials/*.html")]
    return sorted(page for page in pages if page.stem not in NO_GUIDE)


def measure(tab: Browser, page: Path) -> tuple[int, int]:
    """The height of the text on a desktop, and the width of the page on a phone, in pixels."""
    tab.open(page, width=SCREEN[0], height=SCREEN[1])
    height = int(tab.run(_HEIGHT))
    tab.open(page, width=PHONE[0], height=PHONE[1])
    return height, int(tab.run(_WIDTH))


def main() -> int:
    """Print every page; 1 where one is too tall or too wide, or there is none."""
    wrong = 0
    with browser() as tab:
        for page in guide_pages():
            height, width = measure(tab, page)
            said = " too tall" * (height > TALLEST) + " too wide" * (width > PHONE[0])
            wrong += bool(said)
            print(f"{height:5}  {page.relative_to(SITE)}{said}")
    print(f"{wrong} of {len(guide_pages())} pages do not fit")
    return int(wrong > 0 or not guide_pages())


if __name__ == "__main__":
    sys.exit(main())
