"""The ASGI application: from a request to its answer.

Plain ASGI, because the way around a by-id look-up would else cost more than the look-up. Order:
request id → route → key and limits → body → parameters → handler → headers, compression → usage,
log, metrics. Every failure on this way becomes the JSON envelope.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import shutil
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from mapyard.accounts.errors import MustAsk
from mapyard.deadline import Cancelled
from mapyard.errors import MapyardError, NotFound, Overloaded
from mapyard.http import metrics
from mapyard.http.access_log import AccessLog
from mapyard.http.admission import Admissions, HeaderList
from mapyard.http.answer import Answer
from mapyard.http.apart import Apart
from mapyard.http.context import Context
from mapyard.http.cors import Cors
from mapyard.http.elsewhere import Elsewhere, Flow
from mapyard.http.endpoints import Asked, Endpoint, UploadBounds
from mapyard.http.errors import MethodNotAllowed, encode_error, internal_error
from mapyard.http.languages import with_languages
from mapyard.http.parameters import read_params
from mapyard.http.pool import RequestDeadline, WorkPool, wait_until_gone
from mapyard.http.reply import Later, Reply, encode_answer, is_long_to_encode
from mapyard.http.request import ASGIApp, Receive, Request, Scope, Send
from mapyard.http.router import Route, Router
from mapyard.http.services import Services
from mapyard.http.slow import SlowRequests
from mapyard.http.web_mount import serve_web
from mapyard.library.snapshot import Snapshot
from mapyard.params.raw import Raw
from mapyard.routing.engine import count_calls
from mapyard.settings import split_form_ports

log = logging.getLogger(__name__)

#: Inline handlers whose body is larger run in the pool: reading it would hold the loop.
INLINE_BODY_BYTES: Final = 65_536
ASKING_THREADS: Final = 4
#: A stream may take this long in all, seconds.
STREAM_S: Final = 3_600.0
#: Ignored parameters that a header names at most, and characters of each.
_NAMED, _NAME_LENGTH = 20, 60
#: Status in log and metrics of requests whose client went away.
CLIENT_GONE: Final = 499
#: Uploads of one account that a worker takes at once, and what they leave free on the disk, bytes.
_UPLOADS: Final = 2
_FREE_BYTES: Final = 1 << 30
_MOST_KEPT: Final = 4_096
_LONGEST_KEPT: Final = 200


#: Name in a page's scope of the error to show instead of it.
REFUSAL: Final = "mapyard.refusal"
#: Files that pages load by the dozen, and what must answer whoever asks how often.
_FILES: Final = ("/static/", "/playground/", "/docs/")
_PROBES: Final = ("/healthz", "/readyz", "/favicon.ico")
_KEY_PATH: Final = "/key/"
_COUNTED: Final = ("/playground/session", "/playground/config.json")


def take_key(scope: Scope) -> Scope:
    """Return a request to /key/KEY/PATH as one to PATH with that key, for tools that send none.

    Nothing that is logged or counted has the path as it was sent.
    """
    path: str = scope["path"]
    key, slash, rest = path[len(_KEY_PATH) :].partition("/")
    if not slash or not key:
        return scope
    headers = [pair for pair in scope["headers"] if pair[0] not in (b"x-api-key", b"authorization")]
    headers.append((b"x-api-key", key.encode()))
    return {
        **scope, "path": slash + rest, "raw_path": (slash + rest).encode(), "headers": headers,
        "root_path": _KEY_PATH + key,
    }  # fmt: skip


def take_form(scope: Scope, ports: Mapping[int, str]) -> Scope:
    """Return a request to a form's own port as one to its paths: /search as /nominatim/search."""
    form = ports.get((scope.get("server") or ("", 0))[1])
    path: str = scope["path"]
    if form is None or path == f"/{form}" or path.startswith(f"/{form}/"):
        return scope
    path = f"/{form}{path}"
    return {**scope, "path": path, "raw_path": path.encode()}


