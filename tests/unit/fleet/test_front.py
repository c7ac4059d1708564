"""A map in four regions answers as the whole: on one node with two of them, the others away."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fleet_agreement import Requests, compare
from fleets import (
    Away,
    ask,
    build_regions,
    exact_requests,
    make_front,
    make_single,
    normalize,
)
from mapyard.errors import Overloaded
from mapyard.fleet.front import Front, ReplicaLost
from mapyard.fleet.wire import Question, Reply
from mapyard.http.app import Application
from mapyard.results.cursor import write_place
from mapyard.tiles.archive import list_tiles
from mapyard.tiles.source import TABLE_FOLDER
from mapyard.tiles.table import Table
from osm_files import EXAMPLES

# Five datasets are built first.
pytestmark = [pytest.mark.xdist_group("fleet-front"), pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def folder(shared_folder: Path) -> Path:
    return shared_folder / "four-regions"


@pytest.fixture(scope="module")
def applications(
    shared_folder: Path, folder: Path, monaco: Path
) -> Iterator[tuple[Front, Application, Application]]:
    """The front, its application, and one machine with the whole."""
    split = build_regions(EXAMPLES / "monaco.osm.pbf", folder, 4, 200.0)
    data = shared_folder / "fleet-elevation"
    (data / "elevation").mkdir(parents=True, exist_ok=True)
    shutil.copy(EXAMPLES / "N43E007.hgt.zip", data / "elevation")
    for name in ("datasets", "current"):
        link = data / name
        if not link.exists():
            link.symlink_to((monaco / name).resolve())
    front, application = make_front(split, folder, {"r001", "r002"}, data)
    single = make_single(data)
    yield front, application, single
    front.close()


def test_random_requests_are_answered_as_by_one_machine(
    applications: tuple[Front, Application, Application],
) -> None:
    _, application, single = applications
    requests = exact_requests(18)
    for _ in range(250):
        path, params, body = next(requests)
        expected, found = ask(single, path, params, body), ask(application, path, params, body)
        assert found.status_code == expected.status_code, (path, params, found.text[:300])
        assert normalize(found.content) == normalize(expected.content), (path, params)
        for name in ("x-limit", "x-has-more", "x-next-offset"):
            assert found.headers.get(name) == expected.headers.get(name), (path, params, name)


def test_requests_of_all_kinds_are_answered_as_by_one_machine(
    applications: tuple[Front, Application, Application],
) -> None:
    """A short form of `make fleet-agreement`."""
    _, application, single = applications
    store: Any = single.services.snapshots.lease().part("store")
    told: list[str] = []
    # Regions with a margin of 200 m know other ways.
    requests = Requests(store, 18, without=("route", "matrix", "tour", "trace"))
    judged = compare(single, application, requests, 300, told.append)
    assert told == []
    total = sum(judged.values(), Counter[str]())
    assert total["same"] > 220 and total["refused"] < 60


@pytest.mark.parametrize(
    ("path", "params"),
    [
        ("/api/v1/features", {"tags": "amenity", "limit": 37}),
        ("/api/v1/features", {"bbox": "43.72,7.40,43.76,7.45", "tags": "highway", "limit": 150}),
        ("/api/v1/features/nearby", {"near": "43.738,7.4246", "radius": 5000, "tags": "shop",
                                     "limit": 41}),
        ("/api/v1/search", {"q": "avenue", "limit": 33}),
    ],
)  # fmt: skip
def test_pages_over_regions_are_the_whole(
    applications: tuple[Front, Application, Application], path: str, params: dict[str, Any]
) -> None:
    _, application, single = applications
    walked = [walk(app, path, params) for app in (application, single)]
    assert len(walked[0]) > 2 * int(params["limit"])
    assert walked[0] == walked[1]
    assert len(set(walked[0])) == len(walked[0])


@pytest.mark.parametrize(
    "params",
    [
        {"tags": "shop", "output[sort]": "name", "limit": 30},
        {"tags": "amenity", "output[sort]": "name", "limit": 200, "output[fields]": "amenity"},
        {"bbox": "43.72,7.40,43.76,7.45", "tags": "highway", "output[sort]": "name", "limit": 90},
        {"around": "43.738,7.4246", "radius": 2_000, "tags": "amenity", "limit": 70,
         "output[sort]": "distance", "output[include]": "distance"},
        {"around": "43.738,7.4246", "radius": 2_000, "tags": "shop", "output[sort]": "name"},
    ],
)  # fmt: skip
def test_sorted_lists_over_regions_are_the_whole(
    applications: tuple[Front, Application, Application], params: dict[str, Any]
) -> None:
    """Page by page, with those that have no name at the end; in all figures of the pages."""
    _, application, single = applications
    names = ("x-limit", "x-has-more", "x-next-offset")
    offset, seen = 0, 0
    while offset < 900:
        asked = {**params, "offset": offset} if offset else params
        expected, found = (ask(app, "/api/v1/features", asked) for app in (single, application))
        assert (found.status_code, found.content) == (200, expected.content), offset
        assert [found.headers.get(n) for n in names] == [expected.headers.get(n) for n in names]
        seen += 1
        if "x-next-offset" not in expected.headers:
            break
        offset = int(expected.headers["x-next-offset"])
    assert seen > 2
    for wrong in (
        {**params, "cursor": "at.kQ"}, {**params, "format": "ndjson"}, {**params, "limit": 1_001},
    ):  # fmt: skip
        expected, found = (ask(app, "/api/v1/features", wrong) for app in (single, application))
        assert (found.status_code, found.content) == (expected.status_code, expected.content)


def test_pages_are_not_larger_than_those_of_one_machine(
    applications: tuple[Front, Application, Application],
) -> None:
    _, application, single = applications
    params = {"near": "43.738,7.4246", "radius": 5_000, "limit": 1_001}
    expected, found = (ask(app, "/api/v1/features/nearby", params) for app in (single, application))
    assert (found.status_code, found.content) == (400, expected.content)


def walk(application: Application, path: str, params: dict[str, Any]) -> list[str]:
    ids, cursor = [], None
    while True:
        page = ask(application, path, {**params, **({"cursor": cursor} if cursor else {})})
        assert page.status_code == 200, page.text
        ids += [feature["id"] for feature in page.json()["features"]]
        cursor = page.headers.get("x-next-cursor")
        if cursor is None:
            return ids


@pytest.mark.parametrize("form", ["geojson", "csv", "ndjson"])
@pytest.mark.parametrize(
    ("path", "params"),
    [
        ("/api/v1/features", {"tags": "building"}),
        ("/api/v1/features", {"tags": "amenity", "output[geometry]": "false", "lang": "fr"}),
        ("/api/v1/features", {"tags[amenity]": "nothing"}),
        ("/api/v1/features", {"bbox": "43.72,7.40,43.76,7.45", "output[fields]": "name,shop",
                              "tags": "shop"}),
        ("/api/v1/search", {"q": "avenue"}),
        ("/api/v1/search", {"q": "grimaldo"}),
        ("/api/v1/search", {"q": "grimaldi"}),
    ],
)  # fmt: skip
def test_streams_over_regions_are_the_whole(
    applications: tuple[Front, Application, Application],
    monkeypatch: pytest.MonkeyPatch, path: str, params: dict[str, Any], form: str,
) -> None:  # fmt: skip
    _, application, single = applications
    expected = ask(single, path, {**params, "format": form})
    for rows in (400, 16_000):  # pages of 100 rows, and of as many as there may be
        monkeypatch.setattr("mapyard.fleet.streams._ROWS", rows)
        found = ask(application, path, {**params, "format": form})
        assert found.status_code == 200
        assert found.content == expected.content
        assert found.headers["content-type"] == expected.headers["content-type"]


def test_a_stream_of_one_region_elsewhere_comes_in_pages(
    applications: tuple[Front, Application, Application], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A whole answer from another node has a limit that a stream of it does not have."""
    front, application, single = applications
    assert front.table is not None
    monkeypatch.setattr(front.table, "local", {})
    monkeypatch.setattr("mapyard.fleet.host.MAX_BYTES", 20_000)
    params = {"bbox": "43.7340,7.4150,43.7400,7.4200", "tags": "building", "format": "ndjson"}
    expected = ask(single, "/api/v1/features", params).content
    assert len(expected) > 100_000
    assert ask(application, "/api/v1/features", params).content == expected


