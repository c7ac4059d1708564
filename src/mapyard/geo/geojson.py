"""Writing GeoJSON geometry (RFC 7946) as bytes, in arrays. Reading it is http.positions'."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import orjson
import shapely
from numpy.typing import NDArray

#: Decimals of a degree in answers unless asked otherwise: OpenStreetMap's own resolution (1 cm).
DEFAULT_PRECISION = 7

type Geometries = NDArray[np.object_]

_TYPE_NAMES = {
    0: b"Point",
    1: b"LineString",
    2: b"LineString",
    3: b"Polygon",
    4: b"MultiPoint",
    5: b"MultiLineString",
    6: b"MultiPolygon",
}


def write_geometries(geometries: Geometries, *, precision: int = DEFAULT_PRECISION) -> list[bytes]:
    """Return the GeoJSON of each geometry as bytes; None becomes `null`.

    `precision` is the number of decimals; the shortest text of the rounded number is written.
    Polygons are wound by RFC 7946 (outer rings counterclockwise). The third dimension is dropped.
    Cutting at the antimeridian is geo.antimeridian.cut_antimeridian's.
    """
    count = len(geometries)
    written: list[bytes] = [b"null"] * count
    if count == 0:
        return written
    type_ids = shapely.get_type_id(geometries)
    if (type_ids == 3).any() or (type_ids == 6).any():
        geometries = shapely.orient_polygons(geometries, exterior_cw=False)
    for type_id in np.unique(type_ids).tolist():
        if type_id < 0:
            continue
        places = np.flatnonzero(type_ids == type_id)
        chosen = geometries[places]
        if type_id == 7:
            bodies = [_write_collection(geometry, precision) for geometry in chosen]
        else:
            head = b'{"type":"' + _TYPE_NAMES[type_id] + b'","coordinates":'
            bodies = [head + body + b"}" for body in _write_bodies(chosen, type_id, precision)]
        for place, body in zip(places.tolist(), bodies, strict=True):
            written[place] = body
    return written


def _write_collection(geometry: Any, precision: int) -> bytes:
    parts = write_geometries(shapely.get_parts(geometry), precision=precision)
    return b'{"type":"GeometryCollection","geometries":[' + b",".join(parts) + b"]}"


def _write_bodies(geometries: Geometries, type_id: int, precision: int) -> list[bytes]:
    """Return the coordinates member of geometries of one type."""
    if type_id == 0:
        return _write_points(geometries, precision)
    if type_id in (1, 2):
        return _write_lines(geometries, precision)
    if type_id == 3:
        rings, owners = shapely.get_rings(geometries, return_index=True)
        return _nest(_write_lines(rings, precision), owners, len(geometries))
    parts, owners = shapely.get_parts(geometries, return_index=True)
    part_type = {4: 0, 5: 1, 6: 3}[type_id]
    return _nest(_write_bodies(parts, part_type, precision), owners, len(geometries))


def _nest(items: list[bytes], owners: NDArray[np.int64], count: int) -> list[bytes]:
    """Return `[item,…]` for each of `count` owners; `owners` ascends."""
    ends = np.searchsorted(owners, np.arange(count + 1)).tolist()
    return [b"[" + b",".join(items[start:end]) + b"]" for start, end in pairwise(ends)]


def _round(coordinates: NDArray[np.float64], precision: int) -> NDArray[np.float64]:
    # Adding 0.0 turns -0.0 into 0.0.
    return np.round(coordinates, precision) + 0.0


def _write_points(points: Geometries, precision: int) -> list[bytes]:
    coordinates, owners = shapely.get_coordinates(points, return_index=True)
    written = [b"[]"] * len(points)
    if len(coordinates):
        pairs = dump_floats(_round(coordinates, precision))[2:-2].split(b"],[")
        for owner, pair in zip(owners.tolist(), pairs, strict=True):
            written[owner] = b"[" + pair + b"]"
    return written


def _write_lines(lines: Geometries, precision: int) -> list[bytes]:
    coordinates = _round(shapely.get_coordinates(lines), precision)
    offsets = np.concatenate([[0], np.cumsum(shapely.get_num_coordinates(lines))])
    return [b"[" + line + b"]" for line in split_lines(dump_floats(coordinates), offsets)]


def split_lines(text: bytes, offsets: NDArray[np.int64]) -> list[bytes]:
    """Cut the JSON of an (n, 2) array into lines: `[x,y],[x,y]` each, b"" for an empty one.

    Line i holds the positions offsets[i] to offsets[i + 1]. One dump of all positions, cut at its
    brackets, is several times faster than a dump per line where lines are short.
    """
    # Ends of positions; in front the opening bracket of the array, as if it ended position -1.
    brackets = np.concatenate([[-1], np.flatnonzero(np.frombuffer(text, np.uint8) == ord("]"))])
    edges = brackets[offsets].tolist()
    return [text[start + 2 : end + 1] for start, end in pairwise(edges)]


def dump_floats(values: NDArray[np.float64]) -> bytes:
    """Return a contiguous float array of any dimension as JSON, each number at its shortest."""
    return orjson.dumps(values, option=orjson.OPT_SERIALIZE_NUMPY)
