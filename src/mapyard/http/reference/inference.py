"""The schema of an answer that was recorded: for the forms of other services.

What they answer is documented by those services; a schema made of a real answer is right for their
members and types, and leaves open what else there may be.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any, Final

from mapyard.http.reference.schemas import Schema, ref

#: Objects with more members than this, all of one kind, are maps.
_MOST_MEMBERS: Final = 20
_GEOMETRIES: Final = (
    "Point", "LineString", "Polygon", "MultiPoint", "MultiLineString", "MultiPolygon",
)  # fmt: skip


def infer_schema(value: Any) -> Schema:
    """Return the schema of a value: types of members, none of them required."""
    if isinstance(value, bool):
        return {"type": "boolean"}
    if isinstance(value, int | float):
        return {"type": "number"}
    if isinstance(value, str):
        return {"type": "string"}
    if isinstance(value, list):
        return {"type": "array", "items": _merge_all(map(infer_schema, value))}
    if isinstance(value, dict):
        if value.get("type") in _GEOMETRIES and "coordinates" in value:
            return ref("GeoJsonGeometry")
        members = {name: infer_schema(item) for name, item in value.items()}
        if len(members) > _MOST_MEMBERS and len({str(kind) for kind in members.values()}) == 1:
            return {"type": "object", "additionalProperties": next(iter(members.values()))}
        return {"type": "object", "properties": members, "additionalProperties": True}
    return {}


def _merge_all(schemas: Iterable[Schema]) -> Schema:
    found = list(schemas)
    return reduce(_merge, found) if found else {}


def _merge(one: Schema, other: Schema) -> Schema:
    """Return a schema for both: the members of either, and nothing about what they differ in."""
    if one == other:
        return one
    if one.get("type") != other.get("type") or "$ref" in one or "$ref" in other:
        return {}
    if one.get("type") == "array":
        return {"type": "array", "items": _merge(one["items"], other["items"])}
    mine, theirs = one.get("properties", {}), other.get("properties", {})
    return {
        "type": "object",
        "properties": {
            name: _merge(mine[name], theirs[name])
            if name in mine and name in theirs
            else mine.get(name, theirs.get(name))
            for name in {**mine, **theirs}
        },
        "additionalProperties": True,
    }
