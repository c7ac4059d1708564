"""SPARQL over regions: each region answers for the elements it owns, the asking node does the rest.

Rows travel as columns of distinct terms. In the query they then stand in the place of the pattern
as VALUES, and the engine groups, orders and limits them as it would have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from mapyard.deadline import Deadline
from mapyard.errors import InvalidCursor, TooLarge, Unsupported
from mapyard.fleet.stars import NoStar, Star, find_star
from mapyard.http.answer import GEOJSON, Answer
from mapyard.http.routes.sparql import DEFAULT_LIMIT, answer_whole, choose_type
from mapyard.http.routes.sparql_protocol import choose_form
from mapyard.library.call import Call
from mapyard.library.questions import sparql as library
from mapyard.results.cursor import decode_cursor, encode_cursor, hash_query
from mapyard.results.pages import PageEnd, page_headers, write_collection
from mapyard.sparql.engine import Engine, Result, Solutions, Triples, Truth, prepare_query
from mapyard.sparql.osm.ids import ELEMENT, ELEMENT_PREFIXES
from mapyard.sparql.osm.predicates import of_space
from mapyard.sparql.parse.parser import parse_query
from mapyard.sparql.plan.algebra import Project, Query, Slice, Values, Var
from mapyard.sparql.run.table import Table, slice_tables
from mapyard.sparql.sources.graph import TripleGraph
from mapyard.sparql.terms.ids import integer_values
from mapyard.sparql.terms.terms import XSD_INTEGER, Iri, Literal, Term
from mapyard.sparql.write.features import FeatureWriter
from mapyard.sparql.write.solutions import JSON_TYPE
from mapyard.sparql.write.triples import TURTLE_TYPE

PART_PATH: Final = "fleet:sparql"
PROTOCOL_PATH: Final = "/sparql"
PATHS: Final = ("/api/v1/sparql", PROTOCOL_PATH)
ROWS, FEATURES = "rows", "features"
#: Rows of all regions together.
MAX_ROWS: Final = 1_000_000
#: Holds the number of each row; no query can spell it.
_NUMBER: Final = Var(" number")

type Eids = NDArray[np.int64]


class Column(msgspec.Struct, array_like=True):
    """A variable's values: distinct terms, and the place of each row's there; −1 unbound."""

    terms: list[tuple[str, ...]]
    places: bytes


class Part(msgspec.Struct, array_like=True):
    """What a region has."""

    count: int
    #: Of the elements that rows are about.
    eids: bytes
    columns: list[Column]
    features: list[bytes]
    warnings: list[str]


# ---- in a region ------------------------------------------------------------------------------


def answer_part(call: Call, text: str, form: str, guests: Eids) -> bytes:
    """Return the rows of the elements that a region owns, as a `Part`."""
    engine: Engine = call.part("sparql")
    star = find_star(parse_query(text))
    asked = dict.fromkeys([*star.needed, star.subject])
    query = Query("select", Project(star.where, tuple(asked)), tuple(asked))
    solutions = engine.run(prepare_query(query), call.deadline)
    assert isinstance(solutions, Solutions)
    kept: list[Table] = []
    eids: list[Eids] = [np.empty(0, np.int64)]
    count = 0
    for table in solutions.pieces():
        index, rows = of_space(table.ids(star.subject.name, solutions.runtime.pool), ELEMENT)
        found = call.store.eids(rows).astype(np.int64)
        places = np.minimum(np.searchsorted(guests, found), max(0, len(guests) - 1))
        is_own = guests[places] != found if len(guests) else np.ones(len(found), np.bool_)
        kept.append(table.take(index[is_own]))
        eids.append(found[is_own])
        count += int(is_own.sum())
        if count > MAX_ROWS:
            raise _too_many()
    part = Part(count, b"", [], [], engine.warnings(engine.prepare(text)))
    if form == FEATURES:
        names = tuple(var.name for var in star.query.variables)
        shown = Solutions(names, iter(kept), solutions.runtime)
        writer = FeatureWriter(shown, call.store)
        part.features = [feature for chunk in writer.write() for feature in chunk]
    if form == ROWS or star.is_ordered:
        part.columns = [_write_column(kept, var.name, solutions) for var in star.needed]
    if not star.is_grouped:
        part.eids = np.concatenate(eids).tobytes()
    return msgspec.msgpack.encode(part)


def _too_many() -> TooLarge:
    return TooLarge(
        f"the query has more than {MAX_ROWS:,} rows before they are grouped or limited, which "
        "regions send to one node; ask about fewer elements",
        details={"limit": MAX_ROWS},
    )


def _write_column(tables: list[Table], name: str, solutions: Solutions) -> Column:
    pool = solutions.runtime.pool
    ids = np.concatenate([np.empty(0, np.int64), *(table.ids(name, pool) for table in tables)])
    distinct, places = np.unique(ids, return_inverse=True)
    terms = solutions.runtime.decode(distinct)
    if len(terms) and terms[0] is None:
        terms, places = terms[1:], places - 1
    return Column([_pack(term) for term in terms], places.astype(np.int64).tobytes())


def _pack(term: Term | None) -> tuple[str, ...]:
    match term:
        case Iri():
            return (term.value,)
        case Literal():
            return tuple(term)
        case _:
            raise Unsupported("blank nodes and triple terms are not put together over regions")


def _unpack(packed: Sequence[str]) -> Term:
    return Iri(packed[0]) if len(packed) == 1 else Literal(*packed)


# ---- of all regions ---------------------------------------------------------------------------


class Reader(NamedTuple):
    """How an answer is to be written."""

    params: Any
    path: str
    accept: str
    query: list[tuple[str, str]]
    generation: str
    is_client_library: bool


def read_star(text: str) -> Star:
    """Return what a query asks about elements; raise NoStar where it asks something else."""
    return find_star(parse_query(text))


def choose_media_type(reader: Reader, query: Query) -> str:
    """Return the form of the answer, as one machine chooses it."""
    offered: tuple[str, ...] = tuple(library.SOLUTION_WRITERS)
    if query.form == "ask":
        offered = tuple(library.BOOLEAN_WRITERS)
    elif query.form == "construct":
        offered = tuple(library.TRIPLE_WRITERS)
    if reader.path == PROTOCOL_PATH:
        return choose_form(reader.accept, offered)
    if query.form == "ask":
        return choose_type(reader.accept, offered) or JSON_TYPE
    if query.form == "construct":
        return choose_type(reader.accept, offered) or TURTLE_TYPE
    chosen = choose_type(reader.accept, (GEOJSON, "application/json", *offered))
    return chosen if chosen in offered else GEOJSON


def choose_form_of_rows(reader: Reader, star: Star) -> str:
    """Return what regions send: features where nothing but the choice of rows is left to do."""
    is_geojson = choose_media_type(reader, star.query) == GEOJSON
    return FEATURES if is_geojson and star.is_plain else ROWS


def write_answer(
    reader: Reader, star: Star, form: str, bodies: Sequence[bytes], deadline: Deadline
) -> Answer:
    """Return the answer of all regions."""
    parts = [msgspec.msgpack.decode(body, type=Part) for body in bodies]
    if sum(part.count for part in parts) > MAX_ROWS:
        raise _too_many()
    media_type = choose_media_type(reader, star.query)
    warnings = [w for w in parts[0].warnings if all(w in part.warnings for part in parts[1:])]
    text = " | ".join(warnings).encode("ascii", "replace").decode()[:2000]
    headers = {"X-Query-Warning": text} if text else {}
    order = _order(parts, star)
    if form == FEATURES:
        features = [feature for part in parts for feature in part.features]
        chosen = _order_by(star, parts, order, deadline) if star.is_ordered else _slice(star, order)
        answer = _write_features(reader, [features[i] for i in chosen.tolist()])
    else:
        query = star.around(_gather(star, parts, order))
        result = Engine(TripleGraph()).run(prepare_query(query), deadline)
        answer = _write(reader, result, media_type)
    answer.headers = {**(answer.headers or {}), **headers}
    if not isinstance(answer.body, bytes):  # all of it is here already
        answer.body = b"".join(answer.body)
    return answer


def _order(parts: Sequence[Part], star: Star) -> NDArray[np.int64]:
    """Return rows in the order of their elements; as they come where they are grouped."""
    if star.is_grouped:
        return np.arange(sum(part.count for part in parts))
    eids = np.concatenate([np.frombuffer(part.eids, np.int64) for part in parts])
    # As rows of a store are: by type, then id.
    return np.lexsort((eids >> 2, eids & 3))


def _slice(star: Star, order: Eids) -> Eids:
    for node in reversed(star.outer):  # from the pattern outward
        if isinstance(node, Slice):
            stop = None if node.limit is None else node.offset + node.limit
            order = order[node.offset : stop]
    return order


def _order_by(star: Star, parts: Sequence[Part], order: Eids, deadline: Deadline) -> Eids:
    """Return which rows the query shows, in its order: their numbers go through it with them."""
    values = _gather(star, parts, order)
    numbers = [(*row, Literal(str(i), XSD_INTEGER))
               for row, i in zip(values.rows, order.tolist(), strict=True)]  # fmt: skip
    query = star.around(Values((*star.needed, _NUMBER), tuple(numbers)), (_NUMBER,))
    result = Engine(TripleGraph()).run(prepare_query(query), deadline)
    assert isinstance(result, Solutions)
    ids = [table.ids(_NUMBER.name, result.runtime.pool) for table in result.tables]
    found = [np.empty(0, np.int64), *map(integer_values, ids)]
    return np.concatenate(found).astype(np.int64)


def _refuse_elements(result: Solutions) -> None:
    """Keep solutions; raise where they have elements, whose geometry only regions know."""
    result.tables = iter(tables := [*result.tables])
    pool = result.runtime.pool
    for name in result.variables:
        ids = np.concatenate([np.empty(0, np.int64), *(t.ids(name, pool) for t in tables)])
        for term in result.runtime.decode(np.unique(ids)):
            if isinstance(term, Iri) and term.value.startswith(ELEMENT_PREFIXES):
                raise Unsupported(
                    "as GeoJSON, elements of several regions have no geometry behind ORDER BY, "
                    "DISTINCT or GROUP BY; select their geometry (geo:hasGeometry/geo:asWKT) "
                    "instead of them, or ask for application/sparql-results+json"
                )


def _gather(star: Star, parts: Sequence[Part], order: Eids) -> Values:
    """Return the rows of all regions in an order."""
    columns: list[list[Term | None]] = []
    for number in range(len(star.needed)):
        terms: list[Term | None] = []
        for part in parts:
            column = part.columns[number]
            known = [*map(_unpack, column.terms), None]
            terms += [known[place] for place in np.frombuffer(column.places, np.int64).tolist()]
        columns.append([terms[i] for i in order.tolist()])
    rows = tuple(zip(*columns, strict=True)) if columns else ((),) * len(order)
    return Values(star.needed, rows)


def _write(reader: Reader, result: Result, media_type: str) -> Answer:
    if isinstance(result, Truth):
        return Answer(library.BOOLEAN_WRITERS[media_type](result.value), media_type)
    if isinstance(result, Triples):
        return answer_whole(library.TRIPLE_WRITERS[media_type](result), media_type)
    if media_type == GEOJSON:
        _refuse_elements(result)
        writer = FeatureWriter(result, None)  # type: ignore[arg-type] # there are no elements
        return _write_features(reader, [f for chunk in writer.write() for f in chunk])
    if _asks_for_page(reader):
        start, limit = _find_page(reader)
        result.tables = slice_tables(result.tables, start, limit)
    return answer_whole(library.SOLUTION_WRITERS[media_type](result), media_type)


def _asks_for_page(reader: Reader) -> bool:
    params = reader.params
    names = ("limit", "cursor", "offset")
    return any(getattr(params, name, None) is not None for name in names)


def _find_page(reader: Reader) -> tuple[int, int]:
    params = reader.params
    start = params.offset or 0
    if params.cursor is not None:
        key = hash_query("sparql", params.query)
        (start,) = decode_cursor(params.cursor, reader.generation, key, tuple[int])
        if start < 0:
            raise InvalidCursor("the cursor points before the result")
    return start, params.limit or DEFAULT_LIMIT


def _write_features(reader: Reader, features: list[bytes]) -> Answer:
    """Return features whole, or the page that is asked for."""
    if not _asks_for_page(reader):
        members = []
        if reader.is_client_library:
            members = [("results", b"[" + b",".join(features) + b"]")]
        return Answer(write_collection(features, members=members), GEOJSON)
    params = reader.params
    start, limit = _find_page(reader)
    page, has_more = features[start : start + limit], len(features) > start + limit
    end = PageEnd(limit, has_more)
    if has_more and params.cursor is None and params.offset is not None:
        end = end._replace(next_offset=start + limit)
    elif has_more:
        cursor = encode_cursor(
            reader.generation, hash_query("sparql", params.query), (start + limit,)
        )
        end = end._replace(next_cursor=cursor)
    members = [("results", b"[" + b",".join(page) + b"]")] if reader.is_client_library else []
    body = write_collection(
        page, pagination=end if reader.is_client_library else None, members=members
    )
    return Answer(body, GEOJSON, headers=page_headers(end, reader.path, reader.query))


__all__ = [
    "FEATURES",
    "PART_PATH",
    "PATHS",
    "NoStar",
    "Reader",
    "answer_part",
    "read_star",
    "write_answer",
]  # fmt: skip
