from __future__ import annotations

import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from msgspec import Meta

from mapyard.errors import (
    InvalidCursor,
    InvalidQuery,
    MapyardError,
    NotFound,
    NotInstalled,
    StaleCursor,
    Timeout,
    TooLarge,
    Unsupported,
)
from mapyard.http.answer import GEOJSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import endpoint
from mapyard.http.errors import NotOffered
from mapyard.http.reference.error_codes import CODES_BY_NAME
from mapyard.http.reply import Later
from mapyard.params.parser import Params
from mapyard.server.local import LocalClient

MakeClient = Callable[..., LocalClient]

RATE_HEADERS = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")


class Echo(Params):
    name: str = ""
    count: Annotated[int, Meta(ge=1, le=9)] = 1


@endpoint(
    "/api/v1/echo", methods=("GET", "POST"), summary="", tag="T", inline=True, needs_dataset=False
)
def echo(ctx: Context, params: Echo) -> Answer:
    return Answer.json({"name": params.name, "count": params.count, "url": ctx.base_url})


@endpoint("/api/v1/pooled", methods=("GET", "POST"), summary="", tag="T", needs_dataset=False)
def pooled(ctx: Context, params: Echo) -> Answer:
    return Answer.json({"thread": threading.current_thread().name}, headers={"X-Own": "1"})


@endpoint("/api/v1/paid", summary="", tag="T", inline=True, premium=True, needs_dataset=False)
def paid(ctx: Context, params: Echo) -> Answer:
    return Answer.json({})


@endpoint("/api/v1/big", summary="", tag="T", inline=True, needs_dataset=False)
def big(ctx: Context, params: Echo) -> Answer:
    return Answer(b'{"a":"%s"}' % (b"x" * 100_000), GEOJSON)


@endpoint("/api/v1/none", summary="", tag="T", inline=True, needs_dataset=False)
def none(ctx: Context, params: Echo) -> Answer:
    return Answer(b"", status=204)


@endpoint("/api/v1/tagged", summary="", tag="T", inline=True, needs_dataset=False)
def tagged(ctx: Context, params: Echo) -> Answer:
    return Answer(b"{}", headers={"ETag": '"abc"', "Cache-Control": "max-age=9"})


@endpoint("/api/v1/later", summary="", tag="T", inline=True, needs_dataset=False)
def later(ctx: Context, params: Echo) -> Answer:
    raise Later(lambda: Answer.json({"thread": threading.current_thread().name}))


@endpoint("/api/v1/stream", summary="", tag="T", needs_dataset=False)
def stream(ctx: Context, params: Echo) -> Answer:
    def chunks() -> Iterator[bytes]:
        for number in range(1000):
            if params.name == "breaks" and number == 500:
                raise ValueError("midway")
            yield b"%05d,%s\n" % (number, b"y" * 500)

    return Answer(chunks(), "text/csv")


ERRORS: dict[str, MapyardError | Exception] = {
    "invalid_request": NotFound("x", code="invalid_request", status=400, details={"a": ["b"]}),
    "invalid_query": InvalidQuery.at("unexpected ;", 3, 7, "remove it"),
    "invalid_cursor": InvalidCursor("x"),
    "stale_cursor": StaleCursor("x"),
    "not_found": NotFound("x"),
    "no_route_found": NotFound("x", code="no_route_found"),
    "no_road_found": NotFound("x", code="no_road_found", details={"index": 0}),
    "no_elevation": NotFound("x", code="no_elevation"),
    "timeout": Timeout("x"),
    "too_large": TooLarge("x", details={"limit": 1, "count": 2}),
    "validation_failed": Unsupported("x"),
    "not_installed": NotInstalled.part("routing"),
    "not_implemented": NotOffered("x"),
    "internal_error": RuntimeError("secret /etc/passwd"),
}


@endpoint("/api/v1/fail/{name}", summary="", tag="T", needs_dataset=False)
def fail(ctx: Context, params: Echo) -> Answer:
    raise ERRORS[params.name]


