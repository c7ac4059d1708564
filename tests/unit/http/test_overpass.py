"""Overpass QL over HTTP: pages, formats, errors, limits, and what users of the original miss."""

from __future__ import annotations

import csv
import io
import json
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapyard.errors import MapyardError, Overloaded
from mapyard.http.endpoints import Asked
from mapyard.http.routes.overpass_errors import write_error
from mapyard.library.questions import overpass as questions
from mapyard.server.local import LocalClient
from mapyard.settings import Settings
from osm_files import EXAMPLES

AS_JSON = {"Accept": "application/json"}
BOX = "43.73,7.41,43.74,7.425"
CAFES = f"[out:json];nwr[amenity=cafe]({BOX});out center;"


@pytest.fixture(scope="module")
def client(build_once: Callable[..., Path]) -> Iterator[LocalClient]:
    data = build_once("monaco-store", EXAMPLES / "monaco.osm.pbf", ["store"])
    with LocalClient(Settings(data=data)) as opened:
        yield opened


def ask(client: LocalClient, query: str, **params: Any) -> httpx.Response:
    return client.post("/api/v1/overpass", json={"data": query, **params})


def features(answer: httpx.Response) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["features"]
    return found


def error(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    found: dict[str, Any] = answer.json()["error"]
    assert found["code"] == code
    return found


# ---- bodies and pages


@pytest.mark.parametrize(
    "options",
    [
        {"json": {"data": CAFES}},
        {"json": {"query": CAFES}},
        {"data": {"data": CAFES}},
        {"content": CAFES},
        {"content": CAFES, "headers": {"content-type": "text/plain"}},
        {"content": CAFES, "headers": {"content-type": "application/x-www-form-urlencoded"}},
    ],
    ids=["json", "json query", "form", "no type", "text", "curl -d"],
)
def test_every_way_to_send_a_query_answers_alike(
    client: LocalClient, options: dict[str, Any]
) -> None:
    answer = client.post("/api/v1/overpass", **options)
    assert answer.headers["content-type"].startswith("application/geo+json")
    assert features(answer) == features(ask(client, CAFES))
    assert features(client.get("/api/v1/overpass", params={"data": CAFES})) == features(answer)


def test_pages_add_up_to_the_whole_without_doubles(client: LocalClient) -> None:
    query = "(way[highway=residential];>;rel[route=bus];);out qt;node[shop];out;"
    whole = features(ask(client, query, format="geojson"))
    ids = [feature["id"] for feature in whole]
    assert len(ids) == len(set(ids)) > 200
    for mode in ("cursor", "offset"):
        paged: list[str] = []
        place: dict[str, Any] = {} if mode == "cursor" else {"offset": 0}
        while True:
            answer = ask(client, query, limit=97, **place)
            paged += [feature["id"] for feature in features(answer)]
            assert answer.headers["x-limit"] == "97"
            if answer.headers["x-has-more"] == "false":
                assert "link" not in answer.headers
                break
            assert 'rel="next"' in answer.headers["link"]
            place = {mode: answer.headers[f"x-next-{mode}"]}
        assert paged == ids


def test_the_next_page_costs_no_second_run(
    client: LocalClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "nwr[tourism];out;  "
    first = ask(client, query, limit=5)

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("run again")

    monkeypatch.setattr("mapyard.library.questions.overpass.run_text", fail)
    second = ask(client, query, limit=5, cursor=first.headers["x-next-cursor"])
    assert len(features(second)) == 5
    assert features(second)[0]["id"] not in [f["id"] for f in features(first)]


def test_what_depends_on_the_clock_runs_again(
    client: LocalClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = 'nwr[tourism](newer:"{{date:40 years}}");out;'
    first = ask(client, query, limit=5)
    runs = []
    original = questions.run_text
    monkeypatch.setattr(questions, "run_text", lambda *a, **k: runs.append(1) or original(*a, **k))
    assert features(ask(client, query, limit=5)) == features(first)
    ask(client, query, limit=5, cursor=first.headers["x-next-cursor"])
    assert len(runs) == 1


def test_a_page_is_twenty_and_at_most_a_thousand(client: LocalClient) -> None:
    assert len(features(ask(client, "nwr[name];out;"))) == 20
    assert len(features(ask(client, "nwr[name];out;", limit=1000))) == 1000
    error(ask(client, "nwr[name];out;", limit=1001), 400, "invalid_request")


def test_cursors_belong_to_their_query(client: LocalClient) -> None:
    cursor = ask(client, CAFES, limit=1).headers["x-next-cursor"]
    error(ask(client, "nwr[amenity=bar];out;", cursor=cursor), 400, "invalid_cursor")
    error(ask(client, CAFES, cursor=cursor[:-2] + "xx"), 400, "invalid_cursor")


# ---- GeoJSON


def test_features_have_their_whole_geometry_whatever_the_mode(client: LocalClient) -> None:
    for out in ("out;", "out body;", "out skel;", "out geom;", "out meta;"):
        found = features(ask(client, f"way[building]({BOX});{out}", limit=3))
        assert {feature["geometry"]["type"] for feature in found} == {"Polygon"}
        assert ("building" in found[0]["properties"]) == ("skel" not in out)
        assert ("@version" in found[0]["properties"]) == ("meta" in out)
    for out in ("out ids;", "out tags;"):
        found = features(ask(client, f"way[building]({BOX});{out}", limit=3))
        assert {feature["geometry"] for feature in found if not feature["geometry"]} == {None}
        assert ("building" in found[0]["properties"]) == ("tags" in out)


def test_center_and_bounds_say_so(client: LocalClient) -> None:
    center = features(ask(client, f"way[building]({BOX});out center;", limit=1))[0]
    assert center["geometry"]["type"] == "Point"
    assert center["properties"]["@geometry"] == "center"
    bounds = features(ask(client, f"way[building]({BOX});out tags bb;", limit=1))[0]
    assert bounds["geometry"]["type"] == "Polygon"
    assert bounds["properties"]["@geometry"] == "bounds"


def test_a_clip_box_clips(client: LocalClient) -> None:
    south, west, north, east = 43.735, 7.418, 43.737, 7.421
    query = f"way[highway]({south},{west},{north},{east});out geom({south},{west},{north},{east});"
    for feature in features(ask(client, query, limit=50)):
        assert feature["properties"]["@geometry"] == "clipped"
        flat = feature["geometry"]["coordinates"]
        lines = flat if feature["geometry"]["type"] == "MultiLineString" else [flat]
        for lon, lat in (point for line in lines for point in line):
            assert west <= lon <= east
            assert south <= lat <= north


def test_vertices_are_swallowed_but_not_standalone_nodes(client: LocalClient) -> None:
    ways = features(ask(client, f"way[building]({BOX});out;", format="geojson"))
    drawn = features(ask(client, f"way[building]({BOX});out;>;out skel qt;", format="geojson"))
    shown = [feature for feature in drawn if feature["id"].startswith("node/")]
    assert len(drawn) - len(shown) == len(ways)
    # What is left has tags of its own: entrances, addresses.
    for feature in shown[:5]:
        node = client.get(f"/api/v1/features/{feature['id']}").json()
        assert set(node["properties"]) - {"@type", "@id"}
    alone = features(ask(client, f"way[building]({BOX});node(w);out skel;", limit=5))
    assert len(alone) == 5


def test_counts_are_a_member(client: LocalClient) -> None:
    body = ask(client, "way[building];out count;node[shop];out count;").json()
    assert body["features"] == []
    assert [sorted(count) for count in body["count"]] == [
        ["nodes", "relations", "total", "ways"]
    ] * 2
    assert body["count"][0]["total"] == body["count"][0]["ways"] > 1000


def test_make_and_convert_are_features(client: LocalClient) -> None:
    query = "way[leisure=park];make stat n=count(ways),::geom=center(hull(gcat(geom())));out;"
    (stat,) = features(ask(client, query))
    assert stat["id"] == "stat/1"
    assert stat["geometry"]["type"] == "Point"
    assert int(stat["properties"]["n"]) > 5
    query = "way[leisure=park][name];convert item ::=::,::geom=geom(),::id=id();out geom;"
    items = features(ask(client, query, limit=3))
    assert items[0]["geometry"]["type"] == "LineString"
    assert items[0]["properties"]["leisure"] == "park"


# ---- formats


def test_streams_hold_everything(client: LocalClient) -> None:
    whole = features(ask(client, CAFES, format="geojson"))
    lines = ask(client, CAFES, format="ndjson").text.splitlines()
    assert len(lines) == len(whole) > 10


def test_native_json_is_the_original_s(client: LocalClient) -> None:
    answer = ask(client, "rel[route=bus];out meta geom 1;", format="osmjson")
    body = answer.json()
    assert list(body) == ["version", "generator", "osm3s", "elements"]
    assert body["version"] == 0.6
    assert body["osm3s"]["timestamp_osm_base"] == "2026-04-06T20:21:15Z"
    (relation,) = body["elements"]
    assert list(relation) == [
        "type", "id", "timestamp", "version", "changeset", "bounds", "members", "tags",
    ]  # fmt: skip
    assert list(relation["members"][0])[:3] == ["type", "ref", "role"]
    way = next(member for member in relation["members"] if member["type"] == "way")
    assert set(way["geometry"][0]) == {"lat", "lon"}
    (found,) = ask(client, "way[building];out center 1;", format="osmjson").json()["elements"]
    assert list(found) == ["type", "id", "center", "nodes", "tags"]


def test_interpreter_answers_json_xml_and_csv(client: LocalClient) -> None:
    query = "rel[route=bus];out geom 2;way[building];out center 2;node[shop];out meta 2;"
    xml = client.post("/api/interpreter", data={"data": query})
    assert xml.headers["content-type"] == "application/osm3s+xml"
    root = ElementTree.fromstring(xml.text)
    assert [child.tag for child in root] == [
        "note", "meta", "relation", "relation", "way", "way", "node", "node",
    ]  # fmt: skip
    native = client.get("/api/interpreter", params={"data": "[out:json];" + query}).json()
    for child, element in zip(list(root)[2:], native["elements"], strict=True):
        assert child.get("id") == str(element["id"])
        assert {tag.get("k"): tag.get("v") for tag in child.findall("tag")} == element["tags"]
        assert len(child.findall("member")) == len(element.get("members", []))
        assert [nd.get("ref") for nd in child.findall("nd")] == [
            str(ref) for ref in element.get("nodes", [])
        ]
    table = client.post(
        "/api/interpreter",
        content='[out:csv(::type,::id,::lat,"name";true;",")];nwr[shop][name];out center;',
    )
    rows = list(csv.reader(io.StringIO(table.text)))
    assert rows[0] == ["@type", "@id", "@lat", "name"]
    assert len(rows) > 50
    assert all(43 < float(row[2]) < 44 for row in rows[1:])


def test_status_is_what_osmnx_reads(client: LocalClient) -> None:
    lines = client.get("/api/status").text.split("\n")
    assert lines[0].startswith("Connected as: ")
    assert lines[4].split(" ")[0].isdecimal()
    assert lines[4].endswith("slots available now.")
    assert client.get("/api/timestamp").text == "2026-04-06T20:21:15Z\n"


def test_xml_and_nothing_at_all_are_answered_as_geojson(client: LocalClient) -> None:
    answer = ask(client, "[out:xml];node[shop];out;")
    assert "XML is at /api/interpreter" in answer.headers["x-query-warning"]
    assert answer.json()["warnings"]
    assert "x-query-warning" not in ask(client, "node[shop];out;").headers


# ---- macros


def test_macros_take_what_the_request_gives(client: LocalClient) -> None:
    found = features(ask(client, "node[shop]({{bbox}});out;", bbox=BOX))
    assert found == features(ask(client, f"node[shop]({BOX});out;"))
    area = "{{geocodeArea:Monte-Carlo}}->.a;node[shop](area.a);out;"
    assert len(features(ask(client, area))) == 20
    details = error(ask(client, "node({{bbox}});out;"), 400, "invalid_query")["details"]
    assert details["line"] == 1
    assert "bbox=" in details["hint"]
    assert (
        "Nowhere"
        in error(ask(client, "{{geocodeArea:Nowhere}};out;"), 400, "invalid_query")["message"]
    )


def test_bbox_of_the_original_has_longitudes_first(client: LocalClient) -> None:
    south, west, north, east = BOX.split(",")
    wanted = client.get("/api/interpreter", params={"data": f"[out:json];node[shop]({BOX});out;"})
    wanted = wanted.json()["elements"]
    assert wanted
    for path in ("/api/interpreter", "/overpass/api/interpreter"):
        for query in (
            "[out:json];node[shop](bbox);out;",
            "[out:json][bbox];node[shop];out;",
            "[out:json];node[shop]({{bbox}});out;",
        ):
            params = {"data": query, "bbox": f"{west},{south},{east},{north}"}
            assert client.get(path, params=params).json()["elements"] == wanted, query
    params = {"data": "[out:json];node[shop](bbox);out;", "bbox": "1,2,3"}
    answer = client.get("/api/interpreter", params=params, headers=AS_JSON)
    error(answer, 400, "invalid_request")


def test_overpass_has_a_prefix_of_its_own(client: LocalClient) -> None:
    for name in ("status", "timestamp", "kill_my_queries"):
        assert client.get(f"/overpass/api/{name}").status_code == 200
    box = {"bbox": "7.419,43.731,7.421,43.732"}
    own, original = (client.get(f"{path}/map", params=box) for path in ("/overpass/api", "/api"))
    assert own.content == original.content
    query = {"data": "node[shop];out;", "target": "compact"}
    converted = client.get("/overpass/api/convert", params=query).text
    assert converted == client.get("/api/convert", params=query).text
    assert "shop" in converted


# ---- what users of the original complain of (research notes, part 4)


def test_1_many_small_queries_in_parallel_are_all_answered(client: LocalClient) -> None:
    lock = threading.Lock()

    def one(index: int) -> int:
        with lock:  # the client's loop is one; the server test asks truly in parallel
            return ask(client, f"node(around:{200 + index},43.7384,7.4246)[shop];out;").status_code

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(one, range(50))) == {200}


def test_2_closed_ways_are_polygons_and_roundabouts_lines(client: LocalClient) -> None:
    parking = features(ask(client, "way[amenity=parking](if:is_closed());out;", limit=3))
    assert {feature["geometry"]["type"] for feature in parking} == {"Polygon"}
    rounds = features(ask(client, "way[junction=roundabout](if:is_closed());out;", limit=3))
    assert {feature["geometry"]["type"] for feature in rounds} <= {"LineString"}


def test_4_limits_are_errors_never_a_partial_answer(client: LocalClient) -> None:
    heavy = "".join("nwr(if:length()>0 && count_tags()>=0);" for _ in range(200))
    answer = ask(client, f"[timeout:1];{heavy}out;")
    if answer.status_code != 408:  # a machine that is faster than a second
        answer = ask(client, f"[timeout:0.01];{heavy}out;")
    found = error(answer, 408, "timeout")
    assert "limit" in found["message"]
    assert answer.headers["x-should-retry"] == "false"
    details = error(ask(client, "[maxsize:100k];node;out;[bbox]"), 400, "invalid_query")["details"]
    assert details["line"] == 1
    details = error(ask(client, "[maxsize:100k];nwr(if:1);out;"), 413, "too_large")["details"]
    assert details["limit"] == 100_000
    assert details["count"] > 100_000


def test_5_errors_are_json_with_place_and_hint(client: LocalClient) -> None:
    for query in ("node[a=b](;", "node(area.;out;", "node(91,1,92,2);out;", "out", "[out:json]"):
        details = error(ask(client, query), 400, "invalid_query")["details"]
        assert details["line"] == 1
        assert details["column"] >= 1
    found = error(ask(client, "node(5);\ncompare();out;"), 422, "validation_failed")
    assert found["details"]["line"] == 2
    assert found["details"]["hint"]


def test_6_country_filters_need_no_fiddling_with_memory(client: LocalClient) -> None:
    query = (
        'area["ISO3166-1"="MC"][admin_level=2];(node["addr:housenumber"](area);'
        ');out;area["ISO3166-1"="MC"]->.a;way[highway](area.a);out;'
    )
    assert len(features(ask(client, query, limit=1000))) == 1000


def test_7_areas_without_names_and_of_closed_ways(client: LocalClient) -> None:
    garden = "rel[leisure][!name](43.72,7.40,43.76,7.45);map_to_area;node(area);out;"
    assert features(ask(client, garden))
    assert features(ask(client, "way[leisure=playground][!name];node(area);out;"))
    found = features(ask(client, "node[amenity=cafe];is_in;way._[building];out;", limit=100))
    assert all("building" in feature["properties"] for feature in found)
    assert found


def test_8_the_trap_of_a_union_after_an_area_is_told(client: LocalClient) -> None:
    answer = ask(client, 'area[name="Monaco"];(way[highway](area);node[shop](area););out;')
    assert "name it" in answer.headers["x-query-warning"]
    assert "line 1, column 41" in answer.headers["x-query-warning"]


def test_9_areas_in_areas(client: LocalClient) -> None:
    query = (
        'area["name"="Monaco"][admin_level=2]->.c;rel(area.c)[boundary=administrative]'
        "[admin_level=10];out;foreach(map_to_area->.q;node(area.q)[amenity];out count;);"
    )
    body = ask(client, query).json()
    assert len(body["features"]) == len(body["count"]) == 9


def test_10_border_ways_are_not_inside(client: LocalClient) -> None:
    border = "rel[admin_level=10][name=Larvotto];way(r);out ids;"
    ids = {feature["id"] for feature in features(ask(client, border, limit=100))}
    inside = "area[admin_level=10][name=Larvotto]->.a;way[!highway](area.a);out ids;"
    found = {feature["id"] for feature in features(ask(client, inside, format="geojson"))}
    assert ids
    assert not ids & found


def test_11_relations_of_relations_have_place_and_geometry(client: LocalClient) -> None:
    masters = "rel[type=route_master];out center;"
    with_center = features(ask(client, masters, limit=50))
    assert with_center
    assert {feature["geometry"]["type"] for feature in with_center} == {"Point"}
    whole = features(ask(client, "rel[type=route_master];out geom;", limit=50))
    assert {feature["geometry"]["type"] for feature in whole} <= {"MultiLineString", "MultiPoint"}
    # They lie where their own nodes and ways do, as in the original: nowhere.
    assert not features(ask(client, f"rel[type=route_master]({BOX});out ids;", limit=50))
    found = features(ask(client, f"rel[type=route]({BOX});rel(br);out ids;", limit=50))
    assert found


def test_13_pages_are_stable_in_place_order(client: LocalClient) -> None:
    query = f"nwr[shop]({BOX});out qt;"
    first = features(ask(client, query, limit=15))
    again = features(ask(client, query, limit=7)) + features(
        ask(client, query, limit=8, cursor=ask(client, query, limit=7).headers["x-next-cursor"])
    )
    assert first == again


def test_14_patterns_as_users_write_them(client: LocalClient) -> None:
    assert features(ask(client, '[out:json];nwr[~"^name"~"monaco",i];out;'))
    assert features(ask(client, 'nwr["name"~"[éÉ]"];out;'))
    assert features(ask(client, r'nwr["addr:housenumber"~"^\d+$"];out;'))
    details = error(ask(client, 'node["name"~"("];out;'), 400, "invalid_query")["details"]
    assert details["column"] == 13


@given(
    st.lists(
        st.sampled_from(
            ["node", "way", "rel", "nwr", "area", "[name]", "[shop]", f"({BOX})", "(w)", "(r)",
             "(bn)", "(around:50)", "(area)", "(if:id()>0)", ";", "(", ")", "->.a", ".a", ">", "<",
             ">>", "is_in", "map_to_area", "foreach{", "}", "out", "count", "geom", "3", "make x",
             "a=count(nodes)", "convert y ::=::", "complete{", "(pivot)", "(<)", "-", "out;"]
        ),
        max_size=14,
    ).map(" ".join)
)  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_no_sequence_of_statements_is_a_server_error(client: LocalClient, query: str) -> None:
    answer = ask(client, query + " ;out;", limit=2)
    assert answer.status_code in (200, 400, 413, 422), query


def test_names_are_looked_up_by_the_geocoder(monaco: Path) -> None:
    with LocalClient(Settings(data=monaco)) as client:
        # Spelled as the geocoder reads it, not as the element is named.
        found = features(ask(client, "{{geocodeArea:monte carlo}}->.a;rel(pivot.a);out ids;"))
        assert [feature["id"] for feature in found] == ["relation/5986438"]
        near = ask(client, "node(around:300,{{geocodeCoords:Casino de Monte-Carlo}})[shop];out;")
        assert len(features(near)) > 3


# ---- what else clients of the original ask


@pytest.mark.parametrize("kind", ["text/plain", "application/octet-stream", "", "text/xml"])
def test_a_form_of_any_type_is_read(client: LocalClient, kind: str) -> None:
    body = "data=%5Bout%3Ajson%5D%3Bnode[amenity=cafe](43.73,7.41,43.75,7.43);out ids 2;"
    answer = client.post("/api/interpreter", content=body, headers={"Content-Type": kind})
    assert answer.status_code == 200, answer.text
    assert len(answer.json()["elements"]) == 2


def test_a_multipart_form_is_read(client: LocalClient) -> None:
    query = "[out:json];node[amenity=cafe]({{bbox}});out ids 2;"
    fields = {"data": (None, query), "bbox": (None, "7.41,43.73,7.43,43.75")}
    answer = client.post("/api/interpreter", files=fields)
    assert len(answer.json()["elements"]) == 2
    for body in (b"--x\r\nno", b""):
        kind = {"Content-Type": "multipart/form-data; boundary=x"}
        answer = client.post("/api/interpreter", content=body, headers={**kind, **AS_JSON})
        error(answer, 400, "invalid_request")


def test_late_answers_have_the_status_that_clients_of_the_original_know(
    client: LocalClient,
) -> None:
    query = "[timeout:0.001];nwr(43.7,7.3,43.8,7.5);(._;>>;<<;);out geom;"
    error(client.get("/api/interpreter", params={"data": query}, headers=AS_JSON), 504, "timeout")
    error(ask(client, query), 408, "timeout")
    page = client.get("/api/interpreter", params={"data": query})
    assert page.status_code == 504
    assert "runtime error: Query timed out" in page.text


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"data": "[out:json];\nnode[;out;"}, "line 2: parse error: "),
        ({"data": "node(if:<b>);out;"}, "line 1: parse error: "),
        ({}, "data: is required"),
        ({"data": "node(bbox);out;", "bbox": "1,2"}, "bbox: is four numbers"),
        ({"data": "node(1);out;", "jsonp": "alert(1)"}, "jsonp: must match"),
    ],
)
def test_errors_are_pages_as_in_the_original(
    client: LocalClient, params: dict[str, str], text: str
) -> None:
    answer = client.get("/overpass/api/interpreter", params=params)
    assert (answer.status_code, answer.headers["content-type"]) == (400, "text/html; charset=utf-8")
    (found,) = re.findall(r"<p><strong style=[^>]*>Error</strong>: (.*?) </p>", answer.text, re.S)
    assert text in found
    assert "<b>" not in found


