"""From ids of the store's terms back to texts, a whole array of one space at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from mapyard.sparql.osm.ids import (
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
    escape_key,
    format_points,
    point_positions,
)
from mapyard.sparql.osm.shapes import shapes_of_ids
from mapyard.sparql.run.table import format_wkt
from mapyard.sparql.sources.source import Texts
from mapyard.sparql.terms.ids import PAYLOAD, SHIFT, Ids
from mapyard.sparql.terms.prefixes import OSM2RDF_GEOM, OSM_CHANGESET, WIKIDATA
from mapyard.sparql.terms.terms import WKT_LITERAL, XSD_STRING
from mapyard.store.reader import Store


def decode_texts(store: Store, ids: Ids) -> Texts:
    """Return the texts of ids, all of one space or all points."""
    first = int(ids[0])
    if first < 0:
        lon, lat = point_positions(ids)
        return Texts("literal", format_points(lon, lat), WKT_LITERAL)
    space = first >> SHIFT
    payload = ids & PAYLOAD
    if space in KEY_SPACES:
        prefix, keys = KEY_SPACES[space], store.keys
        return Texts("iri", [prefix + escape_key(keys[k]) for k in payload.tolist()])
    decoder = _DECODERS.get(space)
    if decoder is not None:
        return decoder(store, payload)
    shapes = shapes_of_ids(store, ids)
    assert shapes is not None
    return Texts("literal", [text or "" for text in format_wkt(shapes)], WKT_LITERAL)


def _by_type(store: Store, rows: Any, prefixes: Sequence[str]) -> Texts:
    numbers = store.ids[rows].tolist()
    types = store.types(rows)
    first = int(types[0])
    if len(types) == 1 or bool((types == first).all()):
        prefix = prefixes[first]
        return Texts("iri", [f"{prefix}{n}" for n in numbers])
    names = [prefixes[t] for t in types.tolist()]
    return Texts("iri", [f"{p}{n}" for p, n in zip(names, numbers, strict=True)])


def _iris(prefix: str) -> Callable[[Store, Any], Texts]:
    return lambda store, payload: Texts("iri", [f"{prefix}{n}" for n in payload.tolist()])


def _blank_nodes(name: str) -> Callable[[Store, Any], Texts]:
    return lambda store, payload: Texts("bnode", [f"{name}{p}" for p in payload.tolist()])


def _absent(store: Store, eids: Any) -> Texts:
    return Texts("iri", [f"{ELEMENT_PREFIXES[e & 3]}{e >> 2}" for e in eids.tolist()])


_NODES: Final = tuple(OSM2RDF_GEOM + name for name in GEOMETRY_NAMES)
_CENTROIDS: Final = tuple(OSM2RDF_GEOM + name for name in CENTROID_NAMES)
_DECODERS: Final[dict[int, Callable[[Store, Any], Texts]]] = {
    ELEMENT: lambda store, rows: _by_type(store, rows, ELEMENT_PREFIXES),
    ABSENT: _absent,
    VALUE: lambda store, kvs: Texts("literal", store.values(kvs), XSD_STRING),
    VOCABULARY: lambda store, indexes: Texts("iri", [VOCABULARY_IRIS[i] for i in indexes.tolist()]),
    WIKIDATA_ITEM: _iris(WIKIDATA + "Q"),
    CHANGESET: _iris(OSM_CHANGESET),
    GEOMETRY_NODE: lambda store, rows: _by_type(store, rows, _NODES),
    CENTROID_NODE: lambda store, rows: _by_type(store, rows, _CENTROIDS),
    MEMBER: _blank_nodes("m"),
    WAY_MEMBER: _blank_nodes("w"),
}
