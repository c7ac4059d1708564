"""What is drawn over a map: pins, lines and areas, as GeoJSON with the members of simplestyle-spec.

https://github.com/mapbox/simplestyle-spec: marker-color, stroke, stroke-width, stroke-opacity,
fill, fill-opacity; and label, which is written into a pin (one or two characters) or below it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, Final

import msgspec
import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.errors import InvalidRequest
from mapyard.params.positions import Problem, TooMany, read_geometry

MAX_FEATURES: Final = 500
MAX_POINTS: Final = 20_000
MAX_PIN_COLORS: Final = 20
MAX_LABEL: Final = 40
SOURCE: Final = "marks"
PIN_COLOR: Final = "#d0342c"
LINE_COLOR: Final = "#1f6feb"
_COLOR: Final = re.compile(r"#(?:[0-9a-f]{3}|[0-9a-f]{6})")
_NAMED: Final = {
    "black": "#000000", "blue": "#1f6feb", "brown": "#8b5a2b", "gray": "#6e7781",
    "green": "#1a7f37", "orange": "#e16f24", "pink": "#d6409f", "purple": "#8250df",
    "red": "#d0342c", "white": "#ffffff", "yellow": "#f2c037",
}  # fmt: skip


class Marks(msgspec.Struct):
    """Features ready for the style, the colors of their pins, and all their points."""

    features: list[dict[str, Any]] = []
    pins: list[str] = []
    #: (n, 2) lon, lat of all points, for a view that shows everything.
    lonlat: NDArray[np.float64] = msgspec.field(default_factory=lambda: np.empty((0, 2)))


def read_color(value: Any, name: str) -> str:
    """Return a color as #rgb or #rrggbb in lower case; raise InvalidRequest."""
    text = str(value).strip().lower()
    text = _NAMED.get(text, text)
    if not _COLOR.fullmatch(text):
        raise InvalidRequest.of(
            name, f"must be #rgb, #rrggbb or one of {', '.join(_NAMED)}; got {text[:30]!r}"
        )
    return text


def read_marks(value: dict[str, Any], name: str = "geojson") -> Marks:
    """Return the marks of a GeoJSON object; raise InvalidRequest naming the feature."""
    kind = value.get("type")
    items: Any = value.get("features") if kind == "FeatureCollection" else [value]
    if not isinstance(items, list):
        raise InvalidRequest.of(name, "the FeatureCollection has no array `features`")
    if len(items) > MAX_FEATURES:
        raise InvalidRequest.of(name, f"has {len(items)} features, at most {MAX_FEATURES}")
    marks, points, left = Marks(), [], MAX_POINTS
    for index, item in enumerate(items):
        where = f"feature {index} (counted from 0)"
        try:
            geometry = read_geometry(item, limit=left)
        except TooMany:
            raise InvalidRequest.of(name, f"has more than {MAX_POINTS} points in all") from None
        except Problem as problem:
            raise InvalidRequest.of(name, f"{where}: {problem}") from None
        left -= geometry.point_count
        given = item.get("properties") if item.get("type") == "Feature" else None
        properties = _read_properties(given or {}, f"{name}: {where}")
        shape = geometry.shape
        if shape.geom_type == "GeometryCollection":
            raise InvalidRequest.of(name, f"{where}: a GeometryCollection is not drawn; split it")
        points.append(shapely.get_coordinates(shape))
        color = properties["marker-color"]
        if shape.geom_type in ("Point", "MultiPoint") and color not in marks.pins:
            marks.pins.append(color)
        marks.features.append(
            {"type": "Feature", "properties": properties,
             "geometry": shapely.geometry.mapping(shape)}
        )  # fmt: skip
    if len(marks.pins) > MAX_PIN_COLORS:
        raise InvalidRequest.of(name, f"has pins of more than {MAX_PIN_COLORS} colors")
    if points:
        marks.lonlat = np.concatenate(points)
    return marks


def make_line(lonlat: NDArray[np.float64], color: str, width_px: float) -> Marks:
    """Return a line through positions (n, 2)."""
    properties = {"stroke": color, "stroke-width": width_px}
    return read_marks(_feature("LineString", lonlat.tolist(), properties))


def make_pins(lonlat: NDArray[np.float64], labels: Sequence[str], color: str) -> Marks:
    """Return pins at positions (n, 2), the first ones with labels."""
    pins = [
        _feature("Point", place, {"marker-color": color, "label": label.strip()})
        for place, label in zip_longest(lonlat.tolist(), labels, fillvalue="")
    ]
    return read_marks({"type": "FeatureCollection", "features": pins})


