"""Limit of requests without a valid key: so many a minute per client address.

One mapped file of fixed size for all addresses: 2,048 sets of four windows, addressed by a hash
with a secret of the file. A new address takes the place in its set that was quiet longest, so a
flood of addresses costs no memory; it can at most forget the counts of others.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import Final

from mapyard.accounts import window
from mapyard.accounts.decisions import Decision, whole_seconds
from mapyard.accounts.mapped import FIRST, MappedWords
from mapyard.accounts.plans import WINDOW_S

_MAGIC: Final = 0x4D59_4144_4452_3031  # "MYADDR01"
_SETS: Final = 2_048
_WAYS: Final = 4
_SECRET: Final = FIRST  # two words
_TABLE: Final = 8


class AddressLimiter:
    """At most `limit` requests per address in any `window_s`, over all processes of the machine."""

    def __init__(
        self,
        path: Path,
        limit: int,
        *,
        window_s: float = WINDOW_S,
        clock: Callable[[], float] = time.time,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._limit = limit
        self._window_ns = int(window_s * 1e9)
        self._clock = clock
        self._monotonic_ns = monotonic_ns
        self._width = 1 + window.words_needed(limit)
        # The limit is part of the magic: with another one the file begins anew.
        self._file = MappedWords(
            path, magic=_MAGIC + (limit << 8), length=_TABLE + _SETS * _WAYS * self._width
        )
        self._lock = threading.Lock()
        with self._file as file:
            if not file.words[_SECRET]:
                file.words[_SECRET] = secrets.randbits(63) | 1
                file.words[_SECRET + 1] = secrets.randbits(63)
            self._secret = bytes(file.words[_SECRET : _SECRET + 2])

    def check(self, address: str, *, take: bool = True) -> Decision:
        """Admit a request of this address, or say when to come back.

        With `take` False nothing is counted: the state is shown only.
        """
        name = self._name(address)
        now_ns, now_s, limit = self._monotonic_ns(), self._clock(), self._limit
        with self._lock, self._file as file:
            ring = file.words[self._find(name) + 1 :]
            count = window.count_recent(ring, now_ns, self._window_ns)
            free_ns = now_ns + self._window_ns
            if count >= limit:
                free_ns = window.free_at_ns(ring, self._window_ns, limit)
            elif count:
                free_ns = window.oldest_ns(ring) + self._window_ns
            allowed = count < limit
            if allowed and take:
                window.push(ring, now_ns)
                count += 1
        wait_s = (free_ns - now_ns) / 1e9 if count else 0.0
        return Decision(
            allowed=allowed,
            code="" if allowed else "rate_limited",
            limit=limit,
            remaining=limit - count,
            reset_s=whole_seconds(now_s + wait_s),
            retry_after_s=0 if allowed else whole_seconds(wait_s),
        )

    def give_back(self, address: str) -> None:
        """Forget the newest request of this address: it was not of the kind that counts."""
        name = self._name(address)
        with self._lock, self._file as file:
            window.pop(file.words[self._find(name) + 1 :])

    def _name(self, address: str) -> int:
        digest = hashlib.blake2b(network_of(address), key=self._secret, digest_size=8).digest()
        return int.from_bytes(digest, "little", signed=True) or 1

    def close(self) -> None:
        """Unmap the file."""
        self._file.close()

    def _find(self, name: int) -> int:
        """Return where the window of this name begins; the lock is held."""
        words = self._file.words
        first = _TABLE + (name % _SETS) * _WAYS * self._width
        quietest, quietest_ns = first, None
        for at in range(first, first + _WAYS * self._width, self._width):
            if words[at] == name:
                return at
            head = words[at + 1 + window.HEAD]
            last_ns = words[at + 1 + window.STAMPS + (head - 1) % self._limit] if head else -1
            if quietest_ns is None or last_ns < quietest_ns:
                quietest, quietest_ns = at, last_ns
        words[quietest] = name
        words[quietest + 1 + window.HEAD] = 0
        words[quietest + 1 + window.TAIL] = 0
        words[quietest + 1 + window.CAPACITY] = self._limit
        return quietest


def network_of(address: str) -> bytes:
    """Return what of an address is counted together: IPv4 whole, IPv6 by its /64.

    Text that is no address (a Unix socket, a broken proxy header) is counted by itself.
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address.encode("utf-8", "replace")[:64]
    if isinstance(parsed, IPv6Address):
        return parsed.ipv4_mapped.packed if parsed.ipv4_mapped else parsed.packed[:8]
    return parsed.packed
