"""Schemas of answers, as short as the documentation that they are written from."""

from __future__ import annotations

from typing import Any


def check(value: Any, schema: Any, path: str = "answer") -> None:
    """Hold a value against a schema: types, lists of one kind, and members of objects.

    A member whose name ends with `?` may be left out.
    """
    if isinstance(schema, dict):
        assert isinstance(value, dict), path
        for name, inner in schema.items():
            if name.endswith("?") and name[:-1] not in value:
                continue
            assert name.rstrip("?") in value, f"{path} lacks {name}: {sorted(value)}"
            check(value[name.rstrip("?")], inner, f"{path}.{name}")
    elif isinstance(schema, list):
        assert isinstance(value, list), path
        for index, item in enumerate(value):
            check(item, schema[0], f"{path}[{index}]")
    elif isinstance(schema, frozenset):
        assert value in schema, f"{path} is {value!r}"
    else:
        kinds = (int, float) if schema is float else schema
        assert isinstance(value, kinds), f"{path} is {value!r}"


#: Values of every type, in place of each member: an engine must not get them.
WRONG = (-1, 1e308, 0.5, "x", True, [], {}, [[]], [1], [{}], [[1, 2], [3, 4]], {"a": 1}, None)