def test_a_stream_whose_region_fails_is_broken_off(
    applications: tuple[Front, Application, Application], monkeypatch: pytest.MonkeyPatch
) -> None:
    front, application, _ = applications
    monkeypatch.setattr("mapyard.fleet.streams._ROWS", 400)
    asked = 0
    ask_region = front._ask

    async def fail(*arguments: Any) -> Reply:
        nonlocal asked
        asked += 1
        if asked > 6:
            raise Overloaded("no node answers")
        return await ask_region(*arguments)

    monkeypatch.setattr(front, "_ask", fail)
    with pytest.raises(AssertionError):  # of the transport: the answer has no end
        ask(application, "/api/v1/features", {"tags": "building", "format": "ndjson"})
    asked = 10
    refused = ask(application, "/api/v1/features", {"tags": "building", "format": "ndjson"})
    assert refused.status_code == 503  # before it begins it is an error like any other


def test_a_cursor_belongs_to_its_query(
    applications: tuple[Front, Application, Application],
) -> None:
    _, application, _ = applications
    page = ask(application, "/api/v1/features", {"tags": "amenity", "limit": 3})
    cursor = page.headers["x-next-cursor"]
    wrong = ask(application, "/api/v1/features", {"tags": "shop", "cursor": cursor})
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (400, "invalid_cursor")
    broken = ask(application, "/api/v1/features", {"tags": "amenity", "cursor": cursor[:-3]})
    assert (broken.status_code, broken.json()["error"]["code"]) == (400, "invalid_cursor")
    for text in (write_place(("x",)), "at.", "at.!"):
        odd = ask(application, "/api/v1/features", {"tags": "amenity", "cursor": text})
        assert odd.json()["error"]["code"] == "invalid_cursor", text


