"""Overpass queries over regions: each region runs the query, the answers are united out by out.

A region tells, for each `out`, the keys of all elements in its order and their written texts; what
an out limits or counts is limited and counted when all of them are together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import orjson
from msgspec.structs import replace
from numpy.typing import NDArray

from mapyard.deadline import Deadline
from mapyard.errors import InvalidRequest, TooLarge, Unsupported
from mapyard.http.answer import GEOJSON, Answer
from mapyard.http.routes.overpass import (
    NDJSON,
    SCRIPT,
    InterpreterParams,
    read_box,
    warning_headers,
)
from mapyard.library.call import Call
from mapyard.overpass.engine import read_program, run_text
from mapyard.overpass.osm.rowsets import ElementSet
from mapyard.overpass.parse.macros import MAX_QUERY_BYTES, Place, Surroundings
from mapyard.overpass.parse.syntax import Out, Program, Settings
from mapyard.overpass.run.budget import Budget
from mapyard.overpass.write import osmcsv, osmhtml, osmjson, osmxml
from mapyard.overpass.write.entries import list_dull
from mapyard.overpass.write.geojson import write_rows
from mapyard.overpass.write.native import MEDIA_TYPES
from mapyard.overpass.write.ordering import order_codes
from mapyard.results.cursor import decode_cursor, encode_cursor, hash_query
from mapyard.results.pages import PageEnd, open_collection, page_headers, write_collection
from mapyard.store.reader import Store

#: The path of a question to a region, which no client can ask.
PART_PATH: Final = "fleet:overpass"
GEOJSON_PATH: Final = "/api/v1/overpass"
PATHS: Final = (GEOJSON_PATH, "/api/interpreter")
#: What the answers of all regions may have together.
MAX_BYTES: Final = 256 << 20
NATIVE, FEATURES = "native", "features"

type Ints = NDArray[np.int64]


class OutPart(msgspec.Struct, array_like=True):
    """What a region has for one `out`, ascending by code and eid."""

    eids: bytes
    #: Places along the curve of `qt`; zeros for the order by id.
    codes: bytes
    #: Written elements and their lengths; none where they are only counted.
    texts: bytes
    lengths: bytes
    #: Of features: nodes that say nothing by themselves; and per element the nodes that it has.
    dull: bytes = b""
    nodes: bytes = b""
    node_counts: bytes = b""


class Part(msgspec.Struct, array_like=True):
    """What a region answers."""

    outs: list[OutPart]
    warnings: list[str]


class United(NamedTuple):
    """What all regions have for one `out`: each element once, in its order, within its limit."""

    out: Out
    eids: Ints
    texts: list[bytes]
    parts: list[OutPart]


def _refuse_geocoding(name: str, want_area: bool) -> Place | None:
    raise Unsupported(
        f"{{{{geocode…:{name}}}}} is not looked up over regions; geocode it first, and write its "
        "id, box or center into the query"
    )


def read_query(params: Any) -> tuple[Program, str]:
    """Return the tree of a query, and its text with macros expanded."""
    text, box = params.data, params.bbox
    if isinstance(params, InterpreterParams):
        text, box = read_box(params)
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_QUERY_BYTES:
        raise TooLarge(f"the query has {size:,} bytes, at most {MAX_QUERY_BYTES:,}; split it")
    center = getattr(params, "center", None)
    surroundings = Surroundings(
        box=None if box is None else (box.south, box.west, box.north, box.east),
        center=None if center is None else (center.lat, center.lon),
        geocode=_refuse_geocoding,
    )
    program, source = read_program(text, surroundings)
    return program, source.text


# ---- in a region ------------------------------------------------------------------------------


def answer_part(call: Call, text: str, form: str) -> bytes:
    """Return what a region has for a query, as a `Part`."""
    store = call.store
    result = run_text(store, text, deadline=call.deadline, max_bytes=call.max_bytes)
    budget = Budget(call.deadline, call.max_bytes)
    outs = [_write_out(store, out, elements, form, budget) for out, elements in result.outs]
    return msgspec.msgpack.encode(Part(outs, result.warnings))


def _write_out(store: Store, out: Out, elements: ElementSet, form: str, budget: Budget) -> OutPart:
    rows = elements.rows
    codes = np.zeros(len(rows), np.int64)
    if out.order != "asc" and len(rows):
        codes = order_codes(store, rows)
        order = np.lexsort((rows.astype(np.int64), codes, store.types(rows)))
        rows, codes = rows[order], codes[order]
    budget.check(len(rows) * 64)
    eids = store.eids(rows).astype(np.int64)
    if out.mode == "count":
        return OutPart(eids.tobytes(), codes.tobytes(), b"", b"")
    if form == NATIVE:
        every = replace(out, limit=None)
        runs = osmjson.write_out(store, every, ElementSet(elements.rows), budget)
        texts = [text for run in runs for text in run.split(osmjson.SEPARATOR)[:-1]]
        return OutPart(eids.tobytes(), codes.tobytes(), *_join(texts))
    texts = []
    for start in range(0, len(rows), 1_000):
        budget.check()
        texts += write_rows(store, out, rows[start : start + 1_000])
    dull, nodes, counts = list_dull(store, rows)
    return OutPart(
        eids.tobytes(), codes.tobytes(), *_join(texts), dull.tobytes(), nodes.tobytes(),
        counts.tobytes(),
    )  # fmt: skip


def _join(texts: list[bytes]) -> tuple[bytes, bytes]:
    return b"".join(texts), np.array([len(text) for text in texts], np.int64).tobytes()


# ---- of all regions ---------------------------------------------------------------------------


def unite(program: Program, bodies: Sequence[bytes]) -> tuple[list[United], list[str]]:
    """Return what all regions have for each `out`, and the warnings that all of them gave."""
    parts = [msgspec.msgpack.decode(body, type=Part) for body in bodies]
    warnings = [w for w in parts[0].warnings if all(w in part.warnings for part in parts[1:])]
    outs = [statement for statement in program.statements if isinstance(statement, Out)]
    return [
        _unite_out(out, [part.outs[place] for part in parts]) for place, out in enumerate(outs)
    ], warnings


def _ints(data: bytes) -> Ints:
    return np.frombuffer(data, np.int64)


def _unite_out(out: Out, parts: list[OutPart]) -> United:
    eids = np.concatenate([_ints(part.eids) for part in parts])
    codes = np.concatenate([_ints(part.codes) for part in parts])
    # By type, place on the curve, id; of copies the first.
    order = np.lexsort((eids, codes, eids & 3))
    known = eids[order]
    order = order[np.r_[True, known[1:] != known[:-1]]] if len(known) else order
    if out.mode == "count":
        return United(out, eids[order], [], [])
    order = order[: out.limit]
    texts = b"".join(part.texts for part in parts)
    lengths = np.concatenate([_ints(part.lengths) for part in parts])
    ends = np.cumsum(lengths)
    starts = (ends - lengths)[order].tolist()
    chosen = [texts[start:end] for start, end in zip(starts, ends[order].tolist(), strict=True)]
    return United(out, eids[order], chosen, parts)


def write_native(
    outs: Sequence[United], settings: Settings, output: str, timestamp: str, deadline: Deadline
) -> bytes:
    """Return the document of the original's JSON, XML or CSV."""
    budget = Budget(deadline, MAX_BYTES * 4)
    runs = [run for united in outs for run in _iter_runs(united)]
    if output == "json":
        head = osmjson.write_head(timestamp)
        return head + b"".join(runs).removesuffix(osmjson.SEPARATOR) + b"\n]}\n"
    if output == "csv":
        return osmcsv.write_document(runs, settings, budget)
    if output in ("custom", "popup"):
        return osmhtml.write_document(runs, settings, budget)
    return osmxml.write_document(runs, timestamp, budget)


