"""The examples run as their texts say, against a server of their own.

Notebooks are in test_notebooks.py, QGIS in test_qgis.py, proxies, alerts and dashboard in
tests/unit/test_operate_files.py, compose files in tests/unit/test_image.py, the plugin in
tests/unit/test_plugins.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import shapely

from browser import CHROMIUM, open_browser
from osm_files import ROOT
from servers import Server, copy_data, free_port, running

EXAMPLES = ROOT / "examples"
LOCATOR_PORT = free_port()
CLIENT = httpx.Client(timeout=60)


@pytest.fixture(scope="module")
def server(monaco: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("examples")
    origins = json.dumps([f"http://127.0.0.1:{LOCATOR_PORT}"])
    with running(
        copy_data(monaco, folder / "data"), folder / "serve.log", MAPYARD_CORS_ORIGINS=origins
    ) as started:
        yield started


def environment(server: Server) -> dict[str, str]:
    return {**os.environ, "MAPYARD_SERVER": server.address, "MAPYARD_KEY": server.key}


def run(server: Server, folder: Path, script: str, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / script), *words],
        env=environment(server), cwd=folder,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def locator(server: Server) -> Iterator[str]:
    """The store locator, running."""
    process = subprocess.Popen(
        [sys.executable, str(EXAMPLES / "store-locator/server.py")],
        env={**environment(server), "PORT": str(LOCATOR_PORT)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("http://localhost:")
        yield f"http://127.0.0.1:{LOCATOR_PORT}"
    finally:
        process.terminate()
        process.wait(10)
        for stream in (process.stdout, process.stderr):
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]


def test_the_locator_orders_stores_by_time_and_keeps_its_key(server: Server, locator: str) -> None:
    page = CLIENT.get(locator).text
    assert server.key not in page
    found = CLIENT.get(f"{locator}/stores", params={"address": "Rue Grimaldi, Monaco"}).json()
    seconds = [store["seconds"] for store in found["stores"]]
    assert seconds == sorted(seconds)
    assert found["stores"][0]["name"] == "Port Hercule"  # 150 m from the street, the others 700 m
    by_car = CLIENT.get(f"{locator}/stores", params={"address": "Larvotto", "mode": "auto"}).json()
    assert by_car["stores"][0]["name"] == "Larvotto"
    token = CLIENT.post(f"{locator}/map-session").json()["token"]
    style = CLIENT.get(f"{server.address}/api/v1/tiles/style.json", params={"session": token})
    assert style.status_code == 200


@pytest.mark.parametrize(
    ("query", "status", "says"),
    [
        ({"address": "xqzzjvw qqqpt"}, 404, "We do not know"),
        ({"address": "a"}, 400, "enter an address"),
        ({"address": "Rue Grimaldi", "mode": "rocket"}, 400, "enter an address"),
    ],
)
def test_the_locator_says_what_is_wrong(
    locator: str, query: dict[str, str], status: int, says: str
) -> None:
    answer = CLIENT.get(f"{locator}/stores", params=query)
    assert answer.status_code == status
    assert says in answer.json()["message"]


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_the_locator_in_a_browser(locator: str) -> None:
    with open_browser() as browser:
        browser.open(locator)
        browser.page.wait_for_function(
            "document.documentElement.dataset.drawn > 50", timeout=60_000
        )
        browser.fill("#address", "Rue Grimaldi, Monaco")
        browser.click("button")
        browser.page.wait_for_selector("li", timeout=20_000)
        assert browser.page.inner_text("li").startswith("Port Hercule")
        assert browser.page.locator(".maplibregl-marker").count() == 6
        assert browser.errors == []


def test_delivery_zones_are_rings_around_the_depot(server: Server, tmp_path: Path) -> None:
    said = run(
        server, tmp_path, "delivery-zones/zones.py", "--depot", "43.7384,7.4246",
        "Rue Grimaldi, Monaco", "Avenue Albert II, Monaco", "xqzzjvw qqqpt",
    )  # fmt: skip
    assert re.search(r"^Rue Grimaldi, Monaco: 5 min, 2\.90$", said, re.MULTILINE)
    assert re.search(r"^Avenue Albert II, Monaco: 10 min, 4\.90$", said, re.MULTILINE)
    assert "xqzzjvw qqqpt: not found" in said
    zones = json.loads((tmp_path / "zones.geojson").read_text())["features"]
    shapes = [shapely.geometry.shape(zone["geometry"]) for zone in zones]
    assert [zone["properties"]["minutes"] for zone in zones] == [5, 10, 20]
    assert shapely.covers(shapes[0], shapely.Point(7.4246, 43.7384))
    assert all(shape.is_valid for shape in shapes)
    assert shapely.intersection(shapes[0], shapes[1]).area < 1e-12


def test_a_small_fleet_is_dispatched(server: Server, tmp_path: Path) -> None:
    said = run(server, tmp_path, "dispatch/dispatch.py")
    assert sorted(re.findall(r"order (\d+)", said)) == [str(number) for number in range(101, 109)]
    tours = json.loads((tmp_path / "tours.geojson").read_text())["features"]
    assert {tour["properties"]["car"] for tour in tours} <= {"van", "small", "bike"}
    assert all(len(tour["geometry"]["coordinates"]) > 20 for tour in tours)
    # A tour's crates fit its car, and every order is met within its window.
    crates = {row[0]: int(row[3]) for row in rows("orders.csv")}
    windows = {row[0]: (row[5], row[6]) for row in rows("orders.csv")}
    room = {row[0]: int(row[3]) for row in rows("cars.csv")}
    for car, tour in re.findall(r"(?m)^(\w+): .*\n((?:  .*\n)+)", said):
        stops = re.findall(r"(\d\d:\d\d)  order (\d+)(?:, waits (\d+) min)?", tour)
        assert sum(crates[order] for _, order, _ in stops) <= room[car]
        for clock, order, waits in stops:
            hours, minutes = map(int, clock.split(":"))
            begins = hours * 60 + minutes + int(waits or 0) + 1  # minutes are rounded down
            first, last = (int(t[:2]) * 60 + int(t[3:]) for t in windows[order])
            assert first <= begins <= last + 1


def rows(name: str) -> list[list[str]]:
    lines = (EXAMPLES / "dispatch" / name).read_text().splitlines()[1:]
    return [line.split(",") for line in lines]


def test_an_order_that_nobody_can_take_is_named(server: Server, tmp_path: Path) -> None:
    orders = (
        EXAMPLES / "dispatch/orders.csv"
    ).read_text() + "109,43.7349,7.4206,99,5,09:00,11:00\n"
    (tmp_path / "orders.csv").write_text(orders)
    said = run(server, tmp_path, "dispatch/dispatch.py", "--orders", "orders.csv")
    assert "nobody takes order 109: " in said


def test_every_example_is_listed() -> None:
    listed = set(
        re.findall(r"^\| \[[\w-]+\]\(([^)]+)\)", (EXAMPLES / "README.md").read_text(), re.M)
    )
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir()}
    assert {name for name in listed if not name.startswith("..")} == folders
