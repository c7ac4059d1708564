"""`mapyard.connect(url, key=…)`: the same methods, answered by a server over HTTP."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

import httpx
import orjson

from mapyard import errors
from mapyard.errors import MapyardError
from mapyard.library.asker import Asker
from mapyard.library.inputs import read_values
from mapyard.library.question import Question, find_question
from mapyard.library.results.feature import Features, Written
from mapyard.library.results.solutions import (
    GEOJSON,
    N_TRIPLES,
    RESULTS_JSON,
    TURTLE,
    Kind,
    SparqlResult,
)
from mapyard.library.wire import make_request, read_body, read_error
from mapyard.params.raw import Raw
from mapyard.results.pages import ATTRIBUTION

DEFAULT_URL: Final = "http://127.0.0.1:4000"
#: Answers after which the same question is asked once more, as far as the server allows.
_BUSY: Final = (429, 503)
_LONGEST_WAIT_S: Final = 60.0


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


class RemoteMap(Asker):
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
        content = answer.content
        if answer.status_code == 202:
            content = self._wait_for_job(orjson.loads(content)["job_id"])
        return read_body(question, content)

    def _build(
        self, question: Question, raw: Raw, timeout_s: float | None, accept: str = ""
    ) -> httpx.Request:
        asked = make_request(question, raw)
        options: dict[str, Any] = {}
        if accept:
            options["headers"] = {"Accept": accept}
        if timeout_s is not None:
            options["timeout"] = timeout_s
        return self._client.build_request(
            asked.method, asked.path, json=asked.body, params=asked.query, **options
        )

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
                raise read_error(answer.status_code, answer.content)
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

    def _wait_for_job(self, job_id: str) -> bytes:
        while True:
            time.sleep(0.5)
            request = self._client.build_request("GET", f"/api/v1/optimize/{job_id}")
            body = orjson.loads(self._retry(request, stream=False).content)
            if body["status"] == "completed":
                return orjson.dumps(body["result"])

    def __repr__(self) -> str:
        return f"<RemoteMap {self.url}>"


def _find_wait(answer: httpx.Response) -> float | None:
    """Return how long to wait before asking again, None where it would not help."""
    if answer.status_code not in _BUSY or answer.headers.get("x-should-retry") == "false":
        return None
    after = answer.headers.get("retry-after", "1")
    wait_s = float(after) if after.isdigit() else 1.0
    return wait_s if wait_s <= _LONGEST_WAIT_S else None
