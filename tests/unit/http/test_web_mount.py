from __future__ import annotations

from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from mapyard.accounts.gate import AccountsGate
from mapyard.accounts.open import open_accounts
from mapyard.http.app import Application
from mapyard.http.services import Services
from mapyard.library.snapshot import Snapshots
from mapyard.server.local import LocalClient
from mapyard.settings import Settings


async def page(request: Request) -> Response:
    return HTMLResponse("<p>hello</p>" * 500)


async def stream(request: Request) -> Response:
    async def parts():  # type: ignore[no-untyped-def]
        yield b"a" * 2_000
        yield b"b" * 2_000

    return StreamingResponse(parts(), media_type="text/plain")


async def crash(request: Request) -> Response:
    raise RuntimeError("a page failed")


@pytest.fixture
def client(tmp_path: Path):  # type: ignore[no-untyped-def]
    settings = Settings(data=tmp_path)
    services = Services(settings, Snapshots(settings))
    services.database = open_accounts(tmp_path)
    services.accounts = AccountsGate(services.database, tmp_path, anonymous_per_minute=5)
    web = Starlette(routes=[Route("/", page), Route("/stream", stream), Route("/crash", crash)])
    with LocalClient(application=Application(services, [], web=web)) as made:
        yield made
    services.accounts.close()
    services.database.close()


def test_pages_have_the_common_headers_and_are_compressed(client: LocalClient) -> None:
    answer = client.get("/", headers={"Accept-Encoding": "gzip"})
    assert answer.text == "<p>hello</p>" * 500
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) < 500
    assert answer.headers["x-request-id"]
    assert answer.headers["x-ratelimit-limit"] == "5"


def test_pages_count_nothing(client: LocalClient) -> None:
    for _ in range(8):
        answer = client.get("/")
        assert (answer.status_code, answer.headers["x-ratelimit-remaining"]) == (200, "5")


def test_streams_pass(client: LocalClient) -> None:
    for encoding in ("identity", "gzip", "zstd"):
        answer = client.get("/stream", headers={"Accept-Encoding": encoding})
        assert answer.text == "a" * 2_000 + "b" * 2_000
        assert answer.headers.get("content-encoding", "identity") == encoding


def test_unknown_api_paths_are_not_the_pages(client: LocalClient) -> None:
    assert client.get("/api/v1/none").json()["error"]["code"] == "missing_key"
    missing = client.get("/none")
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not_found")
    page = client.get("/none", headers={"Accept": "text/html,*/*"})
    assert (page.status_code, page.text) == (404, "Not Found")


def test_a_page_that_fails_is_a_plain_error(
    client: LocalClient, caplog: pytest.LogCaptureFixture
) -> None:
    answer = client.get("/crash")
    assert answer.status_code == 500
    assert "a page failed" not in answer.text
    assert "web crashed" in caplog.text
