"""How results show themselves in notebooks: small maps drawn offline, and tables.

A map is one SVG, so it needs no script and no network: the features in web Mercator, over the
streets, water and buildings of the dataset's own vector tiles where the map that answered has them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final

import numpy as np
import shapely

from mapyard.library.results.feature import Features
from mapyard.library.results.shapes import make_shapes

MAX_FEATURES: Final = 500
_WIDTH, _HEIGHT = 640, 360
_MAX_ZOOM: Final = 14
#: Layers of the tiles that are drawn, bottom first: how each looks.
_LAYERS: Final = {
    "ocean": "fill:#cfe3ee",
    "land": "fill:#eef1e6",
    "water_polygons": "fill:#cfe3ee",
    "buildings": "fill:#e3ded5",
    "streets": "fill:none;stroke:#fff;stroke-width:2.5",
}
_TABLE_ROWS: Final = 20

Tiles = Callable[[int, int, int], bytes]


def draw(features: Sequence[Mapping[str, Any]], title: str, tiles: Tiles | None = None) -> str:
    """Return HTML with a map of GeoJSON features and a title below it."""
    shapes = [s for s in make_shapes([f["geometry"] for f in features]) if s is not None]
    caption = f'<div style="font:13px sans-serif;color:#555">{escape(title)}</div>'
    drawn = [shape for shape in shapes if not shape.is_empty]
    if not drawn:
        return caption
    view = _View(np.array(drawn, object))
    ground = "".join(_draw_ground(view, tiles)) if tiles is not None else ""
    marks = "".join(_draw_mark(view, shape) for shape in drawn)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'style="max-width:100%;width:{_WIDTH}px;background:#f6f5f1;border-radius:6px" '
        f'role="img" aria-label="{escape(title, quote=True)}">'
        f'{ground}<g style="fill:#2563eb33;stroke:#2563eb;stroke-width:2.5;'
        f'stroke-linejoin:round;stroke-linecap:round">{marks}</g>'
        '<text x="632" y="352" text-anchor="end" style="font:10px sans-serif;fill:#666">'
        f"© OpenStreetMap contributors</text></svg>{caption}"
    )


def draw_features(features: Features) -> str:
    """Return HTML with a map of the first features."""
    shown = [feature.to_geojson() for feature in features[:MAX_FEATURES]]
    title = repr(features).strip("<>")
    if len(shown) == MAX_FEATURES and len(features) > MAX_FEATURES:
        title += f" (the first {MAX_FEATURES} are drawn)"
    return draw(shown, title, features.tiles)


def draw_table(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Return HTML with the first rows of a table."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_show(row.get(name)))}</td>" for name in columns) + "</tr>"
        for row in rows[:_TABLE_ROWS]
    )
    more = f"<div>{len(rows):,} rows</div>" if len(rows) > _TABLE_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _show(value: Any) -> str:
    return "" if value is None else str(value)


class _View:
    """From degrees to pixels of the picture, in web Mercator."""

    def __init__(self, shapes: np.ndarray[Any, Any]) -> None:
        west, south, east, north = shapely.total_bounds(shapes)
        (left, right), (bottom, top) = _project(np.array([[west, south], [east, north]])).T
        span = max((right - left) / (_WIDTH - 60), (top - bottom) / (_HEIGHT - 60), 2e-8)
        self.scale = 1.0 / span
        self.left = (left + right) / 2 - _WIDTH / 2 * span
        self.top = (top + bottom) / 2 + _HEIGHT / 2 * span
        #: Zoom at which a tile has about 256 pixels of the picture.
        self.zoom = max(0, min(_MAX_ZOOM, round(math.log2(self.scale / 256))))

    def to_pixels(self, lonlat: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return self.from_world(_project(lonlat))

    def from_world(self, xy: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return pixels of positions in the unit square, y upward."""
        out = np.empty_like(xy)
        out[:, 0] = (xy[:, 0] - self.left) * self.scale
        out[:, 1] = (self.top - xy[:, 1]) * self.scale
        return np.round(out, 1)

    def tiles(self) -> Iterable[tuple[int, int, int]]:
        """Yield the tiles that the picture shows."""
        side = 1 << self.zoom
        right = self.left + _WIDTH / self.scale
        bottom = self.top - _HEIGHT / self.scale
        for x in range(int(self.left * side), int(right * side) + 1):
            for y in range(int((1 - self.top) * side), int((1 - bottom) * side) + 1):
                if 0 <= x < side and 0 <= y < side:
                    yield self.zoom, x, y


def _project(lonlat: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return positions in the unit square of web Mercator, y upward."""
    lat = np.radians(np.clip(lonlat[:, 1], -85.05, 85.05))
    y = np.arcsinh(np.tan(lat)) / (2 * math.pi) + 0.5
    return np.column_stack([lonlat[:, 0] / 360 + 0.5, y])


def _draw_mark(view: _View, shape: shapely.Geometry) -> str:
    if shape.geom_type in ("Point", "MultiPoint"):
        return "".join(
            f'<circle cx="{x}" cy="{y}" r="5" style="fill:#2563eb;stroke:#fff"/>'
            for x, y in view.to_pixels(shapely.get_coordinates(shape)).tolist()
        )
    simple = shapely.simplify(shape, 0.3 / view.scale * 360)
    style = "" if "Polygon" in shape.geom_type else ' style="fill:none"'
    return f'<path d="{_write_path(simple, view.to_pixels)}"{style}/>'


def _write_path(
    shape: shapely.Geometry, to_pixels: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]
) -> str:
    parts = []
    for part in shapely.get_parts(shape):
        if part.geom_type == "GeometryCollection":
            parts.append(_write_path(part, to_pixels))
            continue
        rings = shapely.get_rings(part) if part.geom_type == "Polygon" else [part]
        for ring in rings:
            points = to_pixels(shapely.get_coordinates(ring)).tolist()
            text = "L".join(f"{x} {y}" for x, y in points)
            parts.append(f"M{text}{'Z' if part.geom_type == 'Polygon' else ''}")
    return "".join(parts)


def _draw_ground(view: _View, tiles: Tiles) -> Iterable[str]:
    from mapyard.tiles.decode import decode_layers

    drawn: dict[str, list[str]] = {name: [] for name in _LAYERS}
    for z, x, y in view.tiles():
        side = 1 << z

        def to_pixels(
            xy: np.ndarray[Any, Any], x: int = x, y: int = y, side: int = side
        ) -> np.ndarray[Any, Any]:
            world = np.column_stack([(x + xy[:, 0]) / side, 1 - (y + xy[:, 1]) / side])
            return view.from_world(world)

        try:
            data = tiles(z, x, y)
        except Exception:  # a notebook shows its features even where there are no tiles
            return
        for name, lines, is_area in decode_layers(data, drawn):
            for line in lines:
                points = "L".join(f"{px} {py}" for px, py in to_pixels(line).tolist())
                drawn[name].append(f"M{points}{'Z' if is_area else ''}")
    for name, paths in drawn.items():
        if paths:
            yield f'<path style="{_LAYERS[name]}" d="{"".join(paths)}"/>'
