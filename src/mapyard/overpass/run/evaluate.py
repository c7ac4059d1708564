"""Evaluation of values: over the elements of a set at once, or once for a statement."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mapyard.overpass.osm.rowsets import EMPTY_SET, KIND_TYPES, ElementSet
from mapyard.overpass.parse.syntax import (
    DEFAULT_SET,
    Call,
    GenericValue,
    Literal,
    Operation,
    SetProperty,
    TagValue,
    Ternary,
    Value,
)
from mapyard.overpass.run import geometry_functions as shapes_of
from mapyard.overpass.run.budget import Budget
from mapyard.overpass.run.columns import (
    Column,
    Numbers,
    Shapes,
    Texts,
    broadcast,
    calculate,
    choose,
    compare,
    constant,
    from_mask,
    from_texts,
    logical,
    map_pairs,
    map_texts,
    to_list,
    to_mask,
    to_numbers,
    to_texts,
    write_number,
)
from mapyard.overpass.run.items import (
    ELEMENT_COLUMNS,
    Items,
    expand_members,
    has_tag,
    key_lists,
    member_column,
    member_counts,
    tag_column,
)
from mapyard.overpass.run.texts import BINARY, UNARY, extreme
from mapyard.store.columns import find_place
from mapyard.store.distinct import distinct
from mapyard.store.reader import Store

MULTIPLE_VALUES = "< multiple values found >"
_COUNT_KINDS = {"nodes": "node", "ways": "way", "relations": "relation"}


@dataclass(frozen=True, slots=True)
class Scope:
    """What a value may refer to; `items` is None outside of elements."""

    store: Store
    sets: dict[str, ElementSet]
    loop_values: dict[str, str]
    budget: Budget
    items: Items | None = None
    generic_key: str | None = None

    def over(self, elements: ElementSet) -> Scope:
        """Return the scope of the elements of a set."""
        items = Items(self.store, elements.rows, elements.areas, elements.derived)
        return replace(self, items=items)

    @property
    def length(self) -> int:
        """Return the number of values that a column has here."""
        return 1 if self.items is None else self.items.count


def evaluate(value: Value, scope: Scope) -> Column:
    """Return the column of a value, of the scope's length or, where constant, of length 1."""
    match value:
        case Literal():
            return constant(value.text)
        case Operation():
            return _operate(value, scope)
        case Ternary():
            return choose(
                evaluate(value.condition, scope),
                evaluate(value.then, scope),
                evaluate(value.otherwise, scope),
                scope.length,
            )
        case TagValue():
            return _tag_value(evaluate(value.key, scope), scope)
        case GenericValue():
            key = scope.generic_key
            return constant("") if key is None else _tag_value(constant(key), scope)
        case SetProperty():
            return constant(scope.loop_values.get(value.source, ""))
        case Call():
            return _call(value, scope)


def evaluate_all(value: Value, scope: Scope) -> Column:
    """Return the column of a value, always of the scope's length."""
    return broadcast(evaluate(value, scope), scope.length)


def evaluate_one(value: Value, scope: Scope) -> str:
    """Return the text of a value that depends on no element."""
    texts = to_texts(evaluate(value, scope))
    return texts.values[int(texts.codes[0])] if len(texts) else ""


def _operate(value: Operation, scope: Scope) -> Column:
    scope.budget.check(scope.length * 24)
    first = evaluate(value.operands[0], scope)
    if len(value.operands) == 1:
        if value.operator == "!":
            return from_mask(~to_mask(first))
        return Numbers(-to_numbers(first))
    for operand in value.operands[1:]:
        other = evaluate(operand, scope)
        if value.operator in ("&&", "||"):
            first = logical(value.operator, first, other)
        elif value.operator in ("+", "-", "*", "/", "%"):
            first = calculate(value.operator, first, other)
        else:
            first = compare(value.operator, first, other)
    return first


