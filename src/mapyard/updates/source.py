"""A replication source: its state, its diffs, fetched into a folder and kept until applied.

The layout is the one of planet.openstreetmap.org and Geofabrik: URL/state.txt names the newest
sequence, URL/NNN/NNN/NNN.osc.gz and .state.txt are one diff each.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx

from mapyard.addresses import split_login
from mapyard.errors import MapyardError

_TRIES = 3
_MAX_STATE_BYTES = 10_000
_MAX_DIFF_BYTES = 1_000_000_000
#: A day of the whole planet unpacks to some two gigabytes.
_MAX_UNPACKED_BYTES = 20_000_000_000


class SourceUnreachable(MapyardError):  # noqa: N818
    """The replication source does not answer; worth trying again later."""

    status = 503


class BadDiff(MapyardError):  # noqa: N818
    """A diff that is missing, cut off or no diff; the dataset stays as it is."""

    status = 422


class MissingDiff(BadDiff):
    """A diff that the source does not have: a gap, or it was not published yet."""


@dataclass(slots=True, frozen=True)
class State:
    """One state: the sequence number, and the time up to which its diff goes."""

    sequence: int
    timestamp: str


def parse_state(text: str, url: str) -> State:
    """Parse a state.txt; raises BadDiff when it is none."""
    fields = {}
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if not line.startswith("#"):
            fields[key.strip()] = value.strip().replace("\\:", ":")
    try:
        when = datetime.fromisoformat(fields["timestamp"]).astimezone(UTC)
        return State(int(fields["sequenceNumber"]), when.strftime("%Y-%m-%dT%H:%M:%SZ"))
    except (KeyError, ValueError):
        raise BadDiff(f"{url} is not a replication state: no sequenceNumber or timestamp") from None


def sequence_path(sequence: int) -> str:
    """Return the path of a diff without its suffix, such as 000/004/612."""
    digits = f"{sequence:09d}"
    return f"{digits[:3]}/{digits[3:6]}/{digits[6:]}"


class ReplicationSource:
    """Fetches states and diffs over HTTP; a context manager.

    `url` is the address without a login, which goes to the server alone.
    """

    def __init__(self, url: str, timeout_s: float = 60.0) -> None:
        address, login = split_login(url)
        self.url = address.rstrip("/")
        self._client = httpx.Client(
            timeout=timeout_s, follow_redirects=True, headers={"User-Agent": "mapyard"}, auth=login
        )

    def __enter__(self) -> ReplicationSource:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def newest(self) -> State:
        """Return the newest published state."""
        return self._state(f"{self.url}/state.txt")

    def state(self, sequence: int) -> State:
        """Return the state of one diff."""
        state = self._state(f"{self.url}/{sequence_path(sequence)}.state.txt")
        if state.sequence != sequence:
            raise BadDiff(
                f"{self.url} says sequence {state.sequence} where {sequence} belongs: its diffs "
                "are out of order; nothing was applied"
            )
        return state

    def fetch_diff(self, sequence: int, folder: Path) -> Path:
        """Fetch one diff into a folder, or take it from there; it is whole when it has its name.

        Raises SourceUnreachable, or BadDiff when it is missing or does not unpack.
        """
        target = folder / f"{sequence:09d}.osc.gz"
        if target.exists():
            return target
        folder.mkdir(parents=True, exist_ok=True)
        url = f"{self.url}/{sequence_path(sequence)}.osc.gz"
        body = self._get(url, _MAX_DIFF_BYTES)
        try:
            end = _end_of_gzip(body)
        except (OSError, EOFError, zlib.error):
            raise BadDiff(f"{url} is cut off or no gzip file; nothing was applied") from None
        if end is None:
            raise BadDiff(f"{url} unpacks to more than {_MAX_UNPACKED_BYTES:,} bytes")
        if not end.rstrip().endswith((b"</osmChange>", b"<osmChange/>", b"/>")):
            raise BadDiff(f"{url} is cut off; nothing was applied")
        partial = folder / f"{target.name}.partial"
        partial.write_bytes(body)
        partial.replace(target)
        return target

    def _state(self, url: str) -> State:
        return parse_state(self._get(url, _MAX_STATE_BYTES).decode(errors="replace"), url)

    def _get(self, url: str, limit_bytes: int) -> bytes:
        return _retry(lambda: self._get_once(url, limit_bytes), url)

    def _get_once(self, url: str, limit_bytes: int) -> bytes:
        with self._client.stream("GET", url) as response:
            if response.status_code == 404:
                raise MissingDiff(f"{url} does not exist: the source has a gap, or ended")
            if response.status_code >= 500 or response.status_code == 429:
                raise httpx.TransportError(f"status {response.status_code}")
            if response.status_code != 200:
                raise BadDiff(f"{url} answered {response.status_code}")
            body = bytearray()
            for chunk in response.iter_raw():
                body += chunk
                if len(body) > limit_bytes:
                    raise BadDiff(f"{url} is larger than {limit_bytes:,} bytes")
            return bytes(body)


def open_source(where: str) -> ReplicationSource:
    """Return the source of a URL, or of a folder."""
    return ReplicationSource(where) if "://" in where else FolderSource(Path(where))


class FolderSource(ReplicationSource):
    """The same in a folder of this machine."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise SourceUnreachable(f"{folder} is neither an address (https://…) nor a folder")
        self.url = str(folder.resolve())

    def __exit__(self, *_: object) -> None:
        pass

    def _get(self, url: str, limit_bytes: int) -> bytes:
        try:
            body = Path(url).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise MissingDiff(f"{url} does not exist: the source has a gap, or ended") from None
        except OSError as error:
            raise SourceUnreachable(f"{url} cannot be read: {error.strerror}") from None
        if len(body) > limit_bytes:
            raise BadDiff(f"{url} is larger than {limit_bytes:,} bytes")
        return body


def _end_of_gzip(body: bytes) -> bytes | None:
    """Return the last bytes that a gzip file holds, None when it holds too much.

    Reads it in parts: what a few kilobytes unpack to can be more than the memory.
    """
    end, size = b"", 0
    with gzip.open(io.BytesIO(body)) as file:
        while part := file.read(1 << 20):
            size += len(part)
            if size > _MAX_UNPACKED_BYTES:
                return None
            end = (end + part)[-64:]
    return end


def _say(error: httpx.TransportError) -> str:
    """Return what went wrong on the way to a server, in words."""
    if isinstance(error, httpx.TimeoutException):
        return "it does not answer in time"
    text = str(error)
    if "[Errno -" in text:  # of getaddrinfo
        return "there is no server of this name, or no network"
    return text.rpartition("] ")[2].lower() or type(error).__name__


def _retry(fetch: Callable[[], bytes], url: str) -> bytes:
    last = ""
    for _ in range(_TRIES):
        try:
            return fetch()
        except httpx.TransportError as error:
            last = _say(error)
        except httpx.InvalidURL as error:
            raise SourceUnreachable(f"{url} is not an address: {error}") from None
    raise SourceUnreachable(f"{url} cannot be reached: {last}")
