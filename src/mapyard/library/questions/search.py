"""Elements by name, ref, operator or brand."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Final, Literal

import numpy as np
from msgspec import Meta

from mapyard.errors import InvalidRequest, TooLarge
from mapyard.features.by_place import PlacedNames, Records
from mapyard.features.listing import Listing
from mapyard.features.query import FeatureQuery, find_candidates, test_rows
from mapyard.features.regions import BoxRegion
from mapyard.features.search import Filter, search_names
from mapyard.library.call import Call
from mapyard.library.question import question
from mapyard.library.questions.elements import Lang, read_output, read_tags, read_types
from mapyard.library.results.elements import Elements
from mapyard.library.results.feature import Features
from mapyard.params.parser import Bbox, Params, Tags, spelled
from mapyard.results.cursor import decode_cursor, encode_cursor
from mapyard.results.output import Output
from mapyard.results.pages import PageEnd
from mapyard.results.streams import Chunk
from mapyard.store.reader import Rows, to_units
from mapyard.text.index import TextIndex

MAX_LIMIT: Final = 100
#: Largest result that can be put in another order than relevance.
MAX_SORTED: Final = 10_000
_CHUNK: Final = 1_000
#: Elements of a box or with a tag that an index is asked for by number.
_MAX_CANDIDATES: Final = 20_000


class SearchOutput(Output, frozen=True, kw_only=True):
    """Output options of a search."""

    sort: Annotated[
        Literal["relevance", "osm_id", "name", "distance"],
        Meta(description="order; osm_id and name page by offset, not by cursor"),
    ] = "relevance"  # type: ignore[assignment] # one order more


class Search(Params, kw_only=True):
    """What is searched."""

    q: Annotated[
        str,
        Meta(
            description="name in any language, ref, operator or brand: whole words or their "
            "beginnings, one typo per word when nothing else is found",
            examples=["monte carlo"],
            max_length=20_000,
        ),
    ]
    type: Annotated[
        tuple[Literal["node", "way", "relation"], ...],
        Meta(description="element types, all by default"),
    ] = ()
    tags: Annotated[Tags, spelled("tag filters as in /features, all must hold")] = Tags()
    bbox: Annotated[
        Bbox | None, Meta(description="south,west,north,east; only elements that meet it")
    ] = None
    limit: (
        Annotated[
            int,
            Meta(ge=1, le=MAX_LIMIT, description="page size, default 25; caps a stream if given"),
        ]
        | None
    ) = None
    cursor: (
        Annotated[str, Meta(description="cursor of the page before", max_length=1_024)] | None
    ) = None
    offset: (
        Annotated[
            int, Meta(ge=0, description="how many to skip, instead of a cursor; a cursor wins")
        ]
        | None
    ) = None
    lang: Lang = ()
    output: SearchOutput = SearchOutput()


@question(
    "search",
    path="/api/v1/search",
    leading=("q",),
    fixed={"format": "ndjson"},
    result=Features,
)
def search(call: Call, params: Search) -> Elements:
    """Find elements by name, ref, operator or brand; whole words or their beginnings.

    Order: whole names of places, whole names, all words, beginnings of words, then ref, operator
    and brand; within each by (osm_id, type).
    """
    if not params.q.strip():
        raise InvalidRequest.of("q", "must not be blank")
    if params.output.sort == "distance":
        raise InvalidRequest.of(
            "output[sort]", "distance needs a position; use /geocode or /nearby"
        )
    query, find = _begin(call, params)
    order = params.output.sort

    def find_page(limit: int) -> Listing:
        if order != "relevance" and params.cursor is None:
            rows, end = find.sorted_page(order, limit, params.offset or 0)
        else:
            query_hash = query.hash("search", params.q)
            rows, end = find.page(limit, params.cursor, params.offset, query_hash)
        return Listing(rows, None, end)

    def iter_chunks() -> Iterator[Chunk]:
        if order != "relevance":
            rows, _ = find.sorted_page(order, params.limit or MAX_SORTED, params.offset or 0)
            yield rows, None
            return
        yield from _iter_chunks(find, params.limit)

    return Elements(call, read_output(params), find_page, iter_chunks)


def _begin(call: Call, params: Search) -> tuple[FeatureQuery, _Finder]:
    store = call.store
    query = FeatureQuery(
        read_types(params.type),
        read_tags(store, params.tags),
        BoxRegion(params.bbox) if params.bbox else None,
    )
    keep = None
    if query.tags or query.region is not None or len(query.types) < 3:
        keep = Filter(
            store,
            partial(test_rows, store, query),
            partial(find_candidates, store, query, call.deadline, _MAX_CANDIDATES),
            partial(_find_records, call, params.bbox) if params.bbox else None,
        )
    return query, _Finder(call, call.part("text"), params.q, keep)


def _find_records(call: Call, bbox: Bbox, most: int) -> Records | None:
    """Return the names around a box, None where these are more than about `most`."""
    placed: PlacedNames = call.part("placed names")
    return placed.find([to_units(box) for box in bbox.split()], most)


def find_tiers(call: Call, params: Search, limit: int) -> list[int]:
    """Return the tier of each element of a page: what lists of several maps are merged by."""
    after = None
    if params.cursor is not None:
        after = decode_cursor(params.cursor, call.snapshot.id, b"", tuple[int, int])
    _, find = _begin(call, params)
    return find.tiers(limit, after, params.offset or 0)


class _Finder:
    """One search of a request, asked page by page."""

    def __init__(self, call: Call, index: TextIndex, text: str, keep: Filter | None) -> None:
        self.call, self.index, self.text = call, index, text
        self.store = call.store
        self.keep = keep

    def find(
        self, limit: int, after: tuple[int, int] | None = None, offset: int = 0
    ) -> tuple[Rows, tuple[int, int] | None]:
        """Return rows and the place behind them, None at the end."""
        page = search_names(
            self.index, self.text, limit,
            after=after, offset=offset, keep=self.keep, deadline=self.call.deadline,
        )  # fmt: skip
        return self.store.find_eid_rows(page.eids), page.next_place

    def tiers(self, limit: int, after: tuple[int, int] | None, offset: int) -> list[int]:
        """Return the tiers of the rows of a page."""
        return search_names(
            self.index, self.text, limit,
            after=after, offset=offset, keep=self.keep, deadline=self.call.deadline,
        ).tiers  # fmt: skip

    def page(
        self, limit: int, cursor: str | None, offset: int | None, query_hash: bytes
    ) -> tuple[Rows, PageEnd]:
        dataset = self.call.snapshot.id
        if cursor is None and offset is not None:
            rows, place = self.find(limit, offset=offset)
            return rows, PageEnd(limit, place is not None, next_offset=offset + len(rows))
        after = decode_cursor(cursor, dataset, query_hash, tuple[int, int]) if cursor else None
        rows, place = self.find(limit, after)
        next_cursor = encode_cursor(dataset, query_hash, place) if place else None
        return rows, PageEnd(limit, place is not None, next_cursor=next_cursor)

    def sorted_page(self, order: str, limit: int, offset: int) -> tuple[Rows, PageEnd]:
        """Return a page of the whole result in another order."""
        rows, place = self.find(MAX_SORTED)
        if place is not None:
            raise TooLarge(
                f"output[sort]: more than {MAX_SORTED} elements found; narrow the search, or "
                "leave out the order",
                details={"limit": MAX_SORTED},
            )
        if order == "name":
            names = self.store.tag_values(rows, "name")
            # kv ids of one key are in the order of its values; no name comes last.
            rank = np.lexsort((self.store.eids(rows), names, names < 0))
        else:
            rank = np.argsort(self.store.eids(rows))
        rows = rows[rank]
        has_more = len(rows) > offset + limit
        return rows[offset : offset + limit], PageEnd(limit, has_more, next_offset=offset + limit)


def _iter_chunks(find: _Finder, limit: int | None) -> Iterator[Chunk]:
    after: tuple[int, int] | None = None
    left = limit
    while left is None or left > 0:
        rows, after = find.find(_CHUNK if left is None else min(_CHUNK, left), after)
        yield rows, None
        if after is None:
            return
        left = None if left is None else left - len(rows)
