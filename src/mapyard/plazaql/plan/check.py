"""What can be said of a query before it runs: names, arguments, the order of methods.

`bind` gives the arguments of a call by name. Everything that is wrong is said with line, column and
what to write instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from functools import lru_cache
from typing import NamedTuple

from mapyard.errors import InvalidQuery
from mapyard.plazaql.parse.parser import parse
from mapyard.plazaql.parse.syntax import (
    Argument,
    Assignment,
    At,
    Attribute,
    Binary,
    Call,
    Expression,
    Items,
    Method,
    Program,
    TagTest,
    Unary,
    Variable,
)
from mapyard.plazaql.plan.signatures import (
    AGGREGATES,
    DIRECTIVES,
    FUNCTIONS,
    METHODS,
    OF_ELEMENTS,
    Phase,
    Signature,
)


class Bound(NamedTuple):
    """The arguments of a call: by name, the further ones, and tag filters."""

    named: dict[str, Expression]
    rest: list[Expression]
    filters: list[Argument]


def fail(at: At, message: str, hint: str = "") -> InvalidQuery:
    """Return the error for a place in the query."""
    return InvalidQuery.at(message, *at, hint)


@lru_cache(maxsize=256)
def read_program(text: str) -> Program:
    """Return the statements of a text, checked; a query is asked for page by page."""
    program = parse(text)
    check(program)
    return program


def check(program: Program) -> None:
    """Raise InvalidQuery for the first thing in a query that cannot run."""
    known: set[str] = set()
    has_output = False
    for statement in program.statements:
        if not isinstance(statement, Assignment):
            if statement.name not in DIRECTIVES:
                raise fail(
                    statement.at, f"#{statement.name} is not a directive",
                    _guess(statement.name, DIRECTIVES) or f"there are {', '.join(DIRECTIVES)}",
                )  # fmt: skip
            bind(METHODS[statement.name], statement.name, statement.arguments, statement.at)
            for argument in statement.arguments:
                _check_value(argument.value, known)
            continue
        _check_value(statement.value, known)
        target = statement.target
        has_output |= target is None or target.is_output
        if target is None:
            continue
        if str(target) in known and (target.name or not target.is_output):
            raise fail(target.at, f"{target} has a value already", "use another name")
        known.add(str(target))
    if not has_output:
        last = program.statements[-1]
        raise fail(last.at, "the query has no output", "end it with an expression: $area;")


def find_calls(program: Program) -> Iterator[Call | Method]:
    """Yield all calls of functions and of methods in a query."""
    for statement in program.statements:
        values: list[Expression | TagTest] = (
            [statement.value]
            if isinstance(statement, Assignment)
            else [argument.value for argument in statement.arguments]
        )
        for value in values:
            yield from (node for node in _walk(value) if isinstance(node, Call | Method))


def _check_value(value: Expression | TagTest, known: set[str]) -> None:
    for node in _walk(value):
        if isinstance(node, Variable) and str(node) not in known:
            kind = "output" if node.is_output else "variable"
            close = get_close_matches(str(node), known, 1)
            raise fail(
                node.at, f"there is no {kind} {node}",
                f"did you mean {close[0]}?" if close else f"assign it first: {node} = …;",
            )  # fmt: skip
        if isinstance(node, Call):
            _check_call(node)
        elif isinstance(node, Method):
            _check_method(node)


def _check_call(call: Call) -> None:
    count = OF_ELEMENTS.get(call.name)
    if count is not None and len(call.arguments) == count:
        if any(argument.key for argument in call.arguments):
            raise fail(call.at, f"{call.name}() takes no names")
        return
    if call.name in FUNCTIONS:
        bind(FUNCTIONS[call.name], call.name, call.arguments, call.at)
        return
    if count is not None:
        raise fail(call.at, f"{call.name}() takes {count} values, got {len(call.arguments)}")
    names = (*FUNCTIONS, *OF_ELEMENTS)
    hint = _guess(call.name, names)
    if not hint and call.name in METHODS:
        hint = f"it is a method: search(…).{call.name}(…)"
    raise fail(call.at, f"there is no function {call.name}", hint)


def _check_method(method: Method) -> None:
    signature = METHODS.get(method.name)
    if signature is None:
        raise fail(method.at, f"there is no method .{method.name}()", _guess(method.name, METHODS))
    bind(signature, method.name, method.arguments, method.at)
    before = method.receiver
    if not isinstance(before, Method) or before.name not in METHODS:
        return
    earlier = METHODS[before.name].phase
    if before.name == "group_by":
        if method.name not in AGGREGATES:
            raise fail(method.at, f".{method.name}() cannot follow .group_by()",
                       f"follow it by one of {', '.join(AGGREGATES)}")  # fmt: skip
    elif earlier == Phase.LAST:
        raise fail(method.at, f".{method.name}() cannot follow .{before.name}(), which is the last",
                   f"move .{before.name}() to the end")  # fmt: skip
    elif signature.phase < earlier:
        raise fail(
            method.at, f".{method.name}() cannot follow .{before.name}()",
            f"move .{before.name}() after .{method.name}()",
        )  # fmt: skip


def bind(signature: Signature, name: str, arguments: tuple[Argument, ...], at: At) -> Bound:
    """Return the arguments of a call by the names of its parameters; raise InvalidQuery."""
    named: dict[str, Expression] = {}
    rest: list[Expression] = []
    filters: list[Argument] = []
    takes_filters = "**" in signature.parameters
    takes_rest = "*" in signature.parameters
    names = signature.names
    place = 0
    for argument in arguments:
        value = argument.value
        if argument.key and argument.key in names and not isinstance(value, TagTest):
            if argument.key in named:
                raise fail(argument.at, f"{argument.key} is given twice")
            named[argument.key] = value
        elif argument.key or argument.is_pattern:
            if not takes_filters:
                known = f"it takes {', '.join(names)}" if names else "it takes no names"
                raise fail(argument.at, f"{name}() has no parameter {argument.key}",
                           _guess(argument.key, names) or known)  # fmt: skip
            filters.append(argument)
        elif isinstance(value, TagTest):
            raise fail(argument.at, f"{name}() takes a value here")
        elif takes_rest and (not names or place >= len(signature.required)):
            rest.append(value)
        elif place < len(names):
            if names[place] in named:
                raise fail(argument.at, f"{names[place]} is given twice")
            named[names[place]] = value
            place += 1
        elif takes_filters:
            rest.append(value)
        else:
            raise fail(argument.at, f"{name}() takes {len(names)} values at most")
    missing = [parameter for parameter in signature.required if parameter not in named]
    if missing:
        raise fail(at, f"{name}() needs {missing[0]}", f"write {name}({', '.join(names)})")
    return Bound(named, rest, filters)


def _walk(value: Expression | TagTest) -> Iterator[Expression]:
    """Yield a value and all values in it."""
    if isinstance(value, TagTest):
        return
    yield value
    match value:
        case Call(_, arguments):
            for argument in arguments:
                yield from _walk(argument.value)
        case Method(receiver, _, arguments):
            yield from _walk(receiver)
            for argument in arguments:
                yield from _walk(argument.value)
        case Binary(_, left, right):
            yield from _walk(left)
            yield from _walk(right)
        case Unary(_, operand):
            yield from _walk(operand)
        case Items(items):
            for item in items:
                yield from _walk(item)
        case Attribute(variable):
            yield variable


def _guess(name: str, known: object) -> str:
    close = get_close_matches(name, list(known), 1)  # type: ignore[call-overload] # names
    return f"did you mean {close[0]}?" if close else ""
