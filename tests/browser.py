"""Debian's Chromium for tests, headless, driven by Playwright.

>>> with open_browser() as browser:
...     browser.open("http://127.0.0.1:4000/sign-in")
...     browser.fill("#email", "me@example.org")
...     browser.click("button")
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import ConsoleMessage, Error, Page, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--disable-gpu", "--disable-quic", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--force-color-profile=srgb",
)  # fmt: skip
DESKTOP = (1280, 900)
TABLET = (820, 1180)
PHONE = (390, 844)
#: WebGL by software, for pages with a map.
WEBGL = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")


class Browser:
    """One tab: `page` is Playwright's."""

    def __init__(self, page: Page) -> None:
        self.page = page
        #: Messages of the console that are errors, and exceptions that nobody caught.
        self.errors: list[str] = []
        page.on("console", self._note_message)
        page.on("pageerror", self._note_exception)

    def open(self, url: str) -> None:
        """Go to an address and wait until the page has loaded."""
        self.page.goto("about:blank")  # so that an address that differs in its hash loads too
        self.page.goto(url)

    def evaluate(self, script: str) -> Any:
        """Return the value of an expression in the page; promises are awaited."""
        return self.page.evaluate(script)

    def fill(self, selector: str, text: str) -> None:
        """Put a text into a field that is empty or not."""
        self.page.fill(selector, text)

    def click(self, selector: str) -> None:
        """Click in the middle of an element, as a person would; it must be visible."""
        self.page.click(selector)

    def submit(self, selector: str) -> None:
        """Click on what leads to another page, and wait until that has loaded."""
        with self.page.expect_navigation():
            self.page.click(selector)

    def press(self, key: str) -> None:
        """Press a key and let it go."""
        self.page.keyboard.press(key)

    def text(self, selector: str = "body") -> str:
        """Return the visible text of an element, the first of several."""
        return self.page.locator(selector).first.inner_text()

    @property
    def url(self) -> str:
        """Return the address of the page."""
        return self.page.url

    def resize(self, width: int, height: int) -> None:
        """Set the size of the window."""
        self.page.set_viewport_size({"width": width, "height": height})

    def prefer(self, scheme: Literal["light", "dark"]) -> None:
        """Ask for the light or the dark look."""
        self.page.emulate_media(color_scheme=scheme)

    def screenshot(self, path: Path) -> None:
        """Write a PNG of the whole page."""
        self.page.screenshot(path=path, full_page=True)

    def _note_message(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "assert"):
            self.errors.append(f"{message.text} {message.location.get('url', '')}")

    def _note_exception(self, error: Error) -> None:
        self.errors.append(str(error))


@contextlib.contextmanager
def open_browser(*flags: str) -> Iterator[Browser]:
    """Start a browser with a profile of its own; `flags` are further ones."""
    assert CHROMIUM is not None
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, chromium_sandbox=False, args=[*FLAGS, *flags]
        )
        width, height = DESKTOP
        page = chromium.new_page(viewport={"width": width, "height": height})
        page.set_default_timeout(90_000)  # milliseconds; a busy machine draws maps slowly
        yield Browser(page)
        chromium.close()