def test_all_tiles_are_those_of_one_machine(
    applications: tuple[Front, Application, Application], monaco: Path
) -> None:
    """To the byte: of the overview below zoom 14, of a region there; else it is refused."""
    _, application, single = applications
    tiles = list_tiles(Table((monaco / "current" / TABLE_FOLDER).resolve()), 0, 14)
    low = [tile for tile in tiles if tile.z < 14]
    high = [tile for tile in tiles if tile.z == 14][::4]
    held = 0
    for tile in [*low[:100], *low[100::3], *high]:
        path = f"/api/v1/tiles/{tile.z}/{tile.x}/{tile.y}.mvt"
        expected, found = ask(single, path), ask(application, path)
        if tile.z == 14 and found.status_code == 422:
            assert "regions" in found.json()["error"]["message"]
            continue
        held += tile.z == 14
        assert (found.status_code, found.content) == (expected.status_code, expected.content), tile
    assert held > len(high) / 2
    style = "/api/v1/tiles/style.json"
    assert ask(application, style).content == ask(single, style).content
    shown = [ask(app, "/api/v1/tiles.json").json() for app in (application, single)]
    for info in shown:
        del info["version"]  # the id of the dataset
    assert shown[0] == shown[1]


@pytest.mark.parametrize(
    "params",
    [
        {}, {"limit": 7}, {"prefix": "addr:"}, {"key": "amenity"}, {"key": "name", "limit": 2_000},
        {"key": "name", "prefix": "Rue", "limit": 9}, {"key": "nothing"},
    ],
)  # fmt: skip
def test_tags_are_counted_once(
    applications: tuple[Front, Application, Application], params: dict[str, Any]
) -> None:
    _, application, single = applications
    expected, found = (ask(app, "/api/v1/tags", params) for app in (single, application))
    assert (found.status_code, found.content) == (expected.status_code, expected.content)


