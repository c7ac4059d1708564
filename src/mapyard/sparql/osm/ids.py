"""Ids of OpenStreetMap terms: elements, tag values, keys, geometries and members by their row.

The spaces follow those of ids.py. Points of nodes are negative ids: 32 bits of longitude and 31 of
latitude in 1e-7 degree, so that equal points are equal terms.
"""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from mapyard.osm.elements import NODE, RELATION, WAY
from mapyard.sparql.terms.ids import FIRST_SOURCE_SPACE, SHIFT, Ids, Mask
from mapyard.sparql.terms.prefixes import (
    GEOMETRY_TEXT,
    OGC,
    OSM,
    OSM2RDF,
    OSM2RDF_GEOM,
    OSM2RDF_KEY,
    OSM2RDF_MEMBER,
    OSM_KEY,
    OSM_META,
    OSM_NODE,
    OSM_RELATION,
    OSM_WAY,
    QLEVER,
    SOPHOX_KEY,
)
from mapyard.sparql.terms.terms import GEO, RDF_TYPE

(
    ELEMENT,  # row
    ABSENT,  # eid of an element that is not in the extract
    VALUE,  # first kv id with this text
    KEY,  # osmkey:…, index of the key; so the three that follow
    SOPHOX_KEYS,  # osmt:…
    PLAIN_KEYS,  # osm:…
    LINK_KEYS,  # osm2rdfkey:…
    VOCABULARY,  # index into VOCABULARY_IRIS
    WIKIDATA_ITEM,  # number of Q…
    CHANGESET,  # its number
    GEOMETRY_NODE,  # row
    CENTROID_NODE,  # row
    WKT,  # row of a way or relation
    CENTROID,  # row of a way or relation
    ENVELOPE,  # row; so the two that follow
    HULL,
    OBB,
    MEMBER,  # relation index << 16 | position
    WAY_MEMBER,  # way index << 16 | position
) = range(FIRST_SOURCE_SPACE, FIRST_SOURCE_SPACE + 19)

#: Relations between elements, by the local name of their predicates and functions.
RELATIONS: Final = (
    "sfContains", "sfCovers", "sfIntersects", "sfEquals", "sfTouches", "sfCrosses", "sfOverlaps",
    "sfWithin", "sfCoveredBy",
)  # fmt: skip

VOCABULARY_IRIS: Final = (
    RDF_TYPE,
    *(OSM + name for name in ("node", "way", "relation")),
    *(OSM_META + name for name in ("version", "timestamp", "changeset", "user", "uid")),
    *(OSM_META + name for name in ("type", "isClosed", "loc", "has")),
    *(GEO + name for name in ("hasGeometry", "hasCentroid", "asWKT")),
    *(OSM2RDF_GEOM + name for name in ("envelope", "convex_hull", "obb", "centroid")),
    OSM_META + "visible",
    OSM_WAY + "next_node_distance",
    *(OSM2RDF + name for name in ("facts", "length", "area", "hasCompleteGeometry")),
    *(OSM_RELATION + name for name in ("member", "member_id", "member_role", "member_pos")),
    *(OSM_WAY + name for name in ("member", "member_id", "member_pos", "next_node")),
    *(OSM_WAY + name for name in ("nodeCount", "uniqueNodeCount", "is_closed")),
    *(OSM2RDF_MEMBER + name for name in ("id", "role", "pos")),
    GEOMETRY_TEXT,
    *(OGC + name for name in RELATIONS),
    *(GEO + name for name in RELATIONS),
    *(QLEVER + name for name in ("contains-word", "contains-entity")),
)
#: Other names for the same, of GeoSPARQL and of older versions of osm2rdf.
SYNONYMS: Final = {
    GEO + "hasDefaultGeometry": GEO + "hasGeometry",
    GEO + "defaultGeometry": GEO + "hasGeometry",
    GEO + "hasSerialization": GEO + "asWKT",
    OSM_WAY + "node": OSM_WAY + "member",
    OSM_WAY + "node_id": OSM_WAY + "member_id",
    OSM_WAY + "node_pos": OSM_WAY + "member_pos",
}
#: Namespaces whose names are all known here.
CLOSED_NAMESPACES: Final = (
    OSM2RDF, OSM2RDF_GEOM, OSM2RDF_MEMBER, OSM_META, OSM_RELATION, OSM_WAY, OGC, GEO, QLEVER,
)  # fmt: skip
VOCABULARY_INDEX: Final = {iri: index for index, iri in enumerate(VOCABULARY_IRIS)}

