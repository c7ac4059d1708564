"""Parsing of values: the expressions of `if:`, `for`, `make` and `convert`."""

from __future__ import annotations

from typing import Final, NamedTuple

from mapyard.overpass.parse.cursor import Cursor, suggest
from mapyard.overpass.parse.lexer import NUMBER, STRING, WORD, decode_string
from mapyard.overpass.parse.syntax import (
    Assignment,
    Call,
    GenericValue,
    Literal,
    Operation,
    SetProperty,
    TagValue,
    Ternary,
    Value,
)

#: What a value may depend on: a set as a whole, one element, or one member of an element.
SET, ELEMENT, MEMBER = 0, 1, 2


class Function(NamedTuple):
    """How a function may be called: number of arguments, and the least context it needs."""

    least: int
    most: int
    context: int = SET


FUNCTIONS: Final[dict[str, Function]] = {
    **{
        name: Function(0, 0, ELEMENT)
        for name in (
            "id", "type", "version", "timestamp", "changeset", "uid", "user", "is_closed", "geom",
            "length", "lat", "lon", "count_tags", "count_members", "count_distinct_members", "keys",
        )
    },
    "is_tag": Function(1, 1, ELEMENT),
    "count_by_role": Function(1, 1, ELEMENT),
    "count_distinct_by_role": Function(1, 1, ELEMENT),
    "per_member": Function(1, 1, ELEMENT),
    "per_vertex": Function(1, 1, ELEMENT),
    **{name: Function(0, 0, MEMBER) for name in ("pos", "mtype", "ref", "role", "angle")},
    **{
        name: Function(1, 1)
        for name in (
            "number", "is_number", "suffix", "abs", "date", "is_date", "center", "trace", "hull",
            "lrs_min", "lrs_max",
        )
    },
    **{name: Function(2, 2) for name in ("lrs_in", "lrs_isect", "lrs_union", "pt")},
    "lstr": Function(2, 100_000),
    "poly": Function(1, 100_000),
    "count": Function(1, 1),
    **{name: Function(1, 1) for name in ("u", "set", "min", "max", "sum", "gcat")},
}  # fmt: skip
#: Functions that loop over a set: their argument is evaluated per element.
AGGREGATORS: Final = frozenset({"u", "set", "min", "max", "sum", "gcat"})
COUNTABLE: Final = ("nodes", "ways", "relations", "deriveds", "nwr", "nw", "wr", "nr")
_PER_ELEMENT_COUNTS: Final = {
    "tags": "count_tags()",
    "members": "count_members()",
    "distinct_members": "count_distinct_members()",
}
_PRIORITY: Final = {
    "||": 5, "&&": 6, "==": 7, "!=": 7, "<": 8, "<=": 8, ">": 8, ">=": 8, "+": 10, "-": 10,
    "*": 11, "/": 11, "%": 11,
}  # fmt: skip
_TERNARY: Final = 3
_UNARY: Final = 13
#: Longest chain of unequal operators; equal ones are one operation.
_MAX_HEIGHT: Final = 200


def parse_value(cursor: Cursor, context: int, priority: int = 0) -> Value:
    """Parse a value of operators that bind at least as strongly as `priority`."""
    cursor.enter()
    value = _parse_operand(cursor, context)
    while cursor.token.kind == "mark":
        operator = cursor.token.text
        at = cursor.token.at
        if operator == "?" and priority <= _TERNARY:
            cursor.advance()
            then = parse_value(cursor, context)
            cursor.expect(":", "a condition is written: test ? value : other value")
            otherwise = parse_value(cursor, context, _TERNARY)
            value = Ternary(condition=value, then=then, otherwise=otherwise, at=at)
            continue
        strength = _PRIORITY.get(operator)
        if strength is None or strength < priority:
            break
        cursor.advance()
        operands = [value, parse_value(cursor, context, strength + 1)]
        while cursor.at(operator):
            cursor.advance()
            operands.append(parse_value(cursor, context, strength + 1))
        value = Operation(operator=operator, operands=tuple(operands), at=at)
        if _height(value) > _MAX_HEIGHT:
            cursor.fail("this expression is too long", "split it into several filters", at)
    cursor.leave()
    return value


def _height(value: Value) -> int:
    """Return the length of the chain of first operands: what a loop of mixed operators builds."""
    height = 0
    while isinstance(value, Operation):
        value = value.operands[0]
        height += 1
    return height


def _parse_operand(cursor: Cursor, context: int) -> Value:
    token = cursor.token
    at = token.at
    if token.kind == STRING:
        return Literal(text=decode_string(cursor.advance().text), at=at)
    if token.kind == NUMBER:
        return Literal(text=cursor.advance().text, at=at)
    if token.kind == WORD:
        return _parse_name(cursor, context)
    if cursor.at("!", "-"):
        cursor.advance()
        operand = parse_value(cursor, context, _UNARY)
        return Operation(operator=token.text, operands=(operand,), at=at)
    if cursor.take("::"):
        return GenericValue(at=at)
    if not cursor.at("("):
        hint = "compare with == or !=" if cursor.at("=", "~") else ""
        cursor.fail(f"a value expected, found {cursor.found()}", hint)
    cursor.advance()
    value = parse_value(cursor, context)
    cursor.expect(")")
    return value


