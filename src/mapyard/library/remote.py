"""`mapyard.connect(url, key=…)`: the same methods, answered by a server over HTTP."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self

import httpx
import msgspec.inspect as mi
import orjson

from mapyard import errors
from mapyard.errors import MapyardError
from mapyard.library.inputs import read_values
from mapyard.library.methods import Questions
from mapyard.library.question import Question, find_question
from mapyard.library.results.feature import Feature, Features, Written
from mapyard.library.results.heights import Heights, Profile
from mapyard.library.results.matrix import Matrix
from mapyard.library.results.overpass import OverpassFeatures
from mapyard.library.results.places import PlaceBatch, Places
from mapyard.library.results.solutions import (
    GEOJSON,
    N_TRIPLES,
    RESULTS_JSON,
    TURTLE,
    Kind,
    SparqlResult,
)
from mapyard.library.results.tags import TagCounts
from mapyard.library.results.ways import Areas, MatchedTrace, NearestRoads, Route, Tour
from mapyard.params.raw import Raw
from mapyard.results.pages import ATTRIBUTION

DEFAULT_URL: Final = "http://127.0.0.1:4000"
#: Answers after which the same question is asked once more, as far as the server allows.
_BUSY: Final = (429, 503)
_LONGEST_WAIT_S: Final = 60.0
#: Members of a collection that are not its own.
_NOT_MEMBERS: Final = ("type", "features", "pagination")
_NDJSON: Final = "application/x-ndjson"


class StreamedFeatures(Features):
    """Features that arrive line by line, and are kept."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        super().__init__(members={"attribution": ATTRIBUTION})
        self._lines = lines
        self._kept: list[bytes] = []

    def _pull(self, count: int | None) -> None:
        while count is None or len(self._kept) < count:
            line = next(self._lines, None)
            if line is None:
                return
            if line:
                self._kept.append(line)

    def _size(self) -> int:
        self._pull(None)
        return len(self._kept)

    def _take(self, start: int, stop: int) -> Sequence[Written]:
        self._pull(stop)
        return self._kept[start:stop]


