"""GeoJSON features of entries, by what their `out` asked for.

Elements have their whole geometry whatever the mode, except: `tags` and `ids` have none; `center`
is the middle of the box and `bb` the box itself, both told by the property @geometry.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import orjson
import shapely
from numpy.typing import NDArray

from mapyard.deadline import Deadline
from mapyard.geo.antimeridian import cut_antimeridian
from mapyard.geo.geojson import write_geometries
from mapyard.overpass.osm.derived_columns import shown_boxes
from mapyard.overpass.osm.rowsets import Derived, Rows
from mapyard.overpass.parse.syntax import BoxFilter, Out
from mapyard.overpass.run.items import centers
from mapyard.overpass.space.boxes import to_boxes
from mapyard.overpass.write.entries import Entries
from mapyard.results.features import write_features
from mapyard.results.output import Output
from mapyard.results.pages import open_collection
from mapyard.store.distinct import distinct
from mapyard.store.reader import E7, Store

_CHUNK = 1_000
_NO_GEOMETRY = b'"geometry":null'


def write_page(store: Store, entries: Entries, start: int, stop: int) -> list[bytes]:
    """Return the features of entries [start, stop)."""
    rows, owners = entries.rows[start:stop], entries.out_index[start:stop]
    is_derived = entries.is_derived()
    features = [b""] * len(rows)
    for index in distinct(owners).tolist():
        places = np.flatnonzero((owners == index) & ~is_derived[start:stop])
        written = write_rows(store, entries.outs[index], rows[places])
        for place, feature in zip(places.tolist(), written, strict=True):
            features[place] = feature
    at = int(is_derived[:start].sum())
    for place in np.flatnonzero(is_derived[start:stop]).tolist():
        features[place] = write_derived(entries.derived[at], entries.outs[int(owners[place])])
        at += 1
    return features


def stream_features(
    store: Store,
    entries: Entries,
    deadline: Deadline,
    *,
    as_lines: bool,
    members: Sequence[tuple[str, bytes]] = (),
) -> Iterator[bytes]:
    """Yield all features as one collection with its members (name, JSON), or one per line."""
    separator = b"\n"
    if not as_lines:
        yield open_collection(members)
    for start in range(0, len(entries), _CHUNK):
        deadline.check()
        features = write_page(store, entries, start, min(start + _CHUNK, len(entries)))
        if as_lines:
            yield b"\n".join(features) + b"\n"
        else:
            yield separator + b",\n".join(features)
            separator = b",\n"
    if not as_lines:
        yield b"\n]}\n"


def write_rows(store: Store, out: Out, rows: Rows) -> list[bytes]:
    """Return the features of rows as an `out` asks for them."""
    fields: list[str] | None = [] if out.mode in ("ids", "skel") else None
    include = ["meta"] if out.mode == "meta" else []
    whole = out.geometry == "geom" or (out.geometry == "none" and out.mode not in ("ids", "tags"))
    if whole and out.box is None:
        return write_features(store, rows, Output(fields=fields, include=include))  # type: ignore[arg-type] # literals
    output = Output(fields=fields, include=include, geometry=False)  # type: ignore[arg-type] # literals
    if out.geometry == "none" and not whole:
        return write_features(store, rows, output)
    shapes, note = _shapes(store, out, rows)
    noted = ~shapely.is_missing(shapes) & ((rows >= store.way_start) | (out.geometry == "geom"))
    extra = [note if has else b"" for has in noted.tolist()]
    return [
        feature.replace(_NO_GEOMETRY, b'"geometry":' + text, 1)
        for feature, text in zip(
            write_features(store, rows, output, extra=extra),
            write_geometries(cut_antimeridian(shapes)),
            strict=True,
        )
    ]


def _shapes(store: Store, out: Out, rows: Rows) -> tuple[NDArray[np.object_], bytes]:
    """Return the geometries that an `out` asks for, and the property that tells which."""
    shapes = np.full(len(rows), None, np.object_)
    if out.geometry == "center":
        middle = centers(store, rows)
        known = ~np.isnan(middle[:, 0])
        shapes[known] = shapely.points(middle[known])
        return shapes, b'"@geometry":"center"'
    if out.geometry == "bb":
        is_relation = rows >= store.relation_start
        boxes = store.boxes(rows)
        if is_relation.any():
            boxes[is_relation] = shown_boxes(store, rows[is_relation])
        known = boxes[:, 0] <= boxes[:, 2]
        shapes[known] = shapely.box(*(boxes[known] / E7).T)
        nodes = rows < store.way_start
        shapes[nodes] = store.geometries(rows[nodes])
        return shapes, b'"@geometry":"bounds"'
    assert out.box is not None
    return clip(store.geometries(rows), out.box), b'"@geometry":"clipped"'


def clip(shapes: NDArray[np.object_], box: BoxFilter) -> NDArray[np.object_]:
    """Return the parts of geometries in a box, None where nothing is."""
    areas = [
        shapely.box(b.x0 / E7, b.y0 / E7, b.x1 / E7, b.y1 / E7)
        for b in to_boxes(box)
        if b.x0 <= b.x1
    ]
    clipped = np.asarray(shapely.intersection(shapes, shapely.union_all(areas)), np.object_)
    clipped[shapely.is_empty(clipped)] = None
    return clipped


def write_derived(item: Derived, out: Out) -> bytes:
    """Return the feature of an element that make or convert made."""
    shape = item.geometry
    if shape is not None and shape.is_empty:
        shape = None
    if shape is not None and out.geometry == "center":
        west, south, east, north = shape.bounds
        shape = shapely.Point((west + east) / 2, (south + north) / 2)
    elif shape is not None and out.geometry == "bb":
        shape = shapely.box(*shape.bounds)
    if shape is not None:
        shape = flatten(shape)
    tags = {("@" + key if key.startswith("@") else key): text for key, text in item.tags.items()}
    if out.mode in ("ids", "skel"):
        tags = {}
    geometry = write_geometries(cut_antimeridian(np.array([shape], np.object_)))[0]
    properties = {"@type": item.type_name, "@id": item.id, **tags}
    return b'{"type":"Feature","id":%b,"osm_id":%d,"geometry":%b,"properties":%b}' % (
        orjson.dumps(f"{item.type_name}/{item.id}"),
        item.id,
        geometry,
        orjson.dumps(properties),
    )


def flatten(shape: shapely.Geometry) -> shapely.Geometry:
    """Return a collection of one kind as MultiPoint, MultiLineString or MultiPolygon."""
    if shapely.get_type_id(shape) != 7:
        return shape
    parts = shapely.get_parts(shape)
    while (shapely.get_type_id(parts) >= 4).any():
        parts = shapely.get_parts(parts)
    kinds = set(shapely.get_type_id(parts).tolist())
    makers = {0: shapely.multipoints, 1: shapely.multilinestrings, 3: shapely.multipolygons}
    if len(kinds) == 1 and (kind := kinds.pop()) in makers:
        return makers[kind](parts)
    return shapely.geometrycollections(parts)
