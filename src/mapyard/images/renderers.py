"""The processes that draw pictures: started at need, one picture at a time, ended when late."""

from __future__ import annotations

import importlib.util
import os
import queue
import select
import subprocess
import sys
import tempfile
from typing import IO, Any, Final

import msgspec

from mapyard.deadline import Deadline
from mapyard.errors import MapyardError, NotInstalled, Overloaded
from mapyard.images.child import DRAWN, READY
from mapyard.images.picture import Picture

_LOOK_S: Final = 0.2
#: An answer longer than this is none: the process has gone wrong.
_MOST_BYTES: Final = 200_000_000
_PACKAGES: Final = "libegl1 libegl-mesa0 libgl1-mesa-dri"
_CPUS: Final = 2


class NotDrawn(MapyardError):  # noqa: N818 - as in errors.py
    """A picture could not be drawn, through no fault of who asked."""


class _Ended(NotDrawn):
    """The process is gone."""


class Renderers:
    """At most `count` processes; safe to use from several threads."""

    def __init__(self, count: int) -> None:
        self._free: queue.LifoQueue[_Child | None] = queue.LifoQueue()
        for _ in range(count):
            self._free.put(None)

    def draw(self, picture: Picture, deadline: Deadline) -> bytes:
        """Return the encoded picture.

        Raises NotInstalled where the extra or OpenGL is missing, NotDrawn, Overloaded when no
        process is free within half of the time, Timeout.
        """
        try:
            child = self._free.get(timeout=deadline.remaining_s() / 2)
        except queue.Empty:
            raise Overloaded("all processes that draw pictures are at work; try again") from None
        try:
            drawn = None
            if child is not None:
                try:
                    drawn = child.ask(picture, deadline)
                except _Ended:  # it was idle for long, or had grown
                    child.end()
                    child = None
            if child is None or drawn is None:
                child = _Child(deadline)
                drawn = child.ask(picture, deadline)
        except BaseException:
            if child is not None:
                child.end()
            self._free.put(None)
            raise
        self._free.put(child)
        kind, body = drawn
        if kind != DRAWN:
            raise NotDrawn(f"the map could not be drawn: {body.decode(errors='replace')[:200]}")
        return body

    def close(self) -> None:
        """End the processes that are free."""
        while True:
            try:
                child = self._free.get_nowait()
            except queue.Empty:
                return
            if child is not None:
                child.end()


class _Child:
    """One process."""

    def __init__(self, deadline: Deadline) -> None:
        """Start it and wait until it can draw; raise NotInstalled where it never will."""
        check_installed()
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MAPYARD_")}
        if "DISPLAY" not in environment:
            environment.setdefault("EGL_PLATFORM", "surfaceless")
            environment.setdefault("LIBGL_ALWAYS_SOFTWARE", "1")
            environment.setdefault("LP_NUM_THREADS", str(_CPUS))
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `end`
        self._process = subprocess.Popen(
            [sys.executable, "-m", "mapyard.images.child"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, env=environment,
        )  # fmt: skip
        try:
            kind, _ = self._read(deadline)
        except _Ended:
            said = self._last_words()
            self.end()
            raise NotInstalled(
                "this server cannot draw pictures: OpenGL does not work here"
                f" ({said or 'no reason given'}). On Debian: apt-get install {_PACKAGES}"
            ) from None
        except BaseException:
            self.end()
            raise
        assert kind == READY

    def ask(self, picture: Picture, deadline: Deadline) -> tuple[bytes, bytes]:
        """Return the kind and the body of its answer."""
        body = msgspec.msgpack.encode(picture)
        stdin: Any = self._process.stdin
        try:
            stdin.write(len(body).to_bytes(4, "big") + body)
            stdin.flush()
        except OSError:
            raise _Ended("the process that draws ended; try again") from None
        return self._read(deadline)

    def end(self) -> None:
        """Kill it and wait for its end."""
        self._process.kill()
        self._process.wait()
        for file in (self._process.stdin, self._process.stdout, self._log):
            try:
                if file is not None:
                    file.close()
            except OSError:  # what was not written to a process that is gone
                continue

    def _read(self, deadline: Deadline) -> tuple[bytes, bytes]:
        head = self._take(5, deadline)
        length = int.from_bytes(head[1:], "big")
        if length > _MOST_BYTES:
            raise NotDrawn("the process that draws went wrong; try again")
        return head[:1], self._take(length, deadline)

    def _take(self, count: int, deadline: Deadline) -> bytes:
        """Return so many bytes of its output; raise Timeout or Cancelled while waiting."""
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        parts: list[bytes] = []
        while count:
            if not select.select([fd], [], [], _LOOK_S)[0]:
                deadline.check()
                continue
            part = os.read(fd, min(count, 1 << 20))
            if not part:
                raise _Ended("the process that draws ended; try again")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def _last_words(self) -> str:
        self._log.seek(0)
        lines = self._log.read()[-2_000:].decode(errors="replace").strip().splitlines()
        return lines[-1].strip()[:200] if lines else ""


def check_installed() -> None:
    """Raise NotInstalled unless the extra is there."""
    for name in ("pymgl", "PIL"):
        if importlib.util.find_spec(name) is None:
            raise NotInstalled(
                "pictures of maps need the extra images: pip install 'mapyard[images]'"
            )
