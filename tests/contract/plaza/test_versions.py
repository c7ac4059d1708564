"""Every method of every version of the published client libraries, over the wire.

requests.json has what each method sends (recorded from the Python libraries of the seven versions,
S1 to S7), and the name of the type by which each version reads the answer; shapes.json has these
types. A shape with a ! is one that the types of that version do not allow: such answers are named
in docs/clients.md. PyPI's own library is run by the tests of its groups.
"""

from __future__ import annotations

import json
import random
import shutil
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest

from osm_files import EXAMPLES, ROOT
from servers import copy_data, running

HERE = Path(__file__).parent
REQUESTS: list[dict[str, Any]] = json.loads((HERE / "requests.json").read_text())
SHAPES: dict[str, dict[str, Any]] = json.loads((HERE / "shapes.json").read_text())
VERSIONS = ("S1", "S2", "S3", "S4", "S5", "S6", "S7")
#: What the libraries of each version call themselves.
PACKAGE = {"S1": "0.0.4", "S2": "0.1.1", "S3": "0.2.0", "S4": "0.2.0", "S5": "0.2.0",
           "S6": "0.3.0", "S7": "0.3.0"}  # fmt: skip
CASES = [
    (request, shape, versions)
    for request in REQUESTS
    for shape, versions in request["shape"].items()
]
#: A part of a request whose answer the types do not allow → what docs/clients.md says of it.
NOT_TYPED = {
    "output%5Bgeometry%5D=false": "geometry: null",
    "locations=": "several positions",
    "MultiPoint": "several positions",
    '"alternatives"': "alternatives",
    '"geometries"': "polylines",
    '"overview"': "overview",
}
ROWS = b"name,lat,lon\na,43.7,7.4\nb,43.71,7.41\n"

pytestmark = pytest.mark.xdist_group("plaza versions")


class Service:
    """A server and what requests name on it."""

    def __init__(self, address: str, key: str) -> None:
        self.http = httpx.Client(
            base_url=f"{address}/api/v1", headers={"X-API-Key": key}, timeout=60
        )
        self.key = key
        self.dataset = self.make_dataset()
        rng = random.Random(1)
        stops = [[7.415 + rng.random() * 0.012, 43.732 + rng.random() * 0.01] for _ in range(60)]
        asked = {"waypoints": stops, "mode": "foot"}
        self.job = self.http.post("/optimize", json=asked).json()["job_id"]

    def make_dataset(self) -> str:
        made = self.http.post("/datasets", json={"name": "x", "slug": uuid.uuid4().hex}).json()
        self.http.put(f"/datasets/{made['id']}/source", content=ROWS)
        for _ in range(300):
            if self.http.get(f"/datasets/{made['id']}").json()["status"] == "ready":
                return str(made["id"])
            time.sleep(0.05)
        raise AssertionError("the import does not end")

    def ask(self, request: dict[str, Any], version: str) -> httpx.Response:
        """Send a request as a library of a version does."""
        method, _, path = request["ask"].partition(" ")
        path = path.replace("{dataset}", self.dataset).replace("{job}", self.job)
        if "{doomed}" in path:
            path = path.replace("{doomed}", self.make_dataset())
        body = request.get("body")
        content = None if body is None else json.dumps(body).replace("{slug}", uuid.uuid4().hex)
        headers = {
            "Authorization": f"Bearer {self.key}", "Accept": request["accept"],
            "X-Stainless-Lang": "python", "X-Stainless-Package-Version": PACKAGE[version],
        }  # fmt: skip
        if "type" in request:
            headers["Content-Type"] = request["type"]
        return self.http.request(method, path, content=content, headers=headers)


@pytest.fixture(scope="module")
def service(monaco: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("versions")
    data = copy_data(monaco, folder / "data")
    (data / "elevation").mkdir(exist_ok=True)
    shutil.copy(EXAMPLES / "N43E007.hgt.zip", data / "elevation")
    with running(data, folder / "log") as server:
        made = Service(server.address, server.key)
        yield made
        made.http.close()


def find_faults(value: Any, shape: str) -> list[str]:
    schema = {**SHAPES["shapes"][shape], "$defs": SHAPES["$defs"]}
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    validator = jsonschema.Draft202012Validator(schema, format_checker=checker)
    return [f"{e.json_path}: {e.message[:200]}" for e in validator.iter_errors(value)]


def name_of(case: tuple[dict[str, Any], str, list[str]]) -> str:
    request, _, versions = case
    return f"{request['method']} {'/'.join(versions)} {REQUESTS.index(request)}"


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_a_method_is_answered_as_its_version_reads_it(
    service: Service, case: tuple[dict[str, Any], str, list[str]]
) -> None:
    request, shape, versions = case
    answer = service.ask(request, versions[0])
    assert answer.is_success, answer.text
    if shape == "tile":
        assert answer.headers["content-type"].startswith("application/vnd.mapbox-vector-tile")
    elif shape == "nothing":
        assert answer.status_code == 204
    elif shape != "anything":
        faults = find_faults(answer.json(), shape.removesuffix(" !"))
        assert bool(faults) == shape.endswith(" !"), faults


def test_each_version_is_asked_by_all_of_its_methods() -> None:
    """As many endpoints as the description of each version has; sparql of S1 has two paths."""
    counted = {}
    for version in VERSIONS:
        counted[version] = len(
            {
                request["ask"].partition("?")[0].replace("way/94399684", "").replace(
                    "node/917978763", "")
                for request, _, versions in CASES
                if version in versions
            }
        )  # fmt: skip
    assert counted == {
        "S1": 22, "S2": 27, "S3": 38, "S4": 38, "S5": 37, "S6": 36, "S7": 23,
    }  # fmt: skip


def test_what_the_types_do_not_allow_is_documented() -> None:
    page = (ROOT / "docs" / "clients.md").read_text()
    left_out = [request for request, shape, _ in CASES if shape.endswith(" !")]
    assert left_out
    for request in left_out:
        text = request["ask"] + json.dumps(request.get("body"))
        reasons = [reason for part, reason in NOT_TYPED.items() if part in text]
        assert reasons and all(reason in page for reason in reasons), request
