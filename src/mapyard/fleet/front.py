"""Where a request goes: to a dataset on this node, to another node, or to several regions at once.

A request about a place that one region holds whole is answered by it, as one machine would: from
this node's own disk where it lies there, else by a node that has it. Lists over several regions are
merged; what cannot be merged is refused with the names of the regions.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol
from urllib.parse import parse_qsl

import orjson

from mapyard.errors import MapyardError, Overloaded, TooLarge, Unsupported
from mapyard.fleet import plaza, sparql, tags
from mapyard.fleet.choice import ANY, PICTURES, find_choice
from mapyard.fleet.extent import ABOUT_ROADS, find_request_extent
from mapyard.fleet.generation import Generation, Region
from mapyard.fleet.host import Host
from mapyard.fleet.locality import find_locality
from mapyard.fleet.map import RegionMap
from mapyard.fleet.merge import MAY_LACK, Asked, Merge, RowMerge, find_merge
from mapyard.fleet.overpass import (
    FEATURES,
    MAX_BYTES,
    NATIVE,
    PART_PATH,
    Reader,
    is_native,
    read_query,
    write_answer,
)
from mapyard.fleet.overpass import PATHS as OVERPASS_PATHS
from mapyard.fleet.streams import stream_rows
from mapyard.fleet.wholes import OVERVIEW
from mapyard.fleet.wire import Question, Reply, read_error
from mapyard.geo.bbox import Bbox
from mapyard.http.answer import GEOJSON, Answer
from mapyard.http.elsewhere import Flow
from mapyard.http.endpoints import Endpoint
from mapyard.http.languages import with_languages
from mapyard.http.pool import RequestDeadline
from mapyard.http.reply import Reply as Sent
from mapyard.http.reply import encode_answer
from mapyard.http.request import Request
from mapyard.library.snapshot import NoDataset, Snapshot, Snapshots
from mapyard.results.streams import MEDIA_TYPES
from mapyard.settings import Settings

#: Header by which a client names the region that it asks.
REGION_HEADER: Final = "x-region"
#: How long one copy is waited for before another one is asked too, seconds.
HEDGE_S: Final = 1.0
#: How long a region is asked again where none of its copies answers, seconds.
PATIENCE_S: Final = 5.0
#: How long a replica that failed is asked last, seconds.
SHUN_S: Final = 5.0
_MOST_REGIONS: Final = 256
#: Formats that stream a whole list.
STREAMS: Final = tuple(MEDIA_TYPES)
_EARLY: Final = ("/api/v1/elements", "/api/v1/nearby")


class Replica(Protocol):
    """A copy of a region on some node."""

    #: What tells it apart.
    name: str
    #: Whether it was well when last looked at; others are asked when all else fails.
    ready: bool

    async def ask(self, question: Question) -> Reply:
        """Return the answer; raise ReplicaLost where it cannot be reached."""
        ...


class ReplicaLost(Exception):  # noqa: N818 - a signal: another one is asked
    """A node or process is gone, or does not answer."""


class Table:
    """Who holds what, of one generation."""

    def __init__(
        self,
        generation: Generation,
        replicas: Mapping[str, Sequence[Replica]],
        local: Mapping[str, Snapshot],
    ) -> None:
        self.generation = generation
        self.map = RegionMap(generation)
        self.replicas = replicas
        #: Region → its dataset on this node, open.
        self.local = local


class Front(Snapshots):
    """Finds where requests are answered; stands for the one dataset of a single machine."""

    def __init__(self, settings: Settings, endpoints: Sequence[Endpoint]) -> None:
        self.settings = settings
        self._endpoints = endpoints
        self.table: Table | None = None
        #: Whether the table is as new as it must be to answer from it.
        self.is_current = False
        self._hosts: dict[str, Host] = {}
        self._shunned: dict[str, float] = {}
        self.on_switch = lambda new, old: None

    # What Services needs of Snapshots.

    @property
    def timestamp(self) -> str:
        """Return the time of the data."""
        return self.table.generation.osm_timestamp if self.table is not None else ""

    @property
    def is_ready(self) -> bool:
        """Return whether this node knows the fleet's generation."""
        return self.table is not None and self.is_current

    def lease(self) -> Snapshot:
        """Return some dataset of this node."""
        table = self._get_table()
        if not table.local:
            raise NoDataset("this node holds no region", headers={"Retry-After": "5"})
        return next(iter(table.local.values())).lease()

    def close(self) -> None:
        """Let the datasets of this node go."""
        if self.table is not None:
            for snapshot in self.table.local.values():
                snapshot.retire()
            self.table = None

    def _get_table(self) -> Table:
        if self.table is None:
            raise NoDataset(
                "this node does not know its regions yet; try again in a moment",
                headers={"Retry-After": "2"},
            )
        return self.table

    # The seam of the application.

    async def find(
        self, request: Request, endpoint: Endpoint, body: bytes
    ) -> Snapshot | Sent | Flow:
        """Return the dataset of this node that answers, leased, or the answer."""
        table = self._get_table()
        named = request.headers.get(REGION_HEADER)
        if named is not None:
            return await self._find_one(table, [table.generation.get_region(named)], request, body)
        assert request.read is not None
        raw, params, request.ignored = request.read
        choice = find_choice(endpoint.path, params, table.map.wholes)
        if choice:
            return await self._find_one(table, _choose(table, choice), request, body)
        extent = find_request_extent(endpoint.path, params)
        if table.map.roads and endpoint.path in ABOUT_ROADS:
            return await self._find_one(table, [_find_roads(table, extent)], request, body)
        if endpoint.path in OVERPASS_PATHS and len(table.map.regions) > 1:
            return await self._find_overpass(table, request, endpoint, body)
        if endpoint.path in sparql.PATHS and len(table.map.regions) > 1:
            return await self._find_sparql(table, request, endpoint, body)
        if endpoint.path == plaza.PATH and len(table.map.regions) > 1 and _is_plaza(params):
            return await self._find_plaza(table, request, endpoint)
        if endpoint.path == tags.PATH and len(table.map.regions) > 1 and tags.is_plain(params):
            asked_for = {"key": params.key, "prefix": params.prefix}
            question = _make_question(request, endpoint, asked_for, table.map.regions)
            question.path = tags.PART_PATH
            bodies = await self._ask_all(table, table.map.regions, question)
            answer = Answer.json(tags.unite(params, bodies))
            return encode_answer(answer, request.headers, head=request.method == "HEAD")
        merge = find_merge(endpoint.path, params)
        whole = table.map.find_whole(extent)
        regions = whole or table.map.find_meeting(extent)
        is_one = bool(whole) or (len(regions) == 1 and extent is not None)
        streams = merge is not None and merge.rows and getattr(params, "format", "json") in STREAMS
        is_near = any(region.name in table.local for region in regions)
        if is_one and (is_near or not streams):
            return await self._find_one(table, regions, request, body)
        if is_one:  # in pages: a whole answer from another node has a limit
            regions = regions[:1]
        if merge is None:
            raise _refuse(endpoint, regions)
        if endpoint.languages:
            params = with_languages(params, request.headers)
        query = parse_qsl(request.scope["query_string"].decode("utf-8", "replace"))
        path: str = request.scope["path"]
        in_body = "x-stainless-lang" in request.headers or path.rstrip("/") in _EARLY
        areas = [table.map.areas[region.name] for region in regions]
        asked = Asked(
            params, dict(raw), path, endpoint.path, query, table.generation.id, areas, in_body
        )  # fmt: skip
        if merge.rows is not None and streams:
            return await self._stream(table, merge.rows, asked, regions, request, endpoint)
        return await self._merge(table, merge, asked, regions, request, endpoint)

    async def _find_one(
        self, table: Table, regions: Sequence[Region], request: Request, body: bytes
    ) -> Snapshot | Sent:
        """Answer from a region that holds all of it; any of them does."""
        for region in regions:
            if region.name in table.local:
                return table.local[region.name].lease()
        scope = request.scope
        question = Question(
            request.method, scope["path"], scope["query_string"],
            without_secrets(scope["headers"]),
            body, request_id=request.id, scheme=scope.get("scheme", "http"),
        )  # fmt: skip
        reply = await self._ask(table, regions[0], question)
        return Sent(reply.status, reply.headers, reply.body)

    async def _merge(
        self,
        table: Table,
        merge: Merge,
        asked: Asked,
        regions: Sequence[Region],
        request: Request,
        endpoint: Endpoint,
    ) -> Sent:
        question = _make_question(request, endpoint, merge.ask(asked), regions)
        replies = await asyncio.gather(*(self._ask(table, region, question) for region in regions))
        if all(reply.status != 200 for reply in replies):
            first = min(replies, key=_how_far)
            return Sent(first.status, [*first.headers, _JSON], first.body)
        for reply in replies:
            if reply.status != 200 and not (endpoint.path in MAY_LACK and reply.status == 404):
                return Sent(reply.status, [*reply.headers, _JSON], reply.body)
        headers, body = merge.join(asked, replies)
        answer = Answer(body, GEOJSON, headers=headers)
        return encode_answer(answer, request.headers, head=request.method == "HEAD")

    async def _find_overpass(
        self, table: Table, request: Request, endpoint: Endpoint, body: bytes
    ) -> Snapshot | Sent:
        """Answer an Overpass query: by one region, or as a union of what regions find."""
        assert request.read is not None
        params = request.read[1]
        program, text = await asyncio.to_thread(read_query, params)
        locality = find_locality(program, table.generation.margin_m)
        if not locality.not_local:
            whole = table.map.find_whole(locality.extent)
            if whole:
                return await self._find_one(table, whole, request, body)
        why = locality.not_united or (
            "its steps are told by one region" if getattr(params, "explain", False) else ""
        )
        regions = table.map.find_meeting(locality.extent)
        if why:
            raise _refuse(endpoint, regions, why)
        native = is_native(endpoint.path, params, program)
        raw = {"data": text, "form": NATIVE if native else FEATURES}
        question = _make_question(request, endpoint, raw, regions)
        question.path = PART_PATH
        bodies = await self._ask_all(table, regions, question)
        path: str = request.scope["path"]
        query = parse_qsl(request.scope["query_string"].decode("utf-8", "replace"))
        reader = Reader(
            params, endpoint.path, query,
            table.generation.id, table.generation.osm_timestamp,
            "x-stainless-lang" in request.headers or path.rstrip("/") in _EARLY,
        )  # fmt: skip
        deadline = RequestDeadline(self.settings.timeout_s)

        def work() -> Sent:
            answer = write_answer(reader, program, bodies, deadline)
            return encode_answer(answer, request.headers, head=request.method == "HEAD")

        return await asyncio.to_thread(work)

    async def _find_sparql(
        self, table: Table, request: Request, endpoint: Endpoint, body: bytes
    ) -> Snapshot | Sent:
        """Answer a SPARQL query about elements one by one, each by the region that owns it."""
        assert request.read is not None
        params = request.read[1]
        regions = table.map.regions
        if params.query is None or getattr(params, "update", None) is not None:
            raise _refuse(endpoint, regions, "a service is described by one region")
        try:
            star = await asyncio.to_thread(sparql.read_star, params.query)
        except sparql.NoStar as why:
            raise _refuse(endpoint, regions, str(why)) from None
        if getattr(params, "explain", False):
            raise _refuse(endpoint, regions, "its steps are told by one region")
        query = parse_qsl(request.scope["query_string"].decode("utf-8", "replace"))
        reader = sparql.Reader(
            params, endpoint.path, request.headers.get("accept", ""), query, table.generation.id,
            "x-stainless-lang" in request.headers,
        )  # fmt: skip
        form = sparql.choose_form_of_rows(reader, star)
        question = _make_question(request, endpoint, {"query": params.query, "form": form}, regions)
        question.path = sparql.PART_PATH
        bodies = await self._ask_all(table, regions, question)
        deadline = RequestDeadline(self.settings.timeout_s)

        def work() -> Sent:
            answer = sparql.write_answer(reader, star, form, bodies, deadline)
            return encode_answer(answer, request.headers, head=request.method == "HEAD")

        return await asyncio.to_thread(work)

    async def _find_plaza(self, table: Table, request: Request, endpoint: Endpoint) -> Sent:
        """Answer a PlazaQL query of searches, each by the regions that own what it finds."""
        assert request.read is not None
        params = request.read[1]
        regions = table.map.regions
        try:
            outputs = plaza.read_query(params.data)
        except plaza.NotLocal as why:
            raise _refuse(endpoint, regions, str(why)) from None
        raw = {"data": params.data, "most": plaza.limit_rows(outputs, params, table.generation.id)}
        question = _make_question(request, endpoint, raw, regions)
        question.path = plaza.PART_PATH
        bodies = await self._ask_all(table, regions, question)
        query = parse_qsl(request.scope["query_string"].decode("utf-8", "replace"))
        reader = plaza.Reader(
            params, request.scope["path"], query, table.generation.id,
            "x-stainless-lang" in request.headers,
        )  # fmt: skip

        def work() -> Sent:
            answer = plaza.write_answer(reader, outputs, bodies)
            return encode_answer(answer, request.headers, head=request.method == "HEAD")

        return await asyncio.to_thread(work)

    async def _ask_all(
        self, table: Table, regions: Sequence[Region], question: Question
    ) -> list[bytes]:
        """Return what all regions answer; raise the error of one that does not."""
        replies = await asyncio.gather(*(self._ask(table, region, question) for region in regions))
        for reply in replies:
            if reply.status != 200:
                raise read_error(reply)
        if sum(len(reply.body) for reply in replies) > MAX_BYTES:
            raise TooLarge(
                f"the regions' answers have more than {MAX_BYTES >> 20} MB together; ask for a "
                "smaller area or fewer elements",
                details={"limit": MAX_BYTES},
            )
        return [reply.body for reply in replies]

    async def _stream(
        self,
        table: Table,
        merge: RowMerge,
        asked: Asked,
        regions: Sequence[Region],
        request: Request,
        endpoint: Endpoint,
    ) -> Sent | Flow:
        merge.check_order(asked)

        async def ask(region: Region, raw: dict[str, Any]) -> Reply:
            return await self._ask(table, region, _make_question(request, endpoint, raw, regions))

        media_type = MEDIA_TYPES[asked.params.format].encode()
        headers = [(b"content-type", media_type), (b"vary", b"Accept-Encoding")]
        if request.method == "HEAD":
            return Sent(200, headers)
        return Flow(200, headers, stream_rows(merge, asked, regions, ask))

    # Regions.

    async def _ask(self, table: Table, region: Region, question: Question) -> Reply:
        """Ask a region: here, else a replica, and another one where that is lost or slow."""
        snapshot = table.local.get(region.name)
        if snapshot is not None:
            return await self._host_of(snapshot).ask(question)
        ends_s = time.monotonic() + PATIENCE_S
        while True:
            replicas = self._order(table.replicas.get(region.name, ()))
            try:
                return await self._ask_replicas(region, replicas, question)
            except Overloaded:
                if time.monotonic() > ends_s:
                    raise
            # A node has gone, and another one has its copies in a moment.
            await asyncio.sleep(0.3)
            if self.table is not None and self.table.generation.id == table.generation.id:
                table = self.table

    def _host_of(self, snapshot: Snapshot) -> Host:
        host = self._hosts.get(snapshot.id)
        if host is None:
            host = self._hosts[snapshot.id] = Host(snapshot, self.settings, self._endpoints)
        return host

    def forget(self, snapshot: Snapshot) -> None:
        """Let a dataset of before go when its last request is through."""
        self._hosts.pop(snapshot.id, None)
        snapshot.retire()

    def _order(self, replicas: Sequence[Replica]) -> list[Replica]:
        now_s = time.monotonic()
        mixed = random.sample(list(replicas), len(replicas))
        return sorted(
            mixed,
            key=lambda replica: (not replica.ready, self._shunned.get(replica.name, 0.0) > now_s),
        )

    async def _ask_replicas(
        self, region: Region, replicas: Sequence[Replica], question: Question
    ) -> Reply:
        """Return the first answer; the next replica is asked where one fails or takes long."""
        waiting: dict[asyncio.Task[Reply], Replica] = {}
        left = list(replicas)
        deadline_s = time.monotonic() + self.settings.timeout_s
        try:
            while True:
                if left:
                    replica = left.pop(0)
                    waiting[asyncio.ensure_future(replica.ask(question))] = replica
                if not waiting:
                    raise Overloaded(
                        f"no node that holds region {region.name} answers; try again in a moment",
                        details={"region": region.name},
                    )
                timeout = HEDGE_S if left else deadline_s - time.monotonic()
                done, _ = await asyncio.wait(
                    waiting, timeout=timeout, return_when=asyncio.FIRST_COMPLETED
                )
                if not done and not left:
                    raise Overloaded(f"region {region.name} does not answer in time")
                for replica in [waiting[task] for task in waiting if task not in done]:
                    self._shunned[replica.name] = time.monotonic() + SHUN_S
                for task in done:
                    replica = waiting.pop(task)
                    try:
                        return task.result()
                    except ReplicaLost:
                        self._shunned[replica.name] = time.monotonic() + SHUN_S
        finally:
            for task in waiting:
                task.cancel()


