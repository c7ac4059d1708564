"""The vocabulary over elements: which predicates there are, and what their values are.

Tags are in osm_tags.py, members in osm_members.py, relations of geometry in osm_shapes.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from mapyard.osm.elements import TYPE_NAMES
from mapyard.sparql.osm.ids import (
    ABSENT,
    CENTROID,
    CENTROID_NODE,
    CHANGESET,
    ELEMENT,
    ENVELOPE,
    GEOMETRY_NODE,
    HULL,
    MEMBER,
    OBB,
    RELATIONS,
    VALUE,
    VOCABULARY,
    WAY_MEMBER,
    WKT,
    vocabulary_id,
)
from mapyard.sparql.osm.members import Containers, Has, MemberOf, MemberValue
from mapyard.sparql.osm.predicates import (
    ColumnPredicate,
    Pairs,
    Predicate,
    Rows,
    chunks,
    concat_pairs,
    of_space,
)
from mapyard.sparql.osm.shapes import RelationPredicate, geometry_ids, has_geometry
from mapyard.sparql.run.geosparql import areas_m2, lengths_m
from mapyard.sparql.run.table import Numbers
from mapyard.sparql.sources.source import Context
from mapyard.sparql.terms.ids import (
    DATETIME,
    INTEGER,
    POOL,
    Ids,
    datetime_ids,
    integer_ids,
    make_ids,
)
from mapyard.sparql.terms.prefixes import (
    GEOMETRY_TEXT,
    OGC,
    OSM,
    OSM2RDF,
    OSM2RDF_GEOM,
    OSM2RDF_MEMBER,
    OSM_META,
    OSM_RELATION,
    OSM_WAY,
)
from mapyard.sparql.terms.terms import (
    GEO,
    RDF_TYPE,
    XSD_BOOLEAN,
    XSD_DOUBLE,
    XSD_STRING,
    Literal,
    boolean,
)
from mapyard.store.distinct import distinct
from mapyard.store.reader import Store

#: The predicates that `?s ?p ?o` gives beside tags, with the spaces of their objects (−1: points).
OBJECT_SPACES: Final[dict[str, frozenset[int]]] = {
    RDF_TYPE: frozenset((VOCABULARY,)),
    OSM_META + "version": frozenset((INTEGER,)),
    OSM_META + "timestamp": frozenset((DATETIME,)),
    OSM_META + "changeset": frozenset((CHANGESET,)),
    OSM_META + "user": frozenset((VALUE, POOL)),
    OSM_META + "uid": frozenset((INTEGER,)),
    GEO + "hasGeometry": frozenset((GEOMETRY_NODE,)),
    GEO + "asWKT": frozenset((-1, WKT)),
    OSM2RDF + "facts": frozenset((INTEGER,)),
    OSM2RDF + "length": frozenset((POOL,)),
    OSM2RDF + "area": frozenset((POOL,)),
    OSM2RDF + "hasCompleteGeometry": frozenset((POOL,)),
    OSM_RELATION + "member": frozenset((MEMBER,)),
    OSM_RELATION + "member_id": frozenset((ELEMENT, ABSENT)),
    OSM_RELATION + "member_role": frozenset((VALUE, POOL)),
    OSM_RELATION + "member_pos": frozenset((INTEGER,)),
    OSM_WAY + "member": frozenset((WAY_MEMBER,)),
    OSM_WAY + "member_id": frozenset((ELEMENT, ABSENT)),
    OSM_WAY + "member_pos": frozenset((INTEGER,)),
    OSM_WAY + "is_closed": frozenset((POOL,)),
    OSM_WAY + "nodeCount": frozenset((INTEGER,)),
    OSM_WAY + "uniqueNodeCount": frozenset((INTEGER,)),
}

#: Datatypes of the objects above that lie in the pool.
POOL_DATATYPES: Final[dict[str, str]] = {
    OSM_META + "user": XSD_STRING,
    OSM_RELATION + "member_role": XSD_STRING,
    OSM2RDF + "length": XSD_DOUBLE,
    OSM2RDF + "area": XSD_DOUBLE,
    OSM2RDF + "hasCompleteGeometry": XSD_BOOLEAN,
    OSM_WAY + "is_closed": XSD_BOOLEAN,
}


class Vocabulary:
    """Makes the predicates of a store by their IRI."""

    def __init__(self, store: Store) -> None:
        self.store = store

    @cached_property
    def relations(self) -> Containers:
        """Relations with their members."""
        return Containers(self.store, ways=False)

    @cached_property
    def _ways(self) -> Containers:
        return Containers(self.store, ways=True)

    @cached_property
    def predicates(self) -> dict[str, Callable[[], Predicate]]:
        """Makers of predicates by IRI, tags aside."""
        relations, ways = self.relations, self._ways
        named: dict[str, Callable[[], Predicate]] = {
            RDF_TYPE: lambda: _TypePredicate(self.store),
            GEO + "hasGeometry": lambda: self._geometry_node(GEOMETRY_NODE),
            GEO + "hasCentroid": lambda: self._geometry_node(CENTROID_NODE),
            GEO + "asWKT": lambda: _AsWkt(self.store),
            GEOMETRY_TEXT: lambda: self._shape(WKT),
            OSM_META + "loc": lambda: self._shape(CENTROID),
            OSM2RDF_GEOM + "envelope": lambda: self._shape(ENVELOPE),
            OSM2RDF_GEOM + "convex_hull": lambda: self._shape(HULL),
            OSM2RDF_GEOM + "obb": lambda: self._shape(OBB),
            OSM_META + "type": lambda: self._element(self._all, self._letters),
            OSM_META + "isClosed": lambda: self._element(self._way_rows, self._closed),
            OSM_META + "has": lambda: Has(relations),
            OSM_RELATION + "member": lambda: MemberOf(relations),
            OSM_WAY + "member": lambda: MemberOf(ways),
            OSM_RELATION + "member_id": lambda: MemberValue(relations, "id"),
            OSM_RELATION + "member_role": lambda: MemberValue(relations, "role"),
            OSM_RELATION + "member_pos": lambda: MemberValue(relations, "pos"),
            OSM_WAY + "member_id": lambda: MemberValue(ways, "id"),
            OSM_WAY + "member_pos": lambda: MemberValue(ways, "pos"),
            OSM_WAY + "next_node": lambda: MemberValue(ways, "next"),
            OSM2RDF_MEMBER + "id": lambda: MemberValue(relations, "id"),
            OSM2RDF_MEMBER + "role": lambda: MemberValue(relations, "role"),
            OSM2RDF_MEMBER + "pos": lambda: MemberValue(relations, "pos"),
            OSM_WAY + "is_closed": lambda: self._element(self._way_rows, self._closed),
            OSM_WAY + "nodeCount": lambda: self._element(self._way_rows, self._node_counts),
            OSM_WAY + "uniqueNodeCount": lambda: self._element(
                self._way_rows, self._unique_node_counts
            ),
            OSM2RDF + "length": lambda: ColumnPredicate(
                self._way_rows, self._lengths, subject_space=ELEMENT, is_total=False,
                count=lambda: int(has_geometry(self.store, np.array(self._way_rows())).sum()),
            ),
            OSM2RDF_GEOM + "centroid": lambda: self._shape(CENTROID),
            OSM_META + "visible": lambda: self._element(self._all, self._visible),
            OSM_WAY + "next_node_distance": lambda: MemberValue(ways, "distance"),
            OSM2RDF + "area": lambda: ColumnPredicate(
                self._area_rows, self._areas, subject_space=ELEMENT, is_total=False,
                is_listed=True,
            ),
            OSM2RDF + "hasCompleteGeometry": lambda: self._element(
                lambda: range(self.store.relation_start, self.store.row_count), self._complete
            ),
            OSM2RDF + "facts": lambda: ColumnPredicate(
                self._tagged, self._facts, subject_space=ELEMENT, is_total=False,
                is_listed=True, count=lambda: len(self._tagged()),
            ),
        }  # fmt: skip
        if self.store.has_metadata:
            for name, column in self._meta_columns().items():
                named[OSM_META + name] = column
        for namespace in (OGC, GEO):
            for name in RELATIONS:
                named[namespace + name] = _relation_maker(self.store, name)
        return named

    def _element(
        self, rows: Callable[[], Rows | range], values: Callable[[Rows, Context], Ids]
    ) -> Predicate:
        return ColumnPredicate(
            rows, values, subject_space=ELEMENT, per_object=len(rows()) / 10, is_total=False
        )

    def _all(self) -> range:
        return range(self.store.row_count)

    def _tagged(self) -> Rows:
        rows = np.sort(self.store.listed)
        return rows[self.store.has_tags(rows)]

    def _way_rows(self) -> range:
        return range(self.store.way_start, self.store.relation_start)

    def _meta_columns(self) -> dict[str, Callable[[], Predicate]]:
        def column(values: Callable[[Any, Context], Ids]) -> Callable[[], Predicate]:
            def of_rows(rows: Rows, context: Context) -> Ids:
                return values(self.store.meta(rows), context)

            return lambda: self._element(self._all, of_rows)

        columns = {
            "version": column(lambda m, c: integer_ids(m.version)),
            "timestamp": column(
                lambda m, c: np.where(m.timestamp == 0, 0, datetime_ids(m.timestamp))
            ),
            "changeset": column(
                lambda m, c: np.where(m.changeset == 0, 0, make_ids(CHANGESET, m.changeset))
            ),
        }
        if self.store.has_users:
            columns["user"] = column(self._user_names)
            columns["uid"] = column(self._user_ids)
        return columns

    def _user_names(self, meta: Any, context: Context) -> Ids:
        unique, inverse = np.unique(meta.user, return_inverse=True)
        names = self.store.users[1]
        ids = [context.encode(Literal(names[u])) if names[u] else 0 for u in unique.tolist()]
        return np.array(ids, np.int64)[inverse]

    def _user_ids(self, meta: Any, context: Context) -> Ids:
        uids = self.store.users[0][meta.user]
        return np.where(uids == 0, 0, integer_ids(uids))

    def _geometry_node(self, space: int) -> Predicate:
        def find(objects: Ids, context: Context) -> tuple[NDArray[np.int64], Rows]:
            return of_space(objects, space)

        def values(rows: Rows, context: Context) -> Ids:
            return np.where(has_geometry(self.store, rows), make_ids(space, rows), 0)

        return ColumnPredicate(self._all, values, subject_space=ELEMENT, find=find, is_total=False)

    def _shape(self, space: int) -> Predicate:
        def values(rows: Rows, context: Context) -> Ids:
            return geometry_ids(self.store, rows, space)

        return ColumnPredicate(self._all, values, subject_space=ELEMENT, is_total=False)

    def _letters(self, rows: Rows, context: Context) -> Ids:
        ids = np.array([context.encode(Literal(letter)) for letter in "nwr"], np.int64)
        return ids[self.store.types(rows)]

    def _closed(self, rows: Rows, context: Context) -> Ids:
        ids = np.array([context.encode(boolean(False)), context.encode(boolean(True))], np.int64)
        return ids[self.store.is_closed(rows).astype(np.int64)]

    def _node_counts(self, rows: Rows, context: Context) -> Ids:
        return integer_ids(self.store.way_nodes(rows).lengths())

    def _unique_node_counts(self, rows: Rows, context: Context) -> Ids:
        ragged = self.store.way_nodes(rows)
        pairs = distinct(ragged.owners() << 32 | ragged.values.astype(np.int64))
        return integer_ids(np.bincount(pairs >> 32, minlength=len(rows)))

    def _lengths(self, rows: Rows, context: Context) -> Ids:
        shapes = self.store.geometries(rows)
        known = np.array([shape is not None for shape in shapes], np.bool_)
        lengths_by_row = np.zeros(len(rows))
        lengths_by_row[known] = lengths_m(shapes[known])
        rounded = np.round(lengths_by_row, 3)
        return Numbers(rounded, known).to_ids(context)

    def _area_rows(self) -> Rows:
        rows = np.arange(self.store.way_start, self.store.row_count)
        return rows[self.store.is_area(rows)]

    def _areas(self, rows: Rows, context: Context) -> Ids:
        """Return the square meters of areas."""
        shapes = self.store.geometries(rows)
        known = np.array([shape is not None for shape in shapes], np.bool_)
        meters = np.zeros(len(rows))
        meters[known] = areas_m2(shapes[known])
        return Numbers(np.round(meters, 3), known).to_ids(context)

    def _complete(self, rows: Rows, context: Context) -> Ids:
        """Return whether all that a relation consists of is in the extract."""
        members = self.store.members(rows)
        missing = np.bincount(members.relation[members.row < 0], minlength=len(rows)) > 0
        ids = np.array([context.encode(boolean(True)), context.encode(boolean(False))], np.int64)
        return ids[missing.astype(np.int64)]

    def _visible(self, rows: Rows, context: Context) -> Ids:
        return np.full(len(rows), context.encode(boolean(True)), np.int64)

    def _facts(self, rows: Rows, context: Context) -> Ids:
        counts = np.array([len(orjson.loads(t)) for t in self.store.tags_json(rows)], np.int64)
        return np.where(counts == 0, 0, integer_ids(counts))


class _TypePredicate(ColumnPredicate):
    """`rdf:type`: osm:node, osm:way, osm:relation."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._classes = np.array([vocabulary_id(OSM + n) for n in TYPE_NAMES], np.int64)
        super().__init__(
            lambda: range(store.row_count),
            lambda rows, context: self._classes[store.types(rows)],
            subject_space=ELEMENT,
            count=lambda: store.row_count,
        )

    def subjects_of(self, term_id: int, context: Context) -> Iterator[Ids]:
        """Yield the elements of a class."""
        for element_type in np.flatnonzero(self._classes == term_id).tolist():
            start, stop = self._store.type_range(element_type)
            for part in chunks(stop - start):
                context.deadline.check()
                rows = np.arange(start + part.start, min(stop, start + part.stop))
                yield make_ids(ELEMENT, rows)

    def count_object(self, term_id: int, context: Context) -> float:
        """Return the number of elements of a class."""
        for element_type in np.flatnonzero(self._classes == term_id).tolist():
            start, stop = self._store.type_range(element_type)
            return float(stop - start)
        return 0.0


class _AsWkt(Predicate):
    """`geo:asWKT`: from the node of a geometry or centroid to its text."""

    forward_is_single = True

    def __init__(self, store: Store) -> None:
        self._store = store
        self.total = store.row_count
        self.per_object = float(store.row_count)

    def scan(self, context: Context) -> Iterator[tuple[Ids, Ids]]:
        """Yield the geometries of all elements; centroids are found by their node only."""
        for part in chunks(self._store.row_count):
            context.deadline.check()
            rows = np.arange(part.start, min(part.stop, self._store.row_count))
            objects = geometry_ids(self._store, rows)
            keep = objects != 0
            yield make_ids(GEOMETRY_NODE, rows[keep]), objects[keep]

    def forward(self, subjects: Ids, context: Context) -> Pairs:
        """Return the texts of nodes."""
        index, rows = of_space(subjects, GEOMETRY_NODE)
        found = [(index, geometry_ids(self._store, rows))]
        index, rows = of_space(subjects, CENTROID_NODE)
        if len(index):
            found.append((index, geometry_ids(self._store, rows, CENTROID)))
        return concat_pairs(found)


def _relation_maker(store: Store, name: str) -> Callable[[], Predicate]:
    return lambda: RelationPredicate(store, name)