ELEMENT_PREFIXES: Final = (OSM_NODE, OSM_WAY, OSM_RELATION)
KEY_PREFIXES: Final = {
    OSM_KEY: KEY, SOPHOX_KEY: SOPHOX_KEYS, OSM2RDF_KEY: LINK_KEYS, OSM: PLAIN_KEYS,
}  # fmt: skip
KEY_SPACES: Final = {space: prefix for prefix, space in KEY_PREFIXES.items()}
GEOMETRY_NAMES: Final = ("osm_node_", "osm_way_", "osm_rel_")
CENTROID_NAMES: Final = ("osm_node_centroid_", "osm_way_centroid_", "osm_rel_centroid_")
ELEMENT_IRI: Final = re.compile(re.escape(OSM) + r"(node|way|relation)/(0|-?[1-9][0-9]{0,15})")
GEOMETRY_IRI: Final = re.compile(
    re.escape(OSM2RDF_GEOM) + r"osm_(node|way|rel)_(centroid_)?(0|-?[1-9][0-9]{0,15})"
)
GEOMETRY_TYPES: Final = {"node": NODE, "way": WAY, "rel": RELATION}
_POINT = re.compile(r"POINT\((-?[0-9.]+) (-?[0-9.]+)\)")
_NOT_IN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\%]')
_E7: Final = 10_000_000
_LON_BIAS: Final = 1_800_000_000
_LAT_BIAS: Final = 900_000_000
_SIGN: Final = np.int64(-(2**63))


def escape_key(key: str) -> str:
    """Return a tag key as the end of an IRI: what no IRI may hold is percent-encoded."""
    return _NOT_IN_IRI.sub(lambda found: f"%{ord(found[0]):02X}", key)


def unescape_key(text: str) -> str:
    """Return the tag key of the end of an IRI."""
    return unquote(text) if "%" in text else text


def vocabulary_id(iri: str) -> int:
    """Return the id of a predicate or class of the vocabulary."""
    return VOCABULARY << SHIFT | VOCABULARY_INDEX[iri]


def point_ids(lon: NDArray[Any], lat: NDArray[Any]) -> Ids:
    """Return the ids of points in 1e-7 degree."""
    x = lon.astype(np.int64) + _LON_BIAS
    y = lat.astype(np.int64) + _LAT_BIAS
    return np.asarray((x << 31 | y) | _SIGN, np.int64)


def point_positions(ids: Ids) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return longitudes and latitudes in 1e-7 degree of point ids."""
    payload = ids & np.int64(2**63 - 1)
    return (payload >> 31) - _LON_BIAS, (payload & (2**31 - 1)) - _LAT_BIAS


def is_point(ids: Ids) -> Mask:
    """Return which ids are points of nodes."""
    return ids < 0


def format_degrees(units: int) -> str:
    """Return 1e-7 degrees as the shortest decimal."""
    sign, units = ("-", -units) if units < 0 else ("", units)
    whole, rest = divmod(units, _E7)
    return f"{sign}{whole}.{rest:07d}".rstrip("0").rstrip(".") if rest else f"{sign}{whole}"


def format_point(lon: int, lat: int) -> str:
    """Return the WKT of a point in 1e-7 degree."""
    return f"POINT({format_degrees(lon)} {format_degrees(lat)})"


def format_points(lon: NDArray[Any], lat: NDArray[Any]) -> list[str]:
    """Return the WKT of points in 1e-7 degree, as `format_point`."""
    both = np.concatenate([lon, lat])
    # The shortest text of x / 1e7 is the exact decimal, but for an exponent or a ".0" at the end.
    if len(both) and (int(np.abs(both).min()) < 1000 or bool((both % _E7 == 0).any())):
        return [format_point(x, y) for x, y in zip(lon.tolist(), lat.tolist(), strict=True)]
    pairs = zip((lon / _E7).tolist(), (lat / _E7).tolist(), strict=True)
    return [f"POINT({x!r} {y!r})" for x, y in pairs]


def find_point_id(wkt: str) -> int | None:
    """Return the id of a point written as this service writes it; None for other texts."""
    found = _POINT.fullmatch(wkt)
    if not found:
        return None
    try:
        lon, lat = (round(float(text) * _E7) for text in found.groups())
    except ValueError:
        return None
    if abs(lon) > _LON_BIAS or abs(lat) > _LAT_BIAS or format_point(lon, lat) != wkt:
        return None
    return int(point_ids(np.array([lon]), np.array([lat]))[0])