def _iter_runs(united: United) -> Iterator[bytes]:
    """Yield runs of elements, cut where the types change as one machine's are."""
    if united.out.mode == "count":
        yield (
            msgspec.json.encode({"type": "count", "id": 0, "tags": _count(united.eids, text=True)})
            + osmjson.SEPARATOR
        )
        return
    edges = np.flatnonzero(np.diff(united.eids & 3)) + 1
    for texts in np.split(np.arange(len(united.texts)), edges):
        if len(texts):
            yield b"".join(united.texts[i] + osmjson.SEPARATOR for i in texts.tolist())


def _count(eids: Ints, *, text: bool) -> dict[str, Any]:
    counts = np.bincount(eids & 3, minlength=3)[:3].tolist()
    tags = dict(zip(("nodes", "ways", "relations", "total"), [*counts, len(eids)], strict=True))
    return {name: str(count) if text else count for name, count in tags.items()}


class FeatureList(NamedTuple):
    """The answer as one list of features, and what stands beside it."""

    features: list[bytes]
    counts: list[dict[str, int]]
    warnings: list[str]


def list_features(outs: Sequence[United], warnings: list[str], settings: Settings) -> FeatureList:
    """Return each element once, without nodes that only draw a way that is shown, too."""
    shown = [united for united in outs if united.out.mode != "count"]
    vertices, of_relations, dull = (_gather(shown, kind) for kind in ("way", "relation", "dull"))
    hidden = np.setdiff1d(np.intersect1d(vertices, dull), of_relations)
    features: list[bytes] = []
    seen = np.empty(0, np.int64)
    for united in shown:
        fresh = ~np.isin(united.eids, seen) & ~np.isin(united.eids, hidden)
        features += [united.texts[place] for place in np.flatnonzero(fresh).tolist()]
        seen = np.union1d(seen, united.eids)
    if settings.output == "xml":
        warnings = [*warnings, "[out:xml]: answered as GeoJSON; XML is at /api/interpreter"]
    counts = [_count(u.eids, text=False) for u in outs if u.out.mode == "count"]
    return FeatureList(features, counts, warnings)


