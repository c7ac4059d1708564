"""Where a row of a table lies: by two columns, by a geometry as text, or by its address."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import shapely

from mapyard.geocoding.answer.batch import ALIASES
from mapyard.userdata.rows import Geocode, Geometries, ImportFailed, Options, Problems

_SHAPES: Final = ("geometry", "geom", "wkt", "the_geom", "geojson", "shape", "wkb")
#: Parts of an address in the order in which they are written; OSM's own keys are known too.
_PARTS: Final = ("street", "housenumber", "postcode", "city", "country")
#: Rows of one file that are geocoded.
MAX_GEOCODED: Final = 50_000
_HEX: Final = re.compile(r"(?:[0-9A-Fa-f]{2})+")


class Place(NamedTuple):
    """The columns that say where a row lies: one of the three is given."""

    lat: str = ""
    lon: str = ""
    geometry: str = ""
    address: tuple[str, ...] = ()

    @property
    def used(self) -> frozenset[str]:
        """Columns that are no properties: a geometry stands for them."""
        return frozenset(name for name in (self.lat, self.lon, self.geometry) if name)


def find_place(names: Sequence[str], options: Options) -> Place:
    """Return the columns that hold the place; raise ImportFailed where none do."""
    for asked in (options.lat, options.lon, options.geometry, options.address):
        if asked and asked not in names:
            raise ImportFailed(f"there is no column '{asked}'; there are {_list(names)}")
    if options.address:
        return Place(address=(options.address,))
    if options.geometry:
        return Place(geometry=options.geometry)
    lat = options.lat or _find(names, ALIASES["lat"])
    lon = options.lon or _find(names, ALIASES["lon"])
    if lat and lon:
        return Place(lat, lon)
    if found := _find(names, _SHAPES):
        return Place(geometry=found)
    if found := _find(names, ALIASES["q"]):
        return Place(address=(found,))
    parts = [_find(names, (*ALIASES[part], f"addr:{part}")) for part in _PARTS]
    if parts[0] or (parts[3] and len([p for p in parts if p]) > 1):
        return Place(address=tuple(parts))
    raise ImportFailed(
        f"no column says where a row lies; there are {_list(names)}. Name them lat and lon, wkt, "
        "or address, or say which they are by lat_column and lon_column, geometry_column or "
        "address_column"
    )


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return ", ".join(name[:40] for name in names[:20]) + more


def _find(names: Sequence[str], wanted: Sequence[str]) -> str:
    by_name = {name.strip().lower(): name for name in reversed(names)}
    return next((by_name[name] for name in wanted if name in by_name), "")


class Placer:
    """Makes geometries of the values of the columns of a place."""

    def __init__(self, place: Place, problems: Problems, geocode: Geocode | None) -> None:
        self.place = place
        self._problems = problems
        self._geocode = geocode
        self._geocoded = 0

    def shape(self, columns: dict[str, list[str]], numbers: Sequence[int]) -> Geometries:
        """Return a geometry per row, None where there is none; columns hold the texts."""
        place = self.place
        if place.address:
            return self._find_addresses(columns, numbers)
        if place.geometry:
            return self._read_shapes(columns[place.geometry], numbers)
        return self._read_points(columns[place.lat], columns[place.lon], numbers)

    def _read_points(self, lats: list[str], lons: list[str], numbers: Sequence[int]) -> Geometries:
        shapes = np.full(len(lats), None, np.object_)
        lat, lon = _read_floats(lats), _read_floats(lons)
        known = ~(np.isnan(lat) | np.isnan(lon))
        shapes[known] = shapely.points(lon[known], lat[known])
        for row in np.flatnonzero(~known).tolist():
            if lats[row].strip() or lons[row].strip():
                self._problems.add(
                    numbers[row],
                    f"{self.place.lat} '{lats[row][:40]}' and {self.place.lon} '{lons[row][:40]}' "
                    "are not degrees, such as 47.14",
                )
        return shapes

    def _read_shapes(self, texts: list[str], numbers: Sequence[int]) -> Geometries:
        shapes = np.full(len(texts), None, np.object_)
        for row, text in enumerate(texts):
            text = text.strip()
            if not text:
                continue
            if text.startswith("{"):
                shape = shapely.from_geojson(text, on_invalid="ignore")
            elif _HEX.fullmatch(text):
                shape = shapely.from_wkb(text, on_invalid="ignore")
            else:
                text = text.partition(";")[2] if text[:5].upper() == "SRID=" else text
                shape = shapely.from_wkt(text, on_invalid="ignore")
            if shape is None:
                self._problems.add(
                    numbers[row],
                    f"{self.place.geometry} '{text[:40]}' is neither WKT, GeoJSON nor WKB",
                )
            shapes[row] = shape
        return shapes

    def _find_addresses(self, columns: dict[str, list[str]], numbers: Sequence[int]) -> Geometries:
        if self._geocode is None:
            raise ImportFailed(
                "addresses need a geocoder: build the map with its text part, or give lat and lon"
            )
        texts = _write_addresses(columns, self.place.address, len(numbers))
        self._geocoded += len(texts)
        if self._geocoded > MAX_GEOCODED:
            raise ImportFailed(
                f"more than {MAX_GEOCODED:,} rows would have to be geocoded; do that with "
                "mapyard geocode FILE first, and import its answer, which has lat and lon"
            )
        shapes = np.full(len(texts), None, np.object_)
        found = self._geocode(texts)
        known = ~np.isnan(found[:, 0])
        shapes[known] = shapely.points(found[known])
        for row in np.flatnonzero(~known).tolist():
            self._problems.add(numbers[row], f"the address '{texts[row][:80]}' was not found")
        return shapes


def _write_addresses(
    columns: dict[str, list[str]], names: tuple[str, ...], count: int
) -> list[str]:
    if len(names) == 1:
        return columns[names[0]]
    none = [""] * count
    parts = [columns[name] if name else none for name in names]
    return [
        ", ".join(
            text
            for text in (f"{street} {number}".strip(), f"{code} {city}".strip(), country.strip())
            if text
        )
        for street, number, code, city, country in zip(*parts, strict=True)
    ]


def _read_floats(texts: list[str]) -> Any:
    """Return numbers, NaN for what is none; a decimal comma is read."""
    try:
        return np.array(texts, np.float64)
    except ValueError:
        return np.array([_read_float(text) for text in texts], np.float64)


def _read_float(text: str) -> float:
    try:
        return float(text.strip().replace(",", ".")) if text.strip() else float("nan")
    except ValueError:
        return float("nan")