def _is_plaza(params: Any) -> bool:
    """Return whether a request has a query that is to be read, not a list's parameters."""
    return bool(getattr(params, "data", "")) and params.steps is None


def _make_question(
    request: Request, endpoint: Endpoint, raw: dict[str, Any], regions: Sequence[Region]
) -> Question:
    """Return a question by parameters, for one of several regions."""
    if len(regions) > _MOST_REGIONS:
        raise TooLarge(f"over {len(regions)} regions at once; name a smaller area")
    method = next(name for name in ("GET", "POST") if name in endpoint.methods)
    headers = without_secrets(request.scope["headers"])
    return Question(method, endpoint.path, b"", headers, b"", raw, request.id)


def _choose(table: Table, choice: str) -> list[Region]:
    """Return the datasets that answer what no region is asked for."""
    if choice == PICTURES:
        if OVERVIEW in table.local or len(table.map.regions) == 1:
            return [table.map.wholes.get(OVERVIEW) or table.map.regions[0]]
        raise Unsupported(
            f"pictures are drawn by nodes that hold the dataset {OVERVIEW!r}, and this one does "
            "not; ask another node (mapyard fleet status lists them), or draw the tiles"
        )
    if choice == ANY:
        return random.sample(table.map.regions, len(table.map.regions))
    if choice in table.map.wholes:
        return [table.map.wholes[choice]]
    if len(table.map.regions) == 1:
        return table.map.regions
    raise Unsupported(
        f"this generation has no dataset {choice!r} over all regions, which answers this; build it "
        "again with this Mapyard, or name a region by the header X-Region",
        details={"regions": [region.name for region in table.map.regions][:100]},
    )


