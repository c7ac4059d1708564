"""Spatial filters as part of a plan: what an index can narrow down, and joins by nearness.

A filter that only holds where the boxes of two shapes meet (`sfWithin`, `distance < r`, …) narrows
a pattern twice over: against a constant shape by the source's index, between two variables by an
R-tree over one side. The filter itself still runs, exactly, on what is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.geo.sphere import DEGREE_M
from mapyard.sparql.plan.algebra import Bgp, Call, Expression, TriplePattern, Var
from mapyard.sparql.plan.variables import mentioned, triple_variables
from mapyard.sparql.run.expressions import Evaluator
from mapyard.sparql.run.geosparql import TOPOLOGY, UNITS_M, find_constant_shape, shapes_of
from mapyard.sparql.run.runtime import Runtime
from mapyard.sparql.run.table import Column, Shapes, Table, unit_table
from mapyard.sparql.terms.ids import Ids
from mapyard.sparql.terms.prefixes import GEOF, GEOMETRY_TEXT, OGC, OSM_META
from mapyard.sparql.terms.terms import GEO, Iri, Literal
from mapyard.sparql.terms.values import find_number

#: Functions whose result lies within the box of their argument.
_INSIDE: Final = frozenset(GEOF + n for n in ("centroid", "envelope", "convexHull", "boundary"))
_LOCATIONS: Final = frozenset((OSM_META + "loc", GEOMETRY_TEXT))
_WKT: Final = frozenset((GEO + "asWKT", GEO + "hasSerialization"))
_GEOMETRIES: Final = frozenset(
    (GEO + "hasGeometry", GEO + "hasCentroid", GEO + "hasDefaultGeometry")
)
_RELATIONS: Final = frozenset(
    namespace + name.removeprefix(GEOF) for namespace in (OGC, GEO) for name in TOPOLOGY
)
_PAIRS: Final = 65_536
#: Candidates up to which a plan keeps them.
_KEPT_IDS: Final = 20_000
#: Rows of the inner pattern that are shaped in the time of one search in the source's index.
_SEARCH_COST: Final = 2000


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    """The subjects that an index leaves for a variable, sorted; many are searched for anew."""

    var: Var
    count: int
    ids: Ids | None
    shape: Any
    radius_m: float
    predicates: list[int]

    def find(self, runtime: Runtime) -> Ids:
        """Return the subjects."""
        if self.ids is not None:
            return self.ids
        ids = runtime.source.near(self.shape, self.radius_m, self.predicates, runtime)
        assert ids is not None
        return ids


@dataclass(frozen=True, slots=True)
class Constraint:
    """Two sides of a spatial filter and how far apart they may be, meters."""

    left: Expression
    right: Expression
    radius_m: float


def find_constraint(expression: Expression) -> Constraint | None:
    """Return what a filter says about two shapes, if it implies that their boxes are near."""
    if not isinstance(expression, Call):
        return None
    name = expression.name
    if name.startswith(GEOF) and name.removeprefix(GEOF) in TOPOLOGY and len(expression.args) == 2:
        return Constraint(*expression.args, 0.0)
    if name in ("<", "<=", ">", ">=") and len(expression.args) == 2:
        near, limit = expression.args if name[0] == "<" else expression.args[::-1]
        if isinstance(near, Call) and isinstance(limit, Literal):
            number = find_number(limit)
            unit = _unit_m(near)
            if number is not None and unit is not None:
                return Constraint(near.args[0], near.args[1], float(number[0]) * unit)
    return None


def _unit_m(call: Call) -> float | None:
    if call.name == GEOF + "metricDistance" and len(call.args) == 2:
        return 1.0
    if call.name == GEOF + "distance":
        if len(call.args) == 2:
            return 1000.0
        unit = call.args[2]
        if isinstance(unit, Iri):
            return UNITS_M.get(unit.value)
    return None


def _shape_variable(expression: Expression) -> Var | None:
    """Return the variable whose shape's box holds the value of the expression."""
    while isinstance(expression, Call) and expression.name in _INSIDE and expression.args:
        expression = expression.args[0]
    return expression if isinstance(expression, Var) else None


# Constant shapes --------------------------------------------------------------------------------


def find_near(bgp: Bgp, runtime: Runtime, evaluator: Evaluator) -> list[Near]:
    """Return what the source's index leaves for the pattern's spatial filters."""
    found: list[Near] = []
    for var, shape, radius_m in _constant_constraints(bgp, evaluator):
        subject = _subject_of(bgp, var)
        if subject is not None:
            predicates = subject_predicates(bgp, subject, runtime)
            ids = runtime.source.near(shape, radius_m, predicates, runtime)
            if ids is not None:
                kept = ids if len(ids) <= _KEPT_IDS else None
                found.append(Near(subject, len(ids), kept, shape, radius_m, predicates))
    return found


