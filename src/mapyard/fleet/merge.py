"""Answers of several regions as one: lists by the key that they are sorted by, without doubles.

A region that holds an element has it whole, so copies are equal and the first one counts. A page of
`limit` rows from each region has all rows of the merged page: whatever a region has left comes
behind its own `limit` rows, and these are behind the page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import orjson
import shapely

from mapyard.errors import InvalidRequest, NotFound, Unsupported
from mapyard.fleet.host import (
    DISTANCES_HEADER,
    FEATURES_PATH,
    NAMES_HEADER,
    TIERS_HEADER,
    Collection,
)
from mapyard.fleet.wire import Reply
from mapyard.osm.elements import TYPE_BY_NAME, encode_eid
from mapyard.results.cursor import decode_cursor, encode_cursor, hash_query, write_place
from mapyard.results.pages import PageEnd, page_headers, write_collection

MAX_LIMIT: Final = 1_000
#: The tier of a search where words may have a typo.
_TYPOS: Final = 5
#: Parameters that change only how a page looks, or which one it is.
_NOT_IN_CURSOR: Final = ("limit", "cursor", "offset", "output", "format", "api_key", "lang")


class _Row(msgspec.Struct):
    id: str | int | None = None


type Key = Callable[[_Row], tuple[Any, ...]]
type Rows = list[tuple[tuple[Any, ...], bytes]]


class Asked(NamedTuple):
    """What a merge knows of the request."""

    params: Any
    raw: dict[str, Any]
    path: str
    template: str
    query: list[tuple[str, str]]
    generation: str
    #: The own areas of the regions that are asked, in the order of the answers.
    areas: Sequence[Any] = ()
    in_body: bool = False


class RowMerge(NamedTuple):
    """How the rows of a list are merged."""

    read: Callable[[Sequence[Reply]], Rows]
    #: Raises where another order is asked for.
    check_order: Callable[[Asked], None]
    #: The most rows of one page.
    largest: int
    #: Gets the first rows of all regions; returns whether a row of a key counts.
    allow: Callable[[Rows], Callable[[tuple[Any, ...]], bool]]


class Merge(NamedTuple):
    """How an endpoint's answers are merged."""

    #: Gets what was asked; returns the parameters that each region is asked with.
    ask: Callable[[Asked], dict[str, Any]]
    #: Gets what was asked and the answers; returns headers and body.
    join: Callable[[Asked, Sequence[Reply]], tuple[dict[str, str], bytes]]
    #: Of lists that stream, what it takes to merge their pages.
    rows: RowMerge | None = None


def _eid_of(row: _Row) -> int:
    kind, _, number = str(row.id).partition("/")
    return encode_eid(TYPE_BY_NAME[kind], int(number))


def _by_eid(row: _Row) -> tuple[Any, ...]:
    return (_eid_of(row),)


def read_rows(replies: Sequence[Reply], key: Key) -> Rows:
    """Return the features of all answers by their keys, each once."""
    found: dict[tuple[Any, ...], bytes] = {}
    for reply in replies:
        for raw in msgspec.json.decode(reply.body, type=Collection).features:
            found.setdefault(key(msgspec.json.decode(raw, type=_Row)), bytes(raw))
    return sorted(found.items())


def _read_by_distance(replies: Sequence[Reply]) -> Rows:
    """Return the rows of lists by distance, by (distance, eid)."""
    found: dict[tuple[Any, ...], bytes] = {}
    for reply in replies:
        distances_m = orjson.loads(dict(reply.headers)[DISTANCES_HEADER])
        features = msgspec.json.decode(reply.body, type=Collection).features
        for distance_m, raw in zip(distances_m, features, strict=True):
            key = distance_m, _eid_of(msgspec.json.decode(raw, type=_Row))
            found.setdefault(key, bytes(raw))
    return sorted(found.items())


def _read_by_name(replies: Sequence[Reply]) -> Rows:
    """Return the rows of lists by name, by (whether there is none, bytes of the name, eid)."""
    found: dict[tuple[Any, ...], bytes] = {}
    for reply in replies:
        names = orjson.loads(dict(reply.headers)[NAMES_HEADER])
        features = msgspec.json.decode(reply.body, type=Collection).features
        for name, raw in zip(names, features, strict=True):
            eid = _eid_of(msgspec.json.decode(raw, type=_Row))
            found.setdefault((name is None, (name or "").encode(), eid), bytes(raw))
    return sorted(found.items())


