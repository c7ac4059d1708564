"""Plugins of Leaflet and MapLibre, unchanged, on a page of another origin with our address."""

from __future__ import annotations

import functools
import json
import threading
import time
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from browser import CHROMIUM, WEBGL, Browser, open_browser
from servers import Server, copy_data, running

PLUGINS = Path(__file__).parents[1] / "data" / "plugins"
pytestmark = [
    pytest.mark.xdist_group("plugins"),
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
]


class Quiet(SimpleHTTPRequestHandler):
    """Serves the pages, and says nothing."""

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def pages() -> Iterator[str]:
    """The origin of the pages: another one than the server's."""
    handler = functools.partial(Quiet, directory=str(PLUGINS))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def server(monaco: Path, pages: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("plugins")
    data = copy_data(monaco, folder / "data")
    with running(data, folder / "serve.log", MAPYARD_CORS_ORIGINS=json.dumps([pages])) as started:
        yield started


@pytest.fixture(scope="module")
def tab() -> Iterator[Browser]:
    with open_browser(*WEBGL) as browser:
        yield browser


@pytest.fixture
def leaflet(tab: Browser, server: Server, pages: str) -> Iterator[Browser]:
    tab.errors.clear()
    tab.open(f"{pages}/leaflet.html?server={server.address}/key/{server.key}")
    yield tab
    assert tab.errors == []


def wait(tab: Browser, condition: str, timeout_s: float = 40.0) -> None:
    ends_s = time.monotonic() + timeout_s
    while not tab.evaluate(f"Boolean({condition})"):
        assert time.monotonic() < ends_s, (condition, tab.errors)
        time.sleep(0.05)


@pytest.mark.parametrize("kind", ["nominatim", "photon", "pelias"])
def test_leaflet_geocoders(leaflet: Browser, kind: str) -> None:
    found = leaflet.evaluate(
        f"geocoders.{kind}.geocode('Rue Grimaldi 5, Monaco')"
        ".then(r => r.map(x => [x.name, x.center]))"
    )
    name, center = found[0]
    assert "Rue Grimaldi" in name
    assert (center["lat"], center["lng"]) == pytest.approx((43.7356, 7.4198), abs=0.0005)
    there = leaflet.evaluate(
        f"geocoders.{kind}.reverse(L.latLng(43.73565, 7.41984), map.options.crs.scale(18))"
        ".then(r => r.map(x => x.name))"
    )
    assert any("Grimaldi" in name for name in there), there


@pytest.mark.parametrize("kind", ["photon", "pelias"])
def test_leaflet_suggestions(leaflet: Browser, kind: str) -> None:
    found = leaflet.evaluate(f"geocoders.{kind}.suggest('rue grim').then(r => r.map(x => x.name))")
    assert any("Rue Grimaldi" in name for name in found), found


def test_a_person_types_into_the_leaflet_control(leaflet: Browser) -> None:
    leaflet.fill(".leaflet-control-geocoder input", "Casino de Monte-Carlo")
    leaflet.page.press(".leaflet-control-geocoder input", "Enter")
    wait(
        leaflet,
        "document.querySelector('.leaflet-marker-icon, .leaflet-control-geocoder-alternatives li')",
    )
    if leaflet.page.locator(".leaflet-control-geocoder-alternatives li").count():
        leaflet.page.locator(".leaflet-control-geocoder-alternatives li").first.click()
    wait(leaflet, "document.querySelector('.leaflet-marker-icon')")
    lat, lng = leaflet.evaluate("[map.getCenter().lat, map.getCenter().lng]")
    assert (lat, lng) == pytest.approx((43.739, 7.428), abs=0.003)


def test_leaflet_routing_machine(leaflet: Browser) -> None:
    routes = leaflet.evaluate(
        "routing([[43.7384, 7.4246], [43.7356, 7.4270], [43.7314, 7.4197]]).then(r => r.map ? "
        "r.map(x => ({summary: x.summary,"
        " texts: x.instructions.map(i => [i.type, i.road, i.distance]),"
        " points: x.coordinates.length, vias: x.waypointIndices.length})) : String(r.message))"
    )
    route = routes[0]
    assert route["summary"]["totalDistance"] > 1_000
    assert route["summary"]["totalTime"] > 120
    assert route["vias"] == 3
    assert route["points"] > 20
    kinds = [kind for kind, _, _ in route["texts"]]
    assert kinds[0] == "Head"
    assert kinds.count("WaypointReached") == 1
    assert kinds[-1] == "DestinationReached"
    assert any(road for _, road, _ in route["texts"])
    wait(leaflet, "document.querySelectorAll('.leaflet-routing-alt tr').length > 3")
    assert "undefined" not in leaflet.text(".leaflet-routing-alt")


def test_maplibre_geocoder(tab: Browser, server: Server, pages: str) -> None:
    tab.errors.clear()
    tab.open(f"{pages}/maplibre.html?server={server.address}/key/{server.key}")
    wait(tab, "window.shown && document.querySelector('.maplibregl-ctrl-geocoder--input')", 90)
    tab.page.locator(".maplibregl-ctrl-geocoder--input").press_sequentially(
        "Port Hercule", delay=20
    )
    tab.page.press(".maplibregl-ctrl-geocoder--input", "Enter")
    wait(
        tab,
        "document.querySelector('.maplibregl-ctrl-geocoder .suggestions li, .maplibregl-marker')",
    )
    if not tab.page.locator(".maplibregl-marker").count():
        tab.page.locator(".maplibregl-ctrl-geocoder .suggestions li").first.click()
    wait(tab, "document.querySelector('.maplibregl-marker') && !shown.map.isMoving()", 60)
    lng, lat = tab.evaluate("shown.map.getCenter().toArray()")
    assert (lat, lng) == pytest.approx((43.735, 7.425), abs=0.004)
    assert tab.errors == []
