"""Make the feature table of a dataset: classify, order, snap, describe, layer by layer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.osm.elements import NODE
from mapyard.store.reader import E7, Store
from mapyard.tiles import boundaries, schema
from mapyard.tiles.attributes import (
    Features,
    Values,
    attribute_names,
    is_bridge,
    is_tunnel,
    make_column,
    populations,
)
from mapyard.tiles.classify import Chosen, choose_layer_rows, find_layer_rows, find_rules
from mapyard.tiles.cut import MIN_AREA
from mapyard.tiles.mercator import GRID_UNIT_M, MAX_ZOOM, project
from mapyard.tiles.ocean import build_ocean
from mapyard.tiles.schema import LAYERS, Layer
from mapyard.tiles.shapes import LINE, POINT, POLYGON, Shapes, concatenate, points, ring_areas
from mapyard.tiles.snap import mercator_areas_m2, snap_rows
from mapyard.tiles.table import TableAttribute, TableWriter

Ints = NDArray[np.int64]
Bounds = tuple[float, float, float, float]

DEFAULT_LANGUAGES = ["de", "en"]
_CHUNK_ROWS: Final = 20_000
#: Rows and nodes that are looked through at once.
_ROWS_AT_ONCE: Final = 1 << 24
_NODES_AT_ONCE: Final = 1 << 20
#: Shapes that are made at once, and how many bytes of packed ones.
_SHAPES_AT_ONCE: Final = 4_000
_SHAPES_BYTES: Final = 1 << 20
#: Layers in an order of their own.
_BY_RULE: Final = frozenset(("streets", "street_polygons", "street_labels"))
_ORDERED: Final = _BY_RULE | {"water_lines", "place_labels", "water_polygons_labels"}


class Only(NamedTuple):
    """What is left of a table: the features of some elements, without some layers."""

    rows: Ints
    without: frozenset[str]


def build_table(
    store: Store,
    folder: Path,
    bounds_deg: Bounds,
    languages: list[str] | None = None,
    progress: Callable[[float], None] = lambda share: None,
    memory_bytes: int = 64 << 20,
    only: Only | None = None,
) -> None:
    """Write the table of a store into a folder.

    `bounds_deg` (west, south, east, north; west > east crosses the antimeridian) is the box of the
    extract: the ocean ends there. Sorts take `memory_bytes`. `only` leaves out what it does not
    hold; of layers that are no matter of one element each it holds all or nothing.
    """
    codes = list_codes(languages)
    writer, values = TableWriter(folder, memory_bytes), Values()
    chosen = Chosen(store, only.rows) if only is not None else None
    pois: list[NDArray[np.uint32]] = []
    for index, layer in enumerate(LAYERS):
        progress(index / len(LAYERS))
        writer.begin_layer(index, attribute_names(layer, codes))
        if only is not None and layer.name in only.without:
            continue
        if layer.name == "ocean":
            ocean = build_ocean(store, bounds_deg)
            nothing = np.zeros(len(ocean), np.int64)
            writer.append(ocean, nothing, nothing, [])
        elif layer.name == "boundaries":
            _write_boundaries(store, writer, values)
        elif layer.name == "boundary_labels":
            _write_boundary_labels(store, writer, values, layer, codes)
        else:
            taken = pois if layer.name == "addresses" else []
            for chunk in _iter_chunks(store, values, layer, taken, chosen):
                if layer.name == "pois":
                    pois.append(chunk.rows.astype(np.uint32))
                _write_features(chunk, writer, codes)
    writer.close(values.messages, bounds_deg)


def list_codes(languages: list[str] | None) -> list[str]:
    """Return the codes of all languages of names, those that are always there first."""
    return list(dict.fromkeys([*DEFAULT_LANGUAGES, *(languages or [])]))


def list_attributes(codes: list[str]) -> list[TableAttribute]:
    """Return all attributes of a table with names in some languages."""
    return [
        TableAttribute(index, attribute.name, attribute.type, attribute.minzoom)
        for index, layer in enumerate(LAYERS)
        for attribute in attribute_names(layer, codes)
    ]


def find_bounds(store: Store) -> Bounds:
    """Return the box of all nodes, degrees; west > east where it is narrower over 180°."""
    south = north = 0
    # The least and the largest longitude of each half of the world.
    halves: list[tuple[int, int] | None] = [None, None]
    is_empty = True
    for start in range(0, len(store.lat), _NODES_AT_ONCE):
        part = slice(start, start + _NODES_AT_ONCE)
        lon, lat = store.lon[part], store.lat[part]
        low, high = int(lat.min()), int(lat.max())
        if low < -90 * E7 or high > 90 * E7:
            placed = (lat >= -90 * E7) & (lat <= 90 * E7)
            lon, lat = lon[placed], lat[placed]
            if not len(lon):
                continue
            low, high = int(lat.min()), int(lat.max())
        south, north = (low, high) if is_empty else (min(south, low), max(north, high))
        is_empty = False
        for half, side in enumerate(_halve(lon)):
            if len(side):
                least, largest = int(side.min()), int(side.max())
                known = halves[half] or (least, largest)
                halves[half] = min(known[0], least), max(known[1], largest)
    if is_empty:
        return -180.0, -90.0, 180.0, 90.0
    western, eastern = halves
    west, east = western or eastern or (0, 0)
    if western and eastern:
        west, east = western[0], eastern[1]
        if western[1] + 360 * E7 - eastern[0] < eastern[1] - western[0]:
            west, east = eastern[0], western[1]
    return west / E7, south / E7, east / E7, north / E7


def _halve(lon: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return what lies west of 0° and what does not."""
    if (is_west := lon < 0).any():
        return lon[is_west], lon[~is_west]
    return lon[:0], lon


