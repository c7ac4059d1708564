from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import osmium
import pytest

from mapyard.osm.pbf import UnreadableFile, iter_blocks, read_header
from mapyard.osm.source import check_input, is_sorted, prepare_source
from osm_files import EXAMPLES, osm_xml, write_osm

MONACO = EXAMPLES / "monaco.osm.pbf"


def ids_of(path: Path) -> list[tuple[int, int]]:
    return [(b.type, i) for b in iter_blocks(path) for i in b.ids.tolist()]


def test_a_sorted_file_is_taken_as_it_is(tmp_path: Path) -> None:
    target = tmp_path / "source.osm.pbf"
    header = prepare_source([MONACO], target)
    assert target.read_bytes() == MONACO.read_bytes()
    assert header.replication_sequence == 4747


@pytest.mark.parametrize("suffix", [".osm", ".osm.gz", ".osm.bz2"])
def test_xml_in_every_packing(tmp_path: Path, suffix: str) -> None:
    text = osm_xml({2: (1, 2, {"name": "Ä & <b>"}), 1: (0, 0)}, {5: ([1, 2], {"highway": "path"})})
    pack = {".osm": bytes, ".osm.gz": gzip.compress, ".osm.bz2": bz2.compress}[suffix]
    path = tmp_path / f"x{suffix}"
    path.write_bytes(pack(text.encode()))
    target = tmp_path / "source.osm.pbf"
    prepare_source([path], target)
    assert ids_of(target) == [(0, 1), (0, 2), (1, 5)]
    assert is_sorted(target)


def test_of_several_inputs_the_newest_version_wins(tmp_path: Path) -> None:
    old = write_osm(tmp_path / "a.osm", {1: (0, 0, {"v": "old"}), 2: (1, 1)})
    new = write_osm(
        tmp_path / "b.osm", {1: (5, 5, {"v": "new"}), 3: (2, 2)}, attributes=' version="2"'
    )
    for inputs in ([old, new], [new, old]):
        target = tmp_path / "source.osm.pbf"
        prepare_source(inputs, target)
        found = {o.id: dict(o.tags) for o in osmium.FileProcessor(str(target))}
        assert found == {1: {"v": "new"}, 2: {}, 3: {}}


def test_an_unsorted_pbf_is_sorted_whatever_its_header_says(tmp_path: Path) -> None:
    header = osmium.io.Header()
    header.set("sorting", "Type_then_ID")
    path = tmp_path / "liar.osm.pbf"
    with osmium.SimpleWriter(str(path), header=header) as writer:
        for osm_id in (3, 1, 2):
            writer.add_node(osmium.osm.mutable.Node(id=osm_id, location=(osm_id, 0), version=1))
    assert read_header(path).is_sorted
    assert not is_sorted(path)
    target = tmp_path / "source.osm.pbf"
    prepare_source([path], target)
    assert ids_of(target) == [(0, 1), (0, 2), (0, 3)]


def test_a_file_without_metadata(tmp_path: Path) -> None:
    path = write_osm(tmp_path / "plain.osm", {1: (0, 0)}, attributes="")
    target = tmp_path / "source.osm.pbf"
    prepare_source([path], target)
    assert ids_of(target) == [(0, 1)]


def test_negative_ids_are_refused_with_advice(tmp_path: Path) -> None:
    path = write_osm(tmp_path / "josm.osm", {-1: (0, 0), -2: (1, 1)})
    with pytest.raises(UnreadableFile, match=r"negative ids.*renumber"):
        prepare_source([path], tmp_path / "source.osm.pbf")


def test_bad_inputs_say_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="no such file"):
        check_input(tmp_path / "none.osm.pbf")
    empty = tmp_path / "empty.osm.pbf"
    empty.touch()
    with pytest.raises(UnreadableFile, match="is empty"):
        check_input(empty)
    with pytest.raises(UnreadableFile, match="unknown kind of file"):
        check_input(tmp_path / "map.shp")
    broken = tmp_path / "broken.osm"
    broken.write_text('<osm version="0.6"><node id="1" lon="0" lat="0">')
    with pytest.raises(UnreadableFile, match=r"broken\.osm cannot be read"):
        prepare_source([broken], tmp_path / "source.osm.pbf")
    bad_id = tmp_path / "bad.osm"
    bad_id.write_text('<osm version="0.6"><node id="x" lon="0" lat="0"/></osm>')
    with pytest.raises(UnreadableFile, match=r"bad\.osm cannot be read"):
        prepare_source([bad_id], tmp_path / "source.osm.pbf")
    not_pbf = tmp_path / "text.osm.pbf"
    not_pbf.write_text("hello, this is no map at all")
    with pytest.raises(UnreadableFile, match=r"not an \.osm\.pbf"):
        prepare_source([not_pbf], tmp_path / "source.osm.pbf")
