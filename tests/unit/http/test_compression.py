from __future__ import annotations

import gzip
import zlib

import pytest
import zstandard

from mapyard.http.compression import (
    Encoding,
    choose_encoding,
    compress,
    compress_stream,
    gather,
    is_compressible,
)


@pytest.mark.parametrize(
    ("accept", "encoding"),
    [
        ("", ""),
        ("gzip", "gzip"),
        ("gzip, deflate, br, zstd", "zstd"),
        ("GZIP;q=0.5", "gzip"),
        ("zstd;q=0, gzip", "gzip"),
        ("gzip;q=0", ""),
        ("identity;q=0", ""),
        ("*", "gzip"),
        ("gzip;q=0, *", ""),
        ("gzip;q=x", ""),
    ],
)
def test_choice(accept: str, encoding: Encoding) -> None:
    assert choose_encoding(accept) == encoding


def decode(data: bytes, encoding: Encoding) -> bytes:
    if encoding == "gzip":
        return gzip.decompress(data)
    return zstandard.ZstdDecompressor().decompressobj().decompress(data)


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
@pytest.mark.parametrize("size", [2_000, 300_000])
def test_round_trip(encoding: Encoding, size: int) -> None:
    body = b'{"a":1,"b":2}' * (size // 13)
    small = compress(body, encoding)
    assert len(small) < len(body) / 10
    assert decode(small, encoding) == body


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_streams_can_be_decoded_as_they_come(encoding: Encoding) -> None:
    chunks = [b"first" * 50, b"second" * 5_000]
    coded = list(compress_stream(iter(chunks), encoding))
    assert decode(b"".join(coded), encoding) == b"".join(chunks)
    if encoding == "gzip":
        assert zlib.decompressobj(31).decompress(coded[0]) == chunks[0]
    else:
        assert zstandard.ZstdDecompressor().decompressobj().decompress(coded[0]) == chunks[0]


def test_gather_joins_small_chunks() -> None:
    chunks = [b"x" * 10_000] * 20
    joined = list(gather(iter(chunks)))
    assert b"".join(joined) == b"x" * 200_000
    assert [len(chunk) for chunk in joined] == [70_000, 70_000, 60_000]
    assert list(gather(iter([]))) == []


@pytest.mark.parametrize(
    ("media_type", "expected"),
    [
        ("application/json", True),
        ("application/geo+json", True),
        ("application/jsonl", True),
        ("application/sparql-results+xml", True),
        ("text/csv; charset=utf-8", True),
        ("application/vnd.mapbox-vector-tile", True),
        ("image/svg+xml", True),
        ("image/png", False),
        ("application/octet-stream", False),
        ("application/zip", False),
    ],
)
def test_types(media_type: str, expected: bool) -> None:
    assert is_compressible(media_type) is expected
