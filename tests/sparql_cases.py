"""Queries of both public dialects and more, with what the oracle is asked instead where it differs.

`{…}` in a text is filled with values of the dataset at hand.
"""

from __future__ import annotations

from typing import NamedTuple

GEOMETRY = "geo:hasGeometry/geo:asWKT"


class Case(NamedTuple):
    """`theirs` is the text for the oracle, "" for the same."""

    name: str
    ours: str
    theirs: str = ""


CASES = [
    # QLever's published shapes
    Case(
        "buildings that a relation contains",
        "SELECT ?o ?g { osmrel:{area} ogc:sfContains ?o . ?o osmkey:amenity [] ; "
        f"{GEOMETRY} ?g }}",
        f"SELECT ?o ?g {{ osmrel:{{area}} {GEOMETRY} ?ag . ?o osmkey:amenity [] ; {GEOMETRY} ?g "
        "FILTER(geof:sfContains(?ag, ?g) && ?o != osmrel:{area}) }",
    ),
    Case(
        "contained, counted by name, in both spellings",
        "SELECT ?a (COUNT(?o) AS ?n) { osmrel:{area} geo:sfContains ?o . ?o osmkey:amenity ?a } "
        "GROUP BY ?a ORDER BY DESC(?n)",
        "SELECT ?a (COUNT(?o) AS ?n) { "
        f"osmrel:{{area}} {GEOMETRY} ?ag . ?o osmkey:amenity ?a ; {GEOMETRY} ?g "
        "FILTER(geof:sfContains(?ag, ?g)) } GROUP BY ?a",
    ),
    Case(
        "a wikidata item and its location",
        "SELECT ?o ?w { ?o osmkey:wikidata ?w ; osmkey:tourism ?t }",
    ),
    Case(
        "unions of types",
        "SELECT ?o { { ?o osmkey:public_transport 'stop_position' ; rdf:type osm:node } UNION "
        "{ ?o osmkey:public_transport 'platform' } UNION { ?o osmkey:railway 'station' } }",
    ),
    Case(
        "members with optional names",
        "SELECT ?r ?m ?n ?pos ?role { ?r osmkey:type 'route' ; osmrel:member ?x . "
        "?x osmrel:member_id ?m ; osmrel:member_pos ?pos ; osmrel:member_role ?role "
        "OPTIONAL { ?m osmkey:name ?n } }",
    ),
    Case(
        "relations of a member",
        "SELECT ?r ?m ?role { ?m osmkey:highway 'bus_stop' . ?x osmrel:member_id ?m ; "
        "osmrel:member_role ?role . ?r osmrel:member ?x }",
    ),
    Case(
        "the first twenty members, in order",
        "SELECT ?r ?pos { ?r osmkey:route 'bus' ; osmrel:member ?x . ?x osmrel:member_pos ?pos "
        "FILTER(?pos < 3) }",
    ),
    Case(
        "regions by code",
        "SELECT ?r ?i { ?r rdf:type osm:relation ; osmkey:ISO3166-1 ?i FILTER REGEX(?i, '^M') }",
    ),
    Case(
        "admin levels are integers",
        "SELECT ?r ?l { ?r osmkey:admin_level ?l ; a osm:relation FILTER(?l > 2) }",
    ),
    Case(
        "within an inline polygon, bound first",
        "SELECT ?o ?g { BIND('{box}'^^geo:wktLiteral AS ?b) ?o osmkey:amenity ?a ; "
        f"{GEOMETRY} ?g FILTER(geof:sfWithin(?g, ?b)) }}",
    ),
    Case(
        "not within",
        f"SELECT ?o {{ ?o osmkey:shop ?s ; {GEOMETRY} ?g "
        "FILTER(!geof:sfWithin(?g, '{box}'^^geo:wktLiteral)) }",
    ),
    Case(
        "disjoint is not narrowed by an index",
        f"SELECT ?o {{ ?o osmkey:shop ?s ; {GEOMETRY} ?g "
        "FILTER(geof:sfDisjoint(?g, '{box}'^^geo:wktLiteral)) }",
    ),
    Case(
        "a box of coordinates",
        f"SELECT ?o {{ ?o osmkey:amenity ?a ; a osm:node ; {GEOMETRY} ?g "
        "FILTER(geof:latitude(?g) > {south} && geof:latitude(geof:centroid(?g)) < {north} && "
        "{west} < geof:longitude(?g) && geof:longitude(?g) <= {east}) }",
        f"SELECT ?o {{ ?o osmkey:amenity ?a ; a osm:node ; {GEOMETRY} ?g "
        "FILTER(geof:sfWithin(?g, '{box}'^^geo:wktLiteral)) }",
    ),
    Case(
        "benches in parks",
        f"SELECT ?b ?p {{ ?p osmkey:leisure 'park' ; {GEOMETRY} ?pg . "
        f"?b osmkey:amenity 'bench' ; {GEOMETRY} ?bg FILTER geof:sfWithin(?bg, ?pg) }}",
    ),
    Case(
        "benches in parks by the property",
        "SELECT ?b ?p { ?p osmkey:leisure 'park' ; ogc:sfContains ?b . ?b osmkey:amenity 'bench' }",
        f"SELECT ?b ?p {{ ?p osmkey:leisure 'park' ; {GEOMETRY} ?pg . "
        f"?b osmkey:amenity 'bench' ; {GEOMETRY} ?bg FILTER geof:sfContains(?pg, ?bg) }}",
    ),
    Case(
        "streets that touch a park",
        f"SELECT ?w ?p {{ ?p osmkey:leisure 'park' ; {GEOMETRY} ?pg . "
        f"?w osmkey:highway 'footway' ; {GEOMETRY} ?wg FILTER(geof:sfIntersects(?wg, ?pg)) }}",
    ),
    Case(
        "points within a distance of a point",
        f"SELECT ?o {{ ?o osmkey:amenity ?a ; a osm:node ; {GEOMETRY} ?g "
        "FILTER(geof:distance(?g, '{point}'^^geo:wktLiteral, uom:metre) < 300) }",
    ),
    Case(
        "points near points",
        f"SELECT ?c ?b {{ ?c osmkey:amenity 'cafe' ; a osm:node ; {GEOMETRY} ?cg . "
        f"?b osmkey:highway 'bus_stop' ; a osm:node ; {GEOMETRY} ?bg "
        "FILTER(geof:distance(?cg, ?bg, uom:metre) < 100) }",
    ),
    Case(
        "a subquery with SAMPLE",
        "SELECT ?n ?id { { SELECT ?n (SAMPLE(?o) AS ?s) (COUNT(?o) AS ?c) { ?o osmkey:name ?n } "
        "GROUP BY ?n HAVING(?c = 1) } BIND(REPLACE(STR(?s), '^.*/', '') AS ?id) }",
        "SELECT ?n ?id { { SELECT ?n (SAMPLE(?o) AS ?s) { ?o osmkey:name ?n } GROUP BY ?n "
        "HAVING(COUNT(?o) = 1) } BIND(REPLACE(STR(?s), '^.*/', '') AS ?id) }",
    ),
    Case(
        "values",
        "SELECT ?o ?v { VALUES ?v { 'cafe' 'bar' 'nothing' } ?o osmkey:amenity ?v }",
    ),
    Case(
        "metadata",
        "SELECT ?o ?v { ?o osmkey:amenity 'bank' ; osmmeta:version ?v FILTER(?v >= 3) }",
    ),
    Case(
        "the greatest",
        "SELECT (MAX(?v) AS ?most) (MIN(?v) AS ?least) (AVG(?v) AS ?mean) "
        "{ ?o osmkey:highway ?h ; osmmeta:version ?v }",
    ),
    # Sophox's published shapes
    Case(
        "kinds with location and name",
        "SELECT ?o ?type ?loc ?n { VALUES ?type { 'restaurant' 'bar' } ?o osmt:amenity ?type ; "
        "osmm:loc ?loc ; osmt:name ?n }",
    ),
    Case(
        "optional opening hours",
        "SELECT ?o ?c ?h { ?o osmt:addr:city ?city ; osmt:cuisine ?c "
        "OPTIONAL { ?o osmt:opening_hours ?h } }",
    ),
    Case(
        "around a point",
        "SELECT ?o { ?o osmt:amenity ?a ; osmm:type 'n' . SERVICE wikibase:around { "
        "?o osmm:loc ?loc . bd:serviceParam wikibase:center '{point}'^^geo:wktLiteral ; "
        "wikibase:radius '0.3' } }",
        "SELECT ?o { ?o osmt:amenity ?a ; osmm:type 'n' ; osmm:loc ?loc "
        "FILTER(geof:distance(?loc, '{point}'^^geo:wktLiteral, uom:metre) < 300) }",
    ),
    Case(
        "in a box of corners",
        "SELECT ?o { SERVICE wikibase:box { ?o osmm:loc ?loc . bd:serviceParam "
        "wikibase:cornerSouthWest 'Point({west} {south})'^^geo:wktLiteral ; "
        "wikibase:cornerNorthEast 'Point({east} {north})'^^geo:wktLiteral } "
        "?o osmm:type 'r' ; osmt:type 'multipolygon' }",
        "SELECT ?o { ?o osmm:type 'r' ; osmt:type 'multipolygon' ; osmm:loc ?loc "
        "FILTER(geof:sfIntersects(?loc, '{box}'^^geo:wktLiteral)) }",
    ),
    Case(
        "the same twice",
        "SELECT ?n { { SELECT ?n (COUNT(*) AS ?c) { ?o osmt:name ?n ; osmm:type 'w' } "
        "GROUP BY ?n HAVING(COUNT(*) > 2) } }",
    ),
    Case(
        "a text where osm2rdf has a number",
        "SELECT ?o { ?o osmt:admin_level '8' ; osmm:type 'r' }",
    ),
    Case(
        "alternative predicates",
        "SELECT ?o { ?o (osmt:tourism|osmt:leisure|osmt:amenity) 'fountain' }",
    ),
    Case("containing a text", "SELECT ?o ?n { ?o osmt:name ?n FILTER(CONTAINS(?n, 'Monte')) }"),
    Case(
        "relation members at once, with their roles",
        "SELECT ?r ?m ?role { ?r osmt:route 'bus' ; osmm:has ?m . ?r ?m ?role }",
    ),
    Case("closed ways", "SELECT ?w { ?w osmt:highway ?h ; osmm:isClosed true }"),
    Case(
        "minus and not exists",
        "SELECT ?o { ?o osmt:amenity 'restaurant' MINUS { ?o osmt:opening_hours ?h } "
        "FILTER NOT EXISTS { ?o osmt:cuisine ?c } }",
    ),
    # Everything
    Case(
        "all of one element",
        "SELECT ?p ?o { osmrel:{area} ?p ?o FILTER(!isBlank(?o)) }",
        "SELECT ?p ?o { osmrel:{area} ?p ?o "
        "FILTER(!isBlank(?o) && !REGEX(STR(?p), 'org/(node|way|relation)/[0-9]')) }",
    ),
    Case("who has a text", "SELECT ?s ?p { ?s ?p 'Monaco' }"),
    Case("who refers to an element", "SELECT ?x ?p { ?x ?p ?m . ?m osmkey:highway 'bus_stop' }"),
    Case("predicates of benches", "SELECT DISTINCT ?p { ?s osmkey:amenity 'bench' ; ?p ?o }"),
    Case(
        "path over members",
        "SELECT DISTINCT ?m { osmrel:{area} (osmrel:member/osmrel:member_id)+ ?m }",
    ),
    Case("ask yes", "ASK { ?s osmkey:amenity 'cafe' ; osmkey:name ?n }"),
    Case("ask no", "ASK { ?s osmkey:amenity 'no such thing' }"),
]
#: Predicates that our `?s ?p ?o` gives and the oracle's triples lack, or the other way round.
NOT_SHARED = (
    "https://www.openstreetmap.org/meta/timestamp",
    "https://www.openstreetmap.org/meta/changeset",
    "https://www.openstreetmap.org/meta/user",
    "https://www.openstreetmap.org/meta/uid",
    "https://osm2rdf.cs.uni-freiburg.de/rdf#facts",
    "https://osm2rdf.cs.uni-freiburg.de/rdf#length",
    "https://osm2rdf.cs.uni-freiburg.de/rdf#area",
    "https://osm2rdf.cs.uni-freiburg.de/rdf#hasCompleteGeometry",
    "https://www.openstreetmap.org/way/member_id",
    "https://www.openstreetmap.org/way/member",
    "https://www.openstreetmap.org/way/nodeCount",
    "https://www.openstreetmap.org/way/uniqueNodeCount",
    "https://www.openstreetmap.org/way/is_closed",
    "https://www.openstreetmap.org/meta/isClosed",
    "https://www.openstreetmap.org/meta/loc",
    "https://www.openstreetmap.org/meta/type",
    "https://www.openstreetmap.org/meta/has",
)
