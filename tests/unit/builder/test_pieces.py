"""Large files come in pieces over several connections, whatever happens meanwhile."""

from __future__ import annotations

import hashlib
import random
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from mapyard.builder import pieces
from mapyard.builder.download import DownloadFailed, download
from mapyard.builder.pieces import Pieces, fetch_pieces
from mapyard.builder.progress import Reporter

BODY = random.Random(1).randbytes(1_000_003)
PIECE = 50_000
COUNT = 21


class Handler(BaseHTTPRequestHandler):
    """Serves BODY whole or in ranges, and does what a test asks for before some ranges."""

    protocol_version = "HTTP/1.1"
    state: Any = None

    def do_GET(self) -> None:
        state = self.state
        if self.path.endswith(".md5"):
            return self._send(200, state.md5.encode())
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if asked is None:
            return self._send(200, state.body, state.headers)
        start, stop = int(asked[1]), int(asked[2] or len(BODY) - 1) + 1
        with state.lock:
            state.asked.append((start, stop))
            state.running += 1
            state.most = max(state.most, state.running)
            what = state.todo.pop(0) if state.todo else ""
        if len(state.asked) <= pieces.CONNECTIONS and state.meet is not None:
            state.meet.wait(10)
        try:
            if self.headers["If-Range"] != state.headers["ETag"] or what == "whole":
                return self._send(200, state.body, state.headers)
            if what == "busy":
                return self._send(503, b"", {"Retry-After": "0"})
            part = state.body[start:stop]
            span = f"bytes {start}-{stop - 1}/{len(state.body)}"
            if what == "other":
                span = f"bytes {start}-{stop - 1}/{len(state.body) + 1}"
            self._send(206, part, {"Content-Range": span, **state.headers}, cut=what == "cut")
        finally:
            with state.lock:
                state.running -= 1

    def _send(
        self, status: int, body: bytes, headers: dict[str, str] | None = None, cut: bool = False
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body[: len(body) // 2] if cut else body)
        except OSError:
            self.close_connection = True
        if cut:
            self.close_connection = True

    def log_message(self, *args: Any) -> None:
        pass


class State:
    def __init__(self) -> None:
        self.url = ""
        self.lock = threading.Lock()
        self.body = BODY
        self.headers = {"ETag": '"v1"', "Accept-Ranges": "bytes"}
        self.md5 = hashlib.md5(BODY).hexdigest()
        self.asked: list[tuple[int, int]] = []
        self.todo: list[str] = []
        self.running = self.most = 0
        self.meet: threading.Barrier | None = None


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[State]:
    monkeypatch.setattr(pieces, "PIECE_BYTES", PIECE)
    monkeypatch.setattr(pieces, "LEAST_BYTES", 4 * PIECE)
    state = State()
    monkeypatch.setattr(Handler, "state", state)
    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    http.handle_error = lambda *_: None  # type: ignore[method-assign] # connections that clients end
    thread = threading.Thread(target=http.serve_forever)
    thread.start()
    state.url = f"http://127.0.0.1:{http.server_port}/x.osm.pbf"
    yield state
    http.shutdown()
    thread.join()
    http.server_close()


def fetch(server: State, folder: Path) -> bytes:
    return download(server.url, folder, Reporter(quiet=True)).read_bytes()


def test_a_large_file_comes_over_several_connections(tmp_path: Path, server: State) -> None:
    server.meet = threading.Barrier(pieces.CONNECTIONS)  # all are there at once, or it breaks
    assert fetch(server, tmp_path) == BODY
    assert server.most == pieces.CONNECTIONS
    spans = [(start, min(len(BODY), start + PIECE)) for start in range(0, len(BODY), PIECE)]
    assert sorted(server.asked) == spans
    assert [path.name for path in tmp_path.iterdir()] == ["x.osm.pbf"]


@pytest.mark.parametrize("missing", ["Accept-Ranges", "ETag"])
def test_one_connection_where_the_server_promises_no_pieces(
    tmp_path: Path, server: State, missing: str
) -> None:
    del server.headers[missing]
    assert fetch(server, tmp_path) == BODY
    assert server.asked == []


@pytest.mark.parametrize("faults", [["cut"], ["", "cut", "cut"], ["busy"] * 4, ["busy", "cut"]])
def test_pieces_that_break_off_and_busy_servers(
    tmp_path: Path, server: State, faults: list[str]
) -> None:
    server.todo = list(faults)
    assert fetch(server, tmp_path) == BODY
    assert len(server.asked) == COUNT + len([fault for fault in faults if fault])


def test_a_later_run_fetches_what_is_missing(tmp_path: Path, server: State) -> None:
    server.todo = [""] * 8 + ["cut"] * 1_000
    with pytest.raises(DownloadFailed, match=r"bytes are kept, run the command again"):
        fetch(server, tmp_path)
    had = len((tmp_path / "x.osm.pbf.pieces").read_text().splitlines()) - 1
    assert 8 - pieces.CONNECTIONS <= had < COUNT
    server.todo, server.asked = [], []
    assert fetch(server, tmp_path) == BODY
    assert len(server.asked) == COUNT - had


def test_a_file_that_changed_is_fetched_anew(tmp_path: Path, server: State) -> None:
    server.todo = [""] * 8 + ["cut"] * 1_000
    with pytest.raises(DownloadFailed):
        fetch(server, tmp_path)
    server.todo = []
    server.body = BODY[::-1]
    server.md5 = hashlib.md5(server.body).hexdigest()
    server.headers["ETag"] = '"v2"'
    assert fetch(server, tmp_path) == server.body


@pytest.mark.parametrize("lie", ["whole", "other"])
def test_a_server_that_does_not_give_the_piece_asked_for(
    tmp_path: Path, server: State, lie: str
) -> None:
    server.todo = ["", lie]
    assert fetch(server, tmp_path) == BODY


def test_what_is_wrong_after_all_is_not_kept(tmp_path: Path, server: State) -> None:
    server.md5 = "0" * 32
    with pytest.raises(DownloadFailed, match="md5"):
        fetch(server, tmp_path)
    assert not [path for path in tmp_path.iterdir() if path.suffix in (".partial", ".pieces")]


def test_a_damaged_list_of_pieces_is_none(tmp_path: Path) -> None:
    partial, path = tmp_path / "x.partial", tmp_path / "x.pieces"
    partial.write_bytes(bytes(100))
    Pieces.begin(path, "tag", 100)
    found = Pieces.find(path, partial)
    assert found is not None and found.count == 1
    partial.write_bytes(bytes(99))
    assert Pieces.find(path, partial) is None
    for text in ("", "{}", "[1]", '{"tag": 1}', "no json"):
        path.write_text(text)
        partial.write_bytes(bytes(100))
        assert Pieces.find(path, partial) is None


def test_a_full_disk_is_one_clear_line(
    tmp_path: Path, server: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pieces.os, "pwrite", refuse)
    with pytest.raises(DownloadFailed, match=r"disk of .* is full"):
        fetch(server, tmp_path)


def test_progress_counts_each_byte_once(tmp_path: Path, server: State) -> None:
    server.todo = ["", "cut", "", "cut"]
    told: list[int] = []
    reporter = Reporter(quiet=True)
    reporter.advance = told.append  # type: ignore[method-assign]
    list_file = Pieces.begin(tmp_path / "x.pieces", '"v1"', len(BODY))
    with httpx.Client() as client:
        fetch_pieces(client, server.url, tmp_path / "x.partial", list_file, reporter)
    assert told[-1] == len(BODY)
