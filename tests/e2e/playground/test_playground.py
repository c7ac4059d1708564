"""The map page in a browser: search, route, isochrone, queries; no error in the console."""

from __future__ import annotations

import json
import time
from pathlib import Path

import httpx
import pytest

from browser import PHONE, Browser
from map_page import (
    click_map,
    find_violations,
    forget_errors,
    open_link,
    open_tool,
    wait,
    wait_for_text,
    write_query,
)
from servers import Server

pytestmark = pytest.mark.xdist_group("playground")


def test_the_map_is_drawn_from_this_server_only(page: Browser, server: Server) -> None:
    drawn = page.evaluate(
        "[...new Set(playground.map.queryRenderedFeatures().map(f => f.sourceLayer))]"
    )
    assert {"streets", "buildings", "land"} <= set(drawn)
    asked = page.evaluate("performance.getEntriesByType('resource').map(e => e.name)")
    assert asked
    assert all(name.startswith((server.address, "blob:", "data:")) for name in asked)
    assert not any("api_key" in name or "pk_live" in name for name in asked)


@pytest.mark.usefixtures("window")
def test_search_suggests_and_shows(page: Browser) -> None:
    page.fill("#panel input", "Casino")
    wait(page, "document.querySelectorAll('#suggestions li').length > 0")
    for key in ("ArrowDown", "Enter"):
        page.press(key)
    wait(page, "document.querySelector('#panel article.card')")
    assert "casino" in page.text("#panel article.card").lower()
    wait(page, "document.querySelector('.drawer .status').dataset.ok === 'true'")


@pytest.mark.usefixtures("window")
def test_a_click_says_what_is_there(page: Browser) -> None:
    click_map(page, 7.4290, 43.7395)
    wait(page, "document.querySelector('#panel article.card')")
    # Which of the things there is nearest depends on how far the map is zoomed in.
    text = page.text("#panel article.card")
    assert "Monaco" in text or "Avenue des Spélugues" in text


@pytest.mark.usefixtures("window")
def test_a_route_follows_its_pins(page: Browser) -> None:
    open_tool(page, "route")
    click_map(page, 7.4215, 43.7365)
    click_map(page, 7.4290, 43.7395)
    wait(page, "document.querySelector('#panel .choice')")
    assert "min" in page.text("#panel .choice")
    before = page.evaluate("JSON.stringify(playground.page.shared.line)")
    page.evaluate("document.querySelectorAll('.pin')[1].focus()")
    for _ in range(3):
        page.press("ArrowUp")
    wait(page, f"JSON.stringify(playground.page.shared.line) !== {json.dumps(before)}")
    if not page.evaluate("document.querySelector('.drawer').open"):
        page.click(".drawer summary")
    for tab_id, text in (
        ("curl", "curl -X POST"),
        ("python", "httpx.post"),
        ("javascript", "fetch("),
    ):
        page.click(f"#tab-{tab_id}")
        assert text in page.text(".drawer .code")
        assert "YOUR_KEY" in page.text(".drawer .code")
    page.click("#tab-answer")
    assert '"distance_m"' in page.text(".drawer .code")


@pytest.mark.usefixtures("window")
def test_an_isochrone_has_three_areas(page: Browser) -> None:
    open_tool(page, "isochrone")
    click_map(page, 7.4246, 43.7384)
    wait(page, "document.querySelectorAll('#panel .legend li').length === 3")
    kinds = page.evaluate("playground.maplibre.data.features.map(f => f.geometry.type)")
    assert set(kinds) <= {"Polygon", "MultiPolygon"}


@pytest.mark.parametrize(
    ("tool", "button"),
    [
        ("features", "form .primary"),
        ("overpass", ".primary"),
        ("sparql", ".primary"),
        ("plazaql", ".primary"),
    ],
)
@pytest.mark.usefixtures("window")
def test_results_of_queries_are_on_the_map(page: Browser, tool: str, button: str) -> None:
    open_tool(page, tool)
    page.click(f"#panel {button}")
    wait(page, "document.querySelectorAll('#panel .list .item').length > 0")
    assert page.evaluate("playground.maplibre.data.features.length") > 0


@pytest.mark.usefixtures("window")
def test_values_of_a_query_are_a_table(page: Browser) -> None:
    open_tool(page, "plazaql")
    write_query(page, 'search(way, highway: *).group_by(t["highway"]).count();')
    page.click("#panel .primary")
    wait(page, "document.querySelectorAll('.results .tags tr').length > 5")
    numbers = page.evaluate(
        "[...document.querySelectorAll('.results .tags td')]"
        ".map(cell => Number(cell.innerText.replaceAll(',', '')))"
    )
    assert numbers == sorted(numbers, reverse=True)
    write_query(page, "search(node).witin(5);")
    page.click("#panel .primary")
    wait(page, "document.querySelector('.message').dataset.state === 'error'")
    assert "did you mean within?" in page.text(".message")
    forget_errors(page)


