"""PMTiles version 3: writer and reader of one-file tile archives.

https://github.com/protomaps/PMTiles/blob/main/spec/v3/spec.md. Tiles are gzip bytes; equal tiles
are stored once; directories are sorted by the Hilbert number of a tile.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import struct
import tempfile
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.caches import cache_method
from mapyard.errors import MapyardError
from mapyard.store.columns import map_file
from mapyard.tiles.mercator import TileId
from mapyard.tiles.mvt import encode_varints, varint_lengths

_HEADER: Final = struct.Struct("<7sB8Q3Q4BBBiiiiBii")
_MAGIC: Final = b"PMTiles"
_HEADER_BYTES: Final = 127
#: The header and the root directory lie in the first 16 kB.
_ROOT_BYTES: Final = 16_384 - _HEADER_BYTES
_GZIP, _MVT = 2, 1

Ints = NDArray[np.int64]


class Entry(NamedTuple):
    """A run of tiles with the same bytes; run 0 means a leaf directory."""

    tile: int
    run: int
    length: int
    offset: int


def tile_number(tile: TileId) -> int:
    """Return the number of a tile: those of lower zooms first, then along the Hilbert curve."""
    z, x, y = tile
    number = 0
    side = 1 << z >> 1
    while side:
        rx, ry = int(x & side > 0), int(y & side > 0)
        number += side * side * (3 * rx ^ ry)
        if not ry:
            if rx:
                x, y = side - 1 - (x & side - 1), side - 1 - (y & side - 1)
            x, y = y, x
        side >>= 1
    return ((1 << 2 * z) - 1) // 3 + number


def tile_of(number: int) -> TileId:
    """Return the tile of a number."""
    z = ((3 * number + 1).bit_length() - 1) // 2
    rest = number - ((1 << 2 * z) - 1) // 3
    x = y = 0
    for bit in range(z):
        side = 1 << bit
        rx = rest >> 1 & 1
        ry = (rest ^ rx) & 1
        if not ry:
            if rx:
                x, y = side - 1 - x, side - 1 - y
            x, y = y, x
        x, y = x | rx << bit, y | ry << bit
        rest >>= 2
    return TileId(z, x, y)


def encode_directory(entries: list[Entry]) -> bytes:
    """Return a directory, compressed."""
    table = np.array(entries, np.int64).reshape(-1, 4)
    tiles, runs, lengths, offsets = table.T
    stored = offsets + 1
    follows = offsets[1:] == offsets[:-1] + lengths[:-1]
    stored[1:][follows] = 0
    numbers = np.concatenate([[len(table)], np.diff(tiles, prepend=0), runs, lengths, stored])
    unsigned = numbers.astype(np.uint64)
    return gzip.compress(encode_varints(unsigned, varint_lengths(unsigned)).tobytes(), 6, mtime=0)


def decode_directory(data: bytes) -> list[Entry]:
    """Return the entries of a directory."""
    numbers = []
    value = shift = 0
    for byte in gzip.decompress(data):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(value)
            value = shift = 0
    count = numbers[0]
    columns = [numbers[1 + i * count : 1 + (i + 1) * count] for i in range(4)]
    entries: list[Entry] = []
    tile = 0
    for step, run, length, stored in zip(*columns, strict=True):
        tile += step
        offset = entries[-1].offset + entries[-1].length if stored == 0 and entries else stored - 1
        entries.append(Entry(tile, run, length, offset))
    return entries


class PmtilesWriter:
    """Collects tiles in the order of their numbers; `close` writes the archive at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._data: BinaryIO = tempfile.TemporaryFile(dir=path.parent)  # noqa: SIM115
        self._size = 0
        self._entries: list[Entry] = []
        self._places: dict[bytes, tuple[int, int]] = {}
        self._tile_count = 0
        self._zooms: set[int] = set()

    def add(self, tile: TileId, data: bytes) -> None:
        """Add one compressed tile; tiles come in the order of tile_number."""
        number = tile_number(tile)
        digest = hashlib.blake2b(data, digest_size=16).digest()
        if digest not in self._places:
            self._data.write(data)
            self._places[digest] = (self._size, len(data))
            self._size += len(data)
        offset, length = self._places[digest]
        last = self._entries[-1] if self._entries else None
        if last is not None:
            assert number >= last.tile + last.run, "tiles must come in order"
        if last is not None and number == last.tile + last.run and offset == last.offset:
            self._entries[-1] = last._replace(run=last.run + 1)
        else:
            self._entries.append(Entry(number, 1, length, offset))
        self._tile_count += 1
        self._zooms.add(tile.z)

    def close(self, metadata: Mapping[str, Any], bounds_deg: tuple[float, ...]) -> None:
        """Write the archive with its metadata; bounds are west, south, east, north."""
        root, leaves = _build_directories(self._entries)
        described = gzip.compress(json.dumps(metadata, ensure_ascii=False).encode(), 6, mtime=0)
        west, south, east, north = (round(value * 1e7) for value in bounds_deg)
        root_at = _HEADER_BYTES
        metadata_at = root_at + len(root)
        leaves_at = metadata_at + len(described)
        data_at = leaves_at + len(leaves)
        low, high = min(self._zooms, default=0), max(self._zooms, default=0)
        header = _HEADER.pack(
            _MAGIC, 3, root_at, len(root), metadata_at, len(described), leaves_at, len(leaves),
            data_at, self._size, self._tile_count, len(self._entries), len(self._places),
            1, _GZIP, _GZIP, _MVT, low, high, west, south, east, north, low,
            (west + east) // 2, (south + north) // 2,
        )  # fmt: skip
        partial = self._path.with_name(self._path.name + ".partial")
        self._data.seek(0)
        with partial.open("wb") as file:
            for part in (header, root, described, leaves):
                file.write(part)
            shutil.copyfileobj(self._data, file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self._path)
        self._data.close()

    def abort(self) -> None:
        """Leave nothing behind."""
        self._data.close()
        self._path.with_name(self._path.name + ".partial").unlink(missing_ok=True)


