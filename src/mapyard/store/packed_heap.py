"""Byte strings compressed one by one: those of a few elements that are large."""

from __future__ import annotations

import threading
from typing import Final

import zstandard

from mapyard.store.arrays import Ints
from mapyard.store.columns import Heap

#: Twice as dense as level 1 on positions, and still a fraction of the time to make them.
_LEVEL: Final = 9
_local = threading.local()


def pack(item: bytes) -> bytes:
    """Compress one byte string; the empty one stays empty."""
    if not item:
        return b""
    return zstandard.ZstdCompressor(level=_LEVEL, write_checksum=False).compress(item)


def unpack(packed: bytes) -> bytes:
    """Return the byte string that was packed."""
    if not packed:
        return b""
    unpacker: zstandard.ZstdDecompressor | None = getattr(_local, "unpacker", None)
    if unpacker is None:
        unpacker = _local.unpacker = zstandard.ZstdDecompressor()  # for one thread only
    return unpacker.decompress(packed)


class PackedHeap(Heap):
    """Written packed strings by index."""

    def __getitem__(self, index: int) -> bytes:
        return unpack(super().__getitem__(index))

    def take(self, indexes: Ints, trim: int = 0) -> list[bytes]:
        """Return the strings at the indexes, in their order, without `trim` bytes at both ends."""
        texts = [unpack(packed) for packed in super().take(indexes)]
        return [text[trim : len(text) - trim] for text in texts] if trim else texts