def test_a_busy_server_says_so_as_the_original() -> None:
    for error_, status, text in (
        (Overloaded("many wait"), 504, "request_read_and_idx::timeout. The server is probably"),
        (MapyardError("too many", status=429, code="rate_limited"), 429, "::rate_limited. Please"),
    ):
        answer = write_error(error_, Asked(b"", {}))
        assert answer.status == status
        assert isinstance(answer.body, bytes)
        assert text in answer.body.decode()


def test_json_comes_as_a_script_where_it_is_asked_for(client: LocalClient) -> None:
    params = {"data": "[out:json];node[amenity=cafe](43.73,7.41,43.75,7.43);out ids 2;"}
    plain = client.get("/api/interpreter", params=params)
    script = client.get("/api/interpreter", params={**params, "jsonp": "show.it"})
    assert script.headers["content-type"] == "application/javascript; charset=utf-8"
    assert script.text.startswith("show.it({")
    inner = json.loads(script.text.removeprefix("show.it(").removesuffix(");"))
    assert inner["elements"] == plain.json()["elements"]
    xml = client.get("/api/interpreter", params={"data": "node(1);out;", "jsonp": "f"})
    assert xml.headers["content-type"] == "application/osm3s+xml"


def test_the_map_call(client: LocalClient) -> None:
    answer = client.get("/api/map", params={"bbox": "7.419,43.731,7.421,43.732"})
    assert answer.status_code == 200
    root = ElementTree.fromstring(answer.text)
    nodes = {
        n.get("id"): (float(n.get("lat", 0)), float(n.get("lon", 0))) for n in root.iter("node")
    }
    ways = {way.get("id"): [nd.get("ref") for nd in way.iter("nd")] for way in root.iter("way")}
    inside = {i for i, (y, x) in nodes.items() if 43.731 <= y <= 43.732 and 7.419 <= x <= 7.421}
    assert len(inside) > 20
    assert ways
    # Some nodes of ways lie outside of the extract.
    assert set(nodes) <= {ref for refs in ways.values() for ref in refs} | inside
    assert len(set(nodes) - inside) > 50
    assert all(inside.intersection(refs) for refs in ways.values())
    members = {
        (m.get("type"), m.get("ref")) for r in root.iter("relation") for m in r.iter("member")
    }
    assert members & {("way", way) for way in ways}
    assert root.find("node").get("version")  # type: ignore[union-attr] # there are nodes
    for bad in ("7.4,43.7,7.5", "a,b,c,d", "7.419,43.74,7.421,43.73", "200,1,201,2"):
        answer = client.get("/api/map", params={"bbox": bad}, headers=AS_JSON)
        error(answer, 400, "invalid_request")


