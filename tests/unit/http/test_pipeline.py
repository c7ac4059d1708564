"""Pipelines at /query: each step against the same question by other means."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from shapely.geometry import shape

from mapyard.server.local import LocalClient
from mapyard.settings import Settings
from osm_files import EXAMPLES

CAFES = {"type": "overpass", "query": "node[amenity=cafe](43.72,7.40,43.76,7.45);out;"}


@pytest.fixture(scope="module")
def client(build_once: Callable[..., Path]) -> Iterator[LocalClient]:
    data = build_once("monaco-text", EXAMPLES / "monaco.osm.pbf", ["text"])
    with LocalClient(Settings(data=data)) as opened:
        yield opened


def run(client: LocalClient, *steps: dict[str, Any]) -> httpx.Response:
    return client.post("/api/v1/query", json={"steps": list(steps)})


def last(client: LocalClient, *steps: dict[str, Any]) -> list[dict[str, Any]]:
    answer = run(client, *steps)
    assert answer.status_code == 200, answer.text
    found = answer.json()["steps"]
    assert len(found) == len(steps)
    features: list[dict[str, Any]] = found[-1]["features"]
    return features


def ids(features: list[dict[str, Any]]) -> list[str]:
    return [feature["id"] for feature in features]


def listed(client: LocalClient, **params: Any) -> list[str]:
    params = {"type": "node", "tags": "amenity=cafe", "limit": 1000, **params}
    return ids(client.get("/api/v1/features", params=params).json()["features"])


@pytest.mark.parametrize(
    ("members", "params"),
    [
        ({"tags": {"name": "~^C"}}, {"tags": "amenity=cafe", "tags[name]": "~^C"}),
        ({"tags": "cuisine"}, {"tags[cuisine]": "*"}),
        ({"tags": {"name": "!"}}, {"tags[name]": "!"}),
        ({"bbox": "43.73,7.41,43.74,7.425"}, {"bbox": "43.73,7.41,43.74,7.425"}),
        ({"around": {"type": "Point", "coordinates": [7.4246, 43.7384]}, "radius": 300},
         {"around": "43.7384,7.4246", "radius": 300}),
        ({"query": "tags[name]=~^C&near=43.7384,7.4246&radius=900"},
         {"tags[name]": "~^C", "near": "43.7384,7.4246", "radius": 900}),
        ({"type_": "node"}, {}),
    ],
)  # fmt: skip
def test_a_filter_is_that_of_the_feature_list(
    client: LocalClient, members: dict[str, Any], params: dict[str, Any]
) -> None:
    if "type_" in members:
        members = {}
    assert ids(last(client, CAFES, {"type": "filter", **members})) == listed(client, **params)


def test_steps_build_on_each_other(client: LocalClient) -> None:
    answer = run(
        client, CAFES, {"type": "filter", "tags": {"name": "*"}},
        {"type": "transform", "sort": "-name", "offset": 1, "limit": 3, "fields": ["name"]},
    ).json()["steps"]  # fmt: skip
    sizes = [len(step["features"]) for step in answer]
    assert sizes[0] == len(listed(client))
    assert sizes[1] == len(listed(client, **{"tags[name]": "*"}))
    names = sorted((f["properties"]["name"] for f in answer[1]["features"]), reverse=True)
    assert [f["properties"]["name"] for f in answer[2]["features"]] == names[1:4]
    assert set(answer[2]["features"][0]["properties"]) == {"@type", "@id", "name"}


@pytest.mark.parametrize(
    ("members", "output"),
    [
        ({"buffer": 20}, {"output[buffer]": 20}),
        ({"centroid": True}, {"output[centroid]": "true"}),
        ({"simplify": 5, "precision": 5}, {"output[simplify]": 5, "output[precision]": 5}),
        ({"query": "simplify=5"}, {"output[simplify]": 5}),
    ],
)
def test_a_transform_is_that_of_output(
    client: LocalClient, members: dict[str, Any], output: dict[str, Any]
) -> None:
    parks = {"type": "overpass", "query": "way[leisure=park](43.72,7.40,43.76,7.45);out geom;"}
    made = last(client, parks, {"type": "transform", **members})
    params = {"type": "way", "tags": "leisure=park", "limit": 1000, **output}
    expected = client.get("/api/v1/features", params=params).json()["features"]
    assert ids(made) == ids(expected)
    for one, other in zip(made, expected, strict=True):
        mine, theirs = shape(one["geometry"]), shape(other["geometry"])
        assert mine.geom_type == theirs.geom_type
        assert mine.hausdorff_distance(theirs) < 2e-7  # rings may begin elsewhere


def test_sparql_gives_features_too(client: LocalClient) -> None:
    text = 'SELECT ?s ?name WHERE { ?s osm:name ?name . ?s osm:amenity "cafe" }'
    made = last(
        client, {"type": "sparql", "query": text}, {"type": "filter", "tags": {"name": "~^C"}}
    )
    assert made
    assert all(f["properties"]["name"].startswith("C") for f in made)


def test_values_sort_as_numbers_where_they_are(client: LocalClient) -> None:
    levels = {"type": "overpass", "query": "way['building:levels'](43.72,7.40,43.76,7.45);out;"}
    made = last(client, levels, {"type": "transform", "sort": "building:levels"})
    values = [f["properties"]["building:levels"] for f in made]
    numbers = [float(v) for v in values if v.replace(".", "", 1).isdigit()]
    assert numbers == sorted(numbers)
    assert len(numbers) > 10


@pytest.mark.parametrize(
    ("steps", "status", "message"),
    [
        ([], 400, "steps: needs one step or more"),
        ([{"type": "filter"}], 400, "steps[0]: type: filter needs a step before it"),
        ([{"type": "cook"}], 400, "steps[0]: type: must be overpass, sparql, filter or transform"),
        ([{}], 400, "steps[0]: type: must be"),
        ([{"type": "overpass"}], 400, "steps[0]: query: is required"),
        ([{"type": "overpass", "query": "node[;"}], 400, "steps[0]: line 1"),
        ([CAFES, {"type": "filter", "tag": "x"}], 422, "steps[1]: tag: not understood"),
        ([CAFES, {"type": "filter", "limit": 5}], 422, "a filter keeps all that passes"),
        ([CAFES, {"type": "filter", "bbox": "1,2"}], 400, "steps[1]: bbox"),
        ([CAFES, {"type": "filter", "query": 5}], 400, "steps[1]: query: must be a text"),
        ([CAFES, {"type": "transform", "limit": -1}], 400, "steps[1]: limit"),
        ([CAFES, {"type": "transform", "group": 1}], 422, "steps[1]: group: not understood"),
        ([{"type": "overpass", "query": "node(43.72,7.40,43.76,7.45);out;"}], 413,
         "steps[0]: "),
        ([CAFES] * 21, 413, "steps"),
    ],
)  # fmt: skip
def test_errors_name_the_step(
    client: LocalClient, steps: list[dict[str, Any]], status: int, message: str
) -> None:
    answer = run(client, *steps)
    assert answer.status_code == status, answer.text
    assert message in answer.json()["error"]["message"]


def test_steps_and_a_query_exclude_each_other(client: LocalClient) -> None:
    body = {"steps": [CAFES], "data": "search(node);"}
    assert client.post("/api/v1/query", json=body).status_code == 400
