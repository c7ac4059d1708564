"""The HTML and JavaScript of README and docs runs as it is printed, in a browser on a foreign site.

`maps.example.org` is answered by a server with Monaco, and the scripts that a page takes for
granted (MapLibre, Leaflet and its plugins) by our copies of them; only the key is put in. An
error in the console or a request that fails is a failure of the page. Before a block that cannot
run here its page has the comment `<!-- not run: why -->`.
"""

from __future__ import annotations

import json
import mimetypes
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Route

from browser import CHROMIUM, WEBGL, Browser, open_browser
from code_blocks import Block, read_blocks
from osm_files import ROOT
from servers import Server, copy_data, running

SITE = "https://www.example.org"
OURS = "https://maps.example.org"
#: Where the files are that a page loads from beside itself.
FOLDERS = (
    ROOT / "src" / "mapyard" / "web" / "playground" / "vendor",
    ROOT / "tests" / "data" / "plugins",
)
#: What a block of JavaScript is put into: a page that has loaded Leaflet and its plugins.
LEAFLET = """<link rel="stylesheet" href="leaflet.css">
<link rel="stylesheet" href="Control.Geocoder.css">
<link rel="stylesheet" href="leaflet-routing-machine.css">
<div id="map" style="height: 100vh"></div>
<script src="leaflet.js"></script>
<script src="Control.Geocoder.js"></script>
<script src="leaflet-routing-machine.min.js"></script>
<script>
"""


BLOCKS = [block for block in read_blocks("html", "js") if block.is_run]


@pytest.fixture(scope="module")
def server(monaco: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("documented-pages")
    data = copy_data(monaco, folder / "data")
    settings = {"MAPYARD_PUBLIC_URL": OURS, "MAPYARD_CORS_ORIGINS": json.dumps([SITE])}
    with running(data, folder / "log", **settings) as opened:
        yield opened


@pytest.fixture
def tab() -> Iterator[Browser]:
    with open_browser(*WEBGL) as browser:
        yield browser


def answer_site(html: str) -> Callable[[Route], None]:
    """Return what serves the page, and the files beside it."""

    def answer(route: Route) -> None:
        name = urlsplit(route.request.url).path.lstrip("/")
        if name in ("", "favicon.ico"):
            route.fulfill(body="" if name else html, content_type="text/html; charset=utf-8")
            return
        found = [folder / name for folder in FOLDERS if (folder / name).is_file()]
        if not found:
            route.fulfill(status=404)
            return
        kind = "text/javascript" if name.endswith(".mjs") else mimetypes.guess_type(name)[0]
        route.fulfill(body=found[0].read_bytes(), content_type=kind)

    return answer


def answer_api(server: Server) -> Callable[[Route], None]:
    """Return what hands a request to `maps.example.org` to the server, and back."""

    def answer(route: Route) -> None:
        there = server.address + route.request.url.removeprefix(OURS)
        route.fulfill(response=route.fetch(url=there))

    return answer


def run(tab: Browser, server: Server, block: Block) -> list[tuple[int, str]]:
    """Open a block as a page; return the status and path of what it asked the server."""
    text = block.text.replace("pk_live_…", server.key)
    html = "<!doctype html><meta charset=utf-8>" + (
        text if block.kind == "html" else f"{LEAFLET}{text}</script>"
    )
    asked: list[tuple[int, str]] = []
    page: Page = tab.page
    page.route("**/*", lambda route: route.abort())  # no other host
    page.route(f"{SITE}/**", answer_site(html))
    page.route(f"{OURS}/**", answer_api(server))
    page.on("requestfailed", lambda r: tab.errors.append(f"{r.url}: {r.failure}"))

    def note(answer: Any) -> None:
        asked.append((answer.status, answer.url.removeprefix(OURS)))
        if answer.status >= 400:
            tab.errors.append(f"{answer.status} {answer.url}")

    page.on("response", note)
    page.goto(f"{SITE}/")
    page.wait_for_load_state("networkidle")
    return asked


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
@pytest.mark.xdist_group("documented-pages")
@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_documented_pages_run(tab: Browser, server: Server, block: Block) -> None:
    asked = run(tab, server, block)
    assert tab.errors == []
    assert any(path.startswith(("/api/", "/key/")) for _, path in asked), asked


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
@pytest.mark.xdist_group("documented-pages")
def test_the_map_of_the_page_is_drawn(tab: Browser, server: Server) -> None:
    block = next(block for block in BLOCKS if block.page.name == "tiles.md")
    asked = run(tab, server, block)
    tab.page.wait_for_selector("canvas.maplibregl-canvas")
    tiles = [path for _, path in asked if re.match(r"/api/v1/tiles/\d+/", path)]
    assert tiles
    assert all("session=ms_" in path for path in tiles)
    assert tab.errors == []


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
@pytest.mark.xdist_group("documented-pages")
def test_the_plugins_of_the_page_answer(tab: Browser, server: Server) -> None:
    block = next(b for b in BLOCKS if b.kind == "js" and b.page.parent.name == "switch")
    run(tab, server, block)
    tab.page.wait_for_selector(".leaflet-routing-alt tr >> nth=2", state="attached")
    for name in ("nominatim", "photon", "pelias"):
        found = tab.evaluate(f"{name}.geocode('Rue Grimaldi 5, Monaco').then(r => r[0].name)")
        assert "Rue Grimaldi" in found
    assert tab.errors == []


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
@pytest.mark.xdist_group("documented-pages")
@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("nothing();", "nothing is not defined"),
        ("fetch('https://maps.example.org/key/pk_live_…/api/v1/nothing');", "404"),
        ("fetch('https://elsewhere.example.org/');", "ERR_FAILED"),
    ],
)
def test_a_broken_page_is_noticed(tab: Browser, server: Server, script: str, error: str) -> None:
    run(tab, server, Block(ROOT / "README.md", 0, "js", script, "", ""))
    assert any(error in text for text in tab.errors), tab.errors
