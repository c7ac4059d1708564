"""The prefixes that both public SPARQL dialects over OpenStreetMap declare by themselves.

A query's own PREFIX lines win over these.
"""

from __future__ import annotations

from typing import Final

from mapyard.sparql.terms.terms import GEO, RDF, XSD

OSM: Final = "https://www.openstreetmap.org/"
OSM_NODE: Final = OSM + "node/"
OSM_WAY: Final = OSM + "way/"
OSM_RELATION: Final = OSM + "relation/"
OSM_CHANGESET: Final = OSM + "changeset/"
OSM_META: Final = OSM + "meta/"
OSM_KEY: Final = OSM + "wiki/Key:"
SOPHOX_KEY: Final = "https://wiki.openstreetmap.org/wiki/Key:"
OSM2RDF: Final = "https://osm2rdf.cs.uni-freiburg.de/rdf#"
OSM2RDF_KEY: Final = "https://osm2rdf.cs.uni-freiburg.de/rdf/key#"
OSM2RDF_GEOM: Final = "https://osm2rdf.cs.uni-freiburg.de/rdf/geom#"
OSM2RDF_MEMBER: Final = "https://osm2rdf.cs.uni-freiburg.de/rdf/member#"
OSM2RDF_META: Final = "https://osm2rdf.cs.uni-freiburg.de/rdf/meta#"
GEOF: Final = "http://www.opengis.net/def/function/geosparql/"
OGC: Final = "http://www.opengis.net/rdf#"
UOM: Final = "http://www.opengis.net/def/uom/OGC/1.0/"
QUDT_UNIT: Final = "http://qudt.org/vocab/unit/"
WIKIDATA: Final = "http://www.wikidata.org/entity/"
WIKIBASE: Final = "http://wikiba.se/ontology#"
BIGDATA: Final = "http://www.bigdata.com/rdf#"
SPATIAL_SEARCH: Final = "https://qlever.cs.uni-freiburg.de/spatialSearch/"
QLEVER: Final = "http://qlever.cs.uni-freiburg.de/builtin-functions/"
RDFS: Final = "http://www.w3.org/2000/01/rdf-schema#"

#: Stands for `geo:hasGeometry/geo:asWKT` in one step; no query can spell it.
GEOMETRY_TEXT: Final = " hasGeometry/asWKT"

PREFIXES: Final[dict[str, str]] = {
    "rdf": RDF,
    "rdfs": RDFS,
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "xsd": XSD,
    "fn": "http://www.w3.org/2005/xpath-functions#",
    "math": "http://www.w3.org/2005/xpath-functions/math#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "schema": "http://schema.org/",
    "osm": OSM,
    "osmnode": OSM_NODE,
    "osmway": OSM_WAY,
    "osmrel": OSM_RELATION,
    "osmchangeset": OSM_CHANGESET,
    "osmmeta": OSM_META,
    "osmm": OSM_META,
    "osmkey": OSM_KEY,
    "osmt": SOPHOX_KEY,
    "osm2rdf": OSM2RDF,
    "osm2rdfkey": OSM2RDF_KEY,
    "osm2rdfgeom": OSM2RDF_GEOM,
    "osm2rdfmember": OSM2RDF_MEMBER,
    "osm2rdfmeta": OSM2RDF_META,
    "geo": GEO,
    "geof": GEOF,
    "sf": "http://www.opengis.net/ont/sf#",
    "ogc": OGC,
    "uom": UOM,
    "unit": QUDT_UNIT,
    "wd": WIKIDATA,
    "wdt": "http://www.wikidata.org/prop/direct/",
    "wikibase": WIKIBASE,
    "bd": BIGDATA,
    "ql": QLEVER,
    "qlss": SPATIAL_SEARCH,
    "spatialSearch": SPATIAL_SEARCH,
}


def shorten_iri(iri: str) -> str:
    """Return an IRI with the prefix that stands for most of it."""
    names = [(len(space), name) for name, space in PREFIXES.items() if iri.startswith(space)]
    if not names:
        return f"<{iri}>"
    length, name = max(names)
    return f"{name}:{iri[length:]}"