def _find_roads(table: Table, extent: Bbox | None) -> Region:
    if extent is None:  # it has no position, or none that can be read, and is told so anywhere
        return table.map.roads[0]
    found = table.map.find_roads(extent)
    if found is not None:
        return found
    names = [region.name for region in table.map.roads]
    shown = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
    raise Unsupported(
        f"roads are in regions of their own ({shown}), and none of them holds all positions, with "
        "all that is to be reached from them; ask between nearer positions, or name a region by "
        f"the header X-Region: {names[0]}",
        details={"regions": names[:100], "header": "X-Region"},
    )


_SECRETS: Final = frozenset((b"x-api-key", b"authorization", b"cookie"))
_JSON: Final = (b"content-type", b"application/json")


def without_secrets(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers that another node needs: who asks has been admitted here."""
    return [pair for pair in headers if pair[0] not in _SECRETS]


def _how_far(reply: Reply) -> float:
    """Return how far away the nearest thing is that an error tells of."""
    details = orjson.loads(reply.body).get("error", {}).get("details") or {}
    return float(details.get("nearest_road_m") or "inf")


def _refuse(endpoint: Endpoint, regions: Sequence[Region], why: str = "") -> MapyardError:
    names = [region.name for region in regions]
    shown = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
    return Unsupported(
        f"this question is over several regions ({shown}), whose answers cannot be put together"
        f"{': ' if why else ''}{why}; ask about a place inside one of them, or name it by the "
        f"header X-Region: {names[0]}",
        details={"regions": names[:100], "header": "X-Region"},
    )