class RemoteMap(Questions):
    """A server, asked over HTTP. Errors are those of `mapyard.errors`, as in this process.

    Answers 429 and 503 are waited for as the server says and asked again, `retries` times.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        key: str = "",
        retries: int = 2,
        timeout_s: float = 60.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        headers = {"User-Agent": "mapyard-python", **({"X-API-Key": key} if key else {})}
        self.url = url.rstrip("/")
        self.retries = retries
        self._client = httpx.Client(
            base_url=self.url, headers=headers, timeout=timeout_s, transport=transport
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _ask(self, name: str, values: dict[str, Any]) -> Any:
        question = find_question(name)
        del values["self"]
        timeout_s = values.pop("timeout", None)
        values.pop("cancel", None)
        if values.pop("max_bytes", None) is not None:
            raise errors.InvalidRequest.of("max_bytes", "a server has its own memory limit")
        raw = read_values(question, values)
        question.parser.parse(raw)  # what is wrong is told without a request
        if question.result is SparqlResult:
            return self._ask_sparql(question, raw, timeout_s)
        if question.fixed.get("format") == "ndjson":
            return StreamedFeatures(self._stream(question, raw, timeout_s))
        answer = self._send(question, raw, timeout_s)
        if question.result is bytes:
            return answer.content
        body = orjson.loads(answer.content)
        if answer.status_code == 202:
            body = self._wait_for_job(body["job_id"])
        return _READERS[question.result](body)

    def _build(
        self, question: Question, raw: Raw, timeout_s: float | None, accept: str = ""
    ) -> httpx.Request:
        path = question.path
        sent = {**raw, **question.fixed}
        for name in list(sent):
            if f"{{{name}}}" in path:
                path = path.replace(f"{{{name}}}", str(sent.pop(name)))
        options: dict[str, Any] = {}
        if accept:
            options["headers"] = {"Accept": accept}
        if timeout_s is not None:
            options["timeout"] = timeout_s
        if question.method == "POST":
            return self._client.build_request("POST", path, json=_listed(question, sent), **options)
        return self._client.build_request("GET", path, params=sent, **options)

    def _send(
        self, question: Question, raw: Raw, timeout_s: float | None, accept: str = ""
    ) -> httpx.Response:
        return self._retry(self._build(question, raw, timeout_s, accept), stream=False)

    def _stream(self, question: Question, raw: Raw, timeout_s: float | None) -> Iterator[bytes]:
        answer = self._retry(self._build(question, raw, timeout_s), stream=True)

        def lines() -> Iterator[bytes]:
            rest = b""
            try:
                for chunk in answer.iter_bytes():
                    *whole, rest = (rest + chunk).split(b"\n")
                    yield from whole
                if rest:
                    yield rest
            except httpx.HTTPError as error:
                raise MapyardError(
                    f"the answer broke off: {error}; ask again", code="broken_stream", status=502
                ) from None
            finally:
                answer.close()

        return lines()

    def _retry(self, request: httpx.Request, *, stream: bool) -> httpx.Response:
        tries = 0
        while True:
            try:
                answer = self._client.send(request, stream=stream)
            except httpx.TimeoutException:
                raise errors.Timeout(f"{self.url} did not answer in time") from None
            except httpx.HTTPError as error:
                raise MapyardError(
                    f"{self.url} cannot be reached: {error}", code="unreachable", status=502
                ) from None
            if answer.status_code < 400:
                return answer
            answer.read()
            wait_s = _find_wait(answer)
            if tries >= self.retries or wait_s is None:
                raise _read_error(answer)
            tries += 1
            time.sleep(wait_s)

    def _ask_sparql(self, question: Question, raw: Raw, timeout_s: float | None) -> SparqlResult:
        """Ask once to learn what kind of answer it is; other forms are asked for when wanted."""
        first = self._send(question, raw, timeout_s, f"{RESULTS_JSON}, {N_TRIPLES};q=0.5")
        media_type = first.headers["content-type"].partition(";")[0]
        kind: Kind = "triples"
        if media_type == RESULTS_JSON:
            kind = "boolean" if "boolean" in orjson.loads(first.content) else "solutions"

        def write(wanted: str) -> Iterator[bytes]:
            if wanted == media_type:
                return iter((first.content,))
            if wanted not in (GEOJSON, TURTLE, N_TRIPLES, RESULTS_JSON):
                raise errors.InvalidRequest.of("format", f"{wanted} is not known")
            return iter((self._send(question, raw, timeout_s, wanted).content,))

        return SparqlResult(kind, write)

    def _wait_for_job(self, job_id: str) -> Any:
        while True:
            time.sleep(0.5)
            request = self._client.build_request("GET", f"/api/v1/optimize/{job_id}")
            body = orjson.loads(self._retry(request, stream=False).content)
            if body["status"] == "completed":
                return body["result"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<RemoteMap {self.url}>"


def _listed(question: Question, sent: Raw) -> Raw:
    """Return the body; one value of a list goes as a list, so that the answer is one."""
    names = {
        field.name for field in question.parser.fields if isinstance(field.type, mi.VarTupleType)
    }
    return {
        name: [value] if name in names and isinstance(value, int | float) else value
        for name, value in sent.items()
    }


def _find_wait(answer: httpx.Response) -> float | None:
    """Return how long to wait before asking again, None where it would not help."""
    if answer.status_code not in _BUSY or answer.headers.get("x-should-retry") == "false":
        return None
    after = answer.headers.get("retry-after", "1")
    wait_s = float(after) if after.isdigit() else 1.0
    return wait_s if wait_s <= _LONGEST_WAIT_S else None


_ERRORS: Final[dict[str, type[MapyardError]]] = {
    "invalid_request": errors.InvalidRequest,
    "invalid_query": errors.InvalidQuery,
    "invalid_cursor": errors.InvalidCursor,
    "stale_cursor": errors.StaleCursor,
    "timeout": errors.Timeout,
    "too_large": errors.TooLarge,
    "validation_failed": errors.Unsupported,
    "not_installed": errors.NotInstalled,
    "overloaded": errors.Overloaded,
}


def _read_error(answer: httpx.Response) -> MapyardError:
    try:
        error = orjson.loads(answer.content)["error"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return MapyardError(
            f"the server answered {answer.status_code}", status=answer.status_code, code="http"
        )
    base = errors.NotFound if answer.status_code == 404 else MapyardError
    return _ERRORS.get(error["code"], base)(
        error["message"],
        code=error["code"],
        status=answer.status_code,
        details=error.get("details"),
    )


def _members(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in _NOT_MEMBERS}


def _list(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the features of a collection, or a single one."""
    return [dict(body)] if body["type"] == "Feature" else list(body["features"])


_READERS: Final[dict[type[Any], Callable[[Any], Any]]] = {
    Feature: Feature,
    Features: lambda body: Features(body["features"], _members(body)),
    OverpassFeatures: lambda body: OverpassFeatures(body["features"], _members(body)),
    Places: lambda body: Places(body["features"]),
    PlaceBatch: PlaceBatch.of,
    Route: Route.of,
    NearestRoads: lambda body: NearestRoads(_list(body)),
    Areas: lambda body: Areas(_list(body)),
    Matrix: Matrix.of,
    MatchedTrace: MatchedTrace,
    Tour: lambda body: Tour(body["features"], _members(body)),
    Heights: lambda body: Heights(_list(body)),
    Profile: Profile,
    TagCounts: TagCounts.of,
}
