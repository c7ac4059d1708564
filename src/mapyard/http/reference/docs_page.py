"""The reference as one HTML page, rendered from the OpenAPI document; needs no other origin."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote

import jinja2
import orjson
from markupsafe import Markup, escape

from mapyard.http.reference.error_codes import ERROR_CODES
from mapyard.http.reference.samples import KEY, write_javascript, write_python
from mapyard.http.reference.schemas import Schema

_METHODS: Final = ("get", "post", "put", "patch", "delete")


@lru_cache(maxsize=1)
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("mapyard.http", "pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["markdown"] = render_text
    return environment.get_template("docs.html")


def render_docs(document: Schema, base_url: str, *, has_accounts: bool) -> bytes:
    """Return the page for an OpenAPI document."""
    page = _template().render(
        info=document["info"],
        base_url=base_url,
        groups=[
            {"name": name, "anchor": _anchor(name), "entries": entries}
            for name, entries in entries_of(document, base_url)
        ],
        errors=ERROR_CODES,
        has_accounts=has_accounts,
        query="",
    )
    return page.encode()


def render_text(text: str) -> Markup:
    """Return paragraphs and `code` of a description as HTML."""
    paragraphs = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        joined = " ".join(paragraph.split())
        html = re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(joined)))
        paragraphs.append(f"<p>{html}</p>")
    return Markup("".join(paragraphs))  # noqa: S704 - everything was escaped above


def entries_of(document: Schema, base_url: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield each group's name and its paths, as the page and docs/reference show them."""
    aliases: dict[str, list[str]] = {}
    entries: dict[str, list[dict[str, Any]]] = {tag["name"]: [] for tag in document["tags"]}
    for path, item in document["paths"].items():
        by_summary: dict[str, list[tuple[str, Schema]]] = {}
        for method in _METHODS:
            if method in item:
                by_summary.setdefault(item[method]["summary"], []).append((method, item[method]))
        for summary, operations in by_summary.items():
            first = operations[0][1]
            if first.get("deprecated"):
                aliases.setdefault(summary, []).append(path)
            else:
                entries[first["tags"][0]].append(_entry(path, operations, base_url))
    for name, group in entries.items():
        for entry in group:
            entry["aliases"] = aliases.get(entry["summary"], [])
        if group:
            yield name, group


def _entry(path: str, operations: list[tuple[str, Schema]], base_url: str) -> dict[str, Any]:
    method, first = operations[0]
    examples = [_example(path, name, op, base_url) for name, op in operations]
    return {
        "anchor": _anchor(f"{method} {path}"),
        "path": path,
        "methods": [name.upper() for name, _ in operations],
        "summary": first["summary"],
        "description": first["description"],
        "premium": first.get("x-premium", False),
        "public": not first["security"],
        "params": _params(operations),
        "curl": "" if first["tags"][0] == "Not offered" else examples[0][1],
        "samples": _write_samples(method, first, examples[0][0], base_url),
        "try": next((request for request, _ in examples), {}),
        "responses": [
            {
                "status": status,
                "description": response["description"],
                "types": ", ".join(response["content"]),
                "headers": [
                    name for name, header in response["headers"].items() if "$ref" not in header
                ],
            }
            for status, response in first["responses"].items()
        ],
    }


def _write_samples(
    method: str, operation: Schema, request: dict[str, Any], base_url: str
) -> list[tuple[str, str]]:
    """Return languages and programs that send the request of the curl command."""
    uploads = operation.get("x-upload", False)
    types = operation["responses"].get("200", {}).get("content", {})
    options = {
        "with_key": bool(operation["security"]),
        "is_json": not types or "json" in next(iter(types)),
        "uploads": uploads,
    }
    body = orjson.loads(request["body"]) if request["body"] else None
    url = base_url + request["path"]
    return [
        (language, write(method.upper(), url, body, **options))
        for language, write in (("Python", write_python), ("JavaScript", write_javascript))
    ]


def _params(operations: list[tuple[str, Schema]]) -> list[dict[str, Any]]:
    """Return all parameters of the operations of a path, each once."""
    rows: dict[str, dict[str, Any]] = {}
    for _, operation in operations:
        for parameter in operation.get("parameters", ()):
            rows[parameter["name"]] = {
                "name": parameter["name"],
                "required": parameter.get("required", False),
                "type": describe_schema(parameter["schema"]),
                "description": parameter["description"],
            }
        content = operation.get("requestBody", {}).get("content", {})
        schema = content.get("application/json", {}).get("schema", {})
        bracketed = {name.partition("[")[0] for name in rows if "[" in name}
        for name, value in schema.get("properties", {}).items():
            if name not in rows and name not in bracketed:
                rows[name] = {
                    "name": name,
                    "required": name in schema.get("required", ()),
                    "type": describe_schema(value),
                    "description": value.get("description", ""),
                }
    for row in rows.values():
        row["is_output"] = row["name"].startswith("output[")
    return list(rows.values())