def _iter_chunks(
    store: Store,
    values: Values,
    layer: Layer,
    taken: list[NDArray[np.uint32]],
    chosen: Chosen | None,
) -> Iterator[Features]:
    """Yield the features of a layer in drawing order, but those that another layer has taken.

    Of all rows, or of chosen ones. Layers that are drawn in the order of rows, which are the large
    ones, are never held whole.
    """
    without = np.concatenate(taken) if taken else np.empty(0, np.uint32)
    step = _ROWS_AT_ONCE if is_drawn_by_row(layer) and chosen is None else store.row_count
    rest = Features(store, values, layer, np.empty(0, np.int64), np.empty(0, np.int64))
    for start in range(0, store.row_count, max(1, step)):
        stop = min(store.row_count, start + step)
        if chosen is None:
            rows, rule = find_layer_rows(store, layer, (start, stop))
        else:
            rows, rule = choose_layer_rows(chosen, layer)
        if len(without):
            free = ~np.isin(rows, without, assume_unique=True)
            rows, rule = rows[free], rule[free]
        found = Features(store, values, layer, rows, rule)
        order = draw_order(found)
        rows = np.concatenate([rest.rows, rows[order]])
        rule = np.concatenate([rest.rule, rule[order]])
        whole = len(rows) - len(rows) % _CHUNK_ROWS if stop < store.row_count else len(rows)
        for first in range(0, whole, _CHUNK_ROWS):
            part = slice(first, min(whole, first + _CHUNK_ROWS))
            yield found._replace(rows=rows[part], rule=rule[part])
        rest = found._replace(rows=rows[whole:], rule=rule[whole:])


def is_drawn_by_row(layer: Layer) -> bool:
    """Return whether the features of a layer are drawn in the order of their rows."""
    return layer.name not in _ORDERED and (layer.kind != POLYGON or layer.name == "buildings")


def draw_order(features: Features) -> Ints:
    """Return the order of the features of a layer, as the schema says; ties by row."""
    keys = order_keys(features)
    return np.lexsort((features.rows, *reversed(keys))) if keys else np.arange(len(features.rows))


def order_keys(features: Features) -> list[NDArray[Any]]:
    """Return by what the features of a layer are ordered before their rows, first things first."""
    name = features.layer.name
    if name in _BY_RULE:
        return [_level(features), features.rule]
    if name == "water_lines":
        return [_layer_tag(features)]
    if name == "place_labels":
        return [-populations(features)]
    if name == "water_polygons_labels":
        return [-mercator_areas_m2(features.store, features.rows)]
    if is_drawn_by_row(features.layer):
        return []
    # Large areas first, so that small ones are not hidden.
    box = features.store.boxes(features.rows).astype(np.int64)
    return [-(box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1])]


def find_keys(chosen: Chosen, layer: Layer) -> list[NDArray[Any]]:
    """Return by what chosen rows, which are all of a layer, are ordered in it, rows last."""
    rule = find_rules(chosen, layer) if layer.name in _BY_RULE else np.zeros_like(chosen.rows)
    features = Features(chosen.store, Values(), layer, chosen.rows, rule)
    return [*order_keys(features), chosen.rows]


def _layer_tag(features: Features) -> Ints:
    kvs = features.tag("layer")
    unique, inverse = np.unique(kvs, return_inverse=True)
    texts = features.store.values(unique[unique >= 0])
    numbers = [0] * (len(unique) - len(texts)) + [_read_layer(text) for text in texts]
    return np.array(numbers, np.int64)[inverse]


def _read_layer(text: str) -> int:
    try:
        return max(-10, min(10, int(text)))
    except ValueError:
        return 0


def _level(features: Features) -> Ints:
    """Tunnels before the ground before bridges, each by its layer."""
    bridge = is_bridge(features).astype(np.int64)
    tunnel = is_tunnel(features).astype(np.int64)
    return 3 * _layer_tag(features) + bridge - tunnel