def _constant_constraints(bgp: Bgp, evaluator: Evaluator) -> Iterator[tuple[Var, Any, float]]:
    boxes: dict[Var, list[float]] = {}
    for expression in bgp.filters:
        constraint = find_constraint(expression)
        if constraint is not None:
            for side, other in (
                (constraint.left, constraint.right),
                (constraint.right, constraint.left),
            ):
                var = _shape_variable(side)
                if var is not None and not mentioned(other):
                    shape = find_constant_shape(evaluator.value(other, unit_table()), evaluator)
                    if shape is not None and not shape.is_empty:
                        yield var, shape, constraint.radius_m
        else:
            _narrow(expression, boxes)
    for var, (west, south, east, north) in boxes.items():
        if west <= east and south <= north:
            yield var, shapely.box(west, south, east, north), 0.0


def _narrow(expression: Expression, boxes: dict[Var, list[float]]) -> None:
    """Take in `geof:latitude(?g) > 47.1` and its like."""
    if not (isinstance(expression, Call) and expression.name in ("<", "<=", ">", ">=")):
        return
    coordinate, limit = expression.args
    is_upper = expression.name[0] == "<"
    if isinstance(coordinate, Literal):
        coordinate, limit, is_upper = limit, coordinate, not is_upper
    if not (isinstance(coordinate, Call) and isinstance(limit, Literal)):
        return
    axis = {GEOF + "longitude": 0, GEOF + "latitude": 1}.get(coordinate.name)
    number = find_number(limit)
    var = _shape_variable(coordinate.args[0]) if coordinate.args else None
    if axis is None or number is None or var is None:
        return
    box = boxes.setdefault(var, [-180.0, -90.0, 180.0, 90.0])
    value = float(number[0])
    if is_upper:
        box[axis + 2] = min(box[axis + 2], value)
    else:
        box[axis] = max(box[axis], value)


def _subject_of(bgp: Bgp, shape: Var) -> Var | None:
    """Return the variable of the element whose geometry a variable is."""
    for triple in bgp.triples:
        if triple.object != shape or not isinstance(triple.predicate, Iri):
            continue
        if not isinstance(triple.subject, Var):
            continue
        if triple.predicate.value in _LOCATIONS:
            return triple.subject
        if triple.predicate.value in _WKT:
            for other in bgp.triples:
                if (
                    other.object == triple.subject
                    and isinstance(other.predicate, Iri)
                    and other.predicate.value in _GEOMETRIES
                    and isinstance(other.subject, Var)
                ):
                    return other.subject
    return None


# Two variables ----------------------------------------------------------------------------------


