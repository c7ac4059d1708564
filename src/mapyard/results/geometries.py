"""Geometry of rows as GeoJSON text, straight from the store's columns.

Nodes and plain ways are written from their coordinates, relations are stored as text; only ways
that the store had to repair or cut go through shapely. Stored coordinates are whole 1e-7 degrees,
so their text is exact with 7 decimals.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sumprod

import numpy as np
import orjson
from numpy.typing import NDArray

from mapyard.geo.geojson import dump_floats, split_lines, write_geometries
from mapyard.store.reader import E7, Rows, Store

type Ints = NDArray[np.int64]

_POINT = b'{"type":"Point","coordinates":['
_LINE = b'{"type":"LineString","coordinates":['
#: Ways up to this length are written node by node.
_FEW_NODES = 60
_POLYGON = b'{"type":"Polygon","coordinates":[['


def write_row_geometries(store: Store, rows: Rows) -> list[bytes]:
    """Return the geometry of each row (any order) as JSON with 7 decimals, `null` for none."""
    rows = np.asarray(rows, np.int64)
    written: list[bytes] = [b"null"] * len(rows)
    is_way = (rows >= store.way_start) & (rows < store.relation_start)
    if is_way.all():
        _write_ways(store, rows, range(len(rows)), written)
        return written
    ways = np.flatnonzero(is_way)
    nodes = np.flatnonzero(rows < store.way_start)
    relations = np.flatnonzero(rows >= store.relation_start)
    if len(nodes):
        _write_nodes(store, rows[nodes], nodes.tolist(), written)
    if len(ways):
        _write_ways(store, rows[ways], ways.tolist(), written)
    if len(relations):
        texts = store.relation_geometries_json(rows[relations])
        for place, text in zip(relations.tolist(), texts, strict=True):
            written[place] = text
    return written


def write_row_geometry(store: Store, row: int, *, is_area: bool) -> bytes:
    """Return the same of one row, without arrays where they cost more than they save.

    `is_area` is the store's flag of the row.
    """
    lon, lat = store.lon_view, store.lat_view
    if row < store.way_start:
        return _POINT + orjson.dumps((lon[row] / E7, lat[row] / E7))[1:] + b"}"
    refs = None if row >= store.relation_start else store.find_way_refs(row)
    if refs is None or not 2 <= len(refs) <= _FEW_NODES:
        return write_row_geometries(store, np.array([row]))[0]
    try:
        if not is_area:
            line = orjson.dumps([(lon[ref] / E7, lat[ref] / E7) for ref in refs])
            return _LINE + line[1:] + b"}"
        x, y = [lon[ref] for ref in refs], [lat[ref] for ref in refs]
    except IndexError:  # a missing node
        return write_row_geometries(store, np.array([row]))[0]
    # Twice the signed area, exactly: negative is clockwise.
    if sumprod(x[:-1], y[1:]) < sumprod(x[1:], y[:-1]):
        x.reverse()
        y.reverse()
    ring = orjson.dumps([(lon / E7, lat / E7) for lon, lat in zip(x, y, strict=True)])
    return _POLYGON + ring[1:] + b"]}"


def _write_nodes(store: Store, rows: Ints, places: Sequence[int], written: list[bytes]) -> None:
    positions = np.column_stack([store.lon[rows], store.lat[rows]]) / E7
    pairs = dump_floats(positions)[2:-2].split(b"],[")
    for place, pair in zip(places, pairs, strict=True):
        written[place] = _POINT + pair + b"]}"


def _write_ways(store: Store, rows: Ints, places: Sequence[int], written: list[bytes]) -> None:
    stored = store.has_stored_shape(rows)
    if stored.any():
        chosen = np.flatnonzero(stored)
        texts = write_geometries(store.geometries(rows[chosen]))
        for index, text in zip(chosen.tolist(), texts, strict=True):
            written[places[index]] = text
        plain = np.flatnonzero(~stored)
        rows, places = rows[plain], [places[index] for index in plain.tolist()]
        if not len(rows):
            return
    units, offsets = store.way_coordinates(rows)
    is_area = store.is_area(rows)
    if is_area.any():
        units = _wind(units, offsets, is_area)
    lines = split_lines(dump_floats(units / E7), offsets)
    for place, line, area in zip(places, lines, is_area.tolist(), strict=True):
        if line:
            written[place] = _POLYGON + line + b"]]}" if area else _LINE + line + b"]}"


def _wind(units: NDArray[np.int32], offsets: Ints, is_area: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return the coordinates with clockwise rings of areas turned around (RFC 7946 §3.1.6)."""
    lengths = np.diff(offsets)
    owners = np.repeat(np.arange(len(lengths)), lengths)
    # Relative to the first position, so that sums of products stay small.
    near = (units - units[offsets[:-1]][owners]).astype(np.float64)
    cross = near[:-1, 0] * near[1:, 1] - near[1:, 0] * near[:-1, 1]
    cross[owners[:-1] != owners[1:]] = 0.0
    clockwise = is_area & (np.bincount(owners[:-1], cross, len(lengths)) < 0)
    if not clockwise.any():
        return units
    places = np.arange(len(units))
    mirrored = (offsets[:-1] + offsets[1:] - 1)[owners] - places
    return units[np.where(clockwise[owners], mirrored, places)]
