"""The curl of a guide, sent from the page: with a key, with a session, wrongly, by keyboard."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from browser import CHROMIUM, DESKTOP, PHONE, Browser, open_browser
from map_page import find_violations, open_link
from osm_files import ROOT
from servers import Server, running

pytestmark = [
    pytest.mark.xdist_group("try-it"),
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
]


@pytest.fixture(scope="module")
def server(monaco_copy: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(monaco_copy, tmp_path_factory.mktemp("try-it") / "log") as opened:
        yield opened


@pytest.fixture
def tab(server: Server) -> Iterator[Browser]:
    with open_browser() as browser:
        browser.open(f"{server.address}/docs/geocoding")
        yield browser


def send(tab: Browser, key: str = "") -> str:
    """Open the first form, send it, and return its status."""
    box = tab.page.locator(".try-box").first
    if box.get_attribute("open") is None:
        box.locator("summary").click()
    box.locator(".key-field").fill(key)
    box.locator("button").click()
    box.locator("button:enabled").wait_for()
    return box.locator(".status").inner_text()


def test_a_request_is_sent_with_the_key(tab: Browser, server: Server) -> None:
    status = send(tab, server.key)
    assert status.startswith("200 · ")
    assert " ms · " in status
    answer = tab.page.locator(".try-box .result").first.inner_text()
    assert json.loads(answer)["features"][0]["properties"]["house_number"] == "25"
    assert '\n  "' in answer  # in lines
    # The key is there on the next page, and in all forms of it.
    tab.open(f"{server.address}/docs/sparql")
    assert tab.page.locator(".key-field").first.input_value() == server.key
    assert send(tab, server.key).startswith("200 · ")
    assert tab.errors == []


def test_a_body_can_be_changed(tab: Browser, server: Server) -> None:
    tab.open(f"{server.address}/docs/plazaql")
    box = tab.page.locator(".try-box").first
    box.locator("summary").click()
    box.locator("textarea").fill('{"data": "search(node, amenity: \\"cafe\\").count();"}')
    assert send(tab, server.key).startswith("200 · ")
    assert "feature" not in box.locator(".result").inner_text().lower()[:10]


def test_a_picture_is_shown(tab: Browser, server: Server) -> None:
    picture = (ROOT / "docs" / "images" / "playground.png").read_bytes()
    tab.page.route(
        "**/api/v1/static/**",
        lambda route: route.fulfill(content_type="image/png", body=picture),
    )
    tab.open(f"{server.address}/docs/tiles")
    box = tab.page.locator(".try-box", has=tab.page.locator("input[value*='static/800x500']")).first
    box.locator("summary").click()
    box.locator("button").click()
    box.locator(".result img").wait_for()
    assert tab.errors == []


def test_what_helps_without_a_key_and_with_a_wrong_one(tab: Browser, server: Server) -> None:
    assert send(tab).startswith("401 · ")
    hint = tab.page.locator(".try-box .hint").first
    assert "needs a key" in hint.inner_text()
    assert hint.locator("a").get_attribute("href") == "/sign-in"
    assert send(tab, "pk_live_wrong").startswith("401 · ")
    assert "does not know this key" in hint.inner_text()
    assert send(tab, server.key).startswith("200 · ")
    assert not hint.is_visible()


def test_who_opened_the_map_needs_no_key(tab: Browser, server: Server, monaco_copy: Path) -> None:
    tab.page.goto(open_link(server, monaco_copy), wait_until="commit")
    tab.page.wait_for_url(f"{server.address}/**")
    tab.page.goto(f"{server.address}/docs/geocoding")
    assert send(tab).startswith("200 · ")


def test_a_server_that_is_gone(tab: Browser) -> None:
    tab.page.route("**/api/**", lambda route: route.abort())
    assert send(tab, "pk_live_any") == "no answer"
    assert "did not answer" in tab.page.locator(".try-box .hint").first.inner_text()


def test_by_keyboard_alone(tab: Browser, server: Server) -> None:
    tab.page.locator(".try-box summary").first.focus()
    tab.press("Enter")
    for _ in range(2):
        tab.press("Tab")
    tab.page.keyboard.type(server.key)
    tab.press("Tab")
    tab.press("Enter")
    tab.page.locator(".try-box .status.ok").first.wait_for()
    tab.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "result"


def test_without_script_there_is_no_form(server: Server, tab: Browser) -> None:
    page = tab.page.context.browser.new_context(java_script_enabled=False).new_page()  # type: ignore[union-attr]
    page.goto(f"{server.address}/docs/geocoding")
    assert page.locator(".try-box").count() > 2
    assert not page.locator(".try-box").first.is_visible()


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_forms_are_accessible_and_fit(
    tab: Browser, server: Server, axe: str, size: tuple[int, int], scheme: Literal["light", "dark"]
) -> None:
    tab.resize(*size)
    tab.prefer(scheme)
    tab.open(f"{server.address}/docs/geocoding")
    assert send(tab).startswith("401")
    tab.evaluate("document.querySelectorAll('.try-box').forEach(box => box.open = true)")
    assert tab.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert find_violations(tab, axe) == []
