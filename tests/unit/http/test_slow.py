"""Slow requests are noted without secrets, bounded, and with text only where it is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from mapyard.http import slow
from mapyard.http.request import Request
from mapyard.http.slow import SlowRequest, SlowRequests, add_slow, read_slow
from mapyard.server.local import LocalClient
from mapyard.settings import Settings


def make_request(query: bytes = b"", sample: bytes = b"", route: str = "/api/v1/search") -> Request:
    scope = {"type": "http", "method": "GET", "headers": [], "query_string": query}
    request = Request(scope, None, None)  # type: ignore[arg-type]
    request.route, request.status, request.sample = route, 200, sample
    return request


def note(folder: Path, *requests: Request, took_s: float = 3.0, keeps_text: bool = True) -> None:
    slow_requests = SlowRequests(folder, 2.0, keeps_text=keeps_text)
    for request in requests:
        slow_requests.note(request, took_s)
    slow_requests.close()


def test_what_is_kept(tmp_path: Path) -> None:
    note(tmp_path, make_request(b"q=a"), make_request(b"q=b"), make_request(b"q=a"))
    newest, middle, oldest = read_slow(tmp_path, 10)
    assert [entry.text for entry in (oldest, middle, newest)] == ["q=a", "q=b", "q=a"]
    assert oldest.digest == newest.digest != middle.digest
    assert (oldest.ms, oldest.route, oldest.status) == (3_000, "/api/v1/search", 200)
    assert [entry.text for entry in read_slow(tmp_path, 1)] == ["q=a"]
    assert (tmp_path / "slow.jsonl").stat().st_mode & 0o077 == 0


def test_only_what_is_slow(tmp_path: Path) -> None:
    note(tmp_path, make_request(), took_s=1.99)
    SlowRequests(tmp_path, 0.0).note(make_request(), 9.0)
    # Addresses of pages may hold a token that was mailed.
    note(tmp_path, make_request(b"token=abc", route="web"))
    assert read_slow(tmp_path, 10) == []


@pytest.mark.parametrize(
    ("query", "sample"),
    [
        (b"q=x&api_key=pk_live_0123456789abcdef", b""),
        (b"key=pk_test_0123456789abcdef&q=x", b""),
        (b"session=SECRETTOKEN&q=x", b""),
        (b"q=x", b'{"key": "pk_live_0123456789abcdef"}'),
    ],
)
def test_no_secret_is_written(tmp_path: Path, query: bytes, sample: bytes) -> None:
    note(tmp_path, make_request(query, sample))
    written = (tmp_path / "slow.jsonl").read_text()
    assert "0123456789abcdef" not in written
    assert "SECRETTOKEN" not in written
    assert "q=x" in written


def test_a_digest_instead_of_the_text(tmp_path: Path) -> None:
    note(tmp_path, make_request(b"q=Elm+Street+5"), keeps_text=False)
    assert "Elm" not in (tmp_path / "slow.jsonl").read_text()
    assert len(read_slow(tmp_path, 1)[0].digest) == 16


def test_the_files_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow, "FILE_BYTES", 2_000)
    for i in range(60):
        add_slow(tmp_path, SlowRequest(i, "/r", "GET", 200, 1, 1, 1, "id", "d"))
    assert sum(path.stat().st_size for path in tmp_path.glob("*.jsonl")) < 4_400
    assert [entry.at_s for entry in read_slow(tmp_path, 3)] == [59, 58, 57]
    with (tmp_path / "slow.jsonl").open("a") as file:
        file.write('{"at_s": 60, "rou')  # a kill in the middle of a line
    assert read_slow(tmp_path, 1)[0].at_s == 59


def test_a_request_to_the_application(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, slow_s=1e-9, slow_text=True)
    with LocalClient(settings) as client:
        client.request("GET", "/version?x=1")
        client.request("POST", "/api/v1/overpass", content=b"data=out;")
    found = read_slow(tmp_path / "service", 10)
    assert {(entry.route, entry.text) for entry in found} >= {
        ("/version", "x=1"), ("/api/v1/overpass", "data=out;"),
    }  # fmt: skip