def _gather(shown: Sequence[United], kind: str) -> Ints:
    """Return the eids of nodes of the ways or relations that are shown, or of dull nodes."""
    found = [np.empty(0, np.int64)]
    for united in shown:
        for part in united.parts:
            eids = _ints(part.eids)
            if kind == "dull":
                found.append(eids[np.frombuffer(part.dull, np.bool_)])
                continue
            is_wanted = (eids & 3 == (1 if kind == "way" else 2)) & np.isin(eids, united.eids)
            counts = _ints(part.node_counts)
            found.append(_ints(part.nodes)[np.repeat(is_wanted, counts)])
    return np.unique(np.concatenate(found))


# ---- the answer -------------------------------------------------------------------------------


class Reader(NamedTuple):
    """How an answer is to be written."""

    params: Any
    path: str
    query: list[tuple[str, str]]
    generation: str
    timestamp: str
    in_body: bool


def is_native(path: str, params: Any, program: Program) -> bool:
    """Return whether a query is answered as the original would."""
    return path != GEOJSON_PATH or params.format == "osmjson" or program.settings.output == "csv"


def write_answer(
    reader: Reader, program: Program, bodies: Sequence[bytes], deadline: Deadline
) -> Answer:
    """Return the answer of all regions as one machine gives it."""
    outs, warnings = unite(program, bodies)
    params, settings = reader.params, program.settings
    if is_native(reader.path, params, program):
        output = settings.output or "xml"
        if reader.path == GEOJSON_PATH and params.format == "osmjson":
            output = "json"
        body = write_native(outs, settings, output, reader.timestamp, deadline)
        headers = warning_headers(warnings)
        if reader.path != GEOJSON_PATH and params.jsonp and output == "json":
            return Answer(b"%b(%b);" % (params.jsonp.encode(), body), SCRIPT, headers=headers)
        return Answer(body, MEDIA_TYPES[output], headers=headers)
    found = list_features(outs, warnings, settings)
    counts = found.counts[0] if len(found.counts) == 1 else found.counts
    members: dict[str, Any] = {"timestamp": reader.timestamp or None}
    members |= {"count": counts} if counts else {}
    members |= {"warnings": found.warnings} if found.warnings else {}
    written = [(name, orjson.dumps(value)) for name, value in members.items()]
    headers = warning_headers(found.warnings)
    if params.format == "ndjson":
        return Answer(b"".join(f + b"\n" for f in found.features), NDJSON, headers=headers)
    if params.format == "geojson":
        head = open_collection(written) + (b"\n" if found.features else b"")
        return Answer(head + b",\n".join(found.features) + b"\n]}\n", GEOJSON, headers=headers)
    return _write_page(reader, found.features, written, headers)


def _write_page(
    reader: Reader,
    features: list[bytes],
    members: list[tuple[str, bytes]],
    headers: dict[str, str],
) -> Answer:
    params = reader.params
    key = hash_query("overpass", params.data, params.bbox, params.center)
    start = params.offset or 0
    if params.cursor is not None:
        (start,) = decode_cursor(params.cursor, reader.generation, key, tuple[int])
        if not 0 <= start <= len(features):
            raise InvalidRequest.of("cursor", "points outside of the result")
    stop = min(start + params.limit, len(features))
    end = PageEnd(params.limit, has_more=stop < len(features))
    if end.has_more and params.cursor is None and params.offset is not None:
        end = end._replace(next_offset=stop)
    elif end.has_more:
        end = end._replace(next_cursor=encode_cursor(reader.generation, key, (stop,)))
    pagination = end if reader.in_body else None
    body = write_collection(features[start:stop], pagination=pagination, members=members)
    headers = {**page_headers(end, reader.path, reader.query), **headers}
    return Answer(body, GEOJSON, headers=headers)