def test_pictures_are_drawn_where_the_overview_is(
    applications: tuple[Front, Application, Application], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Out of the tiles of all: a region's own would show its area only, and nothing around."""
    front, application, _ = applications
    table = front.table
    assert table is not None
    for path in ("/api/v1/raster/9/266/187.png", "/api/v1/static/400x300.png"):
        params = {"center": "43.738,7.42", "zoom": 3} if "static" in path else {}
        refused = ask(application, path, params)
        assert refused.status_code == 422 and "'overview'" in refused.json()["error"]["message"]
    replica: Any = table.replicas["overview"][0]
    asked: list[str] = []

    def style(ctx: Any, theme: str, **look: Any) -> dict[str, Any]:
        asked.append(ctx.snapshot.id)
        raise Overloaded("nothing is drawn here")

    monkeypatch.setattr("mapyard.http.routes.static._style", style)
    monkeypatch.setattr(table, "local", {**table.local, "overview": replica.host.snapshot})
    assert ask(application, "/api/v1/raster/9/266/187.png").status_code == 503
    assert asked == [replica.host.snapshot.id]


def test_what_a_generation_lacks_is_said(
    applications: tuple[Front, Application, Application],
) -> None:
    front, application, _ = applications
    table = front.table
    assert table is not None
    wholes = dict(table.map.wholes)
    table.map.wholes.clear()
    try:
        refused = ask(application, "/api/v1/geocode", {"q": "casino"})
        assert refused.status_code == 422 and "'places'" in refused.json()["error"]["message"]
        named = ask(application, "/api/v1/geocode", {"q": "casino"}, headers={"X-Region": "r001"})
        assert named.status_code == 200
    finally:
        table.map.wholes.update(wholes)


@pytest.mark.parametrize(
    ("path", "params"),
    [
        ("/api/v1/route", {"origin": "43.7255,7.4100", "destination": "43.7500,7.4380"}),
        ("/api/v1/isochrone", {"near": "43.738,7.4246", "time": 1200}),
        ("/api/v1/features", {"tags": "shop", "offset": 990, "limit": 20}),
        (
            "/api/v1/features",
            {"tags": "building", "offset": 990, "limit": 20, "output[sort]": "name"},
        ),
        ("/api/v1/tags", {"key": "amenity", "combinations": "true"}),
    ],
)
def test_what_cannot_be_merged_is_refused(
    applications: tuple[Front, Application, Application], path: str, params: dict[str, Any]
) -> None:
    _, application, single = applications
    assert ask(single, path, params).status_code == 200
    refused = ask(application, path, params)
    assert refused.status_code == 422 and "regions" in refused.json()["error"]["message"]


_OVERPASS = [
    "[out:json];way[highway](43.73,7.41,43.75,7.43);out geom;",
    "[out:json];(way[building];);(._;>;);out meta;",
    "[out:json];way[leisure=park];out body;>;out skel qt;",
    '[out:json];area["name"="Monaco"]->.a;(node(area.a)[shop];way(area.a)[shop];);out tags;',
    "[out:json];nwr[shop];out count;",
    "[out:csv(::id,name,amenity)];node[amenity];out qt;",
    "[out:csv(::count)];nwr[amenity];out count;",
    "[out:xml];node[amenity=cafe];out;way[shop];out center;node[shop];out 5;",
    "node[highway=crossing];<;out ids 40;",
    '[out:json];nwr[name~"^Rue",i];out ids 30;',
    '[out:popup("Cafe";[amenity];"name")];node[amenity=cafe];out;',
    "[out:json];node({{bbox}})[amenity];out;",
    "[out:json];node(around:300,{{center}})[amenity];out;",
    "[out:json];node[amenity=cafe]->.c;nwr(around.c:50)[shop];out geom;",
    "[out:json];node[highway=bus_stop];way[building](around:190);out ids;",
    "[out:json];node[zzz=yyy];out;",
]  # fmt: skip


@pytest.mark.parametrize("query", _OVERPASS)
def test_overpass_over_regions_is_that_of_one_machine(
    applications: tuple[Front, Application, Application], query: str
) -> None:
    _, application, single = applications
    path = "/api/v1/overpass"
    macros = {"bbox": "43.72,7.40,43.76,7.45", "center": "43.738,7.42"}
    for params in (
        {"limit": 7}, {"limit": 7, "offset": 3}, {"format": "geojson"}, {"format": "ndjson"},
        {"format": "osmjson"},
    ):  # fmt: skip
        asked = {"data": query, **macros, **params}
        expected, found = ask(single, path, asked), ask(application, path, asked)
        assert (found.status_code, normalize(found.content)) == (
            expected.status_code, normalize(expected.content),
        ), found.text[:500]  # fmt: skip
        for name in ("content-type", "x-has-more", "x-next-offset", "x-query-warning"):
            assert found.headers.get(name) == expected.headers.get(name), name
    if "{{center" not in query:
        for body in ({"data": query, "bbox": "7.40,43.72,7.45,43.76"},
                     {"data": query, "bbox": "7.40,43.72,7.45,43.76", "jsonp": "f"}):  # fmt: skip
            expected, found = (ask(app, "/api/interpreter", body) for app in (single, application))
            assert (found.status_code, found.content) == (expected.status_code, expected.content)
            assert found.headers["content-type"] == expected.headers["content-type"]


def test_overpass_pages_over_regions_are_walked(
    applications: tuple[Front, Application, Application],
) -> None:
    _, application, single = applications
    params = {"data": "way[leisure=park];out body;>;out skel qt;", "limit": 5}
    walked = [walk(app, "/api/v1/overpass", params) for app in (application, single)]
    assert walked[0] == walked[1] and len(walked[0]) > 15


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("way[highway=primary];>;<;out;", "going up from parts"),
        ("node[amenity=cafe];node(around:250)[shop];out;", "may be at most 196 m"),
        ("node[shop](if:count(nodes)>3);out;", "condition about a set"),
        ("{{geocodeArea:Monaco}}->.a;node(area.a);out;", "geocode it first"),
    ],
)
def test_overpass_that_is_no_union_is_refused(
    applications: tuple[Front, Application, Application], query: str, told: str
) -> None:
    _, application, single = applications
    assert ask(single, "/api/v1/overpass", {"data": query}).status_code == 200
    refused = ask(application, "/api/v1/overpass", {"data": query})
    assert refused.status_code == 422 and told in refused.json()["error"]["message"]
    page = ask(application, "/api/interpreter", {"data": query})
    assert page.status_code == 422 and told in page.text  # as the original's clients read it
    named = ask(application, "/api/v1/overpass", {"data": query}, headers={"X-Region": "r001"})
    assert named.status_code == 200
    broken = [ask(app, "/api/v1/overpass", {"data": "node[;out;"}) for app in (single, application)]
    assert broken[0].status_code == broken[1].status_code == 400
    assert "line 1" in broken[1].json()["error"]["message"]


