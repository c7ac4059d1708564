"""SERVICE clauses of the public endpoints, rewritten to patterns and filters of our own.

Sophox: `wikibase:around`, `wikibase:box`; `wikibase:label` is labels.py's.
QLever: `spatialSearch:`, and pairs by distance as a predicate, `?a <nearest-neighbors:3> ?b`.
Any other name is another server: asked where the operator lists it, else refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final

from mapyard.errors import Unsupported
from mapyard.sparql.plan.algebra import (
    UNIT,
    Bgp,
    Call,
    Expression,
    Extend,
    Filter,
    Join,
    Nearest,
    Node,
    Pattern,
    Remote,
    Service,
    TriplePattern,
    Var,
)
from mapyard.sparql.plan.variables import certain, triple_variables, visible
from mapyard.sparql.terms.prefixes import BIGDATA, GEOF, QUDT_UNIT, SPATIAL_SEARCH, WIKIBASE
from mapyard.sparql.terms.terms import XSD_DOUBLE, Iri, Literal
from mapyard.sparql.terms.values import find_number, number_literal

_KM: Final = Iri(QUDT_UNIT + "KiloM")
_JOIN_TYPES: Final = {
    "intersects": "sfIntersects", "contains": "sfContains", "covers": "sfCovers",
    "crosses": "sfCrosses", "touches": "sfTouches", "equals": "sfEquals",
    "overlaps": "sfOverlaps", "within": "sfWithin",
}  # fmt: skip
_LOCATION: Final = "https://www.openstreetmap.org/meta/loc"


def resolve_services(pattern: Pattern, endpoints: Container[str]) -> Pattern:
    """Return the pattern with every SERVICE made what answers it; raises Unsupported."""

    def resolve(item: Any) -> Any:
        if isinstance(item, Join) and isinstance(item.right, Service):
            return _resolve(resolve(item.left), item.right, endpoints)
        if isinstance(item, Service):
            return _resolve(UNIT, item, endpoints)
        if isinstance(item, tuple) and type(item) is tuple:
            return tuple(resolve(one) for one in item)
        if not is_dataclass(item) or isinstance(item, type | Var | TriplePattern):
            return item
        values = {field.name: getattr(item, field.name) for field in fields(item)}
        changed = {name: resolve(value) for name, value in values.items()}
        if all(changed[name] is value for name, value in values.items()):
            return item
        return replace(item, **changed)

    found: Pattern = resolve(pattern)
    return found


def _resolve(left: Pattern, service: Service, endpoints: Container[str]) -> Pattern:
    """Return what joins the service to what stands before it; raises Unsupported."""
    name = service.name.value if isinstance(service.name, Iri) else ""
    if name in (WIKIBASE + "around", WIKIBASE + "box"):
        return _near(left, service, is_box=name.endswith("box"))
    if name.rstrip("/") == SPATIAL_SEARCH.rstrip("/"):
        return _spatial_search(left, service)
    if name in endpoints:
        variables = tuple(v for v in visible(service.pattern) if not v.name.startswith(" "))
        remote = Remote(
            name, service.text, service.prologue, variables,
            frozenset(certain(service.pattern)).intersection(variables), service.silent,
        )  # fmt: skip
        return remote if left == UNIT else Join(left, remote)
    if service.silent:
        return left  # section 4.3 of SPARQL Federated Query: as if it gave one empty solution
    raise _refuse(
        service,
        f"SERVICE <{name}> is another server, which this one may not ask"
        if name
        else "SERVICE takes the name of a service here, no variable",
        "the operator lists those that may be asked; answered here are wikibase:around, "
        "wikibase:box, wikibase:label and spatialSearch:",
    )


_PAIRS: Final = re.compile(
    r"(?:max-distance-in-meters:(?P<m>\d+)|nearest-neighbors:(?P<count>\d+)(?::(?P<most>\d+))?)"
)


def rewrite_pairs(pattern: Bgp) -> Pattern:
    """Return the pattern with `?a <max-distance-in-meters:50> ?b` and its like made a search.

    For `<nearest-neighbors:3:500>` the triples that hang together with `?b` are the other side.
    """
    for place, triple in enumerate(pattern.triples):
        name = triple.predicate.value if isinstance(triple.predicate, Iri) else ""
        found = _PAIRS.fullmatch(name)
        if found is None:
            continue
        a, b = triple.subject, triple.object
        if not isinstance(a, Var) or not isinstance(b, Var):
            raise Unsupported(f"<{name}> stands between two variables that are geometries")
        rest = pattern.triples[:place] + pattern.triples[place + 1 :]
        if found["m"] is not None:
            limit = Literal(found["m"], XSD_DOUBLE)
            near = Call("<=", (Call(GEOF + "metricDistance", (a, b)), limit))
            return Filter(rewrite_pairs(Bgp(rest, pattern.filters)), (near,))
        count = int(found["count"])
        if not 1 <= count <= 1000:
            raise Unsupported("nearest-neighbors takes a number from 1 to 1000")
        right = _hanging_together(rest, b)
        if any(a in triple_variables(t) for t in right):
            raise Unsupported(
                f"<{name}> pairs two sides; here other triples join ?{a.name} and ?{b.name}"
            )
        left = tuple(t for t in rest if t not in right)
        most = float(found["most"]) if found["most"] else math.inf
        return Nearest(rewrite_pairs(Bgp(left)), Bgp(tuple(right)), a, b, count, most, None)
    return pattern


def _hanging_together(triples: tuple[TriplePattern, ...], begin: Var) -> list[TriplePattern]:
    """Return the triples that share variables with each other, from one variable on."""
    known = {begin}
    while True:
        found = [t for t in triples if known.intersection(triple_variables(t))]
        wider = {var for t in found for var in triple_variables(t)} | {begin}
        if wider == known:
            return found
        known = wider


def _refuse(service: Service, message: str, hint: str = "") -> Unsupported:
    where = f"line {service.line}, column {service.column}: "
    details = {"line": service.line, "column": service.column, "hint": hint}
    return Unsupported(where + message + (f" ({hint})" if hint else ""), details=details)


def _split(service: Service, namespace: str) -> tuple[Pattern, dict[str, list[Node]]]:
    """Return the service's own pattern, and its parameters by local name."""
    parameters: dict[str, list[Node]] = {}

    def strip(pattern: Pattern) -> Pattern:
        if isinstance(pattern, Join):
            left, right = strip(pattern.left), strip(pattern.right)
            if left == UNIT or right == UNIT:
                return right if left == UNIT else left
            return Join(left, right)
        if not isinstance(pattern, Bgp):
            return pattern
        kept = []
        for triple in pattern.triples:
            predicate = triple.predicate
            if isinstance(predicate, Iri) and predicate.value.startswith(namespace):
                local = predicate.value.removeprefix(namespace)
                parameters.setdefault(local, []).append(triple.object)
            elif triple.subject != Iri(BIGDATA + "serviceParam"):
                kept.append(triple)
        return Bgp(tuple(kept))

    return strip(service.pattern), parameters


