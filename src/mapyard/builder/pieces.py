"""Fetch a large file in pieces over several connections, and go on where an earlier run stopped.

Beside the unfinished file lies a list of its pieces that are there: the file's tag and size in the
first line, then a number per line. A server that changes the file meanwhile, or that does not give
the piece asked for, is told apart; one that is too busy gets fewer connections.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx

from mapyard.builder.progress import Reporter

CONNECTIONS: Final = 4
PIECE_BYTES: Final = 16 << 20
#: Smaller files come over one connection.
LEAST_BYTES: Final = 4 * PIECE_BYTES
#: Pieces may fail so often in a row before the download does.
_TRIES: Final = 5
_BUSY: Final = (429, 503)
_MOST_WAIT_S: Final = 30.0


class Changed(Exception):  # noqa: N818 - a signal: begin anew
    """The server has another file now, or no pieces of it."""


def find_tag(response: httpx.Response) -> str:
    """Return what tells this version of a file from others, "" where the server does not say."""
    tag: str = response.headers.get("ETag") or response.headers.get("Last-Modified") or ""
    return "" if tag.startswith("W/") else tag


def allows_pieces(response: httpx.Response) -> bool:
    """Return whether a file is large, and given in pieces, by the answer to a plain request."""
    length = response.headers.get("Content-Length", "")
    return (
        response.status_code == 200
        and "bytes" in response.headers.get("Accept-Ranges", "")
        and length.isdigit()
        and int(length) >= LEAST_BYTES
        and bool(find_tag(response))
    )


class Pieces:
    """The pieces of one version of a file."""

    def __init__(self, path: Path, tag: str, size: int, piece_bytes: int) -> None:
        self._path, self.tag, self.size, self.piece_bytes = path, tag, size, piece_bytes
        self.done: set[int] = set()

    @classmethod
    def begin(cls, path: Path, tag: str, size: int) -> Pieces:
        """Begin the list of a file of which nothing is there."""
        head = {"tag": tag, "size": size, "piece_bytes": PIECE_BYTES}
        path.write_text(json.dumps(head) + "\n")
        return cls(path, tag, size, PIECE_BYTES)

    @classmethod
    def find(cls, path: Path, partial: Path) -> Pieces | None:
        """Return the list that an earlier run left, None where there is none that can be read."""
        try:
            head, *lines = path.read_text().splitlines()
            found = cls(path, **json.loads(head))
            if partial.stat().st_size != found.size:
                return None
        except (OSError, ValueError, TypeError):
            return None
        found.done = {int(line) for line in lines if line.isdigit() and int(line) < found.count}
        return found

    @property
    def count(self) -> int:
        """Number of all pieces."""
        return -(-self.size // self.piece_bytes)

    def span(self, number: int) -> tuple[int, int]:
        """Return the first byte of a piece and the one behind it."""
        start = number * self.piece_bytes
        return start, min(self.size, start + self.piece_bytes)

    @property
    def bytes_done(self) -> int:
        """Bytes of the pieces that are there."""
        return sum(stop - start for start, stop in map(self.span, self.done))

    def add(self, number: int) -> None:
        """Note a piece that is on disk."""
        with self._path.open("a") as file:
            file.write(f"{number}\n")
        self.done.add(number)


def fetch_pieces(
    client: httpx.Client, url: str, partial: Path, pieces: Pieces, progress: Reporter
) -> None:
    """Fetch what is missing; raise `Changed`, or httpx.TransportError when it breaks off."""
    fetching = _Fetching(client, url, pieces, progress)
    with _open_sparse(partial, pieces.size) as file, ThreadPoolExecutor(CONNECTIONS) as pool:
        running = {pool.submit(fetching.work, file) for _ in range(CONNECTIONS)}
        try:
            while running:
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                for one in ended:
                    one.result()
        finally:
            fetching.stop.set()
    if len(pieces.done) < pieces.count:
        raise httpx.TransportError(f"{len(pieces.done)} of {pieces.count} pieces arrived")


@contextmanager
def _open_sparse(path: Path, size: int) -> Iterator[int]:
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        os.ftruncate(file, size)
        yield file
    finally:
        os.close(file)


class _Fetching:
    """What the connections of one download share."""

    def __init__(self, client: httpx.Client, url: str, pieces: Pieces, progress: Reporter) -> None:
        self._client, self._url, self._pieces, self._progress = client, url, pieces, progress
        self._missing = [n for n in range(pieces.count) if n not in pieces.done][::-1]
        self._lock = threading.Lock()
        self._bytes = pieces.bytes_done
        self._connections = CONNECTIONS
        self._failures = 0
        self.stop = threading.Event()

    def work(self, file: int) -> None:
        """Fetch pieces until none is missing or this connection is one too many."""
        while not self.stop.is_set():
            with self._lock:
                if not self._missing:
                    return
                number = self._missing.pop()
            try:
                wait_s = self._fetch(number, file)
            except BaseException as error:
                with self._lock:
                    self._missing.append(number)
                    self._failures += 1
                    is_hopeless = self._failures >= _TRIES
                if is_hopeless or not isinstance(error, httpx.TransportError):
                    raise
                continue
            if wait_s is None:
                with self._lock:
                    self._pieces.add(number)
                    self._failures = 0
                continue
            with self._lock:
                self._missing.append(number)
                if self._connections > 1:
                    self._connections -= 1
                    return
                self._failures += 1
                if self._failures >= _TRIES:
                    raise httpx.TransportError("the server is too busy")
            self.stop.wait(wait_s)

    def _fetch(self, number: int, file: int) -> float | None:
        """Fetch one piece to disk; return None, or how long a busy server asks to wait."""
        start, stop = self._pieces.span(number)
        headers = {
            "Accept-Encoding": "identity",
            "Range": f"bytes={start}-{stop - 1}",
            "If-Range": self._pieces.tag,
        }
        with self._client.stream("GET", self._url, headers=headers) as response:
            if response.status_code in _BUSY:
                asked = response.headers.get("Retry-After", "")
                return min(_MOST_WAIT_S, float(asked) if asked.isdigit() else 2.0)
            span = response.headers.get("Content-Range", "")
            if response.status_code != 206 or span != (
                f"bytes {start}-{stop - 1}/{self._pieces.size}"
            ):
                raise Changed(f"{response.status_code} {span}")
            at = start
            try:
                for chunk in response.iter_raw():
                    if self.stop.is_set():
                        raise httpx.TransportError("stopped")
                    if at + len(chunk) > stop:
                        raise Changed("more bytes than asked for")
                    os.pwrite(file, chunk, at)
                    at += len(chunk)
                    self._count(len(chunk))
                if at != stop:
                    raise httpx.TransportError(f"{at - start} of {stop - start} bytes arrived")
                os.fsync(file)  # before the piece is noted
            except BaseException:
                self._count(start - at)
                raise
        return None

    def _count(self, more: int) -> None:
        with self._lock:
            self._bytes += more
            self._progress.advance(self._bytes)
