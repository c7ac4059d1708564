"""Running a query: statements in order, each expression to a value, outputs collected.

Sets of elements stay conditions until somebody looks at them, so that `.limit(10)` finds ten.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from mapyard.deadline import Deadline
from mapyard.errors import Unsupported
from mapyard.features.regions import AroundRegion, BoxRegion, Region, ShapeRegion, read_h3
from mapyard.osm.elements import NODE, RELATION, WAY
from mapyard.plazaql.parse.parser import parse
from mapyard.plazaql.parse.syntax import (
    Argument,
    Assignment,
    At,
    Atom,
    Attribute,
    Binary,
    Call,
    Directive,
    Expression,
    Items,
    Method,
    Number,
    Program,
    Text,
    Truth,
    Unary,
    Variable,
    Word,
)
from mapyard.plazaql.plan.check import Bound, bind, check, fail
from mapyard.plazaql.plan.signatures import FUNCTIONS, METHODS, TYPES
from mapyard.plazaql.run.calls import ask_service
from mapyard.plazaql.run.expressions import Rowwise, Texts, Truths
from mapyard.plazaql.run.filters import TagConditions, read_filters
from mapyard.plazaql.run.geometries import (
    box_shape,
    get_shape,
    make_box,
    make_circle,
    make_line,
    make_point,
    make_polygon,
    read_count,
    read_distance,
)
from mapyard.plazaql.run.services import Services
from mapyard.plazaql.run.values import (
    Answer,
    Elements,
    Features,
    Groups,
    Ints,
    Look,
    Shape,
    Value,
)
from mapyard.store.distinct import distinct
from mapyard.store.reader import Store

_TYPES: Final = {"node": (NODE,), "way": (WAY,), "relation": (RELATION,)}
_REGIONS: Final = (
    "within", "intersects", "contains", "crosses", "touches", "not_within", "not_intersects",
    "not_contains",
)  # fmt: skip


class Output(NamedTuple):
    """What a query puts out; the name is "" for the only one without a name."""

    name: str
    value: Value


def run_text(store: Store, text: str, services: Services, deadline: Deadline) -> list[Output]:
    """Return the outputs of a query; raise InvalidQuery and the like."""
    program = parse(text)
    check(program)
    return Run(store, services, deadline).outputs(program)


class Run:
    """One query; lives in one thread."""

    def __init__(self, store: Store, services: Services, deadline: Deadline) -> None:
        self._store = store
        self._services = services
        self._deadline = deadline
        self._known: dict[str, Value] = {}
        self._directives: list[Directive] = []
        self._most: int | None = None

    def outputs(self, program: Program) -> list[Output]:
        """Run all statements; return what they put out."""
        found: list[Output] = []
        for statement in program.statements:
            if isinstance(statement, Directive):
                self._direct(statement)
                continue
            assert isinstance(statement, Assignment)
            value = self._evaluate(statement.value)
            target = statement.target
            if target is not None:
                self._known[str(target)] = value
            if target is None or target.is_output:
                if isinstance(value, Groups):
                    raise fail(statement.value.at, "groups are not counted yet",
                               "end with .count() or .sum(…)")  # fmt: skip
                if self._most is not None and isinstance(value, Elements):
                    value = value.of_rows(value.find(self._most))
                found.append(Output(target.name if target else "", value))
        unnamed = [i for i, output in enumerate(found) if not output.name]
        if len(found) > 1:
            for number, place in enumerate(unnamed, start=1):
                found[place] = found[place]._replace(name=str(number))
        return found

    def _direct(self, directive: Directive) -> None:
        if directive.name == "limit":
            bound = bind(METHODS["limit"], "limit", directive.arguments, directive.at)
            count = bound.named["count"]
            self._most = read_count(self._evaluate(count), count.at, "count")
        else:
            self._directives.append(directive)

    # ---- expressions ----------------------------------------------------------------------------

    def _evaluate(self, expression: Expression) -> Any:
        self._deadline.check()
        match expression:
            case Number(value) | Text(value) | Truth(value):
                return value
            case Variable():
                return self._known[str(expression)]
            case Attribute():
                return self._attribute(expression)
            case Items(items):
                return [self._evaluate(item) for item in items]
            case Call():
                return self._call(expression)
            case Method():
                return self._method(expression)
            case Binary():
                return self._combine(expression)
            case Unary("-", operand):
                value = self._evaluate(operand)
                if isinstance(value, float):
                    return -value
        raise fail(expression.at, "this is no value here", "write search(…) or a variable")

    def _attribute(self, expression: Attribute) -> list[str]:
        value = self._known[str(expression.variable)]
        if isinstance(value, Features):
            found = [f["properties"].get(expression.key) for f in value.features]
            return sorted({str(text) for text in found if text is not None})
        if not isinstance(value, Elements):
            raise fail(expression.at, f"{expression.variable} has no tags", "use a search")
        kvs = self._store.tag_values(value.find(), expression.key)
        return self._store.values(distinct(kvs[kvs >= 0]))

    def _combine(self, expression: Binary) -> Value:
        left, right = self._evaluate(expression.left), self._evaluate(expression.right)
        sign = expression.operator
        if isinstance(left, float) and isinstance(right, float) and sign in ("+", "-"):
            return left + right if sign == "+" else left - right
        if sign not in ("+", "-", "&"):
            raise fail(expression.at, f"{sign} belongs into .filter(…)")
        if isinstance(left, Features) and isinstance(right, Features) and sign == "+":
            return Features([*left.features, *right.features], {**left.members, **right.members})
        if not (isinstance(left, Elements) and isinstance(right, Elements)):
            raise fail(expression.at, f"{sign} stands between two sets of elements")
        one, other = left.find(), right.find()
        is_both = np.isin(one, other)
        rows = distinct(one, other) if sign == "+" else one[is_both == (sign == "&")]
        return left.of_rows(self._store.sort_by_eid(rows))

    # ---- functions ------------------------------------------------------------------------------

    def _call(self, call: Call) -> Value:
        at, name = call.at, call.name
        if name not in FUNCTIONS:
            raise fail(at, f"{name}() belongs into .filter(…) or .sort(…)")
        bound = bind(FUNCTIONS[name], name, call.arguments, at)
        if name == "search":
            return self._search(bound, at)
        if name == "boundary":
            return self._boundary(bound, at)
        if name == "dataset":
            raise Unsupported("dataset(): this server has no datasets besides the map")
        given = {key: self._evaluate(value) for key, value in bound.named.items()
                 if not isinstance(value, Word)}  # fmt: skip
        rest = [self._evaluate(value) for value in bound.rest]
        match name:
            case "point":
                return make_point(given["lat"], given["lng"], at)
            case "linestring":
                return make_line(rest, at)
            case "polygon":
                return make_polygon(rest, at)
            case "bbox":
                return box_shape(make_box([given[n] for n in FUNCTIONS["bbox"].names], at))
            case "circle":
                return make_circle(given["center"], given["radius"], at)
            case "nearest":
                return self._nearest(bound, given, at)
        return ask_service(self._services, name, given, rest, at)

    def _search(self, bound: Bound, at: At) -> Elements:
        types: tuple[int, ...] = (NODE, WAY, RELATION)
        for value in bound.rest:
            if isinstance(value, Call) and value.name == "dataset":
                self._evaluate(value)
            if not isinstance(value, Word) or value.name not in TYPES:
                raise fail(
                    value.at, "this is no type of elements", "write node, way, relation, nwr"
                )
            types = _TYPES.get(value.name, types)
        if len(bound.rest) > 1:
            raise fail(bound.rest[1].at, "one type of elements is enough", "nwr means all")
        found = self._with_tags(Elements(self._store, self._deadline, types), bound.filters)
        for directive in self._directives:
            method = Method(
                Word("", directive.at), directive.name, directive.arguments, directive.at
            )
            found = self._apply(found, method)
        return found

    def _with_tags(self, elements: Elements, filters: list[Argument]) -> Elements:
        read: TagConditions = read_filters(
            self._store, filters, self._evaluate, self._deadline, with_ids=True
        )
        found = elements.having(
            tags=(*elements.tags, *read.tags), tests=(*elements.tests, *read.tests)
        )
        if read.ids is None:
            return found
        rows = np.concatenate(
            [self._store.find_rows(element_type, read.ids) for element_type in elements.types]
        )
        rows = self._store.sort_by_eid(distinct(rows[rows >= 0]))
        if elements.given is not None:
            rows = rows[np.isin(rows, elements.given)]
        return found.having(given=rows)

    def _boundary(self, bound: Bound, at: At) -> Shape:
        names = [a for a in bound.filters if a.key == "name" and isinstance(a.value, Text)]
        if len(bound.filters) == 1 and names:
            assert isinstance(names[0].value, Text)
            shape = self._services.find_boundary(names[0].value.value)
        else:
            areas = Elements(self._store, self._deadline, (WAY, RELATION))
            named = self._with_tags(areas, bound.filters)
            rows = named.find(10_000)
            shape = named.of_rows(rows[self._store.is_area(rows)]).shape()
        if shape is None:
            raise fail(at, "no area is called so in this map", "search for its name first")
        return Shape(shape)

    def _nearest(self, bound: Bound, given: dict[str, Any], at: At) -> Elements:
        point = bound.named["point"]
        types: tuple[int, ...] = (NODE, WAY, RELATION)
        if "type" in bound.named:
            value = bound.named["type"]
            name = value.name if isinstance(value, Word) else given.get("type")
            if name not in TYPES:
                raise fail(
                    value.at, "this is no type of elements", "write node, way, relation, nwr"
                )
            types = _TYPES.get(str(name), types)
        shape = get_shape(given["point"], point.at)
        radius_m = read_distance(given.get("radius", 1_000.0), at, "radius")
        near = self._with_tags(
            Elements(self._store, self._deadline, types, regions=(AroundRegion(shape, radius_m),)),
            bound.filters,
        )
        rows = near.find()
        order = np.argsort(self._rowwise(rows).distances_m(shape, Call("distance", (), at)))
        count = read_count(given.get("limit", 20.0), at, "limit", 1)
        look = Look(columns=(("distance_m", shape),))
        return near.having(look=look).of_rows(rows[order[:count]])

    # ---- methods --------------------------------------------------------------------------------

    def _method(self, method: Method) -> Value:
        receiver = self._evaluate(method.receiver)
        if isinstance(receiver, Groups):
            return self._count_groups(receiver, method)
        if isinstance(receiver, Features):
            return self._of_features(receiver, method)
        if isinstance(receiver, Shape) and method.name in ("buffer", "centroid"):
            if method.name == "centroid":
                return Shape(receiver.geometry.centroid)
            bound = bind(METHODS["buffer"], "buffer", method.arguments, method.at)
            meters = bound.named["meters"]
            return make_circle(receiver, self._evaluate(meters), meters.at)
        if not isinstance(receiver, Elements):
            raise fail(method.at, f".{method.name}() follows a set of elements",
                       "write search(…) before it")  # fmt: skip
        return self._apply(receiver, method)

    def _of_features(self, found: Features, method: Method) -> Value:
        """Return a method of what a service found: it is a list of features."""
        features = found.features
        if method.name not in ("count", "first", "last", "index", "limit", "offset"):
            raise fail(method.at, f".{method.name}() follows a search, not the answer of a service",
                       "use it as a geometry: search(…).around(100, $route)")  # fmt: skip
        bound = bind(METHODS[method.name], method.name, method.arguments, method.at)
        given = [self._evaluate(value) for value in bound.named.values()]
        match method.name:
            case "count":
                return Answer(len(features))
            case "first":
                return found._replace(features=features[:1])
            case "last":
                return found._replace(features=features[-1:])
            case "index":
                place = read_count(given[0], method.at, "n", 1)
                return found._replace(features=features[place - 1 : place])
            case "limit":
                return found._replace(features=features[: read_count(given[0], method.at, "count")])
        return found._replace(features=features[read_count(given[0], method.at, "count") :])

    def _apply(self, elements: Elements, method: Method) -> Any:
        name, at = method.name, method.at
        bound = bind(METHODS[name], name, method.arguments, at)
        look, output = elements.look, elements.look.output

        def value(key: str) -> Any:
            return self._evaluate(bound.named[key])

        def write(**changes: Any) -> Elements:
            changed = msgspec.structs.replace(output, **changes)
            return elements.having(look=Look(changed, look.columns))

        match name:
            case "around" | "bbox" | "h3":
                return self._add(elements, self._near(name, bound, at))
            case _ if name in _REGIONS:
                negated, relation = name.startswith("not_"), name.removeprefix("not_")
                geometry = bound.named["geometry"]
                shape = get_shape(self._evaluate(geometry), geometry.at, area=relation == "within")
                return self._add(elements, ShapeRegion(relation, shape, negated=negated))  # type: ignore[arg-type] # of _REGIONS
            case "member_of" | "has_member":
                return self._join(elements, name, bound, at)
            case "filter":
                return self._filter(elements, bound, at)
            case "expand":
                return self._expand(elements, bound.named["direction"])
            case "buffer" | "simplify":
                return write(**{name: read_distance(value("meters"), at, "meters") or None})
            case "centroid":
                return write(centroid=True)
            case "precision":
                decimals = read_count(value("decimals"), at, "decimals", 1)
                return write(precision=min(decimals, 15))
            case "fields":
                return write(fields=self._texts(bound, at))
            case "include":
                return write(include=self._included(bound, at))
            case "ids":
                return write(geometry=False, fields=[])
            case "tags":
                return write(geometry=False)
            case "skel":
                return write(centroid=True, fields=[])
            case "geom":
                return write(fields=[])
            case "area" | "length" | "elevation":
                unit = "area_m2" if name == "area" else f"{name}_m"
                return elements.having(look=Look(output, (*look.columns, (unit, None))))  # type: ignore[arg-type] # one of them
            case "distance":
                shape = get_shape(value("geometry"), bound.named["geometry"].at)
                return elements.having(look=Look(output, (*look.columns, ("distance_m", shape))))
        return self._late(elements, name, bound, at)

    def _late(self, elements: Elements, name: str, bound: Bound, at: At) -> Value:
        def count(key: str, least: int = 0) -> int:
            return read_count(self._evaluate(bound.named[key]), at, key, least)

        match name:
            case "sort":
                return self._sort(elements, bound, at)
            case "limit":
                return elements.of_rows(elements.find(count("count")))
            case "offset":
                return elements.of_rows(elements.find()[count("count") :])
            case "first":
                return elements.of_rows(elements.find(1), is_single=True)
            case "last":
                return elements.of_rows(elements.find()[-1:], is_single=True)
            case "index":
                place = count("n", 1)
                return elements.of_rows(elements.find(place)[place - 1 : place], is_single=True)
            case "group_by":
                return self._group(elements, bound.named["expression"])
            case "count":
                return Answer(len(elements.find()))
        numbers = self._rowwise(elements.find()).numbers(bound.named["expression"])
        return Answer(_aggregate(name, numbers))

    def _add(self, elements: Elements, region: Region) -> Elements:
        return elements.having(regions=(*elements.regions, region))

    def _near(self, name: str, bound: Bound, at: At) -> Region:
        if name == "bbox":
            return BoxRegion(make_box([self._evaluate(bound.named[n])
                                       for n in METHODS["bbox"].names], at))  # fmt: skip
        if name == "h3":
            cell = self._evaluate(bound.named["cell"])
            if not isinstance(cell, str):
                raise fail(at, "cell must be a text", 'write .h3("881f1d4881fffff")')
            return read_h3(cell)
        radius_m = read_distance(self._evaluate(bound.named["distance"]), at, "distance")
        geometry = bound.named["geometry"]
        return AroundRegion(get_shape(self._evaluate(geometry), geometry.at), radius_m)

    def _filter(self, elements: Elements, bound: Bound, at: At) -> Elements:
        found = self._with_tags(elements, bound.filters) if bound.filters else elements
        for condition in bound.rest:
            # Bound now: the expression is looked at when the rows are.
            found = found.having(tests=(*found.tests, self._make_test(condition)))
        if not bound.filters and not bound.rest:
            raise fail(at, ".filter() needs a condition", 'write .filter(wheelchair: "yes")')
        return found

    def _make_test(self, condition: Expression) -> Any:
        # What is wrong with it is said at once, and of no rows.
        self._rowwise(np.empty(0, np.int64)).truths(condition)
        return lambda rows: self._rowwise(np.asarray(rows, np.int64)).truths(condition)

    def _rowwise(self, rows: Ints) -> Rowwise:
        return Rowwise(self._store, rows, self._services, self._constant, self._deadline)

    def _constant(self, expression: Expression) -> Any:
        """Return what a variable or a geometry in an expression about elements is."""
        value = self._evaluate(expression)
        if isinstance(value, Shape | Elements | Features):
            return get_shape(value, expression.at)
        return value

    def _join(self, elements: Elements, name: str, bound: Bound, at: At) -> Elements:
        source = self._evaluate(bound.named["source"])
        if not isinstance(source, Elements):
            raise fail(bound.named["source"].at, f".{name}() takes a set of elements")
        role = self._evaluate(bound.named["role"]) if "role" in bound.named else None
        if role is not None and not isinstance(role, str):
            raise fail(at, "role must be a text")
        rows = (
            self._members(source.find(), role)
            if name == "member_of"
            else self._holders(source.find(), role)
        )
        return elements.having(tests=(*elements.tests, _among(rows)))

    def _members(self, rows: Ints, role: str | None) -> Ints:
        """Return the sorted rows of members of relations and, without a role, of nodes of ways."""
        store = self._store
        relations = rows[rows >= store.relation_start]
        members = store.members(relations)
        known = members.row >= 0
        if role is not None:
            number = store.roles.index(role) if role in store.roles else -1
            known &= members.role == number
        parts = [members.row[known].astype(np.int64)]
        ways = rows[(rows >= store.way_start) & (rows < store.relation_start)]
        if role is None and len(ways):
            nodes = store.way_nodes(ways).values.astype(np.int64)
            parts.append(nodes[nodes < store.node_count])
        return distinct(*parts)

    def _holders(self, rows: Ints, role: str | None) -> Ints:
        """Return the sorted rows of relations that hold rows, and of ways that have the nodes."""
        store = self._store
        _, relations, roles = store.relations_of(np.sort(rows))
        if role is not None:
            number = store.roles.index(role) if role in store.roles else -1
            relations = relations[roles == number]
        parts = [np.asarray(relations, np.int64)]
        nodes = rows[rows < store.way_start]
        if role is None and len(nodes):
            parts.append(store.ways_of_nodes(nodes).values.astype(np.int64))
        return distinct(*parts)

    def _expand(self, elements: Elements, direction: Expression) -> Elements:
        name = direction.name if isinstance(direction, Atom) else ""
        if name not in ("down", "up"):
            raise fail(direction.at, "this is no direction", "write .expand(:down) or .expand(:up)")
        rows = elements.find()
        more = self._members(rows, None) if name == "down" else self._holders(rows, None)
        return elements.of_rows(self._store.sort_by_eid(distinct(rows, more)))

    def _texts(self, bound: Bound, at: At) -> list[str]:
        values = [self._evaluate(value) for value in bound.rest]
        if not values or not all(isinstance(value, str) for value in values):
            raise fail(at, "this takes texts", 'write .fields("name", "amenity")')
        return values

    def _included(self, bound: Bound, at: At) -> tuple[str, ...]:
        names = self._texts(bound, at)
        for name in names:
            if name in ("nodes", "members"):
                raise fail(at, f'.include("{name}") is not offered', "write .expand(:down)")
            if name not in ("bbox", "center", "meta"):
                raise fail(at, f'there is nothing called "{name}"', "there are bbox, center, meta")
        return tuple(names)

    # ---- order and groups -----------------------------------------------------------------------

    def _sort(self, elements: Elements, bound: Bound, at: At) -> Elements:
        by = bound.named["by"]
        order = bound.named.get("order")
        if order is not None and not (isinstance(order, Atom) and order.name in ("asc", "desc")):
            raise fail(order.at, "this is no order", "write order: :asc or order: :desc")
        is_down = isinstance(order, Atom) and order.name == "desc"
        rows = elements.find()
        if isinstance(by, Atom):
            if by.name != "qt":
                raise fail(by.at, f":{by.name} is no order", 'write :qt, or t["name"]')
            keys = _quadtiles(self._store, rows).astype(np.float64)
        else:
            vector = self._rowwise(rows).vector(by)
            if isinstance(vector, Texts):
                place = np.argsort(np.argsort(np.array([*vector.texts, ""], np.object_)[:-1],
                                              kind="stable"))  # fmt: skip
                keys = np.append(place.astype(np.float64), np.nan)[vector.codes]
            elif isinstance(vector, Truths):
                keys = np.where(vector.known, vector.values, np.nan)
            else:
                keys = vector.values
        keys = -keys if is_down else keys
        # Stable, so that equal ones keep the order of their eids; unknown ones come last.
        return elements.of_rows(rows[np.argsort(keys, kind="stable")])

    def _group(self, elements: Elements, expression: Expression) -> Groups:
        rows = elements.find()
        vector = self._rowwise(rows).vector(expression)
        if isinstance(vector, Texts):
            return Groups(elements, rows, vector.codes, list(vector.texts))
        if isinstance(vector, Truths):
            numbers = np.where(vector.known, vector.values.astype(np.int64), -1)
            return Groups(elements, rows, numbers, [False, True])
        known = ~np.isnan(vector.values)
        keys, codes = np.unique(vector.values[known], return_inverse=True)
        numbers = np.full(len(rows), -1, np.int64)
        numbers[known] = codes
        return Groups(elements, rows, numbers, keys.tolist())

    def _count_groups(self, groups: Groups, method: Method) -> Answer:
        known = groups.numbers >= 0
        bound = bind(METHODS[method.name], method.name, method.arguments, method.at)
        counts = np.bincount(groups.numbers[known], minlength=len(groups.keys))
        if method.name == "count":
            return Answer(dict(zip(map(_key, groups.keys), counts.tolist(), strict=True)))
        values = self._rowwise(groups.rows).numbers(bound.named["expression"])
        found = {
            _key(key): _aggregate(method.name, values[groups.numbers == number])
            for number, key in enumerate(groups.keys)
        }
        return Answer(found)


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return f"{key:g}" if isinstance(key, float) else str(key)


def _among(rows: Ints) -> Any:
    return lambda among: np.isin(among, rows)


def _aggregate(name: str, values: Any) -> float | None:
    """Return one number of many; None where there is none, but a sum of nothing is 0."""
    values = values[~np.isnan(values)]
    if name == "sum":
        return float(values.sum())
    if not len(values):
        return None
    if name == "avg":
        return float(values.mean())
    return float(values.min() if name == "min" else values.max())


def _quadtiles(store: Store, rows: Ints) -> Ints:
    """Return the place of each row along a curve through all squares of the map."""
    boxes = store.boxes(rows).astype(np.int64)
    x = ((boxes[:, 0] + boxes[:, 2]) // 2 + 1_800_000_000) >> 6
    y = ((boxes[:, 1] + boxes[:, 3]) // 2 + 900_000_000) >> 6
    found = np.zeros(len(rows), np.int64)
    for bit in range(26):
        found |= ((x >> bit) & 1) << (2 * bit) | ((y >> bit) & 1) << (2 * bit + 1)
    return found
