"""PlazaQL on Monaco: answers are those of other questions, of shapely, or of plain Python."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import mapyard
from mapyard.errors import InvalidQuery, MapyardError, Unsupported
from mapyard.geo.measure import measure_areas_m2, measure_lengths_m
from mapyard.geo.sphere import distance_m

AT = (7.4246, 43.7384)
POINT = "point(43.7384, 7.4246)"
BOX = "43.73, 7.41, 43.74, 7.43"


@pytest.fixture(scope="module")
def m(monaco: Path) -> Iterator[Any]:
    with mapyard.open(monaco) as opened:
        yield opened


def ids(features: Any) -> list[str]:
    return [feature.id for feature in features]


def all_of(m: Any, **asked: Any) -> list[Any]:
    return list(m.features(**asked))


# ---- the same question elsewhere --------------------------------------------------------------

SAME: list[tuple[str, dict[str, Any]]] = [
    ('search(node, amenity: "cafe");', {"type": "node", "tags": {"amenity": "cafe"}}),
    ('search(amenity: "cafe");', {"tags": {"amenity": "cafe"}}),
    ('search(nwr, amenity: "cafe");', {"tags": {"amenity": "cafe"}}),
    ("search(way, leisure: *);", {"type": "way", "tags": {"leisure": "*"}}),
    ("search(relation, type: *);", {"type": "relation", "tags": {"type": "*"}}),
    ("search(node, shop: *, name: !*);", {"type": "node", "tags": {"shop": "*", "name": "!"}}),
    ('search(node, name: ~"^Caf");', {"type": "node", "tags": {"name": "~^Caf"}}),
    ('search(node, name: ~i"^CAF");', {"type": "node", "tags": {"name": "~(?i)^CAF"}}),
    ('search(node, amenity: "bar", name: *);',
     {"type": "node", "tags": {"amenity": "bar", "name": "*"}}),
    (f"search(shop: *).bbox({BOX});", {"tags": {"shop": "*"}, "bbox": "43.73,7.41,43.74,7.43"}),
    (f'search(amenity: "bench").around(300, {POINT});',
     {"tags": {"amenity": "bench"}, "near": AT, "radius": 300}),
    (f"search(building: *).within(bbox({BOX}));",
     {"tags": {"building": "*"}, "within": shapely.box(7.41, 43.73, 7.43, 43.74)}),
    (f"search(highway: *).intersects(linestring(point(43.73, 7.41), {POINT}));",
     {"tags": {"highway": "*"}, "intersects": shapely.LineString([(7.41, 43.73), AT])}),
    (f"search(highway: *).crosses(linestring(point(43.73, 7.41), {POINT}));",
     {"tags": {"highway": "*"}, "crosses": shapely.LineString([(7.41, 43.73), AT])}),
    (f"search(boundary: *).contains({POINT});",
     {"tags": {"boundary": "*"}, "contains": shapely.Point(AT)}),
    (f"search(way, leisure: *).not_within(bbox({BOX}));",
     {"type": "way", "tags": {"leisure": "*"},
      "not_within": shapely.box(7.41, 43.73, 7.43, 43.74)}),
    (f"search(way, leisure: *).not_intersects(bbox({BOX}));",
     {"type": "way", "tags": {"leisure": "*"},
      "not_intersects": shapely.box(7.41, 43.73, 7.43, 43.74)}),
    ('search(node, shop: *).h3("883969a41dfffff");',
     {"type": "node", "tags": {"shop": "*"}, "h3": "883969a41dfffff"}),
    ('search(node, highway: "bus_stop").filter(shelter: "yes");',
     {"type": "node", "tags": {"highway": "bus_stop", "shelter": "yes"}}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "asked"), SAME, ids=[text for text, _ in SAME])
def test_the_same_as_the_feature_list(m: Any, text: str, asked: dict[str, Any]) -> None:
    expected = all_of(m, **asked)
    found = m.plazaql(text)
    assert ids(found) == ids(expected)
    first, other = found[0].to_geojson(), expected[0].to_geojson()
    other["properties"].pop("distance_m", None)
    assert first == other


def test_several_places_hold_all(m: Any) -> None:
    near = set(ids(all_of(m, tags={"shop": "*"}, near=AT, radius=400)))
    boxed = set(ids(all_of(m, tags={"shop": "*"}, bbox="43.73,7.41,43.738,7.43")))
    found = m.plazaql(f"search(shop: *).around(400, {POINT}).bbox(43.73, 7.41, 43.738, 7.43);")
    assert set(ids(found)) == near & boxed
    assert 0 < len(found) < len(near)


def test_opposites_ask_for_the_key(m: Any) -> None:
    shops = all_of(m, type="node", tags={"shop": "*"})
    found = m.plazaql('search(node, shop: !"clothes");')
    assert ids(found) == [s.id for s in shops if s["shop"] != "clothes"]
    found = m.plazaql('search(node, shop: !~"^c");')
    assert ids(found) == [s.id for s in shops if not s["shop"].startswith("c")]


def test_patterns_for_keys(m: Any) -> None:
    found = ids(m.plazaql('search(node, ~"^addr:street$": ~"Suisse");'))
    assert found == ids(all_of(m, type="node", tags={"addr:street": "~Suisse"}))
    named = m.plazaql('search(relation, ~"^name:": *);')
    assert named
    assert all(any(key.startswith("name:") for key in f.properties) for f in named)


def test_by_id(m: Any) -> None:
    cafes = all_of(m, type="node", tags={"amenity": "cafe"})[:3]
    numbers = [int(cafe.id.partition("/")[2]) for cafe in cafes]
    assert ids(m.plazaql(f"search(node, id: {numbers[0]});")) == ids(cafes[:1])
    assert ids(m.plazaql(f"search(node, id: {numbers});")) == ids(cafes)
    assert ids(m.plazaql(f'search(node, id: {numbers}, amenity: "bar");')) == []
    assert ids(m.plazaql("search(node, id: 1);")) == []


kinds = st.sampled_from([("", {}), ("node, ", {"type": "node"}), ("way, ", {"type": "way"}),
                         ("relation, ", {"type": "relation"})])  # fmt: skip
conditions = st.lists(
    st.sampled_from([
        ("amenity", '"cafe"', "cafe"), ("amenity", "*", "*"), ("amenity", '~"^b"', "~^b"),
        ("shop", "*", "*"), ("shop", "!*", "!"), ("shop", '~"e$"', "~e$"), ("name", "*", "*"),
        ("name", "!*", "!"), ("name", '~i"MONACO"', "~(?i)MONACO"), ("highway", "*", "*"),
        ("highway", '"steps"', "steps"), ("building", "*", "*"), ("building", '"yes"', "yes"),
        ("website", "!*", "!"), ("leisure", "*", "*"), ("type", "*", "*"), ("wheelchair", "*", "*"),
    ]),
    min_size=1, max_size=3, unique_by=lambda condition: condition[0],
)  # fmt: skip
SQUARE = shapely.box(7.415, 43.73, 7.425, 43.738)
places = st.sampled_from([
    ("", {}), (".bbox(43.73, 7.415, 43.738, 7.425)", {"bbox": "43.73,7.415,43.738,7.425"}),
    (f".around(250, {POINT})", {"near": AT, "radius": 250}),
    (".within(bbox(43.73, 7.415, 43.738, 7.425))", {"within": SQUARE}),
    (".intersects(bbox(43.73, 7.415, 43.738, 7.425))", {"intersects": SQUARE}),
    (".not_intersects(bbox(43.73, 7.415, 43.738, 7.425))", {"not_intersects": SQUARE}),
    (".not_within(bbox(43.73, 7.415, 43.738, 7.425))", {"not_within": SQUARE}),
    (f".contains({POINT})", {"contains": shapely.Point(AT)}),
])  # fmt: skip


@settings(max_examples=150)
@given(kinds, conditions, places, st.integers(0, 40))
def test_any_search_is_the_feature_list(
    m: Any, kind: Any, tags: Any, place: Any, limit: int
) -> None:
    filters = ", ".join(f"{key}: {written}" for key, written, _ in tags)
    text = f"search({kind[0]}{filters}){place[0]}.limit({limit});"
    asked = {**kind[1], **place[1], "tags": {key: value for key, _, value in tags}}
    expected = [f.id for f, _ in zip(m.features(**asked), range(limit), strict=False)]
    assert ids(m.plazaql(text)) == expected, text


# ---- sets -------------------------------------------------------------------------------------


def test_sets(m: Any) -> None:
    cafes, bars = (set(ids(all_of(m, tags={"amenity": kind}))) for kind in ("cafe", "bar"))
    named = set(ids(all_of(m, tags={"website": "*"})))
    start = '$c = search(amenity: "cafe"); $b = search(amenity: "bar"); $w = search(website: *); '
    assert set(ids(m.plazaql(f"{start} $c + $b;"))) == cafes | bars
    assert set(ids(m.plazaql(f"{start} $c & $w;"))) == cafes & named
    assert set(ids(m.plazaql(f"{start} $c - $w;"))) == cafes - named
    assert set(ids(m.plazaql(f"{start} ($c + $b) - $w;"))) == (cafes | bars) - named
    assert m.plazaql(f"{start} ($c + $b).count();").result == len(cafes | bars)
    both = ids(m.plazaql(f"{start} $b + $c;"))
    assert both == sorted(both, key=lambda i: (int(i.partition("/")[2]), i))


def test_members_and_holders(m: Any) -> None:
    relations = list(m.plazaql('search(relation, route: "bus");'))
    assert relations
    wanted = {
        f"{kind}/{ref}"
        for relation in relations
        for kind, ref, _ in members_of(m, relation.id)
        if kind == "node"
    }
    stops = ids(all_of(m, type="node", tags={"highway": "bus_stop"}))
    text = 'search(node, highway: "bus_stop").member_of(search(relation, route: "bus"));'
    assert ids(m.plazaql(text)) == [stop for stop in stops if stop in wanted]
    found = ids(m.plazaql(
        'search(relation, route: "bus").has_member(search(node, highway: "bus_stop"));'
    ))  # fmt: skip
    expected = [
        r.id for r in relations
        if {f"{k}/{i}" for k, i, _ in members_of(m, r.id)} & set(stops)
    ]  # fmt: skip
    assert found == expected
    roles = Counter(role for r in relations for _, _, role in members_of(m, r.id))
    role = next(role for role, _ in roles.most_common() if role)
    with_role = {
        f"{k}/{i}" for r in relations for k, i, said in members_of(m, r.id) if said == role
    }
    text = f'search(nwr).member_of(search(relation, route: "bus"), role: "{role}");'
    assert set(ids(m.plazaql(text))) <= with_role
    assert m.plazaql(text)


def members_of(m: Any, name: str) -> list[tuple[str, int, str]]:
    kind, _, ref = name.partition("/")
    answer = json.loads(m.overpass(f"[out:json];{kind}({ref}); out body;").native())["elements"]
    return [(x["type"], x["ref"], x["role"]) for x in answer[0]["members"]]


def test_expand(m: Any) -> None:
    way = m.plazaql('search(way, leisure: "park").first();')[0]
    found = m.plazaql(f"search(way, id: {way.id.partition('/')[2]}).expand(:down);")
    kinds = Counter(name.partition("/")[0] for name in ids(found))
    assert kinds["way"] == 1
    ring = shapely.geometry.shape(way.to_geojson()["geometry"]).exterior.coords
    assert kinds["node"] == len(set(ring))
    node = next(name for name in ids(found) if name.startswith("node/"))
    up = m.plazaql(f"search(node, id: {node.partition('/')[2]}).expand(:up);")
    assert way.id in ids(up)


# ---- expressions ------------------------------------------------------------------------------

CONDITIONS = [
    ('t["amenity"] == "bar"', lambda p: p.get("amenity") == "bar"),
    ('t["amenity"] != "bar"', lambda p: "amenity" in p and p["amenity"] != "bar"),
    ('!(t["amenity"] == "bar")', lambda p: "amenity" in p and p["amenity"] != "bar"),
    ('!(t["name"] == "")', lambda p: "name" in p),
    ('t["amenity"] == "bar" || t["shop"] == "books"',
     lambda p: p.get("amenity") == "bar" or p.get("shop") == "books"),
    ('starts_with(t["name"], "Le ")', lambda p: p.get("name", "").startswith("Le ")),
    ('ends_with(t["name"], "a")', lambda p: p.get("name", "").endswith("a")),
    ('str_contains(t["name"], "aco")', lambda p: "aco" in p.get("name", "")),
    ('size(t["name"]) > 20', lambda p: len(p.get("name", "")) > 20),
    ('is_number(t["level"]) && number(t["level"]) < 0',
     lambda p: read(p.get("level")) is not None and read(p["level"]) < 0),
    ('number(t["level"]) + 1 == 0', lambda p: read(p.get("level")) == -1),
    ('-number(t["level"]) == 1', lambda p: read(p.get("level")) == -1),
    ('number(t["level"]) * 2 / 4 - 1 >= 0.5',
     lambda p: read(p.get("level")) is not None and read(p["level"]) * 2 / 4 - 1 >= 0.5),
    ('number(t["level"]) / 0 > 1', lambda p: False),
    ('t["name"] == t["operator"]', lambda p: "name" in p and p["name"] == p.get("operator")),
    ('t["name"] < "C"', lambda p: "name" in p and p["name"] < "C"),
    ('is_number(t["level"]) == false', lambda p: read(p.get("level")) is None),
    ("true", lambda p: True),
    ("false || is_closed()", lambda p: False),
    ('type() == "node"', lambda p: True),
    ("id() > 5000000000", lambda p: p["@id"] > 5_000_000_000),
]  # fmt: skip


def read(text: str | None) -> float | None:
    try:
        return float(text) if text is not None else None
    except ValueError:
        return None


@pytest.fixture(scope="module")
def nodes(m: Any) -> list[Any]:
    return all_of(m, type="node")


@pytest.mark.parametrize(("condition", "test"), CONDITIONS, ids=[text for text, _ in CONDITIONS])
def test_conditions(m: Any, nodes: list[Any], condition: str, test: Any) -> None:
    found = m.plazaql(f"search(node).filter({condition});")
    assert ids(found) == [node.id for node in nodes if test(node.properties)]


def test_positions(m: Any, nodes: list[Any]) -> None:
    found = ids(m.plazaql("search(node).filter(lat() > 43.74 && lon() < 7.42);"))
    expected = [n.id for n in nodes if n.lonlat[1] > 43.74 and n.lonlat[0] < 7.42]
    assert found == expected
    assert ids(m.plazaql("search(way).filter(lat() > 0);")) == []


def test_measures_of_shapes(m: Any) -> None:
    parks = all_of(m, type="way", tags={"leisure": "park"})
    shapes = shapely.from_geojson([json.dumps(p.to_geojson()["geometry"]) for p in parks])
    areas, lengths = measure_areas_m2(shapes), measure_lengths_m(shapes)
    found = m.plazaql('search(way, leisure: "park").area().length().sort(area(), order: :desc);')
    expected = sorted(zip(areas.tolist(), lengths.tolist(), ids(parks), strict=True),
                      key=lambda row: -row[0])  # fmt: skip
    assert ids(found) == [row[2] for row in expected]
    assert found[0]["area_m2"] == pytest.approx(expected[0][0], abs=0.01)
    assert found[0]["length_m"] == pytest.approx(expected[0][1], abs=0.01)
    total = m.plazaql('search(way, leisure: "park").sum(area());').result
    assert total == pytest.approx(float(areas.sum()))


def test_areas_are_those_of_the_sphere() -> None:
    box = shapely.box(7.0, 43.0, 7.01, 43.01)
    hole = shapely.Polygon(box.exterior, [shapely.box(7.002, 43.002, 7.008, 43.008).exterior])
    width, height = distance_m(7.0, 43.005, 7.01, 43.005), distance_m(7.0, 43.0, 7.0, 43.01)
    shapes = shapely.from_wkb([shapely.to_wkb(s) for s in (box, hole, box.exterior)])
    areas = measure_areas_m2(shapes)
    assert areas[0] == pytest.approx(width * height, rel=1e-4)
    assert areas[1] == pytest.approx(width * height * (1 - 0.36), rel=1e-3)
    assert areas[2] == 0
    assert measure_lengths_m(shapes)[2] == pytest.approx(2 * (width + height), rel=1e-4)


def test_distance(m: Any) -> None:
    found = m.plazaql(
        f'search(node, amenity: "cafe").distance({POINT}).sort(distance({POINT})).limit(5);'
    )
    expected = list(m.nearby(AT, tags={"amenity": "cafe"}, radius=5_000))
    nodes = [f for f in expected if f.id.startswith("node/")][:5]
    assert ids(found) == ids(nodes)
    assert [f["distance_m"] for f in found] == [f["distance_m"] for f in nodes]
    nearest = m.plazaql(f'nearest({POINT}, type: "node", radius: 5000, limit: 5, amenity: "cafe");')
    assert nearest == found


# ---- what comes out ---------------------------------------------------------------------------


def test_order_and_parts(m: Any) -> None:
    cafes = all_of(m, type="node", tags={"amenity": "cafe"})
    by_name = sorted(cafes, key=lambda f: (f.get("name") is None, f.get("name") or ""))
    start = 'search(node, amenity: "cafe")'
    assert ids(m.plazaql(f'{start}.sort(t["name"]);')) == ids(by_name)
    assert ids(m.plazaql(f'{start}.sort(t["name"]).offset(2).limit(3);')) == ids(by_name[2:5])
    assert ids(m.plazaql(f"{start}.limit(3);")) == ids(cafes[:3])
    assert ids(m.plazaql(f"{start}.first();")) == ids(cafes[:1])
    assert ids(m.plazaql(f"{start}.last();")) == ids(cafes[-1:])
    assert ids(m.plazaql(f"{start}.index(2);")) == ids(cafes[1:2])
    assert ids(m.plazaql(f"{start}.index(9999);")) == []
    near_each_other = ids(m.plazaql(f"{start}.sort(by: :qt);"))
    assert sorted(near_each_other) == sorted(ids(cafes))


def test_looks(m: Any) -> None:
    start = 'search(way, leisure: "park").limit(1)'
    whole = m.features(type="way", tags={"leisure": "park"})[0].to_geojson()
    park = m.plazaql(f"{start};")[0].to_geojson()
    assert park == whole
    assert m.plazaql(f"{start}.ids();")[0].to_geojson()["geometry"] is None
    only_ids = m.plazaql(f"{start}.ids();")[0].properties
    assert set(only_ids) == {"@type", "@id"}
    tags = m.plazaql(f"{start}.tags();")[0].to_geojson()
    assert (tags["geometry"], tags["properties"]) == (None, whole["properties"])
    geom = m.plazaql(f"{start}.geom();")[0].to_geojson()
    assert geom["geometry"] == whole["geometry"]
    assert set(geom["properties"]) == {"@type", "@id"}
    assert m.plazaql(f"{start}.skel();")[0].to_geojson()["geometry"]["type"] == "Point"
    search = 'search(way, leisure: "park")'
    assert m.plazaql(f"{search}.centroid();")[0].to_geojson()["geometry"]["type"] == "Point"
    assert set(m.plazaql(f'{search}.fields("leisure");')[0].properties) == {
        "@type", "@id", "leisure"
    }  # fmt: skip
    assert "bbox" in m.plazaql(f'{search}.include("bbox");')[0].to_geojson()
    wide = m.plazaql(f"{search}.buffer(50);")[0].geometry
    assert wide.contains(m.plazaql(f"{search};")[0].geometry)
    coordinates = str(m.plazaql(f"{search}.precision(3);")[0].to_geojson()["geometry"])
    assert not re.search(r"\.\d{4}", coordinates)


def test_numbers(m: Any) -> None:
    bars = all_of(m, type="node", tags={"amenity": "bar"})
    assert m.plazaql('search(node, amenity: "bar").count();').result == len(bars)
    levels = [read(f.get("level")) for f in all_of(m, type="node", tags={"level": "*"})]
    known = [level for level in levels if level is not None]
    start = "search(node, level: *)"
    expected = {"sum": sum(known), "min": min(known), "max": max(known),
                "avg": sum(known) / len(known)}  # fmt: skip
    for name, value in expected.items():
        found = m.plazaql(f'{start}.{name}(number(t["level"]));').result
        assert found == pytest.approx(value), name
    assert m.plazaql('search(node, level: "nothing").max(number(t["level"]));').result is None
    assert m.plazaql('search(node, level: "nothing").sum(number(t["level"]));').result == 0


def test_groups(m: Any) -> None:
    shops = all_of(m, tags={"shop": "*"})
    expected = Counter(shop["shop"] for shop in shops)
    assert m.plazaql('search(shop: *).group_by(t["shop"]).count();').result == expected
    by_type = m.plazaql("search(shop: *).group_by(type()).count();").result
    assert sum(by_type.values()) == len(shops)
    lengths = m.plazaql('search(way, highway: *).group_by(t["highway"]).sum(length());').result
    whole = m.plazaql("search(way, highway: *).sum(length());").result
    assert sum(lengths.values()) == pytest.approx(whole)


# ---- variables, outputs, directives -----------------------------------------------------------


def test_outputs(m: Any) -> None:
    found = m.plazaql(
        '$$.bars = search(node, amenity: "bar").limit(2);'
        '$$.number = search(node, amenity: "bar").count();'
        f"$$.here = {POINT};"
    )
    assert [f["@output"] for f in found] == ["bars", "bars", "here"]
    assert found.members["outputs"] == {"number": len(all_of(m, type="node",
                                                             tags={"amenity": "bar"}))}  # fmt: skip
    two = m.plazaql(
        'search(node, amenity: "bar").limit(1); search(node, amenity: "cafe").limit(1);'
    )
    assert [f["@output"] for f in two] == ["1", "2"]
    assert "@output" not in m.plazaql('search(node, amenity: "bar");')[0].properties


def test_sets_as_places(m: Any) -> None:
    museums = all_of(m, tags={"tourism": "museum"})
    asked = {"type": "node", "tags": {"highway": "bus_stop"}, "radius": 100}
    near = {name for f in museums for name in ids(all_of(m, near=f.geometry, **asked))}
    expected = [name for name in ids(all_of(m, type="node", tags={"highway": "bus_stop"}))
                if name in near]  # fmt: skip
    text = (
        '$$.museums = search(tourism: "museum").limit(0);'
        'search(node, highway: "bus_stop").around(100, search(tourism: "museum"));'
    )
    assert ids(m.plazaql(text)) == expected
    assert expected
    wide = 'search(shop: *).within(search(tourism: "museum").buffer(50)).count();'
    assert m.plazaql(wide).result > 0


def test_attributes(m: Any) -> None:
    text = "search(amenity: $one[amenity]).count();"
    one = '$one = search(node, amenity: "bar").first(); '
    assert m.plazaql(one + text).result == len(all_of(m, tags={"amenity": "bar"}))
    several = '$one = search(node, amenity: "bar") + search(node, amenity: "cafe"); '
    expected = len(all_of(m, tags={"amenity": "bar|cafe"}))
    assert m.plazaql(several + text).result == expected
    assert m.plazaql(one + 'search(node).filter(t["amenity"] == $one[amenity]).count();').result


def test_directives(m: Any) -> None:
    text = (
        f'#bbox({BOX}); #filter(name: *); #filter(size(t["name"]) > 5); #limit(count: 3);'
        'search(node, amenity: "cafe");'
    )
    boxed = all_of(m, type="node", tags={"amenity": "cafe", "name": "*"},
                   bbox="43.73,7.41,43.74,7.43")  # fmt: skip
    expected = [f.id for f in boxed if len(f["name"]) > 5][:3]
    assert ids(m.plazaql(text)) == expected
    assert len(expected) == 3


# ---- services ---------------------------------------------------------------------------------


def test_services(m: Any) -> None:
    found = m.plazaql('geocode("25 Boulevard de Suisse, Monaco").first();')
    assert ids(found) == ids(m.geocode("25 Boulevard de Suisse, Monaco", limit=1))
    assert ids(m.plazaql(f"reverse_geocode({POINT});")) == ids(m.reverse(AT))
    assert m.plazaql('autocomplete("Rue Grim");')
    assert m.plazaql('text_search("casino");')
    route = m.plazaql(f'route({POINT}, point(43.7314, 7.4197), mode: "walk");')
    assert route[0].geometry.geom_type == "LineString"
    near = m.plazaql(
        f'$r = route({POINT}, point(43.7314, 7.4197), mode: "foot");'
        "search(node, shop: *).around(30, $r).count();"
    )
    assert near.result > 0
    area = m.plazaql(f"$$.i = isochrone(center: {POINT}, time: 300, mode: \"foot\");"
                     "$$.n = search(node, shop: *).within($$.i).count();")  # fmt: skip
    assert area.members["outputs"]["n"] > 0
    table = m.plazaql(f"matrix(sources: [{POINT}], destinations: [point(43.7314, 7.4197)]);")
    assert table.result
    assert m.plazaql(f"optimize({POINT}, point(43.7314, 7.4197), point(43.735, 7.42));")
    trip = m.plazaql(f"ev_route({POINT}, point(43.7314, 7.4197), battery: 60000);")
    assert trip[0].properties["energy_used_wh"] > 0
    expected = m.route(AT, (7.4197, 43.7314), ev={"battery_capacity_wh": 60_000})
    assert trip[0].properties["distance_m"] == expected.properties["distance_m"]


WRONG = [
    (f'search(node, amenity: "cafe").within({POINT});', "has no inside"),
    ("search(node).filter(area());", "this is not a condition"),
    ('search(node).sum(t["level"]);', "this is not a number"),
    ('search(node).filter(t["level"] > 5);', "between a text and a number"),
    ('search(node).sort(order: :up, by: t["name"]);', "this is not an order"),
    ("search(node).expand(:sideways);", "this is not a direction"),
    ('search(node).include("nodes");', "write .expand(:down)"),
    ("search(node).limit(1.5);", "whole number"),
    ("search(node).around(1e9, point(1, 2));", "expected ',' or ')'"),
    (f"search(node).around(200000, {POINT});", "within 0 to 100,000"),
    ("point(91, 5);", "no position 91, 5"),
    ("polygon(point(1, 2), point(1, 3));", "takes 3 points or more"),
    ("polygon(point(0, 0), point(1, 1), point(1, 0), point(0, 1));", "crosses itself"),
    ('boundary(name: "Nowhere at all");', "no area is called so"),
    ('search(node, id: "a");', "whole numbers"),
    ("search(stuff);", "not a type of elements"),
    ("$a = 5; $a.count();", "follows a set of elements"),
    ('geocode("Monaco").sort(t["name"]);', "follows a search"),
    ("search(node) * search(way);", "belongs into .filter"),
    ('search(node).group_by(t["a"]);', "groups are not counted yet"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_what_cannot_run_is_said(m: Any, text: str, message: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        m.plazaql(text)
    assert message in str(caught.value)
    assert caught.value.details["line"] == 1


def test_a_pattern_that_cannot_run(m: Any) -> None:
    with pytest.raises(Unsupported):
        m.plazaql('search(node, name: ~"(?=a)");')


pieces = st.sampled_from([
    'search(node, amenity: "cafe")', "search(way, highway: *)", "$a", POINT, "5", '"x"', ":asc",
    't["name"]', "area()", ".limit(2)", ".within(", ".count()", ".sort(", ".filter(", ".first()",
    ".group_by(", ")", "(", " + ", " - ", " & ", " == ", "!", ";", ", ",
    'boundary(name: "Monaco")',
    ".buffer(5)", ".area()", ".ids()", "geocode(", "[", "]", ".member_of(", "$a = ", "$$.b = ",
])  # fmt: skip


@settings(max_examples=150)
@given(st.lists(pieces, max_size=9))
def test_no_query_breaks_the_engine(m: Any, parts: list[str]) -> None:
    text = "".join(parts)
    with suppress(MapyardError):
        list(m.plazaql(text)[:3])


# ---- the page ---------------------------------------------------------------------------------

PAGE = (Path(__file__).parents[3] / "docs" / "plazaql.md").read_text()


def test_errors_of_the_page(m: Any) -> None:
    texts = [
        'search(node amenity: "cafe");', 'search(node, amenity: "cafe").witin($x);',
        "search(node)\n.within($area);",
    ]  # fmt: skip
    for text in texts:
        with pytest.raises(InvalidQuery) as caught:
            m.plazaql(text)
        assert str(caught.value) in PAGE
