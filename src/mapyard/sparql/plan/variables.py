"""Which variables a pattern or expression has: in scope, certainly bound, mentioned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from mapyard.sparql.plan.algebra import (
    Aggregate,
    Bgp,
    Call,
    Distinct,
    Exists,
    Expression,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    Nearest,
    Negated,
    OrderBy,
    Pattern,
    Project,
    Remote,
    Service,
    Slice,
    TriplePattern,
    Union,
    Values,
    Var,
)
from mapyard.sparql.terms.terms import BlankNode, Iri, Literal


def triple_variables(triple: TriplePattern) -> Iterator[Var]:
    """Yield the variables of a triple pattern, in order."""
    for node in (triple.subject, triple.predicate, triple.object):
        if isinstance(node, Var):
            yield node


def visible(pattern: Pattern) -> dict[Var, None]:
    """Return the variables in scope after the pattern, in order of appearance."""
    match pattern:
        case Bgp():
            return {var: None for triple in pattern.triples for var in triple_variables(triple)}
        case Join(left, right) | LeftJoin(left, right) | Union(left, right):
            return visible(left) | visible(right)
        case Minus(left, _):
            return visible(left)
        case Nearest():
            distance = {pattern.distance: None} if pattern.distance else {}
            return visible(pattern.left) | visible(pattern.right) | distance
        case Extend(inner, var, _):
            return visible(inner) | {var: None}
        case Graph(name, inner) | Service(name, inner):
            return ({name: None} if isinstance(name, Var) else {}) | visible(inner)
        case Values(variables, _) | Project(_, variables):
            return dict.fromkeys(variables)
        case Remote():
            return dict.fromkeys(pattern.variables)
        case Group(_, keys, aggregates):
            return {var: None for var, _ in keys} | {var: None for var, _ in aggregates}
        case Filter() | OrderBy() | Distinct() | Slice():
            return visible(pattern.pattern)


def certain(pattern: Pattern) -> set[Var]:
    """Return the variables that are bound in every solution of the pattern."""
    match pattern:
        case Bgp():
            return set(visible(pattern))
        case Join(left, right):
            return certain(left) | certain(right)
        case Nearest():
            return certain(pattern.left) | certain(pattern.right)
        case Union(left, right):
            return certain(left) & certain(right)
        case LeftJoin(left, _) | Minus(left, _):
            return certain(left)
        case Graph(name, inner):
            return ({name} if isinstance(name, Var) else set()) | certain(inner)
        case Service(_, inner):
            return certain(inner)
        case Remote():
            return set(pattern.bound)
        case Values(variables, rows):
            return {v for i, v in enumerate(variables) if all(row[i] is not None for row in rows)}
        case Project(inner, variables):
            return certain(inner) & set(variables)
        case Group(inner, keys, _):
            return {var for var, key in keys if key is None} & certain(inner)
        case Filter() | OrderBy() | Distinct() | Slice() | Extend():
            return certain(pattern.pattern)


def mentioned(expression: Expression) -> set[Var]:
    """Return the variables that an expression depends on, those inside EXISTS included."""
    match expression:
        case Var():
            return {expression}
        case Call(_, args):
            return {var for arg in args for var in mentioned(arg)}
        case Exists(pattern, _):
            return pattern_mentions(pattern)
        case Aggregate(_, arg):
            return mentioned(arg) if arg is not None else set()
    return set()


def pattern_mentions(pattern: Pattern) -> set[Var]:
    """Return every variable that occurs anywhere in a pattern."""
    match pattern:
        case Bgp(_, filters):
            found = set(visible(pattern))
            for expression in filters:
                found |= mentioned(expression)
            return found
        case LeftJoin(left, right, filters):
            found = pattern_mentions(left) | pattern_mentions(right)
            for expression in filters:
                found |= mentioned(expression)
            return found
        case Join() | Union() | Minus() | Nearest():
            return pattern_mentions(pattern.left) | pattern_mentions(pattern.right)
        case Filter(inner, filters):
            found = pattern_mentions(inner)
            for expression in filters:
                found |= mentioned(expression)
            return found
        case Extend(inner, var, expression):
            return pattern_mentions(inner) | mentioned(expression) | {var}
        case Graph(name, inner) | Service(name, inner):
            return pattern_mentions(inner) | ({name} if isinstance(name, Var) else set())
        case Values(variables, _) | Remote(variables=variables):
            return set(variables)
        case Group(inner, keys, aggregates):
            found = pattern_mentions(inner) | {var for var, _ in keys}
            for _, key in keys:
                found |= mentioned(key) if key is not None else set()
            for _, aggregate in aggregates:
                found |= mentioned(aggregate)
            return found
        case OrderBy(inner, keys):
            found = pattern_mentions(inner)
            for expression, _ in keys:
                found |= mentioned(expression)
            return found
        case Project() | Distinct() | Slice():
            return pattern_mentions(pattern.pattern)


def predicates_of(pattern: Pattern) -> set[str]:
    """Return the IRIs of all predicates of a pattern, those of paths and of EXISTS included."""
    found: set[str] = set()
    pending: list[object] = [pattern]
    while pending:
        item = pending.pop()
        if isinstance(item, TriplePattern):
            if isinstance(item.predicate, Iri):
                found.add(item.predicate.value)
            elif not isinstance(item.predicate, Var):
                found |= _iris_of(item.predicate)
        elif isinstance(item, Service | Iri | Literal | BlankNode | str):
            continue  # the words of a service are its own
        elif isinstance(item, tuple):
            pending.extend(item)
        elif is_dataclass(item) and not isinstance(item, type):
            pending.extend(getattr(item, one.name) for one in fields(item))
    return found


def _iris_of(path: object) -> set[str]:
    """Return the IRIs of a path, but those that it leaves out."""
    if isinstance(path, Iri):
        return {path.value}
    if isinstance(path, Negated) or not is_dataclass(path) or isinstance(path, type):
        return set()
    return {iri for one in fields(path) for iri in _iris_of(getattr(path, one.name))}