def _parse_name(cursor: Cursor, context: int) -> Value:
    token = cursor.advance()
    if token.text == "t" and cursor.take("["):
        _need(cursor, "t[…]", ELEMENT, context, token.at)
        key = parse_value(cursor, context)
        cursor.expect("]")
        return TagValue(key=key, at=token.at)
    if cursor.at("("):
        return _parse_call(cursor, token.text, None, context, token.at)
    if cursor.at(".") and cursor.ahead().kind == WORD:
        cursor.advance()
        name = cursor.advance()
        if cursor.at("("):
            return _parse_call(cursor, name.text, token.text, context, name.at)
        if name.text != "val":
            cursor.fail(
                f"unknown property '{name.text}' of a set", "a for loop's value is set.val", name.at
            )
        return SetProperty(source=token.text, name=name.text, at=token.at)
    return Literal(text=token.text, at=token.at)


def _parse_call(cursor: Cursor, name: str, source: str | None, context: int, at: int) -> Value:
    function = FUNCTIONS.get(name)
    if function is None:
        cursor.fail(f"unknown function '{name}'", suggest(name, FUNCTIONS), at)
    is_aggregator = name in AGGREGATORS
    if source is not None and not is_aggregator and name != "count":
        cursor.fail(f"{name}() works on one element, not on a set", f"write {name}()", at)
    _need(cursor, f"{name}()", function.context, context, at)
    inner = ELEMENT if is_aggregator else context
    if name in ("per_member", "per_vertex"):
        inner = MEMBER
    cursor.expect("(")
    arguments: list[Value] = []
    while not cursor.at(")"):
        if arguments:
            cursor.expect(",")
        arguments.append(parse_value(cursor, inner))
    cursor.expect(")")
    if not function.least <= len(arguments) <= function.most:
        wanted = "no argument" if function.most == 0 else f"{function.least} argument(s)"
        cursor.fail(f"{name}() takes {wanted}, not {len(arguments)}", at=at)
    if name == "count":
        _check_count(cursor, arguments[0])
    return Call(name=name, arguments=tuple(arguments), source=source, at=at)


def _check_count(cursor: Cursor, argument: Value) -> None:
    word = argument.text if isinstance(argument, Literal) else ""
    if word not in COUNTABLE:
        hint = _PER_ELEMENT_COUNTS.get(word)
        cursor.fail(
            "count() takes one of " + ", ".join(COUNTABLE),
            f"write {hint}" if hint else suggest(word, COUNTABLE),
            argument.at,
        )


def _need(cursor: Cursor, what: str, needed: int, context: int, at: int) -> None:
    if needed <= context:
        return
    if needed == MEMBER:
        cursor.fail(f"{what} needs a member", f"use it in per_member({what})", at)
    cursor.fail(f"{what} needs an element", f"wrap it: set({what}) or sum({what})", at)


def parse_assignments(cursor: Cursor, *, per_element: bool) -> tuple[Assignment, ...]:
    """Parse `key=value, ::=::, ::id=value, !key` up to `;` or `->`; may be empty."""
    assignments: list[Assignment] = []
    context = ELEMENT if per_element else SET
    seen: set[tuple[str, str]] = set()
    while not cursor.at(";", "->"):
        if assignments:
            cursor.expect(",", "assignments are separated by commas")
        assignment = _parse_assignment(cursor, context)
        kind = "tag" if assignment.kind == "drop" else assignment.kind
        if (kind, assignment.key) in seen:
            cursor.fail(f"'{assignment.key or '::' + kind}' is set twice", at=assignment.at)
        seen.add((kind, assignment.key))
        assignments.append(assignment)
    return tuple(assignments)


def _parse_assignment(cursor: Cursor, context: int) -> Assignment:
    at = cursor.token.at
    if cursor.take("!"):
        return Assignment(kind="drop", key=cursor.read_text("key"), at=at)
    if cursor.take("::"):
        if cursor.token.kind == WORD:
            kind = cursor.advance().text
            if kind not in ("id", "geom"):
                cursor.fail(f"unknown property '::{kind}'", "::id and ::geom can be set", at)
            cursor.expect("=")
            return Assignment(kind=kind, value=parse_value(cursor, context), at=at)
        if context < ELEMENT:
            cursor.fail("make needs a set before ::", "write set::=u(t[…]) or _::=…", at)
        cursor.expect("=")
        return Assignment(kind="generic", value=parse_value(cursor, context), at=at)
    if cursor.token.kind == WORD and cursor.ahead().text == "::":
        source = cursor.advance().text
        cursor.advance()
        cursor.expect("=")
        return Assignment(kind="generic", source=source, value=parse_value(cursor, context), at=at)
    if cursor.token.kind == STRING:
        key = decode_string(cursor.advance().text)
    else:
        key = cursor.read_text("key")
    cursor.expect("=", "an assignment is written: key = value")
    return Assignment(kind="tag", key=key, value=parse_value(cursor, context), at=at)
