"""Geocoding and search as the seven versions of the client libraries ask for them.

The published Python client asks an application in this process; of the other versions the requests
are sent as they were recorded (parameters in the query of a POST with an empty body, GeoJSON).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import plaza
import pytest

from mapyard.server.local import LocalClient
from mapyard.settings import Settings
from osm_files import EXAMPLES

STAINLESS = {"X-Stainless-Lang": "js", "Content-Type": "application/json"}


class LocalTransport(httpx.BaseTransport):
    """Lets a synchronous httpx client ask an application in this process."""

    def __init__(self, client: LocalClient) -> None:
        self._client = client

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self._client.request(
            request.method, str(request.url), content=request.read(), headers=request.headers
        )
        headers = {
            name: value
            for name, value in answer.headers.items()
            if name not in ("content-encoding", "content-length")
        }
        return httpx.Response(
            answer.status_code, headers=headers, content=answer.content, request=request
        )


@pytest.fixture(scope="module")
def local(build_once: Callable[..., Path]) -> Iterator[LocalClient]:
    data = build_once("monaco-text", EXAMPLES / "monaco.osm.pbf", ["text"])
    with LocalClient(Settings(data=data)) as client:
        yield client


@pytest.fixture(scope="module")
def client(local: LocalClient) -> Iterator[plaza.Plaza]:
    with plaza.Plaza(
        base_url="http://localhost",
        api_key="any",
        max_retries=0,
        http_client=httpx.Client(transport=LocalTransport(local)),
        _strict_response_validation=True,
    ) as opened:
        yield opened


# ---- S1: the published client -----------------------------------------------------------------


def test_forward(client: plaza.Plaza) -> None:
    found = client.v1.geocode.forward(q="25 boulevard de suisse", limit=2, lat=43.7384, lng=7.4246)
    assert found.results[0].display_name.endswith("25 Boulevard de Suisse, 98000 Monaco, Monaco")
    assert found.results[0].lat == pytest.approx(43.7385, abs=1e-3)
    assert found.results[0].lng == pytest.approx(7.424, abs=1e-3)
    assert (found.results[0].osm_type, found.results[0].osm_id) == ("way", 94399747)
    assert found.count == len(found.results) <= 2


def test_autocomplete(client: plaza.Plaza) -> None:
    found = client.v1.geocode.autocomplete(q="rue grim", limit=5)
    assert any("Rue Grimaldi" in result.display_name for result in found.results)


def test_reverse(client: plaza.Plaza) -> None:
    found = client.v1.geocode.reverse(lat=43.7384, lng=7.4246, radius=500)
    assert found.address.endswith("Monaco")
    assert 0 <= found.distance < 500
    assert found.osm_type in ("node", "way", "relation")


def test_search(client: plaza.Plaza) -> None:
    first = client.v1.search_features(q="monaco", limit=10)
    assert first.pagination is not None
    assert first.pagination.has_more is True
    second = client.v1.search_features(
        q="monaco", limit=10, cursor=str(first.pagination.next_cursor)
    )
    assert not {f.id for f in first.features} & {f.id for f in second.features}
    with pytest.raises(plaza.BadRequestError, match="invalid_cursor"):
        client.v1.search_features(q="casino", cursor=str(first.pagination.next_cursor))


def test_missing_text_is_the_client_s_bad_request(client: plaza.Plaza) -> None:
    with pytest.raises(plaza.BadRequestError) as caught:
        client.v1.geocode.forward(q="")
    assert caught.value.body["error"]["code"] == "invalid_request"  # type: ignore[index]


# ---- S2 to S7 ---------------------------------------------------------------------------------


def ask(local: LocalClient, method: str, url: str, body: Any = None) -> dict[str, Any]:
    content = b"" if body is None else json.dumps(body).encode()
    answer = local.request(method, url, content=content, headers=STAINLESS)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


FORWARD = "q=boulevard%20de%20suisse&limit=3&country_code=MC&lang=fr&layer=address"


@pytest.mark.parametrize(
    ("method", "url", "body"),
    [
        ("GET", f"/api/v1/geocode?{FORWARD}&lat=43.7&lng=7.4&bbox=43.7,7.4,43.8,7.5", None),  # S2
        ("POST", f"/api/v1/geocode?{FORWARD}", None),  # S3
        ("POST", f"/api/v1/geocode?{FORWARD}&format=geojson", None),  # S4–S6
        (
            "POST",
            "/api/v1/geocode",
            {
                "q": "boulevard de suisse", "focus": {"type": "Point", "coordinates": [7.4, 43.7]},
                "country_code": "MC", "lang": None, "layer": "address", "limit": 3,
            },
        ),  # S7
    ],
)  # fmt: skip
def test_forward_of_later_versions(local: LocalClient, method: str, url: str, body: Any) -> None:
    found = ask(local, method, url, body)
    assert found["type"] == "FeatureCollection"
    properties = found["features"][0]["properties"]
    assert properties["display_name"].startswith("Boulevard de Suisse")
    assert properties["country_code"] == "MC"
    assert found["features"][0]["geometry"]["type"] == "Point"
    assert len(found["features"]) <= 3


@pytest.mark.parametrize(
    ("method", "url", "body"),
    [
        ("GET", "/api/v1/geocode/autocomplete?q=rue%20gri&limit=5&layer=address", None),
        ("POST", "/api/v1/geocode/autocomplete?q=rue%20gri&limit=5&lat=43.7&lng=7.4", None),
        (
            "POST",
            "/api/v1/geocode/autocomplete?format=json",
            {"q": "rue gri", "focus": {"type": "Point", "coordinates": [7.4, 43.7]}, "limit": 5},
        ),
    ],
)
def test_autocomplete_of_later_versions(
    local: LocalClient, method: str, url: str, body: Any
) -> None:
    names = [f["properties"]["display_name"] for f in ask(local, method, url, body)["features"]]
    assert any(name.startswith("Rue Grimaldi") for name in names)


@pytest.mark.parametrize(
    ("method", "url", "body"),
    [
        ("GET", "/api/v1/geocode/reverse?lat=43.7384&lng=7.4246&layer=house&radius=100.0", None),
        ("POST", "/api/v1/geocode/reverse?near=43.7384%2C7.4246", None),
        (
            "POST",
            "/api/v1/geocode/reverse",
            {"geometry": {"type": "Point", "coordinates": [7.4246, 43.7384]}, "radius": 100},
        ),
    ],
)
def test_reverse_of_later_versions(local: LocalClient, method: str, url: str, body: Any) -> None:
    found = ask(local, method, url, body)
    assert len(found["features"]) == 1
    properties = found["features"][0]["properties"]
    assert properties["house_number"] == "25"
    assert found["address"] == properties["display_name"]


def test_batch_of_later_versions(local: LocalClient) -> None:
    found = ask(
        local, "POST", "/api/v1/geocode/batch", {"addresses": ["Rue Grimaldi", "xyzzyplugh"]}
    )
    assert found["count"] == 2
    first, second = found["results"]
    assert first["features"][0]["properties"]["name"] == "Rue Grimaldi"
    assert second == {"type": "FeatureCollection", "features": []}


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_search_of_later_versions(local: LocalClient, method: str) -> None:
    found = ask(
        local,
        method,
        "/api/v1/search?q=casino&limit=3&output%5Bfields%5D=name&output%5Binclude%5D=bbox,center"
        "&output%5Bprecision%5D=5&format=json",
    )
    assert len(found["features"]) == 3
    for feature in found["features"]:
        assert set(feature["properties"]) <= {"@type", "@id", "@center", "name"}
        assert len(feature["bbox"]) == 4