@pytest.mark.usefixtures("window")
def test_a_file_becomes_a_dataset_on_the_map(page: Browser, tmp_path: Path, axe: str) -> None:
    rows = "name,lat,lon\nUn,43.7384,7.4246\nDeux,43.7314,7.4197\nNowhere,x,y\n"
    (tmp_path / "My Shops.csv").write_text(rows)
    open_tool(page, "datasets")
    wait_for_text(page, "You have no datasets yet")
    page.page.set_input_files("#panel input[type=file]", tmp_path / "My Shops.csv")
    wait(page, "document.querySelector('#panel article.card') !== null")
    assert 'dataset("my-shops") · 3 rows, 1 with problems' in page.text("#panel article.card")
    assert "Row 3: lat 'x'" in page.text("#panel .warnings")
    wait(page, "playground.map.queryRenderedFeatures({layers: ['own-point']}).length === 2")
    assert find_violations(page, axe) == []
    page.evaluate("void playground.map.jumpTo({center: [7.4246, 43.7384], zoom: 17})")
    wait(page, "playground.map.loaded()")
    click_map(page, 7.4246, 43.7384)
    wait_for_text(page, "Un")
    page.click('#corner button[title="Buildings in 3D"]')
    wait(page, "Boolean(playground.map.getLayer('building-raised'))")
    assert "look=3d" in page.evaluate("location.hash")
    page.click('#corner button[title="Buildings in 3D"]')
    wait(page, "!playground.map.getLayer('building-raised') && playground.map.loaded()")
    assert "look" not in page.evaluate("location.hash")
    page.click('#corner button[title="Light or dark"]')
    wait(page, "playground.map.getStyle()?.name === 'Mapyard Dark'")
    wait(page, "Boolean(playground.map.getLayer('own-point'))")
    page.click('#corner button[title="Light or dark"]')
    (tmp_path / "My Shops.csv").write_text("a,b\n1,2\n")
    page.page.set_input_files("#panel input[type=file]", tmp_path / "My Shops.csv")
    wait_for_text(page, "no column says where a row lies")
    page.page.once("dialog", lambda dialog: dialog.accept())
    page.click("#panel .list .item")
    page.click("#panel article.card .quiet")
    wait_for_text(page, "You have no datasets yet")
    open_tool(page, "search")
    assert page.evaluate("playground.map.getLayer('own-point') === undefined")
    forget_errors(page)


@pytest.mark.parametrize("tool", ["overpass", "sparql"])
@pytest.mark.usefixtures("window")
def test_a_query_is_explained(page: Browser, tool: str, axe: str) -> None:
    open_tool(page, tool)
    page.click("#panel >> text=Explain")
    wait(page, "document.querySelectorAll('.plan tbody tr').length > 1")
    rows = page.evaluate(
        "[...document.querySelectorAll('.plan tbody tr')].map(r => r.innerText.split(/\\s+/))"
    )
    assert any(row[0] in ("start", "triple") for row in rows)
    assert all(float(row[-1]) >= 0 for row in rows)
    assert find_violations(page, axe) == []
    page.click("#panel .primary")
    wait(page, "document.querySelectorAll('#panel .list .item').length > 0")
    assert page.evaluate("document.querySelector('#query-plan').hidden")


@pytest.mark.parametrize(
    ("tool", "query", "warning"),
    [
        ("sparql", "SELECT ?s { ?s osmkey:amenty ?o }", "did you mean osmkey:amenity?"),
        ("overpass", "node(5,6,7,8);out;", "outside of the data"),
    ],
)
@pytest.mark.usefixtures("window")
def test_warnings_stand_above_the_results(
    page: Browser, tool: str, query: str, warning: str
) -> None:
    open_tool(page, tool)
    write_query(page, query)
    page.click("#panel .primary")
    wait(page, "!document.querySelector('.warnings').hidden")
    assert warning in page.text(".warnings")
    page.click("#panel >> text=Explain")
    wait(page, "document.querySelectorAll('.plan tbody tr').length > 0")
    assert warning in page.text(".warnings")


@pytest.mark.usefixtures("window")
def test_the_tile_inspector_names_the_features(page: Browser) -> None:
    open_tool(page, "tiles")
    wait_for_text(page, "Layers in view")
    click_map(page, 7.4246, 43.7384)
    wait(page, "document.querySelectorAll('#panel article.card').length > 0")
    assert "kB" in page.text("#panel")


def test_tools_without_an_endpoint_are_left_out(page: Browser, server: Server) -> None:
    config = httpx.get(f"{server.address}/playground/config.json").json()
    script = "[...document.querySelectorAll('#tools button')].map(b => b.dataset.tool)"
    shown = page.evaluate(script)
    paths = {
        "route": "route",
        "matrix": "matrix",
        "sparql": "sparql",
        "elevation": "elevation/profile",
    }
    for tool, path in paths.items():
        assert (tool in shown) == (f"/api/v1/{path}" in config["paths"])


def test_it_works_on_a_phone_and_in_the_dark(page: Browser) -> None:
    page.resize(*PHONE)
    try:
        page.click('#corner button[title="Light or dark"]')
        wait(page, "playground.map.isStyleLoaded()")
        wait(page, "playground.map.getStyle()?.name === 'Mapyard Dark'")
        open_tool(page, "nearest")
        wait_for_text(page, "Nearest road")
        widths = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert widths[0] <= widths[1]
        page.click('#corner button[title="Light or dark"]')
        wait(page, "playground.map.getStyle()?.name === 'Mapyard Light'")
    finally:
        page.resize(1280, 900)


