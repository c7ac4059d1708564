"""Geometry of rows as GeoJSON text, straight from the store's columns.

Nodes and plain ways are written from their coordinates, relations are stored as text; only ways
that the store had to repair or cut go through shapely. Stored coordinates are whole 1e-7 degrees,
so their text is exact with 7 decimals.

What is written is the *body* of a geometry: the part that is left out of `WRAPPERS`, so that a
feature can be put together in one step.
"""

from __future__ import annotations

from math import sumprod
from typing import Final, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from mapyard.geo.geojson import dump_floats, split_lines, write_geometries
from mapyard.store.derive import NO_POSITION
from mapyard.store.flags import AREA
from mapyard.store.reader import E7, Rows, Store
from mapyard.store.relation_lines import LINES_HEAD, LINES_TAIL

type Ints = NDArray[np.int64]

#: Kinds of bodies: the whole geometry, or the positions of one of these shapes.
WHOLE: Final = 0
POINT: Final = 1
LINE: Final = 2
POLYGON: Final = 3
#: What stands around a body, by its kind.
WRAPPERS: Final = (
    "%b",
    '{"type":"Point","coordinates":[%b]}',
    '{"type":"LineString","coordinates":[%b]}',
    '{"type":"Polygon","coordinates":[[%b]]}',
)
#: Stands for lines that come apart; no JSON has this byte.
APART: Final = b"\0"
_LINES: Final = LINES_HEAD + APART + LINES_TAIL
#: Ways up to this length are written node by node when asked for alone.
_FEW_NODES: Final = 24


class Bodies(NamedTuple):
    """Kind and body of each geometry; what stands for APART is in `lines`, by the place."""

    kinds: Ints
    texts: list[bytes]
    lines: dict[int, memoryview]


def write_bodies(store: Store, rows: Rows, flags: NDArray[np.uint8]) -> Bodies:
    """Return the body of each row's geometry (any order), with 7 decimals; `null` for none.

    `flags` are the store's of the rows. Lines of relations come apart: they are large, and so
    copied once only.
    """
    rows = np.asarray(rows, np.int64)
    kinds = np.zeros(len(rows), np.int64)
    is_way = (rows >= store.way_start) & (rows < store.relation_start)
    is_area = (flags & AREA) > 0
    if is_way.all():
        return Bodies(kinds, _write_ways(store, rows, is_area, kinds), {})
    apart: dict[int, memoryview] = {}
    bodies = [b"null"] * len(rows)

    def put(places: Ints, texts: list[bytes]) -> None:
        for place, text in zip(places.tolist(), texts, strict=True):
            bodies[place] = text

    nodes = np.flatnonzero(rows < store.way_start)
    if store.has_unplaced_nodes:
        nodes = nodes[store.lat[rows[nodes]] != NO_POSITION]
    if len(nodes):
        chosen = rows[nodes]
        positions = np.column_stack([store.lon[chosen], store.lat[chosen]]) / E7
        put(nodes, dump_floats(positions)[2:-2].split(b"],["))
        kinds[nodes] = POINT
    ways = np.flatnonzero(is_way)
    if len(ways):
        way_kinds = kinds[ways]
        put(ways, _write_ways(store, rows[ways], is_area[ways], way_kinds))
        kinds[ways] = way_kinds
    relations = np.flatnonzero(rows >= store.relation_start)
    if len(relations):
        texts, lines = store.relation_bodies(rows[relations])
        put(relations, texts)
        apart = {int(relations[place]): text for place, text in lines.items()}
        for place in apart:
            bodies[place] = _LINES
    return Bodies(kinds, bodies, apart)


def _write_ways(store: Store, rows: Ints, is_area: NDArray[np.bool_], kinds: Ints) -> list[bytes]:
    """Return the bodies of ways, and put their kinds into `kinds`."""
    stored = store.has_stored_shape(rows)
    if stored.any():
        bodies = [b""] * len(rows)
        plain = np.flatnonzero(~stored)
        plain_kinds = kinds[plain]
        texts = (
            _write_plain_ways(store, rows[plain], is_area[plain], plain_kinds) if len(plain) else []
        )
        kinds[plain] = plain_kinds
        others = np.flatnonzero(stored)
        whole = write_geometries(store.geometries(rows[others]))
        for places, written in ((plain, texts), (others, whole)):
            for place, text in zip(places.tolist(), written, strict=True):
                bodies[place] = text
        return bodies
    return _write_plain_ways(store, rows, is_area, kinds)


