"""Headless Chromium for tests, driven through the DevTools pipe: no further package needed.

>>> with Browser.start(folder) as browser:
...     browser.open("http://127.0.0.1:4000/sign-in")
...     browser.fill("#email", "me@example.org")
...     browser.click("button")
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb",
    "--remote-debugging-pipe",
)  # fmt: skip
# The DevTools pipe is file descriptors 3 and 4 of the browser.
_AS_3_AND_4 = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3]]
for fd, target in zip(ends, (3, 4)):
    os.dup2(fd, target)
os.execv(sys.argv[3], sys.argv[3:])
"""
DESKTOP = (1280, 900)
PHONE = (390, 844)
#: WebGL by software, for pages with a map.
WEBGL = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")


class Browser:
    """One tab."""

    def __init__(self, process: subprocess.Popen[bytes], write_fd: int, read_fd: int) -> None:
        self._process = process
        self._out = os.fdopen(write_fd, "wb", buffering=0)
        self._in = os.fdopen(read_fd, "rb", buffering=0)
        self._buffer = b""
        self._id = 0
        self._session = ""
        #: Messages of the console that are errors, and exceptions that nobody caught.
        self.errors: list[str] = []
        #: Events seen since the last command that waits for one.
        self._events: list[dict[str, Any]] = []
        target = self._send("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = self._send("Target.attachToTarget", {"targetId": target, "flatten": True})
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.resize(*DESKTOP)

    @classmethod
    def start(cls, folder: Path, *flags: str) -> Browser:
        """Start a browser whose profile lies in `folder`; `flags` are further ones."""
        assert CHROMIUM is not None
        to_browser, ours_out = os.pipe()
        ours_in, from_browser = os.pipe()
        process = subprocess.Popen(
            [
                *(sys.executable, "-c", _AS_3_AND_4, str(to_browser), str(from_browser)),
                *(CHROMIUM, *FLAGS, f"--user-data-dir={folder}"),
            ],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        return cls(process, ours_out, ours_in)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the browser."""
        try:
            self._session = ""
            self._write("Browser.close", {})
            self._process.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait(10)
        self._out.close()
        self._in.close()

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a DevTools command and return its result."""
        return self._send(method, params)

    def open(self, url: str) -> None:
        """Go to an address and wait until the page has loaded."""
        self._events.clear()
        result = self.send("Page.navigate", url=url)
        assert not result.get("errorText"), (url, result)
        self._wait_for("Page.loadEventFired")

    def evaluate(self, script: str) -> Any:
        """Return the value of an expression in the page; promises are awaited."""
        result = self.send(
            "Runtime.evaluate",
            expression=script,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def fill(self, selector: str, text: str) -> None:
        """Type a text into a field that is empty or not."""
        self.evaluate(f"{_find(selector)}.focus(), {_find(selector)}.select?.()")
        self.send("Input.insertText", text=text)

    def click(self, selector: str) -> None:
        """Click in the middle of an element, as a person would; it must be visible."""
        x, y = self.evaluate(
            f"(() => {{ const e = {_find(selector)}; e.scrollIntoView({{block: 'center'}});"
            "const r = e.getBoundingClientRect();"
            "const x = r.x + r.width / 2, y = r.y + r.height / 2;"
            "const hit = document.elementFromPoint(x, y);"
            "if (!(e === hit || e.contains(hit))) throw Error('covered by ' + hit?.outerHTML);"
            "return [x, y]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def submit(self, selector: str) -> None:
        """Click on what leads to another page, and wait until that has loaded."""
        self._events.clear()
        self.click(selector)
        self._wait_for("Page.loadEventFired")

    def text(self, selector: str = "body") -> str:
        """Return the visible text of an element."""
        return str(self.evaluate(f"{_find(selector)}.innerText"))

    @property
    def url(self) -> str:
        """Return the address of the page."""
        return str(self.evaluate("location.href"))

    def resize(self, width: int, height: int) -> None:
        """Set the size of the window; narrow ones are phones."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def prefer(self, scheme: str) -> None:
        """Ask for the light or the dark look."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", features=features)

    def screenshot(self, path: Path) -> None:
        """Write a PNG of the whole page."""
        shot = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _wait_for(self, event: str, timeout_s: float = 20.0) -> None:
        end_s = time.monotonic() + timeout_s
        while time.monotonic() < end_s:
            for seen in self._events:
                if seen["method"] == event:
                    self._events.clear()
                    return
            self._dispatch(self._read())
        raise TimeoutError(event)

    def _send(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        number = self._write(method, params)
        while True:
            message = self._read()
            if message.get("id") == number:
                assert "error" not in message, (method, message["error"])
                result: dict[str, Any] = message["result"]
                return result
            self._dispatch(message)

    def _write(self, method: str, params: dict[str, Any]) -> int:
        self._id += 1
        message = {"id": self._id, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        return self._id

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            chunk = self._in.read(65_536)
            assert chunk, "the browser is gone"
            self._buffer += chunk
        text, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        return message

    def _dispatch(self, message: dict[str, Any]) -> None:
        method = message.get("method")
        if method is None:
            return
        params = message["params"]
        self._events.append(message)
        if method == "Runtime.exceptionThrown":
            self.errors.append(str(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            self.errors.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")


def _find(selector: str) -> str:
    return f"document.querySelector({json.dumps(selector)})"