HANDLERS = (echo, pooled, paid, big, none, tagged, later, stream, fail)


@pytest.mark.parametrize("code", ERRORS)
def test_envelope_for_every_code(make_client: MakeClient, code: str) -> None:
    answer = make_client(*HANDLERS, plan="enterprise").get(f"/api/v1/fail/{code}")
    error = answer.json()["error"]
    assert answer.status_code == CODES_BY_NAME[code].status
    assert error["code"] == code
    assert error["message"]
    assert answer.headers["content-type"] == "application/json"
    assert all(name in answer.headers for name in RATE_HEADERS)
    assert "passwd" not in answer.text
    assert "Traceback" not in answer.text
    if code == "internal_error":
        assert error["details"]["request_id"] == answer.headers["x-request-id"]
    if code in ("timeout", "not_installed", "not_implemented"):
        assert answer.headers["x-should-retry"] == "false"
    if code == "invalid_query":
        assert error["details"] == {"line": 3, "column": 7, "hint": "remove it"}


def test_headers_on_every_answer(make_client: MakeClient) -> None:
    client = make_client(*HANDLERS, plan="pro-100k")
    remaining = 300
    for method, path, status in (
        ("GET", "/api/v1/echo", 200),
        ("HEAD", "/api/v1/echo", 200),
        ("POST", "/api/v1/echo", 200),
        ("GET", "/api/v1/pooled", 200),
        ("GET", "/api/v1/stream", 200),
        ("GET", "/api/v1/none", 204),
        ("GET", "/api/v1/tagged", 304),
        ("GET", "/api/v1/echo?count=99", 400),
        ("GET", "/api/v1/nowhere", 404),
        ("DELETE", "/api/v1/echo", 405),
        ("GET", "/api/v1/fail/internal_error", 500),
    ):
        answer = client.request(method, path, headers={"If-None-Match": 'W/"abc"'})
        assert answer.status_code == status, path
        remaining -= 1
        assert answer.headers["x-ratelimit-limit"] == "300"
        assert answer.headers["x-ratelimit-remaining"] == str(remaining), path
        assert 0 <= int(answer.headers["x-ratelimit-reset"]) - time.time() <= 61
        assert answer.headers["x-request-id"]


def test_keys_are_read_in_three_ways_and_in_this_order(make_client: MakeClient) -> None:
    client = make_client(*HANDLERS, plan="enterprise")
    key = client.headers.pop("X-API-Key")
    good: list[tuple[str, dict[str, str]]] = [
        ("", {"x-api-KEY": key}),
        ("", {"Authorization": f"Bearer {key}"}),
        ("", {"Authorization": key}),
        (f"?key={key}", {}),
        ("", {"Authorization": f"bearer {key}"}),
        (f"?api_key={key}", {}),
        ("?api_key=wrong", {"X-API-Key": key}),
        ("", {"X-API-Key": key, "Authorization": "Bearer wrong"}),
    ]
    for query, headers in good:
        assert client.get(f"/api/v1/echo{query}", headers=headers).status_code == 200
    for query, headers, code in (
        ("", {}, "missing_key"),
        ("", {"X-API-Key": "pk_live_abc"}, "invalid_key"),
        ("", {"X-API-Key": key[:-1] + ("a" if key[-1] != "a" else "b")}, "invalid_key"),
        (f"?api_key={key}", {"X-API-Key": "wrong"}, "invalid_key"),
        ("", {"Authorization": "Basic abc"}, "missing_key"),
    ):
        answer = client.get(f"/api/v1/echo{query}", headers=headers)
        assert answer.status_code == 401
        assert answer.json()["error"]["code"] == code
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.headers["x-ratelimit-limit"] == "60"


