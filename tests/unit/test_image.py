"""The image and its compose files: their linters take them, and they agree with the program."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from mapyard.settings import list_settings
from osm_files import ROOT

FILES = ROOT / "examples" / "docker"
COMPOSE = [FILES / "compose.yaml", FILES / "compose.full.yaml"]


def tool(name: str) -> str:
    found = shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip(f"needs {name}")
    return found


def run(*command: object) -> None:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def load_script() -> Any:
    spec = importlib.util.spec_from_file_location("fresh_root", ROOT / "scripts/fresh_root.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look there
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    return module


SCRIPT = load_script()


def test_hadolint_takes_the_dockerfile() -> None:
    run(tool("hadolint"), "Dockerfile")


@pytest.mark.parametrize("path", COMPOSE, ids=lambda path: path.name)
def test_compose_files_fit_their_schema(path: Path) -> None:
    run(tool("check-jsonschema"), "--builtin-schema", "vendor.compose-spec", path)


@pytest.mark.parametrize("path", COMPOSE, ids=lambda path: path.name)
def test_compose_files_close_the_service_and_keep_its_data(path: Path) -> None:
    text = path.read_text()
    service = yaml.safe_load(text)["services"]["mapyard"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["volumes"] == ["data:/data"]
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
    settings = {setting.variable for setting in list_settings()}
    named = set(re.findall(r"MAPYARD_[A-Z_]+[A-Z]", text))
    assert named <= settings


def test_the_proxy_that_is_believed_is_caddy() -> None:
    document = yaml.safe_load(COMPOSE[1].read_text())
    caddy = document["services"]["caddy"]["networks"]["front"]["ipv4_address"]
    believed = document["services"]["mapyard"]["environment"]["MAPYARD_TRUSTED_PROXIES"]
    assert believed == f'["{caddy}"]'
    variables = set(re.findall(r"\$\{(\w+)", COMPOSE[1].read_text()))
    example = (FILES / "example.env").read_text()
    assert variables == set(re.findall(r"(?m)^(\w+)=", example))


def test_caddy_does_what_the_other_caddy_does() -> None:
    here = (FILES / "Caddyfile").read_text().split("\n{\n", 1)[1]
    there = (ROOT / "examples/operate/Caddyfile").read_text().split("\n{\n", 1)[1]
    mine = there.replace("maps.example.org", "{$SITE}").replace("127.0.0.1:4000", "mapyard:4000")
    assert here == mine


def test_caddy_takes_its_file() -> None:
    caddy = shutil.which("caddy")
    if caddy is None:
        pytest.skip("needs caddy")
    done = subprocess.run(
        [caddy, "validate", "--adapter", "caddyfile", "--config", str(FILES / "Caddyfile")],
        env={**os.environ, "SITE": "maps.example.org"},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_image_is_not_root_and_asks_its_health() -> None:
    stages = SCRIPT.read_dockerfile((ROOT / "Dockerfile").read_text())
    assert [stage.name for stage in stages] == ["build", ""]
    steps = dict(stages[-1].steps)
    assert steps["USER"] == "10001:10001"
    assert "/healthz" in steps["HEALTHCHECK"]
    assert steps["VOLUME"] == "/data"
    assert steps["COPY"].startswith("--from=build /opt/mapyard")


def test_the_context_has_no_rubbish_and_all_of_git(tmp_path: Path) -> None:
    shutil.copy(ROOT / ".dockerignore", tmp_path)
    kept = ["src/mapyard/cli/__init__.py", "README.md", ".git/HEAD", "examples/monaco.osm.pbf"]
    left = [
        ".venv/bin/python", "dist/a.whl", "src/mapyard/__pycache__/a.pyc", ".mypy_cache/x",
        "src/mapyard/routing/kernels/kernels.so", "src/mapyard/_version.py", "data/secret",
    ]  # fmt: skip
    for name in (*kept, *left):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    found = {str(path.relative_to(tmp_path)) for path in SCRIPT.list_ignored(tmp_path)}
    assert found == set(left)


def test_lines_and_stages_of_a_dockerfile_are_read() -> None:
    text = '# a\nFROM debian:13-slim AS one\nRUN a \\\n  # between\n && b\nFROM x\nCMD ["c"]\n'
    one, two = SCRIPT.read_dockerfile(text)
    assert (one.base, one.name) == ("debian:13-slim", "one")
    assert [(word, rest.split()) for word, rest in one.steps] == [("RUN", ["a", "&&", "b"])]
    assert two.steps == [("CMD", '["c"]')]