def _feature(kind: str, coordinates: Any, properties: dict[str, Any]) -> dict[str, Any]:
    geometry = {"type": kind, "coordinates": coordinates}
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def join_marks(parts: list[Marks]) -> Marks:
    """Return the marks of several, the first drawn below."""
    return Marks(
        [feature for part in parts for feature in part.features],
        list(dict.fromkeys(color for part in parts for color in part.pins)),
        np.concatenate([np.empty((0, 2)), *(part.lonlat for part in parts)]),
    )


def _read_properties(given: Any, where: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise InvalidRequest.of("geojson", f"{where}: properties must be an object")

    def number(name: str, default: float, most: float) -> float:
        value = given.get(name, default)
        if type(value) not in (int, float) or not 0 <= value <= most:
            raise InvalidRequest.of("geojson", f"{where}: {name} must be from 0 to {most:g}")
        return float(value)

    def color(name: str, default: str) -> str:
        value = given.get(name)
        return default if value is None else read_color(value, f"geojson: {name}")

    stroke = color("stroke", LINE_COLOR)
    label = str(given.get("label") or "")[:MAX_LABEL]
    return {
        "marker-color": color("marker-color", PIN_COLOR),
        "label": label,
        "inside": 0 < len(label) <= 2,
        "stroke": stroke,
        "stroke-width": number("stroke-width", 4, 40),
        "stroke-opacity": number("stroke-opacity", 0.9, 1),
        "fill": color("fill", stroke),
        "fill-opacity": number("fill-opacity", 0.25, 1),
    }


def add_marks(style: dict[str, Any], marks: Marks) -> dict[str, Any]:
    """Return the style with the marks above everything else."""
    if not marks.features:
        return style
    data = {"type": "FeatureCollection", "features": marks.features}
    source = {SOURCE: {"type": "geojson", "data": data, "maxzoom": 22, "tolerance": 0.1}}
    return style | {
        "sources": style["sources"] | source,
        "layers": [*style["layers"], *_layers()],
    }


def _layers() -> list[dict[str, Any]]:
    def layer(name: str, kind: str, geometry: str, **more: Any) -> dict[str, Any]:
        is_kind = ["==", ["geometry-type"], geometry]
        condition = more.pop("where", None)
        return {
            "id": f"{SOURCE}-{name}", "type": kind, "source": SOURCE,
            "filter": ["all", is_kind, condition] if condition else is_kind, **more,
        }  # fmt: skip

    stroke = {
        "line-color": ["get", "stroke"], "line-width": ["get", "stroke-width"],
        "line-opacity": ["get", "stroke-opacity"],
    }  # fmt: skip
    round_ends = {"line-cap": "round", "line-join": "round"}
    casing = {
        "line-color": "#ffffff", "line-width": ["+", ["get", "stroke-width"], 3],
        "line-opacity": ["*", ["get", "stroke-opacity"], 0.8],
    }  # fmt: skip
    pin = {
        "icon-image": ["concat", "pin-", ["get", "marker-color"]], "icon-anchor": "bottom",
        "icon-allow-overlap": True, "icon-ignore-placement": True, "symbol-z-order": "source",
    }  # fmt: skip
    text = {
        "text-field": ["get", "label"], "text-font": ["Noto Sans Bold"],
        "text-allow-overlap": True, "text-ignore-placement": True,
    }  # fmt: skip
    return [
        layer("fill", "fill", "Polygon", paint={
            "fill-color": ["get", "fill"], "fill-opacity": ["get", "fill-opacity"]}),
        layer("outline", "line", "Polygon", paint=stroke, layout=round_ends),
        layer("casing", "line", "LineString", paint=casing, layout=round_ends),
        layer("line", "line", "LineString", paint=stroke, layout=round_ends),
        layer("pin", "symbol", "Point", layout=pin),
        layer("letter", "symbol", "Point", where=["get", "inside"],
              layout=text | {"text-size": 12, "text-offset": [0, -1.95]},
              paint={"text-color": "#ffffff"}),
        layer("label", "symbol", "Point", where=["!", ["get", "inside"]],
              layout=text | {"text-size": 13, "text-anchor": "top", "text-offset": [0, 0.25]},
              paint={"text-color": "#1c241f", "text-halo-color": "#ffffff",
                     "text-halo-width": 1.6}),
    ]  # fmt: skip