def test_anonymous_requests_are_limited_by_address(make_client: MakeClient) -> None:
    client = make_client(*HANDLERS, plan="enterprise", anonymous_per_minute=3)
    for _ in range(3):
        assert client.get("/api/v1/echo", headers={"X-API-Key": "wrong"}).status_code == 401
    refused = client.get("/api/v1/echo", headers={"X-API-Key": "wrong"})
    assert refused.status_code == 429
    assert refused.json()["error"]["code"] == "rate_limited"
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert client.get("/api/v1/echo").status_code == 200


def test_quota_is_given_back_on_5xx_but_not_on_4xx(make_client: MakeClient) -> None:
    client = make_client(*HANDLERS, plan="free")
    gate = client.application.services.accounts
    assert gate is not None
    client.get("/api/v1/fail/internal_error")
    assert gate._limiter.used(1)[0] == 0
    client.get("/api/v1/fail/not_found")
    client.get("/api/v1/echo")
    client.get("/api/v1/paid")
    assert gate._limiter.used(1)[:2] == (2, 4)


def test_rate_limit_of_a_plan(make_client: MakeClient) -> None:
    client = make_client(*HANDLERS, plan="free")
    answers = [client.get("/api/v1/echo") for _ in range(12)]
    assert [answer.status_code for answer in answers] == [200] * 10 + [429] * 2
    error = answers[-1].json()["error"]
    assert error["code"] == "rate_limited"
    assert error["details"]["limit"] == 10
    assert error["details"]["window_seconds"] == 60
    assert 1 <= error["details"]["retry_after"] <= 60
    assert answers[-1].headers["x-ratelimit-remaining"] == "0"


def test_request_ids(make_client: MakeClient) -> None:
    client = make_client(*HANDLERS)
    assert (
        client.get("/api/v1/echo", headers={"X-Request-Id": "abc-1.2"}).headers["x-request-id"]
        == "abc-1.2"
    )
    for bad in ("a b", "x" * 65, 'a"b', ""):
        given = client.get("/api/v1/echo", headers={"X-Request-Id": bad}).headers["x-request-id"]
        assert given != bad
        assert len(given) == 16


def test_head_is_get_without_a_body(make_client: MakeClient) -> None:
    client = make_client(*HANDLERS)
    get, head = client.get("/api/v1/big"), client.request("HEAD", "/api/v1/big")
    assert head.status_code == 200
    assert head.content == b""
    assert head.headers["content-length"] == get.headers["content-length"]
    assert head.headers["content-type"] == get.headers["content-type"]
    assert client.request("HEAD", "/api/v1/stream").content == b""


def test_options_and_405_name_the_methods(make_client: MakeClient) -> None:
    client = make_client(*HANDLERS, plan="free")
    options = client.request("OPTIONS", "/api/v1/echo")
    assert options.status_code == 204
    assert options.headers["allow"] == "GET, HEAD, POST, OPTIONS"
    assert "x-ratelimit-limit" not in options.headers
    assert client.request("PATCH", "/api/v1/echo").headers["allow"] == options.headers["allow"]


def test_cors_is_off_by_default(make_client: MakeClient) -> None:
    client = make_client(*HANDLERS)
    headers = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
    for method in ("GET", "OPTIONS"):
        answer = client.request(method, "/api/v1/echo", headers=headers)
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_cors_for_named_origins(make_client: MakeClient) -> None:
    client = make_client(*HANDLERS, cors_origins=["https://a.example"])
    good = {"Origin": "https://a.example"}
    answer = client.get("/api/v1/echo?count=99", headers=good)
    assert answer.headers["access-control-allow-origin"] == "https://a.example"
    assert "X-RateLimit-Remaining" in answer.headers["access-control-expose-headers"]
    assert "Origin" in answer.headers["vary"]
    preflight = client.request(
        "OPTIONS",
        "/api/v1/echo",
        headers={
            **good,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "x-stainless-lang, authorization",
        },
    )
    assert preflight.headers["access-control-allow-headers"] == "x-stainless-lang, authorization"
    assert "POST" in preflight.headers["access-control-allow-methods"]
    bad = client.get("/api/v1/echo", headers={"Origin": "https://b.example"})
    assert "access-control-allow-origin" not in bad.headers


