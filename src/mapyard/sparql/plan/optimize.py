"""Rewrites of the algebra that keep its meaning: filters sink, constants spread, joins meet.

`optimize` runs once per query text; the order of triples is decided later, with the data's counts.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from mapyard.sparql.plan.algebra import (
    UNIT,
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
    OrderBy,
    Pattern,
    Project,
    Remote,
    Service,
    Slice,
    Union,
    Values,
    Var,
)
from mapyard.sparql.plan.services import resolve_services, rewrite_pairs
from mapyard.sparql.plan.variables import certain, mentioned, visible
from mapyard.sparql.terms.prefixes import GEOF
from mapyard.sparql.terms.terms import Iri, Literal

_UNSTABLE = frozenset(("RAND", "UUID", "STRUUID", "BNODE"))


def optimize(pattern: Pattern, needed: set[Var] | None, endpoints: Container[str] = ()) -> Pattern:
    """Return the pattern to run.

    Args:
        pattern: as it was parsed.
        needed: the variables that are read of it, None: all.
        endpoints: the other services that may be asked.
    """
    return _prune(_sink(resolve_services(pattern, endpoints)), needed)


# Filters ----------------------------------------------------------------------------------------


def _sink(pattern: Pattern) -> Pattern:
    """Return the pattern with every filter as deep as it may be, and joins in a better order."""
    match pattern:
        case Filter(inner, filters):
            inner = _sink(inner)
            constants = _constants(inner)
            prepared = [_substitute(f, constants) for f in _conjuncts(filters)]
            return _push(inner, prepared)
        case Nearest(left, right):
            return replace(pattern, left=_sink(left), right=_sink(right))
        case Join(left, right):
            return _join(_sink(left), _sink(right))
        case LeftJoin(left, right, filters):
            left, right = _sink(left), _sink(right)
            constants = _constants(left)
            return LeftJoin(
                left, right, tuple(_substitute(f, constants) for f in _conjuncts(filters))
            )
        case Union(left, right):
            return Union(_sink(left), _sink(right))
        case Minus(left, right):
            return Minus(_sink(left), _sink(right))
        case Bgp():
            rewritten = rewrite_pairs(pattern)
            return pattern if rewritten is pattern else _sink(rewritten)
        case Values() | Remote():
            return pattern
        case Service():
            raise AssertionError("services are resolved before")
        case Extend(inner, var, expression):
            return Extend(_sink(inner), var, _inside(expression))
        case Group(inner, keys, aggregates):
            return Group(_sink(inner), keys, aggregates)
        case Graph() | OrderBy() | Project() | Distinct() | Slice():
            return replace(pattern, pattern=_sink(pattern.pattern))


def _conjuncts(filters: tuple[Expression, ...]) -> list[Expression]:
    """Return the parts of `a && b`: a filter is true just when all are."""
    parts: list[Expression] = []
    for expression in filters:
        if isinstance(expression, Call) and expression.name == "&&":
            parts += _conjuncts(expression.args)
        else:
            parts.append(_inside(expression))
    return parts


def _inside(expression: Expression) -> Expression:
    """Return the expression with the patterns of its EXISTS optimized."""
    match expression:
        case Call(name, args, distinct):
            return Call(name, tuple(_inside(arg) for arg in args), distinct)
        case Exists(pattern, negated):
            return Exists(_prune(_sink(pattern), None), negated)
    return expression


def _has_exists(expression: Expression) -> bool:
    match expression:
        case Call(_, args):
            return any(_has_exists(arg) for arg in args)
        case Exists():
            return True
    return False


def _push(pattern: Pattern, filters: list[Expression]) -> Pattern:
    """Return the pattern with the filters applied as deep inside as possible."""
    if not filters:
        return pattern
    here: list[Expression] = []
    match pattern:
        case Filter(inner, own):
            return _push(inner, [*own, *filters])
        case Bgp(triples, own, _) if triples:
            scope = visible(pattern)
            inside = [f for f in filters if mentioned(f) <= scope.keys() and not _has_exists(f)]
            here = [f for f in filters if f not in inside]
            pattern = Bgp(triples, own + tuple(inside))
        case Join(left, right):
            in_left, in_right = certain(left), certain(right)
            to_left, to_right = [], []
            for f in filters:
                if _has_exists(f):
                    here.append(f)
                elif mentioned(f) <= in_left:
                    to_left.append(f)
                elif mentioned(f) <= in_right:
                    to_right.append(f)
                else:
                    here.append(f)
            pattern = _join(_push(left, to_left), _push(right, to_right))
        case LeftJoin(left, right, own):
            safe = certain(left) | (visible(left).keys() - visible(right).keys())
            to_left = [f for f in filters if mentioned(f) <= safe and not _has_exists(f)]
            here = [f for f in filters if f not in to_left]
            pattern = LeftJoin(_push(left, to_left), right, own)
        case Minus(left, right):
            to_left = [f for f in filters if not _has_exists(f)]
            here = [f for f in filters if _has_exists(f)]
            pattern = Minus(_push(left, to_left), right)
        case Extend(inner, var, expression):
            # A filter on a bound distance or relation goes to where an index can serve it.
            if isinstance(expression, Call) and expression.name.startswith(GEOF):
                filters = [_substitute(f, {var: expression}) for f in filters]
            to_inner = [f for f in filters if var not in mentioned(f) and not _has_exists(f)]
            here = [f for f in filters if f not in to_inner]
            pattern = Extend(_push(inner, to_inner), var, expression)
        case Union(left, right):
            to_both = [f for f in filters if not _has_exists(f)]
            here = [f for f in filters if _has_exists(f)]
            pattern = Union(_push(left, to_both), _push(right, to_both))
        case _:
            here = filters
    return Filter(pattern, tuple(here)) if here else pattern


def _constants(pattern: Pattern) -> dict[Var, Expression]:
    """Return variables that BIND or a one-row VALUES gives one value in every solution."""
    match pattern:
        case Extend(inner, var, expression):
            found = _constants(inner)
            if not mentioned(expression) and _is_stable(expression):
                found[var] = expression
            return found
        case Join(left, right):
            return _constants(left) | _constants(right)
        case LeftJoin(left, _) | Minus(left, _):
            return _constants(left)
        case Values(variables, (row,)):
            return {
                v: term
                for v, term in zip(variables, row, strict=True)
                if isinstance(term, Iri | Literal)
            }
        case Filter(inner, _):
            return _constants(inner)
    return {}


def _is_stable(expression: Expression) -> bool:
    match expression:
        case Call(name, args):
            return name not in _UNSTABLE and all(_is_stable(arg) for arg in args)
        case Exists():
            return False
    return True


def _substitute(expression: Expression, constants: dict[Var, Expression]) -> Expression:
    if not constants:
        return expression
    match expression:
        case Var():
            return constants.get(expression, expression)
        case Call("BOUND", _):
            return expression
        case Call(name, args, distinct):
            return Call(name, tuple(_substitute(arg, constants) for arg in args), distinct)
    return expression


# Joins ------------------------------------------------------------------------------------------


def _join(left: Pattern, right: Pattern) -> Pattern:
    if left == UNIT:
        return right
    if right == UNIT:
        return left
    if isinstance(left, Remote) and not isinstance(right, Remote):
        left, right = right, left  # what is bound here goes along to the other service
    if isinstance(left, Join) and isinstance(left.right, Remote) and not isinstance(right, Remote):
        return Join(_join(left.left, right), left.right)
    if isinstance(left, Bgp) and isinstance(right, Bgp):
        return Bgp(left.triples + right.triples, left.filters + right.filters)
    if is_seedable(left) and not is_seedable(right):
        left, right = right, left  # what stands alone first, then the store is asked for the rest
    if isinstance(left, Join) and isinstance(left.right, Bgp) and isinstance(right, Bgp):
        return Join(left.left, _join(left.right, right))
    return Join(left, right)


def is_seedable(pattern: Pattern) -> bool:
    """Return whether a join may evaluate the pattern with the bindings of its other side.

    That is so where nothing in it depends on a variable being unbound.
    """
    match pattern:
        case Bgp() | Remote():
            return True
        case Union(left, right):
            return is_seedable(left) and is_seedable(right)
        case Filter(inner, filters):
            scope = visible(inner).keys()
            return is_seedable(inner) and all(
                mentioned(f) <= scope and not _has_exists(f) for f in filters
            )
        case Graph(_, inner):
            return is_seedable(inner)
    return False


# Columns ----------------------------------------------------------------------------------------


def _prune(pattern: Pattern, needed: set[Var] | None) -> Pattern:
    """Return the pattern with `keep` set on each Bgp: what nobody reads is never fetched."""
    match pattern:
        case Bgp(triples, filters, _):
            keep = None if needed is None else frozenset(needed & visible(pattern).keys())
            return Bgp(triples, filters, keep)
        case Values() | Remote():
            return pattern
        case Join(left, right):
            wanted = _with(needed, visible(left).keys() & visible(right).keys())
            return Join(_prune(left, wanted), _prune(right, wanted))
        case LeftJoin(left, right, filters):
            wanted = _with(
                needed, visible(left).keys() & visible(right).keys(), *map(mentioned, filters)
            )
            return LeftJoin(_prune(left, wanted), _prune(right, wanted), filters)
        case Minus(left, right):
            shared = set(visible(left).keys() & visible(right).keys())
            return Minus(_prune(left, _with(needed, shared)), _prune(right, shared))
        case Union(left, right):
            return Union(_prune(left, needed), _prune(right, needed))
        case Filter(inner, filters):
            return Filter(_prune(inner, _with(needed, *map(mentioned, filters))), filters)
        case Extend(inner, var, expression):
            wanted = None if needed is None else (needed - {var}) | mentioned(expression)
            return Extend(_prune(inner, wanted), var, expression)
        case Graph(name, inner):
            return Graph(
                name, _prune(inner, _with(needed, {name} if isinstance(name, Var) else ()))
            )
        case Service():
            return pattern
        case Nearest(left, right, a, b):
            wanted = _with(needed, visible(left).keys() & visible(right).keys(), {a, b})
            return replace(pattern, left=_prune(left, wanted), right=_prune(right, wanted))
        case Group(inner, keys, aggregates):
            wanted = set()
            for var, key in keys:
                wanted |= {var} if key is None else mentioned(key)
            for _, aggregate in aggregates:
                wanted |= mentioned(aggregate)
                if aggregate.arg is None and aggregate.distinct:
                    wanted |= visible(inner).keys()
            return Group(_prune(inner, wanted), keys, aggregates)
        case OrderBy(inner, order):
            return OrderBy(_prune(inner, _with(needed, *(mentioned(e) for e, _ in order))), order)
        case Project(inner, variables):
            return Project(_prune(inner, set(variables)), variables)
        case Distinct(inner):
            return Distinct(_prune(inner, None if needed is None else set(visible(inner))))
        case Slice(inner, offset, limit):
            return Slice(_prune(inner, needed), offset, limit)


def _with(needed: set[Var] | None, *more: object) -> set[Var] | None:
    if needed is None:
        return None
    result = set(needed)
    for variables in more:
        result.update(variables)  # type: ignore[arg-type] # sets and views of variables
    return result
