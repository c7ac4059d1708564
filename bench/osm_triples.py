"""A store's elements as N-Triples in the shape of osm2rdf: what the triple stores are loaded with.

Written element by element from the store's public reader, apart from the SPARQL engine, so that it
can serve as the engine's oracle.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import shapely

from mapyard.store.reader import Store

OSM = "https://www.openstreetmap.org/"
GEOM = "https://osm2rdf.cs.uni-freiburg.de/rdf/geom#osm_"
RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
GEO = "http://www.opengis.net/ont/geosparql#"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
NAMES = ("node", "way", "relation")
SHORT = ("node", "way", "rel")
_IRI_ESCAPES = str.maketrans(
    {c: f"\\u{ord(c):04X}" for c in [*map(chr, range(33)), *'<>"{}|^`\\']}
)
_CHUNK = 20_000


def iter_triples(store: Store) -> Iterator[str]:
    """Yield N-Triples lines of all tagged nodes, ways and relations, without nodes of ways."""
    listed = np.sort(store.listed).astype(np.int64)
    for start in range(0, len(listed), _CHUNK):
        rows = listed[start : start + _CHUNK]
        texts = shapely.to_wkt(store.geometries(rows), rounding_precision=7)
        meta = store.meta(rows)
        for index, (row, tags, wkt) in enumerate(
            zip(rows.tolist(), store.tags_json(rows), texts.tolist(), strict=True)
        ):
            kind = int(store.types(np.array([row]))[0])
            osm_id = store.ids[row]
            subject = f"<{OSM}{NAMES[kind]}/{osm_id}>"
            yield f"{subject} {RDF_TYPE} <{OSM}{NAMES[kind]}> .\n"
            for key, value in json.loads(tags).items():
                yield f"{subject} <{OSM}wiki/Key:{key.translate(_IRI_ESCAPES)}> {_value(key, value)} .\n"
            if meta is not None:
                yield f'{subject} <{OSM}meta/version> "{meta.version[index]}"^^<{INTEGER}> .\n'
            if wkt is not None:
                node = f"<{GEOM}{SHORT[kind]}_{osm_id}>"
                text = wkt.replace(" (", "(").replace(", ", ",")
                yield f"{subject} <{GEO}hasGeometry> {node} .\n"
                yield f'{node} <{GEO}asWKT> "{text}"^^<{GEO}wktLiteral> .\n'
            if kind == 2:
                yield from _members(store, row, subject)


def _value(key: str, value: str) -> str:
    if key == "admin_level" and value.strip().isdecimal():
        return f'"{int(value)}"^^<{INTEGER}>'
    text = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"' + text.replace("\r", "\\r").replace("\t", "\\t") + '"'


def _members(store: Store, row: int, subject: str) -> Iterator[str]:
    members = store.members(np.array([row]))
    for place, (eid, role) in enumerate(
        zip(members.eid.tolist(), members.role.tolist(), strict=True)
    ):
        node = f"_:m{row}x{place}"
        yield f"{subject} <{OSM}relation/member> {node} .\n"
        yield f"{node} <{OSM}relation/member_id> <{OSM}{NAMES[eid & 3]}/{eid >> 2}> .\n"
        yield f"{node} <{OSM}relation/member_role> {_value('', store.roles[role] or 'member')} .\n"
        yield f'{node} <{OSM}relation/member_pos> "{place}"^^<{INTEGER}> .\n'
