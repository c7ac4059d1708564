"""Slow requests: what took longer than a setting allows, for the operator's page.

DATA/service/slow.jsonl has a line each. What was asked may hold addresses and places of people, so
a digest stands for it unless a setting allows the text: equal questions have equal digests. Keys
are never written. The file is bounded: a full one becomes slow.1.jsonl, in place of the one before.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import time
from pathlib import Path
from typing import Final

import msgspec

from mapyard.http.access_log import write_whole
from mapyard.http.request import Request
from mapyard.threads import BoundedThread

#: Bytes of one file, of the text of one request, and lines that wait for the disk.
FILE_BYTES: Final = 1 << 20
TEXT_BYTES: Final = 2_000
_MOST_WAITING: Final = 256
_CLOSE_S: Final = 1.0
_NAMES: Final = ("slow.1.jsonl", "slow.jsonl")
#: Keys and tokens of map sessions, wherever they stand.
_SECRETS: Final = re.compile(rb"\bpk_\w+|(?<=session=)[^&\s]+|(?<=api_key=)[^&\s]+")


class SlowRequest(msgspec.Struct, frozen=True):
    """One slow request. `text` is empty where only the digest is kept."""

    at_s: int
    route: str
    method: str
    status: int
    ms: int
    bytes: int
    account: int
    request_id: str
    digest: str
    text: str = ""


class SlowRequests:
    """Writes what took `limit_s` or longer; 0 writes nothing."""

    def __init__(self, folder: Path, limit_s: float, *, keeps_text: bool = False) -> None:
        self._folder = folder
        self._limit_s = limit_s
        self._keeps_text = keeps_text
        self._writer: BoundedThread | None = None

    def note(self, request: Request, took_s: float) -> None:
        """Write down an answered request if it was slow; a thread writes."""
        # Addresses of pages may hold the tokens of links that were mailed.
        if not self._limit_s or took_s < self._limit_s or request.route == "web":
            return
        if self._writer is None:
            self._writer = BoundedThread("slow-requests", _MOST_WAITING)
        asked = text_of(request)
        entry = SlowRequest(
            at_s=int(time.time()),
            route=request.route,
            method=request.method,
            status=request.status,
            ms=round(took_s * 1_000),
            bytes=request.bytes_sent,
            account=request.admission.account_id,
            request_id=request.id,
            digest=hashlib.sha256(asked).hexdigest()[:16],
            text=asked.decode("utf-8", "replace") if self._keeps_text else "",
        )
        self._writer.submit(lambda: add_slow(self._folder, entry))

    def close(self) -> None:
        """Write what is left."""
        if self._writer is not None:
            self._writer.close(_CLOSE_S)
            self._writer = None


def text_of(request: Request) -> bytes:
    """Return query and begin of the body of a request, secrets left out."""
    asked = b"\n".join(part for part in (request.scope["query_string"], request.sample) if part)
    return _SECRETS.sub(b"***", asked)[:TEXT_BYTES]


def add_slow(folder: Path, entry: SlowRequest) -> None:
    """Append an entry; workers may do so at once."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder / "slow.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        path = folder / _NAMES[1]
        if path.exists() and path.stat().st_size >= FILE_BYTES:
            path.replace(folder / _NAMES[0])
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            write_whole(fd, msgspec.json.encode(entry) + b"\n")
        finally:
            os.close(fd)
    finally:
        os.close(lock)


def read_slow(folder: Path, most: int) -> list[SlowRequest]:
    """Return the newest entries, newest first; a line that was cut off by a kill is left out."""
    found: list[SlowRequest] = []
    for name in _NAMES:
        try:
            lines = (folder / name).read_bytes().splitlines()
        except OSError:
            continue
        for line in lines:
            try:
                found.append(msgspec.json.decode(line, type=SlowRequest))
            except msgspec.DecodeError:
                continue
    return found[: -most - 1 : -1]
