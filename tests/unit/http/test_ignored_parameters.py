"""No parameter is read over in silence: unknown ones are named, or refused where they matter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mapyard.server.local import LocalClient
from mapyard.settings import Settings
from osm_files import EXAMPLES


@pytest.fixture(scope="module")
def client(build_once: Callable[..., Path]) -> Iterator[LocalClient]:
    data = build_once("monaco-text", EXAMPLES / "monaco.osm.pbf", ["text"])
    with LocalClient(Settings(data=data)) as opened:
        yield opened


def test_unknown_parameters_are_named(client: LocalClient) -> None:
    answer = client.get("/api/v1/geocode?q=monaco&_=123&limt=3&api_key=x")
    assert answer.status_code == 200
    assert answer.headers["x-ignored-parameters"] == "_, limt"
    again = client.get("/api/v1/geocode?q=monaco&_=123&limt=3&api_key=x")
    assert again.headers["x-ignored-parameters"] == "_, limt"
    assert "x-ignored-parameters" not in client.get("/api/v1/geocode?q=monaco&limit=3").headers


def test_nested_ones_too_and_on_the_fast_path(client: LocalClient) -> None:
    path = "/api/v1/features/way/94399684?output[precison]=3&output[precision]=5"
    for _ in range(2):
        assert client.get(path).headers["x-ignored-parameters"] == "output[precison]"


def test_names_cannot_break_the_header(client: LocalClient) -> None:
    many = "&".join(f"p{i}%0d%0aX-Evil:%201=1" for i in range(30))
    answer = client.get(f"/api/v1/geocode?q=monaco&é=1&{many}")
    named = answer.headers["x-ignored-parameters"]
    assert named.startswith("%C3%A9, p0%0D%0AX-Evil: 1")
    assert named.endswith("and 11 more")
    assert "x-evil" not in answer.headers


def test_errors_name_them_as_well(client: LocalClient) -> None:
    answer = client.post("/api/v1/geocode", json={"qq": "monaco"})
    assert answer.status_code == 400
    assert answer.headers["x-ignored-parameters"] == "qq"


def test_bodies_that_describe_a_problem_refuse_them(client: LocalClient) -> None:
    answer = client.post("/api/v1/geocode", json={"street": "Rue Grimaldi", "town": "Monaco"})
    assert answer.status_code == 422
    assert answer.json()["error"]["details"] == {"town": ["is not understood"]}
    body = {"waypoints": [[7.42, 43.73], [7.43, 43.74]], "fleet": [{"capacity": 3}]}
    answer = client.post("/api/v1/optimize?_=1", json=body)
    assert answer.status_code == 422
    assert "fleet: not understood" in answer.json()["error"]["message"]
    assert "waypoints" in answer.json()["error"]["message"]


def test_a_row_of_a_batch_is_refused_alone(client: LocalClient) -> None:
    rows = [{"street": "Rue Grimaldi", "number": "5", "flat": "3"}, {"q": "Rue Grimaldi", "id": 7}]
    answer = client.post("/api/v1/geocode/batch", json={"addresses": rows}).json()
    assert answer["results"][0]["error"]["message"].startswith("flat: not understood")
    assert answer["results"][1]["features"]
    csv = client.post(
        "/api/v1/geocode/batch", content="q,note\nRue Grimaldi,x\n",
        headers={"content-type": "text/csv"},
    )  # fmt: skip
    assert "Rue Grimaldi" in csv.text
