"""Mapbox Vector Tile 2.1 encoder, vectorised: one pass over all features of all layers.

Everything inside a feature message is a varint (field tags, lengths, ids, commands, indexes), so
the features of a tile are one stream of integers that is turned into bytes at once; layers are
slices of it. Specification: https://github.com/mapbox/vector-tile-spec/tree/master/2.1
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.store.columns import offsets_of, ranges
from mapyard.tiles.shapes import LINE, POLYGON, Shapes

EXTENT = 4096

Ints = NDArray[np.int64]

_MOVE_TO_ONE = 1 << 3 | 1
_LINE_TO = 2
_CLOSE_PATH = 1 << 3 | 7


class Batch(NamedTuple):
    """Features of one tile, ordered by layer; arrays over n features and p attribute pairs."""

    layer: Ints  # (n) index of the layer, ascending
    kind: NDArray[np.uint8]  # (n) POINT, LINE or POLYGON
    ids: NDArray[np.uint64]  # (n) feature ids
    shapes: Shapes  # tile units, y down; exterior rings have positive area
    tag_counts: Ints  # (n) attribute pairs of each feature
    tag_attribute: Ints  # (p) index of the attribute; attributes of one layer are neighbors
    tag_value: Ints  # (p) index of the value


class EncodedValues(NamedTuple):
    """Encoded values by index, as `encode_tile` asks for them."""

    messages: list[bytes]

    def take(self, indexes: Ints) -> list[bytes]:
        """Return the messages of some values."""
        return [self.messages[index] for index in indexes.tolist()]


def encode_value(value: str | bool | int | float) -> bytes:
    """Return a Value message: string, bool, uint (or sint below zero), or float of 32 bits."""
    if isinstance(value, bool):
        return b"\x38\x01" if value else b"\x38\x00"
    if isinstance(value, str):
        text = value.encode()
        return b"\x0a" + varint(len(text)) + text
    if isinstance(value, float):
        return b"\x15" + struct.pack("<f", value)
    return b"\x28" + varint(value) if value >= 0 else b"\x30" + varint(-2 * value - 1)


def varint(value: int) -> bytes:
    """Return one unsigned integer in base 128, lowest group first."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def varint_lengths(values: NDArray[np.uint64]) -> Ints:
    """Return the number of bytes of each value as a varint."""
    lengths = np.ones(len(values), np.int64)
    bound = 1 << 7
    top = int(values.max()) if len(values) else 0
    while top >= bound:
        lengths += values >= np.uint64(bound)
        bound <<= 7
    return lengths


def encode_varints(values: NDArray[np.uint64], lengths: Ints) -> NDArray[np.uint8]:
    """Return the values as varints, run together; `lengths` is varint_lengths(values)."""
    ends = np.cumsum(lengths)
    out = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
    place = ends - lengths
    out[place] = values & np.uint64(127)
    while True:
        more = np.flatnonzero(lengths > 1)
        if not len(more):
            return out
        values, lengths, place = values[more] >> np.uint64(7), lengths[more] - 1, place[more]
        out[place] |= 128
        place = place + 1
        out[place] = values & np.uint64(127)


def geometry_commands(shapes: Shapes, kind: NDArray[np.uint8]) -> tuple[NDArray[np.uint64], Ints]:
    """Return the command integers of all features, and the number of integers of each."""
    counts = np.diff(shapes.rings)
    ring_kind = np.repeat(kind, np.diff(shapes.features))
    is_path = ring_kind >= LINE
    is_ring = ring_kind == POLYGON
    sizes = 2 * counts + 1 + is_path + is_ring
    ends = np.cumsum(sizes)
    starts = ends - sizes
    out = np.empty(int(ends[-1]) if len(ends) else 0, np.uint64)
    out[starts] = _MOVE_TO_ONE
    out[starts[is_path] + 3] = (counts[is_path] - 1) << 3 | _LINE_TO
    out[ends[is_ring] - 1] = _CLOSE_PATH

    xy = shapes.xy.astype(np.int64, copy=False)
    delta = np.empty_like(xy)
    delta[1:] = xy[1:] - xy[:-1]
    firsts = shapes.rings[shapes.features[:-1]]  # the cursor begins at 0, 0 in each feature
    delta[firsts] = xy[firsts]
    zigzag = (delta << 1 ^ delta >> 63).astype(np.uint64)
    local = np.arange(len(xy)) - np.repeat(shapes.rings[:-1], counts)
    place = np.repeat(starts + 1, counts) + 2 * local + (local > 0)
    out[place] = zigzag[:, 0]
    out[place + 1] = zigzag[:, 1]
    edges = np.concatenate([starts, ends[-1:]])[shapes.features]
    return out, np.diff(edges)


