"""From Python values to raw parameters: what a caller may hand to a question.

A position is (lon, lat), a shapely Point, a GeoJSON Point, {"lat": …, "lng": …} or "lat,lng".
Several are an array (n, 2), a sequence of positions, a LineString or MultiPoint. Anything with
`__geo_interface__` is a geometry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec.inspect as mi

from mapyard.library.question import Question
from mapyard.params.parser import Geometry, Position, Positions
from mapyard.params.raw import Raw


class HasGeometry(Protocol):
    """Anything that shapely, GeoPandas and their like call a geometry."""

    @property
    def __geo_interface__(self) -> Any:
        """Return the geometry as GeoJSON has it."""


type PositionLike = tuple[float, float] | Sequence[float] | Mapping[str, Any] | HasGeometry | str
type PositionsLike = Iterable[PositionLike] | Mapping[str, Any] | HasGeometry | str
type GeometryLike = Mapping[str, Any] | HasGeometry | tuple[float, float] | str
type BboxLike = tuple[float, float, float, float] | Sequence[float] | str
type TagValue = str | bool | int | float | Sequence[str]
type TagsLike = Mapping[str, TagValue] | Sequence[str] | str
type Texts = str | Sequence[str]
type Numbers = float | Sequence[float]


def read_values(question: Question, values: Mapping[str, Any]) -> Raw:
    """Return the raw parameters of a call; None and empty texts are left out."""
    names = {renamed: name for name, renamed in question.renamed.items()}
    classes = {field.name: getattr(field.type, "cls", None) for field in question.parser.fields}
    raw: Raw = {}
    for given, value in values.items():
        if value is None:
            continue
        name = names.get(given, given)
        cleaned = _clean(value)
        cls = classes.get(name)
        if _is_pair(cleaned):
            if cls is Geometry:
                cleaned = {"type": "Point", "coordinates": cleaned}
            elif cls is Positions:
                cleaned = [cleaned]
        if cls is Position and isinstance(cleaned, tuple):
            cleaned = list(cleaned)
        if question.name == "match" and name == "trace" and _is_file(cleaned):
            name, cleaned = "gpx", Path(cleaned).read_text(encoding="utf-8")
        if cleaned not in ("", [], {}):
            raw[name] = cleaned
    return raw


def _clean(value: Any) -> Any:
    """Return a value as JSON has it."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, Mapping):
        return {str(key): _clean(item) for key, item in value.items()}
    if hasattr(value, "__geo_interface__"):
        return _clean(value.__geo_interface__)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    if hasattr(value, "tolist"):  # numpy
        return value.tolist()
    if isinstance(value, Iterable):
        return [_clean(item) for item in value]
    return str(value)


def _is_pair(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(number, int | float) for number in value)
    )


def _is_file(value: Any) -> bool:
    return isinstance(value, str) and value.lower().endswith(".gpx")


def annotate(node: mi.Type, extra: Mapping[str, Any]) -> str:
    """Return the Python annotation of a parameter of a method, for generated code."""
    cls = getattr(node, "cls", None)
    named = {
        "Position": "PositionLike",
        "Positions": "PositionsLike",
        "Geometry": "GeometryLike",
        "Bbox": "BboxLike",
        "Tags": "TagsLike",
    }
    if cls is not None and cls.__name__ in named:
        return named[cls.__name__]
    match node:
        case mi.BoolType():
            return "bool"
        case mi.IntType():
            return "int"
        case mi.FloatType():
            return "float"
        case mi.StrType():
            return "str"
        case mi.LiteralType():
            return f"Literal[{', '.join(map(repr, node.values))}]"
        case mi.ListType() | mi.VarTupleType():
            item = node.item_type
            inner = item.type if isinstance(item, mi.Metadata) else item
            if isinstance(inner, mi.StrType | mi.LiteralType):
                return "Texts"
            return "Numbers" if isinstance(inner, mi.FloatType | mi.IntType) else "Sequence[Any]"
        case mi.StructType():
            return "Mapping[str, Any]"
    return "Any"


__all__ = [
    "BboxLike", "GeometryLike", "Literal", "Numbers", "PositionLike", "PositionsLike", "TagsLike",
    "Texts", "annotate", "read_values",
]  # fmt: skip
