from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import osmium
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapyard.osm.elements import NODE
from mapyard.osm.pbf import (
    UnreadableFile,
    decode_varints,
    iter_blocks,
    iter_positions,
    read_header,
)
from osm_files import EXAMPLES

MONACO = EXAMPLES / "monaco.osm.pbf"


def encode_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


@given(st.lists(st.integers(0, 2**64 - 1)))
def test_varints_decode_to_what_was_encoded(values: list[int]) -> None:
    assert decode_varints(b"".join(map(encode_varint, values))).tolist() == values


def test_a_varint_that_is_cut_off_is_refused() -> None:
    with pytest.raises(ValueError, match="cut off"):
        decode_varints(b"\x01\x80")


def test_counts_and_every_element_equal_pyosmium() -> None:
    seen: dict[tuple[int, int], tuple[object, ...]] = {}
    for block in iter_blocks(MONACO):
        assert block.version is not None and block.timestamp is not None
        assert block.changeset is not None
        for i, osm_id in enumerate(block.ids.tolist()):
            a, b = block.tag_offsets[i : i + 2].tolist()
            tags = {
                block.strings[k].decode(): block.strings[v].decode()
                for k, v in zip(
                    block.tag_keys[a:b].tolist(), block.tag_values[a:b].tolist(), strict=True
                )
            }
            body: object
            if block.type == 0:
                assert block.lon is not None and block.lat is not None
                body = (int(block.lon[i]), int(block.lat[i]))
            else:
                assert block.offsets is not None and block.refs is not None
                c, d = block.offsets[i : i + 2].tolist()
                body = tuple(block.refs[c:d].tolist())
            seen[block.type, osm_id] = (
                int(block.version[i]), int(block.timestamp[i]), int(block.changeset[i]), tags, body,
            )  # fmt: skip
    count: Counter[int] = Counter()
    for o in osmium.FileProcessor(str(MONACO)):
        kind = "nwr".index(o.type_str())
        count[kind] += 1
        body = (
            (o.location.x, o.location.y)
            if kind == 0
            else tuple(n.ref for n in o.nodes)
            if kind == 1
            else tuple(m.ref for m in o.members)
        )
        expected = (o.version, int(o.timestamp.timestamp()), o.changeset, dict(o.tags), body)
        assert seen.pop((kind, o.id)) == expected
    assert not seen
    assert count == {0: 41339, 1: 6180, 2: 348}


def test_positions_alone_are_those_of_the_nodes() -> None:
    path = EXAMPLES / "monaco.osm.pbf"
    whole = [block for block in iter_blocks(path) if block.type == NODE]
    alone = list(iter_positions(path))
    assert len(alone) == len(whole)
    for block, (ids, lon, lat) in zip(whole, alone, strict=True):
        assert (ids == block.ids).all()
        assert (lon == block.lon).all()
        assert (lat == block.lat).all()


def test_the_header_tells_the_replication_source() -> None:
    header = read_header(MONACO)
    assert header.is_sorted
    assert header.replication_sequence == 4747
    assert header.replication_url.endswith("monaco-updates")
    assert header.bbox == pytest.approx((7.408583, 43.483817, 7.595671, 43.75293))


@pytest.mark.parametrize("size", [0, 3, 20, 200, 5_000, 300_000])
def test_a_truncated_file_says_so(tmp_path: Path, size: int) -> None:
    path = tmp_path / "cut.osm.pbf"
    path.write_bytes(MONACO.read_bytes()[:size])
    with pytest.raises(UnreadableFile, match=r"cut\.osm\.pbf is (cut off|empty|not an)"):
        list(iter_blocks(path))


def test_a_corrupt_file_never_gives_wrong_data_silently(tmp_path: Path) -> None:
    good = bytearray(MONACO.read_bytes())
    random = np.random.default_rng(1)
    for position in random.integers(0, len(good), 25).tolist():
        bad = bytearray(good)
        bad[position] ^= 0xFF
        path = tmp_path / "bad.osm.pbf"
        path.write_bytes(bad)
        try:
            total = sum(len(block.ids) for block in iter_blocks(path))
        except UnreadableFile:
            continue
        # The flipped byte lay where nothing is lost, such as a zlib header's level.
        assert total == 41339 + 6180 + 348