def _read_searched(replies: Sequence[Reply]) -> Rows:
    """Return the rows of searches by (tier, eid).

    Rows with typos count only where no region has any without, as in one map.
    """
    found: dict[tuple[Any, ...], bytes] = {}
    for reply in replies:
        tiers = orjson.loads(dict(reply.headers)[TIERS_HEADER])
        features = msgspec.json.decode(reply.body, type=Collection).features
        for tier, raw in zip(tiers, features, strict=True):
            found.setdefault((tier, _eid_of(msgspec.json.decode(raw, type=_Row))), bytes(raw))
    exact = {key: raw for key, raw in found.items() if key[0] < _TYPOS}
    return sorted((exact or found).items())


def _allow_all(first: Rows) -> Callable[[tuple[Any, ...]], bool]:
    return lambda key: True


def _allow_typos(first: Rows) -> Callable[[tuple[Any, ...]], bool]:
    """Return the test of rows of searches: one with typos counts where none is without."""
    has_exact = any(key[0] < _TYPOS for key, _ in first)
    return lambda key: not has_exact or key[0] < _TYPOS


def _make_list(
    read: Callable[[Sequence[Reply]], Rows], kind: Any, default: int, order: str, largest: int,
    *, only_offsets: bool = False,
) -> Merge:  # fmt: skip
    """Return the merge of a list with pages, by cursors and offsets or by offsets only."""

    allow = _allow_typos if order == "relevance" else _allow_all

    def limit_of(asked: Asked) -> int:
        return int(asked.params.limit or default)

    def query_hash(asked: Asked) -> bytes:
        kept = {name: asked.raw[name] for name in asked.raw if name not in _NOT_IN_CURSOR}
        return hash_query(asked.template, kept)

    def check_order(asked: Asked) -> None:
        is_stream = getattr(asked.params, "format", "json") != "json"
        if is_stream and order == "osm_id" != asked.params.output.sort:
            raise InvalidRequest.of("output[sort]", "streams come in the order of osm_id")
        if asked.params.output.sort not in (order, "osm_id" if order == "distance" else order):
            raise Unsupported(f"several regions are merged in the order of {order} only")

    def ask(asked: Asked) -> dict[str, Any]:
        check_order(asked)
        params = asked.params
        if only_offsets and params.cursor is not None:
            raise InvalidRequest.of(
                "output[sort]", f"{order} pages by offset; leave out the cursor"
            )
        raw = {k: v for k, v in asked.raw.items() if k not in ("cursor", "offset", "limit")}
        raw["limit"] = limit_of(asked)
        if params.cursor is not None:
            place = decode_cursor(params.cursor, asked.generation, query_hash(asked), kind)
            raw["cursor"] = write_place(place)
        elif params.offset:
            if params.offset + raw["limit"] > largest:
                how = "ask about a smaller area" if only_offsets else "follow the cursors"
                raise Unsupported(
                    f"over several regions, offset and limit are at most {largest} together; {how}"
                )
            raw["limit"] += params.offset
        return raw

    def join(asked: Asked, replies: Sequence[Reply]) -> tuple[dict[str, str], bytes]:
        parts = [read([reply]) for reply in replies]
        allowed = allow([row for part in parts for row in part])
        found: dict[tuple[Any, ...], bytes] = {}
        for key, raw in (row for part in parts for row in part if allowed(row[0])):
            found.setdefault(key, raw)
        rows = sorted(found.items())
        limit = limit_of(asked)
        by_offset = only_offsets or (
            asked.params.cursor is None and asked.params.offset is not None
        )
        skip = (asked.params.offset or 0) if by_offset else 0
        page = rows[skip : skip + limit]
        # What comes behind rows that do not count does not count either.
        has_more = len(rows) > skip + limit or any(
            (b"x-has-more", b"true") in reply.headers and part and allowed(part[-1][0])
            for reply, part in zip(replies, parts, strict=True)
        )
        if not has_more or not page:
            end = PageEnd(limit, False)
        elif by_offset:
            end = PageEnd(limit, True, next_offset=skip + limit)
        else:
            cursor = encode_cursor(asked.generation, query_hash(asked), page[-1][0])
            end = PageEnd(limit, True, cursor)
        body = write_collection([raw for _, raw in page], pagination=end if asked.in_body else None)
        return page_headers(end, asked.path, asked.query), body

    return Merge(ask, join, RowMerge(read, check_order, largest, allow))


