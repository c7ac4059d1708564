"""Every member that other services document, in the answers of a running server to real data.

The schemas are written from the originals' documentation (form_schemas.py). A member that is due
only where it is asked for is in one of the answers; one that is not given is on the form's page in
docs/switch with the reason.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import pytest

import form_schemas as schemas
from members import NOT_GIVEN, WHERE_DUE, check, list_members
from osm_files import EXAMPLES, ROOT
from servers import Server, copy_data, running

CASINO, PALACE, PORT = [7.4281, 43.7392], [7.4203, 43.7312], [7.4235, 43.7350]
TRACE = [[7.4246, 43.7384], [7.4250, 43.7390], [7.4255, 43.7396]]
GPX = "<gpx><trk><trkseg>{}</trkseg></trk></gpx>".format(
    "".join(f'<trkpt lat="{lat}" lon="{lon}"/>' for lon, lat in TRACE)
)


@pytest.fixture(scope="module")
def server(monaco: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("members")
    data = copy_data(monaco, folder / "data")
    (data / "elevation").mkdir(exist_ok=True)
    shutil.copy(EXAMPLES / "N43E007.hgt.zip", data / "elevation")
    with running(data, folder / "serve.log") as started:
        yield started


class Asked(NamedTuple):
    """Questions whose answers have one schema."""

    #: Page in docs/switch.
    form: str
    schema: Any
    #: Path and query, with the body of a POST: JSON, or GPX.
    questions: tuple[tuple[str, Any], ...]


def nominatim(call: str, form: str, **params: Any) -> tuple[str, Any]:
    return f"/nominatim/{call}", {"format": form, **params}


def valhalla(call: str, /, **request: Any) -> tuple[str, Any]:
    return f"/valhalla/{call}", {"json": json.dumps(request)}


def place(at: list[float], **more: Any) -> dict[str, Any]:
    return {"lon": at[0], "lat": at[1], **more}


ALL_DETAILS = {"addressdetails": 1, "extratags": 1, "namedetails": 1}
ENDS = [place(CASINO), place(PALACE)]
BOTH = {"coordinates": [CASINO, PALACE]}
POINTS = ["43.7392,7.4281", "43.7312,7.4203"]
LINES = [place(at) for at in TRACE]
MATCHED: dict[str, Any] = {"shape": LINES, "shape_match": "map_snap"}

ANSWERS = {
    "nominatim json": Asked("nominatim", [schemas.NOMINATIM_JSON], (
        nominatim("search", "json", q="Rue Grimaldi 5", **ALL_DETAILS),
        *(nominatim("search", "json", q="Monte-Carlo", **{f"polygon_{kind}": 1})
          for kind in ("geojson", "svg", "text", "kml")),
        nominatim("lookup", "json", osm_ids="R2220322,W94399747,N1079750744"),
    )),
    "nominatim jsonv2": Asked("nominatim", [schemas.NOMINATIM_JSONV2], (
        nominatim("search", "jsonv2", q="Casino", **ALL_DETAILS),
        *(nominatim("search", "jsonv2", q="Monte-Carlo", **{f"polygon_{kind}": 1})
          for kind in ("geojson", "svg", "text", "kml")),
    )),
    "nominatim reverse": Asked("nominatim", schemas.NOMINATIM_JSONV2, (
        nominatim("reverse", "jsonv2", lat=43.7384, lon=7.4246, zoom=10, **ALL_DETAILS),
        *(nominatim("reverse", "jsonv2", lat=43.7384, lon=7.4246, **{f"polygon_{kind}": 1})
          for kind in ("geojson", "svg", "text", "kml")),
    )),
    "nominatim geojson": Asked("nominatim", schemas.NOMINATIM_GEOJSON, (
        nominatim("search", "geojson", q="Monte-Carlo", polygon_geojson=1, **ALL_DETAILS),
        nominatim("reverse", "geojson", lat=43.7384, lon=7.4246),
    )),
    "nominatim geocodejson": Asked("nominatim", schemas.NOMINATIM_GEOCODEJSON, (
        nominatim("search", "geocodejson", q="Rue Grimaldi", **ALL_DETAILS),
        nominatim("search", "geocodejson", q="25 Rue Grimaldi", **ALL_DETAILS),
        nominatim("reverse", "geocodejson", lat=43.7384, lon=7.4246, **ALL_DETAILS),
    )),
    "nominatim details": Asked("nominatim", schemas.NOMINATIM_DETAILS, (
        ("/nominatim/details", {"osmtype": "W", "osmid": 94399747, "addressdetails": 1}),
        ("/nominatim/details.php", {
            "osmtype": "R", "osmid": 2220322, "format": "json", "polygon_geojson": 1,
        }),
        ("/nominatim/details", {"place_id": 2220322 << 2 | 2}),
    )),
    "nominatim status": Asked("nominatim", schemas.NOMINATIM_STATE, (
        nominatim("status", "json"),
    )),
    "photon": Asked("photon", schemas.PHOTON, (
        ("/photon/api", {"q": "rue grim"}),
        ("/photon/api", {"q": "25 Rue Grimaldi"}),
        ("/photon/api", {"q": "Casino de Monte-Carlo"}),
        ("/photon/structured", {"city": "Monaco", "street": "Rue Grimaldi"}),
        ("/photon/reverse", {"lat": 43.7384, "lon": 7.4246, "limit": 10}),
    )),
    "pelias": Asked("pelias", schemas.PELIAS, (
        ("/pelias/v1/search", {"text": "25 Rue Grimaldi, Monaco"}),
        ("/pelias/v1/search/structured", {"address": "Rue Grimaldi", "locality": "Monaco"}),
        ("/pelias/v1/autocomplete", {"text": "monte"}),
        ("/pelias/v1/reverse", {"point.lat": 43.7384, "point.lon": 7.4246}),
        ("/pelias/v1/place", {"ids": "openstreetmap:locality:relation/2220322"}),
        ("/ors/geocode/search", {"text": "Rue Grimaldi"}),
    )),
    "valhalla trip": Asked("valhalla", schemas.VALHALLA_TRIP, (
        valhalla("route", locations=[
            place(CASINO), place(PORT, waiting=60, name="Port", city="Monaco"), place(PALACE),
        ], costing="auto", id="a", turn_lanes=True, admin_crossings=True,
            date_time={"type": 1, "value": "2026-11-28T08:00"}),
        valhalla("route", locations=ENDS, costing="pedestrian", alternates=2,
                 linear_references=True, elevation_interval=30),
        valhalla("route", locations=ENDS, costing="bicycle", directions_type="none"),
        valhalla("optimized_route", locations=[*ENDS, place(PORT)], costing="auto"),
        valhalla("trace_route", costing="auto", **MATCHED),
    )),
    "valhalla matrix": Asked("valhalla", schemas.VALHALLA_MATRIX, (
        valhalla("sources_to_targets", sources=ENDS, targets=ENDS, costing="auto", id="a"),
        valhalla("sources_to_targets", sources=ENDS, targets=ENDS, costing="bicycle",
                 costing_options={"bicycle": {"use_hills": 0.1}}),
    )),
    "valhalla concise matrix": Asked("valhalla", schemas.VALHALLA_CONCISE_MATRIX, (
        valhalla("sources_to_targets", sources=ENDS, targets=ENDS, costing="auto", verbose=False,
                 id="a"),
    )),
    "valhalla isochrone": Asked("valhalla", schemas.VALHALLA_ISOCHRONE, (
        valhalla("isochrone", locations=[place(CASINO)], costing="pedestrian", id="a",
                 contours=[{"time": 5, "color": "ff0000"}, {"distance": 1}], polygons=True,
                 show_locations=True),
    )),
    "valhalla locate": Asked("valhalla", schemas.VALHALLA_LOCATE, (
        valhalla("locate", locations=ENDS, costing="auto"),
    )),
    "valhalla verbose locate": Asked("valhalla", schemas.VALHALLA_VERBOSE_LOCATE, (
        valhalla("locate", locations=[
            *ENDS, place([7.424456, 43.738318], node_snap_tolerance=100, radius=100),
        ], costing="auto", verbose=True),
    )),
    "valhalla trace": Asked("valhalla", schemas.VALHALLA_TRACE, (
        *(valhalla("trace_attributes", costing=costing, id="a", **MATCHED)
          for costing in ("auto", "pedestrian", "bicycle")),
        valhalla("trace_attributes", costing="auto", elevation_interval=30, **MATCHED),
    )),
    "valhalla shape": Asked("valhalla", schemas.VALHALLA_SHAPE, (
        valhalla("trace_attributes", costing="auto", filters={"action": "include", "attributes": [
            f"shape_attributes.{name}" for name in ("time", "length", "speed")
        ]}, **MATCHED),
    )),
    "valhalla height": Asked("valhalla", schemas.VALHALLA_HEIGHT, (
        valhalla("height", shape=ENDS, id="a"),
        valhalla("height", encoded_polyline="_cslrAg_kdM~rNnfN", range=True),
    )),
    "valhalla status": Asked("valhalla", schemas.VALHALLA_STATUS, (
        valhalla("status"), valhalla("status", verbose=True),
    )),
    "valhalla expansion": Asked("valhalla", schemas.VALHALLA_EXPANSION, (
        valhalla("expansion", action="isochrone", locations=[place(CASINO)], costing="pedestrian",
                 contours=[{"time": 2}], expansion_properties=[
                     "distance", "duration", "cost", "edge_id", "pred_edge_id", "edge_status",
                     "expansion_type",
                 ]),
        valhalla("expansion", action="route", locations=ENDS, costing="auto"),
    )),
    "openrouteservice json": Asked("openrouteservice", schemas.ORS_JSON, (
        ("/ors/v2/directions/driving-car", {
            **BOTH, "id": "a", "elevation": True, "maneuvers": True,
            "attributes": ["avgspeed", "detourfactor", "percentage"],
            "extra_info": ["surface", "waytype", "steepness", "traildifficulty"],
        }),
        ("/ors/v2/directions/foot-walking/json", {**BOTH, "geometry": False}),
    )),
    "openrouteservice geojson": Asked("openrouteservice", schemas.ORS_GEOJSON, (
        ("/ors/v2/directions/driving-car/geojson", {
            **BOTH, "id": "a", "elevation": True, "maneuvers": True,
            "attributes": ["avgspeed", "detourfactor", "percentage"],
            "extra_info": ["surface", "waytype", "steepness", "traildifficulty"],
        }),
    )),
    "openrouteservice matrix": Asked("openrouteservice", schemas.ORS_MATRIX, (
        ("/ors/v2/matrix/driving-car", {
            "locations": [CASINO, PALACE], "metrics": ["duration", "distance"], "id": "a",
            "resolve_locations": True,
        }),
    )),
    "openrouteservice isochrones": Asked("openrouteservice", schemas.ORS_ISOCHRONES, (
        ("/ors/v2/isochrones/foot-walking", {
            "locations": [CASINO, PORT], "range": [600], "attributes": ["area"], "id": "a",
        }),
    )),
    "openrouteservice snap": Asked("openrouteservice", schemas.ORS_SNAP, (
        ("/ors/v2/snap/driving-car", {"locations": [CASINO, PALACE], "radius": 300}),
    )),
    "openrouteservice snap geojson": Asked("openrouteservice", schemas.ORS_SNAP_GEOJSON, (
        ("/ors/v2/snap/driving-car/geojson", {"locations": [CASINO, PALACE], "radius": 300}),
    )),
    "openrouteservice optimization": Asked("openrouteservice", schemas.ORS_OPTIMIZATION, (
        ("/ors/optimization", {
            "jobs": [
                {"id": 1, "service": 300, "location": CASINO, "delivery": [1]},
                {"id": 2, "location": PORT, "pickup": [9]},
            ],
            "vehicles": [
                {"id": 1, "profile": "driving-car", "start": PALACE, "end": PALACE, "capacity": [4]}
            ],
            "options": {"g": True},
        }),
    )),
    "graphhopper route": Asked("graphhopper", schemas.GRAPHHOPPER_ROUTE, (
        ("/graphhopper/route", {
            "points": [CASINO, PORT, PALACE], "profile": "car", "elevation": True, "optimize": True,
            "details": ["street_name", "max_speed"],
        }),
        ("/graphhopper/route", {
            "points": [CASINO, PALACE], "profile": "foot", "points_encoded": False,
        }),
    )),
    "graphhopper match": Asked("graphhopper", schemas.GRAPHHOPPER_MATCH, (
        ("/graphhopper/match?profile=car&elevation=true&details=street_name", GPX),
    )),
    "graphhopper isochrone": Asked("graphhopper", schemas.GRAPHHOPPER_ISOCHRONE, (
        ("/graphhopper/isochrone", {
            "point": POINTS[0], "time_limit": 300, "buckets": 2, "profile": "foot",
        }),
    )),
    "graphhopper isochrone geojson": Asked(
        "graphhopper", schemas.GRAPHHOPPER_ISOCHRONE_GEOJSON, (
            ("/graphhopper/isochrone", {
                "point": POINTS[0], "time_limit": 300, "profile": "foot", "type": "geojson",
            }),
        ),
    ),
    "graphhopper matrix": Asked("graphhopper", schemas.GRAPHHOPPER_MATRIX, (
        ("/graphhopper/matrix", {
            "points": [CASINO, PALACE], "profile": "car", "fail_fast": False,
            "out_arrays": ["distances", "times", "weights"],
        }),
    )),
    "graphhopper geocode": Asked("graphhopper", schemas.GRAPHHOPPER_GEOCODE, (
        ("/graphhopper/geocode", {"q": "25 Rue Grimaldi"}),
        ("/graphhopper/geocode", {"q": "Casino"}),
    )),
    "graphhopper info": Asked("graphhopper", schemas.GRAPHHOPPER_INFO, (
        ("/graphhopper/info", {}),
    )),
    "graphhopper nearest": Asked("graphhopper", schemas.GRAPHHOPPER_NEAREST, (
        ("/graphhopper/nearest", {"point": POINTS[0]}),
    )),
}  # fmt: skip
#: Calls by POST; all else goes into the query.
POSTED = ("/ors/v2/", "/ors/optimization", "/graphhopper/route", "/graphhopper/matrix")


def ask(server: Server, path: str, params: Any) -> Any:
    if isinstance(params, str):
        headers = {"Content-Type": "application/gpx+xml", "X-API-Key": server.key}
        answer = server.post(path, content=params, headers=headers)
    elif path.startswith(POSTED):
        answer = server.post(path, json=params)
    else:
        answer = server.get(path, params=params)
    assert answer.status_code == 200, (path, answer.text)
    return answer.json()


@pytest.mark.parametrize("name", ANSWERS)
def test_every_documented_member_is_there(server: Server, name: str) -> None:
    asked = ANSWERS[name]
    seen: set[str] = set()
    for path, params in asked.questions:
        check(ask(server, path, params), asked.schema, seen=seen)
    assert sorted(set(list_members(asked.schema, WHERE_DUE)) - seen) == []


def test_xml_has_every_documented_attribute(server: Server) -> None:
    search = {"q": "Rue Grimaldi", "format": "xml", **ALL_DETAILS, "limit": 2}
    there = {"lat": 43.7384, "lon": 7.4246, "zoom": 10, "format": "xml", **ALL_DETAILS}
    found = ET.fromstring(server.get("/nominatim/search", params=search).text)
    around = ET.fromstring(server.get("/nominatim/reverse", params=there).text)
    elements = [found, *found.findall("place"), around, *around.findall("result")]
    assert {element.tag for element in elements} == set(schemas.NOMINATIM_XML)
    for element in elements:
        check(dict(element.attrib), schemas.NOMINATIM_XML[element.tag], element.tag)
    # Further parts stand in a place of a list, and beside the result of a reverse search.
    assert {"road", "country_code", "extratags", "namedetails"} <= {e.tag for e in found[0]}
    assert [e.tag for e in around] == ["result", "addressparts", "extratags", "namedetails"]
    more = found.get("more_url") or ""
    others = ET.fromstring(server.get(more[more.index("/nominatim") :]).text)
    ids = {place.get("osm_id") for place in found}
    assert not ids & {place.get("osm_id") for place in others}


PAGES = ("nominatim", "photon", "pelias", "valhalla", "openrouteservice", "graphhopper")


@pytest.mark.parametrize("page", PAGES)
def test_what_is_not_given_is_on_the_page(page: str) -> None:
    """The section names each of these members, and no other."""
    kinds = [asked.schema for asked in ANSWERS.values() if asked.form == page]
    if page == "nominatim":
        kinds.append(schemas.NOMINATIM_XML)
    left_out = {path.rpartition(".")[2] for kind in kinds for path in list_members(kind, NOT_GIVEN)}
    text = (ROOT / "docs" / "switch" / f"{page}.md").read_text()
    section = text.partition("## Members that are not given\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])}
    assert named == left_out
    assert all(len(row.split("|")[2].strip()) > 10 for row in rows)


def test_a_way_may_have_two_hundred_points(server: Server) -> None:
    """In each form, and legs add up to what the same places are apart in a matrix."""
    points = [CASINO, PORT, PALACE, PORT] * 50
    texts = ";".join(f"{lon},{lat}" for lon, lat in points)
    osrm = server.get(f"/osrm/route/v1/driving/{texts}").json()["routes"][0]
    _, params = valhalla("route", locations=[place(at) for at in points], costing="auto")
    trip = server.get("/valhalla/route", params=params).json()["trip"]
    ors = ask(server, "/ors/v2/directions/driving-car", {"coordinates": points})["routes"][0]
    body = {"points": points, "profile": "car", "instructions": False}
    path = ask(server, "/graphhopper/route", body)["paths"][0]
    assert len(osrm["legs"]) == len(trip["legs"]) == len(ors["segments"]) == 199
    lengths_m = [
        osrm["distance"], trip["summary"]["length"] * 1_000, ors["summary"]["distance"],
        path["distance"],
    ]  # fmt: skip
    assert lengths_m == pytest.approx([lengths_m[0]] * 4, rel=0.01)
    body = {"locations": points[:3], "metrics": ["distance"]}
    cells = ask(server, "/ors/v2/matrix/driving-car", body)["distances"]
    there = [cells[0][1], cells[1][2], cells[2][1], cells[1][0]]
    assert lengths_m[0] == pytest.approx(sum(there) * 50 - cells[1][0], rel=0.02)
