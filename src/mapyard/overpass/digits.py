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

_QUADS = np.array([list(f"{number:04d}".encode()) for number in range(10_000)], np.uint8)
_POWERS = np.array([10**power for power in range(1, 19)], np.int64)


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


def one_of(codes: NDArray[Any], texts: Sequence[bytes]) -> Bytes:
    """Return the column of a text per code."""
    table = np.zeros((len(texts), max(map(len, texts), default=0)), np.uint8)
    for index, text in enumerate(texts):
        table[index, : len(text)] = np.frombuffer(text, np.uint8)
    return table[codes]


def _digits(values: NDArray[np.int64], least: int) -> Bytes:
    """Return the decimal digits of numbers ≥ 0, at least `least` of them, padded in front."""
    length = np.maximum(np.searchsorted(_POWERS, values, side="right") + 1, least)
    longest = int(length.max(initial=1))
    chunks = -(-longest // 4)
    out = np.empty((len(values), chunks * 4), np.uint8)
    rest = values
    for chunk in range(chunks - 1, -1, -1):
        high = rest // 10_000
        out[:, chunk * 4 : chunk * 4 + 4] = _QUADS[rest - high * 10_000]
        rest = high
    out = out[:, chunks * 4 - longest :]
    if int(length.min(initial=longest)) < longest:
        out[np.arange(longest) < (longest - length)[:, None]] = 0
    return out


def integers(values: NDArray[Any]) -> Bytes:
    """Return the column of whole numbers."""
    wide = np.asarray(values, np.int64)
    digits = _digits(np.abs(wide), 1)
    negative = wide < 0
    return np.hstack([either(negative, b"-"), digits]) if negative.any() else digits


def degrees(values: NDArray[Any]) -> Bytes:
    """Return the column of 1e-7 degrees as degrees with 7 decimals."""
    wide = np.asarray(values, np.int64)
    digits = _digits(np.abs(wide), 8)
    parts = [digits[:, :-7], np.full((len(wide), 1), ord("."), np.uint8), digits[:, -7:]]
    negative = wide < 0
    if negative.any():
        parts.insert(0, either(negative, b"-"))
    return np.hstack(parts)


def render(columns: Sequence[Bytes], count: int) -> bytes:
    """Return the text of `count` rows of columns side by side."""
    if not count:
        return b""
    width = sum(column.shape[1] for column in columns)
    matrix = np.empty((count, width), np.uint8)
    at = 0
    for column in columns:
        matrix[:, at : at + column.shape[1]] = column
        at += column.shape[1]
    return matrix.tobytes().translate(None, b"\0")


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