def test_preflight_names_the_origin(make_client: MakeClient) -> None:
    client = make_client(*HANDLERS, cors_origins=["https://a.example"])
    answer = client.request(
        "OPTIONS",
        "/api/v1/echo",
        headers={"Origin": "https://a.example", "Access-Control-Request-Method": "POST"},
    )
    assert answer.headers["access-control-allow-origin"] == "https://a.example"


def test_trailing_slash(make_client: MakeClient) -> None:
    client = make_client(*HANDLERS)
    assert client.post("/api/v1/echo/", json={"name": "x"}).json()["name"] == "x"


def test_any_accept_is_served(make_client: MakeClient) -> None:
    client = make_client(*HANDLERS)
    for accept in ("application/xml", "text/html;q=0.1", "nonsense", "application/geo+json"):
        assert client.get("/api/v1/echo", headers={"Accept": accept}).status_code == 200


def test_kept_parameters_belong_to_their_request(make_client: MakeClient) -> None:
    client = make_client(echo)
    for _ in range(2):
        assert client.get("/api/v1/echo?name=a").json()["name"] == "a"
        assert client.get("/api/v1/echo?name=b").json()["name"] == "b"
        assert client.get("/api/v1/echo?count=10").status_code == 400
        posted = client.post("/api/v1/echo?name=a", json={"count": 7}).json()
        assert (posted["name"], posted["count"]) == ("a", 7)
    kept = client.application._read
    assert len(kept) == 2, "neither failures nor bodies are kept"
    for number in range(4_200):
        client.get(f"/api/v1/echo?name={number}")
    assert len(kept) <= 4_096


def test_bodies(make_client: MakeClient) -> None:
    client = make_client(*HANDLERS, max_body_bytes=2_000)
    json_type = {"Content-Type": "application/json"}
    assert client.post("/api/v1/echo?name=q", content=b"", headers=json_type).json()["name"] == "q"
    assert client.post("/api/v1/echo?name=q", json={"name": "b"}).json()["name"] == "b"
    bad = client.post("/api/v1/echo", content=b"{", headers=json_type)
    assert (bad.status_code, bad.json()["error"]["code"]) == (400, "invalid_request")
    large = client.post("/api/v1/echo", content=b"x" * 3_000, headers=json_type)
    assert large.status_code == 413
    assert large.json()["error"]["details"]["limit"] == 2_000
    assert large.headers["connection"] == "close"

    async def pieces() -> AsyncIterator[bytes]:
        for piece in (b" " * 1_000, b"{}", b" " * 1_500):
            yield piece

    chunked = client.post("/api/v1/echo", content=pieces(), headers=json_type)
    assert chunked.status_code == 413
    coded = client.post("/api/v1/echo", content=b"x", headers={"Content-Encoding": "gzip"})
    assert coded.status_code == 400