def _write_plain_ways(
    store: Store, rows: Ints, is_area: NDArray[np.bool_], kinds: Ints
) -> list[bytes]:
    x, y, offsets = store.way_positions(rows)
    kinds[:] = LINE
    kinds[is_area] = POLYGON
    positions = np.empty((len(x), 2))
    np.divide(x, E7, out=positions[:, 0])
    np.divide(y, E7, out=positions[:, 1])
    if len(x) and is_area.any():
        _wind(positions, x, y, offsets, is_area)
    bodies = split_lines(dump_floats(positions), offsets)
    if not all(bodies):
        # No node of the way is in the extract.
        for place, body in enumerate(bodies):
            if not body:
                kinds[place], bodies[place] = WHOLE, b"null"
    return bodies


def _wind(
    positions: NDArray[np.float64],
    x: NDArray[np.int32],
    y: NDArray[np.int32],
    offsets: Ints,
    is_area: NDArray[np.bool_],
) -> None:
    """Turn around the positions of clockwise rings of areas (RFC 7946 §3.1.6)."""
    # Twice the signed area is exact in whole units: what of the sums does not fit 64 bits cancels
    # out, as the area of a ring up to 180 degrees wide fits.
    wide_x, wide_y = x.astype(np.int64), y.astype(np.int64)
    sums = np.zeros(len(x), np.int64)
    np.cumsum(wide_x[:-1] * wide_y[1:] - wide_x[1:] * wide_y[:-1], out=sums[1:])
    clockwise = is_area & (sums[offsets[1:] - 1] < sums[offsets[:-1] % len(x)])
    if clockwise.any():
        lengths = np.diff(offsets)
        places = np.flatnonzero(np.repeat(clockwise, lengths))
        ends = (offsets[:-1] + offsets[1:] - 1)[clockwise]
        pairs = positions.view(np.complex128)[:, 0]  # moved as one
        pairs[places] = pairs.take(np.repeat(ends, lengths[clockwise]) - places)


def write_row_body(store: Store, row: int, flags: int) -> tuple[int, bytes]:
    """Return the same of one row, without arrays where they cost more than they save.

    `flags` are the store's of the row.
    """
    lon, lat = store.lon_view, store.lat_view
    if row < store.way_start:
        if store.has_unplaced_nodes and lat[row] == NO_POSITION:
            return WHOLE, b"null"
        return POINT, orjson.dumps((lon[row] / E7, lat[row] / E7))[1:-1]
    if row >= store.relation_start:
        return WHOLE, store.relation_geometry_json(row)
    refs = store.find_way_refs(row)
    if refs is None or len(refs) < 2:
        return _write_alone(store, row)
    try:
        if len(refs) > _FEW_NODES:
            return _write_long(store, np.asarray(refs), is_area=flags & AREA > 0)
        if not flags & AREA:
            line = orjson.dumps([(lon[ref] / E7, lat[ref] / E7) for ref in refs])
            return LINE, line[1:-1]
        x, y = [lon[ref] for ref in refs], [lat[ref] for ref in refs]
    except IndexError:  # a missing node
        return _write_alone(store, row)
    # Twice the signed area, exactly: negative is clockwise.
    if sumprod(x[:-1], y[1:]) < sumprod(x[1:], y[:-1]):
        x.reverse()
        y.reverse()
    ring = orjson.dumps([(lon / E7, lat / E7) for lon, lat in zip(x, y, strict=True)])
    return POLYGON, ring[1:-1]


def _write_long(store: Store, nodes: NDArray[np.uint32], *, is_area: bool) -> tuple[int, bytes]:
    x, y = store.lon.take(nodes), store.lat.take(nodes)
    positions = np.array((x, y), np.float64, order="F").T / E7
    if is_area:
        wide_x, wide_y = x.astype(np.int64), y.astype(np.int64)
        if wide_x[:-1] @ wide_y[1:] < wide_x[1:] @ wide_y[:-1]:
            positions = np.ascontiguousarray(positions[::-1])
    return POLYGON if is_area else LINE, dump_floats(positions)[1:-1]


def _write_alone(store: Store, row: int) -> tuple[int, bytes]:
    rows = np.array([row])
    bodies = write_bodies(store, rows, store.flags(rows))
    return int(bodies.kinds[0]), bodies.texts[0]
