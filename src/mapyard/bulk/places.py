"""Where a row lies: two columns with degrees, or one with a geometry."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson
import shapely

from mapyard.bulk.blocks import BulkFailed
from mapyard.errors import InvalidRequest
from mapyard.geocoding.answer.batch import ALIASES

_SHAPES: Final = ("geometry", "geom", "wkt", "the_geom", "geojson", "wkb")


class Place(NamedTuple):
    """The columns that hold a position: `lat` and `lon`, or `geometry`."""

    lat: str = ""
    lon: str = ""
    geometry: str = ""

    @property
    def columns(self) -> list[str]:
        """Return the names."""
        return [name for name in (self.lat, self.lon, self.geometry) if name]


def find_place(
    columns: Sequence[str],
    *,
    lat: str = "",
    lon: str = "",
    geometry: str = "",
    prefixes: Sequence[str] = ("",),
    wanted: str = "a position",
    options: str = "--lat and --lon, or --geometry-column",
) -> Place:
    """Return the columns of a position: those named, else by their usual names.

    `prefixes` stand before the usual names, as in from_lat.
    """
    for name in (lat, lon, geometry):
        if name and name not in columns:
            raise BulkFailed(f"there is no column '{name}'; there are {list_columns(columns)}")
    if lat and lon:
        return Place(lat, lon)
    if geometry and not (lat or lon):
        return Place(geometry=geometry)
    by_name = {name.strip().lower(): name for name in reversed(columns)}

    def find(names: Sequence[str]) -> str:
        tried = (f"{prefix}{name}" for prefix in prefixes for name in names)
        return next((by_name[name] for name in tried if name in by_name), "")

    found = Place(lat or find(ALIASES["lat"]), lon or find(ALIASES["lon"]))
    if found.lat and found.lon:
        return found
    if "" in prefixes and (shape := find(_SHAPES)):
        return Place(geometry=shape)
    usual = f"{prefixes[0]}lat and {prefixes[0]}lon"
    raise BulkFailed(
        f"no column has {wanted}; there are {list_columns(columns)}. Call them {usual}, or say "
        f"which they are: {options}"
    )


def list_columns(columns: Sequence[str]) -> str:
    """Return the names of columns as errors show them."""
    more = f" and {len(columns) - 30} more" if len(columns) > 30 else ""
    return ", ".join(name[:40] for name in columns[:30]) + more


def read_position(row: Mapping[str, Any], place: Place) -> tuple[float, float]:
    """Return lon, lat of a row; raise InvalidRequest."""
    if place.geometry:
        shape = read_shape(row.get(place.geometry), place.geometry)
        if shape.is_empty:
            raise InvalidRequest(f"{place.geometry} is empty")
        point = shape if shape.geom_type == "Point" else shape.representative_point()
        return _check(point.y, point.x)
    return _check(
        _read_number(row.get(place.lat), place.lat), _read_number(row.get(place.lon), place.lon)
    )


def read_shape(value: Any, name: str) -> shapely.Geometry:
    """Return the geometry of a value: WKB, WKT or GeoJSON; raise InvalidRequest."""
    shape: shapely.Geometry | None = None
    if isinstance(value, bytes | bytearray):
        shape = shapely.from_wkb(bytes(value), on_invalid="ignore")
    elif isinstance(value, Mapping):
        shape = shapely.from_geojson(orjson.dumps(value).decode(), on_invalid="ignore")
    elif isinstance(value, str) and value.strip():
        text = value.strip()
        if text.startswith("{"):
            shape = shapely.from_geojson(text, on_invalid="ignore")
        else:
            shape = shapely.from_wkt(text, on_invalid="ignore")
            if shape is None:
                shape = shapely.from_wkb(text, on_invalid="ignore")
    elif value is None or value == "":
        raise InvalidRequest(f"{name} is empty")
    if shape is None:
        raise InvalidRequest(f"{name} is neither WKT, WKB nor GeoJSON")
    return shape


def _read_number(value: Any, name: str) -> float:
    if value is None or value == "":
        raise InvalidRequest(f"{name} is empty")
    try:
        return float(value if isinstance(value, int | float) else str(value).replace(",", "."))
    except ValueError:
        raise InvalidRequest(f"{name} is not a number: {str(value)[:40]}") from None


def _check(lat: float, lon: float) -> tuple[float, float]:
    if not (math.isfinite(lat) and math.isfinite(lon)):
        raise InvalidRequest("the position is not a number")
    if abs(lat) > 90 or abs(lon) > 180:
        swapped = ", perhaps they are swapped" if abs(lon) <= 90 and abs(lat) <= 180 else ""
        raise InvalidRequest(f"latitude {lat:g} and longitude {lon:g} are not on Earth{swapped}")
    return lon, lat
