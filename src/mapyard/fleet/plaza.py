"""PlazaQL over regions: what a search finds in each, of the elements that it owns.

A query goes over regions if each of its statements puts out one search: with conditions about
single elements, places written in it, and at its end limits and counts. Then regions find, of the
elements that they own, a partition of what one machine finds. They tell the rows, in the order of
the elements, or how many they are; limits, counts and pages are made of all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import orjson
from numpy.typing import NDArray

from mapyard.http.answer import GEOJSON, Answer
from mapyard.http.routes.overpass import MAX_LIMIT, NDJSON
from mapyard.http.routes.query import is_plazaql
from mapyard.library.call import Call as Asked
from mapyard.library.plaza_services import make_services
from mapyard.library.results.plaza import PlazaResult
from mapyard.plazaql.parse.syntax import (
    Argument,
    Assignment,
    Call,
    Directive,
    Expression,
    Method,
    Number,
    Program,
    TagAccess,
)
from mapyard.plazaql.plan.check import read_program
from mapyard.plazaql.run.engine import Output, Run
from mapyard.plazaql.run.outputs import Outputs
from mapyard.plazaql.run.values import Elements
from mapyard.results.cursor import decode_cursor, encode_cursor, hash_query
from mapyard.results.pages import PageEnd, page_headers, write_collection

PATH: Final = "/api/v1/query"
PART_PATH: Final = "fleet:plazaql"
#: More rows are more bytes than a region may send.
_MOST_ROWS: Final = 1_000_000
_CUTS: Final = ("limit", "offset", "first")
#: Functions that write a place out, methods and functions that look at one element at a time.
_PLACES: Final = ("point", "bbox", "circle", "polygon", "linestring")
_ANYWHERE: Final = (
    "within", "around", "bbox", "h3", "intersects", "contains", "crosses", "touches", "not_within",
    "not_intersects", "not_contains", "filter", "buffer", "simplify", "centroid", "distance",
    "area", "length", "fields", "include", "precision", "ids", "tags", "skel", "geom",
)  # fmt: skip
_OF_ELEMENTS: Final = (
    "id", "type", "lat", "lon", "length", "area", "is_closed", "distance", "number", "is_number",
    "size", "starts_with", "ends_with", "str_contains",
)  # fmt: skip


class NotLocal(Exception):  # noqa: N818 - a signal: the query is refused with it
    """Why a query is not answered over regions."""


class Found(NamedTuple):
    """An output: a search, and what is made of its rows."""

    name: str
    #: The search with its conditions and looks, without what is made of all rows.
    search: Expression
    #: How rows are cut, in order: limit or offset, and how many.
    cuts: list[tuple[str, int]]
    #: Whether rows are counted, and by which tag.
    counts: bool = False
    by: str = ""


def read_query(text: str) -> list[Found]:
    """Return the outputs of a query; raise NotLocal, or InvalidQuery for what is none."""
    if not is_plazaql(text):
        raise NotLocal("Overpass QL over regions is asked at /api/v1/overpass")
    program = read_program(text)
    for statement in program.statements:
        if isinstance(statement, Directive):
            if statement.name not in _ANYWHERE:
                raise NotLocal(f"#{statement.name}() is about all outputs")
            _check_arguments(statement.arguments)
    found = [_read_output(statement) for statement in program.statements
             if isinstance(statement, Assignment)]  # fmt: skip
    unnamed = [place for place, output in enumerate(found) if not output.name]
    if len(found) > 1:
        for number, place in enumerate(unnamed, start=1):
            found[place] = found[place]._replace(name=str(number))
    return found


def _read_output(statement: Assignment) -> Found:
    target = statement.target
    if target is not None and not target.is_output:
        raise NotLocal(f"{target} is used by other statements")
    found = Found(target.name if target else "", statement.value, [])
    return _read_chain(statement.value, found)


def _read_chain(expression: Expression, found: Found) -> Found:
    """Return an output without what is made of all rows, by a walk from its end to the search."""
    if isinstance(expression, Call) and expression.name == "search":
        _check_arguments(expression.arguments)
        return found._replace(search=expression)
    if not isinstance(expression, Method):
        name = f"{expression.name}()" if isinstance(expression, Call) else "this"
        raise NotLocal(f"{name} is no search")
    name, arguments = expression.name, expression.arguments
    if name == "count" and isinstance(expression.receiver, Method):
        group = expression.receiver
        if group.name == "group_by":
            by = group.arguments[0].value if group.arguments else None
            if not isinstance(by, TagAccess):
                raise NotLocal("groups are made by a tag only")
            inner = _read_chain(group.receiver, found._replace(counts=True, by=by.key))
            if inner.cuts:
                raise NotLocal("groups of a part of the rows are made by who has them all")
            return inner
    if name == "count":
        return _read_chain(expression.receiver, found._replace(counts=True))
    if name in _CUTS:
        count = 1
        if name != "first":
            value = arguments[0].value if arguments else None
            if not isinstance(value, Number) or value.value < 0 or value.value % 1:
                raise NotLocal(f".{name}() takes a number here")
            count = int(value.value)
        inner = _read_chain(expression.receiver, found)
        inner.cuts.append(("limit" if name == "first" else name, count))
        return inner
    if name not in _ANYWHERE:
        raise NotLocal(f".{name}() looks at several elements")
    _check_arguments(arguments)
    inner = _read_chain(expression.receiver, found)
    return inner._replace(search=expression._replace(receiver=inner.search))


def _check_arguments(arguments: Sequence[Argument]) -> None:
    """Raise NotLocal for what is not written in the query, nor about a single element."""
    waiting: list[Any] = list(arguments)
    while waiting:
        value = waiting.pop()
        if type(value).__name__ in ("Variable", "Attribute", "Method"):
            raise NotLocal("an argument comes of another search")
        if isinstance(value, Call):
            if value.name not in (*_PLACES, *_OF_ELEMENTS):
                raise NotLocal(f"{value.name}() looks at more than an element")
            waiting += value.arguments
        elif isinstance(value, tuple):
            waiting += [item for item in value if isinstance(item, tuple)]


# ---- in regions -------------------------------------------------------------------------------


class Part(msgspec.Struct):
    """What a region found for an output."""

    count: int = 0
    groups: dict[str, int] = {}
    eids: list[int] = []
    features: list[bytes] = []


def answer_part(
    call: Asked, text: str, most: list[int], guests: NDArray[np.int64], most_bytes: int
) -> bytes:
    """Return what a region owns of each output: at most so many features.

    Features of more than `most_bytes` are not written further: nobody takes so many.
    """
    services = make_services(call)
    run = Run(call.store, services, call.deadline)
    wanted = zip(read_query(text), most, strict=True)
    parts = []
    for statement in read_program(text).statements:
        if isinstance(statement, Directive):  # for the searches behind it
            run.outputs(Program((statement,)))
            continue
        output, limit = next(wanted)
        (made,) = run.outputs(Program((Assignment(None, output.search, output.search.at),)))
        assert isinstance(made.value, Elements)
        rows = made.value.find()
        eids = call.store.eids(rows)
        is_own = np.isin(eids, np.asarray(guests), invert=True)
        rows, eids = rows[is_own], eids[is_own]
        if output.by:
            kvs = call.store.tag_values(rows, output.by)
            used, counts = np.unique(kvs[kvs >= 0], return_counts=True)
            values = call.store.values(used)
            parts.append(Part(groups=dict(zip(values, counts.tolist(), strict=True))))
            continue
        part = Part(len(rows))
        if not output.counts:
            shown = Output(output.name, made.value.of_rows(rows[:limit]))
            part.eids = eids[:limit].tolist()
            size = 0
            for chunk in Outputs([shown], services).iter_chunks():
                call.deadline.check()
                part.features += chunk
                size += sum(map(len, chunk))
                if size > most_bytes:
                    break
        parts.append(part)
    return msgspec.msgpack.encode(parts)


def limit_rows(outputs: Sequence[Found], params: Any, generation: str) -> list[int]:
    """Return how many rows of each output a region is asked for."""
    most = _MOST_ROWS
    if params.format == "json":
        most = _read_skip(params, generation) + (params.limit or MAX_LIMIT) + 1
    return [_need(output.cuts, most) for output in outputs]


def _read_skip(params: Any, generation: str) -> int:
    """Return how many features come before a page."""
    skip: int = params.offset or 0
    if params.cursor is not None:
        key = hash_query("plazaql", params.data)
        (skip,) = decode_cursor(params.cursor, generation, key, tuple[int])
    return skip


def _need(cuts: Sequence[tuple[str, int]], most: int) -> int:
    for name, count in reversed(cuts):
        most = min(most, count) if name == "limit" else most + count
    return most


# ---- the answer -------------------------------------------------------------------------------


class Reader(NamedTuple):
    """How an answer is to be written."""

    params: Any
    path: str
    query: list[tuple[str, str]]
    generation: str
    in_body: bool


class United(Outputs):
    """The outputs of all regions."""

    def __init__(self, outputs: Sequence[Found], bodies: Sequence[bytes]) -> None:
        self._features: list[bytes] = []
        self._said: dict[str, Any] = {}
        decoded = [msgspec.msgpack.decode(body, type=list[Part]) for body in bodies]
        for place, output in enumerate(outputs):
            parts = [parts[place] for parts in decoded]
            if output.by:
                total: Counter[str] = Counter()
                for part in parts:
                    total.update(part.groups)
                self._said[output.name] = dict(sorted(total.items(), key=lambda it: it[0].encode()))
            elif output.counts:
                self._said[output.name] = _cut_count(sum(part.count for part in parts), output.cuts)
            else:
                rows = sorted(
                    pair for part in parts for pair in zip(part.eids, part.features, strict=True)
                )
                for name, count in output.cuts:
                    rows = rows[:count] if name == "limit" else rows[count:]
                self._features += [feature for _, feature in rows]

    @property
    def attributions(self) -> list[str]:
        """Return nobody beside OpenStreetMap."""
        return []

    def members(self) -> dict[str, Any]:
        """Return what stands beside the features."""
        if "" in self._said:
            return {"result": self._said[""]}
        return {"outputs": self._said} if self._said else {}

    def take(self, skip: int, count: int) -> list[bytes]:
        """Return up to `count` features behind the first `skip` ones."""
        return self._features[skip : skip + count]

    def iter_chunks(self) -> Iterator[list[bytes]]:
        """Yield all features."""
        if self._features:
            yield self._features


def _cut_count(count: int, cuts: Sequence[tuple[str, int]]) -> int:
    for name, number in cuts:
        count = min(count, number) if name == "limit" else max(0, count - number)
    return count


def write_answer(reader: Reader, outputs: Sequence[Found], bodies: Sequence[bytes]) -> Answer:
    """Return the answer of all regions as one machine gives it."""
    params = reader.params
    found = PlazaResult(United(outputs, bodies))
    if params.format != "json":
        as_lines = params.format == "ndjson"
        body = b"".join(found.stream(as_lines=as_lines))
        return Answer(body, NDJSON if as_lines else GEOJSON)
    limit, skip = params.limit or MAX_LIMIT, _read_skip(params, reader.generation)
    key = hash_query("plazaql", params.data)
    written = found.outputs.take(skip, limit + 1)
    end = PageEnd(limit, False)
    if len(written) > limit:
        if params.cursor is None and params.offset is not None:
            end = PageEnd(limit, True, next_offset=skip + limit)
        else:
            end = PageEnd(limit, True, encode_cursor(reader.generation, key, (skip + limit,)))
    members = [(name, orjson.dumps(value)) for name, value in found.outputs.members().items()]
    pagination = end if reader.in_body else None
    body = write_collection(
        written[:limit], pagination=pagination, members=members, attribution=found.attribution
    )
    return Answer(body, GEOJSON, headers=page_headers(end, reader.path, reader.query))
