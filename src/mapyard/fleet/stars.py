"""Which SPARQL queries ask about elements one by one, so that regions can answer them together.

All triples of such a query's pattern have one subject, an element, or a node of its own: its
geometry, its members. What it finds of an element is known wherever the element is held, so each
region answers for the elements that it owns. Groups, orders and limits around the pattern are made
of all rows, by the engine of the asking node.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from mapyard.sparql.osm.ids import ELEMENT_PREFIXES
from mapyard.sparql.plan.algebra import (
    Bgp,
    Call,
    Distinct,
    Exists,
    Expression,
    Extend,
    Filter,
    Group,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    Pattern,
    Project,
    Query,
    Slice,
    TriplePattern,
    Union,
    Values,
    Var,
)
from mapyard.sparql.plan.variables import certain, pattern_mentions, triple_variables, visible
from mapyard.sparql.terms.prefixes import (
    OSM,
    OSM2RDF,
    OSM2RDF_GEOM,
    OSM2RDF_KEY,
    OSM2RDF_MEMBER,
    OSM_META,
    OSM_RELATION,
    OSM_WAY,
    SOPHOX_KEY,
)
from mapyard.sparql.terms.terms import GEO, RDF_TYPE, Iri

_OUTER: Final = (Slice, Distinct, Project, OrderBy, Group)
_SHAPES: Final = ("hasGeometry", "hasDefaultGeometry", "defaultGeometry", "hasCentroid")
#: Predicates whose object is a node that only its subject has.
_OWN_NODES: Final = frozenset(
    [GEO + name for name in _SHAPES]
    + [OSM_RELATION + "member", OSM_WAY + "member", OSM_WAY + "node"]
)
_OWN: Final = frozenset(
    [RDF_TYPE, GEO + "asWKT", GEO + "hasSerialization", *_OWN_NODES]
    + [OSM2RDF + name for name in ("facts", "length", "area", "hasCompleteGeometry")]
)
#: Everything of these says something about its subject alone, but for what follows.
_OWN_SPACES: Final = (OSM, SOPHOX_KEY, OSM2RDF_KEY, OSM2RDF_GEOM, OSM2RDF_MEMBER)
_NOT_OWN: Final = frozenset([OSM_META + "has"])
#: Functions that give something else each time, or on each node.
_FICKLE: Final = ("RAND", "UUID", "STRUUID", "BNODE", "NOW")


class NoStar(Exception):  # noqa: N818 - it says why, and is told as a refusal
    """A query is not about elements one by one."""


class Star(NamedTuple):
    """A query about elements one by one."""

    query: Query
    #: What regions find, and the variable of the element in it.
    where: Pattern
    subject: Var
    #: The variables that anything around it reads.
    needed: tuple[Var, ...]
    #: What is around it, from the outside.
    outer: tuple[Pattern, ...]

    @property
    def is_grouped(self) -> bool:
        """Whether rows are grouped, so that their order does not matter."""
        return any(isinstance(node, Group) for node in self.outer)

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing around it but a choice of variables and rows, and an order."""
        return all(isinstance(node, Project | Slice | OrderBy) for node in self.outer)

    @property
    def is_ordered(self) -> bool:
        """Whether the query says in which order rows come."""
        return any(isinstance(node, OrderBy) for node in self.outer)

    def around(self, where: Pattern, further: tuple[Var, ...] = ()) -> Query:
        """Return the query with another pattern in the place of `where`.

        `further` variables of it are shown, too.
        """
        pattern = _put(self.query.pattern, self.where, where, further)
        variables = self.query.variables + further
        return replace(self.query, pattern=pattern, variables=variables)


def _put(pattern: Pattern, old: Pattern, new: Pattern, further: tuple[Var, ...] = ()) -> Pattern:
    if pattern is old:
        return new
    assert isinstance(pattern, (*_OUTER, Extend, Filter))
    inner = _put(pattern.pattern, old, new, further)
    if isinstance(pattern, Project):
        return Project(inner, pattern.variables + further)
    return replace(pattern, pattern=inner)