def test_a_box_of_macros_does_not_say_where_a_query_is(
    applications: tuple[Front, Application, Application],
) -> None:
    _, application, single = applications
    params = {"data": "node[amenity=cafe];out;", "bbox": "43.726,7.412,43.727,7.413", "limit": 500}
    expected, found = (ask(app, "/api/v1/overpass", params) for app in (single, application))
    assert found.content == expected.content
    # What asks about one region only is answered there as it is: loops, explanations, all of it.
    inside = "[bbox:43.7262,7.4123,43.7285,7.4150];node[amenity];foreach(out;);"
    for more in ({}, {"explain": "true"}):
        asked = {"data": inside, **more}
        expected, found = (ask(app, "/api/v1/overpass", asked) for app in (single, application))
        assert found.status_code == 200
        if not more:
            assert found.json()["features"] == expected.json()["features"]


_SPARQL = [
    "SELECT ?s ?n { ?s osmkey:amenity 'cafe' ; osmkey:name ?n }",
    "SELECT ?s ?n { ?s osmkey:amenity 'cafe' ; osmkey:name ?n } LIMIT 4 OFFSET 3",
    "SELECT ?s ?n { ?s osmkey:shop [] OPTIONAL { ?s osmkey:name ?n } } ORDER BY ?n ?s",
    "SELECT ?n ?g { ?s osmkey:shop [] ; osmkey:name ?n ; geo:hasGeometry/geo:asWKT ?g } LIMIT 9",
    "SELECT ?k (COUNT(?s) AS ?c) { ?s osmkey:amenity ?k } GROUP BY ?k ORDER BY DESC(?c) ?k",
    "SELECT (COUNT(*) AS ?c) { ?s osmkey:building ?k FILTER NOT EXISTS { ?s osmkey:name [] } }",
    "SELECT DISTINCT ?v { ?s osmkey:highway ?v } ORDER BY ?v",
    "SELECT ?s { ?s osmkey:zzz 'y' }",
    "ASK { ?s osmkey:amenity 'cafe' }",
    "CONSTRUCT { ?s osmkey:name ?n } WHERE { ?s osmkey:amenity 'pharmacy' ; osmkey:name ?n }",
]  # fmt: skip


