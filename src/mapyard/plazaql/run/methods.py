"""Methods of a set of elements: conditions, looks, order, numbers."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np

from mapyard.deadline import Deadline
from mapyard.features.regions import AroundRegion, BoxRegion, Region, ShapeRegion, read_h3
from mapyard.plazaql.parse.syntax import Argument, At, Atom, Expression, Method
from mapyard.plazaql.plan.check import Bound, bind, fail
from mapyard.plazaql.plan.signatures import METHODS
from mapyard.plazaql.run.expressions import Evaluate, Rowwise
from mapyard.plazaql.run.filters import TagConditions, read_filters
from mapyard.plazaql.run.geometries import get_shape, make_box, read_count, read_distance
from mapyard.plazaql.run.joins import find_holders, find_members
from mapyard.plazaql.run.orders import (
    aggregate,
    find_keys,
    find_quadtiles,
    make_groups,
    write_key,
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

_REGIONS: Final = (
    "within", "intersects", "contains", "crosses", "touches", "not_within", "not_intersects",
    "not_contains",
)  # fmt: skip


class Methods:
    """The methods of one query; `evaluate` gives the values of their arguments."""

    def __init__(self, services: Services, deadline: Deadline, evaluate: Evaluate) -> None:
        self._services = services
        self._deadline = deadline
        self._evaluate = evaluate

    def with_tags(self, elements: Elements, filters: list[Argument]) -> Elements:
        """Return the set with tag filters, and of some ids only where those are named."""
        store = elements.store
        read: TagConditions = read_filters(
            store, filters, self._evaluate, self._deadline, with_ids=True
        )
        found = elements.having(
            tags=(*elements.tags, *read.tags), tests=(*elements.tests, *read.tests)
        )
        if read.ids is None:
            return found
        rows = np.concatenate(
            [store.find_rows(element_type, read.ids) for element_type in elements.types]
        )
        rows = store.sort_by_eid(distinct(rows[rows >= 0]))
        if elements.given is not None:
            rows = rows[np.isin(rows, elements.given)]
        return found.having(given=rows)

    def apply(self, elements: Elements, method: Method) -> Any:
        """Return what a method makes of a set."""
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
        numbers = self.rowwise(elements.store, elements.find()).numbers(bound.named["expression"])
        return Answer(aggregate(name, numbers))

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
        found = self.with_tags(elements, bound.filters) if bound.filters else elements
        for condition in bound.rest:
            # Bound now: the expression is looked at when the rows are.
            found = found.having(tests=(*found.tests, self._make_test(found.store, condition)))
        if not bound.filters and not bound.rest:
            raise fail(at, ".filter() needs a condition", 'write .filter(wheelchair: "yes")')
        return found

    def _make_test(self, store: Store, condition: Expression) -> Any:
        # What is wrong with it is said at once, and of no rows.
        self.rowwise(store, np.empty(0, np.int64)).truths(condition)
        return lambda rows: self.rowwise(store, np.asarray(rows, np.int64)).truths(condition)

    def rowwise(self, store: Store, rows: Ints) -> Rowwise:
        """Return the values of expressions for rows of a store."""
        return Rowwise(store, rows, self._services, self._constant, self._deadline)

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
        if elements.store.is_own or source.store.is_own:
            raise fail(at, f".{name}() is for elements of the map; datasets have no members")
        role = self._evaluate(bound.named["role"]) if "role" in bound.named else None
        if role is not None and not isinstance(role, str):
            raise fail(at, "role must be a text")
        find = find_members if name == "member_of" else find_holders
        rows = find(source.store, source.find(), role)
        return elements.having(tests=(*elements.tests, _among(rows)))

    def _expand(self, elements: Elements, direction: Expression) -> Elements:
        name = direction.name if isinstance(direction, Atom) else ""
        if name not in ("down", "up"):
            raise fail(
                direction.at, "this is not a direction", "write .expand(:down) or .expand(:up)"
            )
        if elements.store.is_own:
            raise fail(direction.at, ".expand() is for elements of the map; datasets have none")
        rows = elements.find()
        more = (
            find_members(elements.store, rows, None)
            if name == "down"
            else find_holders(elements.store, rows, None)
        )
        return elements.of_rows(elements.store.sort_by_eid(distinct(rows, more)))

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

    def _sort(self, elements: Elements, bound: Bound, at: At) -> Elements:
        by = bound.named["by"]
        order = bound.named.get("order")
        if order is not None and not (isinstance(order, Atom) and order.name in ("asc", "desc")):
            raise fail(order.at, "this is not an order", "write order: :asc or order: :desc")
        is_down = isinstance(order, Atom) and order.name == "desc"
        rows = elements.find()
        if isinstance(by, Atom):
            if by.name != "qt":
                raise fail(by.at, f":{by.name} is not an order", 'write :qt, or t["name"]')
            keys = find_quadtiles(elements.store, rows).astype(np.float64)
        else:
            keys = find_keys(self.rowwise(elements.store, rows).vector(by))
        keys = -keys if is_down else keys
        # Stable, so that equal ones keep the order of their eids; unknown ones come last.
        return elements.of_rows(rows[np.argsort(keys, kind="stable")])

    def _group(self, elements: Elements, expression: Expression) -> Groups:
        rows = elements.find()
        return make_groups(elements, rows, self.rowwise(elements.store, rows).vector(expression))

    def count_groups(self, groups: Groups, method: Method) -> Answer:
        """Return one number per group."""
        known = groups.numbers >= 0
        bound = bind(METHODS[method.name], method.name, method.arguments, method.at)
        counts = np.bincount(groups.numbers[known], minlength=len(groups.keys))
        if method.name == "count":
            return Answer(dict(zip(map(write_key, groups.keys), counts.tolist(), strict=True)))
        values = self.rowwise(groups.elements.store, groups.rows).numbers(bound.named["expression"])
        found = {
            write_key(key): aggregate(method.name, values[groups.numbers == number])
            for number, key in enumerate(groups.keys)
        }
        return Answer(found)


def _among(rows: Ints) -> Any:
    return lambda among: np.isin(among, rows)
