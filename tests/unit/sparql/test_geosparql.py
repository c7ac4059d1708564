"""GeoSPARQL 1.1: every function, literals of each kind, and distances against brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import shapely

from mapyard.errors import Unsupported
from mapyard.geo.arcs import arc_arc, unit_vectors
from mapyard.geo.sphere import EARTH_RADIUS_M
from mapyard.sparql.engine import Engine, Solutions
from mapyard.sparql.run.geosparql import distances_m
from mapyard.sparql.sources.graph import TripleGraph
from mapyard.sparql.terms.terms import GEO, Literal

W = "^^geo:wktLiteral"
SQUARE = f'"POLYGON((0 0,2 0,2 2,0 2,0 0))"{W}'
SMALL = f'"POLYGON((0.5 0.5,1 0.5,1 1,0.5 1,0.5 0.5))"{W}'
CORNER = f'"POLYGON((0 0,1 0,1 1,0 1,0 0))"{W}'
BESIDE = f'"POLYGON((2 0,3 0,3 2,2 2,2 0))"{W}'
ACROSS = f'"POLYGON((1 1,3 1,3 3,1 3,1 1))"{W}'
FAR = f'"POLYGON((8 8,9 8,9 9,8 9,8 8))"{W}'
POINT = f'"POINT(1 1)"{W}'
LINE = f'"LINESTRING(0 0,1 1,2 0)"{W}'


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(TripleGraph([], {}))


def value(engine: Engine, expression: str) -> Any:
    result = engine.query(f"SELECT ({expression} AS ?r) {{}}")
    assert isinstance(result, Solutions)
    (table,) = result.tables
    (term,) = result.runtime.decode(table.ids("r", result.runtime.pool))
    return None if term is None else term[0]


RELATIONS = [
    ("sfEquals", SQUARE, SQUARE), ("sfDisjoint", SQUARE, FAR), ("sfIntersects", SQUARE, ACROSS),
    ("sfTouches", SQUARE, BESIDE), ("sfWithin", SMALL, SQUARE), ("sfContains", SQUARE, SMALL),
    ("sfOverlaps", SQUARE, ACROSS), ("sfCrosses", f'"LINESTRING(-1 1,3 1)"{W}', SQUARE),
    ("ehEquals", SQUARE, SQUARE), ("ehDisjoint", SQUARE, FAR), ("ehMeet", SQUARE, BESIDE),
    ("ehOverlap", SQUARE, ACROSS), ("ehCovers", SQUARE, CORNER), ("ehCoveredBy", CORNER, SQUARE),
    ("ehInside", SMALL, SQUARE), ("ehContains", SQUARE, SMALL),
    ("rcc8eq", SQUARE, SQUARE), ("rcc8dc", SQUARE, FAR), ("rcc8ec", SQUARE, BESIDE),
    ("rcc8po", SQUARE, ACROSS), ("rcc8tpp", CORNER, SQUARE), ("rcc8tppi", SQUARE, CORNER),
    ("rcc8ntpp", SMALL, SQUARE), ("rcc8ntppi", SQUARE, SMALL),
]  # fmt: skip


@pytest.mark.parametrize(("name", "a", "b"), RELATIONS, ids=[r[0] for r in RELATIONS])
def test_relations_hold_where_they_should_only(engine: Engine, name: str, a: str, b: str) -> None:
    assert value(engine, f"geof:{name}({a}, {b})") == "true"
    other = SQUARE if "isjoint" in name or name == "rcc8dc" else FAR
    assert value(engine, f"geof:{name}({SQUARE}, {other})") == "false"


VALUES = [
    (f'geof:relate({POINT}, {SQUARE}, "T*F**F***")', "true"),
    (f'geof:relate({POINT}, {SQUARE}, "FF*FF****")', "false"),
    (f"geof:getSRID({POINT})", "http://www.opengis.net/def/crs/OGC/1.3/CRS84"),
    (f'geof:getSRID("<http://www.opengis.net/def/crs/EPSG/0/4326> POINT(1 2)"{W})',
     "http://www.opengis.net/def/crs/EPSG/0/4326"),
    (f"geof:dimension({POINT})", "0"), (f"geof:dimension({LINE})", "1"),
    (f"geof:dimension({SQUARE})", "2"), (f"geof:coordinateDimension({POINT})", "2"),
    (f"geof:isSimple({LINE})", "true"),
    (f'geof:isSimple("LINESTRING(0 0,2 2,2 0,0 2)"{W})', "false"),
    (f'geof:is3D("POINT Z(1 2 3)"{W})', "true"), (f"geof:isEmpty({POINT})", "false"),
    (f'geof:isEmpty("POINT EMPTY"{W})', "true"), (f"geof:numGeometries({POINT})", "1"),
    (f'geof:numGeometries("MULTIPOINT(1 1,2 2)"{W})', "2"),
    (f'geof:asWKT(geof:geometryN("MULTIPOINT(1 1,2 2)"{W}, 2))', "POINT(2 2)"),
    (f'geof:geometryN("MULTIPOINT(1 1,2 2)"{W}, 3)', None),
    (f"geof:maxX({SQUARE})", "2.0"), (f'geof:maxZ("POINT Z(1 2 3)"{W})', "3.0"),
    (f"geof:asWKT(geof:asGeoJSON({POINT}))", "POINT(1 1)"),
    (f"geof:asWKT(geof:asGML({SQUARE}))", "POLYGON((0 0,2 0,2 2,0 2,0 0))"),
    (f"geof:asWKT(geof:asKML({SQUARE}))", "POLYGON((0 0,2 0,2 2,0 2,0 0))"),
    (f'geof:asWKT(geof:asGML("MULTIPOINT(1 1,2 2)"{W}))', "MULTIPOINT((1 1),(2 2))"),
    (f'geof:asWKT("<http://www.opengis.net/def/crs/EPSG/0/4326> POINT(47 9)"{W})', "POINT(9 47)"),
    (f'geof:asWKT("<http://www.opengis.net/def/crs/EPSG/0/3857> POINT(0 0)"{W})', "POINT(0 0)"),
    (f'geof:asWKT("<http://nowhere/crs> POINT(0 0)"{W})', None),
    (f"geof:transform({POINT}, <http://www.opengis.net/def/crs/EPSG/0/4326>)",
     "<http://www.opengis.net/def/crs/EPSG/0/4326> POINT(1 1)"),
    (f"xsd:boolean(geof:metricPerimeter({SQUARE}) = geof:metricLength({SQUARE}))", "true"),
    (f"geof:distance({POINT}, {POINT}, unit:MI)", "0.0"),
    (f"xsd:integer(ROUND(geof:distance({POINT}, {FAR}, unit:KiloM)))", "1099"),
    (f"geof:sfWithin({POINT}, geof:boundingCircle({SQUARE}))", "true"),
    (f"geof:sfWithin({POINT}, geof:concaveHull({SQUARE}))", "true"),
    ('geof:asWKT("<gml:Point xmlns:gml=\'http://www.opengis.net/gml/3.2\' srsName=\''
     "http://www.opengis.net/def/crs/EPSG/0/4326'><gml:pos>47 9</gml:pos></gml:Point>\""
     "^^geo:gmlLiteral)", "POINT(9 47)"),
    ('geof:asWKT("<Point><coordinates>9,47,5</coordinates></Point>"^^geo:kmlLiteral)',
     "POINT(9 47)"),
    ('geof:asWKT("{\\"type\\":\\"Point\\",\\"coordinates\\":[9,47]}"^^geo:geoJSONLiteral)',
     "POINT(9 47)"),
    ('geof:asWKT("<!DOCTYPE a><Point/>"^^geo:gmlLiteral)', None),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "expected"), VALUES)
def test_functions(engine: Engine, expression: str, expected: str | None) -> None:
    assert value(engine, expression) == expected


def test_dggs_is_refused_by_name(engine: Engine) -> None:
    with pytest.raises(Unsupported, match="geof:asDGGS"):
        value(engine, f"geof:asDGGS({POINT})")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("aggBoundingBox", "POLYGON((0 0,3 0,3 2,0 2,0 0))"),
        ("aggConvexHull", "POLYGON((0 0,0 2,3 2,3 0,0 0))"),
        ("aggUnion", "POLYGON((0 0,0 2,2 2,3 2,3 0,2 0,0 0))"),
        ("aggCentroid", "POINT(1.5 1)"),
    ],
)
def test_aggregates(engine: Engine, name: str, expected: str) -> None:
    text = f"SELECT (geof:asWKT(geof:{name}(?g)) AS ?r) {{ VALUES ?g {{ {SQUARE} {BESIDE} 5 }} }}"
    result = engine.query(text)
    assert isinstance(result, Solutions)
    (table,) = result.tables
    (term,) = result.runtime.decode(table.ids("r", result.runtime.pool))
    assert isinstance(term, Literal)
    assert term.datatype == GEO + "wktLiteral"
    assert shapely.equals(shapely.from_wkt(term.lexical), shapely.from_wkt(expected))


def brute_force_m(a: Any, b: Any) -> float:
    """Return the distance of two lines or points by comparing each piece with each."""
    pieces = []
    for shape in (a, b):
        vectors = unit_vectors(*shapely.get_coordinates(shape).T)
        pieces.append((vectors[:-1], vectors[1:]) if len(vectors) > 1 else (vectors, vectors))
    (a0, a1), (b0, b1) = pieces
    return EARTH_RADIUS_M * min(
        float(arc_arc(a0[i : i + 1], a1[i : i + 1], b0[j : j + 1], b1[j : j + 1])[0])
        for i in range(len(a0))
        for j in range(len(b0))
    )


def test_distances_are_exact_to_a_millimeter_per_kilometer_and_symmetric() -> None:
    random = np.random.default_rng(3)
    for turn in range(200):
        scale = (0.005, 0.05, 0.5, 3, 15)[turn % 5]
        lat = random.uniform(-70, 70)
        shapes = []
        for offset in (0, scale * random.uniform(0.5, 3)):
            count = int(random.integers(1, 8))
            places = random.normal((10 + offset, lat), scale / 5, (count, 2))
            shapes.append(shapely.Point(places[0]) if count == 1 else shapely.LineString(places))
        a, b = (np.array([shape], np.object_) for shape in shapes)
        found = distances_m(a, b)[0]
        assert found == distances_m(b, a)[0]
        expected = brute_force_m(*shapes)
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-3)
        pairs = distances_m(np.repeat(a, 2), np.repeat(b, 2))
        assert pairs == pytest.approx([expected, expected], rel=1e-6, abs=1e-3)
