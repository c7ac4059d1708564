"""Areas of regions: boxes of similar weight, or polygons that somebody drew.

Positions are int32 in 1e-7 degree. Boxes are half open and together cover the Earth, so each
position lies in exactly one; of polygons that overlap, the first counts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import orjson
import shapely
from numpy.typing import NDArray

from mapyard.errors import InvalidRequest
from mapyard.geo.bbox import Bbox

E7: Final = 10_000_000
DEGREE_M: Final = 111_195.0
MAX_REGIONS: Final = 1_024
#: Cells of the grid that boxes are cut from, per side.
GRID: Final = 2_048
EARTH: Final = -180 * E7, -90 * E7, 180 * E7 + 1, 90 * E7 + 1
_WEST, _SOUTH, _EAST, _NORTH = EARTH
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")

type Coordinates = NDArray[np.int32]
type Mask = NDArray[np.bool_]


class Area(NamedTuple):
    """Where a region's own elements lie: a box, or a shape in degrees."""

    name: str
    #: west, south, east, north in 1e-7 degree, half open; of a shape its bounds.
    box: tuple[int, int, int, int]
    shape: Any = None

    def holds(self, lon: Coordinates, lat: Coordinates) -> Mask:
        """Return which positions lie in the area."""
        return _test(self.box, self.shape, lon, lat)

    def grow(self, margin_m: float) -> Area:
        """Return the area with a margin around."""
        west, south, east, north = self.box
        lat = min(89.0, max(abs(south), abs(north)) / E7)
        up = math.ceil(margin_m / DEGREE_M * E7)
        side = math.ceil(up / math.cos(math.radians(lat)))
        box = (
            max(_WEST, west - side), max(_SOUTH, south - up),
            min(_EAST, east + side), min(_NORTH, north + up),
        )  # fmt: skip
        if self.shape is None:
            return Area(self.name, box)
        grown = shapely.buffer(self.shape, side / E7, quad_segs=4)
        return Area(self.name, box, grown)

    def to_geojson(self) -> dict[str, Any]:
        """Return the area as a GeoJSON geometry."""
        shape = self.shape
        if shape is None:
            west, south, east, north = self.box
            shape = shapely.box(west / E7, south / E7, min(180.0, east / E7), min(90.0, north / E7))
        made: dict[str, Any] = orjson.loads(shapely.to_geojson(shape))
        return made

    @property
    def bbox(self) -> Bbox:
        """Return the box in degrees."""
        west, south, east, north = self.box
        return Bbox(west / E7, south / E7, min(180.0, east / E7), min(90.0, north / E7))


def _test(box: tuple[int, int, int, int], shape: Any, lon: Coordinates, lat: Coordinates) -> Mask:
    west, south, east, north = box
    inside = (lon >= west) & (lon < east) & (lat >= south) & (lat < north)
    if shape is not None and inside.any():
        places = np.flatnonzero(inside)
        inside[places] = shapely.contains_xy(shape, lon[places] / E7, lat[places] / E7)
    return inside


