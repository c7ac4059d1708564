"""Features on an interactive map: one HTML file that has MapLibre, tiles and fonts in it.

Some hundred kilobytes, so results show a plain picture by themselves (notebook.py), and this on
request: `features.to_html("map.html")`, or `features.show()` in a notebook.
"""

from __future__ import annotations

import gzip
import math
import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from html import escape
from importlib.resources import files
from typing import Final

import orjson
import shapely

from mapyard.errors import MapyardError
from mapyard.library.results.feature import Features
from mapyard.library.results.shapes import make_shapes
from mapyard.tiles.glyphs import FONT_STACKS, GlyphSource
from mapyard.tiles.style import SOURCE, THEMES, make_style
from mapyard.tiles.table import TableInfo

Tiles = Callable[[int, int, int], bytes]
Box = tuple[float, float, float, float]

MAX_FEATURES: Final = 5_000
#: Tiles in a page at most; further zooms are drawn from them.
MAX_TILES: Final = 48
_DEEPEST: Final = 14
_RANGES: Final = (0, 256)


def write_page(features: Features, title: str = "") -> str:
    """Return the page; raise MapyardError where nothing has a geometry."""
    shown = [feature.to_geojson() for feature in features[:MAX_FEATURES]]
    shapes = [s for s in make_shapes([f["geometry"] for f in shown]) if s is not None]
    if not shapes:
        raise MapyardError("none of these has a geometry to draw", code="not_found", status=404)
    west, south, east, north = (float(edge) for edge in shapely.total_bounds(shapes))
    box = (west, south, east, north)
    zooms, tiles = _choose_tiles(box, features.tiles)
    style = make_style(THEMES["light"], TableInfo("", box, [], []), base_url="mapyard:/")
    style["sources"] = {
        SOURCE: {
            "type": "vector", "tiles": ["mapyard://tiles/{z}/{x}/{y}"],
            "minzoom": zooms[0], "maxzoom": zooms[1],
            "attribution": "© OpenStreetMap contributors",
        }
    }  # fmt: skip
    style["glyphs"] = "mapyard://glyphs/{fontstack}/{range}"
    del style["sprite"]
    # The page has no world around what it shows: its ground is land.
    style["layers"][0]["paint"] = {"background-color": THEMES["light"].background}
    style["layers"] = [
        layer
        for layer in style["layers"]
        if layer.get("source", SOURCE) == SOURCE
        and "icon-image" not in layer.get("layout", {})
        and "fill-pattern" not in layer["paint"]
    ]
    vendor = files("mapyard.web").joinpath("playground", "vendor")
    packed = {
        "library": _pack(vendor.joinpath("maplibre-gl.mjs").read_bytes()),
        "worker": _pack(vendor.joinpath("maplibre-gl-worker.mjs").read_bytes()),
    }
    data = {
        "style": style, "box": box, "tiles": tiles, "glyphs": _glyphs(),
        "features": {"type": "FeatureCollection", "features": shown},
    }  # fmt: skip
    values = {
        "title": escape(title or repr(features).strip("<>")),
        "css": vendor.joinpath("maplibre-gl.css").read_text(),
        "data": _pack(orjson.dumps(data)),
        **packed,
    }
    page = files("mapyard.library.results").joinpath("page.html").read_text()
    return re.sub(r"\{\{ (\w+) \}\}", lambda found: values[found[1]], page)


def write_frame(features: Features) -> str:
    """Return the page in a frame, for a notebook."""
    return (
        '<iframe style="width:100%;height:420px;border:0;border-radius:6px" '
        f'srcdoc="{escape(write_page(features), quote=True)}"></iframe>'
    )


def _pack(data: bytes) -> str:
    return b64encode(gzip.compress(data, 9, mtime=0)).decode()


def _glyphs() -> dict[str, str]:
    """Return the letters of the Latin scripts in all fonts of the style."""
    source = GlyphSource(None)
    return {
        f"{name}/{start}-{start + 255}": b64encode(source.get(name, start)).decode()
        for name in FONT_STACKS
        for start in _RANGES
    }


def _choose_tiles(box: Box, tiles: Tiles | None) -> tuple[tuple[int, int], dict[str, str]]:
    """Return the zooms that a page has tiles of, and the tiles as base64."""
    west, south, east, north = box
    span = max(east - west, (north - south) * 1.5, 0.004)
    fitting = max(0, min(_DEEPEST, int(math.log2(360 / span)) + 1))
    found: dict[str, str] = {}
    first, last = max(0, fitting - 1), max(0, fitting - 1)
    for zoom in range(first, _DEEPEST + 1):
        wanted = list(_cover(box, span, zoom))
        if tiles is None or len(found) + len(wanted) > MAX_TILES:
            break
        for x, y in wanted:
            found[f"{zoom}/{x}/{y}"] = b64encode(tiles(zoom, x, y)).decode()
        last = zoom
    return (first, last), found


def _cover(box: Box, margin: float, zoom: int) -> Iterator[tuple[int, int]]:
    """Yield the tiles of a zoom that a box with a margin touches."""
    west, south, east, north = box
    side = 1 << zoom

    def column(lon: float) -> int:
        return max(0, min(side - 1, int((lon + 180) / 360 * side)))

    def row(lat: float) -> int:
        y = math.asinh(math.tan(math.radians(max(-85.0, min(85.0, lat)))))
        return max(0, min(side - 1, int((1 - y / math.pi) / 2 * side)))

    for x in range(column(west - margin), column(east + margin) + 1):
        for y in range(row(north + margin * 0.7), row(south - margin * 0.7) + 1):
            yield x, y