def _build_directories(entries: list[Entry]) -> tuple[bytes, bytes]:
    """Return the root directory and the leaves; the root holds all entries if they fit."""
    root = encode_directory(entries)
    size = 4096
    while len(root) > _ROOT_BYTES:
        leaves, offset, heads = [], 0, []
        for start in range(0, len(entries), size):
            leaf = encode_directory(entries[start : start + size])
            heads.append(Entry(entries[start].tile, 0, len(leaf), offset))
            leaves.append(leaf)
            offset += len(leaf)
        root = encode_directory(heads)
        if len(root) <= _ROOT_BYTES:
            return root, b"".join(leaves)
        size *= 2
    return root, b""


class PmtilesReader:
    """A mapped archive; safe for several threads."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._map = map_file(file)
        if self._map[:8] != _MAGIC + b"\x03":
            raise MapyardError(f"{path.name} is not a PMTiles archive of version 3")
        fields = _HEADER.unpack(self._map[:_HEADER_BYTES])
        self._root_at, self._root_size = fields[2], fields[3]
        self._metadata_at, self._metadata_size = fields[4], fields[5]
        self._leaves_at = fields[6]
        self._data_at = fields[8]
        self.tile_count: int = fields[10]
        self.min_zoom: int = fields[17]
        self.max_zoom: int = fields[18]
        self._directory = cache_method(self._read_directory, 64)

    def metadata(self) -> dict[str, Any]:
        """Return the archive's own description."""
        data = self._map[self._metadata_at : self._metadata_at + self._metadata_size]
        described: dict[str, Any] = json.loads(gzip.decompress(data))
        return described

    def find(self, tile: TileId) -> bytes | None:
        """Return the compressed tile, or None."""
        number = tile_number(tile)
        offset, length = self._root_at, self._root_size
        for _ in range(4):  # the depth of directories is bounded by the specification
            entries, tiles = self._directory(offset, length)
            place = bisect_right(tiles, number) - 1
            if place < 0:
                return None
            entry = entries[place]
            if entry.run:
                if number >= entry.tile + entry.run:
                    return None
                start = self._data_at + entry.offset
                return self._map[start : start + entry.length]
            offset, length = self._leaves_at + entry.offset, entry.length
        return None

    def tiles(self) -> Iterator[TileId]:
        """Yield all tiles, in their order."""
        directories = [(self._root_at, self._root_size)]
        while directories:
            entries, _ = self._directory(*directories.pop(0))
            for entry in entries:
                yield from map(tile_of, range(entry.tile, entry.tile + entry.run))
            leaves = [entry for entry in entries if not entry.run]
            directories += [(self._leaves_at + leaf.offset, leaf.length) for leaf in leaves]

    def _read_directory(self, offset: int, length: int) -> tuple[list[Entry], list[int]]:
        entries = decode_directory(self._map[offset : offset + length])
        return entries, [entry.tile for entry in entries]

    def close(self) -> None:
        """Unmap the file."""
        self._map.close()