class SpatialJoin:
    """Joins a table with an unconnected pattern by the nearness of two shapes.

    `subject` is the variable of the inner pattern that the source's index can give, if any.
    """

    def __init__(
        self, inner: Bgp, outer: Var, inner_shape: Var, subject: Var | None, radius_m: float
    ) -> None:
        self.inner = inner
        self.outer = outer
        self.inner_shape = inner_shape
        self.subject = subject
        self.radius_m = radius_m
        #: About how many rows the inner pattern has; set by the planner.
        self.estimate = 0.0

    def find_candidates(self, table: Table, evaluator: Evaluator) -> Table | None:
        """Return the rows with each subject that the index has near; None: better join whole.

        For few rows, an index search each costs less than to shape all of the inner pattern.
        """
        if self.subject is None or table.length * _SEARCH_COST > self.estimate:
            return None
        runtime = evaluator.runtime
        predicates = subject_predicates(self.inner, self.subject, runtime)
        rows: list[NDArray[np.int64]] = []
        found: list[Ids] = []
        for row, shape in enumerate(shaped(table, self.outer.name, evaluator).values):
            if shape is not None and not shape.is_empty:
                ids = runtime.source.near(shape, self.radius_m, predicates, runtime)
                if ids is None:
                    return None
                found.append(ids)
                rows.append(np.full(len(ids), row))
        if not found:
            return table.slice(0, 0)
        index = np.concatenate(rows)
        runtime.hold(0, len(index), "the spatial join")
        columns = dict(table.take(index).columns)
        columns[self.subject.name] = np.concatenate(found)
        return Table(columns, len(index))

    def join(self, table: Table, inner: Table, evaluator: Evaluator) -> Iterator[Table]:
        """Yield the pairs of rows whose boxes are near enough, in portions."""
        left = shaped(table, self.outer.name, evaluator)
        right = shaped(inner, self.inner_shape.name, evaluator)
        shapely.prepare(right.values)
        tree = shapely.STRtree(right.values)
        boxes = grow_boxes(left.values, self.radius_m)
        # However near everything is, one search finds not many more pairs than that.
        size = min(4096, max(1, 4 * _PAIRS // inner.length))
        for start in range(0, table.length, size):
            evaluator.runtime.deadline.check()
            a, b = tree.query(boxes[start : start + size])
            for first in range(0, len(a), _PAIRS):
                part = slice(first, first + _PAIRS)
                columns: dict[str, Column] = dict(table.take(a[part] + start).columns)
                columns.update(inner.take(b[part]).columns)
                yield Table(columns, len(a[part]))


def subject_predicates(bgp: Bgp, subject: Var, runtime: Runtime) -> list[int]:
    """Return the ids of the predicates that a variable has as a subject."""
    return [
        runtime.encode(triple.predicate)
        for triple in bgp.triples
        if triple.subject == subject and isinstance(triple.predicate, Iri)
    ]


def shaped(table: Table, name: str, evaluator: Evaluator) -> Shapes:
    """Return the shapes of a column (geometries, or elements by theirs), which keeps them."""
    column = table.columns[name]
    if isinstance(column, Shapes):
        return column
    ids = table.ids(name, evaluator.pool)
    shapes = Shapes(shapes_of(ids, evaluator), ids)
    table.columns[name] = shapes
    return shapes


def grow_boxes(shapes: NDArray[np.object_], radius_m: float) -> NDArray[np.object_]:
    """Return the boxes of shapes, each side moved out by a distance."""
    west, south, east, north = shapely.bounds(shapes).T
    by_lat = radius_m / DEGREE_M * 1.001
    farthest = np.minimum(np.maximum(np.abs(south), np.abs(north)) + by_lat, 89.9)
    by_lon = by_lat / np.cos(np.radians(farthest))
    boxes: NDArray[np.object_] = shapely.box(
        west - by_lon, south - by_lat, east + by_lon, north + by_lat
    )
    boxes[np.isnan(west)] = None
    return boxes


def find_spatial_join(
    bgp: Bgp, remaining: list[TriplePattern], known: set[Var], filters: list[Expression]
) -> SpatialJoin | None:
    """Return the join that a filter makes between what is known and an unconnected part."""
    for expression in filters:
        constraint = find_constraint(expression)
        if constraint is None:
            continue
        a, b = _shape_variable(constraint.left), _shape_variable(constraint.right)
        if a is None or b is None or (a in known) == (b in known):
            continue
        outer, inner_shape = (a, b) if a in known else (b, a)
        triples = _component(remaining, inner_shape)
        if triples:
            scope = {v for t in triples for v in triple_variables(t)}
            inside = tuple(f for f in filters if mentioned(f) <= scope)
            inner = Bgp(triples, inside)
            subject = _subject_of(inner, inner_shape)
            return SpatialJoin(inner, outer, inner_shape, subject, constraint.radius_m)
    return None


def find_relation_join(
    triple: TriplePattern,
    remaining: list[TriplePattern],
    known: set[Var],
    filters: list[Expression],
) -> SpatialJoin | None:
    """Return the join of `?a ogc:sfContains ?b`, one side known, with the other's triples."""
    a, b = triple.subject, triple.object
    if (
        not isinstance(triple.predicate, Iri)
        or triple.predicate.value not in _RELATIONS
        or not isinstance(a, Var)
        or not isinstance(b, Var)
        or (a in known) == (b in known)
    ):
        return None
    outer, other = (a, b) if a in known else (b, a)
    triples = _component([t for t in remaining if t != triple], other)
    scope = {v for t in triples for v in triple_variables(t)}
    if not triples or scope & known:
        return None
    inside = tuple(f for f in filters if mentioned(f) <= scope)
    return SpatialJoin(Bgp(triples, inside), outer, other, other, 0.0)


def _component(triples: list[TriplePattern], var: Var) -> tuple[TriplePattern, ...]:
    """Return the triples that hang together with a variable."""
    inside = {var}
    grown = True
    while grown:
        grown = False
        for triple in triples:
            variables = set(triple_variables(triple))
            if variables & inside and not variables <= inside:
                inside |= variables
                grown = True
    return tuple(t for t in triples if set(triple_variables(t)) & inside)
