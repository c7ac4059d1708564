"""Map sessions: for fifteen minutes a token opens what a map is drawn from, and counts no units.

A token names account, key, end and the session's name, and is signed: any worker, and any machine
with the same secret, reads it without asking. What a session has used lies in a mapped file of its
own, exact over all workers of a machine; several machines count for themselves.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from mapyard.accounts import window
from mapyard.accounts.decisions import Decision, day_and_month, whole_seconds
from mapyard.accounts.errors import AccountsUnavailable, MustAsk
from mapyard.accounts.mapped import FIRST, MappedWords
from mapyard.accounts.plans import WINDOW_S, Limits
from mapyard.errors import MapyardError
from mapyard.private import make_private_folder

LIFE_S: Final = 900
_PREFIX: Final = "ms_"
_MAGIC: Final = 0x4D59_4D41_5053_3031  # "MYMAPS01"
_TILES: Final = FIRST
_RING: Final = 8
_LEAST_CAPACITY: Final = 256
_OPEN_FILES: Final = 256
_SWEEP_S: Final = 60.0
#: Clocks of machines may differ by this; no file is needed longer after the end.
_GRACE_S: Final = 60


class MapSession(NamedTuple):
    """What a token says."""

    account_id: int
    key_id: int
    ends_s: int
    name: str


class MapSessionRefused(MapyardError):  # noqa: N818 - as in errors.py, named after its code
    """The token of a map session is not ours, or its time is over."""

    status, code = 401, "invalid_map_session"


class MapSessions:
    """The map sessions of one worker; their files in `folder` are shared with all others."""

    def __init__(
        self,
        folder: Path,
        secret: bytes,
        *,
        clock: Callable[[], float] = time.time,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        make_private_folder(folder)
        self._folder = folder
        self._secret = secret
        self._clock = clock
        self._monotonic_ns = monotonic_ns
        self._window_ns = int(WINDOW_S * 1e9)
        self._files: OrderedDict[str, MappedWords] = OrderedDict()
        self._lock = threading.Lock()
        self._swept_s = 0.0

    def begin(self, account_id: int, key_id: int) -> tuple[str, int]:
        """Return a new token and the Unix time of its end; may wait for the disk."""
        self._sweep()
        ends_s = int(self._clock()) + LIFE_S
        text = f"{account_id}.{key_id}.{ends_s}.{secrets.token_hex(8)}"
        return f"{_PREFIX}{text}.{self._sign(text)}", ends_s

    def read(self, token: str) -> MapSession:
        """Return what a token says, or raise MapSessionRefused."""
        text, _, signature = token.removeprefix(_PREFIX).rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._sign(text).encode()):
            raise MapSessionRefused(
                "this map session is not valid; look whether the address was copied whole, "
                "or begin another by POST /api/v1/tiles/session"
            )
        account_id, key_id, ends_s, name = text.split(".")
        if int(ends_s) <= self._clock():
            raise MapSessionRefused(
                "this map session is over; begin another by POST /api/v1/tiles/session"
            )
        return MapSession(int(account_id), int(key_id), int(ends_s), name)

    def check(
        self, session: MapSession, limits: Limits, *, is_tile: bool, may_wait: bool = True
    ) -> Decision:
        """Admit one request of a session, or say which of its limits forbids it.

        A first request opens a file: with `may_wait` False it raises MustAsk instead.
        """
        if not may_wait and session.name not in self._files:
            raise MustAsk
        now_s, now_ns = self._clock(), self._monotonic_ns()
        limit = limits.map_per_minute
        day, month = day_and_month(now_s)
        code, free_ns = "", now_ns + self._window_ns
        with self._lock, self._open(session) as file:
            words = file.words
            ring = words[_RING:]
            count = window.count_recent(ring, now_ns, self._window_ns)
            if count:
                free_ns = window.oldest_ns(ring) + self._window_ns
            if count >= limit:
                code = "rate_limited"
                free_ns = window.free_at_ns(ring, self._window_ns, limit)
            elif is_tile and words[_TILES] >= limits.map_tiles:
                code = "map_session_used_up"
            else:
                if count >= ring[window.CAPACITY]:
                    ring.release()  # the file is mapped anew
                    file.lengthen(_RING + window.words_needed(2 * count))
                    words = file.words
                    ring = words[_RING:]
                    window.grow(ring, 2 * count)
                words[_TILES] += is_tile
                window.push(ring, now_ns)
                count += 1
        wait_s = (free_ns - now_ns) / 1e9
        return Decision(
            allowed=not code,
            code=code,
            limit=limit,
            remaining=max(0, limit - count),
            reset_s=whole_seconds(now_s + wait_s),
            retry_after_s=whole_seconds(wait_s) if code else 0,
            admitted_s=int(now_s),
            day=day,
            month=month,
            account_id=session.account_id,
            key_id=session.key_id,
            local=True,
        )

    def close(self) -> None:
        """Close all files."""
        with self._lock:
            while self._files:
                self._files.popitem()[1].close()

    def _open(self, session: MapSession) -> MappedWords:
        """Return the open file of a session; the lock is held."""
        file = self._files.get(session.name)
        if file is not None:
            return file
        path = self._folder / f"{session.ends_s}-{session.name}.session"
        try:
            file = MappedWords(
                path, magic=_MAGIC, length=_RING + window.words_needed(_LEAST_CAPACITY)
            )
            with file:
                if not file.words[_RING + window.CAPACITY]:
                    file.words[_RING + window.CAPACITY] = _LEAST_CAPACITY
        except OSError as error:
            raise AccountsUnavailable(f"limits cannot be kept: {error.strerror}") from error
        self._files[session.name] = file
        if len(self._files) > _OPEN_FILES:
            self._files.popitem(last=False)[1].close()
        return file

    def _sweep(self) -> None:
        """Delete the files of sessions that are over, at most once a minute."""
        now_s = self._clock()
        with self._lock:
            if abs(now_s - self._swept_s) < _SWEEP_S:
                return
            self._swept_s = now_s
        for path in self._folder.glob("*.session"):
            ends_s = path.name.partition("-")[0]
            if ends_s.isdecimal() and int(ends_s) + _GRACE_S < now_s:
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)

    def _sign(self, text: str) -> str:
        made = hmac.new(self._secret, b"map session " + text.encode(), hashlib.sha256)
        return made.hexdigest()[:32]
