"""Encoded polylines (Google's format), in arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mapyard.routing.kernels import KernelsMissing, address, load_kernels

#: Decimals of the engine's own shapes.
ENGINE_DIGITS = 6
#: Of one number.
_MOST_BYTES = 13


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
    if heights_m is None and positions.dtype == np.float64:
        try:
            return _encode(positions, digits)
        except KernelsMissing:
            pass  # numpy takes ten times as long
    whole = np.round(positions[:, ::-1] * 10**digits).astype(np.int64)
    if heights_m is not None:
        whole = np.column_stack([whole, np.round(heights_m * 100).astype(np.int64)])
    deltas = np.diff(whole, axis=0, prepend=np.zeros((1, whole.shape[1]), np.int64)).ravel()
    values = np.where(deltas < 0, ~(deltas << 1), deltas << 1)
    # The first position is far from nothing, all others are near the one before.
    first = whole.shape[1]
    return (_write(values[:first]) + _write(values[first:])).decode("ascii")


def _encode(positions: NDArray[np.float64], digits: int) -> str:
    positions = np.ascontiguousarray(positions)
    count, columns = positions.shape
    text = np.empty(_MOST_BYTES * 2 * count, np.uint8)
    size = load_kernels().encode_line(
        count, columns, address(positions, np.float64), 10.0**digits, address(text, np.uint8)
    )
    return str(text[:size].data, "ascii")


def _write(values: NDArray[np.int64]) -> bytes:
    """Return numbers in groups of five bits, of which all but a number's last one are marked."""
    if not values.size:
        return b""
    width = max(1, -(-int(values.max()).bit_length() // 5))
    shifts = 5 * np.arange(width)
    rest = values[:, None] >> shifts
    more = rest >= 0x20
    kept = rest > 0
    kept[:, 0] = True
    return (((rest & 0x1F) | (more << 5)) + 63)[kept].astype(np.uint8).tobytes()