@pytest.mark.parametrize("query", _SPARQL)
def test_sparql_over_regions_is_that_of_one_machine(
    applications: tuple[Front, Application, Application], query: str
) -> None:
    _, application, single = applications
    for path, accept, more in (
        ("/api/v1/sparql", "", {}),
        ("/api/v1/sparql", "", {"limit": 5, "offset": 2}),
        ("/api/v1/sparql", "application/sparql-results+json", {"limit": 5}),
        ("/api/v1/sparql", "text/turtle", {}),
        ("/sparql", "text/csv", {}),
        ("/sparql", "application/sparql-results+xml", {}),
        ("/sparql", "text/tab-separated-values", {}),
        ("/sparql", "application/n-triples", {}),
    ):
        asked = {"query": query, **more}
        headers = {"Accept": accept} if accept else {}
        expected, found = (ask(app, path, None, asked, headers) for app in (single, application))
        assert (found.status_code, normalize(found.content)) == (
            expected.status_code, normalize(expected.content),
        ), (path, accept, found.text[:500])  # fmt: skip
        for name in ("content-type", "x-has-more", "x-next-offset", "x-query-warning"):
            assert found.headers.get(name) == expected.headers.get(name), name


def test_sparql_pages_over_regions_are_walked(
    applications: tuple[Front, Application, Application],
) -> None:
    _, application, single = applications
    params = {"query": "SELECT ?s { ?s osmkey:shop [] } ORDER BY DESC(?s)", "limit": 60}
    walked = [walk(app, "/api/v1/sparql", params) for app in (application, single)]
    assert walked[0] == walked[1] and len(walked[0]) > 120


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT * { ?a osmkey:amenity 'cafe' . ?b osmkey:shop 'bakery' }", "joins several"),
        ("SELECT * { ?a osmkey:leisure 'park' ; ogc:sfContains ?b }", "relates elements"),
        ("SELECT (SAMPLE(?s) AS ?x) { ?s osmkey:shop ?k } GROUP BY ?k", "as GeoJSON, elements"),
    ],
)
def test_sparql_that_joins_elements_is_refused(
    applications: tuple[Front, Application, Application], query: str, told: str
) -> None:
    _, application, single = applications
    assert ask(single, "/api/v1/sparql", None, {"query": query}).status_code == 200
    refused = ask(application, "/api/v1/sparql", None, {"query": query})
    assert refused.status_code == 422 and told in refused.json()["error"]["message"]
    broken = [
        ask(app, "/api/v1/sparql", None, {"query": "SELECT {"}) for app in (single, application)
    ]
    assert broken[0].status_code == broken[1].status_code == 400


