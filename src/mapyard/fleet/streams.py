"""Whole lists over regions as streams: pages of all regions, merged as they come.

Each region is read page by page from the last key that it gave. What all of them have reached goes
out in order, so memory holds a page per region, and a row that several regions have goes out once.
"""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Final

import orjson

from mapyard.fleet.generation import Region
from mapyard.fleet.host import HEAD_HEADER
from mapyard.fleet.merge import Asked, RowMerge, Rows
from mapyard.fleet.wire import Reply, read_error
from mapyard.results.cursor import write_place
from mapyard.results.pages import open_collection

#: Rows that are asked of all regions together, and of one at least and at most.
_ROWS: Final = 16_000
_FEWEST: Final = 100

type Ask = Callable[[Region, dict[str, Any]], Awaitable[Reply]]


class _Source:
    """What one region has given and has left."""

    def __init__(self, region: Region) -> None:
        self.region = region
        self.rows: Rows = []
        self.last: tuple[Any, ...] | None = None
        self.has_more = True
        #: The header line of its CSV.
        self.head: list[str] | None = None


async def stream_rows(
    merge: RowMerge, asked: Asked, regions: Sequence[Region], ask: Ask
) -> AsyncIterator[bytes]:
    """Yield the chunks of a list in the format that is asked for; raise midway if a region does."""
    form = asked.params.format
    limit = min(merge.largest, max(_FEWEST, _ROWS // len(regions)))
    sources = [_Source(region) for region in regions]
    is_begun = False
    async for rows in _iter_merged(merge, asked, sources, ask, limit):
        features = [raw for _, raw in rows]
        if form == "ndjson":
            yield b"".join(raw + b"\n" for raw in features)
        elif form == "csv":
            yield _write_csv(features, None if is_begun else _find_head(sources))
            is_begun = True
        elif features:
            yield (b",\n" if is_begun else open_collection() + b"\n") + b",\n".join(features)
            is_begun = True
    if form == "geojson":
        yield (b"" if is_begun else open_collection()) + b"\n]}\n"


async def _iter_merged(
    merge: RowMerge, asked: Asked, sources: list[_Source], ask: Ask, limit: int
) -> AsyncIterator[Rows]:
    await asyncio.gather(*(_fill(merge, asked, source, ask, limit) for source in sources))
    allowed = merge.allow([row for source in sources for row in source.rows])
    while True:
        for source in sources:
            source.rows = [row for row in source.rows if allowed(row[0])]
            if source.last is not None and not allowed(source.last):
                source.has_more = False  # what comes behind it counts no more than it does
        # Up to where every region has told all that it has.
        ends = [source.last for source in sources if source.has_more and source.last is not None]
        end = min(ends) if ends else None
        found: dict[tuple[Any, ...], bytes] = {}
        for source in sources:
            for key, raw in source.rows:
                if end is None or key <= end:
                    found.setdefault(key, raw)
            source.rows = [] if end is None else [row for row in source.rows if row[0] > end]
        yield sorted(found.items())
        if end is None:
            return
        await asyncio.gather(*(
            _fill(merge, asked, source, ask, limit)
            for source in sources if source.has_more and not source.rows
        ))  # fmt: skip


async def _fill(merge: RowMerge, asked: Asked, source: _Source, ask: Ask, limit: int) -> None:
    raw = {k: v for k, v in asked.raw.items() if k not in ("cursor", "offset", "limit")}
    raw["limit"] = limit
    if raw.get("format") != "csv":
        raw["format"] = "json"
    if source.last is not None:
        raw["cursor"] = write_place(source.last)
    reply = await ask(source.region, raw)
    if reply.status != 200:
        raise read_error(reply)
    source.rows = merge.read([reply])
    source.head = orjson.loads(dict(reply.headers).get(HEAD_HEADER, b"null"))
    source.has_more = (b"x-has-more", b"true") in reply.headers and bool(source.rows)
    if source.rows:
        source.last = source.rows[-1][0]


def _find_head(sources: Sequence[_Source]) -> list[str] | None:
    """Return the header line: that of a region that has something, as it tells what they have."""
    best = max(sources, key=lambda source: source.last is not None)
    return best.head


def _write_csv(features: list[bytes], head: list[str] | None) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    if head is not None:
        writer.writerow(head)
    for raw in features:
        writer.writerow(orjson.loads(raw)["line"])
    return text.getvalue().encode()
