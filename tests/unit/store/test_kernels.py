"""The C of the store: it finds what plain loops find, and reads nothing outside of its arrays."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import orjson
import pytest

from mapyard.native import KernelsMissing, load_library
from mapyard.osm.elements import NODE, RELATION, WAY
from mapyard.osm.source import prepare_source
from mapyard.store.columns import open_column, write_column
from mapyard.store.digests import digest_runs
from mapyard.store.frames import Frames, take_runs, write_frames
from mapyard.store.kernels import describe_runs, load_kernels, place
from mapyard.store.reader import open_store
from mapyard.store.rtree import find_boxes, hilbert_code
from mapyard.store.writer import write_store
from osm_files import write_osm

NODES = [(1, 0.0, 0.0), (2, 0.5, 0.5), (3, 1.0, 1.0), (4, 2.0, 2.0), (5, 0.25, 0.75), (6, 9.0, 9.0)]


def make_store(folder: Path):
    path = {"highway": "path"}
    ways = {1: ([1, 2, 3, 1], path), 2: ([2, 99, 4], path), 3: ([4, 5], path)}
    source = folder / "map.osm.pbf"
    nodes = {number: (x, y) for number, x, y in NODES}
    prepare_source([write_osm(folder / "map.osm", nodes, ways)], source)
    (folder / "elements").mkdir()
    write_store(folder / "elements", source)
    return open_store(folder / "elements")


def test_nodes_in_a_box_are_those_of_ways_and_those_of_none(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    rng = np.random.default_rng(1)
    for _ in range(200):
        x0, x1 = sorted(rng.choice([-1, 0, 0.25, 0.4, 0.5, 1, 1.5, 2, 9, 10], 2))
        y0, y1 = sorted(rng.choice([-1, 0, 0.4, 0.5, 0.75, 1, 1.5, 2, 9, 10], 2))
        found = store.find_nodes(*(int(v * 1e7) for v in (x0, y0, x1, y1)))
        inside = [i for i, x, y in NODES if x0 <= x <= x1 and y0 <= y <= y1]
        assert store.ids[found].tolist() == inside
        assert found.dtype == np.uint32


def test_nodes_of_ways_in_any_order_and_what_is_no_way(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    ways = store.find_rows(WAY, [3, 1, 3])
    refs, offsets = store.way_nodes(ways)
    assert store.node_ids(refs).tolist() == [4, 5, 1, 2, 3, 1, 4, 5]
    assert offsets.tolist() == [0, 2, 6, 8]
    for rows in ([0], [store.relation_start], [2**40], [-1]):
        with pytest.raises(IndexError):
            store.way_nodes(np.array(rows))


def test_ways_of_nodes_in_any_order(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    nodes = store.find_rows(NODE, [4, 6, 1, 2])
    ways, offsets = store.ways_of_nodes(nodes)
    assert store.ids[ways].tolist() == [2, 3, 1, 1, 2]
    assert offsets.tolist() == [0, 2, 2, 3, 5]
    with pytest.raises(IndexError):
        store.ways_of_nodes(np.array([store.node_count]))


@pytest.mark.parametrize("kind", [np.int64, np.uint32, np.int32, np.uint16])
def test_indexes_of_every_type_and_those_outside(tmp_path: Path, kind: type) -> None:
    values = np.arange(0, 3_000, 7)
    write_frames(tmp_path, "x", values)
    frames = Frames(tmp_path, "x")
    places = np.array([0, 200, 63, 64, 428], kind)
    assert frames.take(places).tolist() == values[places].tolist()
    assert frames.take(places[::2]).tolist() == values[places[::2]].tolist()
    for outside in (len(values), len(values) + 63, 60_000):
        with pytest.raises(IndexError, match=str(outside)):
            frames.take(np.array([0, outside], kind))
    with pytest.raises(IndexError):
        frames.take(np.array([-1]))
    with pytest.raises(IndexError):
        frames.span(400, 430)


@pytest.mark.parametrize("place_of_frame", [-16, 1 << 40, 15 << 4 | 15, (1 << 62) | 1])
def test_a_damaged_frame_is_told_and_not_read(tmp_path: Path, place_of_frame: int) -> None:
    write_frames(tmp_path, "x", np.arange(1_000) * 1_000)
    places = open_column(tmp_path, "x_place").copy()
    places[3] = place_of_frame
    write_column(tmp_path, "x_place", places)
    frames = Frames(tmp_path, "x")
    assert frames.take(np.array([0, 64, 999])).tolist() == [0, 64_000, 999_000]
    for ask in (
        lambda: frames.take(np.array([0, 200])),
        lambda: frames.take(np.array([0, 200], np.uint32)),
        lambda: frames.span(0, 1_000),
        lambda: frames.locate(np.array([200_000]), 0, 1_000),
        lambda: take_runs(frames, frames, np.array([200])),
    ):
        with pytest.raises(IndexError, match="damaged"):
            ask()


def test_a_column_that_ends_too_early_is_not_opened(tmp_path: Path) -> None:
    write_frames(tmp_path, "x", np.arange(1_000))
    write_column(tmp_path, "x_place", open_column(tmp_path, "x_place")[:10].copy())
    with pytest.raises(ValueError, match="damaged"):
        Frames(tmp_path, "x")


def test_nodes_of_a_damaged_way_are_told(tmp_path: Path) -> None:
    make_store(tmp_path)
    folder = tmp_path / "elements"
    offsets = open_column(folder, "way_offsets").copy()
    offsets[1:] = 1_000_000
    write_column(folder, "way_offsets", offsets)
    store = open_store(folder)
    with pytest.raises(IndexError):
        store.way_nodes(np.array([store.way_start]))
    with pytest.raises(IndexError):
        store.find_nodes(0, 0, 10**8, 10**8)


@pytest.mark.parametrize("values", [[], [5], [5, 5], [1, 1, 2, 3, 3, 3, 9], list(range(100))])
def test_repeats_are_dropped(values: list[int]) -> None:
    array = np.array(values, np.uint32)
    count = load_kernels().drop_repeats(place(array), len(array))
    assert array[:count].tolist() == sorted(set(values))


def test_another_library_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KernelsMissing, match="of another version"):
        load_library("store", 0, {})
    monkeypatch.setenv("MAPYARD_KERNELS", str(tmp_path))
    with pytest.raises(KernelsMissing, match="make setup"):
        load_library("store", 3, {})


def test_texts_of_lines_and_what_has_none(tmp_path: Path) -> None:
    nodes = {i: (i / 10, 0.0) for i in range(1, 7)}
    ways = {i: ([i, i + 1], {"highway": "path"}) for i in range(1, 6)}
    route = {"type": "route"}
    members = {1: [1, 2, 3], 2: [2], 3: [], 4: [5, 1]}
    relations = {i: ([("way", way, "") for way in of], route) for i, of in members.items()}
    source = tmp_path / "map.osm.pbf"
    prepare_source([write_osm(tmp_path / "map.osm", nodes, ways, relations)], source)
    (tmp_path / "elements").mkdir()
    write_store(tmp_path / "elements", source)
    store = open_store(tmp_path / "elements")
    rows = store.find_rows(RELATION, [4, 1, 3, 2, 1])
    found = [orjson.loads(text) for text in store.relation_geometries_json(rows)]
    for osm_id, geometry in zip([4, 1, 3, 2, 1], found, strict=True):
        lines = [[[way / 10, 0.0], [way / 10 + 0.1, 0.0]] for way in members[osm_id]]
        if not lines:
            assert geometry is None
            continue
        assert geometry["type"] == "MultiLineString"
        got = sorted(geometry["coordinates"])
        assert np.allclose(got, sorted(lines))
    for relations_without in ([2], [4], [-1]):
        with pytest.raises(IndexError, match="no lines"):
            store._lines.texts(np.array(relations_without))


def test_damaged_lines_are_told(tmp_path: Path) -> None:
    nodes = {1: (0.0, 0.0), 2: (1.0, 1.0)}
    ways = {1: ([1, 2], {"highway": "path"})}
    relations = {1: ([("way", 1, "")], {"type": "route"})}
    source = tmp_path / "map.osm.pbf"
    prepare_source([write_osm(tmp_path / "map.osm", nodes, ways, relations)], source)
    folder = tmp_path / "elements"
    folder.mkdir()
    write_store(folder, source)
    for name in ("line_run_starts", "line_text_offsets", "line_run_offsets"):
        whole = open_column(folder, name).copy()
        write_column(folder, name, np.full_like(whole, 77))
        with pytest.raises(IndexError):
            open_store(folder)._lines.texts(np.array([0]))
        write_column(folder, name, whole)
    assert len(open_store(folder)._lines.texts(np.array([0]))) == 1


@pytest.mark.parametrize("width", [2, 4])
def test_boxes_that_meet_one(width: int) -> None:
    rng = np.random.default_rng(width)
    low = rng.integers(-50, 50, (300, 2))
    boxes = np.hstack([low, low + rng.integers(0, 9, (300, 2))])[:, :width].astype(np.int32)
    for _ in range(100):
        x0, y0 = rng.integers(-60, 60, 2).tolist()
        x1, y1 = x0 + int(rng.integers(0, 60)), y0 + int(rng.integers(0, 60))
        asked = np.array([x0, y0, x1, y1], np.int64)
        expected = [
            i
            for i, box in enumerate(boxes.tolist())
            if box[0] <= x1 and box[-2] >= x0 and box[1] <= y1 and box[-1] >= y0
        ]
        assert find_boxes(boxes, asked).tolist() == expected
        nodes = np.unique(rng.integers(0, 19, 5))  # the last node has 12 boxes
        below = [i for i in expected if i // 16 in nodes]
        assert find_boxes(boxes, asked, nodes).tolist() == below
    for outside in (-1, 19, 2**60):
        with pytest.raises(IndexError, match="damaged"):
            find_boxes(boxes, asked, np.array([0, outside]))


@pytest.mark.parametrize("kind", [np.uint32, np.int64])
def test_the_runs_that_hold_each_number(kind: type[np.generic]) -> None:
    random = np.random.default_rng(3)
    lengths = random.integers(0, 9, 500)
    # Numbers that come twice in a run, such as a ring's first node, and some from 200 on.
    values = random.integers(0, 230, lengths.sum()).astype(np.uint32)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(kind)
    runs, kernels = describe_runs(values, offsets, 500), load_kernels()
    places, last = np.empty(200, np.int64), np.empty(200, np.uint32)
    asked = ctypes.addressof(runs), 200
    total = kernels.count_owners(*asked, place(places), place(last))
    owners = np.empty(total, np.uint32)
    kernels.list_owners(*asked, 7_000, place(places), place(last), place(owners))
    held: list[list[int]] = [[] for _ in range(200)]
    for run in range(500):
        for value in sorted(set(values[offsets[run] : offsets[run + 1]].tolist())):
            if value < 200:
                held[value].append(7_000 + run)
    ends = [*places.tolist()[1:], total]
    assert [owners[a:b].tolist() for a, b in zip(places.tolist(), ends, strict=True)] == held
    damaged = offsets.copy()
    damaged[100] = len(values) + 1
    runs = describe_runs(values, damaged, 500)
    assert kernels.count_owners(ctypes.addressof(runs), 200, place(places), place(last)) == -1


def test_digests_tell_runs_apart_by_what_they_hold() -> None:
    runs = [[], [0], [0, 0], [1, 2, 3], [1, 2, 4], [3, 2, 1], [1, 2], [3], [1, 2, 3], [0]]
    for kind in (np.uint8, np.uint16, np.int32, np.uint64):
        digests = np.zeros(len(runs), np.uint64)
        values = np.concatenate([np.array(run, kind) for run in runs])
        digest_runs(digests, values, np.array([len(run) for run in runs]))
        same = {(a, b) for a in range(10) for b in range(a) if digests[a] == digests[b]}
        assert same == {(8, 3), (9, 1)}
    again = np.zeros(2, np.uint64)
    digest_runs(again, np.array([[1, 2], [3, 4]], np.int32), np.array([1, 1]))
    first = again.copy()
    digest_runs(again, np.array([7, 7], np.uint8), np.array([1, 1]))
    assert len({*first.tolist(), *again.tolist()}) == 4  # what was there is mixed in


@pytest.mark.parametrize(("lengths", "digests"), [([1, 3], 2), ([1, 1], 2), ([1, 2], 3)])
def test_digests_of_other_runs_are_refused(lengths: list[int], digests: int) -> None:
    with pytest.raises(ValueError, match="runs of 3 values"):
        digest_runs(np.zeros(digests, np.uint64), np.arange(3), np.array(lengths))


@pytest.mark.parametrize(("corner", "size"), [((0, 0), 64), ((65_472, 0), 64), ((32_704, 512), 64)])
def test_the_curve_goes_from_neighbor_to_neighbor(corner: tuple[int, int], size: int) -> None:
    x, y = (
        first + part.ravel() for first, part in zip(corner, np.mgrid[:size, :size], strict=True)
    )
    codes = hilbert_code(x, y)
    order = np.argsort(codes)
    # A square of the grid is one run of the curve, each step of which is one to a side.
    assert np.diff(codes[order].astype(np.int64)).tolist() == [1] * (size * size - 1)
    steps = np.abs(np.diff(x[order])) + np.abs(np.diff(y[order]))
    assert steps.tolist() == [1] * (size * size - 1)


def test_the_curve_begins_and_ends_at_the_lower_corners() -> None:
    assert hilbert_code(np.array([0, 65_535]), np.array([0, 0])).tolist() == [0, 2**32 - 1]
