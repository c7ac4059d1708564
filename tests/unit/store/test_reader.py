from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import osmium
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mapyard.geo.bbox import Bbox
from mapyard.osm.elements import NODE, RELATION, WAY, decode_eid, encode_eid
from mapyard.store.columns import find_place, ranges
from mapyard.store.reader import Store
from mapyard.store.rtree import FANOUT, Rtree, build_levels, write_rtree
from osm_files import EXAMPLES

KINDS = {"n": NODE, "w": WAY, "r": RELATION}


@given(st.integers(0, 2), st.integers(-(2**40), 2**40))
def test_eids_decode(kind: int, osm_id: int) -> None:
    assert decode_eid(encode_eid(kind, osm_id)) == (kind, osm_id)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5))))
def test_ranges_equal_concatenated_aranges(parts: list[tuple[int, int]]) -> None:
    expected = [i for start, length in parts for i in range(start, start + length)]
    starts, lengths = zip(*parts, strict=True) if parts else ((), ())
    assert ranges(np.array(starts, int), np.array(lengths, int)).tolist() == expected


def test_every_element_reads_back_as_pyosmium_reads_it(monaco_store: Store) -> None:
    store = monaco_store
    for o in osmium.FileProcessor(str(EXAMPLES / "monaco.osm.pbf")):
        kind = KINDS[o.type_str()]
        row = store.find_row(kind, o.id)
        assert store.tags(row) == dict(o.tags)
        rows = np.array([row])
        if kind == WAY:
            nodes = store.way_nodes(rows).values
            assert store.node_ids(nodes).tolist() == [n.ref for n in o.nodes]
            assert row in store.ways_of_nodes(nodes[:1]).values
        elif kind == RELATION:
            members = store.members(rows)
            found = [
                ("nwr"[eid & 3], eid >> 2, store.roles[role])
                for eid, role in zip(members.eid.tolist(), members.role.tolist(), strict=True)
            ]
            assert found == [(m.type, m.ref, m.role) for m in o.members]
            for member in members.row[members.row >= 0][:2].tolist():
                assert row in store.relations_of(np.array([member]))[1]


def test_rows_are_found_by_id_and_eid(monaco_store: Store) -> None:
    store = monaco_store
    rows = np.arange(store.row_count)
    assert (store.find_eid_rows(store.eids(rows)) == rows).all()
    assert store.find_row(NODE, 1) == -1
    assert store.find_row(WAY, 2**62) == -1
    assert store.find_eid_rows([4, -3]).tolist() == [-1, -1]
    assert (np.diff(store.eids(store.listed)) > 0).all()


def test_postings_agree_with_tags(monaco_store: Store) -> None:
    store = monaco_store
    rows = np.arange(store.row_count)
    tags = [store.tags(row) for row in store.listed.tolist()]
    by_row = dict(zip(store.listed.tolist(), tags, strict=True))
    for key, value in (("amenity", "cafe"), ("building", "yes"), ("highway", "steps")):
        expected = sorted(row for row, t in by_row.items() if t.get(key) == value)
        assert store.rows_with_tag(key, value).tolist() == expected
        assert store.kv_counts(*store.kv_range(key)).sum() == store.key_count(key)
    expected = sorted(row for row, t in by_row.items() if "name" in t)
    assert store.rows_with_key("name").tolist() == expected
    kvs = store.tag_values(rows, "name")
    assert [by_row[r]["name"] for r in expected] == store.values(kvs[kvs >= 0])
    assert store.rows_with_tag("amenity", "no such thing").tolist() == []
    assert store.rows_with_tag("no such key", "x").tolist() == []
    cafes = [store.find_kv("amenity", v) for v in ("bar", "cafe")]
    both = store.rows_with_kvs(np.array(sorted(cafes)))
    assert both.tolist() == sorted(
        row for row, t in by_row.items() if t.get("amenity") in ("bar", "cafe")
    )


def test_prefix_ranges_of_values(monaco_store: Store) -> None:
    start, stop = monaco_store.find_kv_prefix("name", "Rue ")
    found = monaco_store.values(np.arange(start, stop))
    expected = [v.decode() for v in monaco_store.values_of_key("name") if v.startswith(b"Rue ")]
    assert found == expected
    assert len(found) > 50