def _write_features(features: Features, writer: TableWriter, codes: list[str]) -> None:
    store, layer = features.store, features.layer
    names = [attribute.name for attribute in attribute_names(layer, codes)]
    shapes, source, minzoom = _make_shapes(features)
    made = features._replace(rows=features.rows[source], rule=features.rule[source])
    writer.append(
        shapes,
        feature_ids(store, made.rows),
        minzoom,
        [make_column(made, name) for name in names],
    )


def _make_shapes(features: Features) -> tuple[Shapes, Ints, Ints]:
    """Return the shapes of features, each one's row (its index), and its least zoom."""
    layer = features.layer
    shapes, source = _snap_in_portions(features.store, features.rows, layer.kind)
    made = features._replace(rows=features.rows[source], rule=features.rule[source])
    minzooms = np.array([rule.minzoom for rule in layer.rules], np.int64)
    return shapes, source, np.maximum(minzooms[made.rule], _visible_from(made, shapes))


def _snap_in_portions(store: Store, rows: Ints, kind: int) -> tuple[Shapes, Ints]:
    """Return what snap_rows does, as much at once as fits: areas have up to a million vertices."""
    if kind == POINT:
        return snap_rows(store, rows, kind)
    cost = np.cumsum(store.shape_bytes(rows) + _SHAPES_BYTES // _SHAPES_AT_ONCE)
    cuts = np.flatnonzero(np.diff(cost // _SHAPES_BYTES)) + 1
    found = [snap_rows(store, part, kind) for part in np.split(rows, cuts)]
    sources = [
        source + first for (_, source), first in zip(found, [0, *cuts.tolist()], strict=True)
    ]
    return concatenate([shapes for shapes, _ in found]), np.concatenate(sources)


def _visible_from(features: Features, shapes: Shapes) -> Ints:
    """Return the zoom at which an area (or the area that is labeled) is larger than a pixel."""
    name = features.layer.name
    if name == "water_polygons_labels":
        areas = mercator_areas_m2(features.store, features.rows) / GRID_UNIT_M**2
    elif features.layer.kind == POLYGON and len(shapes):
        twice = ring_areas(shapes.xy, shapes.rings)
        areas = np.add.reduceat(twice, shapes.features[:-1]) / 2
    else:
        return np.zeros(len(shapes), np.int64)
    # An area of A units at zoom 14 has A / 4**n units n zooms below.
    below = np.floor(np.log2(np.maximum(areas, 1) / MIN_AREA) / 2)
    return np.clip(MAX_ZOOM - below, 0, MAX_ZOOM).astype(np.int64)


def feature_ids(store: Store, rows: Ints) -> Ints:
    """Return osm_id * 10 + 1 for nodes, 2 for ways, 3 for relations; 0 for negative OSM ids."""
    ids = store.ids[rows]
    return np.where(ids > 0, ids * 10 + store.types(rows) + 1 - NODE, 0)


def _write_boundaries(store: Store, writer: TableWriter, values: Values) -> None:
    lines = boundaries.find_boundary_lines(store)
    shapes, source = snap_rows(store, lines.rows, LINE)
    level = lines.admin_level[source]
    numbers = {int(text): values.add(int(text)) for text in schema.BOUNDARY_ZOOMS}
    zooms = {int(text): zoom for text, zoom in schema.BOUNDARY_ZOOMS.items()}
    writer.append(
        shapes,
        feature_ids(store, lines.rows[source]),
        np.array([zooms[n] for n in level.tolist()], np.int64),
        [
            np.array([numbers[n] for n in level.tolist()], np.int64),
            values.of_flags(lines.maritime[source]),
            values.of_flags(lines.disputed[source]),
        ],
    )


def _write_boundary_labels(
    store: Store, writer: TableWriter, values: Values, layer: Layer, codes: list[str]
) -> None:
    rows, positions, levels, areas, zooms = [], [], [], [], []
    for level in schema.BOUNDARY_LABEL_ZOOMS:
        relations = boundaries.find_boundary_relations(store, level)
        relations = relations[store.tag_values(relations, "name") >= 0]
        relations, lon_lat = boundaries.find_label_points(store, relations)
        rows.append(relations)
        positions.append(lon_lat)
        area = boundaries.areas_km2(store, relations)
        areas.append(area)
        zooms.append(boundaries.label_minzooms(level, area))
        levels.append(np.full(len(relations), values.add(int(level)), np.int64))
    area_km2 = np.concatenate(areas)
    order = np.argsort(-area_km2, kind="stable")
    row = np.concatenate(rows)[order]
    features = Features(store, values, layer, row, np.zeros(len(row), np.int64))
    names = [a.name for a in attribute_names(layer, codes)][3:]
    writer.append(
        points(np.rint(project(np.concatenate(positions)[order]))),
        feature_ids(store, row),
        np.concatenate(zooms)[order],
        [
            np.concatenate(levels)[order],
            values.of_floats(area_km2[order] * 100),  # hectares
            features.text("name"),
            *(make_column(features, name) for name in names),
        ],
    )