def test_compression(make_client: MakeClient) -> None:
    client = make_client(*HANDLERS)
    plain = client.get("/api/v1/big", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    for encoding in ("gzip", "zstd"):
        for path in ("/api/v1/big", "/api/v1/stream"):
            answer = client.get(path, headers={"Accept-Encoding": encoding})
            assert answer.headers["content-encoding"] == encoding
            assert "Accept-Encoding" in answer.headers["vary"]
            assert answer.content == client.get(path, headers={"Accept-Encoding": ""}).content
    small = client.get("/api/v1/echo", headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in small.headers


def test_etag(make_client: MakeClient) -> None:
    client = make_client(*HANDLERS)
    assert client.get("/api/v1/tagged").status_code == 200
    for tags in ('"abc"', 'W/"abc"', '"x", "abc"', "*"):
        answer = client.get("/api/v1/tagged", headers={"If-None-Match": tags})
        assert answer.status_code == 304
        assert answer.content == b""
        assert answer.headers["etag"] == '"abc"'
        assert "content-length" not in answer.headers
    assert client.get("/api/v1/tagged", headers={"If-None-Match": '"x"'}).status_code == 200


def test_threads(make_client: MakeClient) -> None:
    client = make_client(*HANDLERS)
    assert client.get("/api/v1/pooled").json()["thread"].startswith("light")
    assert client.get("/api/v1/pooled").headers["x-own"] == "1"
    assert client.get("/api/v1/later").json()["thread"].startswith("light")


def test_streams(make_client: MakeClient) -> None:
    client = make_client(*HANDLERS)
    answer = client.get("/api/v1/stream")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert len(answer.text.splitlines()) == 1000
    assert "content-length" not in answer.headers


def test_a_stream_that_fails_midway_is_broken_off(
    make_client: MakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    client = make_client(*HANDLERS)
    with pytest.raises(AssertionError):  # the test transport's sign of an answer without its end
        client.get("/api/v1/stream?name=breaks")
    assert "stream broken off" in caplog.text


def test_base_url(make_client: MakeClient, tmp_path: Path) -> None:
    client = make_client(*HANDLERS)
    assert client.get("/api/v1/echo").json()["url"] == "http://localhost"
    odd = client.get("/api/v1/echo", headers={"Host": 'a"<b>'})
    assert odd.json()["url"] == "http://localhost"
    public = make_client(*HANDLERS, public_url="https://maps.example.org/")
    assert public.get("/api/v1/echo").json()["url"] == "https://maps.example.org"


def test_access_log(make_client: MakeClient, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    client = make_client(*HANDLERS, plan="enterprise", log=log)
    key = client.headers["X-API-Key"]
    client.get(f"/api/v1/echo?api_key={key}&name=secret-name")
    client.get("/api/v1/fail/not_found", headers={"X-Request-Id": "abc"})
    client.get("/api/v1/secret-path", headers={"X-API-Key": "pk_live_wrong"})
    client.application.access_log.close()
    text = log.read_text()
    assert key not in text
    assert "secret" not in text
    assert "pk_live_wrong" not in text
    first, second, third = map(json.loads, text.splitlines())
    assert list(first)[:3] == ["ts", "level", "request_id"]
    assert first["route"] == "/api/v1/echo"
    assert first["status"] == 200
    assert first["account"] == 1
    assert first["key"] == f"pk_live_…{key[-4:]}"
    assert first["bytes"] > 10
    assert first["ms"] >= 0
    assert (second["route"], second["code"]) == ("/api/v1/fail/{name}", "not_found")
    assert second["request_id"] == "abc"
    assert (third["route"], third["status"], third["account"]) == ("unknown", 401, None)


def test_crash_is_logged_with_its_request_id(
    make_client: MakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    answer = make_client(*HANDLERS).get("/api/v1/fail/internal_error")
    record = next(record for record in caplog.records if "crashed" in record.message)
    assert record.request_id == answer.headers["x-request-id"]  # type: ignore[attr-defined]


def test_usage_is_noted_before_the_last_byte(make_client: MakeClient) -> None:
    """So a kill loses no usage of an answer that a client has whole, and it is noted once."""
    client = make_client(*HANDLERS, plan="free")
    gate = client.application.services.accounts
    assert gate is not None
    noted: list[str] = []
    at_the_end: list[int] = []
    settle = gate.settle

    def count(*arguments: Any, **options: Any) -> None:
        noted.append(arguments[2])
        settle(*arguments, **options)

    async def spy(scope: Any, receive: Any, send: Any) -> None:
        async def seen(message: Any) -> None:
            if message["type"] == "http.response.body" and not message.get("more_body"):
                at_the_end.append(len(noted))
            await send(message)

        await client.application(scope, receive, seen)

    gate.settle = count  # type: ignore[method-assign]
    client._client._transport.app = spy  # type: ignore[attr-defined]
    for path in ("echo", "pooled", "later", "stream", "fail/not_found", "fail/internal_error"):
        client.get(f"/api/v1/{path}")
    assert at_the_end == [1, 2, 3, 4, 5, 6]
    assert len(noted) == 6
