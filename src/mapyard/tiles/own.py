"""Vector tiles with one layer, `features`, and all tags: own datasets, elements by their tags."""

from __future__ import annotations

from itertools import chain
from typing import Any, Final

import numpy as np
import orjson
import shapely
from numpy.typing import NDArray

from mapyard.deadline import Deadline
from mapyard.geo.bbox import Bbox
from mapyard.store.flags import AREA
from mapyard.store.reader import Store
from mapyard.tiles.cut import cut
from mapyard.tiles.mercator import (
    BUFFER,
    EXTENT_BITS,
    GRID_SIZE,
    TileId,
    project,
    tile_bounds_deg,
)
from mapyard.tiles.mvt import Batch, EncodedValues, encode_tile, encode_value
from mapyard.tiles.shapes import LINE, POINT, POLYGON, Shapes, concatenate, points
from mapyard.tiles.snap import snap_geometries, snap_rows

LAYER: Final = "features"
#: Features of one tile; of more, a fixed share is shown, the same in every tile of the zoom.
MOST: Final = 20_000
#: Is none of the kinds of geometry.
_NOTHING: Final = 0
#: Stored shapes of one tile, bytes: what takes more is left out in the same order.
MOST_BYTES: Final = 64 << 20
type Ints = NDArray[np.int64]


def find_box(tile: TileId) -> Bbox:
    """Return the box of a tile with its margin, degrees."""
    west, south, east, north = tile_bounds_deg(tile)
    margin = (east - west) * BUFFER / (1 << EXTENT_BITS)
    return Bbox(
        max(west - margin, -180.0), max(south - margin, -90.0),
        min(east + margin, 180.0), min(north + margin, 90.0),
    )  # fmt: skip


def render_own_tile(
    store: Store, tile: TileId, deadline: Deadline | None = None, rows: Ints | None = None
) -> bytes:
    """Return the uncompressed tile of `rows`, else of all in its box; b"" when nothing is in it."""
    if rows is None:
        rows = store.search_box(find_box(tile)).astype(np.int64)
    rows = _thin(store, rows)
    if not len(rows):
        return b""
    kinds = _find_kinds(store, rows)
    parts: list[Shapes] = []
    sources: list[Ints] = []
    for kind in (POINT, LINE, POLYGON):
        if deadline is not None:
            deadline.check()
        chosen = np.flatnonzero(kinds == kind)
        if not len(chosen):
            continue
        snapped, owner = _snap(store, rows[chosen], kind)
        # Groups of their own, so that no two features are joined.
        shapes, left = cut(snapped, kind, tile, np.arange(len(snapped)))
        parts.append(shapes)
        sources.append(chosen[owner[left]])
    source = np.concatenate(sources) if sources else np.empty(0, np.int64)
    if not len(source):
        return b""
    order = np.argsort(source, kind="stable")
    source = source[order]
    counts, attributes, values, names, messages = _read_tags(store, rows[source])
    batch = Batch(
        np.zeros(len(source), np.int64), kinds[source], store.ids[rows[source]].astype(np.uint64),
        concatenate(parts).take(order), counts, attributes, values,
    )  # fmt: skip
    return encode_tile(batch, [LAYER], names, EncodedValues(messages))


def _thin(store: Store, rows: Ints) -> Ints:
    """Return so many rows that a tile stays small; which ones does not depend on the tile."""
    mixed = rows.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    order = np.argsort(mixed, kind="stable")[:MOST]
    ends = np.cumsum(store.shape_bytes(rows[order]))
    return np.sort(rows[order[: max(1, int(np.searchsorted(ends, MOST_BYTES, side="right")))]])


def _find_kinds(store: Store, rows: Ints) -> NDArray[np.uint8]:
    kinds = np.full(len(rows), POINT, np.uint8)
    shapes = np.flatnonzero(rows >= store.way_start)
    is_area = (store.flags(rows[shapes]) & AREA) > 0
    types = shapely.get_type_id(store.geometries(rows[shapes]))
    kinds[shapes] = np.where(is_area, POLYGON, np.where(types == 4, POINT, LINE))
    # Without a shape, or with one of several kinds: such a relation is not drawn.
    kinds[shapes[(types < 0) | (types == 7)]] = _NOTHING
    return kinds


def _snap(store: Store, rows: Ints, kind: int) -> tuple[Shapes, Ints]:
    """Return shapes on the grid; a MultiPoint gives one point for each of its points."""
    if kind != POINT:
        return snap_geometries(store.geometries(rows), kind)
    several = np.flatnonzero(rows >= store.way_start)
    if not len(several):
        return snap_rows(store, rows, kind)
    single = np.flatnonzero(rows < store.way_start)
    shapes, owner = snap_rows(store, rows[single], kind)
    positions, place = shapely.get_coordinates(store.geometries(rows[several]), return_index=True)
    grid = np.clip(np.rint(project(positions)), 0, GRID_SIZE).astype(np.int64)
    return concatenate([shapes, points(grid)]), np.concatenate([single[owner], several[place]])


def _read_tags(store: Store, rows: Ints) -> tuple[Ints, Ints, Ints, list[str], list[bytes]]:
    """Return counts of pairs, names and values by index, and both lists."""
    names: dict[str, int] = {}
    values: dict[tuple[type, Any], int] = {}
    counts: list[int] = []
    pairs: list[list[tuple[int, int]]] = []
    for text in store.tags_json(rows):
        found = []
        for name, value in orjson.loads(text).items():
            if value is None:
                continue
            if isinstance(value, list | dict):
                value = orjson.dumps(value).decode()
            if isinstance(value, int) and not -(2**63) <= value < 2**63:
                value = str(value)
            key = (type(value), value)
            found.append((names.setdefault(name, len(names)), values.setdefault(key, len(values))))
        counts.append(len(found))
        pairs.append(found)
    flat = np.array(list(chain.from_iterable(pairs)), np.int64).reshape(-1, 2)
    messages = [encode_value(value) for _, value in values]
    return np.array(counts, np.int64), flat[:, 0], flat[:, 1], list(names), messages