def describe_schema(schema: Schema) -> str:
    """Return a schema in a few words: type, choices, bounds, default."""
    parts: list[str] = []
    if "enum" in schema:
        parts.append(" | ".join(str(value) for value in schema["enum"]))
    elif "$ref" in schema:
        parts.append(schema["$ref"].rsplit("/", 1)[1])
    elif schema.get("type") == "array":
        items = describe_schema(schema.get("items", {}))
        parts.append(f"list of {items}" if items else "list")
    elif "oneOf" in schema or "anyOf" in schema:
        choices: list[Schema] = schema.get("oneOf") or schema.get("anyOf") or []
        kinds = [describe_schema(kind) for kind in choices]
        parts.append(" or ".join(dict.fromkeys(kind for kind in kinds if kind)))
    elif "type" in schema:
        kind = schema["type"]
        parts.append(kind if isinstance(kind, str) else " or ".join(kind))
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    if low is not None and high is not None:
        parts.append(f"{low:g} to {high:g}")
    elif low is not None:
        parts.append(f"{'≥' if 'minimum' in schema else '>'} {low:g}")
    elif high is not None:
        parts.append(f"{'≤' if 'maximum' in schema else '<'} {high:g}")
    for name, word in (("maxItems", "at most {} items"), ("maxLength", "at most {} characters")):
        if name in schema:
            parts.append(word.format(schema[name]))
    default = schema.get("default", schema.get("x-default"))
    if default is not None:
        text = str(default).lower() if isinstance(default, bool) else str(default)
        parts.append(f"default {text or 'empty'}")
    return ", ".join(parts)


def _example(
    path: str, method: str, operation: Schema, base_url: str
) -> tuple[dict[str, Any], str]:
    """Return the request of the try-out form, and the same as a curl command."""
    example = operation.get("x-example") or {}
    in_path = set(re.findall(r"{(\w+)}", path))
    filled = path
    for name in in_path:
        filled = filled.replace(f"{{{name}}}", _fill(name, example))
    rest = {name: value for name, value in example.items() if name not in in_path}
    command = ["curl"]
    request: dict[str, Any] = {"method": method.upper(), "path": filled, "body": ""}
    if operation["security"]:
        command += ["-H", f"X-API-Key: {KEY}"]
    upload = operation.get("x-upload", False)
    if method in ("get", "delete") or upload:
        pairs = [
            f"{quote(name, safe='[]:@')}={_quote_value(one)}"
            for name, value in rest.items()
            for one in _repeated(value)
        ]
        request["path"] = filled + (f"?{'&'.join(pairs)}" if pairs else "")
    else:
        request["body"] = orjson.dumps(rest, option=orjson.OPT_INDENT_2).decode() if rest else "{}"
        compact = orjson.dumps(rest).decode()
        command += ["-H", "Content-Type: application/json", "-d", compact]
    if method not in ("get", "post") and not upload:
        command += ["-X", method.upper()]
    if upload:
        command += ["-T", "FILE"]
    if re.search(r"[\[{]", request["path"]):
        command.append("-g")  # else curl takes brackets for a range
    command.append(base_url + request["path"])
    return request, _wrap(command)


def _fill(name: str, example: Schema) -> str:
    """Return a path's parameter; where no value would work for everybody, its name in braces."""
    return quote(str(example[name])) if name in example else f"{{{name}}}"


def _repeated(value: Any) -> list[Any]:
    """Return what stands under one name each: the items of a list that have commas themselves."""
    is_list = isinstance(value, list) and any(
        "," in item for item in value if isinstance(item, str)
    )
    return value if is_list else [value]


def _quote_value(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        text = ",".join(map(str, value))
    else:
        text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return quote(text, safe=",:@*~|/")


def _wrap(command: list[str]) -> str:
    """Return a shell command, one option a line."""
    lines = [command[0]]
    words = [shlex.quote(word) for word in command[1:]]
    while words:
        width = 2 if words[0] in ("-H", "-d", "-g", "-X", "-T") else 1
        lines.append("  " + " ".join(words[:width]))
        words = words[width:]
    return " \\\n".join(lines)


def _anchor(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
