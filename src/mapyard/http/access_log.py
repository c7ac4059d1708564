"""The access log: one JSON line per request, without keys, query strings and addresses of paths.

Lines are gathered and written together some times a second, whole lines at a time, so that lines
of several workers on one pipe do not mix. A thread writes: a reader that stops reading holds up no
request, but loses lines, which are counted.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import sys
import time
from pathlib import Path
from typing import Any, Final

import orjson

from mapyard.threads import BoundedThread

_MOST_BYTES: Final = 4_096  # what a pipe takes at once without mixing
#: Blocks of lines that wait for a slow reader: some megabytes.
_MOST_WAITING: Final = 1_024
_CLOSE_S: Final = 1.0


class AccessLog:
    """Writes to a file descriptor; `fd` < 0 writes nothing."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lines: list[bytes] = []
        self._size = 0
        self._writer: BoundedThread | None = None
        #: Lines that were dropped.
        self.lost = 0

    @classmethod
    def open(cls, target: str) -> AccessLog:
        """Return the log of a setting: "-" is standard output, "" none, else a file's path."""
        if not target:
            return cls(-1)
        if target == "-":
            return cls(sys.stdout.fileno())
        path = Path(target)
        path.parent.mkdir(parents=True, exist_ok=True)
        return cls(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600))

    def write(self, **fields: Any) -> None:
        """Add one line; `ts` (ISO 8601, UTC) is put first."""
        if self._fd < 0:
            return
        line = orjson.dumps({"ts": now_text(), **fields}, option=orjson.OPT_APPEND_NEWLINE)
        if self._size + len(line) > _MOST_BYTES:
            self.flush()
        self._lines.append(line)
        self._size += len(line)

    def flush(self) -> None:
        """Write what was gathered. A log that cannot be written stops no answer."""
        if not self._lines:
            return
        if self._writer is None:
            self._writer = BoundedThread("access-log", _MOST_WAITING)
        text = b"".join(self._lines)
        if not self._writer.submit(lambda: write_whole(self._fd, text)):
            self.lost += len(self._lines)
        self._lines, self._size = [], 0

    def close(self) -> None:
        """Write what is left, as far as the reader takes it."""
        self.flush()
        if self._writer is not None:
            self._writer.close(_CLOSE_S)
            self._writer = None


def write_whole(fd: int, text: bytes) -> None:
    """Write all of a text; a log that cannot be written stops nothing."""
    with contextlib.suppress(OSError):
        while text:
            text = text[os.write(fd, text) :]


def now_text() -> str:
    """Return the time as ISO 8601 with milliseconds, UTC."""
    seconds = time.time()
    return f"{_second_text(int(seconds))}.{int(seconds % 1 * 1000):03d}Z"


_last: tuple[int, str] = (0, "")


def _second_text(second: int) -> str:
    global _last
    if _last[0] != second:
        _last = (second, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second)))
    return _last[1]


class LogHandler(logging.Handler):
    """Writes program log lines in a thread: nothing waits for whoever reads them."""

    def __init__(self, fd: int) -> None:
        super().__init__()
        self._fd = fd
        self._writer = BoundedThread("log", _MOST_WAITING)
        atexit.register(self._writer.close, _CLOSE_S)

    def emit(self, record: logging.LogRecord) -> None:
        """Queue one line."""
        text = (self.format(record) + "\n").encode("utf-8", "replace")
        self._writer.submit(lambda: write_whole(self._fd, text))


class JsonFormatter(logging.Formatter):
    """Program log lines as JSON; the trace of an exception is a member, never a bare text."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        fields: dict[str, Any] = {
            "ts": now_text(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        request_id = getattr(record, "request_id", None)
        if request_id:
            fields["request_id"] = request_id
        if record.exc_info:
            fields["trace"] = self.formatException(record.exc_info)
        return orjson.dumps(fields, default=str).decode()


def set_up_logging(level: str, *, in_thread: bool = True) -> None:
    """Send all program logs to standard error as JSON lines; who forks has no threads."""
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    if in_thread:
        handler = LogHandler(sys.stderr.fileno())
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # The server's own lines: refusals of broken requests are the client's business, not ours.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    logging.getLogger("uvicorn.access").setLevel(logging.CRITICAL)
    logging.getLogger("alembic").setLevel(logging.WARNING)