def cut_boxes(
    chunks: Iterator[tuple[Coordinates, Coordinates]], bounds: tuple[int, int, int, int], count: int
) -> list[Area]:
    """Return boxes that hold about as many of these positions each (a k-d tree over a grid).

    `bounds` are those of the positions; the outer boxes reach to the ends of the Earth.
    """
    west, south, east, north = bounds
    width, height = max(1, east - west + 1), max(1, north - south + 1)
    grid = np.zeros(GRID * GRID, np.int64)
    for lon, lat in chunks:
        column = (lon.astype(np.int64) - west) * GRID // width
        row = (lat.astype(np.int64) - south) * GRID // height
        grid += np.bincount(row * GRID + column, minlength=GRID * GRID)
    aspect = height / (width * math.cos(math.radians((south + north) / 2 / E7)))
    cells = _cut(grid.reshape(GRID, GRID), (0, 0, GRID, GRID), count, aspect)
    areas = []
    for number, (x0, y0, x1, y1) in enumerate(cells, start=1):
        box = (
            _WEST if x0 == 0 else west + -(-x0 * width // GRID),
            _SOUTH if y0 == 0 else south + -(-y0 * height // GRID),
            _EAST if x1 == GRID else west + -(-x1 * width // GRID),
            _NORTH if y1 == GRID else south + -(-y1 * height // GRID),
        )
        areas.append(Area(f"r{number:03}", box))
    return areas


def _cut(
    grid: NDArray[np.int64], cell: tuple[int, int, int, int], count: int, aspect: float
) -> list[tuple[int, int, int, int]]:
    x0, y0, x1, y1 = cell
    if count == 1:
        return [cell]
    first = count // 2
    along_y = (y1 - y0) * aspect > x1 - x0
    weights = grid[y0:y1, x0:x1].sum(axis=1 if along_y else 0)
    if len(weights) < 2:
        raise InvalidRequest(
            f"the map cannot be cut into so many regions: {count} more would share one cell of "
            f"the grid of {GRID} × {GRID}; ask for fewer"
        )
    sums = np.cumsum(weights)
    at = int(np.searchsorted(sums, sums[-1] * first / count)) + 1
    at = min(max(1, at), len(weights) - 1)
    if along_y:
        halves = (x0, y0, x1, y0 + at), (x0, y0 + at, x1, y1)
    else:
        halves = (x0, y0, x0 + at, y1), (x0 + at, y0, x1, y1)
    return _cut(grid, halves[0], first, aspect) + _cut(grid, halves[1], count - first, aspect)


def read_areas(path: Path, option: str = "--regions") -> list[Area]:
    """Return the areas of a GeoJSON file: polygons with a property `name`."""
    try:
        loaded = orjson.loads(path.read_bytes())
        features = loaded["features"]
        found = [_read_area(feature, number) for number, feature in enumerate(features, start=1)]
    except FileNotFoundError:
        raise InvalidRequest(f"{option} {path}: a number, or a GeoJSON file") from None
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise InvalidRequest(
            f"{path} is not a GeoJSON FeatureCollection of polygons: {error}"
        ) from None
    names = [area.name for area in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or not found:
        raise InvalidRequest(
            f"{path}: " + (f"two areas are called {twice[0]}" if twice else "empty")
        )
    return found


def _read_area(feature: dict[str, Any], number: int) -> Area:
    shape = shapely.from_geojson(orjson.dumps(feature["geometry"]))
    if shape.geom_type not in ("Polygon", "MultiPolygon") or not shape.is_valid:
        raise InvalidRequest(f"area {number}: must be a valid Polygon or MultiPolygon")
    name = re.sub(r"\W+", "-", str(feature["properties"].get("name") or f"r{number:03}").lower())
    if not _NAME.fullmatch(name):
        raise InvalidRequest(f"area {number}: its name must be letters and digits, got {name!r}")
    return _make_area(name, shape)


def restore_area(name: str, geojson: dict[str, Any], box: Sequence[int]) -> Area:
    """Return an area as it was, out of what a split says: its box, or else its shape."""
    if box:
        west, south, east, north = box
        return Area(name, (west, south, east, north))
    return _make_area(name, shapely.from_geojson(orjson.dumps(geojson)))


def _make_area(name: str, shape: Any) -> Area:
    west, south, east, north = (shapely.bounds(shape) * E7).tolist()
    box = (math.floor(west), math.floor(south), math.ceil(east) + 1, math.ceil(north) + 1)
    shapely.prepare(shape)
    return Area(name, box, shape)


def find_owners(areas: Sequence[Area], lon: Coordinates, lat: Coordinates) -> NDArray[np.int16]:
    """Return the number of the area of each position, -1 outside of all."""
    owners = np.full(len(lon), -1, np.int16)
    for number, area in enumerate(areas):
        owners[(owners < 0) & area.holds(lon, lat)] = number
    return owners