def test_queries_come_in_other_forms(client: LocalClient) -> None:
    query = "node[amenity=cafe](43.73,7.41,43.75,7.43)->.a;.a out ids;"
    forms = {
        target: client.get("/api/convert", params={"data": query, "target": target}).text
        for target in ("xml", "mapql", "compact")
    }
    assert '<has-kv k="amenity" v="cafe"/>' in forms["xml"]
    assert "\n" not in forms["compact"]
    expected = client.post("/api/interpreter", content="[out:json];" + query).json()["elements"]
    assert expected
    for text in forms.values():
        answer = client.post("/api/interpreter", content=text)
        assert answer.text.count("<node") == len(expected)
        compact = client.post("/api/convert", data={"data": text, "target": "compact"}).text
        assert compact == forms["compact"]
    refused = client.get("/api/convert", params={"data": "make x a=1;out;", "target": "xml"})
    assert error(refused, 422, "validation_failed")["details"]["column"] == 1
    error(client.get("/api/convert", params={"data": "node[;"}), 400, "invalid_query")


def test_a_query_is_explained(client: LocalClient) -> None:
    plan = ask(client, CAFES, explain=True).json()
    assert plan["language"] == "overpass"
    (query, out) = plan["steps"]
    assert query["step"] == "query"
    assert query["rows"] == out["rows"] == plan["rows"] > 0
    assert query["steps"][0]["estimated_rows"] is not None
    by_get = client.get("/api/v1/overpass", params={"data": CAFES, "explain": 1}).json()
    assert by_get["rows"] == plan["rows"]
    error(ask(client, "node[;", explain=True), 400, "invalid_query")
