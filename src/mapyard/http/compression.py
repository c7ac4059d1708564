"""zstd or gzip for bodies of more than a kilobyte, when the client takes them."""

from __future__ import annotations

import re
import threading
import zlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, Literal

import zstandard

Encoding = Literal["zstd", "gzip", ""]

MIN_BYTES: Final = 1_024
#: Larger bodies are compressed in a thread and at gzip's quickest level.
BIG_BYTES: Final = 32_768
CHUNK_BYTES: Final = 65_536
_ZSTD_LEVEL: Final = 3
_COMPRESSIBLE: Final = re.compile(
    r"text/|application/(.*[+/-])?(json|xml|javascript|csv|jsonl|x-protobuf|vnd\.mapbox-vector-tile|"
    r"sparql-query|n-triples|gpx)|image/svg|font/(ttf|otf)"
)
_local = threading.local()


@lru_cache(maxsize=256)
def choose_encoding(accept: str) -> Encoding:
    """Return the encoding for an Accept-Encoding header; zstd before gzip."""
    accepted: dict[str, float] = {}
    for part in accept.lower().split(","):
        name, _, parameters = part.partition(";")
        quality = 1.0
        found = re.search(r"q\s*=\s*([^;\s]*)", parameters)
        if found:
            try:
                quality = float(found[1])
            except ValueError:
                quality = 0.0
        accepted[name.strip()] = quality
    for encoding in ("zstd", "gzip"):
        if accepted.get(encoding, 0.0) > 0:
            return encoding
    return "gzip" if accepted.get("*", 0.0) > 0 and "gzip" not in accepted else ""


@lru_cache(maxsize=128)
def is_compressible(media_type: str) -> bool:
    """Return whether bodies of this type become smaller."""
    return _COMPRESSIBLE.match(media_type) is not None


def compress(body: bytes, encoding: Encoding) -> bytes:
    """Return the compressed body."""
    if encoding == "zstd":
        compressor = getattr(_local, "zstd", None)
        if compressor is None:
            compressor = _local.zstd = zstandard.ZstdCompressor(level=_ZSTD_LEVEL)
        return bytes(compressor.compress(body))
    level = 1 if len(body) > BIG_BYTES else 5
    gzip = zlib.compressobj(level, zlib.DEFLATED, 31)
    return gzip.compress(body) + gzip.flush()


def gather(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Join small chunks to some 64 kB, so that each is worth its way."""
    held: list[bytes] = []
    size = 0
    for chunk in chunks:
        held.append(chunk)
        size += len(chunk)
        if size >= CHUNK_BYTES:
            yield b"".join(held)
            held, size = [], 0
    if size:
        yield b"".join(held)


class Compressor:
    """Compresses a body that comes in chunks; each can be decoded when it arrives."""

    def __init__(self, encoding: Encoding) -> None:
        self._zstd = self._gzip = None
        if encoding == "zstd":
            self._zstd = zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compressobj()
        else:
            self._gzip = zlib.compressobj(1, zlib.DEFLATED, 31)

    def add(self, chunk: bytes) -> bytes:
        """Return the compressed chunk."""
        if self._zstd is not None:
            coded = self._zstd.compress(chunk)
            return bytes(coded + self._zstd.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK))
        assert self._gzip is not None
        return self._gzip.compress(chunk) + self._gzip.flush(zlib.Z_SYNC_FLUSH)

    def end(self) -> bytes:
        """Return what closes the body."""
        coder = self._zstd or self._gzip
        assert coder is not None
        return bytes(coder.flush())


def compress_stream(chunks: Iterable[bytes], encoding: Encoding) -> Iterator[bytes]:
    """Compress chunk by chunk."""
    compressor = Compressor(encoding)
    for chunk in chunks:
        yield compressor.add(chunk)
    yield compressor.end()
