"""Input to `build` and `update` that is broken, deleted or larger than it looks."""

from __future__ import annotations

import bz2
import gzip
import json
import resource
import struct
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import osmium
import pytest
import zstandard

from mapyard.builder.pipeline import STORE_STEP, build_dataset
from mapyard.builder.progress import Reporter
from mapyard.dataset.catalog import Catalog
from mapyard.osm.pbf import UnreadableFile, read_header
from mapyard.settings import Settings
from mapyard.store.reader import Store, open_store
from mapyard.updates import source as sources
from mapyard.updates.history import read_runs
from mapyard.updates.run import update_dataset
from mapyard.updates.schedule import has_source
from mapyard.updates.source import BadDiff, sequence_path

HEAD = '<?xml version="1.0"?><osm version="0.6">'
CAFE = '<tag k="amenity" v="cafe"/>'


def build(data: Path, source: Path) -> Store:
    build_dataset([source], data, [STORE_STEP], Reporter(quiet=True))
    return open_store(data / "current" / "elements")


def names_of(store: Store) -> set[str]:
    return {store.name_of(row) for row in range(store.row_count)}


def problems_of(data: Path) -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = json.loads((data / "current" / "report.json").read_bytes())[
        "problems"
    ]
    return found


DELETED = (
    HEAD
    + f"""
<node id="1" version="1" lat="1" lon="1" visible="true">{CAFE}</node>
<node id="2" version="2" lat="1" lon="1" visible="false">{CAFE}</node>
<node id="3" version="3" visible="false"/>
<node id="4" version="2" lat="1" lon="1.1" action="delete">{CAFE}</node>
<node id="5" version="2" lat="1" lon="1.2" action="modify" user="a>b">{CAFE}</node>
<way id="6" version="1"><nd ref="1"/><nd ref="5"/><tag k="highway" v="path"/></way>
<way id="7" version="1" action='delete'><nd ref="1"/><nd ref="5"/></way>
<relation id="8" version="9" visible="false"/>
</osm>"""
)


