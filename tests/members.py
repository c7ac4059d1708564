"""Schemas of answers, as short as the documentation that they are written from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

#: Marks behind the name of a member: it may be left out, but where it is due it is there (so that
#: one of the answers asked for has it); it depends on what the map holds; it is documented by the
#: original and not given here, which the page in docs/switch says with the reason.
WHERE_DUE, WHERE_MAPPED, NOT_GIVEN = "?", "~", "-"
_MARKS = WHERE_DUE + WHERE_MAPPED + NOT_GIVEN


def check(value: Any, schema: Any, path: str = "answer", seen: set[str] | None = None) -> None:
    """Hold a value against a schema: types, lists of one kind, and members of objects.

    `"*"` as the only name stands for any names. Members that are there go into `seen`.
    """
    if isinstance(schema, dict):
        assert isinstance(value, dict), path
        if set(schema) == {"*"}:
            schema = dict.fromkeys(value, schema["*"])
        for marked, inner in schema.items():
            name, mark = _part(marked)
            where = f"{path}.{name}"
            if mark == NOT_GIVEN:
                assert name not in value, f"{where} is given, and documented as not given"
                continue
            if mark and name not in value:
                continue
            assert name in value, f"{path} lacks {name}: {sorted(value)}"
            if seen is not None:
                seen.add(where)
            check(value[name], inner, where, seen)
    elif isinstance(schema, list):
        assert isinstance(value, list), path
        for item in value:
            check(item, schema[0], f"{path}[]", seen)
    elif isinstance(schema, frozenset):
        assert value in schema, f"{path} is {value!r}"
    elif schema is not None:
        kinds = (int, float) if schema is float else schema
        assert isinstance(value, kinds), f"{path} is {value!r}"


def list_members(schema: Any, mark: str, path: str = "answer") -> Iterator[str]:
    """Yield the paths of the members with a mark."""
    if isinstance(schema, dict):
        for marked, inner in schema.items():
            name, own = _part(marked)
            if own == mark:
                yield f"{path}.{name}"
            if own in ("", mark, WHERE_DUE):
                yield from list_members(inner, mark, f"{path}.{name}")
    elif isinstance(schema, list):
        yield from list_members(schema[0], mark, f"{path}[]")


def _part(marked: str) -> tuple[str, str]:
    if len(marked) > 1 and marked[-1] in _MARKS:
        return marked[:-1], marked[-1]
    return marked, ""


#: Values of every type, in place of each member: an engine must not get them.
WRONG: tuple[Any, ...] = (
    -1,
    1e308,
    0.5,
    "x",
    True,
    [],
    {},
    [[]],
    [1],
    [{}],
    [[1, 2], [3, 4]],
    {"a": 1},
    None,
)
