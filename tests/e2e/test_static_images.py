"""Pictures of maps from a running server: views, marks, raster tiles, limits and errors."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mapyard.deadline import Deadline
from mapyard.errors import NotInstalled
from mapyard.http.endpoints import collect
from mapyard.images.picture import Picture
from mapyard.images.renderers import Renderers
from mapyard.server.assembly import load_modules
from servers import Server, running

pytestmark = pytest.mark.xdist_group("images")
LAND_LIGHT = 200
DRAWN = ("/api/v1/static/{size}", "/api/v1/raster/{z}/{x}/{y}")


@pytest.fixture(scope="module")
def server(monaco_copy: Path) -> Iterator[Server]:
    probe = Renderers(1)
    empty = json.dumps({"version": 8, "sources": {}, "layers": []}).encode()
    try:
        probe.draw(Picture(empty, 16, 16, 1, 0, 0, 0, 0, 0, "png", [], "", ""), Deadline(60))
    except NotInstalled as error:
        pytest.skip(error.message)
    finally:
        probe.close()
    log = monaco_copy.parent / "images.log"
    with running(monaco_copy, log, workers=1, MAPYARD_TIMEOUT_S="120") as started:
        # The first picture loads OpenGL, which takes long on a busy machine.
        path = f"{started.address}/api/v1/static/16x16.png"
        httpx.get(path, headers={"X-API-Key": started.key}, timeout=150)
        yield started


def read(data: bytes) -> Any:
    from PIL import Image

    return Image.open(io.BytesIO(data)).convert("RGB")


def colors_of(image: Any) -> int:
    return len(image.getcolors(1 << 24))


def test_a_view(server: Server) -> None:
    answer = server.get("/api/v1/static/800x500.png?center=43.7384,7.4246&zoom=15")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "image/png"
    image = read(answer.content)
    assert image.size == (800, 500)
    assert colors_of(image) > 1_000  # a map, not an empty sheet
    harbor, hill = image.getpixel((400, 400)), image.getpixel((60, 30))
    assert harbor[2] > harbor[0] + 30  # the sea is blue
    assert min(hill) > LAND_LIGHT
    # Turned by half, the sea is above.
    turned = server.get("/api/v1/static/800x500.png?center=43.7384,7.4246&zoom=15&bearing=180")
    assert read(turned.content).getpixel((400, 100)) == harbor


def test_dark_and_fine(server: Server) -> None:
    path = "/api/v1/static/300x200@2x.webp?center=43.7384,7.4246&zoom=15&theme=dark"
    image = read(server.get(path).content)
    assert image.size == (600, 400)
    pixels = list(image.get_flattened_data())
    assert sum(sum(pixel) for pixel in pixels) / len(pixels) < 3 * 100


def test_marks_and_the_view_that_shows_them(server: Server) -> None:
    west, south, east, north = 7.40, 43.72, 7.44, 43.75
    ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    square = {
        "type": "Feature",
        "properties": {"fill": "#00ff00", "fill-opacity": 1, "stroke": "#00ff00"},
        "geometry": {"type": "Polygon", "coordinates": [ring]},
    }
    answer = server.post("/api/v1/static/400x400.png", json={"geojson": square, "padding": 50})
    image = read(answer.content)
    places = [(x, y) for x in range(400) for y in range(0, 400, 7)]
    green = [place for place in places if image.getpixel(place) == (0, 255, 0)]
    # As high as the padding allows, and narrower: 0.04° of longitude and 0.03° of latitude here.
    assert min(y for _, y in green) in range(46, 60)
    assert max(y for _, y in green) in range(340, 355)
    assert 380 - max(x for x, _ in green) == pytest.approx(min(x for x, _ in green) - 20, abs=4)


def test_a_pdf_and_a_default_view(server: Server) -> None:
    assert server.get("/api/v1/static/600x400.pdf").content.startswith(b"%PDF")
    image = read(server.get("/api/v1/static/600x400.png").content)
    assert colors_of(image) > 500


def test_raster_tiles_meet_and_are_kept(server: Server, monaco_copy: Path) -> None:
    left = read(server.get("/api/v1/raster/15/17059/11948.png").content)
    right = read(server.get("/api/v1/raster/15/17060/11948.png").content)
    assert left.size == right.size == (256, 256)
    # What is at the edge of one goes on in the other.
    edges = [(left.getpixel((255, y)), right.getpixel((0, y))) for y in range(256)]
    steps = [sum(abs(a - b) for a, b in zip(*edge, strict=True)) for edge in edges]
    assert sorted(steps)[200] < 60
    fine = server.get("/api/v1/raster/15/17059/11948@2x.webp")
    assert read(fine.content).size == (512, 512)
    kept = sorted(path.parent.parent.parent.parent.name for path in
                  (monaco_copy / "cache" / "raster").rglob("11948"))  # fmt: skip
    assert kept == ["light-1-png", "light-1-png", "light-2-webp"]


def test_the_same_place_as_the_vector_tile(server: Server) -> None:
    """A raster tile and a picture of its middle show the same."""
    from mapyard.tiles.mercator import GRID_SIZE, TileId, tile_bounds_deg, unproject

    unit = GRID_SIZE / (1 << 14)
    lon, lat = unproject((8529 + 0.5) * unit, (5974 + 0.5) * unit)
    west, south, east, north = tile_bounds_deg(TileId(14, 8529, 5974))
    assert west < lon < east
    assert south < lat < north
    tile = read(server.get("/api/v1/raster/14/8529/5974.png").content)
    view = read(server.get(f"/api/v1/static/256x256.png?center={lat},{lon}&zoom=13").content)
    same = [tile.getpixel((x, y)) == view.getpixel((x, y)) for x in range(0, 256, 5)
            for y in range(0, 200, 5)]  # fmt: skip
    assert sum(same) / len(same) > 0.9


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("static/800x500.gif", "WIDTHxHEIGHT.KIND"),
        ("static/9000x500.png", "at most 2048"),
        ("static/8x500.png", "at least 16"),
        ("static/2000x2000@3x.png", "more than 8,400,000 pixels"),
        ("static/80x50.png?center=43.7,7.4", "needs a zoom"),
        ("static/80x50.png?center=43.7,7.4&zoom=9&bbox=1,2,3,4", "give one of them"),
        ("static/80x50.png?markers=43.7,7.4&labels=A|B", "2 texts for 1 markers"),
        ("static/80x50.png?markers=43.7,7.4&marker_color=puce", "must be #rgb"),
        ("static/80x50.png?path=43.7,7.4", "two positions or more"),
        ("static/80x50.png?pitch=80", "pitch"),
        ("raster/15/17059/11948.jpg", "a row and a kind"),
        ("raster/15/17059/99999999.png", "at zoom 15"),
    ],
)
def test_what_is_wrong_is_named(server: Server, path: str, message: str) -> None:
    answer = server.get(f"/api/v1/{path}")
    assert answer.status_code == 400, answer.text
    assert message in answer.json()["error"]["message"]


def test_the_examples_of_the_reference(server: Server) -> None:
    shown = [endpoint for endpoint in collect(load_modules()) if endpoint.path in DRAWN]
    assert len(shown) == 2
    for endpoint in shown:
        for example in endpoint.examples:
            rest = dict(example.params)
            names = [name for name in rest if f"{{{name}}}" in endpoint.path]
            path = endpoint.path.format(**{name: rest.pop(name) for name in names})
            answer = server.get(path, params=rest)
            assert answer.status_code == 200, answer.text
            assert colors_of(read(answer.content)) > 500


def test_drawing_takes_no_units_for_its_tiles(server: Server) -> None:
    before = float(server.get("/api/v1/static/200x200.png?center=43.73,7.42&zoom=15")
                   .headers["x-ratelimit-remaining"])  # fmt: skip
    after = float(server.get("/api/v1/static/200x200.png?center=43.73,7.42&zoom=15")
                  .headers["x-ratelimit-remaining"])  # fmt: skip
    assert before - after == 1
