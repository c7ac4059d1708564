"""From ids of the store's terms back to terms, a whole array of one space at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from mapyard.sparql.ids import PAYLOAD, SHIFT, Ids
from mapyard.sparql.osm_ids import (
    ABSENT,
    CENTROID_NAMES,
    CENTROID_NODE,
    CHANGESET,
    ELEMENT,
    ELEMENT_PREFIXES,
    GEOMETRY_NAMES,
    GEOMETRY_NODE,
    KEY_SPACES,
    MEMBER,
    VALUE,
    VOCABULARY,
    VOCABULARY_IRIS,
    WAY_MEMBER,
    WIKIDATA_ITEM,
    format_point,
    point_positions,
)
from mapyard.sparql.osm_shapes import shapes_of_ids
from mapyard.sparql.prefixes import OSM2RDF_GEOM, OSM_CHANGESET, WIKIDATA
from mapyard.sparql.table import format_wkt
from mapyard.sparql.terms import WKT_LITERAL, BlankNode, Iri, Literal, Term
from mapyard.store.reader import Store


def decode_ids(store: Store, ids: Ids) -> Sequence[Term]:
    """Return the terms of ids, all of one space or all points."""
    if not len(ids):
        return []
    first = int(ids[0])
    if first < 0:
        return _points(ids)
    space = first >> SHIFT
    payload = ids & PAYLOAD
    if space in KEY_SPACES:
        prefix, keys = KEY_SPACES[space], store.keys
        return [Iri(prefix + keys[k]) for k in payload.tolist()]
    decoder = _DECODERS.get(space)
    if decoder is not None:
        return decoder(store, payload)
    shapes = shapes_of_ids(store, ids)
    assert shapes is not None
    return [Literal(text or "", WKT_LITERAL) for text in format_wkt(shapes)]


def _points(ids: Ids) -> list[Term]:
    lon, lat = point_positions(ids)
    return [
        Literal(format_point(x, y), WKT_LITERAL)
        for x, y in zip(lon.tolist(), lat.tolist(), strict=True)
    ]


def _by_type(store: Store, rows: Any, prefixes: Sequence[str]) -> list[Term]:
    types = store.types(rows).tolist()
    numbers = store.ids[rows].tolist()
    return [Iri(f"{prefixes[t]}{n}") for t, n in zip(types, numbers, strict=True)]


def _absent(store: Store, eids: Any) -> list[Term]:
    return [Iri(f"{ELEMENT_PREFIXES[e & 3]}{e >> 2}") for e in eids.tolist()]


def _members(name: str) -> Callable[[Store, Any], list[Term]]:
    return lambda store, payload: [BlankNode(f"{name}{p}") for p in payload.tolist()]


_NODES: Final = tuple(OSM2RDF_GEOM + name for name in GEOMETRY_NAMES)
_CENTROIDS: Final = tuple(OSM2RDF_GEOM + name for name in CENTROID_NAMES)
_DECODERS: Final[dict[int, Callable[[Store, Any], Sequence[Term]]]] = {
    ELEMENT: lambda store, rows: _by_type(store, rows, ELEMENT_PREFIXES),
    ABSENT: _absent,
    VALUE: lambda store, kvs: [Literal(text) for text in store.values(kvs)],
    VOCABULARY: lambda store, indexes: [Iri(VOCABULARY_IRIS[i]) for i in indexes.tolist()],
    WIKIDATA_ITEM: lambda store, items: [Iri(f"{WIKIDATA}Q{n}") for n in items.tolist()],
    CHANGESET: lambda store, numbers: [Iri(f"{OSM_CHANGESET}{n}") for n in numbers.tolist()],
    GEOMETRY_NODE: lambda store, rows: _by_type(store, rows, _NODES),
    CENTROID_NODE: lambda store, rows: _by_type(store, rows, _CENTROIDS),
    MEMBER: _members("m"),
    WAY_MEMBER: _members("w"),
}
