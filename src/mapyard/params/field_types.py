"""From an annotation to msgspec's description of its type.

Unlike msgspec itself this takes bounds written outside a union with None, as in
`Annotated[float | None, Meta(gt=0)]`, and leaves structs inside structs to their own parser.
"""

from __future__ import annotations

import types
from typing import Annotated, Any, Final, NamedTuple, TypeAliasType, Union, get_args, get_origin

import msgspec
import msgspec.inspect as mi

_BOUNDS: Final = ("gt", "ge", "lt", "le", "multiple_of", "pattern", "min_length", "max_length")


class FieldType(NamedTuple):
    """A type without Annotated and None around it, and what was said there."""

    node: mi.Type
    nullable: bool
    description: str
    examples: tuple[Any, ...]
    extra: dict[str, Any]


def describe_type(annotation: Any) -> FieldType:
    """Return the description of a field's annotation."""
    metas: list[msgspec.Meta] = []
    node, nullable = _translate(annotation, metas)
    extra: dict[str, Any] = {}
    for meta in metas:
        extra.update(meta.extra or {})
    description = next((meta.description for meta in metas if meta.description), "")
    examples = next((tuple(meta.examples) for meta in metas if meta.examples), ())
    return FieldType(node, nullable, description, examples, extra)


def _translate(annotation: Any, metas: list[msgspec.Meta]) -> tuple[mi.Type, bool]:
    """Return the node and whether None is allowed; `metas` collects what is found outside it."""
    if isinstance(annotation, TypeAliasType):
        return _translate(annotation.__value__, metas)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        metas.extend(item for item in arguments[1:] if isinstance(item, msgspec.Meta))
        return _translate(arguments[0], metas)
    if origin in (Union, types.UnionType):
        members = [member for member in arguments if member is not types.NoneType]
        nullable = len(members) < len(arguments)
        if len(members) == 1:
            return _translate(members[0], metas)[0], nullable
        return mi.UnionType(tuple(_translate(member, [])[0] for member in members)), nullable
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return mi.StructType(annotation, ()), False
    bounds = {
        name: getattr(meta, name)
        for meta in metas
        for name in _BOUNDS
        if getattr(meta, name) is not None
    }
    if origin is list or (origin is tuple and arguments[1:] == (...,)):
        item = describe_type(arguments[0])
        kind = mi.ListType if origin is list else mi.VarTupleType
        extra = item.extra | ({"nullable": True} if item.nullable else {})
        return kind(mi.Metadata(item.node, extra=extra), **bounds), False
    return mi.type_info(
        Annotated[annotation, msgspec.Meta(**bounds)] if bounds else annotation
    ), False
