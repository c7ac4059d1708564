"""Running a query: statements in order, each expression to a value, outputs collected.

Sets of elements stay conditions until somebody looks at them, so that `.limit(10)` finds ten.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from mapyard.deadline import Deadline
from mapyard.features.regions import AroundRegion
from mapyard.osm.elements import NODE, RELATION, WAY
from mapyard.plazaql.parse.syntax import (
    Assignment,
    At,
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
from mapyard.plazaql.plan.check import Bound, bind, fail, read_program
from mapyard.plazaql.plan.signatures import FUNCTIONS, METHODS, TYPES
from mapyard.plazaql.run.calls import ask_service
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
from mapyard.plazaql.run.methods import Methods
from mapyard.plazaql.run.services import Services
from mapyard.plazaql.run.values import (
    Answer,
    Elements,
    Features,
    Groups,
    Look,
    Shape,
    Value,
)
from mapyard.store.distinct import distinct
from mapyard.store.reader import Store

_TYPES: Final = {"node": (NODE,), "way": (WAY,), "relation": (RELATION,)}


class Output(NamedTuple):
    """What a query puts out; the name is "" for the only one without a name."""

    name: str
    value: Value


def run_text(store: Store, text: str, services: Services, deadline: Deadline) -> list[Output]:
    """Return the outputs of a query; raise InvalidQuery and the like."""
    program = read_program(text)
    return Run(store, services, deadline).outputs(program)


class Run:
    """One query; lives in one thread."""

    def __init__(self, store: Store, services: Services, deadline: Deadline) -> None:
        self._store = store
        self._services = services
        self._deadline = deadline
        self._methods = Methods(services, deadline, self._evaluate)
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
        raise fail(expression.at, "this is not a value here", "write search(…) or a variable")

    def _attribute(self, expression: Attribute) -> list[str]:
        value = self._known[str(expression.variable)]
        if isinstance(value, Features):
            found = [f["properties"].get(expression.key) for f in value.features]
            return sorted({str(text) for text in found if text is not None})
        if not isinstance(value, Elements):
            raise fail(expression.at, f"{expression.variable} has no tags", "use a search")
        kvs = value.store.tag_values(value.find(), expression.key)
        return value.store.values(distinct(kvs[kvs >= 0]))

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
        if left.store is not right.store:
            raise fail(expression.at, f"{sign} stands between two sets of one dataset",
                       "put out each by itself: $$.mine = …; $$.map = …;")  # fmt: skip
        one, other = left.find(), right.find()
        is_both = np.isin(one, other)
        rows = distinct(one, other) if sign == "+" else one[is_both == (sign == "&")]
        return left.of_rows(left.store.sort_by_eid(rows))

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
            raise fail(at, "dataset() is searched", 'write search(dataset("my-shops"), name: *)')
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
        store = self._store
        for value in bound.rest:
            if isinstance(value, Call) and value.name == "dataset":
                store = self._dataset(value)
                continue
            if not isinstance(value, Word) or value.name not in TYPES:
                raise fail(
                    value.at, "this is not a type of elements", "write node, way, relation, nwr"
                )
            types = _TYPES.get(value.name, types)
        if len(bound.rest) > 1:
            raise fail(bound.rest[1].at, "one type of elements is enough", "nwr means all")
        found = self._methods.with_tags(Elements(store, self._deadline, types), bound.filters)
        for directive in self._directives:
            method = Method(
                Word("", directive.at), directive.name, directive.arguments, directive.at
            )
            found = self._methods.apply(found, method)
        return found

    def _dataset(self, call: Call) -> Store:
        slug = self._evaluate(
            bind(FUNCTIONS["dataset"], "dataset", call.arguments, call.at).named["slug"]
        )
        if not isinstance(slug, str):
            raise fail(call.at, "dataset() takes a text", 'write dataset("my-shops")')
        return self._services.find_dataset(slug)

    def _boundary(self, bound: Bound, at: At) -> Shape:
        names = [a for a in bound.filters if a.key == "name" and isinstance(a.value, Text)]
        if len(bound.filters) == 1 and names:
            assert isinstance(names[0].value, Text)
            shape = self._services.find_boundary(names[0].value.value)
        else:
            areas = Elements(self._store, self._deadline, (WAY, RELATION))
            named = self._methods.with_tags(areas, bound.filters)
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
                    value.at, "this is not a type of elements", "write node, way, relation, nwr"
                )
            types = _TYPES.get(str(name), types)
        shape = get_shape(given["point"], point.at)
        radius_m = read_distance(given.get("radius", 1_000.0), at, "radius")
        near = self._methods.with_tags(
            Elements(self._store, self._deadline, types, regions=(AroundRegion(shape, radius_m),)),
            bound.filters,
        )
        rows = near.find()
        order = np.argsort(
            self._methods.rowwise(near.store, rows).distances_m(shape, Call("distance", (), at))
        )
        count = read_count(given.get("limit", 20.0), at, "limit", 1)
        look = Look(columns=(("distance_m", shape),))
        return near.having(look=look).of_rows(rows[order[:count]])

    # ---- methods --------------------------------------------------------------------------------

    def _method(self, method: Method) -> Value:
        receiver = self._evaluate(method.receiver)
        if isinstance(receiver, Groups):
            return self._methods.count_groups(receiver, method)
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
        return self._methods.apply(receiver, method)

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