def _tag_value(key: Column, scope: Scope) -> Column:
    if scope.items is None:
        return constant("")
    keys = to_texts(key)
    if len(keys) == 1 or len(keys.values) == 1:
        return tag_column(scope.items, keys.values[int(keys.codes[0])] if len(keys) else "")
    texts = np.full(scope.length, "", np.object_)
    for code, name in enumerate(keys.values):
        at = keys.codes == code
        if at.any():
            texts[at] = np.array(to_list(tag_column(scope.items, name)), np.object_)[at]
    return from_texts(texts.tolist())


def _call(call: Call, scope: Scope) -> Column:
    name, arguments = call.name, call.arguments
    if name in ("u", "set", "min", "max", "sum", "gcat", "count"):
        return _aggregate(call, scope)
    if name in UNARY:
        return map_texts(evaluate(arguments[0], scope), UNARY[name])
    if name in BINARY:
        first, second = (
            broadcast(evaluate(argument, scope), scope.length) for argument in arguments
        )
        return map_pairs(first, second, BINARY[name])
    if name in shapes_of.FUNCTIONS:
        columns = [broadcast(evaluate(argument, scope), scope.length) for argument in arguments]
        scope.budget.check(scope.length * 200)
        return shapes_of.FUNCTIONS[name](columns, scope.budget)
    items = scope.items
    assert items is not None  # the parser saw to it
    if name in ELEMENT_COLUMNS:
        scope.budget.check(items.count * 32)
        return ELEMENT_COLUMNS[name](items)
    if name == "is_tag":
        return from_mask(has_tag(items, evaluate_one(arguments[0], scope)))
    if name in ("count_by_role", "count_distinct_by_role"):
        role = evaluate_one(arguments[0], scope)
        return member_counts(items, role, distinct="distinct" in name)
    if name == "keys":
        scope.budget.check(items.count * 500)
        return from_texts([";".join(keys) for keys in key_lists(items)])
    if name in ("per_member", "per_vertex"):
        return _per_member(arguments[0], scope, items, inner_vertices=name == "per_vertex")
    return member_column(items, name)


def _per_member(argument: Value, scope: Scope, items: Items, *, inner_vertices: bool) -> Column:
    members = expand_members(items, inner_vertices=inner_vertices)
    assert members.members is not None
    scope.budget.check(members.count * 100)
    texts = to_list(evaluate_all(argument, replace(scope, items=members)))
    joined: list[list[str]] = [[] for _ in range(items.count)]
    for owner, text in zip(members.members.owner.tolist(), texts, strict=True):
        joined[owner].append(text)
    return from_texts([";".join(parts) for parts in joined])


def _aggregate(call: Call, scope: Scope) -> Column:
    elements = scope.sets.get(call.source or DEFAULT_SET, EMPTY_SET)
    if call.name == "count":
        argument = call.arguments[0]
        assert isinstance(argument, Literal)
        return Numbers(np.array([_count(scope.store, elements, argument.text)], np.float64))
    inner = scope.over(elements)
    column = evaluate_all(call.arguments[0], inner)
    if call.name == "gcat":
        return shapes_of.collect(column)
    if call.name == "sum":
        if not len(column):
            return Numbers(np.zeros(1))
        total = float(to_numbers(column).sum())
        return constant(write_number(round(total, 9)))
    if isinstance(column, Shapes):
        return constant("")
    texts = _distinct(column)
    if call.name == "set":
        return constant(";".join(sorted(texts)))
    if call.name == "u":
        filled = [text for text in texts if text]
        return constant(MULTIPLE_VALUES if len(filled) > 1 else "".join(filled))
    return constant(extreme(texts, min if call.name == "min" else max))


def _distinct(column: Column) -> list[str]:
    texts: Texts = to_texts(column)
    return [texts.values[code] for code in distinct(texts.codes).tolist()]


def _count(store: Store, elements: ElementSet, what: str) -> int:
    if what == "deriveds":
        return len(elements.derived)
    kind = _COUNT_KINDS.get(what, what)
    edges = find_place(elements.rows, 0, store.way_start, store.relation_start)
    counts = np.diff([*edges.tolist(), len(elements.rows)])
    return int(sum(counts[element_type] for element_type in KIND_TYPES[kind]))
