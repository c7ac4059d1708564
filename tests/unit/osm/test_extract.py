"""Some elements of a sorted file, written without sets of all ids."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import osmium
import osmium.io
import pytest

from mapyard.osm import extract
from mapyard.osm.extract import list_blobs, write_extract
from osm_files import EXAMPLES


def read(path: Path) -> list[tuple[Any, ...]]:
    """Everything about all elements, in the order of the file."""
    found = []
    for item in osmium.FileProcessor(str(path)):
        parts: Any = ()
        if item.is_node():
            parts = (item.location.x, item.location.y)
        elif item.is_way():
            parts = tuple(node.ref for node in item.nodes)
        else:
            parts = tuple((member.type, member.ref, member.role) for member in item.members)
        meta = (item.version, item.timestamp, item.changeset, item.uid, item.user)
        found.append(("nwr".index(item.type_str()), item.id, dict(item.tags), parts, meta))
    return found


def write(source: Path, target: Path, chosen: set[tuple[int, int]], part: int) -> None:
    ids = [np.array(sorted(i for k, i in chosen if k == kind), np.int64) for kind in range(3)]
    some = [np.array_split(of_type, max(1, len(of_type) // part)) for of_type in ids]
    write_extract(source, list_blobs(source), target, osmium.io.Header(), some)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 1.0])
def test_what_ids_name_is_written_as_it_is(share: float, tmp_path: Path) -> None:
    source = EXAMPLES / "monaco.osm.pbf"
    elements = read(source)
    rng = random.Random(6)
    chosen = {(kind, i) for kind, i, *_ in elements if rng.random() < share}
    write(source, tmp_path / "out.osm.pbf", chosen, 700)
    expected = [element for element in elements if element[:2] in chosen]
    assert read(tmp_path / "out.osm.pbf") == expected
    assert (len(expected) > 10_000) == (share > 0.1)


def test_ids_that_are_not_there_are_no_fault(tmp_path: Path) -> None:
    source = EXAMPLES / "monaco.osm.pbf"
    elements = read(source)
    chosen = {(kind, i) for kind in range(3) for i in (1, 2, 10**15)} | {elements[77][:2]}
    write(source, tmp_path / "out.osm.pbf", chosen, 5)
    assert read(tmp_path / "out.osm.pbf") == [elements[77]]


def test_sets_have_few_pieces_and_all_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ids all over, each set has at most eight pieces of 4 MB, so 32 MB."""
    rng = np.random.default_rng(1)
    ids = np.unique(rng.integers(0, 13_000_000_000, 20_000))
    parts = list(extract._cut(ids))
    assert all(len(np.unique(part >> 25)) <= 8 for part in parts)
    assert (np.concatenate(parts) == ids).all()
    assert len(parts) == -(-len(np.unique(ids >> 25)) // 8)  # no more sets than needed
    assert list(extract._cut(np.empty(0, np.int64))) == []


def test_blobs_are_decoded_together_where_ids_are_near() -> None:
    far = 1 << 25
    blobs = [(i, i + 1, (0, i)) for i in range(40)]
    blobs += [(40 + i, 41 + i, (0, 100 + i * far * 3)) for i in range(5)]
    blobs += [(45, 46, (1, 7)), (46, 47, (1, 9))]
    batches = list(extract._iter_batches(blobs))
    assert [start for start, _ in batches[1:]] == [end for _, end in batches[:-1]]
    assert batches[0] == (0, 32) and batches[-1] == (45, 47)
    for start, end in batches:
        assert end - start == 1 or blobs[end - 1][2][1] - blobs[start][2][1] < 8 * far
