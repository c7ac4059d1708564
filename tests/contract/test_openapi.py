"""Requests generated from the OpenAPI document: no crash, and every error in the envelope."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings

from mapyard.http.endpoints import Endpoint, collect
from mapyard.http.reference.openapi import build_openapi
from mapyard.server.assembly import load_modules
from mapyard.server.local import LocalClient
from mapyard.settings import Settings
from osm_files import EXAMPLES as EXAMPLES_FOLDER
from servers import copy_data

DOCUMENT = build_openapi(collect(load_modules()), "http://localhost")
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
OPERATIONS = [
    operation
    for operation in (result.ok() for result in SCHEMA.get_all_operations())
    if operation.path.startswith("/api/") and not operation.definition.raw.get("deprecated")
]
#: Examples of each operation, and the time after which the rest is passed over.
EXAMPLES = 10
BUDGET_S = 35.0


@pytest.fixture(scope="module")
def client(monaco: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalClient]:
    """The whole of Monaco with its elevation."""
    data = copy_data(monaco, tmp_path_factory.mktemp("openapi") / "data")
    (data / "elevation").mkdir(exist_ok=True)
    shutil.copy(EXAMPLES_FOLDER / "N43E007.hgt.zip", data / "elevation")
    with LocalClient(Settings(data=data)) as made:
        yield made


@pytest.fixture(scope="module")
def budget() -> dict[str, float]:
    return {"left": BUDGET_S}


@pytest.mark.xdist_group("openapi")
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.label)
def test_no_generated_request_crashes(
    operation: Any, client: LocalClient, budget: dict[str, float]
) -> None:
    if budget["left"] <= 0:
        pytest.skip(f"the generated requests before took {BUDGET_S:g} s")
    asked: list[int] = []

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy())
    def ask(case: Any) -> None:
        started = time.process_time()
        request = case.as_transport_kwargs(base_url="http://localhost")
        request.pop("cookies", None)
        if isinstance(request.get("data"), bytes | str):
            request["content"] = request.pop("data")
        request["headers"] = {**(request.get("headers") or {}), "Accept": "application/json"}
        answer = client.request(request.pop("method"), request.pop("url"), **request)
        asked.append(answer.status_code)
        assert answer.status_code not in (500, 502), f"{case.as_curl_command()}\n{answer.text}"
        assert answer.headers["x-request-id"]
        if answer.status_code >= 400:
            error = answer.json()["error"]
            assert error["code"]
            assert error["message"]
        budget["left"] -= time.process_time() - started

    ask()
    assert asked


#: They ask the server itself for tiles, so a server must run: tests/e2e/test_static_images.py.
DRAWN = ("/api/v1/static/{size}", "/api/v1/raster/{z}/{x}/{y}")
#: These belong to an account, so a server with keys must run: tests/e2e/test_samples.py and
#: tests/contract/test_documented_commands.py.
WITH_ACCOUNT = (("POST", "/api/v1/datasets"), ("PATCH", "/api/v1/datasets/{id}"))
EXAMPLES_SHOWN = [
    (method, endpoint, example.params)
    for endpoint in collect(load_modules())
    if endpoint.path not in DRAWN
    for example in endpoint.examples
    for method in endpoint.methods
    if (method, endpoint.path) not in WITH_ACCOUNT
]


@pytest.mark.xdist_group("openapi")
@pytest.mark.parametrize(
    ("method", "endpoint", "params"),
    EXAMPLES_SHOWN,
    ids=[f"{method} {endpoint.path}" for method, endpoint, _ in EXAMPLES_SHOWN],
)
def test_examples_of_the_reference_work(
    client: LocalClient, method: str, endpoint: Endpoint, params: Mapping[str, Any]
) -> None:
    path = endpoint.path
    rest = dict(params)
    for name in list(rest):
        if f"{{{name}}}" in path:
            path = path.replace(f"{{{name}}}", str(rest.pop(name)))
    if method == "GET":
        texts = {n: v if isinstance(v, str) else json.dumps(v) for n, v in rest.items()}
        answer = client.get(path, params=texts)
    else:
        answer = client.request(method, path, json=rest)
    assert answer.status_code in (200, 202, 204), answer.text
    if answer.status_code == 200:
        kind = answer.headers["content-type"].partition(";")[0]
        described = DOCUMENT["paths"][endpoint.path][method.lower()]["responses"]["200"]["content"]
        content = {name.partition(";")[0]: inner for name, inner in described.items()}[kind]
        if kind.endswith("json"):
            validate(answer.json(), content["schema"])


def validate(value: Any, schema: dict[str, Any]) -> None:
    """Hold a value against a schema of the document."""
    whole = {**schema, "components": DOCUMENT["components"]}
    problems = jsonschema.Draft202012Validator(whole).iter_errors(value)
    found = [f"{problem.json_path}: {problem.message[:200]}" for problem in problems]
    assert not found, found[:5]


def iter_contents() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in DOCUMENT["paths"].items():
        for operation in methods.values():
            for kind, content in operation["responses"]["200"].get("content", {}).items():
                yield operation["operationId"], kind.partition(";")[0], content | {"path": path}


def test_every_json_answer_has_a_schema_and_an_example_of_it() -> None:
    """`make answers` records those that lack."""
    json_ones = [found for found in iter_contents() if found[1].endswith("json")]
    with_example = {name for name, _, content in json_ones if "example" in content}
    # Jobs and datasets that do not exist, what needs a trace or a page, and this document.
    assert {name for name, *_ in json_ones} - with_example == {
        "get_optimize_job_id", "delete_optimize_job_id", "get_tiles_style_json",
        "get_tiles_world_json",
        "post_tiles_session", "get_openapi_json", "post_datasets", "patch_datasets_id",
        "delete_datasets_id", "put_datasets_id_source", "get_datasets_id_problems",
        "get_datasets_id_features_row", "get_datasets_id_tiles_json",
    }  # fmt: skip
    for name, kind, content in iter_contents():
        if kind.endswith("json"):
            assert content["schema"], name
        if "example" in content and kind.endswith("json"):
            validate(content["example"], content["schema"])


def test_arrays_have_items_and_operations_names() -> None:
    def walk(node: Any, where: str) -> None:
        if isinstance(node, dict):
            if node.get("type") == "array" and "example" not in where:
                assert "items" in node, where
            for name, inner in node.items():
                walk(inner, f"{where}/{name}")
        elif isinstance(node, list):
            for index, inner in enumerate(node):
                walk(inner, f"{where}/{index}")

    walk(DOCUMENT, "")
    names = [
        operation["operationId"]
        for methods in DOCUMENT["paths"].values()
        for operation in methods.values()
    ]
    assert len(names) == len(set(names))
