"""Byte strings written one after the other, and offsets out of lengths, without holding either."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.store.columns import ColumnWriter, open_column

_AT_ONCE: Final = 1 << 20


class OffsetsWriter:
    """Appends lengths of runs; closing writes their offsets as the column `name`.

    Offsets take four bytes where these suffice, which is known in the end only.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._lengths = ColumnWriter(folder, f"{name}_lengths", np.int64)
        self._total = 0

    def append(self, lengths: NDArray[Any]) -> None:
        """Append lengths."""
        self._lengths.append(np.asarray(lengths, np.int64))
        self._total += int(lengths.sum())

    def abandon(self) -> None:
        """Close the file as it is."""
        self._lengths.abandon()

    def close(self) -> None:
        """Write the offsets."""
        self._lengths.close()
        name = f"{self._name}_lengths"
        lengths = open_column(self._folder, name)
        total = 0
        kind = np.uint32 if self._total < 1 << 32 else np.int64
        with ColumnWriter(self._folder, self._name, kind) as writer:
            writer.append(np.zeros(1, kind))
            for start in range(0, len(lengths), _AT_ONCE):
                ends = np.cumsum(lengths[start : start + _AT_ONCE]) + total
                writer.append(ends)
                total = int(ends[-1])
        (self._folder / f"{name}.npy").unlink()


class HeapWriter:
    """Appends byte strings to `name_bytes` and `name_offsets`."""

    def __init__(self, folder: Path, name: str) -> None:
        self._bytes = ColumnWriter(folder, f"{name}_bytes", np.uint8)
        self._offsets = OffsetsWriter(folder, f"{name}_offsets")

    def append(self, items: list[bytes]) -> None:
        """Append strings."""
        self._offsets.append(np.fromiter(map(len, items), np.int64, len(items)))
        self._bytes.append(np.frombuffer(b"".join(items), np.uint8))

    def close(self) -> None:
        """Write the offsets and close the file."""
        self._bytes.close()
        self._offsets.close()