def is_uncounted(path: str) -> bool:
    """Return whether a path is left out of the limit of pages per address."""
    return path in _PROBES or (path.startswith(_FILES) and path not in _COUNTED)


class Application:
    """All endpoints of the given list, with keys and limits where the services have a gate."""

    def __init__(
        self,
        services: Services,
        endpoints: Iterable[Endpoint],
        *,
        access_log: AccessLog | None = None,
        web: ASGIApp | None = None,
    ) -> None:
        settings = services.settings
        self.services = services
        self.router = Router(endpoints)
        self.admissions = Admissions(
            services.accounts,
            services.secret,
            open_networks=tuple(settings.open_networks),
            open_account=services.open_account,
        )
        self.access_log = access_log or AccessLog(-1)
        self.slow = SlowRequests(
            services.own_folder, settings.slow_s, keeps_text=settings.slow_text
        )
        self.cors = Cors(settings.cors_origins)
        self.light = WorkPool("light", settings.threads, settings.queue)
        self.heavy = WorkPool("heavy", max(1, settings.threads // 2), settings.queue)
        #: Waits for databases on behalf of requests whose keys are not at hand.
        self.asking = WorkPool("accounts", ASKING_THREADS, settings.queue)
        #: Processes for endpoints that are declared to run apart; None: they run in threads.
        self.apart: Apart | None = None
        #: Finds the dataset of a request where the map has several; None: it is the current one.
        self.elsewhere: Elsewhere | None = None
        self.requests = metrics.Requests()
        #: How many uploads of each account are on their way.
        self._uploads: Counter[int] = Counter()
        self._web = web
        #: Ports at whose root another service's form lies.
        self._form_ports = split_form_ports(settings.form_ports)
        #: Parameters of inline endpoints read lately, by endpoint, path and query.
        self._read: dict[tuple[Endpoint, str, bytes], tuple[Raw, Any, tuple[str, ...]]] = {}
        services.snapshots.on_switch = self._on_switch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http":
            if scope["path"].startswith(_KEY_PATH):
                scope = take_key(scope)
            if self._form_ports:
                scope = take_form(scope, self._form_ports)
            await self._serve(Request(scope, receive, send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})

    def close(self) -> None:
        """Let go of threads, dataset and log; requests have ended before."""
        self.light.close()
        self.heavy.close()
        self.asking.close()
        self.services.snapshots.close()
        self.access_log.close()
        self.slow.close()
        self.note_state()

    @property
    def is_stuck(self) -> bool:
        """Whether a pool of threads will answer nothing any more."""
        return self.light.is_stuck or self.heavy.is_stuck

    def warm_up(self) -> None:
        """Open the dataset, if there is one, and its parts in the background."""
        services = self.services
        if services.snapshots.is_ready:
            snapshot = services.snapshots.lease()
            self.light.warm(lambda: snapshot.open_all())
            snapshot.release()

    def note_state(self) -> None:
        """Hand the metrics over; called some times a second."""
        self.requests.hand_over()
        for pool in (self.light, self.heavy, self.asking):
            metrics.QUEUE.labels(pool.name).set(pool.busy)
        if self.apart is not None:
            metrics.QUEUE.labels("queries").set(self.apart.busy)
        if self.services.accounts is not None:
            metrics.LOST_USAGE.set(self.services.accounts.lost_records)
            metrics.REDIS_AWAY.set(self.services.accounts.is_redis_away)
            metrics.DATABASE_SILENT.set(self.services.accounts.is_database_silent)
        metrics.LOG_LINES_LOST.set(self.access_log.lost)

    async def _serve(self, request: Request) -> None:
        self.requests.running += 1
        try:
            await self._answer(request)
        except Cancelled:
            request.status = CLIENT_GONE
        finally:
            self.requests.running -= 1
            if request.body_bytes:
                request.let_go()
            if request.upload is not None:  # unless the handler keeps it
                unlink = partial(request.upload.unlink, missing_ok=True)
                self.asking.submit(unlink, always=True)
            self._note(request)

    async def _answer(self, request: Request) -> None:
        path: str = request.scope["path"]
        found = self.router.find(path)
        try:
            if found is None and self._web is not None and not path.startswith("/api/"):
                request.route = "web"
                self._admit_page(request, path)
                await serve_web(self._web, request, self._common_headers(request))
            elif request.method == "OPTIONS":
                await self._send(request, self._options(request, found))
            else:
                await self._call(request, path, found)
        except MapyardError as error:
            await self._send_error(request, error)
        except Cancelled:
            raise
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                await self._crash(request)
                return
            log.error("%s: no file can be opened: %s", request.route, error.strerror)
            await self._send_error(request, Overloaded("the server has too many files open"))
        except Exception:
            await self._crash(request)

    async def _crash(self, request: Request) -> None:
        """Answer a crash, the one place where that is done."""
        log.exception("%s crashed", request.route, extra={"request_id": request.id})
        await self._send_error(request, internal_error(request.id))

    async def _call(
        self, request: Request, path: str, found: tuple[Route, dict[str, str]] | None
    ) -> None:
        endpoint: Endpoint | None = None
        values: Mapping[str, str] = {}
        if found is not None:
            route, values = found
            request.route = route.template
            endpoint = route.by_method.get("GET" if request.method == "HEAD" else request.method)
            if endpoint is not None:
                request.statuses = endpoint.statuses
                request.write_error = endpoint.write_error
                request.vary = endpoint.languages
                if not (endpoint.inline or endpoint.apart):
                    # Before the key is looked at: what cannot be done is refused at least cost.
                    (self.heavy if endpoint.heavy else self.light).check_room()
        if endpoint.public if endpoint is not None else not path.startswith("/api"):
            self._admit_page(request, path)
        else:
            premium = endpoint is not None and endpoint.premium
            group = endpoint.tag if endpoint is not None else ""
            map_use = endpoint.map_session if endpoint is not None else ""
            query: bytes = request.scope["query_string"]
            admit = self.admissions.admit
            try:
                request.admission = admit(
                    request.headers, query, request.client,
                    premium=premium, group=group, method=request.method, map_use=map_use,
                    may_wait=False,
                )  # fmt: skip
            except MustAsk:
                wait = partial(
                    admit, request.headers, query, request.client,
                    premium=premium, group=group, method=request.method, map_use=map_use,
                )  # fmt: skip
                request.admission = await asyncio.wrap_future(self.asking.submit(wait))
            if request.admission.error is not None:
                metrics.REFUSED.labels(request.admission.error.code).inc()
                raise request.admission.error
        if found is None:
            raise NotFound(f"there is nothing at {path[:200]}; /docs lists what there is")
        if endpoint is None:
            raise MethodNotAllowed(request.method, found[0].allowed)
        body = b""
        if endpoint.upload is not None:
            await self._save_upload(request, endpoint.upload, values)
        elif request.method not in ("GET", "HEAD"):
            body = await request.read_body(self.services.settings)
        await self._count_premium(request, endpoint, values, body)
        snapshot: Snapshot | None = None
        if endpoint.needs_dataset:
            if self.elsewhere is None:
                snapshot = self.services.snapshots.lease()
            else:
                read = partial(self._read_params, request, endpoint, values, body)
                if len(body) > INLINE_BODY_BYTES:  # it would hold the loop
                    request.read = await asyncio.wrap_future(self.asking.submit(read, always=True))
                else:
                    request.read = read()
                found_at = await self.elsewhere.find(request, endpoint, body)
                if isinstance(found_at, Reply):
                    await self._send(request, found_at)
                    return
                if isinstance(found_at, Flow):
                    await self._stream(
                        request, found_at.status, found_at.headers, found_at.chunks, None
                    )
                    return
                snapshot = found_at
        try:
            if endpoint.apart and self.apart is not None and snapshot is not None:
                await self._run_apart(request, body, snapshot, self.apart)
            else:
                await self._run(request, endpoint, values, body, snapshot)
        finally:
            if snapshot is not None:
                snapshot.release()

    def _admit_page(self, request: Request, path: str) -> None:
        """Count what needs no key for its address; browsers get the refusal as a page."""
        if is_uncounted(path):
            request.admission = self.admissions.show(request.client)
            return
        request.admission = self.admissions.visit(request.client)
        error = request.admission.error
        if error is not None:
            metrics.REFUSED.labels(error.code).inc()
            if request.route != "web" or "text/html" not in request.headers.get("accept", ""):
                raise error
            request.scope[REFUSAL] = error

    async def _run(
        self,
        request: Request,
        endpoint: Endpoint,
        values: Mapping[str, str],
        body: bytes,
        snapshot: Snapshot | None,
    ) -> None:
        deadline = RequestDeadline(self.services.settings.timeout_s)
        head = request.method == "HEAD"

        def handle() -> Answer:
            raw, params, request.ignored = self._read_params(request, endpoint, values, body)
            if endpoint.languages:
                params = with_languages(params, request.headers)
            ctx = Context(self.services, snapshot, deadline, request, raw)
            return watch(lambda: endpoint.handler(ctx, params))

        def watch(make: Callable[[], Answer]) -> Answer:
            before = count_calls()
            try:
                return make()
            finally:
                request.engine_calls += count_calls() - before

        def encode(answer: Answer) -> Reply:
            return encode_answer(answer, request.headers, head=head)

        def work() -> Reply:
            deadline.check()
            try:
                return encode(handle())
            except Later as later:
                return encode(watch(later.make))

        async def pooled(job: Callable[[], Reply]) -> Reply:
            return await self._in_pool(threads, job, request, deadline, snapshot)

        threads = self.heavy if endpoint.heavy else self.light
        if not endpoint.inline or len(body) > INLINE_BODY_BYTES:
            reply = await pooled(work)
        else:
            try:
                answer = handle()
            except Later as later:
                make = later.make
                reply = await pooled(lambda: encode(watch(make)))
            else:
                is_long = is_long_to_encode(answer)
                reply = await pooled(lambda: encode(answer)) if is_long else encode(answer)
        if reply.stream is None:
            await self._send(request, reply, snapshot)
        else:
            deadline.extend(STREAM_S)
            chunks = self._step(reply.stream, request, snapshot, deadline, threads)
            await self._stream(request, reply.status, reply.headers, chunks, snapshot)

    async def _save_upload(
        self, request: Request, find_bounds: UploadBounds, values: Mapping[str, str]
    ) -> None:
        """Take the body of an upload into a file."""

        async def run[T](job: Callable[[], T]) -> T:
            return await asyncio.wrap_future(self.asking.submit(job, always=True))

        account = request.admission.account_id
        request.must_close = True  # where it is refused before the body is read
        if self._uploads[account] >= _UPLOADS:
            raise Overloaded(
                f"{_UPLOADS} uploads of this account are on their way; send one after the other"
            )
        self._uploads[account] += 1
        try:
            limit, folder = await run(lambda: find_bounds(self.services, account, values))
            if await run(lambda: shutil.disk_usage(folder).free) - limit < _FREE_BYTES:
                raise Overloaded("the server's disk has no room for an upload; tell its operator")
            await request.save_body(folder / os.urandom(16).hex(), limit, run)
        finally:
            self._uploads[account] -= 1
            if not self._uploads[account]:
                del self._uploads[account]
        request.must_close = False

    def _read_params(
        self, request: Request, endpoint: Endpoint, values: Mapping[str, str], body: bytes
    ) -> tuple[Raw, Any, tuple[str, ...]]:
        """Return raw and parsed parameters, and the names of those that mean nothing here.

        Of a short request without a body they are kept.
        """
        if request.read is not None:
            return request.read
        query: bytes = request.scope["query_string"]
        name = (endpoint, request.scope["path"], query)
        known = self._read.get(name)
        if known is not None and not body:
            return known
        made = read_params(endpoint, request, values, body)
        # Where the answer takes microseconds, reading the same request anew would be felt.
        if endpoint.inline and not body and len(name[1]) + len(query) <= _LONGEST_KEPT:
            if len(self._read) >= _MOST_KEPT:
                self._read.clear()
            self._read[name] = made
        return made

    async def _in_pool[T](
        self,
        threads: WorkPool,
        job: Callable[[], T],
        request: Request,
        deadline: RequestDeadline,
        snapshot: Snapshot | None,
        *,
        always: bool = False,
        gone: asyncio.Future[None] | None = None,
    ) -> T:
        """Run a job; the thread holds a lease of its own, for it may outlive the request."""
        release = snapshot.lease().release if snapshot is not None else None
        try:
            return await threads.run(
                job, deadline, request.receive, release, always=always, gone=gone
            )
        except Overloaded:
            if release is not None:
                release()
            raise

    async def _count_premium(
        self, request: Request, endpoint: Endpoint, values: Mapping[str, str], body: bytes
    ) -> None:
        """Count a request as the premium ones that its parameters come to; raise when refused."""
        count = endpoint.count_premium
        if count is None or self.admissions.gate is None:
            return

        def work() -> None:
            params = read_params(endpoint, request, values, body)[1]
            if number := count(params):
                self.admissions.count_premium(request.admission, number)

        await asyncio.wrap_future(self.asking.submit(work))
        if request.admission.error is not None:
            metrics.REFUSED.labels(request.admission.error.code).inc()
            raise request.admission.error

    async def _run_apart(
        self, request: Request, body: bytes, snapshot: Snapshot, apart: Apart
    ) -> None:
        deadline = RequestDeadline(self.services.settings.timeout_s)
        async with apart.ask(request, body, snapshot.id, deadline) as reply:
            request.ignored = reply.ignored
            if reply.chunks is None:
                whole = Reply(reply.status, reply.headers, reply.body)
                await self._send(request, whole, snapshot)
            else:
                await self._stream(request, reply.status, reply.headers, reply.chunks, snapshot)

    async def _step(
        self,
        chunks: Iterator[bytes],
        request: Request,
        snapshot: Snapshot | None,
        deadline: RequestDeadline,
        threads: WorkPool,
    ) -> AsyncIterator[bytes]:
        """Yield the chunks of a stream, each made in the pool; its place there is kept."""

        def step() -> bytes | None:
            deadline.check()
            return next(chunks, None)

        gone = asyncio.ensure_future(wait_until_gone(request.receive))
        run = partial(self._in_pool, threads, step, request, deadline, snapshot, gone=gone)
        try:
            chunk = await run()
            while chunk is not None:
                if gone.done():
                    raise Cancelled
                yield chunk
                chunk = await run(always=True)
        finally:
            gone.cancel()

    async def _stream(
        self,
        request: Request,
        status: int,
        headers: HeaderList,
        chunks: AsyncIterator[bytes],
        snapshot: Snapshot | None,
    ) -> None:
        chunk = await anext(chunks, None)
        request.status = status
        headers = self._common_headers(request, snapshot) + headers
        await request.send({"type": "http.response.start", "status": status, "headers": headers})
        try:
            while chunk is not None:
                await request.send({"type": "http.response.body", "body": chunk, "more_body": True})
                request.bytes_sent += len(chunk)
                chunk = await anext(chunks, None)
        except Cancelled:
            raise
        except Exception as error:  # the answer has begun: all that is left is to break it off
            request.code = getattr(error, "code", "internal_error")
            log.error(
                "%s: stream broken off: %s", request.route, error,
                exc_info=not isinstance(error, MapyardError),
                extra={"request_id": request.id},
            )  # fmt: skip
            return
        self._settle(request)
        await request.send({"type": "http.response.body", "body": b""})

    def _options(self, request: Request, found: tuple[Route, dict[str, str]] | None) -> Reply:
        if found is None:
            raise NotFound("there is nothing at this path; /docs lists what there is")
        request.route = found[0].template
        methods = ", ".join(found[0].allowed)
        headers: HeaderList = [(b"allow", methods.encode())]
        self.cors.add_preflight(request.headers, methods, headers)
        return Reply(204, headers)

    async def _send(self, request: Request, reply: Reply, snapshot: Snapshot | None = None) -> None:
        request.status = reply.status
        headers = self._common_headers(request, snapshot) + reply.headers
        await request.send(
            {"type": "http.response.start", "status": reply.status, "headers": headers}
        )
        request.bytes_sent = 0 if request.method == "HEAD" else len(reply.body)
        self._settle(request)
        await request.send({"type": "http.response.body", "body": reply.body})

    async def _send_error(self, request: Request, error: MapyardError) -> None:
        request.code = error.code
        status = request.statuses.get(error.code, error.status)
        if request.write_error is not None:
            answer = request.write_error(
                error, Asked(request.scope["query_string"], request.headers)
            )
        else:
            answer = Answer(encode_error(error), status=status, headers=error.headers)
        reply = encode_answer(answer, request.headers, head=request.method == "HEAD")
        await self._send(request, reply)

    def _common_headers(self, request: Request, snapshot: Snapshot | None = None) -> HeaderList:
        headers: HeaderList = [(b"x-request-id", request.id.encode())]
        request.admission.add_headers(headers)
        timestamp = request.data_time or (snapshot or self.services.snapshots).timestamp
        if timestamp:
            headers.append((b"x-dataset-timestamp", timestamp.encode()))
        if request.ignored:
            headers.append((b"x-ignored-parameters", _write_names(request.ignored)))
        if request.asks_for_ways:
            headers.append((b"x-engine-calls", b"%d" % request.engine_calls))
        if request.vary:
            headers.append((b"vary", b"Accept-Language"))
        self.cors.add_headers(request.headers, headers)
        if self.services.draining or request.must_close:
            headers.append((b"connection", b"close"))
        return headers

    def _settle(self, request: Request) -> None:
        """Note the usage, once; before the last byte, so that no answer goes unnoted in a kill."""
        if request.took_s:
            return
        request.took_s = took_s = time.perf_counter() - request.started_s
        self.admissions.settle(
            request.admission, request.status, request.route, took_s * 1000, request.code,
            request.id,
        )  # fmt: skip

    def _note(self, request: Request) -> None:
        """Usage, metrics and log of an answered request."""
        if not request.took_s:
            self._settle(request)
        took_s = request.took_s
        admission = request.admission
        self.requests.note(
            request.route, request.method, request.status, took_s, request.bytes_sent
        )
        self.slow.note(request, took_s)
        if request.asks_for_ways:
            self.requests.note_ways(request.route, request.engine_calls)
        self.access_log.write(
            level="error" if request.status >= 500 else "info",
            request_id=request.id,
            method=request.method,
            route=request.route,
            status=request.status,
            ms=round(took_s * 1000, 2),
            account=admission.account_id or None,
            key=admission.key_name or None,
            bytes=request.bytes_sent,
            **({"code": request.code} if request.code else {}),
        )

    def _on_switch(self, new: Snapshot, old: Snapshot | None) -> None:
        """Open the parts that were in use ahead of their first request."""
        if self.apart is not None:
            self.apart.note_dataset(new.id)
        for name in old.open_parts if old is not None else ():
            self.light.warm(lambda name=name: new.part(name))  # type: ignore[misc] # bound now


def _write_names(names: tuple[str, ...]) -> bytes:
    """Return names as a header's value: each percent-encoded where it is no plain text."""
    shown = [quote(name[:_NAME_LENGTH], safe="[]:.*~ ") for name in names[:_NAMED]]
    more = [f"and {len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return ", ".join([*shown, *more]).encode()