_PLAZA = [
    'search(node, amenity: "cafe").limit(12);',
    'search(way, highway: *).bbox(43.73, 7.41, 43.75, 7.43).limit(30).tags();',
    'search(shop: *).around(500, point(43.738, 7.42)).distance(point(43.738, 7.42));',
    'search(amenity: *).offset(7).limit(9);',
    'search(nwr, name: ~"^Rue").first();',
    'search(node, amenity: "restaurant").count();',
    'search(shop: *).offset(20).limit(11).count();',
    'search(way, building: *).within(polygon(point(43.72, 7.40), point(43.76, 7.40), '
    'point(43.76, 7.43), point(43.72, 7.43))).filter(area() > 500).area().fields("name");',
    'search(way, highway: *).filter(length() > 100, t["name"] != "x").length().ids();',
    'search(amenity: *).group_by(t["amenity"]).count();',
    'search(nwr, leisure: *).filter(t["name"] == "nothing");',
    '$$.cafes = search(node, amenity: "cafe"); $$.n = search(shop: *).count(); search(tourism: *);',
    'search(amenity: "cafe").limit(3); search(shop: "bakery").count();',
    '#bbox(43.73, 7.41, 43.74, 7.42); search(shop: *); search(tourism: *).count();',
    'search(shop: *).count(); #bbox(43.73, 7.41, 43.74, 7.42); search(shop: *);',
    'search(relation, type: "route").not_within(circle(point(43.738, 7.42), 300)).geom();',
    'search(way, leisure: "park").centroid().include("bbox").precision(4);',
]  # fmt: skip


@pytest.mark.parametrize("query", _PLAZA)
def test_plazaql_over_regions_is_that_of_one_machine(
    applications: tuple[Front, Application, Application], query: str
) -> None:
    _, application, single = applications
    for more in (
        {}, {"limit": 7}, {"limit": 7, "offset": 5}, {"format": "geojson"}, {"format": "ndjson"},
    ):  # fmt: skip
        asked = {"data": query, **more}
        expected, found = (ask(a, "/api/v1/query", None, asked) for a in (single, application))
        assert expected.status_code == 200, expected.text
        assert (found.status_code, normalize_lines(found)) == (200, normalize_lines(expected))
        for name in ("content-type", "x-has-more", "x-next-offset", "x-limit"):
            assert found.headers.get(name) == expected.headers.get(name), name


def normalize_lines(answer: Any) -> Any:
    """Each line by itself, where there are several."""
    return [normalize(line) for line in answer.content.split(b"\n")]


def test_plazaql_pages_over_regions_are_walked(
    applications: tuple[Front, Application, Application],
) -> None:
    _, application, single = applications
    pages = []
    for app in (application, single):
        ids, cursor = [], {}
        while True:
            body = {"data": "search(shop: *); search(tourism: *);", "limit": 40, **cursor}
            page = ask(app, "/api/v1/query", None, body)
            assert page.status_code == 200, page.text
            ids += [feature["id"] for feature in page.json()["features"]]
            if "x-next-cursor" not in page.headers:
                break
            cursor = {"cursor": page.headers["x-next-cursor"]}
        pages.append(ids)
    assert pages[0] == pages[1] and len(pages[0]) > 120


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ('search(amenity: *).sort(t["name"]);', ".sort() looks at several elements"),
        ("$a = search(shop: *); $a;", "$a is used by other statements"),
        ('search(shop: *).around(50, search(amenity: "cafe"));', "search() looks at more"),
        ("search(way, highway: *).sum(length());", ".sum() looks at several elements"),
        ('search(shop: *).within(boundary(name: "Monaco"));', "boundary() looks at more"),
        ("nearest(point(43.738, 7.42));", "nearest() is no search"),
        ("#limit(5); search(shop: *);", "#limit() is about all outputs"),
        ("search(way, highway: *).filter(elevation() > 3);", "elevation() looks at more"),
        ('search(shop: *).limit(4).group_by(t["shop"]).count();', "groups of a part"),
        ("node[amenity=cafe];out;", "asked at /api/v1/overpass"),
    ],
)
def test_plazaql_that_relates_elements_is_refused(
    applications: tuple[Front, Application, Application], query: str, told: str
) -> None:
    _, application, single = applications
    refused = ask(application, "/api/v1/query", None, {"data": query})
    assert refused.status_code == 422 and told in refused.json()["error"]["message"], refused.text
    named = ask(application, "/api/v1/query", None, {"data": query}, {"X-Region": "r001"})
    assert named.status_code == ask(single, "/api/v1/query", None, {"data": query}).status_code
    for wrong in ("search(;", "search(shop: *).limit(-1);", "search(node, way);"):
        broken = [ask(app, "/api/v1/query", None, {"data": wrong}) for app in (single, application)]
        assert broken[0].status_code == 400 and broken[1].status_code in (400, 422)


