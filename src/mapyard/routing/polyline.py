"""Encoded polylines (Google's format), in arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Decimals of the engine's own shapes.
ENGINE_DIGITS = 6


def decode_polyline(text: str, digits: int = ENGINE_DIGITS) -> NDArray[np.float64]:
    """Return positions (n, 2), lon and lat in degrees."""
    raw = np.frombuffer(text.encode("ascii"), np.uint8).astype(np.int64) - 63
    if not raw.size:
        return np.empty((0, 2))
    is_last = raw < 0x20
    ends = np.flatnonzero(is_last)
    starts = np.concatenate(([0], ends[:-1] + 1))
    within = np.arange(raw.size) - np.repeat(starts, ends - starts + 1)
    values = np.add.reduceat((raw & 0x1F) << (5 * within), starts)
    deltas = np.where(values & 1, ~(values >> 1), values >> 1).reshape(-1, 2)
    positions = np.cumsum(deltas, axis=0)[:, ::-1]
    return np.round(positions / 10.0**digits, digits)


def encode_polyline(
    positions: NDArray[np.float64], digits: int, heights_m: NDArray[np.float64] | None = None
) -> str:
    """Return the text of positions (n, 2), lon and lat in degrees.

    With heights, each third number is one, in centimeters.
    """
    whole = np.round(positions[:, ::-1] * 10**digits).astype(np.int64)
    if heights_m is not None:
        whole = np.column_stack([whole, np.round(heights_m * 100).astype(np.int64)])
    deltas = np.diff(whole, axis=0, prepend=np.zeros((1, whole.shape[1]), np.int64)).ravel()
    values = np.where(deltas < 0, ~(deltas << 1), deltas << 1)
    # Seven groups of five bits hold 35 bits: more than ±180 degrees at seven digits.
    groups = (values[:, None] >> (5 * np.arange(7))) & 0x1F
    lengths = np.maximum(1, 7 - (groups[:, ::-1] != 0).argmax(axis=1))
    lengths[values == 0] = 1
    order = np.arange(7)
    more = order < (lengths - 1)[:, None]
    kept = order < lengths[:, None]
    return bytes(((groups | (more * 0x20)) + 63)[kept].astype(np.uint8)).decode("ascii")
