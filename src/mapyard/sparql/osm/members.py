"""Members of relations and nodes of ways, in the new vocabulary and the old one.

A member is a blank node whose payload is (relation or way index) << 16 | position.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.geo.sphere import haversine_m
from mapyard.osm.elements import NODE
from mapyard.sparql.osm.ids import ABSENT, ELEMENT, MEMBER, WAY_MEMBER
from mapyard.sparql.osm.predicates import Pairs, Predicate, chunks, concat_pairs, of_space
from mapyard.sparql.run.table import Numbers, expand, join_indexes, unique_pairs, unique_rows
from mapyard.sparql.sources.source import Context, Matches, Position
from mapyard.sparql.terms.ids import PAYLOAD, Ids, integer_ids, make_ids, spaces
from mapyard.sparql.terms.terms import Literal
from mapyard.store.distinct import distinct
from mapyard.store.reader import E7, Store

_BITS: Final = 16
_POSITION: Final = (1 << _BITS) - 1


class Parts(NamedTuple):
    """Members of some containers: which one was asked, its index, position, and the member."""

    owner: NDArray[np.int64]
    container: NDArray[np.int64]
    position: NDArray[np.int64]
    element: Ids
    role: NDArray[Any] | None


def element_ids(rows: NDArray[Any], eids: NDArray[Any]) -> Ids:
    """Return ids of elements by row, or by eid where the row is −1."""
    return np.where(rows >= 0, make_ids(ELEMENT, rows), make_ids(ABSENT, eids))


class Containers:
    """Relations with their members, or ways with their nodes."""

    def __init__(self, store: Store, *, ways: bool) -> None:
        self.store = store
        self.ways = ways
        self.space = WAY_MEMBER if ways else MEMBER
        self.start, self.stop = (
            (store.way_start, store.relation_start)
            if ways
            else (store.relation_start, store.row_count)
        )
        self.count = self.stop - self.start

    def total(self) -> int:
        """Return about how many members there are, for planning."""
        return self.count * (8 if self.ways else 20)

    def parts(self, rows: NDArray[np.int64]) -> Parts:
        """Return the members of container rows; `owner` points into `rows`."""
        if self.ways:
            ragged = self.store.way_nodes(rows)
            index = ragged.owners()
            position = np.arange(len(index)) - ragged.offsets[:-1][index]
            refs = ragged.values.astype(np.int64)
            missing = refs >= self.store.node_count
            element = make_ids(ELEMENT, refs)
            if missing.any():
                ids = self.store.node_ids(ragged.values[missing])
                element[missing] = make_ids(ABSENT, ids * 4 + NODE)
            return Parts(index, rows[index] - self.start, position, element, None)
        members = self.store.members(rows)
        element = element_ids(members.row, members.eid)
        container = rows[members.relation] - self.start
        return Parts(members.relation, container, members.position, element, members.role)

    def member_ids(self, parts: Parts) -> Ids:
        """Return the blank nodes of members."""
        return make_ids(self.space, parts.container << _BITS | parts.position)

    def parts_of(self, member_ids: Ids) -> tuple[NDArray[np.int64], Parts]:
        """Return which of the ids are members here, and the parts they are, in the same order."""
        index, payload = of_space(member_ids, self.space)
        rows, inverse = np.unique((payload >> _BITS) + self.start, return_inverse=True)
        parts = self.parts(rows)
        first = np.searchsorted(parts.owner, np.arange(len(rows)))
        place = first[inverse] + (payload & _POSITION)
        chosen = Parts(*(None if p is None else p[place] for p in parts))  # type: ignore[arg-type] # as in Parts
        return index, chosen

    def containers_of(self, elements: Ids) -> tuple[NDArray[np.int64], Parts]:
        """Return (index into elements, part) of the parts that some elements are."""
        unique, inverse = np.unique(elements, return_inverse=True)
        _, rows = of_space(unique, ELEMENT)
        absent = bool((spaces(unique) == ABSENT).any())
        if absent:  # elements outside the extract have no reverse index
            containers = np.arange(self.start, self.stop)
        elif self.ways:
            nodes = rows[rows < self.store.node_count]
            containers = distinct(self.store.ways_of_nodes(nodes).values).astype(np.int64)
        else:
            containers = distinct(self.store.relations_of(rows)[1]).astype(np.int64)
        parts = self.parts(containers)
        counts, start, order = join_indexes(
            [elements], [parts.element], len(elements), len(parts.element)
        )
        index, place = expand(counts, start)
        del inverse
        chosen = Parts(*(None if p is None else p[order[place]] for p in parts))  # type: ignore[arg-type] # as in Parts
        return index, chosen


class MemberOf(Predicate):
    """`osmrel:member`, `osmway:member`: from the container to the members' blank nodes."""

    is_listed = True
    per_object = 1.0
    backward_is_single = True

    def __init__(self, containers: Containers) -> None:
        self._containers = containers
        self.total = containers.total()
        self.per_subject = 8.0 if containers.ways else 20.0

    def scan(self, context: Context) -> Iterator[tuple[Ids, Ids]]:
        """Yield all members."""
        for part in chunks(self._containers.count):
            context.deadline.check()
            rows = np.arange(self._containers.count)[part] + self._containers.start
            parts = self._containers.parts(rows)
            yield make_ids(ELEMENT, rows[parts.owner]), self._containers.member_ids(parts)

    def forward(self, subjects: Ids, context: Context) -> Pairs:
        """Return the members of containers."""
        index, rows = of_space(subjects, ELEMENT)
        mine = (rows >= self._containers.start) & (rows < self._containers.stop)
        index, rows = index[mine], rows[mine]
        found: list[Pairs] = []
        for start in range(0, len(rows), 65_536):
            context.deadline.check()
            parts = self._containers.parts(rows[start : start + 65_536])
            found.append((index[parts.owner + start], self._containers.member_ids(parts)))
        return concat_pairs(found)

    def backward(self, objects: Ids, context: Context) -> Pairs:
        """Return the containers of members."""
        index, payload = of_space(objects, self._containers.space)
        return index, make_ids(ELEMENT, (payload >> _BITS) + self._containers.start)


