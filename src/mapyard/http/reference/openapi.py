"""The OpenAPI 3.1 document, made from the endpoints' parameter structs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
import msgspec.inspect as mi

from mapyard.http.answer import JSON
from mapyard.http.endpoints import Endpoint
from mapyard.http.reference.answers import read_answers
from mapyard.http.reference.error_codes import CODES_BY_NAME, COMMON_CODES
from mapyard.http.reference.inference import infer_schema
from mapyard.http.reference.schemas import SCHEMAS, Schema, ref
from mapyard.params.parser import Bbox, Field, Geometry, Position, Positions, Tags, parser_of
from mapyard.version import __version__

DESCRIPTION: Final = """\
Geocoding, routing, feature search, query languages and vector tiles over OpenStreetMap data.

Every path below `/api` needs an API key. Parameters of a POST may come in the JSON body and in the
query string, the body wins. Every position may be written as a GeoJSON Point, `{"lat": .., "lng":
..}`, `[lng, lat]` or the text `lat,lng`. Data © OpenStreetMap contributors (ODbL)."""

_LAT: Final = {"type": "number", "minimum": -90, "maximum": 90}
_LNG: Final = {"type": "number", "minimum": -180, "maximum": 180}
_POSITION: Final = {"oneOf": [ref("Point"), ref("LatLng")]}
#: Schemas of answers whose type says what they are.
_BY_MEDIA_TYPE: Final = {
    "application/sparql-results+json": "SparqlJson", "application/ld+json": "Object",
}  # fmt: skip
#: Pages of tags whose name is not the page's.
_PAGES: Final = {
    "Features": "/docs/features", "Search": "/docs/search", "Geocoding": "/docs/geocoding",
    "Routing": "/docs/routing", "Elevation": "/docs/elevation", "Tiles": "/docs/tiles",
    "Query languages": "/docs/overpass and /docs/sparql",
}  # fmt: skip
#: msgspec's names of bounds → JSON schema's.
_Bounds = tuple[tuple[str, str], ...]
_NUMBER_BOUNDS: Final[_Bounds] = (
    ("ge", "minimum"),
    ("gt", "exclusiveMinimum"),
    ("le", "maximum"),
    ("lt", "exclusiveMaximum"),
)
_TEXT_BOUNDS: Final[_Bounds] = (
    ("min_length", "minLength"),
    ("max_length", "maxLength"),
    ("pattern", "pattern"),
)
_LIST_BOUNDS: Final[_Bounds] = (("min_length", "minItems"), ("max_length", "maxItems"))
_HEADERS: Final = {
    "X-Request-Id": ("id of the request, as in the server's log", "string"),
    "X-RateLimit-Limit": ("requests a minute of the plan", "integer"),
    "X-RateLimit-Remaining": ("requests left in this minute", "integer"),
    "X-RateLimit-Reset": ("when more will be left, Unix seconds", "integer"),
    "X-Dataset-Timestamp": (
        "time of the data that the answer is made of, ISO 8601; of ways it is that of the roads",
        "string",
    ),
}
_KEY_SCHEMES: Final = {
    "ApiKeyHeader": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    "Bearer": {"type": "http", "scheme": "bearer"},
    "ApiKeyQuery": {
        "type": "apiKey",
        "in": "query",
        "name": "api_key",
        "description": "not recommended for production: keys can appear in logs",
    },
}


def build_openapi(endpoints: Iterable[Endpoint], base_url: str = "") -> Schema:
    """Return the document of these endpoints."""
    paths: dict[str, Schema] = {}
    tags: list[str] = []
    for endpoint in endpoints:
        if not endpoint.tag:
            continue
        if endpoint.tag not in tags:
            tags.append(endpoint.tag)
        for path in endpoint.paths:
            for method in endpoint.methods:
                operation = _operation(endpoint, path, method)
                paths.setdefault(path, {})[method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Mapyard",
            "version": __version__,
            "description": DESCRIPTION,
            "license": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": base_url or "/"}],
        "tags": [{"name": tag, "description": f"See {_PAGES.get(tag, '/docs')}."} for tag in tags],
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": _KEY_SCHEMES,
            "headers": {
                name: {"description": text, "schema": {"type": kind}}
                for name, (text, kind) in _HEADERS.items()
            },
        },
    }


_BINARY: Final = {"type": "string", "format": "binary"}
#: Paths that without /api/v1 would be called like another one.
_SHORT_PATHS: Final = {"/sparql": "sparql_protocol"}


def operation_id(path: str, method: str) -> str:
    """Return a stable name for an operation."""
    short = _SHORT_PATHS.get(path, path.removeprefix("/api/v1"))
    words = re.findall(r"[a-zA-Z0-9]+", short)
    return "_".join([method.lower(), *words])


def _operation(endpoint: Endpoint, path: str, method: str) -> Schema:
    fields = endpoint.parser.fields
    operation: Schema = {
        "operationId": operation_id(path, method),
        "summary": endpoint.summary,
        "description": endpoint.description,
        "tags": [endpoint.tag],
        "security": [] if endpoint.public else [{name: []} for name in _KEY_SCHEMES],
    }
    if path in endpoint.aliases:
        operation["deprecated"] = True
        operation["description"] = f"Another path of {endpoint.path}. {endpoint.description}"
    if endpoint.premium:
        operation["x-premium"] = True
    in_path = re.findall(r"{(\w+)}", path)
    in_query = method in ("GET", "DELETE") or endpoint.upload is not None
    parameters = [
        parameter
        for field in fields
        if in_query or field.name in in_path
        for parameter in _parameters(field, in_path)
    ]
    if parameters:
        operation["parameters"] = parameters
    if endpoint.upload is not None:
        operation["x-upload"] = True
        operation["requestBody"] = {
            "required": True,
            "content": {"application/octet-stream": {"schema": _BINARY}},
        }
    elif method in ("POST", "PUT", "PATCH"):
        in_body = [field for field in fields if field.name not in in_path]
        if in_body:
            operation["requestBody"] = _request_body(endpoint, in_body)
    if endpoint.examples:
        operation["x-example"] = dict(endpoint.examples[0].params)
    operation["responses"] = _responses(endpoint, method)
    return operation


def _parameters(field: Field, in_path: list[str]) -> list[Schema]:
    """Return the query or path parameters of a field; a nested struct has one per member."""
    if field.name in in_path:
        return [_parameter(field, "path", required=True)]
    if field.pair:
        text = field.description
        need = f"; needed unless {field.name} is given" if field.required else ""
        return [
            *(
                {
                    "name": name,
                    "in": "query",
                    "schema": schema,
                    "description": f"{word}, {text}{need}",
                }
                for name, schema, word in (("lat", _LAT, "latitude"), ("lng", _LNG, "longitude"))
            ),
            _parameter(field, "query", required=False),
        ]
    if isinstance(field.type, mi.StructType):
        found = [
            _parameter(inner, "query", required=False, name=f"{field.name}[{inner.name}]")
            for inner in parser_of(field.type.cls).fields
        ]
        for parameter in found:
            # Clients send defaults, and one member makes the object, whose others may be required.
            schema = parameter["schema"]
            if "default" in schema:
                schema["x-default"] = schema.pop("default")
        return found
    return [_parameter(field, "query", required=field.required)]


def _parameter(field: Field, where: str, *, required: bool, name: str = "") -> Schema:
    parameter: Schema = {
        "name": name or field.name,
        "in": where,
        "required": required,
        "description": describe_field(field),
        "schema": _text_schema(field),
    }
    if getattr(field.type, "cls", None) is Tags:
        parameter |= {"style": "deepObject", "explode": True}
    elif isinstance(field.type, mi.ListType | mi.VarTupleType):
        parameter |= {"style": "form", "explode": False}
    return parameter


def describe_field(field: Field) -> str:
    """Return the description, with other names under which the parameter may come."""
    others = [name for name in field.names if name != field.name]
    also = f" (also as {', '.join(others)})" if others else ""
    return f"{field.description}{also}"


def _text_schema(field: Field) -> Schema:
    """Return the schema of a value in a query string."""
    cls = getattr(field.type, "cls", None)
    if cls is Position:
        return {"type": "string", "description": "lat,lng", "examples": ["43.7384,7.4246"]}
    if cls is Positions:
        order = "lng,lat|lng,lat" if field.extra.get("lng_first") else "lat,lng|lat,lng"
        return {"type": "string", "description": order}
    if cls is Geometry:
        return {"type": "string", "description": "GeoJSON geometry as text, or lat,lng"}
    if cls is Bbox:
        return {
            "type": "string",
            "description": "south,west,north,east",
            "examples": ["43.72,7.40,43.76,7.45"],
        }
    return _value_schema(field)


def _body_schema(field: Field) -> Schema:
    """Return the schema of a value in a JSON body."""
    cls = getattr(field.type, "cls", None)
    if cls is Position:
        schema: Schema = dict(_POSITION)
    elif cls is Positions:
        points = {"type": "array", "items": _POSITION}
        if field.extra.get("max_points"):
            points["maxItems"] = field.extra["max_points"]
        schema = {"oneOf": [ref("GeoJsonGeometry"), points]}
    elif cls is Geometry:
        schema = ref("GeoJsonGeometry")
    elif cls is Bbox:
        schema = {"type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 4}
    elif isinstance(field.type, mi.StructType):
        schema = _struct_schema(field.type.cls)
    else:
        schema = _value_schema(field)
    return {**schema, "description": describe_field(field)}


def _struct_schema(cls: type[msgspec.Struct]) -> Schema:
    fields = parser_of(cls).fields
    schema: Schema = {
        "type": "object",
        "properties": {field.name: _body_schema(field) for field in fields},
    }
    required = [field.name for field in fields if field.required]
    return {**schema, "required": required} if required else schema


def _value_schema(field: Field) -> Schema:
    schema = _type_schema(field.type)
    if field.examples:
        schema["examples"] = list(field.examples)
    if not field.required and isinstance(field.default, str | int | float | bool):
        schema["default"] = field.default
    return schema


def _type_schema(node: mi.Type) -> Schema:
    if isinstance(node, mi.Metadata):
        return _type_schema(node.type)
    if getattr(node, "cls", None) is Tags:
        return {"type": "object", "additionalProperties": {"type": "string"}}
    match node:
        case mi.BoolType():
            return {"type": "boolean"}
        case mi.IntType() | mi.FloatType():
            schema: Schema = {"type": "integer" if isinstance(node, mi.IntType) else "number"}
            names = _NUMBER_BOUNDS
        case mi.StrType():
            schema = {"type": "string"}
            names = _TEXT_BOUNDS
        case mi.LiteralType():
            return {"enum": list(node.values)}
        case mi.ListType() | mi.VarTupleType():
            schema = {"type": "array", "items": _type_schema(node.item_type)}
            names = _LIST_BOUNDS
        case mi.StructType():
            return _struct_schema(node.cls)
        case mi.DictType():
            return {"type": "object", "additionalProperties": True}
        case mi.UnionType():
            return {"anyOf": [_type_schema(kind) for kind in node.types]}
        case _:
            special = getattr(node, "cls", None)
            return dict(_POSITION) if special is Position else {}
    bounds = {name: getattr(node, attribute) for attribute, name in names}
    return schema | {name: bound for name, bound in bounds.items() if bound is not None}


def _request_body(endpoint: Endpoint, fields: list[Field]) -> Schema:
    properties: dict[str, Schema] = {}
    for field in fields:
        properties[field.name] = _body_schema(field)
    required = [field.name for field in fields if field.required and not field.pair]
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    content: dict[str, Schema] = {JSON: {"schema": schema}}
    if endpoint.examples:
        content[JSON]["example"] = dict(endpoint.examples[0].params)
    for media_type in endpoint.texts:
        if media_type != "*":
            content[media_type] = {"schema": {"type": "string"}}
    return {"content": content, "required": bool(required)}


def _responses(endpoint: Endpoint, method: str) -> dict[str, Schema]:
    responses: dict[str, Schema] = {
        "200": {
            "description": "The answer.",
            "headers": _header_schemas(endpoint.headers),
            "content": {
                media_type: _content(endpoint, media_type, method)
                for media_type in endpoint.media_types
            },
        }
    }
    codes = [*endpoint.errors, *(() if endpoint.public else COMMON_CODES)]
    if endpoint.refused:
        codes.append("validation_failed")
    by_status: dict[int, list[str]] = {}
    for code in dict.fromkeys(codes):
        status = endpoint.statuses.get(code, CODES_BY_NAME[code].status)
        by_status.setdefault(status, []).append(code)
    for status, names in sorted(by_status.items()):
        text = "; ".join(f"`{name}`: {CODES_BY_NAME[name].when}" for name in names)
        responses[str(status)] = {
            "description": text,
            "headers": _header_schemas(
                {"Retry-After": "seconds to wait"} if status in (429, 503) else {}
            ),
            "content": {JSON: {"schema": ref("Error")}},
        }
    return responses


def _header_schemas(more: Mapping[str, str]) -> dict[str, Schema]:
    common = {name: {"$ref": f"#/components/headers/{name}"} for name in _HEADERS}
    return common | {
        name: {"description": text, "schema": {"type": "string"}} for name, text in more.items()
    }


def _content(endpoint: Endpoint, media_type: str, method: str) -> Schema:
    """Return the schema of an answer, and one that was recorded and shortened."""
    content = {"schema": _answer_schema(endpoint, media_type)}
    answer = read_answers().get(operation_id(endpoint.path, method))
    # It has the first form that is JSON where the answer is JSON, else the first.
    is_json = not isinstance(answer, str)
    fitting = [kind for kind in endpoint.media_types if _is_json(kind) == is_json]
    if answer is not None and fitting and media_type == fitting[0]:
        content["example"] = answer
        if content["schema"] == ref("Object"):
            content["schema"] = infer_schema(answer)
    return content


def _is_json(media_type: str) -> bool:
    return media_type.partition(";")[0].endswith("json")


def _answer_schema(endpoint: Endpoint, media_type: str) -> Schema:
    if not _is_json(media_type):
        return {"type": "string"}
    if media_type in _BY_MEDIA_TYPE:
        return ref(_BY_MEDIA_TYPE[media_type])
    schema = endpoint.schema
    if isinstance(schema, dict) and schema.get("format") == "binary":
        return ref("Object")
    if isinstance(schema, str):
        return ref(schema) if schema in SCHEMAS else ref("Object")
    if isinstance(schema, dict):
        return schema
    if isinstance(schema, type) and issubclass(schema, msgspec.Struct):
        return _struct_schema(schema)
    return ref("Object")