def _one(service: Service, parameters: dict[str, list[Node]], name: str) -> Expression:
    values = parameters.get(name, [])
    if len(values) != 1 or not isinstance(values[0], Var | Iri | Literal):
        raise _refuse(service, f"the service needs exactly one {name}")
    return values[0]


def _near(left: Pattern, service: Service, *, is_box: bool) -> Pattern:
    pattern, parameters = _split(service, WIKIBASE)
    shape = None
    for triple in pattern.triples if isinstance(pattern, Bgp) else ():
        if triple.predicate == Iri(_LOCATION) and isinstance(triple.object, Var):
            shape = triple.object
    if shape is None:
        raise _refuse(service, "the service needs a triple ?element osmm:loc ?location")
    joined = pattern if left == UNIT else Join(left, pattern)
    if is_box:
        corners = [
            _one(service, parameters, name) for name in ("cornerSouthWest", "cornerNorthEast")
        ]
        box = Call(GEOF + "envelope", (Call(GEOF + "union", tuple(corners)),))
        return Filter(joined, (Call(GEOF + "sfIntersects", (shape, box)),))
    center = _one(service, parameters, "center")
    radius = _one(service, parameters, "radius")
    if isinstance(radius, Literal):
        radius = number_literal(_number(service, radius, "radius"), 3)
    distance = Call(GEOF + "distance", (shape, center, _KM))
    result: Pattern = Filter(joined, (Call("<=", (distance, radius)),))
    if "distance" in parameters:
        result = Extend(result, _variable(service, parameters, "distance"), distance)
    return result


def _number(service: Service, literal: Literal, name: str) -> float:
    found = find_number(literal)
    if found is not None:
        return float(found[0])
    try:
        return float(literal.lexical)
    except ValueError:
        raise _refuse(service, f"{name} takes a number") from None


def _variable(service: Service, parameters: dict[str, list[Node]], name: str) -> Var:
    value = _one(service, parameters, name)
    if not isinstance(value, Var):
        raise _refuse(service, f"{name} takes a variable")
    return value


def _spatial_search(left: Pattern, service: Service) -> Pattern:
    pattern, parameters = _split(service, SPATIAL_SEARCH)
    a = _variable(service, parameters, "left")
    b = _variable(service, parameters, "right")
    distance = (
        _variable(service, parameters, "bindDistance") if "bindDistance" in parameters else None
    )
    limit_m = math.inf
    if "maxDistance" in parameters:
        limit = _one(service, parameters, "maxDistance")
        if not isinstance(limit, Literal):
            raise _refuse(service, "maxDistance takes a number of meters")
        limit_m = _number(service, limit, "maxDistance")
    if "numNearestNeighbors" in parameters:
        count = _one(service, parameters, "numNearestNeighbors")
        if not isinstance(count, Literal) or not 1 <= _number(service, count, "it") <= 1000:
            raise _refuse(service, "numNearestNeighbors takes a number from 1 to 1000")
        if pattern == UNIT:
            raise _refuse(service, "the pattern of the right side belongs inside the service")
        number = int(_number(service, count, "numNearestNeighbors"))
        return Nearest(left, pattern, a, b, number, limit_m, distance)
    joined = left if pattern == UNIT else (pattern if left == UNIT else Join(left, pattern))
    join_type = parameters.get("joinType", [None])[0]
    kind = join_type.value.removeprefix(SPATIAL_SEARCH) if isinstance(join_type, Iri) else ""
    measured = Call(GEOF + "metricDistance", (a, b))
    if kind in _JOIN_TYPES:
        condition: Expression = Call(GEOF + _JOIN_TYPES[kind], (a, b))
    elif kind in ("", "within-dist") and limit_m < math.inf:
        condition = Call("<=", (measured, Literal(repr(limit_m), XSD_DOUBLE)))
    else:
        raise _refuse(
            service,
            "the service needs maxDistance, numNearestNeighbors, or a joinType of "
            + ", ".join(_JOIN_TYPES),
        )
    result: Pattern = Filter(joined, (condition,))
    if distance is not None:
        result = Extend(result, distance, Call(GEOF + "distance", (a, b)))
    return result