class MemberValue(Predicate):
    """A property of members: `id`, `role`, `pos`, or `next` for the following node of a way."""

    forward_is_single = True

    def __init__(self, containers: Containers, what: str) -> None:
        self._containers = containers
        self._what = what
        self.total = containers.total()
        self.per_object = 2.0 if what == "id" else self.total / 10

    def _values(self, parts: Parts, context: Context) -> Ids:
        if self._what == "id":
            return parts.element
        if self._what == "pos":
            return integer_ids(parts.position)
        if self._what == "next":
            return self._next(parts)
        if self._what == "distance":
            return self._distances(parts, context)
        if parts.role is None:
            return np.zeros(len(parts.element), np.int64)
        return role_ids(self._containers.store, parts.role, context)

    def _next(self, parts: Parts) -> Ids:
        """Return the node that follows each node of ways, 0 behind the last."""
        rows, inverse = np.unique(parts.container, return_inverse=True)
        all_parts = self._containers.parts(rows + self._containers.start)
        first = np.searchsorted(all_parts.owner, np.arange(len(rows) + 1))
        place = first[inverse] + parts.position + 1
        ends = first[inverse + 1]
        last = len(all_parts.element) - 1
        return np.where(place < ends, all_parts.element[np.minimum(place, last)], 0)

    def _distances(self, parts: Parts, context: Context) -> Ids:
        """Return the meters from each node of ways to the next one."""
        following = self._next(parts)
        known = (spaces(parts.element) == ELEMENT) & (spaces(following) == ELEMENT)
        here, there = parts.element[known] & PAYLOAD, following[known] & PAYLOAD
        store = self._containers.store
        meters = np.zeros(len(following))
        meters[known] = haversine_m(
            store.lon[here] / E7, store.lat[here] / E7, store.lon[there] / E7, store.lat[there] / E7
        )
        return Numbers(meters, known).to_ids(context)

    def _keep(self, index: NDArray[np.int64], values: Ids) -> Pairs:
        keep = values != 0
        return (index, values) if keep.all() else (index[keep], values[keep])

    def scan(self, context: Context) -> Iterator[tuple[Ids, Ids]]:
        """Yield the property of all members."""
        for part in chunks(self._containers.count):
            context.deadline.check()
            rows = np.arange(self._containers.count)[part] + self._containers.start
            parts = self._containers.parts(rows)
            members = self._containers.member_ids(parts)
            yield self._keep(members, self._values(parts, context))

    def forward(self, subjects: Ids, context: Context) -> Pairs:
        """Return the property of members."""
        index, parts = self._containers.parts_of(subjects)
        return self._keep(index, self._values(parts, context))

    def backward(self, objects: Ids, context: Context) -> Pairs:
        """Return the members with a property; by the reverse index for elements."""
        if self._what != "id":
            return super().backward(objects, context)
        index, parts = self._containers.containers_of(objects)
        return index, self._containers.member_ids(parts)


