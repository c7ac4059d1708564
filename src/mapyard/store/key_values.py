"""Which value each posting of a key has: numbers from 0, in the fewest bytes by key.

Most keys have fewer than 256 values, and nearly all fewer than 65,536.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.store.columns import ColumnWriter, open_column, write_column

_TYPES: Final = (np.dtype("<u1"), np.dtype("<u2"), np.dtype("<u4"))
_ALIGNED_BYTES: Final = 4


class KeyValuesWriter:
    """Appends the numbers of one key after the other; a place is a byte times four, plus a type."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._bytes = ColumnWriter(folder, "key_value_bytes", np.uint8)
        self._places: list[int] = []
        self._type: np.dtype[Any] = _TYPES[0]

    def begin(self, largest: int) -> None:
        """Begin the next key, whose numbers go up to `largest`."""
        code = (largest > 0xFF) + (largest > 0xFFFF)
        self._places.append(self._bytes.length << 2 | code)
        self._type = _TYPES[code]

    def extend(self, numbers: NDArray[Any]) -> None:
        """Append numbers of the key."""
        self._bytes.append(np.ascontiguousarray(numbers, self._type).view(np.uint8))

    def end(self) -> None:
        """End the key."""
        self._bytes.append(np.zeros(-self._bytes.length % _ALIGNED_BYTES, np.uint8))

    def close(self) -> None:
        """Write the places and close the file."""
        self._bytes.close()
        write_column(self._folder, "key_value_places", np.array(self._places, np.int64))


class KeyValues:
    """The numbers of a key's postings, by the index of the key."""

    def __init__(self, folder: Path) -> None:
        self._bytes: NDArray[np.uint8] = open_column(folder, "key_value_bytes")
        self._places: NDArray[np.int64] = open_column(folder, "key_value_places")

    def get(self, key: int, count: int) -> NDArray[Any]:
        """Return the numbers of all `count` postings of a key, without a copy."""
        place = int(self._places[key])
        kind, start = _TYPES[place & 3], place >> 2
        return self._bytes[start : start + count * kind.itemsize].view(kind)
