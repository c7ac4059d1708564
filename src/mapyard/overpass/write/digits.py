"""Text made in arrays: rows of constant bytes and numbers, written for all elements at once.

Every column is a byte matrix with one line per row, filled up with zero bytes; side by side they
are the rows, and dropping the zero bytes gives the text. That is several times faster than
formatting one number after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

type Bytes = NDArray[np.uint8]  # (n, width), or (1, width) for a constant

#: Stands where a text of varying length is to be put; never occurs in JSON.
SLOT = b"\x01"

_DIGITS = [f"{number:04d}" for number in range(10_000)]
_WORD = np.dtype(np.uint32)  # four bytes, moved as one


def _words(texts: Sequence[str]) -> NDArray[np.uint32]:
    return np.frombuffer("".join(texts).encode(), np.uint8).view(_WORD)


#: Four digits as a word; from 10,000 on for numbers that begin here: without leading zeros.
_INNER = _words(_DIGITS + [text.lstrip("0").rjust(4, "\0") for text in _DIGITS])
#: The same for the last four digits, where 0 is written.
_LAST = _words(_DIGITS + [(text.lstrip("0") or "0").rjust(4, "\0") for text in _DIGITS])


def constant(text: bytes) -> Bytes:
    """Return the column of one text for all rows."""
    return np.frombuffer(text, np.uint8)[None, :]


def either(mask: NDArray[np.bool_], yes: bytes, no: bytes = b"") -> Bytes:
    """Return the column of one text or another."""
    width = max(len(yes), len(no))
    table = np.zeros((2, width), np.uint8)
    table[0, : len(no)] = np.frombuffer(no, np.uint8)
    table[1, : len(yes)] = np.frombuffer(yes, np.uint8)
    return table[mask.astype(np.uint8)]


def only(column: Bytes, mask: NDArray[np.bool_]) -> Bytes:
    """Return a column blanked where the mask is false; a constant stays one where it is not."""
    return column if mask.all() else column * mask[:, None]


def one_of(codes: NDArray[Any], texts: Sequence[bytes]) -> Bytes:
    """Return the column of a text per code."""
    table = np.zeros((len(texts), max(map(len, texts), default=0)), np.uint8)
    for index, text in enumerate(texts):
        table[index, : len(text)] = np.frombuffer(text, np.uint8)
    return table[codes]


def _split(values: NDArray[np.int64], least: int) -> list[NDArray[np.uint32]]:
    """Return numbers ≥ 0 as groups of four digits, highest first, at least `least` groups."""
    groups: list[NDArray[np.uint32]] = []
    highest = int(values.max(initial=0))
    while highest >= 10_000 or len(groups) < least - 1:
        if highest >= 2**32:
            high = values // 100_000_000
            low = (values - high * 100_000_000).astype(np.uint32)
            upper = low // np.uint32(10_000)
            groups[:0] = [upper, low - upper * np.uint32(10_000)]
            values, highest = high, highest // 100_000_000
        else:
            short = values.astype(np.uint32, copy=False)
            high32 = short // np.uint32(10_000)
            groups.insert(0, short - high32 * np.uint32(10_000))
            values, highest = high32, highest // 10_000  # type: ignore[assignment] # narrower
    return [values.astype(np.uint32, copy=False), *groups]


def integers(values: NDArray[Any]) -> Bytes:
    """Return the column of whole numbers."""
    wide = np.asarray(values, np.int64)
    negative = wide < 0
    has_negative = bool(negative.any())
    groups = _split(np.abs(wide) if has_negative else wide, 1)
    words = np.empty((len(wide), len(groups)), _WORD)
    begins: NDArray[np.bool_] | None = None
    for place, group in enumerate(groups):
        table = _LAST if place == len(groups) - 1 else _INNER
        # A group is written without leading zeros as long as all before it are 0.
        shift = np.uint32(10_000) if begins is None else begins * np.uint32(10_000)
        words[:, place] = table[group + shift]
        begins = group == 0 if begins is None else begins & (group == 0)
    digits = words.view(np.uint8)
    return np.hstack([either(negative, b"-"), digits]) if has_negative else digits


def degrees(values: NDArray[Any]) -> Bytes:
    """Return the column of 1e-7 degrees as degrees with 7 decimals."""
    wide = np.asarray(values, np.int64)
    negative = wide < 0
    has_negative = bool(negative.any())
    first, second, third = _split(np.abs(wide) if has_negative else wide, 3)
    words = np.empty((len(wide), 3), _WORD)
    words[:, 0] = _INNER[first + np.uint32(10_000)]
    words[:, 1] = _INNER[second]
    words[:, 2] = _INNER[third]
    digits = words.view(np.uint8)
    sign = int(has_negative)
    # Whole degrees are the first group (two digits of it at most) and one digit more.
    out = np.empty((len(wide), sign + 11), np.uint8)
    if has_negative:
        out[:, :1] = either(negative, b"-")
    out[:, sign : sign + 3] = digits[:, 2:5]
    out[:, sign + 3] = ord(".")
    out[:, sign + 4 :] = digits[:, 5:]
    return out


def render(columns: Sequence[Bytes], count: int) -> bytes:
    """Return the text of `count` rows of columns side by side."""
    if not count:
        return b""
    # A row of constants is copied whole; what varies is put into it, each cell in one move.
    template = np.concatenate([column[0] for column in columns])
    width = len(template)
    places = np.cumsum([0, *(column.shape[1] for column in columns)]).tolist()
    cells = [
        (_cell(place, column.shape[1], width), _whole(column))
        for place, column in zip(places, columns, strict=False)
        if column.shape[1] and len(column) == count
    ]
    step = max(_BLOCK_BYTES // width, 1)
    matrix = np.empty((min(step, count), width), np.uint8)
    parts = []
    for start in range(0, count, step):
        block = matrix[: count - start]
        block[:] = template
        for cell, values in cells:
            block.view(cell)["at"][:, 0] = values[start : start + step]
        parts.append(block.tobytes().translate(None, b"\0"))
    return b"".join(parts)


#: Rows are put together in blocks that stay in the processor's cache.
_BLOCK_BYTES = 1 << 17


def _cell(place: int, width: int, row_width: int) -> np.dtype[Any]:
    """Return the type of a row in which only one cell has a name."""
    return np.dtype(
        {"names": ["at"], "formats": [f"V{width}"], "offsets": [place], "itemsize": row_width}
    )


def _whole(column: Bytes) -> NDArray[np.void]:
    """Return a column with each cell as one item."""
    return np.ascontiguousarray(column).view(f"V{column.shape[1]}")[:, 0]


def fill(text: bytes, slots: Sequence[bytes]) -> bytes:
    """Return a text with each SLOT, in order, replaced."""
    pieces = text.split(SLOT)
    if len(pieces) != len(slots) + 1:
        raise ValueError(f"{len(pieces) - 1} slots for {len(slots)} texts")
    parts = [b""] * (2 * len(pieces) - 1)
    parts[0::2] = pieces
    parts[1::2] = slots
    return b"".join(parts)


def join_runs(columns: Sequence[Bytes], ends: NDArray[np.bool_]) -> list[bytes]:
    """Return the texts of runs of rows, rows of a run joined by commas; `ends` marks the last."""
    if not len(ends):
        return []
    text = render([*columns, either(ends, SLOT, b",")], len(ends))
    return text.split(SLOT)[:-1]