@pytest.mark.parametrize(("suffix", "pack"), [
    (".osm", bytes), (".osm.gz", gzip.compress), (".osm.bz2", bz2.compress),
])  # fmt: skip
def test_deleted_elements_are_left_out_and_named(
    tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / f"x{suffix}"
    path.write_bytes(pack(DELETED.encode()))
    store = build(tmp_path / "data", path)
    assert names_of(store) == {"node/1", "node/5", "way/6"}
    left_out = problems_of(tmp_path / "data")["deleted element left out"]
    assert {name for name, _ in left_out} == {
        "node/2", "node/3", "node/4", "way/7", "relation/8",
    }  # fmt: skip


HISTORY = (
    HEAD
    + f"""
<node id="1" version="1" lat="1" lon="1" visible="true">{CAFE}</node>
<node id="1" version="2" lat="1" lon="1" visible="false"/>
<node id="2" version="1" lat="1" lon="2" visible="true">{CAFE}</node>
<node id="2" version="2" lat="1" lon="3" visible="true">{CAFE}</node>
</osm>"""
)


@pytest.mark.parametrize("is_pbf", [False, True])
def test_a_history_file_gives_what_lives(tmp_path: Path, is_pbf: bool) -> None:
    path = tmp_path / "history.osm"
    path.write_text(HISTORY)
    if is_pbf:
        with osmium.SimpleWriter(str(tmp_path / "x.osh.pbf")) as writer:
            for item in osmium.FileProcessor(str(path)):
                writer.add(item)
        path = (tmp_path / "x.osh.pbf").rename(tmp_path / "history.osm.pbf")
    store = build(tmp_path / "data", path)
    assert names_of(store) == {"node/2"}
    assert store.lon[0] == 30_000_000
    assert problems_of(tmp_path / "data")["deleted element left out"] == [["node/1", ""]]


def test_coordinates_that_are_none_are_one_clear_error(tmp_path: Path) -> None:
    for value in ("NaN", "inf", "x"):
        path = tmp_path / "x.osm"
        path.write_text(f'{HEAD}<node id="1" version="1" lat="{value}" lon="1">{CAFE}</node></osm>')
        with pytest.raises(UnreadableFile, match=r"x\.osm cannot be read") as caught:
            build(tmp_path / "data", path)
        assert value in caught.value.message
    assert Catalog(tmp_path / "data").ids() == []


def test_positions_not_on_earth_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "x.osm"
    path.write_text(
        f'{HEAD}<node id="1" version="1" lat="91" lon="1">{CAFE}</node>'
        f'<node id="2" version="1" lat="1" lon="-180.5">{CAFE}</node>'
        f'<node id="3" version="1" lat="90" lon="180">{CAFE}</node></osm>'
    )
    build(tmp_path / "data", path)
    found = problems_of(tmp_path / "data")["node without a position on Earth"]
    assert [name for name, _ in found] == ["node/1", "node/2"]


def blob(kind: bytes, payload: bytes) -> bytes:
    head = b"\x0a" + bytes([len(kind)]) + kind + b"\x18" + varint(len(payload))
    return struct.pack(">I", len(head)) + head + payload


def varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def fake_zstd(size: int) -> bytes:
    """A frame that says that it holds `size` bytes."""
    frame = zstandard.ZstdCompressor().compress(b"abc")
    assert frame[4] & 0xC0 == 0  # the size is one byte
    return frame[:4] + bytes([frame[4] | 0xC0]) + size.to_bytes(8, "little") + frame[6:]


@pytest.mark.parametrize("packing", ["zlib", "zstd", "said"])
def test_a_block_that_unpacks_to_too_much(tmp_path: Path, packing: str) -> None:
    size = 1 << 30
    if packing == "zlib":
        coder = zlib.compressobj(9)
        data = b"".join(coder.compress(bytes(1 << 20)) for _ in range(1 << 10)) + coder.flush()
        field = b"\x1a"
    elif packing == "zstd":
        data, field = zstandard.ZstdCompressor().compress(bytes(1 << 28)), b"\x3a"
    else:
        data, field = fake_zstd(1 << 40), b"\x3a"
    path = tmp_path / "bomb.osm.pbf"
    payload = b"\x10" + varint(size) + field + varint(len(data)) + data
    path.write_bytes(blob(b"OSMHeader", payload))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UnreadableFile, match="does not unpack"):
        read_header(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    folder = tmp_path / "source"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", folder
    server.shutdown()
    thread.join()
    server.server_close()


def write_diff(folder: Path, sequence: int, content: str) -> Path:
    path = folder / f"{sequence_path(sequence)}.osc.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(f'<osmChange version="0.6">{content}</osmChange>'.encode()))
    state = f"timestamp=2030-01-{sequence:02d}T00\\:00\\:00Z\nsequenceNumber={sequence}\n"
    (folder / f"{sequence_path(sequence)}.state.txt").write_text(state)
    (folder / "state.txt").write_text(state)
    return path


def create(osm_id: int) -> str:
    stamp = 'timestamp="2029-01-01T00:00:00Z" changeset="1"'
    return f'<create><node id="{osm_id}" version="1" {stamp} lat="1" lon="1">{CAFE}</node></create>'


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """A dataset at sequence 1 that names no source."""
    header = osmium.io.Header()
    header.set("osmosis_replication_sequence_number", "1")
    header.set("osmosis_replication_timestamp", "2030-01-01T00:00:00Z")
    header.set("sorting", "Type_then_ID")
    path = tmp_path / "x.osm.pbf"
    with osmium.SimpleWriter(str(path), header=header) as writer:
        writer.add_node(
            osmium.osm.mutable.Node(id=1, version=1, location=(1.0, 1.0), tags={"amenity": "bar"})
        )
    build(tmp_path / "data", path)
    return tmp_path / "data"


def update(data: Path, url: str = "") -> Any:
    return update_dataset(data, [], Reporter(quiet=True), Settings(data=data), url)


def test_diffs_before_a_gap_are_applied_and_the_gap_is_named(
    dataset: Path, served: tuple[str, Path]
) -> None:
    url, folder = served
    for sequence in range(1, 6):
        write_diff(folder, sequence, create(100 + sequence))
    (folder / f"{sequence_path(4)}.osc.gz").unlink()
    run = update(dataset, url)[-1]
    assert (run.outcome, run.to_sequence, run.newest_sequence) == ("updated", 3, 5)
    assert "000/000/004.osc.gz does not exist" in run.message
    assert names_of(open_store(dataset / "current" / "elements")) == {
        "node/1", "node/102", "node/103",
    }  # fmt: skip
    with pytest.raises(BadDiff, match=r"000/000/004\.osc\.gz does not exist"):
        update(dataset, url)
    write_diff(folder, 4, create(104))
    write_diff(folder, 5, create(105))
    assert update(dataset, url)[-1].to_sequence == 5


def test_a_missing_state_at_the_end_is_a_gap_too(dataset: Path, served: tuple[str, Path]) -> None:
    url, folder = served
    for sequence in range(1, 4):
        write_diff(folder, sequence, create(100 + sequence))
    (folder / f"{sequence_path(3)}.state.txt").unlink()
    run = update(dataset, url)[-1]
    assert (run.outcome, run.to_sequence) == ("updated", 2)
    assert "000/000/003.state.txt does not exist" in run.message


def test_a_source_used_once_sticks(dataset: Path, served: tuple[str, Path]) -> None:
    url, folder = served
    write_diff(folder, 1, "")
    settings = Settings(data=dataset, updates="daily")
    assert not has_source(settings)
    assert update(dataset, url)[-1].outcome == "current"
    assert has_source(settings)
    write_diff(folder, 2, create(102))
    assert update(dataset)[-1].outcome == "updated"
    assert read_runs(dataset)[-1].to_sequence == 2


def test_another_source_counts_for_itself(dataset: Path, served: tuple[str, Path]) -> None:
    url, folder = served
    for sequence in range(1, 4):
        write_diff(folder, sequence, create(100 + sequence))
    update(dataset, url)
    other = folder / "other"
    for sequence in range(2, 9):  # its number 3 is not ours: 1 is added to its days
        path = write_diff(other, sequence, create(200 + sequence))
        state = path.with_name(f"{path.name.partition('.')[0]}.state.txt")
        text = state.read_text().replace(f"01-{sequence:02d}T", f"01-{sequence - 1:02d}T")
        state.write_text(text)
    (other / "state.txt").write_text(text)
    run = update(dataset, f"{url}/other")[-1]
    assert (run.from_sequence, run.to_sequence) == (4, 8)  # day 3 is its number 4


def test_a_diff_that_unpacks_to_too_much(
    dataset: Path, served: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, folder = served
    write_diff(folder, 1, "")
    path = write_diff(folder, 2, "")
    path.write_bytes(gzip.compress(b"<osmChange>" + bytes(1 << 28) + b"</osmChange>"))
    monkeypatch.setattr(sources, "_MAX_UNPACKED_BYTES", 1 << 24)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(BadDiff, match="unpacks to more than"):
        update(dataset, url)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000  # kB


def test_a_diff_with_coordinates_that_are_none(dataset: Path, served: tuple[str, Path]) -> None:
    url, folder = served
    write_diff(folder, 1, "")
    write_diff(folder, 2, create(9).replace('lat="1"', 'lat="NaN"'))
    with pytest.raises(BadDiff, match="is not a diff"):
        update(dataset, url)
