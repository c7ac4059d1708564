"""Solutions as GeoJSON features.

The geometry is the first variable that holds one, else that of the first OpenStreetMap element; the
other variables become properties.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import orjson
import shapely
from numpy.typing import NDArray

from mapyard.geo.antimeridian import cut_antimeridian
from mapyard.geo.geojson import write_geometries
from mapyard.osm.elements import TYPE_NAMES
from mapyard.sparql.engine import Solutions
from mapyard.sparql.osm.ids import ELEMENT
from mapyard.sparql.osm.predicates import of_space
from mapyard.sparql.run.expressions import Evaluator
from mapyard.sparql.run.geosparql import shapes_of
from mapyard.sparql.run.table import Column, Shapes, Table
from mapyard.sparql.terms.ids import POOL, SHIFT, Ids, Texts, terms_of
from mapyard.sparql.terms.terms import (
    WKT_LITERAL,
    XSD_BOOLEAN,
    XSD_STRING,
    BlankNode,
    Iri,
    Literal,
    Term,
    TripleTerm,
    format_term,
)
from mapyard.sparql.terms.values import find_number
from mapyard.sparql.write.solutions import json_text, json_texts, write_terms
from mapyard.store.reader import Store

#: Features written at once.
_FEATURES: Final = 4096


class FeatureWriter:
    """Writes the features of one answer, chunk by chunk."""

    def __init__(self, solutions: Solutions, store: Store) -> None:
        self._solutions = solutions
        self._runtime = solutions.runtime
        self._store = store

        def no_exists(pattern: object, table: object) -> NDArray[np.bool_]:
            raise AssertionError("no expression is evaluated here")

        self._evaluator = Evaluator(solutions.runtime, no_exists)

    def write(self) -> Iterator[list[bytes]]:
        """Yield the features of each chunk of solutions, JSON each."""
        for table in self._solutions.pieces():
            for start in range(0, table.length, _FEATURES):
                self._runtime.deadline.check()
                yield self._write(table.slice(start, start + _FEATURES))

    def _write(self, table: Table) -> list[bytes]:
        names = self._solutions.variables
        columns = {n: table.columns[n] for n in names if n in table.columns}
        geometry = next((n for n, c in columns.items() if self._is_geometry(c)), None)
        shapes = np.full(table.length, None, np.object_)
        if geometry is not None:
            shapes = shapes_of(columns[geometry], self._evaluator).copy()
        ids = {n: table.ids(n, self._runtime.pool) for n in columns if n != geometry}
        rows = self._first_elements(ids, table.length)
        missing = np.flatnonzero(~shapely.is_geometry(shapes) & (rows >= 0))
        if len(missing):
            shapes[missing] = self._store.geometries(rows[missing])
        heads = self._heads(rows)
        properties = self._properties(ids, table.length)
        written = write_geometries(cut_antimeridian(shapes))
        return [
            b'{"type":"Feature"'
            + head
            + b',"geometry":'
            + shape
            + b',"properties":{'
            + rest
            + b"}}"
            for head, shape, rest in zip(heads, written, properties, strict=True)
        ]

    def _is_geometry(self, column: Column) -> bool:
        if isinstance(column, Shapes):
            # An element that was used as a geometry is still an element.
            return column.ids is None or not bool((column.ids >> SHIFT == ELEMENT).any())
        if not isinstance(column, np.ndarray):
            return False
        bound = column[column != 0]
        if not len(bound):
            return False
        first = int(bound[0])
        if first >> SHIFT == POOL:
            term = self._runtime.pool.decode_one(first)
            return isinstance(term, Literal) and term.datatype == WKT_LITERAL
        if first >> SHIFT == ELEMENT:
            return False
        return self._runtime.source.shapes(bound[:1]) is not None

    def _first_elements(self, ids: dict[str, Ids], length: int) -> NDArray[np.int64]:
        """Return the row of the first element of each solution, −1 where there is none."""
        rows = np.full(length, -1, np.int64)
        for name in self._solutions.variables:
            if name in ids:
                index, found = of_space(ids[name], ELEMENT)
                fresh = rows[index] < 0
                rows[index[fresh]] = found[fresh]
        return rows

    def _heads(self, rows: NDArray[np.int64]) -> list[bytes]:
        if not len(rows) or int(rows.max()) < 0:
            return [b""] * len(rows)
        known = np.maximum(rows, 0)
        types, osm_ids = self._store.types(known).tolist(), self._store.ids[known].tolist()
        return [
            b"" if row < 0 else f',"id":"{TYPE_NAMES[t]}/{i}","osm_id":{i}'.encode()
            for row, t, i in zip(rows.tolist(), types, osm_ids, strict=True)
        ]

    def _properties(self, ids: dict[str, Ids], length: int) -> list[bytes]:
        columns = []
        for name, column in ids.items():
            columns.append(write_terms(column, self._runtime, _Properties(name)))
        if not columns:
            return [b""] * length
        return [",".join(filter(None, row)).encode() for row in zip(*columns, strict=True)]


class _Properties:
    """Terms as members of a feature's properties."""

    def __init__(self, name: str) -> None:
        self._key = json_text(name) + ":"

    def term(self, term: Term) -> str:
        """Return one term."""
        return self._key + _plain(term)

    def many(self, texts: Texts) -> list[str]:
        """Return many terms of one kind."""
        key = self._key
        if texts.kind == "iri" or texts.datatype == XSD_STRING:
            return [f'{key}"{value}"' for value in json_texts(texts.values)]
        return [key + _plain(term) for term in terms_of(texts)]


def _plain(term: Term) -> str:
    """Return the JSON value of a term: numbers and booleans as such, the rest as text."""
    if isinstance(term, Iri):
        return json_text(term.value)
    if isinstance(term, BlankNode):
        return json_text(f"_:{term.label}")
    if isinstance(term, TripleTerm):
        return json_text(format_term(term))
    if term.datatype == XSD_BOOLEAN and term.lexical in ("true", "false"):
        return term.lexical
    found = find_number(term)
    if found is not None:
        value = found[0]
        if isinstance(value, int) and abs(value) < 2**53:
            return str(value)
        if not isinstance(value, int) and np.isfinite(float(value)):
            return orjson.dumps(float(value)).decode()
    return json_text(term.lexical)
