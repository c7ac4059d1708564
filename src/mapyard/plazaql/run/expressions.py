"""Expressions about elements, for all rows at once: `number(t["height"]) > 50`.

As in SQL, what is unknown stays unknown: a comparison with a missing tag is neither true nor false,
and neither is its negation. Texts are numbers of distinct ones, so that what is done with them is
done once for each.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.deadline import Deadline
from mapyard.features.distance import Center
from mapyard.geo.measure import measure_areas_m2, measure_lengths_m
from mapyard.osm.elements import TYPE_NAMES
from mapyard.plazaql.parse.syntax import (
    Attribute,
    Binary,
    Call,
    Expression,
    Number,
    TagAccess,
    Text,
    Truth,
    Unary,
    Variable,
)
from mapyard.plazaql.plan.check import fail
from mapyard.plazaql.run.services import Services
from mapyard.store.portions import in_portions
from mapyard.store.reader import E7, Store

type Mask = NDArray[np.bool_]
type Ints = NDArray[np.int64]
#: Gets what is no expression about elements: a variable, a geometry.
type Evaluate = Callable[[Expression], Any]

_COMPARE: Final = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt,
    "<=": operator.le, ">=": operator.ge,
}  # fmt: skip
_COUNT: Final = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
_TEXT_TESTS: Final[dict[str, Callable[[str, str], bool]]] = {
    "starts_with": str.startswith, "ends_with": str.endswith, "str_contains": operator.contains,
}  # fmt: skip


@dataclass(frozen=True)
class Numbers:
    """Numbers; NaN is unknown."""

    values: NDArray[np.float64]


@dataclass(frozen=True)
class Texts:
    """Texts; −1 is unknown."""

    codes: Ints
    texts: list[str]


@dataclass(frozen=True)
class Truths:
    """Truth values, and which are known."""

    values: Mask
    known: Mask

    @property
    def holds(self) -> Mask:
        """Return what is true for sure."""
        return self.values & self.known


type Vector = Numbers | Texts | Truths


class Rowwise:
    """Values of expressions for some rows."""

    def __init__(
        self, store: Store, rows: Ints, services: Services, evaluate: Evaluate, deadline: Deadline
    ) -> None:
        self._store = store
        self._rows = rows
        self._services = services
        self._evaluate = evaluate
        self._deadline = deadline

    def truths(self, expression: Expression) -> Mask:
        """Return for which rows an expression is true."""
        found = self.vector(expression)
        if not isinstance(found, Truths):
            raise fail(expression.at, "this is not a condition", 'compare it: t["name"] == "Café"')
        return found.holds

    def numbers(self, expression: Expression) -> NDArray[np.float64]:
        """Return the numbers of an expression, NaN where it is unknown."""
        found = self.vector(expression)
        if isinstance(found, Numbers):
            return found.values
        raise fail(expression.at, "this is not a number", 'write number(t["height"])')

    def vector(self, expression: Expression) -> Vector:
        """Return the values of an expression for all rows."""
        self._deadline.check()
        match expression:
            case Number(value):
                return Numbers(np.full(len(self._rows), value))
            case Text(value):
                return Texts(np.zeros(len(self._rows), np.int64), [value])
            case Truth(value):
                known = np.ones(len(self._rows), np.bool_)
                return Truths(np.full(len(self._rows), value), known)
            case TagAccess(key):
                return self._tag(key)
            case Binary():
                return self._binary(expression)
            case Unary(sign, operand):
                return self._unary(sign, operand)
            case Call():
                return self._call(expression)
            case Variable() | Attribute():
                return self._constant(expression)
        raise fail(
            expression.at, "this says nothing about an element", 'write t["name"], area(), …'
        )

    def _constant(self, expression: Expression) -> Vector:
        value = self._evaluate(expression)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, bool):
            return Truths(np.full(len(self._rows), value), np.ones(len(self._rows), np.bool_))
        if isinstance(value, int | float):
            return Numbers(np.full(len(self._rows), float(value)))
        if isinstance(value, str):
            return Texts(np.zeros(len(self._rows), np.int64), [value])
        raise fail(expression.at, "this is not a single value", "use one element: .first()")

    def _tag(self, key: str) -> Texts:
        kvs = self._store.tag_values(self._rows, key)
        distinct, codes = np.unique(kvs, return_inverse=True)
        absent = int(len(distinct) > 0 and distinct[0] < 0)
        return Texts(codes.astype(np.int64) - absent, self._store.values(distinct[absent:]))

    # ---- signs ----------------------------------------------------------------------------------

    def _binary(self, expression: Binary) -> Vector:
        sign = expression.operator
        left, right = self.vector(expression.left), self.vector(expression.right)
        if sign in ("&&", "||"):
            if not (isinstance(left, Truths) and isinstance(right, Truths)):
                raise fail(expression.at, f"{sign} stands between conditions")
            return _join(left, right, is_and=sign == "&&")
        if sign in _COMPARE:
            return self._compare(expression, left, right)
        if sign in _COUNT and isinstance(left, Numbers) and isinstance(right, Numbers):
            with np.errstate(all="ignore"):
                values = _COUNT[sign](left.values, right.values)
            return Numbers(np.where(np.isfinite(values), values, np.nan))
        raise fail(expression.at, f"{sign} stands between numbers", 'write number(t["lanes"])')

    def _compare(self, expression: Binary, left: Vector, right: Vector) -> Truths:
        test = _COMPARE[expression.operator]
        match left, right:
            case Numbers(one), Numbers(other):
                return Truths(test(one, other), ~(np.isnan(one) | np.isnan(other)))
            case Texts(), Texts():
                return _of_pairs(left, right, test)
            case Truths(one, known), Truths(other, also):
                return Truths(test(one, other), known & also)
        raise fail(
            expression.at, f"{expression.operator} stands between a text and a number",
            'write number(t["height"]) > 50',
        )  # fmt: skip

    def _unary(self, sign: str, operand: Expression) -> Vector:
        found = self.vector(operand)
        if sign == "!" and isinstance(found, Truths):
            return Truths(~found.values, found.known)
        if sign == "-" and isinstance(found, Numbers):
            return Numbers(-found.values)
        what = "a condition" if sign == "!" else "a number"
        raise fail(operand.at, f"{sign} stands before {what}")

    # ---- functions ------------------------------------------------------------------------------

    def _call(self, call: Call) -> Vector:
        name = call.name
        values = [argument.value for argument in call.arguments]
        if name in ("id", "type", "lat", "lon", "is_closed"):
            return self._property(name)
        if name in ("area", "length", "elevation"):
            return Numbers(self.measure(name))
        if name == "distance":
            return Numbers(self.distances_m(self._evaluate(values[0]), call))  # type: ignore[arg-type] # checked
        given = [self.vector(value) for value in values]  # type: ignore[arg-type] # checked
        if name in ("number", "is_number"):
            return _read_numbers(given[0], test=name == "is_number")
        if name == "size" and isinstance(given[0], Texts):
            sizes = np.array([len(text) for text in given[0].texts] + [np.nan])
            return Numbers(sizes[given[0].codes])
        if name in _TEXT_TESTS:
            one, other = given
            if isinstance(one, Texts) and isinstance(other, Texts):
                return _of_pairs(one, other, _TEXT_TESTS[name])
        raise fail(call.at, f"{name}() takes texts", 'write t["name"]')

    def _property(self, name: str) -> Vector:
        rows, store = self._rows, self._store
        if name == "id":
            return Numbers(store.ids[rows].astype(np.float64))
        if name == "type":
            return Texts(store.types(rows), list(TYPE_NAMES))
        if name == "is_closed":
            is_way = (rows >= store.way_start) & (rows < store.relation_start)
            values = np.zeros(len(rows), np.bool_)
            values[is_way] = store.is_closed(rows[is_way])
            return Truths(values, np.ones(len(rows), np.bool_))
        is_node = rows < store.way_start
        values_deg = np.full(len(rows), np.nan)
        column = store.lat if name == "lat" else store.lon
        values_deg[is_node] = column[rows[is_node]] / E7
        return Numbers(values_deg)

    def measure(self, name: str) -> NDArray[np.float64]:
        """Return area (square meters), length or elevation (meters) of each row."""
        rows, store = self._rows, self._store
        if name == "elevation":
            boxes = store.boxes(rows).astype(np.float64) / E7
            lon, lat = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
            known = boxes[:, 0] <= boxes[:, 2]
            heights = np.full(len(rows), np.nan)
            heights[known] = self._services.find_heights(lon[known], lat[known])
            return heights
        measure = measure_areas_m2 if name == "area" else measure_lengths_m
        return in_portions(store, rows, lambda part: measure(store.geometries(part)))

    def distances_m(self, geometry: Any, call: Call) -> NDArray[np.float64]:
        """Return the distance of each row from a geometry in meters."""
        if geometry is None or not hasattr(geometry, "geom_type"):
            raise fail(call.at, "distance() needs a geometry", "write distance(point(47.1, 9.5))")
        return self.measure_from(geometry)

    def measure_from(self, geometry: Any) -> NDArray[np.float64]:
        """Return the distance of each row from a geometry in meters, NaN without a geometry."""
        found = Center(geometry).distances_m(self._store, self._rows)
        return np.where(np.isfinite(found), found, np.nan)


def _join(left: Truths, right: Truths, *, is_and: bool) -> Truths:
    """Return `&&` or `||` of what may be unknown."""
    if is_and:
        is_false = (left.known & ~left.values) | (right.known & ~right.values)
        return Truths(left.values & right.values, is_false | (left.known & right.known))
    is_true = left.holds | right.holds
    return Truths(is_true, is_true | (left.known & right.known))


def _of_pairs(one: Texts, other: Texts, test: Callable[[str, str], Any]) -> Truths:
    """Return a test of two texts, done once for each distinct pair."""
    width = len(other.texts) + 1
    pairs, inverse = np.unique((one.codes + 1) * width + other.codes + 1, return_inverse=True)
    values = np.zeros(len(pairs), np.bool_)
    known = np.zeros(len(pairs), np.bool_)
    for place, (first, second) in enumerate(zip(*np.divmod(pairs, width), strict=True)):
        if first and second:
            known[place] = True
            values[place] = test(one.texts[first - 1], other.texts[second - 1])
    return Truths(values[inverse], known[inverse])


def _read_numbers(given: Vector, *, test: bool) -> Vector:
    if isinstance(given, Texts):
        read = np.array([_read_number(text) for text in given.texts] + [np.nan])
        values = read[given.codes]
    elif isinstance(given, Numbers):
        values = given.values
    else:
        values = given.values.astype(np.float64)
    if not test:
        return Numbers(values)
    return Truths(~np.isnan(values), np.ones(len(values), np.bool_))


def _read_number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return np.nan
    return value if np.isfinite(value) else np.nan
