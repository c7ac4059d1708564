"""Streams of features that fail midway, over a socket: a client must never take a part for all."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest

from mapyard.dataset.manifest import describe_file, read_manifest, write_manifest
from servers import Server, copy_data, running

pytestmark = pytest.mark.xdist_group("serving")
FORMATS = ("ndjson", "csv", "geojson")


@pytest.fixture(scope="module")
def server(
    build_once: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """Serve a dataset whose list of elements ends with one that the store does not have."""
    from osm_files import EXAMPLES

    folder = tmp_path_factory.mktemp("broken")
    built = build_once("monaco-store", EXAMPLES / "monaco.osm.pbf", ["store"])
    data = copy_data(built, folder / "data")
    path = data / "current" / "elements" / "listed.npy"
    listed = np.load(path)
    path.unlink()  # a link to the dataset of other tests
    # So long that much is sent before the last rows are looked at.
    listed = np.tile(listed, 8)
    listed[-1] = np.iinfo(np.uint32).max
    np.save(path, listed)
    _describe_again(data / "current", path)
    with running(data, folder / "serve.log") as started:
        yield started


def _describe_again(folder: Path, path: Path) -> None:
    """Let the manifest say that the file is so, or the dataset is not served at all."""
    manifest = read_manifest(folder)
    for part in manifest.parts.values():
        name = path.relative_to(folder).as_posix()
        if name in part.files:
            part.files[name] = describe_file(path)
    (folder / "manifest.json").unlink()  # a link as well
    write_manifest(folder, manifest)


def read_all(server: Server, path: str, more: str = "") -> bytes:
    """Return all that comes on a connection until the server closes it."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {server.key}\r\n{more}\r\n"
        connection.sendall(request.encode())
        received = b""
        while piece := connection.recv(1 << 16):
            received += piece
    return received


@pytest.mark.parametrize("encoding", ["", "Accept-Encoding: gzip\r\n"])
@pytest.mark.parametrize("stream_format", FORMATS)
def test_a_stream_that_fails_has_no_end(server: Server, stream_format: str, encoding: str) -> None:
    received = read_all(server, f"/api/v1/features?format={stream_format}", encoding)
    head, _, body = received.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    assert b"transfer-encoding: chunked" in head.lower()
    assert (b"content-encoding: gzip" in head.lower()) == bool(encoding)
    assert len(body) > 100_000
    assert not body.endswith(b"0\r\n\r\n")


@pytest.mark.parametrize("stream_format", FORMATS)
def test_a_client_gets_an_error_after_what_was_sent(server: Server, stream_format: str) -> None:
    url = f"{server.address}/api/v1/features?format={stream_format}"
    pieces: list[bytes] = []
    with (
        httpx.stream("GET", url, headers={"X-API-Key": server.key}, timeout=20) as answer,
        pytest.raises(httpx.RemoteProtocolError, match="incomplete chunked read"),
    ):
        pieces.extend(answer.iter_bytes())
    assert sum(map(len, pieces)) > 100_000
    if stream_format == "geojson":
        with pytest.raises(json.JSONDecodeError):
            json.loads(b"".join(pieces))


def test_a_stream_that_does_not_fail_ends_properly(server: Server) -> None:
    path = "/api/v1/features?format=ndjson&limit=5000"
    received = read_all(server, path, "Connection: close\r\n")
    assert received.endswith(b"0\r\n\r\n")
    assert len(server.get(path).text.splitlines()) == 5_000


def test_a_short_stream_has_a_length(server: Server) -> None:
    path = "/api/v1/features?format=ndjson&limit=10"
    head, _, body = read_all(server, path, "Connection: close\r\n").partition(b"\r\n\r\n")
    assert f"content-length: {len(body)}".encode() in head
    assert len(body.splitlines()) == 10


def test_the_log_says_that_and_why_it_was_broken_off(server: Server) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        server.get("/api/v1/features?format=csv")
    lines = [json.loads(line) for line in server.log.read_text().splitlines()]
    broken = [line for line in lines if "stream broken off" in line["message"]]
    assert broken
    assert "/api/v1/features" in broken[-1]["message"]
    assert broken[-1]["request_id"]
    assert server.get("/healthz").status_code == 200