# ---- roads ------------------------------------------------------------------------------------


def _join_nearest(asked: Asked, replies: Sequence[Reply]) -> tuple[dict[str, str], bytes]:
    """Return the nearest of all: a feature, or as many as were asked for.

    A region tells of roads in its own area only: farther out, beyond its margin, it has a road
    without those that cross it, cut otherwise.
    """
    found: list[tuple[float, int, bytes]] = []
    for number, (area, reply) in enumerate(zip(asked.areas, replies, strict=True)):
        if reply.status != 200:
            continue
        whole = msgspec.json.decode(reply.body, type=_Nearest)
        for raw in whole.features if whole.type == "FeatureCollection" else [reply.body]:
            road = msgspec.json.decode(raw, type=_Road)
            if area.covers(shapely.Point(road.geometry["coordinates"])):
                found.append((road.properties["distance_m"], number, bytes(raw)))
    if not found:
        raise NotFound(
            f"no road for mode {asked.params.mode} within {asked.params.radius:g} m",
            code="no_road_found",
        )
    rows = [raw for _, _, raw in sorted(found)][: asked.params.number]
    return {}, rows[0] if asked.params.number == 1 else write_collection(rows)


class _Road(msgspec.Struct):
    geometry: dict[str, Any]
    properties: dict[str, Any]


class _Nearest(msgspec.Struct):
    type: str
    features: list[msgspec.Raw] = []


# ---- several by id ----------------------------------------------------------------------------


def _ask_same(asked: Asked) -> dict[str, Any]:
    return asked.raw


def _join_first(asked: Asked, replies: Sequence[Reply]) -> tuple[dict[str, str], bytes]:
    for reply in replies:
        if reply.status == 200:
            return {}, reply.body
    raise NotFound(
        f"{asked.params.type}/{asked.params.id} is not in this dataset",
        details={"id": f"{asked.params.type}/{asked.params.id}"},
    )


def _join_batch(asked: Asked, replies: Sequence[Reply]) -> tuple[dict[str, str], bytes]:
    found = dict(read_rows(replies, lambda row: (str(row.id),)))
    names = [(f"{ref.type}/{ref.id}",) for ref in asked.params.elements]
    missing = [
        {"type": ref.type, "id": ref.id}
        for ref, name in zip(asked.params.elements, names, strict=True)
        if name not in found
    ]
    body = write_collection(
        [found[name] for name in names if name in found],
        members=[("missing", orjson.dumps(missing))],
    )
    return {}, body


MERGES: Final[Mapping[str, Merge]] = {
    "/api/v1/features": _make_list(
        lambda replies: read_rows(replies, _by_eid), tuple[int], 20, "osm_id", MAX_LIMIT
    ),
    "/api/v1/features/nearby": _make_list(
        _read_by_distance,
        tuple[float, int],
        20,
        "distance",
        MAX_LIMIT,
    ),
    "/api/v1/search": _make_list(_read_searched, tuple[int, int], 25, "relevance", 100),
    "/api/v1/nearest": Merge(_ask_same, _join_nearest),
    "/api/v1/features/batch": Merge(_ask_same, _join_batch),
    "/api/v1/features/{type}/{id}": Merge(_ask_same, _join_first),
    "/api/v1/features/lookup": Merge(_ask_same, _join_first),
}
#: Lists of features in another order, which pages by offset.
_SORTED: Final[Mapping[str, Merge]] = {
    "name": _make_list(_read_by_name, tuple[()], 20, "name", MAX_LIMIT, only_offsets=True),
    "distance": _make_list(
        _read_by_distance, tuple[()], 20, "distance", MAX_LIMIT, only_offsets=True
    ),
}


def find_merge(path: str, params: Any) -> Merge | None:
    """Return how the answers to a request are merged, None where they cannot be."""
    if path == FEATURES_PATH and params.format == "json" and params.output.sort in _SORTED:
        return _SORTED[params.output.sort]
    return MERGES.get(path)


#: Merges where a region may say that it has nothing.
MAY_LACK: Final = ("/api/v1/nearest", "/api/v1/features/{type}/{id}", "/api/v1/features/lookup")