@pytest.mark.parametrize("seed", range(20))
def test_boxes_find_what_a_scan_finds(monaco_store: Store, seed: int) -> None:
    store = monaco_store
    random = np.random.default_rng(seed)
    west, east = np.sort(random.uniform(7.40, 7.45, 2))
    south, north = np.sort(random.uniform(43.72, 43.76, 2))
    box = Bbox(west, south, east, north)
    boxes = store.boxes(store.listed) / 1e7
    hit = (boxes[:, 0] <= east) & (boxes[:, 2] >= west)
    hit &= (boxes[:, 1] <= north) & (boxes[:, 3] >= south)
    assert store.search_box(box).tolist() == np.sort(store.listed[hit]).tolist()
    lon, lat = store.lon / 1e7, store.lat / 1e7
    inside = (lon >= west) & (lon <= east) & (lat >= south) & (lat <= north)
    assert store.search_nodes(box).tolist() == np.flatnonzero(inside).tolist()


@pytest.mark.parametrize("seed", range(20))
def test_boxes_are_met_as_a_scan_finds(monaco_store: Store, seed: int) -> None:
    store = monaco_store
    random = np.random.default_rng(seed)
    x0, x1 = np.sort(random.integers(74_000_000, 74_500_000, 2)).tolist()
    y0, y1 = np.sort(random.integers(437_200_000, 437_600_000, 2)).tolist()
    rows = store.listed[random.integers(0, len(store.listed), 2_000)]
    boxes = store.boxes(rows)
    meets = (boxes[:, 0] <= x1) & (boxes[:, 2] >= x0) & (boxes[:, 1] <= y1) & (boxes[:, 3] >= y0)
    inside = (boxes[:, 0] >= x0) & (boxes[:, 2] <= x1) & (boxes[:, 1] >= y0) & (boxes[:, 3] <= y1)
    places, lie_inside = store.find_meeting(rows, x0, y0, x1, y1)
    assert np.sort(places).tolist() == np.flatnonzero(meets).tolist()
    assert lie_inside.tolist() == inside[places].tolist()


@given(st.integers(1, 5_000), st.integers(0, 2**32 - 1))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_tree_of_any_size_finds_what_a_scan_finds(tmp_path: Path, count: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    low = random.integers(0, 1_000, (count, 2))
    boxes = np.hstack([low, low + random.integers(0, 50, (count, 2))]).astype(np.int32)
    rows = np.arange(count, dtype=np.uint32)
    write_rtree(tmp_path, "tree", rows, boxes)
    write_rtree(tmp_path, "points", rows, boxes[:, :2])
    for name, items in (("tree", boxes), ("points", boxes[:, :2])):
        tree = Rtree(tmp_path, name)
        for number in range(6):
            x0, y0 = random.integers(-100, 1_100, 2).tolist()
            x1, y1 = x0 + int(random.integers(0, 300)), y0 + int(random.integers(0, 300))
            if number == 5:
                x0, y0, x1, y1 = -(2**31), -(2**31), 2**31 - 1, 2**31 - 1
            hit = (items[:, 0] <= x1) & (items[:, -2] >= x0)
            hit &= (items[:, 1] <= y1) & (items[:, -1] >= y0)
            found = np.sort(tree.search(x0, y0, x1, y1))
            assert found.tolist() == np.flatnonzero(hit).tolist()
            begun = tree.begin(x0, y0, x1, y1)
            assert begun.estimate >= len(found)
            assert np.sort(begun.rows()).tolist() == found.tolist()


def test_many_boxes_at_once_equal_one_by_one(monaco_store: Store) -> None:
    store = monaco_store
    boxes = store.boxes(store.listed[::500])
    query, rows = store.feature_rtree.search_many(boxes)
    for index, box in enumerate(boxes.tolist()):
        expected = np.sort(store.feature_rtree.search(*box))
        assert np.sort(rows[query == index]).tolist() == expected.tolist()


@given(st.integers(0, 3 * FANOUT**2))
def test_levels_of_a_tree_shrink_to_one_node(count: int) -> None:
    boxes = np.arange(4 * count, dtype=np.int32).reshape(count, 4)
    levels = build_levels(boxes)
    sizes = [count, *map(len, levels)]
    assert all(-(-a // FANOUT) == b for a, b in pairwise(sizes))
    assert sizes[-1] <= FANOUT


@given(st.lists(st.integers(0, 200)), st.integers(0, 300), st.integers(0, 300))
def test_places_in_sorted_arrays(values: list[int], low: int, high: int) -> None:
    array = np.array(sorted(values), np.uint32)
    expected = [sum(v < wanted for v in values) for wanted in (low, high)]
    assert find_place(array, low) == expected[0]
    assert find_place(array, low, high).tolist() == expected
