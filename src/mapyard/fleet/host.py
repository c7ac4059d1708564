"""One region's dataset, open, asked by requests: the ordinary application without keys."""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
import numpy as np
import orjson

from mapyard.dataset.catalog import GUESTS_NAME
from mapyard.errors import MapyardError, Overloaded, TooLarge
from mapyard.fleet import plaza, sparql, tags
from mapyard.fleet.overpass import PART_PATH, answer_part
from mapyard.fleet.wire import Question, Reply
from mapyard.http.app import Application
from mapyard.http.context import Context
from mapyard.http.endpoints import Endpoint
from mapyard.http.errors import encode_error
from mapyard.http.languages import with_languages
from mapyard.http.pool import RequestDeadline, WorkPool
from mapyard.http.reply import Later
from mapyard.http.request import Request
from mapyard.http.routes.features import read_limit
from mapyard.http.services import Services
from mapyard.library.questions import elements
from mapyard.library.questions.search import find_tiers, search
from mapyard.library.snapshot import Snapshot, Snapshots
from mapyard.results.pages import write_collection
from mapyard.results.streams import stream_features
from mapyard.settings import Settings

#: Headers of a whole answer that the asking node makes itself.
_OWN: Final = frozenset((b"x-request-id", b"x-dataset-timestamp", b"vary", b"connection"))
#: A body that a node sends to another one; larger ones are to be asked for in pages.
MAX_BYTES: Final = 64 << 20
SEARCH_PATH: Final = "/api/v1/search"
FEATURES_PATH: Final = "/api/v1/features"
NEARBY_PATH: Final = "/api/v1/features/nearby"
#: Of a list by distance: each row's, of which its body has it rounded.
DISTANCES_HEADER: Final = b"x-distances"
#: Of a list by name: each row's, null where it has none.
NAMES_HEADER: Final = b"x-names"
#: Of a search: how well each row fits, which its body does not tell.
TIERS_HEADER: Final = b"x-tiers"
#: Of a page in CSV: its header line.
HEAD_HEADER: Final = b"x-head"


class Pinned(Snapshots):
    """One dataset, always."""

    def __init__(self, snapshot: Snapshot, settings: Settings) -> None:
        self.settings = settings
        self._snapshot = snapshot
        self.on_switch: Callable[[Snapshot, Snapshot | None], None] = lambda new, old: None

    def lease(self) -> Snapshot:
        """Return it, leased."""
        assert self._snapshot is not None
        return self._snapshot.lease()

    @property
    def is_ready(self) -> bool:
        """Return True: it is open."""
        return True

    def close(self) -> None:
        """Let it go when nobody uses it any more."""
        assert self._snapshot is not None
        self._snapshot.retire()


class Collection(msgspec.Struct):
    """What is read of a FeatureCollection: its features as they were written."""

    features: list[msgspec.Raw] = []


