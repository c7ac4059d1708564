"""The OpenAPI document in the tools that people make clients with, each in a place of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from mapyard.http.endpoints import collect
from mapyard.http.reference.openapi import build_openapi
from mapyard.server.assembly import load_modules
from osm_files import ROOT
from servers import Server, copy_data, running

UV = shutil.which("uv") or str(ROOT / ".tools" / "bin" / "uv")
REDOCLY = "@redocly/cli@2.77.0"
TYPESCRIPT = "openapi-typescript@7.13.0"
PYTHON_CLIENT = "openapi-python-client==0.29.1"
#: What package tools say where there is no network.
NO_NETWORK = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT", "error sending request", "dns")
#: What a client made of the document asks, and reads out of typed answers.
SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from mapyard_client import AuthenticatedClient
from mapyard_client.api.geocoding import get_geocode
from mapyard_client.api.routing import get_route
from mapyard_client.api.osrm import get_osrm_nearest_v1_profile_coordinates as get_nearest

client = AuthenticatedClient(base_url=sys.argv[2], token=sys.argv[3])
found = get_geocode.sync(client=client, q="Rue Grimaldi, Monaco")
print(found.features[0].properties.display_name)
way = get_route.sync(client=client, origin="43.7384,7.4246", destination="43.7314,7.4197")
print(len(way.properties.legs), way.properties.legs[0].distance_m > 100)
road = get_nearest.sync(client=client, profile="driving", coordinates="7.4246,43.7384")
print(road.code, road.waypoints[0].distance < 50)
"""


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("openapi") / "openapi.json"
    file.write_bytes(orjson.dumps(build_openapi(collect(load_modules()), "https://maps.test")))
    return file


def run(*command: str, cwd: Path) -> str:
    """Return what a command writes; skip where it cannot be had."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    variables = {**os.environ, "NO_UPDATE_NOTIFIER": "1", "CI": "true", "REDOCLY_TELEMETRY": "off"}
    done = subprocess.run(
        command, cwd=cwd, env=variables, capture_output=True, text=True, check=False, timeout=200
    )
    output = done.stdout + done.stderr
    if done.returncode and any(word in output for word in NO_NETWORK):
        pytest.skip(f"{command[0]}: the packages cannot be had: {output[-200:]}")
    assert done.returncode == 0, output[-3_000:]
    return output


def test_redocly_finds_no_error(document: Path) -> None:
    output = run("npx", "--yes", REDOCLY, "lint", document.name, cwd=document.parent)
    assert "is valid" in output


def test_typescript_types_are_made(document: Path) -> None:
    run("npx", "--yes", TYPESCRIPT, document.name, "-o", "types.d.ts", cwd=document.parent)
    types = (document.parent / "types.d.ts").read_text()
    assert "get_geocode: {" in types
    assert "RouteStep: {" in types


@pytest.fixture(scope="module")
def server(monaco: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("openapi-server")
    with running(copy_data(monaco, folder / "data"), folder / "serve.log") as started:
        yield started


def test_a_python_client_is_made_and_works(document: Path, server: Server, tmp_path: Path) -> None:
    # In an environment of its own: it needs other versions of packages than we.
    run(UV, "venv", "--quiet", "--python", sys.executable, "env", cwd=tmp_path)
    python = tmp_path / "env" / "bin" / "python"
    run(UV, "pip", "install", "--quiet", "--python", str(python), PYTHON_CLIENT, cwd=tmp_path)
    generator = str(python.with_name("openapi-python-client"))
    output = run(
        generator, "generate", "--path", str(document), "--output-path", "client", cwd=tmp_path
    )
    assert "Unable to" not in output, output[:3_000]
    assert "removal of" not in output, output[:3_000]
    found = run(
        str(python), "-c", SCRIPT, str(tmp_path / "client"), server.address, server.key,
        cwd=tmp_path,
    ).splitlines()  # fmt: skip
    assert found[0].startswith("Rue Grimaldi")
    assert found[1:] == ["1 True", "Ok True"]
