"""The floor that a way of a building is on, out of the texts of a tile."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

#: An edge's record: way id, elevation and the like, then the number of its texts in 4 bits.
_RECORD_BYTES: Final = 12
_TEXTS_AT: Final = 8
#: A text: its offset in 24 bits, and whether it is a value with a kind as its first byte.
_TEXT_BYTES: Final = 4
_IS_VALUE: Final = 1 << 29
_LEVELS: Final = 8
_NEXT_RANGE: Final = 1_048_575


def read_level(raw: NDArray[np.uint8], record: int, texts: int) -> float:
    """Return the floor of an edge, NaN where it has none or lies on several.

    `record` is the place of its record in the tile, `texts` that of the tile's texts.
    """
    count = int(raw[record + _TEXTS_AT]) & 15
    first = record + _RECORD_BYTES
    words = raw[first : first + count * _TEXT_BYTES].tobytes()
    for word in np.frombuffer(words, np.uint32).tolist():
        at = texts + (word & 0xFFFFFF)
        if word & _IS_VALUE and raw[at] == _LEVELS:
            return _decode_level(raw, at + 1)
    return float("nan")


def _decode_level(raw: NDArray[np.uint8], at: int) -> float:
    """Read the number of bytes, the decimal places (0 or 1), then floors and ends of ranges."""
    size, at = _read_number(raw, at)
    end = at + size
    places, at = _read_number(raw, at)
    floors: list[int] = []
    while at < end:
        floor, at = _read_number(raw, at)
        floors.append(floor)
    if _NEXT_RANGE in floors or len(set(floors)) != 1:
        return float("nan")
    return floors[0] / (10 if places > 0 else 1)


def _read_number(raw: NDArray[np.uint8], at: int) -> tuple[int, int]:
    """Return a number of 7 bits a byte, its sign in the lowest one, and the place after it."""
    number = shift = 0
    while True:
        byte = int(raw[at])
        number |= (byte & 127) << shift
        shift += 7
        at += 1
        if byte < 128:
            return (~number if number & 1 else number) >> 1, at