class Host:
    """Answers requests from one region."""

    def __init__(
        self, snapshot: Snapshot, settings: Settings, endpoints: Sequence[Endpoint]
    ) -> None:
        self.snapshot = snapshot
        self.services = Services(settings, Pinned(snapshot, settings), list(endpoints))
        self.application = Application(self.services, endpoints)
        self.asked = 0
        path = snapshot.folder / GUESTS_NAME
        #: The sorted eids of elements that other regions own.
        self.guests = np.load(path, mmap_mode="r") if path.exists() else np.empty(0, np.int64)

    async def ask(self, question: Question) -> Reply:
        """Return the answer of a request."""
        self.asked += 1
        if question.raw is not None:
            return await self._ask_raw(question, question.raw)
        return await self._ask_whole(question)

    async def _ask_whole(self, question: Question) -> Reply:
        """Answer a request as it came, the ordinary way."""
        start: dict[str, Any] = {}
        chunks: list[bytes] = []
        size = 0

        async def receive() -> dict[str, Any]:
            if not start.get("read"):
                start["read"] = True
                return {"type": "http.request", "body": question.body, "more_body": False}
            await asyncio.Event().wait()  # until it is cancelled: the client stays
            raise AssertionError

        async def send(message: Any) -> None:
            nonlocal size
            if message["type"] == "http.response.start":
                start.update(message)
                return
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > MAX_BYTES:
                raise TooLarge(
                    f"the answer has more than {MAX_BYTES >> 20} MB, which a node sends to another "
                    "one; ask in pages, or for a smaller area",
                    details={"limit": MAX_BYTES},
                )
            chunks.append(chunk)

        await self.application(_make_scope(question), receive, send)
        headers = [pair for pair in start["headers"] if pair[0] not in _OWN]
        return Reply(start["status"], headers, b"".join(chunks))

    async def _ask_raw(self, question: Question, raw: dict[str, Any]) -> Reply:
        """Answer parameters, without paths, keys and compression around."""
        if question.path in (PART_PATH, plaza.PART_PATH, sparql.PART_PATH, tags.PART_PATH):
            return await self._ask_part(question, raw)
        found = self.application.router.find(question.path)
        assert found is not None, "the asking node found it"
        endpoint = found[0].by_method[question.method]
        request = Request(_make_scope(question), _nothing, _nothing)
        deadline = RequestDeadline(self.services.settings.timeout_s)

        def work() -> Reply:
            params = endpoint.parser.parse(raw)
            if endpoint.languages:
                params = with_languages(params, request.headers)
            ctx = Context(self.services, self.snapshot, deadline, request, raw)
            if endpoint.path == NEARBY_PATH:
                return _answer_nearby(ctx, params)
            if endpoint.path == FEATURES_PATH and params.output.sort != "osm_id":
                return _answer_sorted(ctx, params)
            if getattr(params, "format", "json") == "csv":
                return _answer_csv(ctx, params, endpoint.path)
            try:
                answer = endpoint.handler(ctx, params)
            except Later as later:
                answer = later.make()
            body = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
            headers = [
                (name.lower().encode(), str(value).encode())
                for name, value in (answer.headers or {}).items()
            ]
            if endpoint.path == SEARCH_PATH:
                tiers = find_tiers(ctx, params, params.limit)
                headers.append((TIERS_HEADER, orjson.dumps(tiers)))
            return Reply(answer.status, headers, body)

        pool = self.application.heavy if endpoint.heavy else self.application.light
        return await self._run(pool, work)

    async def _ask_part(self, question: Question, raw: dict[str, Any]) -> Reply:
        """Answer a query as far as this region knows."""
        request = Request(_make_scope(question), _nothing, _nothing)
        deadline = RequestDeadline(self.services.settings.timeout_s)

        def work() -> Reply:
            ctx = Context(self.services, self.snapshot, deadline, request, raw)
            if question.path == sparql.PART_PATH:
                body = sparql.answer_part(ctx, raw["query"], raw["form"], self.guests)
            elif question.path == plaza.PART_PATH:
                body = plaza.answer_part(ctx, raw["data"], raw["most"], self.guests, MAX_BYTES)
            elif question.path == tags.PART_PATH:
                body = tags.answer_part(ctx, raw["key"], raw["prefix"], self.guests)
            else:
                body = answer_part(ctx, raw["data"], raw["form"])
            if len(body) > MAX_BYTES:
                raise TooLarge(
                    f"a region has more than {MAX_BYTES >> 20} MB of it; ask for a smaller area",
                    details={"limit": MAX_BYTES},
                )
            return Reply(200, [], body)

        return await self._run(self.application.heavy, work)

    async def _run(self, pool: WorkPool, work: Callable[[], Reply]) -> Reply:
        try:
            with_lease = self.snapshot.lease()
            try:
                return await asyncio.wrap_future(pool.submit(work))
            finally:
                with_lease.release()
        except MapyardError as error:
            headers = [(b"retry-after", b"1")] if isinstance(error, Overloaded) else []
            return Reply(error.status, headers, encode_error(error))


def _answer_csv(ctx: Context, params: Any, path: str) -> Reply:
    """Return a page as the lines that a stream has of it: id and line each, and the header line."""
    found = (search if path == SEARCH_PATH else elements.features)(ctx, params)
    page = found.listing(params.limit)
    chunks = [(page.rows, page.distances_m)] if len(page.rows) else []
    text = b"".join(stream_features(found.store, chunks, found.output, "csv", ctx.deadline))
    head, *lines = csv.reader(io.StringIO(text.decode(), newline=""))
    features = [{"id": f"{line[0]}/{line[1]}", "line": line} for line in lines]
    headers = [
        (b"x-has-more", b"true" if page.end.has_more else b"false"),
        (HEAD_HEADER, orjson.dumps(head)),
    ]
    if path == SEARCH_PATH:
        headers.append((TIERS_HEADER, orjson.dumps(find_tiers(ctx, params, params.limit))))
    return Reply(200, headers, orjson.dumps({"features": features}))


def _answer_sorted(ctx: Context, params: Any) -> Reply:
    """Return a page by name or distance, with that of each row."""
    found = elements.features(ctx, params)
    listing = found.listing(read_limit(ctx, params.limit))
    headers = [(b"x-has-more", b"true" if listing.end.has_more else b"false")]
    if params.output.sort == "name":
        names = [found.store.tags(row).get("name") for row in listing.rows.tolist()]
        headers.append((NAMES_HEADER, orjson.dumps(names)))
    else:
        assert listing.distances_m is not None
        headers.append((DISTANCES_HEADER, orjson.dumps(listing.distances_m.tolist())))
    return Reply(200, headers, write_collection(found.write(listing.rows, listing.distances_m)))


def _answer_nearby(ctx: Context, params: Any) -> Reply:
    page = elements.nearby(ctx, params).page(read_limit(ctx, params.limit))
    assert page.distances_m is not None
    headers = [
        (b"x-has-more", b"true" if page.end.has_more else b"false"),
        (DISTANCES_HEADER, orjson.dumps(page.distances_m.tolist())),
    ]
    return Reply(200, headers, write_collection(page.written))


async def _nothing(*_: Any) -> Any:
    raise RuntimeError("nothing is read or sent")


def _make_scope(question: Question) -> dict[str, Any]:
    headers = [pair for pair in question.headers if pair[0] != b"x-request-id"]
    if question.request_id:
        headers.append((b"x-request-id", question.request_id.encode()))
    return {
        "type": "http", "method": question.method, "path": question.path,
        "raw_path": question.path.encode(), "query_string": question.query,
        "headers": headers, "scheme": question.scheme, "client": ("127.0.0.1", 0),
    }  # fmt: skip
