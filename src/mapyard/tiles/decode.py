"""The shapes of a Mapbox Vector Tile: for drawings that need no more than lines and areas."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

_POLYGON = 3


def decode_layers(
    data: bytes, names: Collection[str]
) -> Iterator[tuple[str, list[NDArray[np.float64]], bool]]:
    """Yield (layer, lines, whether they are rings) for each feature of the named layers.

    Lines are arrays (n, 2) in parts of the tile's width: x to the right, y downward.
    """
    for field, layer in _read_fields(data):
        if field != 3:
            continue
        name, extent, features = "", 4096, []
        for number, value in _read_fields(layer):
            if number == 1:
                name = value.decode()
            elif number == 2:
                features.append(value)
            elif number == 5:
                extent = value
        if name not in names:
            continue
        for feature in features:
            fields = dict(_read_fields(feature))
            if 4 in fields:
                kind = fields.get(3, 0)
                yield name, _read_lines(fields[4], extent), kind == _POLYGON


def _read_fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the fields of a message: numbers, or bytes."""
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = _read_varint(data, at)
            yield tag >> 3, value
            continue
        if kind == 2:
            size, at = _read_varint(data, at)
        else:
            size = {1: 8, 5: 4}[kind]
        yield tag >> 3, data[at : at + size]
        at += size


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _read_lines(commands: bytes, extent: int) -> list[NDArray[np.float64]]:
    lines: list[NDArray[np.float64]] = []
    points: list[tuple[int, int]] = []
    x = y = at = 0
    while at < len(commands):
        command, at = _read_varint(commands, at)
        name, count = command & 7, command >> 3
        if name == 1 and points:
            lines.append(np.array(points, np.float64) / extent)
            points = []
        if name == 7:
            continue
        for _ in range(count):
            dx, at = _read_varint(commands, at)
            dy, at = _read_varint(commands, at)
            x += dx >> 1 ^ -(dx & 1)
            y += dy >> 1 ^ -(dy & 1)
            points.append((x, y))
    if points:
        lines.append(np.array(points, np.float64) / extent)
    return lines
