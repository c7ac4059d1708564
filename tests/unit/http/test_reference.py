"""Nothing undocumented: settings, endpoints, parameters, error codes, commands."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import mapyard
from mapyard.cli import COMMANDS
from mapyard.cli.reference import build_pages
from mapyard.errors import MapyardError
from mapyard.http.endpoints import collect
from mapyard.http.reference.error_codes import CODES_BY_NAME
from mapyard.http.reference.openapi import build_openapi
from mapyard.http.reference.schemas import SCHEMAS
from mapyard.server.assembly import load_modules
from mapyard.settings import list_settings

ROOT = Path(mapyard.__file__).parents[2]
#: Codes of commands, builds, web pages and clients, which no answer of the API carries.
NOT_ANSWERED = {
    "unreadable_file", "routing_build_failed", "openid_failed", "forbidden",
    "broken_stream", "unreachable", "http",  # of the library's client
}  # fmt: skip
ENDPOINTS = collect(load_modules())


def test_reference_pages_are_current() -> None:
    folder = ROOT / "docs" / "reference"
    for name, text in build_pages().items():
        assert (folder / name).read_text() == text, f"{name} is not current; run: mapyard docs"


def test_everything_is_in_the_pages() -> None:
    pages = build_pages()
    for endpoint in ENDPOINTS:
        for path in endpoint.paths if endpoint.tag else ():
            assert path in pages["endpoints.md"]
    for setting in list_settings():
        assert f"`{setting.variable}`" in pages["settings.md"]
    for code in CODES_BY_NAME:
        assert f"`{code}`" in pages["errors.md"]
    for name in COMMANDS:
        assert f"\n## mapyard {name}\n" in pages["commands.md"]


def test_every_code_that_is_raised_is_documented() -> None:
    for module in pkgutil.walk_packages(mapyard.__path__, "mapyard."):
        if module.name.endswith(("__main__", ".kernels.kernels")):
            continue  # a C library looks like a module
        if ".migrations" not in module.name:
            importlib.import_module(module.name)
    classes = [MapyardError]
    for cls in classes:
        classes.extend(cls.__subclasses__())
    ours = [cls for cls in classes if not cls.__module__.startswith("mapyard.forms.")]
    codes = {cls.code for cls in ours}  # forms have the codes of their originals
    for path in (ROOT / "src").rglob("*.py"):
        if "forms" in path.parts:
            continue
        codes.update(re.findall(r"""\bcode ?= ?["']([a-z]+_[a-z_]+)["']""", path.read_text()))
    assert codes - NOT_ANSWERED <= set(CODES_BY_NAME)


def test_every_parameter_and_setting_is_described() -> None:
    for endpoint in ENDPOINTS:
        for field in endpoint.parser.fields:
            if endpoint.tag and field.name != "output":
                assert field.description, f"{endpoint.path}: {field.name}"
    for setting in list_settings():
        assert setting.description, setting.name


def test_every_endpoint_has_what_the_reference_shows() -> None:
    for endpoint in ENDPOINTS:
        assert endpoint.summary
        assert endpoint.description or not endpoint.tag
        if isinstance(endpoint.schema, str):
            assert endpoint.schema in SCHEMAS, f"{endpoint.path}: schema {endpoint.schema}"
        for code in endpoint.errors:
            assert code in CODES_BY_NAME


def test_openapi_document() -> None:
    document = build_openapi(ENDPOINTS, "http://localhost:4000")
    assert document["openapi"] == "3.1.0"
    ids = [
        operation["operationId"]
        for item in document["paths"].values()
        for operation in item.values()
    ]
    assert len(ids) == len(set(ids))
    features = document["paths"]["/api/v1/features"]["get"]
    names = {parameter["name"] for parameter in features["parameters"]}
    assert {"bbox", "tags", "limit", "output[precision]", "cursor"} <= names
    assert {"200", "400", "401", "408", "413", "429", "500", "503"} <= set(features["responses"])
    assert "X-RateLimit-Remaining" in features["responses"]["429"]["headers"]
    assert "Retry-After" in features["responses"]["429"]["headers"]
    assert {"ApiKeyHeader": []} in features["security"]
    text = str(document)
    for name in re.findall(r"#/components/schemas/(\w+)", text):
        assert name in document["components"]["schemas"]
