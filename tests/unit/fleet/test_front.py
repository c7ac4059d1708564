"""A map in four regions answers as the whole: on one node with two of them, the others away."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fleets import (
    Away,
    ask,
    build_regions,
    exact_requests,
    make_front,
    make_single,
    normalize,
)
from mapyard.fleet.front import Front, ReplicaLost
from mapyard.fleet.wire import Question, Reply
from mapyard.http.app import Application
from mapyard.results.cursor import write_place
from osm_files import EXAMPLES

# Five datasets are built first.
pytestmark = [pytest.mark.xdist_group("fleet-front"), pytest.mark.timeout(400)]


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


def walk(application: Application, path: str, params: dict[str, Any]) -> list[str]:
    ids, cursor = [], None
    while True:
        page = ask(application, path, {**params, **({"cursor": cursor} if cursor else {})})
        assert page.status_code == 200, page.text
        ids += [feature["id"] for feature in page.json()["features"]]
        cursor = page.headers.get("x-next-cursor")
        if cursor is None:
            return ids


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


def test_places_are_found_in_all_regions(
    applications: tuple[Front, Application, Application],
) -> None:
    """Whole names; scores depend a little on what else a region has, as the page says."""
    _, application, single = applications
    for text in ("monaco-ville", "larvotto", "rue grimaldi", "place du casino", "stade louis ii"):
        for path in ("/api/v1/geocode", "/api/v1/geocode/autocomplete"):
            asked = {"q": text, "limit": 1}
            expected, found = ask(single, path, asked).json(), ask(application, path, asked).json()
            names = [
                answer["features"][0]["properties"]["display_name"] for answer in (expected, found)
            ]
            assert names[0] == names[1]


@pytest.mark.parametrize(
    ("path", "params"),
    [
        ("/api/v1/route", {"origin": "43.7255,7.4100", "destination": "43.7500,7.4380"}),
        ("/api/v1/isochrone", {"near": "43.738,7.4246", "time": 1200}),
        ("/api/v1/features", {"tags": "shop", "format": "ndjson"}),
        ("/api/v1/features", {"tags": "shop", "output[sort]": "name"}),
        ("/api/v1/features", {"tags": "shop", "offset": 990, "limit": 20}),
        ("/api/v1/tags", {}),
    ],
)
def test_what_cannot_be_merged_is_refused(
    applications: tuple[Front, Application, Application], path: str, params: dict[str, Any]
) -> None:
    _, application, single = applications
    assert ask(single, path, params).status_code == 200
    refused = ask(application, path, params)
    assert refused.status_code == 422 and "regions" in refused.json()["error"]["message"]


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