def test_overpass_and_sparql_ask_a_named_region(
    applications: tuple[Front, Application, Application], folder: Path
) -> None:
    _, application, _ = applications
    for name in ("r001", "r003"):  # here, and away
        alone = make_single(folder / name / "data")
        for path, body in (
            ("/api/v1/overpass", {"data": "node[amenity=cafe];out;", "limit": 1000}),
            ("/api/v1/sparql", {"query": "SELECT ?s { ?s osmkey:amenity 'cafe' }"}),
            ("/api/v1/tags", {"key": "amenity"}),
        ):
            get = body if path.endswith("tags") else None
            post = None if get else body
            found = ask(application, path, get, post, {"X-Region": name})
            expected = ask(alone, path, get, post)
            assert (found.status_code, found.content) == (expected.status_code, expected.content)
    unknown = ask(application, "/api/v1/tags", {}, headers={"X-Region": "atlantis"})
    assert unknown.status_code == 404 and "r001" in unknown.json()["error"]["message"]


class Lost(Away):
    """A replica whose node is gone."""

    async def ask(self, question: Question) -> Reply:
        raise ReplicaLost("gone")


def test_another_copy_answers_for_a_lost_one(
    applications: tuple[Front, Application, Application], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mapyard.fleet.front.PATIENCE_S", 0.5)
    front, application, _ = applications
    assert front.table is not None
    replicas = dict(front.table.replicas)
    whole = dict(replicas)
    lost = {name: [Lost(f"{name}/lost", of[0].host), *of] for name, of in replicas.items()}
    params = {"tags": "amenity=cafe"}
    expected = ask(application, "/api/v1/features", params).content
    try:
        front.table.replicas = lost  # type: ignore[assignment]
        for _ in range(4):
            assert ask(application, "/api/v1/features", params).content == expected
        front.table.replicas = {name: of[:1] for name, of in lost.items()}  # type: ignore[assignment]
        refused = ask(application, "/api/v1/features", params)
        assert refused.status_code == 503 and "region r00" in refused.json()["error"]["message"]
        assert refused.headers["retry-after"]
    finally:
        front.table.replicas = whole  # type: ignore[assignment]


@pytest.mark.parametrize("where", ["host", "front"])
@pytest.mark.parametrize(
    ("path", "params"),
    [
        ("/api/v1/query", {"data": "search(way, building: *);", "format": "ndjson"}),
        ("/api/v1/overpass", {"data": "way[building];out geom;", "format": "ndjson"}),
    ],
)
def test_more_bytes_than_regions_may_send_are_refused(
    applications: tuple[Front, Application, Application],
    monkeypatch: pytest.MonkeyPatch,
    where: str,
    path: str,
    params: dict[str, str],
) -> None:
    """By what each of them sends to another node, and by what all of them send together."""
    _, application, _ = applications
    asked = (None, params) if path == "/api/v1/query" else (params,)
    assert ask(application, path, *asked).status_code == 200
    monkeypatch.setattr(f"mapyard.fleet.{where}.MAX_BYTES", 20_000)
    found = ask(application, path, *asked)
    assert found.status_code == 413
    assert found.json()["error"]["details"]["limit"] == 20_000
