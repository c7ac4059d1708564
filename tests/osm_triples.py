"""A store's elements as N-Triples: what triple stores are loaded with to check and time SPARQL.

Written element by element from the store's public reader, apart from the SPARQL engine, so that it
can serve as its oracle.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import shapely

from mapyard.store.reader import Store

OSM = "https://www.openstreetmap.org/"
SOPHOX = "https://wiki.openstreetmap.org/wiki/Key:"
GEOM = "https://osm2rdf.cs.uni-freiburg.de/rdf/geom#osm_"
RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
GEO = "http://www.opengis.net/ont/geosparql#"
XSD = "http://www.w3.org/2001/XMLSchema#"
NAMES = ("node", "way", "relation")
SHORT = ("node", "way", "rel")
_IRI_ESCAPES = str.maketrans({c: f"%{ord(c):02X}" for c in [*map(chr, range(33)), *'<>"{}|^`\\%']})
_CHUNK = 20_000


def iter_triples(store: Store, *, sophox: bool = False) -> Iterator[str]:
    """Yield N-Triples lines of all tagged nodes, ways and relations in the shape of osm2rdf.

    Without nodes of ways; `sophox` adds the other dialect's triples.
    """
    listed = np.sort(store.listed).astype(np.int64)
    for start in range(0, len(listed), _CHUNK):
        rows = listed[start : start + _CHUNK]
        shapes = store.geometries(rows)
        meta = store.meta(rows)
        types, ids = store.types(rows).tolist(), store.ids[rows].tolist()
        tags, closed = store.tags_json(rows), store.is_closed(rows).tolist()
        for index, row in enumerate(rows.tolist()):
            kind, osm_id = types[index], ids[index]
            subject = f"<{OSM}{NAMES[kind]}/{osm_id}>"
            yield f"{subject} {RDF_TYPE} <{OSM}{NAMES[kind]}> .\n"
            for key, value in json.loads(tags[index]).items():
                name = key.translate(_IRI_ESCAPES)
                yield f"{subject} <{OSM}wiki/Key:{name}> {_value(key, value)} .\n"
                if sophox:
                    yield f"{subject} <{SOPHOX}{name}> {_value('', value)} .\n"
            if meta is not None:
                yield f"{subject} <{OSM}meta/version> {_integer(meta.version[index])} .\n"
                if meta.timestamp[index]:
                    time = np.datetime64(int(meta.timestamp[index]), "s")
                    yield f'{subject} <{OSM}meta/timestamp> "{time}Z"^^<{XSD}dateTime> .\n'
            shape = shapes[index]
            if shape is not None:
                node = f"<{GEOM}{SHORT[kind]}_{osm_id}>"
                yield f"{subject} <{GEO}hasGeometry> {node} .\n"
                yield f"{node} <{GEO}asWKT> {_wkt(shape)} .\n"
                if sophox:
                    yield f"{subject} <{OSM}meta/loc> {_wkt(shapely.centroid(shape))} .\n"
            if sophox:
                yield f'{subject} <{OSM}meta/type> "{"nwr"[kind]}" .\n'
                if kind == 1:
                    truth = f'"{str(closed[index]).lower()}"^^<{XSD}boolean>'
                    yield f"{subject} <{OSM}meta/isClosed> {truth} .\n"
            if kind == 2:
                yield from _members(store, row, subject, sophox)


def _value(key: str, value: str) -> str:
    if key == "admin_level" and value.strip().isdecimal():
        return _integer(int(value))
    text = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"' + text.replace("\r", "\\r").replace("\t", "\\t") + '"'


def _integer(value: int) -> str:
    return f'"{value}"^^<{XSD}integer>'


def _wkt(shape: object) -> str:
    text = shapely.to_wkt(shape, rounding_precision=7)
    return f'"{text.replace(" (", "(").replace(", ", ",")}"^^<{GEO}wktLiteral>'


def _members(store: Store, row: int, subject: str, sophox: bool) -> Iterator[str]:
    members = store.members(np.array([row]))
    pairs = zip(members.eid.tolist(), members.role.tolist(), strict=True)
    for place, (eid, role) in enumerate(pairs):
        node = f"_:m{row}x{place}"
        member = f"<{OSM}{NAMES[eid & 3]}/{eid >> 2}>"
        text = _value("", store.roles[role] or "member")
        yield f"{subject} <{OSM}relation/member> {node} .\n"
        yield f"{node} <{OSM}relation/member_id> {member} .\n"
        yield f"{node} <{OSM}relation/member_role> {text} .\n"
        yield f"{node} <{OSM}relation/member_pos> {_integer(place)} .\n"
        if sophox:
            yield f"{subject} <{OSM}meta/has> {member} .\n"
            yield f"{subject} {member} {text} .\n"
