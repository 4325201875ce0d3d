"""A headless Chromium, driven through its own pipes: no library between, and nothing that listens on a port."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
PATIENCE = 60.0


def find_browser() -> str | None:
    """The program, where there is one."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@dataclass
class Browser:
    """One tab. ``complaints`` is what the console said, ``asked_for`` every address that a page wanted to load."""

    process: subprocess.Popen[bytes]
    reader: int
    writer: int
    session: str = ""
    complaints: list[str] = field(default_factory=list)
    asked_for: list[str] = field(default_factory=list)
    _numbers: int = 0
    _rest: bytes = b""
    _seen: list[str] = field(default_factory=list)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the DevTools protocol, and its answer."""
        self._numbers += 1
        message = {"id": self._numbers, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.writer, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._numbers:
                assert "error" not in answer, answer
                return dict(answer["result"])

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._rest:
            ready = select.select([self.reader], [], [], max(0.0, end - time.monotonic()))[0]
            assert ready, "the browser does not answer"
            part = os.read(self.reader, 1 << 20)
            assert part, "the browser has gone"
            self._rest += part
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, told: dict[str, Any]) -> None:
        self._seen.append(method)
        if method == "Runtime.exceptionThrown":
            self.complaints.append(str(told["exceptionDetails"].get("exception", told)))
        elif method == "Log.entryAdded":
            self.complaints.append(told["entry"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(str(told["args"]))
        elif method == "Network.requestWillBeSent":
            self.asked_for.append(told["request"]["url"])

    def open(self, path: Path, *, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """A page from a file, in a window of this size."""
        self.complaints.clear()
        self.asked_for.clear()
        self._seen.clear()
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=path.resolve().as_uri())
        while "Page.loadEventFired" not in self._seen:
            self._next()

    def run(self, script: str) -> Any:
        """The value of an expression on the page."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def picture(self, path: Path) -> None:
        """All of the page as PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(found["data"]))

    def paper(self, path: Path) -> None:
        """The page as it is printed, PDF."""
        found = self.call("Page.printToPDF", printBackground=False, preferCSSPageSize=True)
        path.write_bytes(base64.b64decode(found["data"]))


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser with an empty profile, which ends with the block."""
    program = find_browser()
    assert program is not None
    to_read, to_write = os.pipe(), os.pipe()  # theirs to read, theirs to write

    def pipes() -> None:
        """Chromium reads from 3 and writes to 4, which our own ends may have been."""
        theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (to_read[0], to_write[1])]
        os.dup2(theirs[0], 3)
        os.dup2(theirs[1], 4)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank",
        ]  # fmt: skip
        process = subprocess.Popen(
            [program, *options], preexec_fn=pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(to_read[0])
        os.close(to_write[1])
        try:
            yield _attached(Browser(process, to_write[0], to_read[1]))
        finally:
            process.kill()
            process.wait()
            os.close(to_read[1])
            os.close(to_write[0])


def _attached(tab: Browser) -> Browser:
    target = tab.call("Target.createTarget", url="about:blank")["targetId"]
    tab.session = tab.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in ("Page", "Runtime", "Log", "Network"):
        tab.call(f"{domain}.enable")
    return tab