def find_star(query: Query) -> Star:
    """Return what a query asks about elements; raise NoStar where it asks something else."""
    if query.form == "describe":
        raise NoStar("DESCRIBE tells all that is known of a thing")
    if query.from_graphs or query.from_named:
        raise NoStar("it names graphs")
    where = node = query.pattern
    outer: list[Pattern] = []
    while isinstance(node, (*_OUTER, Extend, Filter)):
        if isinstance(node, _OUTER):
            outer.append(node)
            where = node.pattern
        node = node.pattern
    subjects = dict.fromkeys(
        triple.subject for triple in _iter_triples(where) if isinstance(triple.subject, Var)
    )
    if not subjects:
        raise NoStar("it has no variable that stands for the elements")
    whys = []
    for subject in subjects:
        try:
            _check(where, _find_own(where, subject))
            if subject not in certain(where):
                raise NoStar(f"not all of its solutions have ?{subject.name}")
        except NoStar as error:
            whys.append(error)
            continue
        placeholder = Values((), ())
        around = pattern_mentions(_put(query.pattern, where, placeholder))
        around |= set(query.variables) | {
            var for triple in query.template for var in triple_variables(triple)
        }
        around |= {var for node in outer if isinstance(node, Project) for var in node.variables}
        needed = tuple(var for var in visible(where) if var in around)
        return Star(query, where, subject, needed, tuple(outer))
    raise whys[0]


def _iter_triples(pattern: Pattern) -> Iterator[TriplePattern]:
    match pattern:
        case Bgp():
            yield from pattern.triples
        case Join() | LeftJoin() | Union() | Minus():
            yield from _iter_triples(pattern.left)
            yield from _iter_triples(pattern.right)
        case Filter() | Extend():
            yield from _iter_triples(pattern.pattern)


def _find_own(where: Pattern, subject: Var) -> frozenset[Var]:
    """Return the subject and the variables of nodes that only it has."""
    own = {subject}
    triples = list(_iter_triples(where))
    while True:
        more = {
            triple.object for triple in triples
            if triple.subject in own and isinstance(triple.object, Var)
            and isinstance(triple.predicate, Iri) and triple.predicate.value in _OWN_NODES
        }  # fmt: skip
        if more <= own:
            return frozenset(own)
        own |= more


def _check(pattern: Pattern, own: frozenset[Var]) -> None:
    """Raise NoStar where a pattern looks at anything but what is own."""
    match pattern:
        case Bgp():
            for triple in pattern.triples:
                _check_triple(triple, own)
            _check_expressions(pattern.filters, own)
        case Join() | Union() | Minus():
            _check(pattern.left, own)
            _check(pattern.right, own)
        case LeftJoin():
            _check(pattern.left, own)
            _check(pattern.right, own)
            _check_expressions(pattern.filters, own)
        case Filter():
            _check(pattern.pattern, own)
            _check_expressions(pattern.filters, own)
        case Extend():
            _check(pattern.pattern, own)
            _check_expressions((pattern.expression,), own)
        case Values():
            return
        case _:
            raise NoStar("it has services, named graphs or queries within it")


def _check_triple(triple: TriplePattern, own: frozenset[Var]) -> None:
    if triple.subject not in own:
        raise NoStar("it joins several elements, which may lie in different regions")
    predicate = triple.predicate
    if not isinstance(predicate, Iri):
        raise NoStar("it has a variable or a repeated path as predicate")
    name = predicate.value
    is_own = name in _OWN or (name.startswith(_OWN_SPACES) and name not in _NOT_OWN)
    if not is_own:
        raise NoStar(f"<{name}> relates elements to others")
    if triple.object in own and name not in _OWN_NODES:
        raise NoStar("it relates an element to itself")


def _check_expressions(expressions: tuple[Expression, ...], own: frozenset[Var]) -> None:
    pending: list[object] = [*expressions]
    while pending:
        item = pending.pop()
        if isinstance(item, Exists):
            _check(item.pattern, own | _find_own_of_all(item.pattern, own))
        elif isinstance(item, Call):
            if item.name.upper() in _FICKLE:
                raise NoStar(f"{item.name} gives something else in each region")
            pending.extend(item.args)
        elif isinstance(item, Iri) and item.value.startswith(ELEMENT_PREFIXES):
            raise NoStar("it compares with the geometry of another element")


def _find_own_of_all(pattern: Pattern, own: frozenset[Var]) -> frozenset[Var]:
    return frozenset().union(*(_find_own(pattern, var) for var in own))