def encode_features(batch: Batch, tags: NDArray[np.uint64]) -> tuple[NDArray[np.uint8], Ints]:
    """Return the Layer fields `features` (field 2) run together, and the n + 1 byte offsets.

    `tags` holds two integers per pair: local index of the key and of the value.
    """
    commands, command_counts = geometry_commands(batch.shapes, batch.kind)
    tag_counts = 2 * batch.tag_counts
    command_bytes, tag_bytes = varint_lengths(commands), varint_lengths(tags)
    geometry_length = _sum_runs(command_bytes, command_counts)
    tags_length = _sum_runs(tag_bytes, tag_counts)
    ids = batch.ids
    id_bytes = varint_lengths(ids)
    has_tags = tag_counts > 0
    head = np.where(has_tags, 1 + varint_lengths(tags_length.astype(np.uint64)), 0)
    geometry_head = 1 + varint_lengths(geometry_length.astype(np.uint64))
    body = 1 + id_bytes + head + tags_length + 2 + geometry_head + geometry_length

    # Per feature: 0x12 body | 0x08 id | [0x12 length tags…] | 0x18 type | 0x22 length commands…
    tag_ints = np.where(has_tags, 2 + tag_counts, 0)
    sizes = 8 + tag_ints + command_counts
    starts = np.cumsum(sizes) - sizes
    stream = np.empty(int(sizes.sum()), np.uint64)
    stream[starts] = 0x12
    stream[starts + 1] = body
    stream[starts + 2] = 0x08
    stream[starts + 3] = ids
    tagged = starts[has_tags] + 4
    stream[tagged] = 0x12
    stream[tagged + 1] = tags_length[has_tags]
    stream[ranges(tagged + 2, tag_counts[has_tags])] = tags
    after = starts + 4 + tag_ints
    stream[after] = 0x18
    stream[after + 1] = batch.kind
    stream[after + 2] = 0x22
    stream[after + 3] = geometry_length
    stream[ranges(after + 4, command_counts)] = commands

    total = 1 + varint_lengths(body.astype(np.uint64)) + body
    return encode_varints(stream, varint_lengths(stream)), offsets_of(total)


def encode_tile(
    batch: Batch,
    layer_names: Sequence[str],
    attribute_names: Sequence[str],
    values: Any,
) -> bytes:
    """Return the tile; b"" when the batch is empty.

    `values` gives encoded Value messages: `values.take(indexes) -> list[bytes]`.
    """
    count = len(batch.layer)
    if not count:
        return b""
    owners = np.repeat(np.arange(count), batch.tag_counts)
    pair_layer = batch.layer[owners]
    keys, key_place = np.unique(batch.tag_attribute, return_inverse=True)
    span = int(batch.tag_value.max()) + 1 if len(batch.tag_value) else 1
    codes, code_place = np.unique(pair_layer * span + batch.tag_value, return_inverse=True)
    layers, layer_starts = np.unique(batch.layer, return_index=True)
    layer_ends = np.append(layer_starts[1:], count)

    # Keys and values are numbered from 0 in each layer.
    key_layer = np.zeros(len(keys), np.int64)
    key_layer[key_place] = pair_layer
    key_edges = np.searchsorted(key_layer, np.append(layers, layers[-1] + 1))
    code_edges = np.searchsorted(codes // span, np.append(layers, layers[-1] + 1))
    local = np.searchsorted(layers, pair_layer)
    tags = np.empty(2 * len(owners), np.uint64)
    tags[0::2] = key_place - key_edges[local]
    tags[1::2] = code_place - code_edges[local]

    stream, offsets = encode_features(batch, tags)
    messages = values.take(codes % span)
    out: list[bytes] = []
    for i, layer in enumerate(layers.tolist()):
        name = layer_names[layer].encode()
        parts = [
            b"\x78\x02\x0a" + varint(len(name)) + name,
            stream[offsets[layer_starts[i]] : offsets[layer_ends[i]]].tobytes(),
        ]
        for key in keys[key_edges[i] : key_edges[i + 1]].tolist():
            text = attribute_names[key].encode()
            parts.append(b"\x1a" + varint(len(text)) + text)
        for message in messages[code_edges[i] : code_edges[i + 1]]:
            parts += (b"\x22", varint(len(message)), message)
        parts.append(b"\x28" + varint(EXTENT))
        body = b"".join(parts)
        out += (b"\x1a", varint(len(body)), body)
    return b"".join(out)


def split_layers(tile: bytes) -> dict[str, bytes]:
    """Return the messages of the layers of a tile that `encode_tile` made, by their names."""
    layers: dict[str, bytes] = {}
    at = 0
    while at < len(tile):
        size, body = _read_varint(tile, at + 1)
        length, name = _read_varint(tile, body + 3)  # after the version
        layers[tile[name : name + length].decode()] = tile[at : body + size]
        at = body + size
    return layers


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the integer at a place, and the place behind it."""
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def _sum_runs(values: Ints, counts: Ints) -> Ints:
    """Return the sum of each run of `counts` values; runs may be empty."""
    total = np.concatenate([[0], np.cumsum(values)])
    ends = np.cumsum(counts)
    return np.asarray(total[ends] - total[ends - counts], np.int64)
