"""Clients of other geocoders, unchanged, against this server: geopy for Nominatim and Photon."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import httpx
import pytest
from geopy.adapters import URLLibAdapter
from geopy.exc import GeocoderAuthenticationFailure, GeocoderServiceError
from geopy.geocoders import Nominatim, Pelias, Photon

from osm_files import EXAMPLES
from servers import Server, copy_data, free_port, running

#: A street of Monaco, where it lies, and a building in it.
STREET = "Rue Grimaldi"
AT = (43.7384, 7.4246)


@pytest.fixture(scope="module")
def server(
    build_once: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    built = build_once("monaco-text", EXAMPLES / "monaco.osm.pbf", ["text"])
    folder = tmp_path_factory.mktemp("forms")
    with running(copy_data(built, folder / "data"), folder / "serve.log") as started:
        yield started


@pytest.fixture
def nominatim(server: Server) -> Nominatim:
    """The client as it comes, with the key in the address: it has no place for one."""
    return Nominatim(
        user_agent="tests", scheme="http", adapter_factory=URLLibAdapter, timeout=20,
        domain=f"127.0.0.1:{server.port}/key/{server.key}/nominatim",
    )  # fmt: skip


@pytest.fixture
def photon(server: Server) -> Photon:
    return Photon(
        user_agent="tests", scheme="http", adapter_factory=URLLibAdapter, timeout=20,
        domain=f"127.0.0.1:{server.port}/key/{server.key}/photon",
    )  # fmt: skip


@pytest.fixture
def pelias(server: Server) -> Pelias:
    return Pelias(
        user_agent="tests", scheme="http", adapter_factory=URLLibAdapter, timeout=20,
        domain=f"127.0.0.1:{server.port}/pelias", api_key=server.key,
    )  # fmt: skip


def ask(server: Server, path: str, **params: Any) -> httpx.Response:
    return server.get(path, params=params)


def test_geopy_nominatim_forward(nominatim: Nominatim) -> None:
    found = nominatim.geocode(f"{STREET}, Monaco", addressdetails=True, namedetails=True)
    assert found.address.startswith(STREET)
    assert found.latitude == pytest.approx(43.735, abs=0.01)
    assert found.longitude == pytest.approx(7.421, abs=0.01)
    assert found.raw["address"]["road"] == STREET
    assert found.raw["address"]["country_code"] == "mc"
    assert found.raw["namedetails"]["name"] == STREET
    several = nominatim.geocode("Monte-Carlo", exactly_one=False, limit=5)
    assert len(several) >= 2
    assert len({place.raw["place_id"] for place in several}) == len(several)
    assert nominatim.geocode("xqzzv wkkw") is None


def test_geopy_nominatim_takes_parts_boxes_and_countries(nominatim: Nominatim) -> None:
    parts = nominatim.geocode({"street": STREET, "city": "Monaco"})
    assert parts.raw["addresstype"] == "road"
    assert nominatim.geocode(STREET, country_codes=["fr"]) is None
    far = [(43.0, 7.0), (43.1, 7.1)]
    assert nominatim.geocode(STREET, viewbox=far, bounded=True) is None
    assert nominatim.geocode(STREET, viewbox=far).address.startswith(STREET)
    area = nominatim.geocode("Monte-Carlo", featuretype="settlement", geometry="geojson")
    assert area.raw["geojson"]["type"] in ("Polygon", "MultiPolygon")


def test_geopy_nominatim_reverse(nominatim: Nominatim) -> None:
    house = nominatim.reverse(AT)
    assert "Monaco" in house.address
    assert house.raw["address"]["country"] == "Monaco"
    city = nominatim.reverse(AT, zoom=10)
    assert (city.raw["osm_type"], city.raw["osm_id"]) == ("relation", 2220322)
    assert nominatim.reverse(AT, language="ru", zoom=10).raw["name"] == "Монако"
    assert nominatim.reverse((0.0, 0.0)) is None


def test_geopy_says_that_the_key_is_missing(server: Server) -> None:
    client = Nominatim(
        user_agent="tests", scheme="http", domain=f"127.0.0.1:{server.port}/nominatim",
        adapter_factory=URLLibAdapter, timeout=20,
    )  # fmt: skip
    with pytest.raises((GeocoderAuthenticationFailure, GeocoderServiceError)):
        client.geocode(STREET)


def test_geopy_photon(photon: Photon) -> None:
    found = photon.geocode("rue grima", limit=3, exactly_one=False)
    assert found[0].raw["properties"]["name"] == STREET
    assert found[0].raw["properties"]["countrycode"] == "MC"
    assert (
        photon.geocode("Monte-Carlo", osm_tag="place:suburb").raw["properties"]["osm_type"] == "R"
    )
    assert photon.geocode("Monte-Carlo", osm_tag="!place") is not None
    there = photon.reverse(AT)
    assert "Monaco" in there.address
    near = photon.geocode("cafe", location_bias=AT, limit=1)
    assert near is not None


@pytest.mark.parametrize("form", ["json", "jsonv2", "geojson", "geocodejson", "xml"])
def test_the_five_forms_say_the_same(server: Server, form: str) -> None:
    options = {"addressdetails": 1, "extratags": 1, "namedetails": 1, "limit": 1, "format": form}
    answer = ask(server, "/nominatim/search", q="Monte-Carlo", polygon_geojson=1, **options)
    assert answer.status_code == 200, answer.text
    if form == "xml":
        root = ET.fromstring(answer.text)
        assert root.tag == "searchresults"
        place = root.find("place")
        assert place is not None
        assert place.get("osm_id") == "5986438"
        assert place.findtext("country_code") == "mc"
        assert json.loads(place.get("geojson") or "")["type"] == "Polygon"
        assert len((place.get("boundingbox") or "").split(",")) == 4
        return
    body = answer.json()
    if form in ("json", "jsonv2"):
        (place,) = body
        assert place["osm_id"] == 5986438
        assert place["category" if form == "jsonv2" else "class"] == "boundary"
        south, north, west, east = map(float, place["boundingbox"])
        assert south < float(place["lat"]) < north
        assert west < float(place["lon"]) < east
        assert place["namedetails"]["name:mk"] == "Монте Карло"
        assert place["extratags"]["wikidata"] == "Q45240"
        assert place["licence"].startswith("Data © OpenStreetMap")
    else:
        (feature,) = body["features"]
        assert feature["geometry"]["type"] == "Polygon"
        inner = feature["properties"]
        inner = inner["geocoding"] if form == "geocodejson" else inner
        assert inner["osm_id"] == 5986438
        assert inner["name"] == "Monte-Carlo"


def test_reverse_defaults_to_xml_and_lookup_finds_elements(server: Server) -> None:
    root = ET.fromstring(ask(server, "/nominatim/reverse", lat=AT[0], lon=AT[1]).text)
    assert root.tag == "reversegeocode"
    assert root.findtext("addressparts/country_code") == "mc"
    nothing = ET.fromstring(ask(server, "/nominatim/reverse", lat=0, lon=0).text)
    assert nothing.findtext("error") == "Unable to geocode"
    found = ask(
        server, "/nominatim/lookup", osm_ids="R2220322,W94399747,N1", format="json"
    ).json()  # fmt: skip
    assert [(place["osm_type"], place["osm_id"]) for place in found] == [
        ("relation", 2220322), ("way", 94399747),
    ]  # fmt: skip
    assert found[1]["address"]["house_number"] == "25"


def test_photon_finds_what_has_a_tag_wherever_it_is(server: Server) -> None:
    """The filter is part of the search, not of its first results."""
    at = {"lat": AT[0], "lon": AT[1], "radius": 5}

    def find(call: str, **params: Any) -> list[tuple[str, str]]:
        answer = ask(server, f"/photon/{call}", **params)
        assert answer.status_code == 200, answer.text
        found = [feature["properties"] for feature in answer.json()["features"]]
        return [(one["osm_key"], one["osm_value"]) for one in found]

    pharmacies = find("reverse", osm_tag="amenity:pharmacy", limit=5, **at)
    assert pharmacies == [("amenity", "pharmacy")] * 5
    assert find("reverse", include="osm.amenity.pharmacy", limit=5, **at) == pharmacies
    either = find("reverse", include="osm.amenity.bar,osm.amenity.cafe", limit=5, **at)
    assert set(either) <= {("amenity", "bar"), ("amenity", "cafe")}
    named = find("api", q="monaco", osm_tag="tourism:hotel", limit=5)
    assert named
    assert set(named) == {("tourism", "hotel")}
    others = find("api", q="monte-carlo", exclude="osm.place", limit=10)
    assert others
    assert "place" not in {key for key, _ in others}
    for wrong in ({"include": "osm"}, {"exclude": "osm..x"}):
        params: dict[str, Any] = {"q": "a", **wrong}
        assert ask(server, "/photon/api", **params).status_code == 400


def test_excluded_places_do_not_come_again(server: Server) -> None:
    first = ask(server, "/nominatim/search", q="Monte-Carlo", limit=2).json()
    ids = ",".join(str(place["place_id"]) for place in first)
    others = ask(
        server, "/nominatim/search", q="Monte-Carlo", limit=2, exclude_place_ids=ids
    ).json()  # fmt: skip
    assert not {place["place_id"] for place in first} & {place["place_id"] for place in others}


def test_errors_are_in_the_form_s_words(server: Server) -> None:
    both = ask(server, "/nominatim/search", q="a", city="b")
    assert both.status_code == 400
    assert both.json()["error"]["code"] == 400
    assert "not both" in both.json()["error"]["message"]
    xml = ask(server, "/nominatim/search", format="xml")
    assert ET.fromstring(xml.text).findtext("code") == "400"
    unknown = ask(server, "/photon/api", q="a", nonsense="1")
    assert unknown.status_code == 400
    assert unknown.json() == {"message": "unknown query parameter 'nonsense'; leave it out"}
    callback = ask(server, "/nominatim/search", q=STREET, json_callback="go")
    assert callback.text.startswith("go([{")
    assert callback.headers["content-type"].startswith("application/javascript")


def test_states(server: Server) -> None:
    bare = httpx.get(f"{server.address}/nominatim/status")
    assert bare.text == "OK"
    state = httpx.get(f"{server.address}/nominatim/status", params={"format": "json"}).json()
    assert state["data_updated"] == "2026-04-06T20:21:15+00:00"
    assert httpx.get(f"{server.address}/photon/status").json()["status"] == "Ok"


def test_a_key_in_the_path_is_never_logged(server: Server) -> None:
    secret = f"{server.address}/key/{server.key}/nominatim/search"
    assert httpx.get(secret, params={"q": STREET}, timeout=20).status_code == 200
    wrong = httpx.get(f"{server.address}/key/pk_live_wrong/nominatim/search?q=a", timeout=20)
    assert wrong.status_code == 401
    assert wrong.json()["error"]["code"] == 401
    log = server.log.with_suffix(".access")
    assert server.key not in log.read_text()
    assert "pk_live_wrong" not in log.read_text()


def test_geopy_pelias(pelias: Pelias) -> None:
    found = pelias.geocode(f"{STREET}, Monaco")
    assert found.address.startswith(STREET)
    assert found.raw["properties"]["layer"] == "street"
    assert found.raw["properties"]["gid"].startswith("openstreetmap:street:way/")
    boxed = pelias.geocode(STREET, boundary_rect=[(43.0, 7.0), (43.1, 7.1)])
    assert boxed is None
    assert pelias.geocode(STREET, countries=["FR"]) is None
    there = pelias.reverse(AT)
    assert "Monaco" in there.address
    assert there.raw["properties"]["distance"] < 0.2


def test_pelias_by_parts_layers_and_ids(server: Server) -> None:
    parts = ask(
        server, "/pelias/v1/search/structured", address=STREET, locality="Monaco", size=1
    ).json()  # fmt: skip
    (street,) = parts["features"]
    assert street["properties"]["name"] == STREET
    assert parts["bbox"] == street["bbox"]
    areas = ask(server, "/pelias/v1/autocomplete", text="monte", layers="coarse").json()
    assert areas["features"]
    assert {f["properties"]["layer"] for f in areas["features"]} <= {"locality", "neighbourhood"}
    gid = street["properties"]["gid"]
    again = ask(server, "/pelias/v1/place", ids=f"{gid},openstreetmap:venue:node/1").json()
    assert [f["properties"]["source_id"] for f in again["features"]] == [gid.rpartition(":")[2]]
    circle = {"boundary.circle.lat": 43.05, "boundary.circle.lon": 7.05}
    far = ask(server, "/pelias/v1/search", text=STREET, **circle, **{"boundary.circle.radius": 5})
    assert far.json()["features"] == []
    refused = ask(server, "/pelias/v1/search", text="a", categories="food")
    assert refused.status_code == 422
    assert "categories" in refused.json()["geocoding"]["errors"][0]


def test_an_open_network_needs_no_key(build_once: Callable[..., Path], tmp_path: Path) -> None:
    from mapyard.accounts import registry
    from mapyard.accounts.open import open_accounts

    data = copy_data(
        build_once("monaco-text", EXAMPLES / "monaco.osm.pbf", ["text"]), tmp_path / "data"
    )
    database = open_accounts(data)
    registry.create_account(database, "office@example.org", "enterprise")
    database.close()
    ports = [free_port(), free_port()]
    open_to = {
        "MAPYARD_OPEN_NETWORKS": '["127.0.0.0/8"]',
        "MAPYARD_FORM_PORTS": f'["nominatim:{ports[0]}", "ogc:{ports[1]}"]',
    }
    with running(
        data, tmp_path / "a.log", MAPYARD_OPEN_ACCOUNT="office@example.org", **open_to
    ) as server:
        bare = httpx.get(f"{server.address}/nominatim/search", params={"q": STREET}, timeout=20)
        assert bare.status_code == 200
        wrong = httpx.get(
            f"{server.address}/nominatim/search", params={"q": STREET},
            headers={"X-API-Key": "pk_live_wrong"}, timeout=20,
        )  # fmt: skip
        assert wrong.status_code == 401  # a key that is sent is looked at
        time.sleep(0.6)
        lines = server.log.with_suffix(".access").read_text().splitlines()
        log = [json.loads(line) for line in lines]
        database = open_accounts(data)
        office = registry.get_account(database, "office@example.org")
        database.close()
        assert [line["account"] for line in log if line["status"] == 200][-1] == office.id
        check_own_ports(*ports)


def check_own_ports(nominatim: int, ogc: int) -> None:
    """Forms lie at the root of ports of their own, and nothing else does."""
    client = Nominatim(
        user_agent="tests", scheme="http", adapter_factory=URLLibAdapter, timeout=20,
        domain=f"127.0.0.1:{nominatim}",
    )  # fmt: skip
    assert STREET in str(client.geocode(STREET))
    root = f"http://127.0.0.1:{nominatim}"
    assert httpx.get(f"{root}/status", timeout=20).text == "OK"
    assert httpx.get(f"{root}/nominatim/status", timeout=20).text == "OK"
    for path in ("/api/v1/geocode?q=x", "/docs", "/static/x.js", "/"):
        assert httpx.get(root + path, timeout=20).status_code == 404, path
    landing = httpx.get(f"http://127.0.0.1:{ogc}/", timeout=20).json()
    for link in landing["links"]:
        if "/ogc" in link["href"]:
            assert httpx.get(link["href"], timeout=20).status_code == 200, link
