"""What the tests of pages share: a browser, and results to show."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.show.browser import Browser, browser, find_browser

NO_BROWSER = "there is no Chromium; on Debian `apt-get install chromium`"


@pytest.fixture(scope="session")
def tab() -> Iterator[Browser]:
    """A tab of a headless browser; a failure without one where it is required, as in continuous integration."""
    if find_browser() is None:
        if os.environ.get("STEINBALL_REQUIRE_BROWSER"):
            pytest.fail(f"STEINBALL_REQUIRE_BROWSER is set, but {NO_BROWSER}")
        pytest.skip(NO_BROWSER)
    with browser() as found:
        yield found