@pytest.mark.parametrize(
    "tool",
    [
        "search",
        "route",
        "isochrone",
        "matrix",
        "optimize",
        "match",
        "features",
        "tags",
        "overpass",
        "tiles",
    ],
)
def test_the_page_is_accessible(page: Browser, axe: str, tool: str) -> None:
    open_tool(page, tool)
    assert find_violations(page, axe) == []


def test_a_page_whose_session_has_ended_asks_for_a_new_one(page: Browser) -> None:
    page.page.context.clear_cookies(name="mapyard_api")
    open_tool(page, "nearest")
    with page.page.expect_console_message(lambda message: "401" in message.text):
        click_map(page, 7.4246, 43.7384)
    wait(page, "document.querySelector('.drawer .status')?.dataset.ok === 'true'")
    page.errors[:] = [text for text in page.errors if "401" not in text]


def test_keys_reach_every_tool(page: Browser) -> None:
    page.evaluate("document.activeElement.blur()")
    for key, title in (("2", "Route"), ("3", "Isochrone")):
        page.press(key)
        wait(page, f"document.querySelector('#panel h1').innerText === {title!r}")
    page.press("/")
    wait(page, "document.activeElement.type === 'search'")
    assert page.evaluate("document.activeElement.value") == ""


SESSION = "/playground/session"


def test_the_first_browser_redeems_the_link(server: Server, monaco_copy: Path) -> None:
    link = open_link(server, monaco_copy)
    assert httpx.post(server.address + SESSION).json() == {"session": False}
    with httpx.Client() as first:
        assert first.head(link).status_code == 303  # a look uses nothing up
        answer = first.get(link)
        assert answer.headers["location"] == "/"
        assert "HttpOnly; SameSite=Strict" in answer.headers["set-cookie"]
        answer = first.post(server.address + SESSION)
        assert answer.json() == {"session": True}
        cookie = answer.headers["set-cookie"]
        for word in ("HttpOnly", "SameSite=Strict", "Path=/api", "Max-Age=900"):
            assert word in cookie
        assert first.get(link).headers["location"] == "/"  # this browser is in already
        # The map's session opens no page of the account.
        assert first.get(f"{server.address}/account/keys").headers["location"].startswith("/sign")
    second = httpx.get(link)
    assert second.status_code == 403
    assert "mapyard open" in second.text


def test_the_page_allows_no_other_origin(server: Server) -> None:
    answer = httpx.get(f"{server.address}/")
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe-inline" not in policy
    assert "'unsafe-eval'" not in policy
    assert httpx.get(f"{server.address}/playground/../playground.py").status_code == 404
    assert httpx.get(f"{server.address}/playground/%2e%2e/playground.py").status_code == 404


def test_the_map_draws_with_a_session_and_renews_it(page: Browser) -> None:
    asked = (
        "performance.getEntriesByType('resource').map(e => e.name)"
        ".filter(n => /style.json|sprites|glyphs/.test(n))"
    )
    wait(page, f"{asked}.some(n => n.includes('/glyphs/'))")
    names = page.evaluate(asked)
    assert all("session=ms_" in name for name in names)
    before = page.evaluate("playground.maplibre.session.token")
    page.evaluate("void (playground.maplibre.session.endsMs = Date.now() + 30_000)")
    page.evaluate("void playground.map.jumpTo({center: [7.4150, 43.7290], zoom: 16.5})")
    wait(page, f"playground.maplibre.session.token !== {json.dumps(before)}")


def test_an_empty_map_says_why(page: Browser) -> None:
    page.evaluate("void playground.map.fire('error', {error: {status: 501}})")
    wait(page, "document.querySelector('#trouble')")
    assert "without tiles" in page.text("#trouble")
    time.sleep(3.1)
    page.evaluate("void playground.map.jumpTo({center: [7.4200, 43.7300], zoom: 15.5})")
    wait(page, "!document.querySelector('#trouble')")


def test_the_last_view_is_remembered(page: Browser, server: Server) -> None:
    page.evaluate("void playground.map.jumpTo({center: [7.4190, 43.7310], zoom: 16.25})")
    wait(page, "localStorage.getItem('mapyard-view').includes('16.25')")
    page.open(f"{server.address}/")
    wait(page, "window.playground && window.playground.map.loaded()", 90)
    zoom, lon = page.evaluate("[playground.map.getZoom(), playground.map.getCenter().lng]")
    assert (zoom, lon) == pytest.approx((16.25, 7.4190), abs=0.001)
    page.evaluate("localStorage.removeItem('mapyard-view')")
    page.open(f"{server.address}/")
    wait(page, "window.playground && window.playground.map.loaded()", 90)
    zoom, lon = page.evaluate("[playground.map.getZoom(), playground.map.getCenter().lng]")
    assert 12.5 < zoom < 16  # the town, and not the sea of the extract
    assert 7.37 < lon < 7.44