class Has(Predicate):
    """`osmm:has`: from a relation straight to its members."""

    is_listed = True
    per_subject = 20.0
    per_object = 2.0

    def __init__(self, containers: Containers) -> None:
        self._containers = containers
        self.total = containers.total()

    def scan(self, context: Context) -> Iterator[tuple[Ids, Ids]]:
        """Yield all relations with each member."""
        for part in chunks(self._containers.count):
            rows = np.arange(self._containers.count)[part] + self._containers.start
            parts = self._containers.parts(rows)
            owner, element = unique_pairs(parts.owner, parts.element)
            yield make_ids(ELEMENT, rows[owner]), element

    def forward(self, subjects: Ids, context: Context) -> Pairs:
        """Return the members of relations."""
        index, rows = of_space(subjects, ELEMENT)
        mine = (rows >= self._containers.start) & (rows < self._containers.stop)
        parts = self._containers.parts(rows[mine])
        owner, element = unique_pairs(parts.owner, parts.element)
        return index[mine][owner], element

    def backward(self, objects: Ids, context: Context) -> Pairs:
        """Return the relations of members."""
        index, parts = self._containers.containers_of(objects)
        return unique_pairs(index, make_ids(ELEMENT, parts.container + self._containers.start))


class RoleOf(Predicate):
    """Sophox writes `relation member "role"`: the member itself is the predicate."""

    is_listed = True
    total = 1

    def __init__(self, containers: Containers, member: int) -> None:
        self._containers = containers
        self._member = np.array([member], np.int64)

    def _pairs(self, context: Context) -> tuple[Ids, Ids]:
        _, parts = self._containers.containers_of(self._member)
        assert parts.role is not None
        subjects = make_ids(ELEMENT, parts.container + self._containers.start)
        return unique_pairs(subjects, role_ids(self._containers.store, parts.role, context))

    def scan(self, context: Context) -> Iterator[tuple[Ids, Ids]]:
        """Yield the relations of the member with its roles."""
        yield self._pairs(context)

    def forward(self, subjects: Ids, context: Context) -> Pairs:
        """Return the roles that the member has in relations."""
        relations, roles = self._pairs(context)
        counts, start, order = join_indexes([subjects], [relations], len(subjects), len(relations))
        index, place = expand(counts, start)
        return index, roles[order[place]]


def match_roles(
    containers: Containers, s: Position, members: Ids, o: Position, context: Context
) -> Iterator[Matches]:
    """Yield `relation member "role"` for a member per input row, as `Source.match` does."""
    unique = distinct(members)
    index, parts = containers.containers_of(unique)
    assert parts.role is not None
    relations = make_ids(ELEMENT, parts.container + containers.start)
    roles = role_ids(containers.store, parts.role, context)
    triples = np.column_stack(unique_rows([relations, unique[index], roles]))
    columns = [(0, s), (1, members), (2, o)]
    for column, position in columns:
        if isinstance(position, int):
            triples = triples[triples[:, column] == position]
    arrays = [(column, p) for column, p in columns if isinstance(p, np.ndarray)]
    counts, start, order = join_indexes(
        [p for _, p in arrays], [triples[:, c] for c, _ in arrays], len(members), len(triples)
    )
    rows, place = expand(counts, start)
    chosen = triples[order[place]]
    yield Matches(
        len(rows),
        rows,
        subject=chosen[:, 0] if s is None else None,
        object=chosen[:, 2] if o is None else None,
    )


def role_ids(store: Store, roles: NDArray[Any], context: Context) -> Ids:
    """Return the ids of role texts; an empty role is "member", as osm2rdf writes it."""
    unique, inverse = np.unique(roles, return_inverse=True)
    names = store.roles
    ids = [context.encode(Literal(names[role] or "member")) for role in unique.tolist()]
    return np.array(ids, np.int64)[inverse]
