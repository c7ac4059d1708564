"""Files in object storage: s3, gs, az, http (to read), or a folder.

By obstore: one small package without dependencies reads and writes all of them, in parts and with
retries, and takes credentials from the environment as each provider's own tools do.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from mapyard.dataset.manifest import FilePart, is_as_written
from mapyard.errors import MapyardError
from mapyard.library.results.tables import need

_CHUNK: Final = 8 << 20
_DELETED_AT_ONCE: Final = 1_000


class Objects:
    """A place for files by name: a URL, or a folder."""

    def __init__(self, url: str) -> None:
        store = need("obstore.store", "fleet")
        self.url = url.rstrip("/")
        self._obstore = need("obstore", "fleet")
        try:
            if "://" in url:
                self._store: Any = store.from_url(self.url)
            else:
                folder = Path(url).resolve()
                self._store = store.LocalStore(str(folder), mkdir=True)
        except Exception as error:  # obstore has no common class for wrong addresses
            raise MapyardError(f"{url} is not a place for files: {error}") from None

    def put_file(self, name: str, path: Path) -> None:
        """Write a file."""
        self._run(name, lambda: self._obstore.put(self._store, name, path))

    def put(self, name: str, data: bytes) -> None:
        """Write some bytes."""
        self._run(name, lambda: self._obstore.put(self._store, name, data))

    def get(self, name: str) -> bytes | None:
        """Return the bytes of a file, None where it is not there."""
        try:
            return bytes(self._run(name, lambda: self._obstore.get(self._store, name).bytes()))
        except FileNotFoundError:
            return None

    def get_file(self, name: str, path: Path, expected: FilePart | None = None) -> None:
        """Read a file to `path`; raise where it is not as `expected`."""
        path.parent.mkdir(parents=True, exist_ok=True)

        def read() -> None:
            with path.open("wb") as file:
                found = self._obstore.get(self._store, name)
                for chunk in found.stream(min_chunk_size=_CHUNK):
                    file.write(chunk)

        try:
            self._run(name, read)
        except FileNotFoundError:
            raise MapyardError(f"{self.url}/{name} is not there") from None
        if expected is not None and not is_as_written(path, expected):
            path.unlink()
            raise MapyardError(f"{self.url}/{name} is not as it was written: its checksum differs")

    def list(self, prefix: str, before: datetime | None = None) -> list[str]:
        """Return the names of all files below a prefix, sorted; of those written before a time."""
        found = self._run(
            prefix,
            lambda: [
                entry["path"]
                for page in self._obstore.list(self._store, prefix)
                for entry in page
                if before is None or entry["last_modified"] < before
            ],
        )
        return sorted(found)

    def delete(self, names: Sequence[str]) -> None:
        """Remove files; those that are not there are no fault."""
        for start in range(0, len(names), _DELETED_AT_ONCE):
            some = list(names[start : start + _DELETED_AT_ONCE])
            with contextlib.suppress(FileNotFoundError):
                self._run(some[0], partial(self._obstore.delete, self._store, some))

    def _run(self, name: str, work: Any) -> Any:
        try:
            return work()
        except FileNotFoundError:
            raise
        except OSError as error:
            raise MapyardError(f"{self.url}/{name}: {error}") from None
        except self._obstore.exceptions.BaseError as error:
            raise MapyardError(f"{self.url}/{name}: {str(error).splitlines()[0]}") from None
